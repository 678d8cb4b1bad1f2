#include "search/layouts/offload.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "graph/ownership/module_path.h"
#include "plan/sharing_out.h"
#include "search/agent_settings.h"
#include "search/evaluation/plan_result.h"
#include "transforms/accumulate.h"

namespace placewright {
namespace {

bool IsCpu(const LayoutProblem& problem, DeviceId device) {
  return problem.cluster.kind(device).device_class == DeviceClass::kCpu;
}

// Groups that compute nothing but updates: they may be on a CPU without slowing down a pass.
IdVector<GroupId, bool> MayBeOnHost(const Graph& graph) {
  IdVector<GroupId, bool> may(graph.group_count(), true);
  for (const OpId op : graph.ops()) {
    const bool computes = !graph.op(op).is_view && graph.op(op).phase != Phase::kOptimizer;
    if (computes) may[graph.group(op)] = false;
  }
  return may;
}

int64_t ElementsOf(const Tensor& tensor) {
  int64_t elements = 1;
  for (const int64_t size : tensor.shape) elements *= size;
  return elements;
}

}  // namespace

Result<OffloadLayouts> OffloadLayouts::Make(const LayoutProblem& problem, int64_t smallest) {
  OffloadLayouts layouts(problem);
  PW_RETURN_IF_ERROR(layouts.FindDevices());
  layouts.FindUnits(smallest);
  return layouts;
}

std::vector<DeviceId> FastestHost(const LayoutProblem& problem, const DeviceTimes& times,
                                  const std::vector<DeviceId>& usable) {
  std::map<int32_t, std::vector<DeviceId>> gpus;
  std::set<int32_t> with_cpu;
  for (const DeviceId device : usable) {
    if (!IsCpu(problem, device)) gpus[problem.cluster.device(device).host].push_back(device);
  }
  for (const DeviceId device : problem.cluster.devices()) {
    if (IsCpu(problem, device)) with_cpu.insert(problem.cluster.device(device).host);
  }
  double fastest = 0;
  std::vector<DeviceId> chosen;
  for (const auto& [host, own] : gpus) {
    if (!with_cpu.contains(host)) continue;
    double speed = 0;
    for (const DeviceId device : own) speed += 1 / std::max(1.0, times.Total(device));
    if (speed <= fastest) continue;
    fastest = speed;
    chosen = own;
  }
  return chosen;
}

Status OffloadLayouts::FindDevices() {
  times_ = TimesOf(problem_);
  PW_ASSIGN(const std::vector<DeviceId> usable, DevicesToSplitOver(problem_, times_));
  gpus_ = FastestHost(problem_, times_, usable);
  for (const DeviceId device : problem_.cluster.devices()) {
    const bool beside = !gpus_.empty() && problem_.cluster.device(device).host ==
                                              problem_.cluster.device(gpus_.front()).host;
    if (beside && IsCpu(problem_, device)) cpus_.push_back(device);
  }
  if (gpus_.empty()) {
    return MakeError(ErrorCode::kClusterUnsuited,
                     "offload needs a host with GPUs whose CPU is a device, too: there is none",
                     ClusterPlace(problem_.cluster),
                     "State `cpus` and `memory` of the host in the cluster file "
                     "(docs/formats/cluster.md).");
  }
  const auto samples = static_cast<size_t>(std::max<int64_t>(1, problem_.axes.samples()));
  if (gpus_.size() > samples) {
    SortFastestFirst(times_, gpus_);
    gpus_.resize(samples);
    std::sort(gpus_.begin(), gpus_.end());
  }
  const auto way = [&](DeviceId cpu) {
    const Route& route = problem_.cluster.route(cpu, gpus_.front());
    return std::pair(-route.bandwidth.count, route.latency.count);
  };
  std::stable_sort(cpus_.begin(), cpus_.end(),
                   [&](DeviceId a, DeviceId b) { return way(a) < way(b); });
  return Ok();
}

void OffloadLayouts::FindUnits(int64_t smallest) {
  const Graph& graph = problem_.graph;
  const IdVector<GroupId, bool> may = MayBeOnHost(graph);
  IdVector<GroupId, Bytes> bytes(graph.group_count());
  for (const StorageId id : graph.storages()) {
    const OpId home = graph.home_op(id);
    const bool persists = graph.storage(id).kind != TensorKind::kInput &&
                          !graph.tensor(graph.storage(id).first).producer.valid();
    if (persists && home.valid()) bytes[graph.group(home)].count += graph.storage(id).bytes.count;
  }
  std::map<std::string_view, size_t> numbers;
  std::set<GroupId> taken;
  Unit outside;
  for (const StorageId id : graph.storages()) {
    const Tensor& tensor = graph.tensor(graph.storage(id).first);
    const OpId home = graph.home_op(id);
    if (tensor.kind != TensorKind::kParameter || tensor.producer.valid() || !home.valid()) continue;
    const GroupId group = graph.group(home);
    if (!may[group] || ElementsOf(tensor) < smallest || !taken.insert(group).second) continue;
    const std::string_view layer = LayerOf(ModuleOfParameter(tensor.name));
    const auto [at, fresh] = numbers.emplace(layer, units_.size());
    if (fresh && !layer.empty()) units_.push_back({std::string(layer), {}, {}});
    Unit& unit = layer.empty() ? outside : units_[at->second];
    unit.groups.push_back(group);
    unit.bytes.count += bytes[group].count;
  }
  if (!outside.groups.empty()) units_.push_back(std::move(outside));
}

std::vector<size_t> OffloadLayouts::UnitsOnHost(size_t count) const {
  const bool outside = !units_.empty() && units_.back().module.empty();
  const size_t layers = units_.size() - (outside ? 1 : 0);
  const size_t of_layers = std::min(count, layers);
  std::vector<size_t> chosen;
  for (size_t i = 0; i < layers; ++i) {
    if ((i + 1) * of_layers / layers > i * of_layers / layers) chosen.push_back(i);
  }
  if (count > layers) chosen.push_back(layers);
  return chosen;
}

// In proportion to the speed of the GPUs.
Layout OffloadLayouts::LayoutOfSamples() const {
  if (gpus_.size() == 1) return PlacedOn(gpus_.front());
  const AxisId batch = problem_.axes.batch();
  std::vector<double> weights;
  for (const DeviceId gpu : gpus_) weights.push_back(1 / std::max(1.0, times_.Total(gpu)));
  const auto shares = SharesInProportion(problem_.axes.axis(batch).size, weights);
  Layout layout;
  int64_t from = 0;
  for (size_t i = 0; i < gpus_.size(); ++i) {
    const std::vector<AxisInterval> box = {{batch, {from, from + shares[i]}}};
    layout.shares.push_back({gpus_[i], {box.begin(), box.end()}});
    from += shares[i];
  }
  return layout;
}

StepPlan OffloadLayouts::PlanOf(size_t count, bool fetched_anew) const {
  const Graph& graph = problem_.graph;
  StepPlan plan;
  plan.switches.local_batch_norm = problem_.local_batch_norm;
  plan.layouts.layouts.push_back(LayoutOfSamples());
  plan.layouts.of_group = IdVector<GroupId, LayoutId>(graph.group_count(), LayoutId(0));
  IdVector<GroupId, bool> on_host(graph.group_count(), false);
  std::set<std::string> again;
  size_t cpu = 0;
  int64_t room = problem_.cluster.device(cpus_.front()).capacity.count;
  for (const size_t i : UnitsOnHost(count)) {
    const Unit& unit = units_[i];
    // A socket after the other is filled, the nearest first.
    while (cpu + 1 < cpus_.size() && unit.bytes.count > room) {
      room = problem_.cluster.device(cpus_[++cpu]).capacity.count;
    }
    room -= unit.bytes.count;
    plan.layouts.layouts.push_back(PlacedOn(cpus_[cpu]));
    const LayoutId host(plan.layouts.layouts.size() - 1);
    for (const GroupId group : unit.groups) {
      plan.layouts.of_group[group] = host;
      on_host[group] = true;
    }
    if (!unit.module.empty()) again.insert(unit.module);
  }
  // Gradients of micro-batches are added up where the parameter that they update lies.
  for (const OpId op : graph.ops()) {
    if (!IsMicroBatchSum(graph.op(op))) continue;
    for (const OpId reader : graph.consumers(op)) {
      const GroupId group = graph.group(reader);
      if (on_host[group]) plan.layouts.of_group[graph.group(op)] = plan.layouts.of_group[group];
    }
  }
  if (count == 0) return plan;
  plan.switches.prefetch = 1;
  if (fetched_anew) plan.switches.regather.assign(again.begin(), again.end());
  return plan;
}

namespace {

// Which plan it comes to.
class OffloadSearch {
 public:
  OffloadSearch(const OffloadLayouts& layouts, Evaluator& evaluator, const Budget& budget)
      : layouts_(layouts), evaluator_(evaluator), budget_(budget) {}

