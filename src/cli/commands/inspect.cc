#include <fmt/format.h>

#include "base/text.h"
#include "cli/commands/command.h"
#include "cli/commands/inspect_axes.h"
#include "cli/commands/inspect_groups.h"
#include "cli/request/assumptions.h"
#include "cli/request/batch_proof.h"
#include "cli/request/models.h"
#include "cli/terminal/options.h"
#include "compile/whole_on_batch.h"
#include "formats/graph_format.h"
#include "formats/input.h"
#include "graph/analysis/statistics.h"
#include "graph/analysis/traversal.h"
#include "report/graph_summary.h"
#include "sim/one_device.h"
#include "transforms/transforms.h"

namespace placewright {
namespace {

Json MemoryToJson(const MemorySummary& memory, const std::optional<OneDeviceStep>& alone) {
  Json object;
  object["parameters"] = memory.parameters.count;
  object["gradients"] = memory.gradients.count;
  object["optimizer_state"] = memory.optimizer_state.count;
  object["buffers"] = memory.buffers.count;
  object["constants"] = memory.constants.count;
  object["inputs"] = memory.inputs.count;
  object["activations_total"] = memory.activations.count;
  object["persistent"] = memory.persistent.count;
  object["largest_tensor"] = memory.largest_tensor.count;
  object["largest_group"] = memory.largest_group.count;
  object["one_device_peak"] = alone ? Json(alone->peak.count) : Json(nullptr);
  return object;
}

Json StatisticsToJson(const GraphStatistics& statistics) {
  Json object;
  object["depth"] = statistics.depth;
  object["width"] = statistics.width;
  object["degree"] = statistics.degree;
  object["diameter"] = statistics.diameter;
  object["diameter_exact"] = statistics.diameter_exact;
  object["directed_diameter"] = statistics.directed_diameter;
  object["directed_diameter_exact"] = statistics.directed_diameter_exact;
  object["sources"] = statistics.sources;
  object["sinks"] = statistics.sinks;
  object["components"] = statistics.components;
  return object;
}

// Errors: kUsage with near names.
Result<TraversalOrder> ParseVisitOrder(const std::string& text) {
  if (const auto order = ParseTraversalOrder(text)) return *order;
  std::vector<std::string> names;
  for (TraversalOrder order : AllTraversalOrders()) names.emplace_back(ToString(order));
  return MakeError(
      ErrorCode::kUsage,
      fmt::format("--order \"{}\" is unknown{}", Printable(text), DidYouMean(text, names)), "",
      fmt::format("The orders are {}.", fmt::join(names, ", ")));
}

// The times that the file gives, on its own devices or on any one.
std::optional<CostTable> GivenCosts(const LoadedGraph& loaded) {
  if (!loaded.times) return loaded.costs;
  CostTable costs(loaded.times->size(), 1);
  for (const OpId op : loaded.graph.ops()) costs.SetTime(op, DeviceId(0), (*loaded.times)[op]);
  return costs;
}

class InspectCommand : public Command {
 public:
  CommandLine Register(CommandLine program) override {
    CommandLine app = program.AddCommand("inspect", "Show what a graph contains");
    app.AddOption("GRAPH", graph_,
                  "Graph of any readable format (docs/formats), or model of the zoo")
        .Required();
    app.AddOption("--batch", batch_,
                  "Batch size of an ONNX model, a recorded step or a model of the zoo")
        .TypeName("N")
        .Check(IntegerWithin(1, (uint64_t{1} << 31) - 1))
        .Group("Input");
    AddTransformOptions(app, &rewriting_, &mixed_precision_);
    AddDimensionOption(app, &dimensions_);
    app.AddFlag("--modules", modules_, "A table of modules instead: ops, arithmetic, memory")
        .Group("Output");
    app.AddOption("--depth", depth_, "Components of module paths to show (default 3)")
        .TypeName("N")
        .Check(IntegerWithin(1, 64))
        .Group("Output");
    app.AddOption("--order", order_,
                  "List the ops instead: topo, reversed-topo, dfs-preorder, dfs-postorder, bfs, "
                  "lexico")
        .TypeName("ORDER")
        .Group("Output");
    AddGroupsOptions(app, &groups_);
    app.AddFlag("--axes", axes_,
                "Named axes instead, and what a split of the batch makes of each op")
        .Group("Output");
    app.AddOption("-c,--cluster", cluster_,
                  "Preset or file: with --axes, times are of its first GPU (default: an " +
                      std::string(kWholeReferenceKind) + ")")
        .TypeName("CLUSTER")
        .Group("Input");
    app.Footer(
        "Examples:\n"
        "  placewright inspect bert.json.gz\n"
        "  placewright inspect model.onnx --batch 32 --json\n"
        "  placewright inspect bert.json.gz --modules --depth 4\n"
        "  placewright inspect bert.json.gz --groups acyclic --parts 8\n"
        "  placewright inspect bert.json.gz --axes -c 2xV100\n"
        "  placewright inspect model.onnx --axes --batch 8");
    return app;
  }

