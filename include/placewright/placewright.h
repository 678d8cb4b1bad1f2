// Placewright's public interface: where every operation of a training step runs, on any mix of CPUs
// and GPUs, with predicted step time, memory per device and a lower bound.
//
//   const auto graph = placewright::ReadGraph("bert.json.gz");
//   const auto cluster = placewright::ReadCluster("4xP100");
//   const auto planned = placewright::PlanStep(graph.value(), cluster.value());
//   planned.value().plan.step_time;
//
// Graphs and clusters are read from files of any format in docs/formats, or built with GraphBuilder
// and ClusterBuilder. Nothing here throws but std::bad_alloc: a Result holds a value or an Error
// that names code, place and remedy. There is no global state: any number of threads may plan at a
// time, on the same graph or others. Planning starts threads, which receive no signals. METIS takes
// SIGTERM for itself while it partitions: a program with several threads of its own that may be
// sent one blocks it in all but those that plan.
#ifndef PLACEWRIGHT_PLANNING_PLACEWRIGHT_H_
#define PLACEWRIGHT_PLANNING_PLACEWRIGHT_H_

#include <placewright/base/result.h>
#include <placewright/base/stop.h>
#include <placewright/cluster/cluster.h>
#include <placewright/cluster/cluster_builder.h>
#include <placewright/cost/cost_table.h>
#include <placewright/graph/graph.h>
#include <placewright/graph/graph_builder.h>
#include <placewright/plan/constraints.h>
#include <placewright/plan/placement.h>
#include <placewright/plan/plan.h>
#include <placewright/plan/schedule.h>
#include <placewright/plan/sfb_mode.h>
#include <placewright/planning/largest_batch.h>
#include <placewright/planning/strategies.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace placewright {

class Planner;  // of a learned one: learned_planners.h

struct ReadGraphOptions {
  std::optional<int64_t> batch{};               // another batch size than the file's
  std::map<std::string, int64_t> dimensions{};  // values of an ONNX model's symbolic dimensions
  // Find out how an ONNX model's sizes follow its batch, which plans that split ops need; recorded steps
  // state it.
  bool prove_batch = false;
  Rewriting rewriting{};                       // of a recorded step (docs/transforms.md)
  std::vector<std::string> mixed_precision{};  // and its types: "param=bf16", "master=f32"
};
// The graph of a recorded step or a model, in any readable format, recognised by its content; plain
// or gzip. Errors name the file: kFileUnreadable, kFormatUnknown, those of the format's reader;
// kUsage for a batch or dimensions that it cannot take, and for files whose times are their own
// (cost graphs, workloads, profiles): the program plans those.
Result<Graph> ReadGraph(const std::string& path, const ReadGraphOptions& options = {});

// A file (YAML or JSON) or the name of a preset ("4xP100"). GPUs for which the description states
// no memory reserve keep 5% free. Errors: those of the reader, kUnknownName with near names.
Result<Cluster> ReadCluster(const std::string& path_or_preset);

// Layouts by hand (docs/formats/layouts.md). Errors: those of the reader.
Result<DistributionSpec> ReadLayouts(const std::string& path);

struct PlanProgress {
  std::string_view algorithm;
  int64_t iterations = 0;
  Nanos best_step_time;   // of plans that fit, once `feasible`
  bool feasible = false;  // some plan fits
};

struct PlanRequest {
  std::string algorithm = "auto";  // the best of all; `placewright plan --help` lists them
  // Of the algorithm: "tensor=4" (`placewright explain ALGO` lists them).
  std::vector<std::string> settings{};
  // How long to search: the first limit that is met ends it. Without any, 10 s. A plan that ended
  // by time is repeated by its number of iterations, unless a note says what was left out for lack
  // of time.
  std::optional<std::chrono::nanoseconds> time{};
  std::optional<int64_t> iterations{};
  StopToken stop{};  // ends the search with the best plan so far, within a fraction of a second
  uint64_t seed = 0;
  int threads = 1;  // never changes the plan of an iteration budget
  Constraints constraints{};
  // In which order each device runs its ops; none: that of the graph (DefaultPolicy).
  std::optional<SchedulingPolicy> policy{};
  std::string cost_profile = "default";  // of modelled costs: "default" or "tf1"
  // How GPUs that have TF32 multiply float32: "pytorch" (convolutions in TF32, products not), "fp32" or
  // "tf32".
  std::string precision = "pytorch";
  std::optional<Placement> initial{};  // a placement to start from
  // Called from the calling thread, a few times a second and at every improvement.
  std::function<void(const PlanProgress&)> progress{};
  // Whether ops may be split and copied over devices (kReplicated), or are whole, on one device each (kPlaced). None: as
  // the algorithm has it; `auto` splits where there are several devices, the batch is proven to follow, costs are
  // modelled, and nothing is given to start from.
  std::optional<PlanSpace> space{};
  bool local_batch_norm =
      false;  // of split batch norms: each part by the statistics of its own samples
  SfbMode sfb = SfbMode::kNone;  // of plans that split ops: gradients made of gathered factors
  // Layouts by hand, in the place of an algorithm's (ReadLayouts).
  std::optional<DistributionSpec> layouts{};
  // A cost store (docs/formats/cost-store.md): times of ops and collectives and figures of links that were measured
  // there replace modelled ones. "": none.
  std::string cost_store{};
  // Keep what the plan's files hold beside the plan itself (planning/plan_files.h).
  bool keep_files = false;
  // Where more than 16 devices have a part of a plan that splits ops, `compiled`, `costs` and `schedule` may be of the
  // first of each class of devices that do alike (Plan::lanes), as the program's plans are: in the time of one device.
  bool in_lanes = false;
  // Of `auto`, and of RankStrategies.
  StrategyOptions strategies{};
  // Further algorithms, by their names (LearnedPlanners); `auto` runs those that say so.
  std::vector<std::shared_ptr<const Planner>> planners{};
};

