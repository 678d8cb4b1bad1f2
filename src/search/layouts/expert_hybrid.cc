#include "search/layouts/expert_hybrid.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "graph/module_globs.h"
#include "search/evaluation/plan_result.h"
#include "search/layouts/model_structure.h"
#include "search/layouts/routed_experts.h"
#include "sharding/routing.h"

namespace placewright {
namespace {

constexpr size_t kMaxHeadsSplit = 8;  // devices, as in Megatron-LM

class Hybrid {
 public:
  explicit Hybrid(const LayoutProblem& problem)
      : problem_(problem),
        graph_(problem.graph),
        times_(TimesOf(problem)),
        has_op_(problem.graph.group_count(), false) {
    for (const OpId op : graph_.ops()) {
      if (!HoldsNothing(graph_, op)) has_op_[graph_.group(op)] = true;
    }
  }

  Result<HybridLayouts> LayOut() {
    const ModelStructure found = StructureOf(graph_, problem_.axes);
    PW_ASSIGN(all_, DevicesToSplitOver(problem_, times_));
    result_.plan.switches.local_batch_norm = problem_.local_batch_norm;
    switch (found.kind) {
      case ModelKind::kExperts: PW_RETURN_IF_ERROR(LayOutExperts(found)); break;
      case ModelKind::kAttention: LayOutAttention(found); break;
      case ModelKind::kRecurrent: PW_RETURN_IF_ERROR(LayOutRecurrent(found)); break;
      case ModelKind::kFullyConnected: PW_RETURN_IF_ERROR(LayOutOutputs(found)); break;
      case ModelKind::kConvolutional: PW_RETURN_IF_ERROR(LayOutConvolutions()); break;
      case ModelKind::kOther:
        return MakeError(ErrorCode::kUsage,
                         "expert-hybrid knows no strategy for this step: it has neither experts, "
                         "attention by heads, recurrent layers nor convolutions, and products have "
                         "less than half of its parameters",
                         "", "Use data-parallel-best, or write layouts by hand (--layouts).");
    }
    return std::move(result_);
  }

 private:
  // What groups want beside a base that all others have.
  struct WantedLayouts {
    WantedLayouts(const Graph& graph, Layout of_all)
        : base(std::move(of_all)), of_group(graph.group_count(), -1) {}
    Layout base;
    std::vector<Layout> others;
    IdVector<GroupId, int32_t> of_group;  // index into `others`, or -1: the base
  };

  // One device, or all of `devices` with the samples shared out among them.
  Layout OverSamples(const std::vector<DeviceId>& devices) const {
    return SplitBy(problem_.axes.batch(), devices);
  }

  Layout SplitBy(AxisId axis, const std::vector<DeviceId>& devices) const {
    if (devices.size() == 1) return PlacedOn(devices.front());
    const int64_t size = problem_.axes.axis(axis).size;
    const auto parts = static_cast<int64_t>(devices.size());
    std::vector<int64_t> lengths;
    for (int64_t i = 0; i < parts; ++i) {
      lengths.push_back((i + 1) * size / parts - i * size / parts);
    }
    return SplitOver(axis, devices, lengths);
  }

  // No more of them than samples.
  Status LimitToSamples(std::vector<DeviceId>& devices) {
    const int64_t samples = problem_.axes.samples();
    if (samples == 0) return problem_.axes.WhyNoBatch();
    if (static_cast<int64_t>(devices.size()) <= samples) return Ok();
    limited_ = fmt::format(
        "; a batch of {} for {} devices: {}", samples, devices.size(),
        samples == 1 ? "the fastest has the one sample" : "the fastest have one sample each");
    SortFastestFirst(times_, devices);
    devices.resize(static_cast<size_t>(samples));
    std::sort(devices.begin(), devices.end());
    return Ok();
  }

  // Of the machine with the maximum sum of speeds; `usable` may take fewer of them.
  template <class Usable>
  std::vector<DeviceId> FastestMachine(const Usable& usable) const {
    std::vector<DeviceId> best;
    double best_speed = -1;
    for (std::vector<DeviceId>& devices : UsableGroups(problem_.cluster.host_groups(), all_)) {
      devices.resize(usable(devices.size()));
      double speed = 0;
      for (const DeviceId device : devices) speed += 1 / std::max(1.0, times_.Total(device));
      if (speed <= best_speed) continue;
      best_speed = speed;
      best = std::move(devices);
    }
    return best;
  }

