#include "base/text.h"
#include "cli/commands/cluster_output.h"
#include "cli/commands/command.h"
#include "cli/request/cluster_description.h"
#include "cli/terminal/output_path.h"

namespace placewright {
namespace {

class ClusterAmendCommand : public Command {
 public:
  CommandLine Register(CommandLine cluster) override {
    CommandLine app = cluster.AddCommand(
        "amend", "Write a description out as devices and links, corrected by measurements");
    app.AddOption("CLUSTER", cluster_, "File (YAML, JSON, NCCL's topology in XML) or preset")
        .Required();
    app.AddOption("--pairs", pairs_,
                  "What p2pBandwidthLatencyTest or `nvidia-smi topo -p2p r` printed of its GPUs")
        .TypeName("FILE");
    app.AddOption("--gpu", gpu_, "What every GPU of an XML file is").TypeName("KIND");
    app.AddOption("-o,--output", output_, "The cluster file; standard output where left out or -")
        .TypeName("FILE");
    app.Footer(
        "Examples:\n"
        "  placewright cluster amend 2x4090 --pairs p2p.txt -o measured.yaml\n"
        "  placewright cluster amend topo.xml -o machine.yaml");
    return app;
  }

  Result<int> Run(Context& context) override {
    if (output_ == "-") output_.clear();
    if (!output_.empty()) {
      PW_RETURN_IF_ERROR(
          RejectOverwriting({{"-o", output_}}, {{"CLUSTER", cluster_}, {"--pairs", pairs_}}));
      PW_RETURN_IF_ERROR(ProbeWritable(output_));
    }
    PW_ASSIGN(ClusterBuilder builder, Describe());
    if (builder.HasGivenRoutes()) {
      return MakeError(ErrorCode::kUsage, "the description gives its routes one by one", "",
                       "Amend the description that it was resolved from.");
    }
    if (!pairs_.empty()) {
      PW_ASSIGN(const PeerMatrix matrix, ReadPeerMatrix(pairs_));
      PW_RETURN_IF_ERROR(ApplyPeerMatrix(matrix, builder));
    }
    // What its routes come to is said, too.
    PW_ASSIGN(const Cluster built, ClusterBuilder(builder).Build());
    for (const std::string& note : built.notes()) context.console.Note("note: " + note);
    PW_RETURN_IF_ERROR(PutCluster(builder, builder.notes(), output_, context.console));
    return 0;
  }

 private:
  Result<ClusterBuilder> Describe() const {
    const DeviceKind* gpu = nullptr;
    if (!gpu_.empty()) {
      PW_ASSIGN(gpu, FindGpuKind(gpu_));
    }
    return DescribeFileOrPreset(cluster_, gpu);
  }

  std::string cluster_, pairs_, gpu_, output_;
};

}  // namespace

std::unique_ptr<Command> MakeClusterAmendCommand() {
  return std::make_unique<ClusterAmendCommand>();
}

}  // namespace placewright
