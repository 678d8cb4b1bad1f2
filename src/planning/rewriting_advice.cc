#include "planning/rewriting_advice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <utility>

#include "planning/plan_session.h"
#include "planning/stage_layers.h"
#include "search/planner_table.h"
#include "search/strategies/strategy_space.h"
#include "transforms/transforms.h"

namespace placewright {
namespace {

constexpr size_t kEstimatedTrials = 3;

int64_t MicroBatchesOf(const Rewriting& rewriting) {
  return std::max<int64_t>(1, rewriting.micro_batches);
}

int64_t InstancesOf(const Rewriting& rewriting, const Graph& recorded) {
  return MicroBatchesOf(rewriting) * static_cast<int64_t>(recorded.op_count());
}

bool KeepsStated(const Rewriting& rewriting, const Rewriting& stated) {
  return (stated.micro_batches == 0 || MicroBatchesOf(rewriting) == stated.micro_batches) &&
         (stated.recompute.empty() || rewriting.recompute == stated.recompute) &&
         (stated.layers.empty() || rewriting.layers == stated.layers);
}

bool IsSamePipeline(const Rewriting& a, const Rewriting& b) {
  return a.schedule == b.schedule && a.stages == b.stages && a.chunks == b.chunks;
}

// Twice as many micro-batches as now and more, `max` of them, with samples for `parts`; ascending.
std::vector<int64_t> MoreMicroBatches(const Rewriting& now, int64_t batch, int64_t parts,
                                      int64_t max) {
  std::vector<int64_t> more;
  // All micro-batches of gpipe are kept, however small.
  if (now.schedule == "gpipe") return more;
  const bool rounds = now.schedule == "interleaved";
  max = std::min(max, batch / parts);
  for (int64_t m = 2 * MicroBatchesOf(now); m <= max; ++m) {
    if (batch % m == 0 && (!rounds || m % now.stages == 0)) more.push_back(m);
  }
  return more;
}

// With what the algorithm is estimated to fit, the fastest first, and behind these what needs the smallest memory. Empty:
// it is not estimated with these settings.
std::vector<Rewriting> EstimatedRewritings(const RewritingAdviceRequest& request,
                                           const Rewriting& now, const Graph& recorded) {
  const SchedulingPolicy policy = request.trials.policy.value_or(DefaultPolicy(recorded.format()));
  const auto base = MakeLayouts(recorded, request.cluster, request.trials.costs, policy, {});
  if (!base.ok()) return {};
  StatedRewriting stated;
  if (request.stated.micro_batches > 0) stated.micro_batches = request.stated.micro_batches;
  if (!request.stated.recompute.empty()) stated.recompute = request.stated.recompute;
  Result<StrategyEstimator> estimator = StrategyEstimator::Make(*base.value(), stated);
  if (!estimator.ok()) return {};
  std::vector<StrategyEstimate> all = estimator.value().Unpipelined();
  if (!now.schedule.empty()) all = estimator.value().All();
  const std::set<std::string> settings(request.settings.begin(), request.settings.end());
  std::vector<Rewriting> fitting;
  std::optional<StrategyEstimate> smallest;
  for (StrategyEstimate& one : all) {
    const Strategy& strategy = one.strategy;
    const bool is_asked =
        one.why_not.empty() && strategy.algorithm == request.algorithm &&
        IsSamePipeline(strategy.rewriting, now) &&
        std::set<std::string>(strategy.settings.begin(), strategy.settings.end()) == settings;
    const bool is_now = MicroBatchesOf(strategy.rewriting) == MicroBatchesOf(now) &&
                        strategy.rewriting.recompute == now.recompute;
    if (!is_asked || is_now || InstancesOf(strategy.rewriting, recorded) > kTriedOps) continue;
    // Of a pipeline whose layers are chosen there is one with equal stages, too.
    if (!now.layers.empty() && !strategy.rewriting.layers.empty()) continue;
    if (!now.layers.empty()) one.strategy.rewriting.layers = now.layers;
    one.strategy.rewriting.offload = now.offload;
    if (!smallest || one.memory < smallest->memory) smallest = one;
    if (one.Fits() && fitting.size() < kEstimatedTrials) fitting.push_back(strategy.rewriting);
  }
  // Estimates err: what needs the smallest memory may fit where none that is estimated to does.
  const auto is_smallest = [&](const Rewriting& one) {
    return MicroBatchesOf(one) == MicroBatchesOf(smallest->strategy.rewriting) &&
           one.recompute == smallest->strategy.rewriting.recompute;
  };
  if (smallest && std::none_of(fitting.begin(), fitting.end(), is_smallest)) {
    fitting.push_back(smallest->strategy.rewriting);
  }
  return fitting;
}

// What rewrites the step further, so that it needs less memory; the cheapest first.
std::vector<Rewriting> FurtherRewritings(const Rewriting& now, const Graph& recorded,
                                         int64_t gpus) {
  const int64_t stages = std::max<int64_t>(1, now.stages);
  const int64_t max = kTriedOps / std::max<int64_t>(1, InstancesOf({}, recorded));
  const std::vector<int64_t> more =
      MoreMicroBatches(now, recorded.samples(), (gpus + stages - 1) / stages, max);
  std::vector<Rewriting> further;
  const auto add = [&](int64_t micro_batches, bool again) {
    if (micro_batches > std::max<int64_t>(1, max)) return;
    further.push_back(now);
    further.back().micro_batches = micro_batches;
    if (again) further.back().recompute = {"full"};
  };
  const bool may_recompute = now.recompute.empty();
  if (!more.empty()) add(more.front(), false);
  if (may_recompute) add(now.micro_batches, true);
  if (more.size() > 1) add(more.back(), false);
  if (may_recompute && !more.empty()) add(more.back(), true);
  return further;
}

int64_t CountGpus(const Cluster& cluster) {
  int64_t gpus = 0;
  for (const DeviceId id : cluster.devices()) {
    if (cluster.kind(id).device_class == DeviceClass::kGpu) ++gpus;
  }
  return std::max<int64_t>(1, gpus);
}

}  // namespace

bool LaysOutOnePlan(const Planner& asked) {
  return asked.name() != "auto" && !asked.iterative() && !TriesUnits(asked.name());
}

std::optional<RewritingAdvice> AdviseRewriting(const RewritingAdviceRequest& request,
                                               StrategyTrier& trier) {
  Rewriting now = RewritingFor(request.step.transforms());
  now.layers = request.stated.layers;
  StrategyTrialOptions trials = request.trials;
  trials.in_all_peaks = true;
  std::vector<Rewriting> candidates = EstimatedRewritings(request, now, trier.step());
  const bool is_estimated = !candidates.empty();
  for (const Rewriting& further :
       FurtherRewritings(now, trier.step(), CountGpus(request.cluster))) {
    // Of what is estimated only that which gives up what was stated is left.
    if (!is_estimated || !KeepsStated(further, request.stated)) candidates.push_back(further);
  }
  if (!is_estimated) {
    std::stable_partition(candidates.begin(), candidates.end(),
                          [&](const Rewriting& one) { return KeepsStated(one, request.stated); });
  }
  std::optional<RewritingAdvice> last;
  for (const Rewriting& further : candidates) {
    if (trials.stop.StopRequested()) break;
    Strategy strategy{request.algorithm, further, request.settings};
    if (!further.schedule.empty() && further.layers.empty()) {
      const auto layers = LayersOfUnequalStages(trier.step(), request.cluster, request.trials.costs,
                                                further, strategy.algorithm, strategy.settings);
      if (layers.ok()) strategy.rewriting.layers = layers.value();
    }
    const Result<StrategyResult> tried = trier.Try(request.cluster, strategy, trials);
    if (!tried.ok() || !tried.value().evaluated) continue;
    const StrategyResult& result = tried.value();
    last = RewritingAdvice{.from = now,
                           .to = strategy.rewriting,
                           .fits = result.fits,
                           .may_be_chosen = IsTrainingStrategy(request.algorithm) &&
                                            KeepsStated(strategy.rewriting, request.stated),
                           .step_time = result.step_time,
                           .memory = result.memory,
                           .capacity = result.capacity};
    if (last->fits) break;
  }
  return last;
}

std::string DescribeChange(const RewritingAdvice& advice, RewritingWords words) {
  const bool options = words == RewritingWords::kOptions;
  std::string change;
  if (advice.to.micro_batches != advice.from.micro_batches) {
    change = fmt::format("{}{}",
                         options ? "--micro-batches " : "micro_batches=", advice.to.micro_batches);
  }
  if (advice.to.recompute != advice.from.recompute) {
    if (!change.empty()) change += options ? " " : ", ";
    const std::vector<std::string>& sets = advice.to.recompute;
    if (options) {
      change += fmt::format("--recompute {}", fmt::join(sets, " --recompute "));
    } else if (sets.size() == 1) {
      change += fmt::format("recompute=\"{}\"", sets.front());
    } else {
      change += fmt::format("recompute=[\"{}\"]", fmt::join(sets, "\", \""));
    }
  }
  const std::vector<int64_t>& layers = advice.to.layers;
  if (!layers.empty() && layers != advice.from.layers) {
    if (!change.empty()) change += options ? " " : ", ";
    change += options ? fmt::format("--stage-layers {}", fmt::join(layers, ","))
                      : fmt::format("stage_layers=[{}]", fmt::join(layers, ", "));
  }
  return change;
}

std::string Describe(const RewritingAdvice& advice, RewritingWords words) {
  const std::string change = DescribeChange(advice, words);
  if (advice.fits) {
    return fmt::format("{}: it then fits, {} a step", change, FormatNanos(advice.step_time));
  }
  if (advice.memory <= advice.capacity) {
    return change + " does not suffice: tensors fit, but not all that is taken beside them";
  }
  return fmt::format("{} does not suffice, as a device with {} would need {}", change,
                     FormatBytes(advice.capacity), FormatBytes(advice.memory));
}

}  // namespace placewright