  // Every group with an op that an axis of the list can split, by it; of several, by the last: the
  // gradient of a weight has the outputs of its layer and of the one before.
  void SplitGroups(const std::vector<AxisId>& list, const std::vector<DeviceId>& devices,
                   WantedLayouts& wanted) const {
    for (const AxisId axis : list) {
      const auto number = static_cast<int32_t>(wanted.others.size());
      wanted.others.push_back(SplitBy(axis, devices));
      for (const OpId op : graph_.ops()) {
        if (problem_.axes.SplitBy(op, axis).valid()) wanted.of_group[graph_.group(op)] = number;
      }
    }
  }

  // Those with an op in the module; as in NamedGroups, one without ops of its own follows its views.
  std::vector<GroupId> GroupsOfModule(ModuleId module) const {
    std::set<GroupId> by_op, by_view;
    for (const OpId op : graph_.ops()) {
      if (graph_.op(op).module != module) continue;
      (HoldsNothing(graph_, op) ? by_view : by_op).insert(graph_.group(op));
    }
    for (const GroupId group : by_view) {
      if (!has_op_[group]) by_op.insert(group);
    }
    return {by_op.begin(), by_op.end()};
  }

  // Every group of the modules.
  void LayModules(const std::vector<ModuleId>& modules, Layout layout,
                  WantedLayouts& wanted) const {
    const auto number = static_cast<int32_t>(wanted.others.size());
    wanted.others.push_back(std::move(layout));
    for (const ModuleId module : modules) {
      for (const GroupId group : GroupsOfModule(module)) wanted.of_group[group] = number;
    }
  }

  Status LayOutExperts(const ModelStructure& found) {
    PW_RETURN_IF_ERROR(LimitToSamples(all_));
    if (all_.size() == 1) {
      TakeOne(all_, "a mixture of experts");
      return Ok();
    }
    WantedLayouts wanted(graph_, OverSamples(all_));
    const std::vector<AxisId> experts = WithPartsFor(all_, found.experts);
    SplitGroups(experts, all_, wanted);
    LayRoutedRows(experts, wanted);
    size_t modules = 0;
    for (const auto& mixture : found.mixtures) {
      for (size_t e = 0; e < mixture.size(); ++e) {
        LayModules(mixture[e], OverSamples(DevicesOfExpert(e, mixture.size())), wanted);
      }
      modules += mixture.size();
    }
    std::vector<std::string> what;
    if (modules > 0) {
      what.push_back(fmt::format("{} experts in {} mixture{}, each on {} in turn ({})", modules,
                                 found.mixtures.size(), found.mixtures.size() == 1 ? "" : "s",
                                 DevicesEach(found.mixtures.front().size()),
                                 ModulesOf(found.mixtures)));
    }
    if (!experts.empty()) what.push_back("experts by their axis (" + AxesOf(experts) + ")");
    Take(std::move(wanted), all_,
         what.empty() ? "experts along an axis (" + AxesOf(found.experts) +
                            "), fewer than devices: all by samples"
                      : fmt::format("{}; all else by samples (GShard)", fmt::join(what, ", ")));
    return Ok();
  }

  // Those of the axes that every device can have a part of.
  std::vector<AxisId> WithPartsFor(const std::vector<DeviceId>& devices,
                                   const std::vector<AxisId>& axes) const {
    std::vector<AxisId> enough;
    for (const AxisId axis : axes) {
      if (problem_.axes.axis(axis).size >= static_cast<int64_t>(devices.size())) {
        enough.push_back(axis);
      }
    }
    return enough;
  }

  std::vector<DeviceId> DevicesOfExpert(size_t expert, size_t experts) const {
    if (all_.size() <= experts) return {all_[expert % all_.size()]};
    std::vector<DeviceId> devices;
    for (size_t d = expert; d < all_.size(); d += experts) devices.push_back(all_[d]);
    return devices;
  }
  std::string DevicesEach(size_t experts) const {
    return all_.size() <= experts ? "one device" : "devices of its own";
  }