  Result<int> Run(Context& context) override {
    PW_ASSIGN(const auto dimensions, ParseDimensions(dimensions_));
    std::optional<TraversalOrder> order;
    if (order_) {
      PW_ASSIGN(order, ParseVisitOrder(*order_));
    }
    PW_ASSIGN(const std::optional<GroupingMethod> groups, ParseGroups(groups_));
    if ((modules_ ? 1 : 0) + (order ? 1 : 0) + (groups ? 1 : 0) + (axes_ ? 1 : 0) > 1) {
      return MakeError(ErrorCode::kUsage,
                       "--modules, --order, --groups and --axes ask for different lists", "",
                       "Give one of them.");
    }
    if (!cluster_.empty() && !axes_) {
      return MakeError(ErrorCode::kUsage, "-c is of --axes alone", "", "Add --axes.");
    }
    if (depth_ && !modules_) {
      return MakeError(ErrorCode::kUsage, "--depth is of --modules alone", "", "Add --modules.");
    }
    // The structure does not depend on sizes, so that open dimensions are no error here.
    PW_ASSIGN(const LoadedGraph loaded,
              LoadGraphOrModel(graph_, {batch_, "", dimensions, true, axes_,
                                        TransformsFor(rewriting_, mixed_precision_)}));
    const std::vector<std::string> assumptions = DescribeAssumptions(loaded);
    if (modules_ || order_ || groups || axes_ ||
        context.console.json) {  // results that have no room for notes
      for (const std::string& line : assumptions) context.console.Note(line);
    }
    if (modules_) {
      PrintModules(loaded.graph, context.console);
      return 0;
    }
    if (axes_) {
      return ShowAxes(loaded.graph, context.console);
    }
    if (order) {
      PrintOrder(loaded.graph, *order, context.console);
      return 0;
    }
    const std::optional<CostTable> costs = GivenCosts(loaded);
    if (groups) {
      PW_RETURN_IF_ERROR(PrintGroups(loaded.graph, costs ? &*costs : nullptr, *groups,
                                     groups_.parts, context.console));
      return 0;
    }
    const GraphSummary summary = Summarise(loaded.graph);
    const GraphStatistics statistics = ComputeStatistics(loaded.graph);
    const std::optional<OneDeviceStep> alone =
        SimulateOnOneDevice(loaded.graph, costs ? &*costs : nullptr);
    if (context.console.json) {
      context.console.PrintJson(ToJson(loaded, summary, statistics, alone));
    } else {
      const Style& style = context.console.style();
      context.console.Print(
          RenderSummary(loaded.graph, loaded.format->name, summary, statistics, alone, style));
      if (loaded.graph.batch_scaling() != nullptr) {
        context.console.Print(DescribeBatchProof(loaded.graph) + "\n");
      }
      for (const std::string& line : assumptions) {
        context.console.Print(Paint(line, Tone::kWarning, style) + "\n");
      }
    }
    return 0;
  }