struct PlannedStep {
  Plan plan;                       // what was found: step time, bound, memory, baselines, history
  Placement placement;             // the device of every op; with `compiled`: of its ops
  Schedule schedule;               // when every op and transfer runs, and every collective
  std::string bound_argument;      // what proves the lower bound
  std::vector<std::string> notes;  // what a user should know: a limit that was met, say
  // Of a plan that splits or copies ops (plan.space is kReplicated; its layouts are in plan.distribution): the
  // step that it comes to, with parts of ops and collectives as ops of its own.
  std::optional<Graph> compiled{};
  // With PlanRequest::keep_files: costs of the ops of `compiled`, else of the graph's, and the compiled step as
  // its file has it.
  std::optional<CostTable> costs{};
  std::string compiled_text{};
};

// Plans one step with modelled costs, or with costs of the caller. A plan that does not fit in
// memory (`plan.feasible` is false) is a value: nothing better was found. Errors: kInfeasible with
// the proof that no plan exists; kUnreachable; kConstraint; kUsage (an algorithm or profile that
// there is not, `initial` for one that takes none, limits out of range, a space that it cannot have);
// kPlanMismatch (costs or
// homes of another graph or cluster); kPlanMismatch, kPlanInvalid or kField for an `initial` that
// is no placement of the graph; kCancelled, where it was stopped before there was any plan.
Result<PlannedStep> PlanStep(const Graph& graph, const Cluster& cluster,
                             const PlanRequest& request = {});
Result<PlannedStep> PlanStep(const Graph& graph, const Cluster& cluster, const CostTable& costs,
                             const PlanRequest& request = {});

struct SettledRewriting {
  std::string algorithm;
  Rewriting rewriting;
};
// How a recorded step, as it was recorded, is rewritten for a request, with what it leaves open chosen as `placewright plan`
// does: a pipeline is asked for by its schedule or by the algorithm of that name; its stages, chunks and micro-batches
// follow from the machines and the batch, and on GPUs of several kinds the layers of each stage. The step to plan is
// the one read with that rewriting (ReadGraphOptions). `request`: algorithm, settings, layouts and costs. Errors: kUsage
// (stages of no pipeline; no number of micro-batches), those of the cost model.
Result<SettledRewriting> SettleRewriting(const Graph& step, const Cluster& cluster,
                                         const PlanRequest& request, const Rewriting& asked);

// How a step would have to be rewritten further so that a plan of the same algorithm fits.
struct RewritingAdvice {
  Rewriting from, to;
  bool fits = false;
  bool may_be_chosen =
      false;  // micro-batches and recomputation that were asked for are as they were
  Nanos step_time;
  Bytes memory, capacity;  // of the device that lacks most, or has the smallest rest
};
// As options of the program ("--micro-batches 2") or as arguments in Python ("micro_batches=2").
enum class RewritingWords : uint8_t { kOptions, kArguments };
// "--micro-batches 2".
std::string DescribeChange(const RewritingAdvice& advice, RewritingWords words);
// "--micro-batches 2: it then fits, 890 ms a step", or what it still lacks.
std::string Describe(const RewritingAdvice& advice, RewritingWords words);
// Of a plan of the request's algorithm that does not fit, `step` rewritten as it was planned and as it was `recorded`: tries
// more micro-batches, recomputation and both, the fastest by estimate first, and returns the first that fits with all that
// is taken beside tensors, else the last that was tried. Nothing where there is none: of `auto` and of other searches, of
// layouts by hand, of plans that split no ops. `asked`: the rewriting that was asked for. Errors: those of SettleRewriting.
Result<std::optional<RewritingAdvice>> AdviseRewriting(const Graph& recorded, const Graph& step,
                                                       const Cluster& cluster,
                                                       const PlanRequest& request,
                                                       const Rewriting& asked);

// Strategies for a recorded step, as it was recorded, on a cluster: those that were simulated and fit, the fastest first;
// those that are estimated to fit, likewise; those that do not; those that are none for this step or cluster. All are
// estimated, the best of them simulated, until `strategies.evaluations` or the time is over. `request`: strategies, costs,
// order, time and threads; the rest is not looked at. Errors: kUsage (a step whose ops may not be split; one that is rewritten already), those of the cost model.
Result<std::vector<StrategyResult>> RankStrategies(const Graph& graph, const Cluster& cluster,
                                                   const PlanRequest& request = {});

// The step at a batch, recorded or read anew. An error of the batch (kBatchScaling, kTooLarge, kNotRecordable,
// kGraphShape, kField) says that there is none at it.
using GraphAtBatch = std::function<Result<Graph>(int64_t batch)>;

struct PlannedBatch {
  LargestBatch found;            // with its trials; batch at least 1
  std::vector<BatchRate> rates;  // of the trials' plans at some batches: the best is at one of them
  PlannedStep step;              // at the largest batch
};

// Plans for the largest batch that fits, on GPUs alone where there are some: trials first, which double from `start` and
// then bisect (planning/largest_batch.h), then a search at that batch as PlanStep has it, whose result is at least the
// trials' plan. The request's time is that of the search. Errors: kInfeasible or kNothingFound where batch 1 does not fit;
// kInterrupted; kUsage (`initial`, which would be of another batch); those of `graph_at` and of PlanStep.
Result<PlannedBatch> PlanLargestBatch(const GraphAtBatch& graph_at, const Cluster& cluster,
                                      const PlanRequest& request = {}, int64_t start = 1);

}  // namespace placewright

#endif  // PLACEWRIGHT_PLANNING_PLACEWRIGHT_H_