  void LayOutAttention(const ModelStructure& found) {
    int64_t heads = 0;  // the greatest common divisor over the layers
    for (const AxisId axis : found.heads) heads = std::gcd(heads, problem_.axes.axis(axis).size);
    const std::vector<DeviceId> devices = FastestMachine([&](size_t count) {
      count = std::min(count, kMaxHeadsSplit);
      while (heads % static_cast<int64_t>(count) != 0) --count;
      return count;
    });
    if (devices.size() == 1) {
      TakeOne(devices, "attention within one machine, over as many devices as divide its heads");
      return;
    }
    WantedLayouts wanted(graph_, CopiesOn(devices));
    SplitGroups(found.heads, devices, wanted);
    const std::vector<AxisId> widths = WithPartsFor(devices, found.widths);
    SplitGroups(widths, devices, wanted);
    std::string words;
    if (problem_.axes.samples() >= static_cast<int64_t>(devices.size())) {
      SplitWords(found.words, devices, wanted);
      if (!found.words.empty()) words = "; scores of " + AxesOf(found.words) + " by samples";
    }
    std::string perceptrons;
    if (!widths.empty()) {
      perceptrons =
          fmt::format(", {} perceptrons by inner width ({})", widths.size(), AxesOf(widths));
    }
    Take(std::move(wanted), devices,
         fmt::format("{} attentions by heads ({}){}{}; all else on every device (Megatron-LM)",
                     found.heads.size(), AxesOf(found.heads), perceptrons, words));
  }

  // What has words and samples, such as scores and their softmax, by samples.
  void SplitWords(const std::vector<AxisId>& words, const std::vector<DeviceId>& devices,
                  WantedLayouts& wanted) const {
    const auto number = static_cast<int32_t>(wanted.others.size());
    wanted.others.push_back(OverSamples(devices));
    for (const OpId op : graph_.ops()) {
      const bool has_words =
          std::any_of(words.begin(), words.end(), [&](AxisId axis) { return Scores(op, axis); });
      if (!has_words || wanted.of_group[graph_.group(op)] >= 0) continue;
      if (problem_.axes.SplitBy(op, problem_.axes.batch()).valid()) {
        wanted.of_group[graph_.group(op)] = number;
      }
    }
  }

  // Reads or makes something for every word of every sample; a look-up of words does neither.
  bool Scores(OpId op, AxisId words) const {
    const NamedAxes& axes = problem_.axes;
    const auto has_both = [&](TensorId id) {
      return axes.Holds(id, words) && axes.Holds(id, axes.batch());
    };
    const Op& one = graph_.op(op);
    return std::any_of(one.inputs.begin(), one.inputs.end(), has_both) ||
           std::any_of(one.outputs.begin(), one.outputs.end(), has_both);
  }

  Status LayOutRecurrent(const ModelStructure& found) {
    std::vector<DeviceId> devices = FastestMachine([](size_t count) { return count; });
    PW_RETURN_IF_ERROR(LimitToSamples(devices));
    if (devices.size() == 1) {
      TakeOne(std::move(devices), "recurrent layers");
      return Ok();
    }
    WantedLayouts wanted(graph_, OverSamples(devices));
    for (size_t i = 0; i < found.recurrent.size(); ++i) {
      LayModules({found.recurrent[i]}, OverSamples({devices[i % devices.size()]}), wanted);
    }
    std::vector<std::string> layers;
    for (const ModuleId layer : found.recurrent) layers.push_back(graph_.module_path(layer));
    const std::string what = fmt::format(
        "{} recurrent layers on one device each, in turn ({}); all else by samples (GNMT)",
        found.recurrent.size(), FirstAndLast(layers));
    Take(std::move(wanted), devices, what);
    return Ok();
  }

  Status LayOutOutputs(const ModelStructure& found) {
    PW_RETURN_IF_ERROR(LimitToSamples(all_));
    if (all_.size() == 1) {
      TakeOne(all_, "fully connected layers");
      return Ok();
    }
    WantedLayouts wanted(graph_, OverSamples(all_));
    const std::vector<AxisId> outputs = WithPartsFor(all_, found.outputs);
    if (outputs.empty()) {
      Take(std::move(wanted), all_,
           "fully connected layers with fewer outputs than devices: all by samples");
      return Ok();
    }
    SplitGroups(outputs, all_, wanted);
    Take(std::move(wanted), all_,
         fmt::format("{} fully connected layers, with {:.0f}% of the parameters, by outputs ({}); "
                     "all else by samples (one weird trick)",
                     outputs.size(), 100 * found.matrices, AxesOf(outputs)));
    return Ok();
  }

  Status LayOutConvolutions() {
    PW_RETURN_IF_ERROR(LimitToSamples(all_));
    if (all_.size() == 1) {
      TakeOne(all_, "convolutions");
      return Ok();
    }
    Take(WantedLayouts(graph_, OverSamples(all_)), all_,
         "convolutions without large fully connected layers: all by samples");
    return Ok();
  }

