#include "cli/request/inputs.h"

#include <fmt/format.h>

#include <utility>

#include "base/text.h"
#include "cli/request/configurations.h"
#include "cli/request/cost_store.h"
#include "cli/request/models.h"
#include "cost/communication.h"
#include "formats/costs/override_reader.h"
#include "formats/graph_format.h"
#include "formats/plan/plan_files.h"
#include "formats/text/file.h"
#include "formats/text/yaml.h"
#include "planning/rewriting.h"
#include "planning/stage_layers.h"
#include "transforms/transforms.h"

namespace placewright {
namespace {

// Times of the file, where it has them for whichever device. Errors: kUsage.
Result<CostTable> TakeTimes(const InputOptions& options, const LoadedGraph& graph,
                            const Cluster& cluster) {
  const bool costs = !options.costs.empty();
  if (!costs && options.cost_profile == "default") return GivenTimes(*graph.times, cluster);
  const std::string option = costs ? "--costs" : "--cost-profile";
  return MakeError(ErrorCode::kUsage,
                   fmt::format("{} cannot be used with {}, which carries its own times", option,
                               graph.format->name),
                   "", "Leave " + option + " out.");
}

// A cost graph states devices and times itself.
Result<Inputs> TakeOwnDevices(const InputOptions& options, LoadedGraph graph,
                              SchedulingPolicy policy) {
  const auto refuse = [&](const char* option) {
    return MakeError(
        ErrorCode::kUsage,
        fmt::format("{} cannot be used with {}, which carries its own devices and times", option,
                    graph.format->name),
        "", fmt::format("Leave {} out.", option));
  };
  if (!options.cluster.empty()) return refuse("-c");
  if (!options.memory_reserve.empty()) return refuse("--memory-reserve");
  if (!options.costs.empty()) return refuse("--costs");
  if (options.cost_profile != "default") return refuse("--cost-profile");
  if (options.precision != "pytorch") return refuse("--precision");
  Inputs inputs;
  inputs.cluster.path = kClusterInGraph;
  inputs.cluster.sha256 = ClusterHash(*graph.cluster);
  inputs.cluster.cluster = std::move(*graph.cluster);
  inputs.costs = std::move(*graph.costs);
  graph.cluster.reset();
  graph.costs.reset();
  inputs.graph = std::move(graph);
  inputs.policy = policy;
  return inputs;
}

// Of a compiled step, which says where its members are.
Status PriceCollectives(const InputOptions& options, Inputs& inputs) {
  const Graph& graph = inputs.graph.graph;
  if (graph.collective_count() == 0) return Ok();
  if (!inputs.graph.placement) {
    Error error = MakeError(ErrorCode::kField, "the step has collectives, and its ops no devices",
                            "ops", "Give a step that `placewright compile` wrote.");
    error.file = options.graph;
    return error;
  }
  PW_ASSIGN(const Placement placement,
            ResolvePlacement(*inputs.graph.placement, graph, inputs.cluster.cluster)
                .InFile(options.graph));
  const Communication communication(inputs.cluster.cluster);
  PW_ASSIGN(auto costs, CollectiveCosts(graph, placement, communication).InFile(options.graph));
  inputs.costs.SetCollectives(std::move(costs));
  return Ok();
}

}  // namespace

Result<bool> IsPlan(const std::string& path) {
  if (MayBeModel(path) || IsConfiguration(path)) return false;
  PW_ASSIGN(const std::string bytes, ReadFile(path));
  // A graph may hold any words, those of a plan's schema among them.
  if (SniffGraph(bytes).ok()) return false;
  return bytes.find("\"placewright.plan/") != std::string::npos;
}

Result<std::string> ResolveBatch(InputOptions* options) {
  if (options->batch_text.empty()) return std::string();
  PW_ASSIGN(const BatchSize size, ParseBatchSize(options->batch_text));
  options->batch = size.samples;
  if (!size.per_gpu) return std::string();
  const auto fail = [&](std::string message) {
    return MakeError(ErrorCode::kUsage, fmt::format("--batch {}: {}", options->batch_text, message),
                     "", "Give --batch N, the batch of the whole step over all devices.");
  };
  // GPUs are counted before the graph is read: its recording needs the batch.
  if (options->cluster.empty()) return fail("-c CLUSTER is missing, whose GPUs it counts");
  PW_ASSIGN(const LoadedCluster loaded, LoadCluster(options->cluster, {}));
  int64_t gpus = 0;
  for (const DeviceId device : loaded.cluster.devices()) {
    if (loaded.cluster.kind(device).device_class == DeviceClass::kGpu) ++gpus;
  }
  if (gpus == 0) return fail(Printable(loaded.cluster.name(), 80) + " has no GPUs");
  if (size.samples > INT32_MAX / gpus) {
    return fail(fmt::format("{} GPUs make more than {} samples of it", gpus, INT32_MAX));
  }
  options->batch = size.samples * gpus;
  return fmt::format("batch {}: {} for each of {} GPUs", *options->batch, size.samples, gpus);
}

Result<CostOptions> CostOptionsOf(const InputOptions& options, const Cluster& cluster) {
  CostOptions cost_options;
  cost_options.profile = options.cost_profile;
  PW_ASSIGN(cost_options.precision, ParseFloatPrecision(options.precision));
  if (!IsCostProfile(options.cost_profile)) {
    return MakeError(ErrorCode::kUsage,
                     "--cost-profile \"" + Printable(options.cost_profile) + "\" is unknown" +
                         DidYouMean(options.cost_profile, {"default", "tf1"}),
                     "", "The profiles are default and tf1.");
  }
  // Times of a --costs file are taken before those of the store, and these before the model (docs/costs.md).
  if (const std::string store = CostStorePath(options); !store.empty()) {
    PW_RETURN_IF_ERROR(UseMeasuredTimes(store, cluster, cost_options));
  }
  if (!options.costs.empty()) {
    PW_ASSIGN(const std::string text, ReadFile(options.costs, {kMaxYamlBytes, kMaxYamlBytes}));
    PW_ASSIGN(cost_options.overrides, ReadCostOverrides(text).InFile(options.costs));
  }
  return cost_options;
}

Result<CostTable> LoadCosts(const InputOptions& options, const Graph& graph, const Cluster& cluster,
                            CostModelReport* report) {
  PW_ASSIGN(const CostOptions cost_options, CostOptionsOf(options, cluster));
  return ModelCosts(graph, cluster, cost_options, report).InFile(options.costs);
}

// A plan's step is the one that it was made of: other sizes or transforms would be those of no plan.
Status RejectOptionsOfPlan(const InputOptions& options) {
  const auto refuse = [](const std::string& option, const std::string& has) {
    return MakeError(ErrorCode::kUsage,
                     option + " cannot be used with a plan, which has its " + has, "",
                     "Leave " + option + " out, or give the graph.");
  };
  if (options.batch || !options.batch_text.empty()) return refuse("--batch", "sizes");
  if (!options.dimensions.empty()) return refuse("--dim", "sizes");
  if (options.rewriting.micro_batches > 1) return refuse("--micro-batches", "transforms");
  if (!options.rewriting.recompute.empty()) return refuse("--recompute", "transforms");
  if (!options.rewriting.offload.empty()) return refuse("--offload", "transforms");
  if (!options.mixed_precision.empty()) return refuse("--mixed-precision", "transforms");
  if (!options.rewriting.schedule.empty()) return refuse("--pipeline", "transforms");
  if (!options.rewriting.layers.empty()) return refuse("--stage-layers", "transforms");
  if (!options.memory_reserve.empty()) return refuse("--memory-reserve", "reserve");
  return Ok();
}

// What the options leave open of them follows from the batch and the machines, which may be none.
static Result<Transforms> TransformsOf(const InputOptions& options, const Graph& step,
                                       const Cluster* cluster) {
  if (options.transforms) return *options.transforms;
  PW_ASSIGN(Rewriting rewriting, ChooseRewriting(step, cluster != nullptr ? *cluster : Cluster(),
                                                 options.rewriting, options.algorithm == "3d"));
  const bool all_gpus = options.algorithm == rewriting.schedule && options.settings.empty();
  if (cluster != nullptr && !rewriting.schedule.empty() && all_gpus) {
    PW_RETURN_IF_ERROR(CheckSamplesOfStages(step, *cluster, rewriting).InFile(options.graph));
  }
  if (cluster != nullptr && !rewriting.schedule.empty() && rewriting.layers.empty()) {
    PW_ASSIGN(const CostOptions costs, CostOptionsOf(options, *cluster));
    PW_ASSIGN(rewriting.layers, LayersOfUnequalStages(step, *cluster, costs, rewriting,
                                                      options.algorithm, options.settings));
  }
  return TransformsFor(rewriting, options.mixed_precision);
}

Result<Inputs> LoadInputs(const InputOptions& options) {
  std::optional<SchedulingPolicy> stated;
  if (!options.order.empty()) {
    PW_ASSIGN(stated, ParseSchedulingPolicy(options.order));
  }
  PW_ASSIGN(const auto dimensions, ParseDimensions(options.dimensions));
  // The cluster first: it is small, and a misspelt preset shall not wait for a large graph.
  std::optional<LoadedCluster> cluster;
  PW_ASSIGN(const auto reserve, ReadMemoryReserve(options.memory_reserve));
  if (!options.cluster.empty()) {
    PW_ASSIGN(cluster, LoadCluster(options.cluster, {.reserve = reserve}));
    // A description that no file holds any more when the plan is read (a preset's words, a pipe) is kept beside it.
    if (!options.cluster_store.empty()) {
      PW_ASSIGN(const std::string bytes, ReadFileRaw(options.cluster));
      PW_RETURN_IF_ERROR(WriteFileAtomically(options.cluster_store, bytes));
      cluster->path = options.cluster_store;
    }
  }
  GraphInputOptions graph_options{options.batch, "", dimensions};
  graph_options.prove_batch = options.prove_batch;
  PW_ASSIGN(LoadedGraph graph,
            LoadGraphOrModel(options.graph, graph_options, {options.store, options.store_kept},
                             options.interrupted, options.say));
  PW_ASSIGN(const Transforms transforms,
            TransformsOf(options, graph.graph, cluster ? &cluster->cluster : nullptr));
  PW_RETURN_IF_ERROR(TransformLoaded(transforms, graph).InFile(options.graph));
  const SchedulingPolicy policy = stated.value_or(DefaultPolicy(graph.graph.format()));
  // Formats that carry machines and times say all themselves, and refuse the options that would say it again.
  if (graph.cluster && graph.costs) return TakeOwnDevices(options, std::move(graph), policy);
  if (!cluster) {
    return MakeError(
        ErrorCode::kUsage,
        "-c CLUSTER is missing: " + Printable(options.graph) + " does not carry its devices", "",
        "Give a preset such as -c 4xP100, or a file; "
        "`placewright cluster show` lists the presets.");
  }
  Inputs inputs;
  inputs.cluster = std::move(*cluster);
  inputs.graph = std::move(graph);
  inputs.policy = policy;
  inputs.dimensions = dimensions;
  PW_ASSIGN(inputs.precision, ParseFloatPrecision(options.precision));
  if (inputs.graph.times) {
    PW_ASSIGN(inputs.costs, TakeTimes(options, inputs.graph, inputs.cluster.cluster));
    return inputs;
  }
  const std::string store = CostStorePath(options);
  if (!store.empty()) {
    PW_ASSIGN(inputs.links, UseMeasuredLinks(store, inputs.cluster.cluster));
  }
  PW_ASSIGN(inputs.costs,
            LoadCosts(options, inputs.graph.graph, inputs.cluster.cluster, &inputs.cost_report));
  PW_RETURN_IF_ERROR(PriceCollectives(options, inputs));
  // A plan names the store only where something of it was used.
  if (!inputs.cost_report.measured.environments.empty() || !inputs.links.empty()) {
    inputs.cost_store = store;
  }
  return inputs;
}

}  // namespace placewright