 private:
  static Json ToJson(const LoadedGraph& loaded, const GraphSummary& s,
                     const GraphStatistics& statistics, const std::optional<OneDeviceStep>& alone) {
    Json object;
    object["schema"] = "placewright.inspect/1";
    object["name"] = loaded.graph.name();
    object["format"] = loaded.graph.format();
    object["batch"] = loaded.graph.batch();
    object["batch_proof"] = BatchProofJson(loaded.graph);
    object["ops"] = s.ops;
    object["edges"] = s.edges;
    object["order_edges"] = s.order_edges;
    object["views"] = s.views;
    object["parameters"] = s.parameters;
    object["parameter_tensors"] = s.parameter_tensors;
    object["parameter_bytes"] = s.memory.parameters.count;
    object["macs"] = {{"forward", s.phase_macs[0]},
                      {"backward", s.phase_macs[1]},
                      {"optimizer", s.phase_macs[2]},
                      {"total", s.TotalMacs()}};
    object["phases"] = {
        {"forward", s.phase_ops[0]}, {"backward", s.phase_ops[1]}, {"optimizer", s.phase_ops[2]}};
    object["colocation_groups"] = s.colocation_groups;
    object["memory"] = MemoryToJson(s.memory, alone);
    object["statistics"] = StatisticsToJson(statistics);
    object["unknown_types"] = s.unknown_types;
    AddAssumedShapes(loaded, &object);
    AddNotes(loaded, &object);
    AddAssumedDimensions(loaded, &object);
    object["sha256"] = loaded.sha256;
    return object;
  }

  void PrintOrder(const Graph& graph, TraversalOrder order, Console& console) const {
    const std::vector<OpId> ops = Traverse(graph, order);
    if (!console.json) {
      std::string lines;
      for (OpId op : ops) lines += graph.op(op).name + "\n";
      console.Print(lines);
      return;
    }
    Json object;
    object["schema"] = "placewright.order/1";
    object["name"] = graph.name();
    object["order"] = ToString(order);
    object["ops"] = Json::array();
    for (OpId op : ops) object["ops"].push_back(graph.op(op).name);
    console.PrintJson(object);
  }

  void PrintModules(const Graph& graph, Console& console) const {
    const std::vector<ModuleRow> rows = SummariseModules(graph, depth_.value_or(3));
    if (!console.json) {
      console.Print(RenderModules(rows, console.style()));
      return;
    }
    Json object;
    object["schema"] = "placewright.modules/1";
    object["name"] = graph.name();
    object["modules"] = Json::array();
    for (const ModuleRow& row : rows) {
      object["modules"].push_back({{"path", row.path},
                                   {"depth", row.depth},
                                   {"ops", row.ops},
                                   {"own_ops", row.own_ops},
                                   {"views", row.views},
                                   {"forward", row.phase_ops[0]},
                                   {"backward", row.phase_ops[1]},
                                   {"optimizer", row.phase_ops[2]},
                                   {"macs", row.macs},
                                   {"parameter_bytes", row.parameters.count},
                                   {"activation_bytes", row.activations.count}});
    }
    console.PrintJson(object);
  }

  std::string graph_;
  std::optional<int64_t> batch_;
  Rewriting rewriting_;
  std::vector<std::string> mixed_precision_;
  std::vector<std::string> dimensions_;
  // Times are of the cluster's first GPU, or of its first device where it has none.
  Result<int> ShowAxes(const Graph& graph, Console& console) const {
    if (cluster_.empty()) {
      PW_RETURN_IF_ERROR(PrintAxes(graph, nullptr, console));
      return 0;
    }
    PW_ASSIGN(const LoadedCluster loaded, LoadCluster(cluster_));
    const Cluster& cluster = loaded.cluster;
    const DeviceKind* kind = &cluster.kind(DeviceId(0));
    for (const DeviceId device : cluster.devices()) {
      if (cluster.kind(device).device_class != DeviceClass::kGpu) continue;
      kind = &cluster.kind(device);
      break;
    }
    PW_RETURN_IF_ERROR(PrintAxes(graph, kind, console));
    return 0;
  }

  std::string cluster_;
  bool modules_ = false, axes_ = false;
  std::optional<std::string> order_;
  GroupsRequest groups_;
  std::optional<int> depth_;
};

}  // namespace

std::unique_ptr<Command> MakeInspectCommand() { return std::make_unique<InspectCommand>(); }

}  // namespace placewright