  // What is sorted by experts lies with them, in the layouts that SplitGroups gave to these axes.
  void LayRoutedRows(const std::vector<AxisId>& experts, WantedLayouts& wanted) const {
    const RoutedExperts routed(graph_, problem_.axes);
    for (size_t i = 0; i < experts.size(); ++i) {
      const IdVector<GroupId, bool> rows = routed.GroupsOf(experts[i]);
      for (const GroupId group : IdRange<GroupId>(graph_.group_count())) {
        if (rows[group]) wanted.of_group[group] = static_cast<int32_t>(i);
      }
    }
  }

  // Rows that are routed to experts and back stay in one layout, that of the experts or the base: no part of them can be
  // cut.
  void Take(WantedLayouts wanted, const std::vector<DeviceId>& devices, std::string_view what) {
    for (const std::vector<OpId>& region : FindRoutedRows(graph_).regions) {
      const int32_t first = wanted.of_group[graph_.group(region.front())];
      const bool alike = std::all_of(region.begin(), region.end(), [&](OpId op) {
        return wanted.of_group[graph_.group(op)] == first;
      });
      if (alike) continue;
      for (const OpId op : region) wanted.of_group[graph_.group(op)] = -1;
    }
    SetPlan(std::move(wanted));
    result_.note =
        fmt::format("expert-hybrid: {}; over {} devices{}", what, devices.size(), limited_);
  }

  // Nothing is split.
  void TakeOne(const std::vector<DeviceId>& device, std::string_view kind) {
    SetPlan(WantedLayouts(graph_, CopiesOn(device)));
    result_.note = fmt::format("expert-hybrid: {}: all on {}{}", kind,
                               problem_.cluster.device(device.front()).name, limited_);
  }

  void SetPlan(WantedLayouts wanted) {
    Layouts& layouts = result_.plan.layouts;
    layouts.layouts = std::move(wanted.others);
    layouts.layouts.push_back(std::move(wanted.base));
    const LayoutId base(layouts.layouts.size() - 1);
    for (const int32_t other : wanted.of_group) {
      layouts.of_group.push_back(other < 0 ? base : LayoutId(other));
    }
  }

  static std::string FirstAndLast(const std::vector<std::string>& names) {
    if (names.empty()) return "none";
    if (names.size() == 1) return names.front();
    return names.front() + (names.size() == 2 ? ", " : " to ") + names.back();
  }

  std::string AxesOf(const std::vector<AxisId>& axes) const {
    std::vector<std::string> names;
    for (const AxisId axis : axes) names.push_back(problem_.axes.axis(axis).name);
    return FirstAndLast(names);
  }

  // The module of each expert: what the paths of all that it is made of begin with.
  std::string ModulesOf(const std::vector<std::vector<std::vector<ModuleId>>>& mixtures) const {
    std::vector<std::string> names;
    for (const auto& mixture : mixtures) {
      for (const std::vector<ModuleId>& expert : mixture) {
        std::string common = graph_.module_path(expert.front());
        for (const ModuleId module : expert) {
          const std::string& path = graph_.module_path(module);
          while (!common.empty() && !(path + ".").starts_with(common + ".")) {
            common.resize(common.find('.') == std::string::npos ? 0 : common.rfind('.'));
          }
        }
        names.push_back(std::move(common));
      }
    }
    return FirstAndLast(names);
  }

  const LayoutProblem& problem_;
  const Graph& graph_;
  const DeviceTimes times_;
  IdVector<GroupId, bool> has_op_;  // of its own, not views alone
  std::vector<DeviceId> all_;
  std::string limited_;
  HybridLayouts result_;
};

}  // namespace

Result<HybridLayouts> LayOutAsExperts(const LayoutProblem& problem) {
  return Hybrid(problem).LayOut();
}

Result<PlannerResult> ExpertHybridPlanner::Plan(const Problem& problem, Evaluator& evaluator,
                                                const PlannerOptions& options) const {
  PW_RETURN_IF_ERROR(CheckMaySplit(problem, name(), "chooses the devices of every op itself"));
  PW_ASSIGN(HybridLayouts hybrid, LayOutAsExperts(*problem.layouts));
  PW_ASSIGN(const Evaluation evaluation, evaluator.EvaluatePlan(hybrid.plan));
  PlannerResult result = MakeResult(name(), std::move(hybrid.plan), evaluation, options);
  result.notes.push_back(std::move(hybrid.note));
  return result;
}

}  // namespace placewright
