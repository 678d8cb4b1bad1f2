
#include "cli/commands/command.h"
#include "formats/cluster/cluster_writer.h"

namespace placewright {
namespace {

class ClusterSchemaCommand : public Command {
 public:
  CommandLine Register(CommandLine cluster) override {
    CommandLine app = cluster.AddCommand("schema", "Print the JSON Schema of cluster files");
    app.Footer(
        "Examples:\n"
        "  placewright cluster schema > cluster.schema.json");
    return app;
  }

  Result<int> Run(Context& context) override {
    context.console.Print(ClusterSchema());
    return 0;
  }
};

}  // namespace

std::unique_ptr<Command> MakeClusterSchemaCommand() {
  return std::make_unique<ClusterSchemaCommand>();
}

}  // namespace placewright
