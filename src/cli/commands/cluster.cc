#include <fmt/format.h>

#include "base/text.h"
#include "cli/commands/command.h"
#include "cli/terminal/options.h"
#include "cluster/catalogue.h"
#include "formats/cluster/cluster_reader.h"
#include "formats/input.h"
#include "report/cluster_report.h"

namespace placewright {
namespace {

class ClusterCommand : public Command {
 public:
  CommandLine Register(CommandLine program) override {
    CommandLine app = program.AddCommand("cluster", "Show, check or make descriptions of machines");
    app.RequireCommand();
    CommandLine show = app.AddCommand("show", "Devices and links of a cluster, or all presets");
    show.AddOption("CLUSTER", cluster_, "Preset or file; all presets where left out");
    AddMemoryReserveOption(show, &memory_reserve_);
    show_ = show;
    show.Footer(
        "Examples:\n"
        "  placewright cluster show              presets and known hardware\n"
        "  placewright cluster show 4xP100\n"
        "  placewright cluster show my-machines.yaml --json");
    CommandLine check = app.AddCommand("check", "Verify the description of a cluster");
    check.AddOption("CLUSTER", cluster_, "File or preset").Required();
    check.Footer(
        "Exit status 0 where the description can be used, 3 where it cannot.\n"
        "Examples:\n"
        "  placewright cluster check my-machines.yaml");
    parts_.push_back({MakeClusterDetectCommand(), {}});
    parts_.push_back({MakeClusterAmendCommand(), {}});
    parts_.push_back({MakeClusterRandomCommand(), {}});
    parts_.push_back({MakeClusterSchemaCommand(), {}});
    for (Part& part : parts_) part.app = part.command->Register(app);
    app.Footer(
        "Examples:\n"
        "  placewright cluster show\n"
        "  placewright cluster check my-machines.yaml\n"
        "  placewright cluster detect -o this-machine.yaml\n"
        "  placewright cluster random --seed 7 -o seven.yaml");
    return app;
  }

  Result<int> Run(Context& context) override {
    for (const Part& part : parts_) {
      if (part.app.Parsed()) return part.command->Run(context);
    }
    if (show_.Parsed() && cluster_.empty()) return ShowCatalogue(context.console);
    PW_ASSIGN(const auto reserve, ReadMemoryReserve(memory_reserve_));
    PW_ASSIGN(const LoadedCluster loaded, LoadCluster(cluster_, {.reserve = reserve}));
    return show_.Parsed() ? Show(loaded, context.console) : Check(loaded, context.console);
  }

 private:
  static int ShowCatalogue(Console& console) {
    if (!console.json) {
      console.Print(RenderCatalogue(console.style()));
      return 0;
    }
    Json object;
    object["schema"] = "placewright.catalogue/1";
    object["presets"] = Json::array();
    for (const Preset& preset : Presets()) {
      object["presets"].push_back({{"name", preset.name}, {"description", preset.description}});
    }
    object["kinds"] = Json::array();
    for (const DeviceKind& kind : Catalogue()) {
      object["kinds"].push_back({{"name", kind.name},
                                 {"class", ToString(kind.device_class)},
                                 {"f32_flops", kind.peak.f32},
                                 {"memory_bandwidth", kind.memory_bandwidth.count},
                                 {"memory_bytes", kind.memory.count},
                                 {"source", kind.source}});
    }
    console.PrintJson(object);
    return 0;
  }

  static int Show(const LoadedCluster& loaded, Console& console) {
    if (console.json) {
      Json object;
      object["schema"] = "placewright.cluster-show/1";
      object["path"] = loaded.path;
      object["sha256"] = loaded.sha256;
      object["cluster"] = ClusterToJson(loaded.cluster);
      object["notes"] = loaded.cluster.notes();
      console.PrintJson(object);
    } else {
      console.Print(RenderCluster(loaded.cluster, console.style()));
      for (const std::string& note : loaded.cluster.notes()) console.Note("note: " + note);
    }
    return 0;
  }

  static int Check(const LoadedCluster& loaded, Console& console) {
    const Cluster& cluster = loaded.cluster;
    const auto unreachable = UnreachablePairs(cluster);
    const size_t links = cluster.link_count() - (cluster.communicator().valid() ? 1 : 0);
    if (console.json) {
      Json object;
      object["schema"] = "placewright.cluster-check/1";
      object["name"] = cluster.name();
      object["ok"] = true;
      object["devices"] = cluster.device_count();
      object["links"] = links;
      object["unreachable"] = Json::array();
      for (const auto& [from, to] : unreachable) {
        object["unreachable"].push_back(
            {{"from", cluster.device(from).name}, {"to", cluster.device(to).name}});
      }
      object["notes"] = cluster.notes();
      console.PrintJson(object);
      return 0;
    }
    for (const std::string& note : cluster.notes()) console.Note("note: " + note);
    console.Print(fmt::format("{}: ok, {}, {}\n", Printable(cluster.name()),
                              CountOf(static_cast<int64_t>(cluster.device_count()), "device"),
                              CountOf(static_cast<int64_t>(links), "link")));
    for (const auto& [from, to] : unreachable) {
      console.Print(fmt::format("  no route from {} to {}: they cannot exchange tensors\n",
                                Printable(cluster.device(from).name),
                                Printable(cluster.device(to).name)));
    }
    return 0;
  }

  struct Part {
    std::unique_ptr<Command> command;
    CommandLine app;
  };

  CommandLine show_;
  std::vector<Part> parts_;
  std::string cluster_, memory_reserve_;
};

}  // namespace

std::unique_ptr<Command> MakeClusterCommand() { return std::make_unique<ClusterCommand>(); }

}  // namespace placewright
