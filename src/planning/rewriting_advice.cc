#include "planning/rewriting_advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "planning/stage_layers.h"

namespace placewright {
namespace {

constexpr int64_t kTriedOps = 150'000;  // a step of more takes longer to rewrite and simulate

// Twice as many micro-batches as now and more, `max` of them, with samples for `parts`; ascending.
std::vector<int64_t> MoreMicroBatches(const Rewriting& now, int64_t batch, int64_t parts,
                                      int64_t max) {
  std::vector<int64_t> more;
  // All micro-batches of gpipe are kept, however small.
  if (now.schedule == "gpipe") return more;
  const bool rounds = now.schedule == "interleaved";
  max = std::min(max, batch / parts);
  for (int64_t m = 2 * std::max<int64_t>(1, now.micro_batches); m <= max; ++m) {
    if (batch % m == 0 && (!rounds || m % now.stages == 0)) more.push_back(m);
  }
  return more;
}

// What rewrites the step further, so that it needs less memory; the cheapest first.
std::vector<Rewriting> FurtherRewritings(const Rewriting& now, const Graph& recorded,
                                         int64_t gpus) {
  const int64_t stages = std::max<int64_t>(1, now.stages);
  const int64_t max = kTriedOps / static_cast<int64_t>(std::max<size_t>(1, recorded.op_count()));
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

Rewriting RewritingOf(const Graph& step, const Rewriting& stated) {
  Rewriting made;
  for (const Transform& one : step.transforms()) {
    if (one.kind == Transform::kAccumulate) made.micro_batches = one.micro_batches;
    if (one.kind == Transform::kRecompute) made.recompute = one.modules;
    if (one.kind == Transform::kOffload) made.offload = one.modules;
    if (one.kind != Transform::kPipeline) continue;
    made.schedule = one.schedule;
    made.stages = one.stages;
    made.chunks = one.chunks;
    made.layers = stated.layers;
  }
  return made;
}

std::optional<RewritingAdvice> AdviseRewriting(const RewritingAdviceRequest& request,
                                               StrategyTrier& trier) {
  const Rewriting now = RewritingOf(request.step, request.stated);
  std::optional<RewritingAdvice> last;
  for (Rewriting& further : FurtherRewritings(now, trier.step(), CountGpus(request.cluster))) {
    if (Clock::now() > request.until || request.trials.stop.StopRequested()) break;
    Strategy strategy{request.algorithm, further, request.settings};
    if (!further.schedule.empty() && further.layers.empty()) {
      const auto layers = LayersOfUnequalStages(trier.step(), request.cluster, request.trials.costs,
                                                further, strategy.algorithm, strategy.settings);
      if (layers.ok()) strategy.rewriting.layers = layers.value();
    }
    const Result<StrategyResult> tried = trier.Try(request.cluster, strategy, request.trials);
    if (!tried.ok() || !tried.value().evaluated) continue;
    const StrategyResult& result = tried.value();
    last = {now, std::move(further), result.fits, result.step_time, result.memory, result.capacity};
    if (last->fits) break;
  }
  return last;
}

std::string Describe(const RewritingAdvice& advice, RewritingWords words) {
  const bool options = words == RewritingWords::kOptions;
  std::string change;
  if (advice.to.micro_batches != advice.from.micro_batches) {
    change = fmt::format("{}{}",
                         options ? "--micro-batches " : "micro_batches=", advice.to.micro_batches);
  }
  if (advice.to.recompute != advice.from.recompute) {
    if (!change.empty()) change += options ? " " : ", ";
    change += options ? "--recompute full" : "recompute=\"full\"";
  }
  if (advice.fits) {
    return fmt::format("{}: it then fits, {} a step", change, FormatNanos(advice.step_time));
  }
  return fmt::format("{} does not suffice, as a device with {} would need {}", change,
                     FormatBytes(advice.capacity), FormatBytes(advice.memory));
}

}  // namespace placewright