  struct Found {
    StepPlan plan;
    Evaluation evaluation;
    size_t units = 0;
  };

  Status Try(size_t units, bool fetched_anew) {
    StepPlan plan = layouts_.PlanOf(units, fetched_anew);
    PW_ASSIGN(Evaluation evaluation, evaluator_.EvaluatePlan(plan));
    fits_ = evaluation.feasible;
    if (best_ && !(evaluation.score() < best_->evaluation.score())) return Ok();
    best_ = Found{std::move(plan), std::move(evaluation), units};
    return Ok();
  }

  // The fewest units with which it fits.
  Status Bisect(bool fetched_anew) {
    size_t too_few = 0, enough = layouts_.unit_count();
    PW_RETURN_IF_ERROR(Try(enough, fetched_anew));
    if (!fits_) return Ok();
    while (enough - too_few > 1 && !budget_.stop.StopRequested()) {
      const size_t middle = too_few + (enough - too_few) / 2;
      PW_RETURN_IF_ERROR(Try(middle, fetched_anew));
      (fits_ ? enough : too_few) = middle;
    }
    return Ok();
  }

  bool fits() const { return fits_; }
  Found& best() { return *best_; }

 private:
  const OffloadLayouts& layouts_;
  Evaluator& evaluator_;
  const Budget& budget_;
  bool fits_ = false;  // what was tried last
  std::optional<Found> best_;
};

}  // namespace

const SettableAlgorithm* OffloadPlanner::settable() const {
  static const SettableAlgorithm algorithm{
      "offload",
      std::string(OffloadPlanner().description()),
      {IntegerSetting("smallest", 100'000, 0, int64_t{1} << 40,
                      "elements: smaller parameters stay on the GPUs"),
       IntegerSetting("layers", -1, -1, 100'000,
                      "how many layers lie on the host, counting what is outside of them as one; "
                      "-1: as few as fit"),
       WordSetting(
           "copies", {"either", "kept", "fetched-anew"},
           "what a GPU fetched for the forward pass: kept for the backward pass, or fetched "
           "anew for it; either: the faster that fits")}};
  return &algorithm;
}

Result<PlannerResult> OffloadPlanner::Plan(const Problem& problem, Evaluator& evaluator,
                                           const PlannerOptions& options) const {
  PW_RETURN_IF_ERROR(CheckMaySplit(problem, name(), "chooses the devices of every op itself"));
  PW_ASSIGN(const AgentSettings settings, AgentSettings::Parse(*settable(), settings_));
  PW_ASSIGN(const OffloadLayouts layouts,
            OffloadLayouts::Make(*problem.layouts, settings.Integer("smallest")));
  OffloadSearch search(layouts, evaluator, options.budget);
  const int64_t stated = settings.Integer("layers");
  std::vector<bool> ways;
  if (!settings.Is("copies", "fetched-anew")) ways.push_back(false);
  if (!settings.Is("copies", "kept")) ways.push_back(true);
  if (stated >= 0) {
    const size_t units = std::min(static_cast<size_t>(stated), layouts.unit_count());
    for (const bool anew : ways) PW_RETURN_IF_ERROR(search.Try(units, anew));
  } else {
    PW_RETURN_IF_ERROR(search.Try(0, false));
    const bool needed = !search.fits() && layouts.unit_count() > 0;
    for (const bool anew : ways) {
      if (needed) PW_RETURN_IF_ERROR(search.Bisect(anew));
    }
  }
  OffloadSearch::Found& best = search.best();
  PlannerResult result = MakeResult(name(), std::move(best.plan), best.evaluation, options);
  result.notes.push_back(
      best.units == 0
          ? std::string("offload keeps everything on the GPUs")
          : fmt::format("offload: {} of {} layers, or what is outside of them, lie in host memory",
                        best.units, layouts.unit_count()));
  return result;
}

}  // namespace placewright
