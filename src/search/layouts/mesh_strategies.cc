#include "search/layouts/mesh_strategies.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plan/sharing_out.h"
#include "search/layouts/gradient_groups.h"
#include "search/layouts/model_structure.h"
#include "search/layouts/routed_experts.h"
#include "search/layouts/tensor_parallel.h"
#include "search/layouts/token_shares.h"
#include "sharding/axis_places.h"
#include "sharding/op_rule.h"
#include "transforms/accumulate.h"

namespace placewright {
namespace {

bool Attends(const Op& op) { return op.type.find("attention") != std::string_view::npos; }

bool IsTensorParallel(MeshStrategy strategy) {
  return strategy == MeshStrategy::kTensor || strategy == MeshStrategy::kTwoD;
}

class MeshLayouts {
 public:
  MeshLayouts(const LayoutProblem& problem, MeshStrategy strategy, const MeshOptions& options)
      : problem_(problem),
        graph_(problem.graph),
        axes_(problem.axes),
        strategy_(strategy),
        options_(options),
        name_(NameOf(strategy)) {}

  Result<StepPlan> Make() {
    const DeviceTimes times = TimesOf(problem_);
    PW_ASSIGN(std::vector<DeviceId> all, DevicesToSplitOver(problem_, times, options_.gpus));
    hosts_ = UsableGroups(problem_.cluster.host_groups(), all);
    for (const std::vector<DeviceId>& host : hosts_) {
      devices_.insert(devices_.end(), host.begin(), host.end());
    }
    for (const DeviceId device : devices_)
      speeds_.push_back(1 / std::max(1.0, times.split[device]));
    plan_.switches.local_batch_norm = problem_.local_batch_norm;
    plan_.layouts.of_group = IdVector<GroupId, LayoutId>(graph_.group_count(), LayoutId(0));
    PW_RETURN_IF_ERROR(MakeLayouts());
    if (!IsTensorParallel(strategy_)) KeepInputsWhole();
    const bool reshards = strategy_ == MeshStrategy::kFsdp || strategy_ == MeshStrategy::kHsdp;
    // Under tensor parallelism what layers gathered of tokens, too.
    const bool gathers_tokens = IsTensorParallel(strategy_) && options_.sequence;
    if (reshards || gathers_tokens || strategy_ == MeshStrategy::kTwoD) {
      plan_.switches.regather = LayerGlobs(graph_);
    }
    const bool one_ahead = strategy_ == MeshStrategy::kTwoD || strategy_ == MeshStrategy::kExperts;
    if (reshards || one_ahead) plan_.switches.prefetch = 1;
    const bool shards = strategy_ != MeshStrategy::kTensor || options_.shards_update;
    plan_.switches.unit_collectives = shards && options_.by_unit;
    return std::move(plan_);
  }

 private:
  Status MakeLayouts() {
    switch (strategy_) {
      case MeshStrategy::kTensor: return MakeTensorParallel(options_.shards_update);
      case MeshStrategy::kTwoD: return MakeTensorParallel(/*shards_state=*/true);
      case MeshStrategy::kZero1:
      case MeshStrategy::kZero2:
      case MeshStrategy::kFsdp: return MakeZero(/*in_hosts=*/false);
      case MeshStrategy::kHybridZero2:
      case MeshStrategy::kHsdp: return MakeZero(/*in_hosts=*/true);
      case MeshStrategy::kUlysses: return MakeOfTokens(/*by_heads=*/true);
      case MeshStrategy::kContext: return MakeOfTokens(/*by_heads=*/false);
      case MeshStrategy::kExperts: return MakeOfExperts();
    }
    return Ok();
  }

  int64_t count() const { return static_cast<int64_t>(devices_.size()); }

  // Of every host the same number of GPUs, or nothing.
  std::optional<int64_t> OfEachHost() const {
    for (const std::vector<DeviceId>& host : hosts_) {
      if (host.size() != hosts_.front().size()) return std::nullopt;
    }
    return static_cast<int64_t>(hosts_.front().size());
  }
  Error UnequalHosts() const {
    const auto of = [](const std::vector<DeviceId>& host) { return std::to_string(host.size()); };
    std::string counts;
    for (const auto& host : hosts_) counts += (counts.empty() ? "" : ", ") + of(host);
    return MakeError(
        ErrorCode::kClusterUnsuited,
        fmt::format("{} needs hosts with equal numbers of GPUs, and these have {}", name_, counts),
        ClusterPlace(problem_.cluster),
        "Take fsdp, zero-1, zero-2, data-parallel-p or 1f1b, which share out to unequal hosts, or "
        "leave GPUs out (--set gpus=KIND+HOST).");
  }

  Status CheckExperts(const ModelStructure& found) const {
    if (found.heads.empty() || found.mixtures.empty()) return Ok();
    return MakeError(
        ErrorCode::kUsage,
        fmt::format("{} cannot split a step whose experts are modules of their own", name_), "",
        "Take expert-hybrid, which places them, or fsdp or data-parallel.");
  }

  Status CheckSamples(int64_t parts) const {
    const int64_t samples = axes_.samples();
    if (samples == 0) return axes_.WhyNoBatch();
    if (samples >= parts) return Ok();
    return MakeError(ErrorCode::kUsage,
                     fmt::format("{} shares {} samples out to {} parts", name_, samples, parts), "",
                     "Take a larger batch (--batch), or fewer devices.");
  }

  LayoutId Add(Layout layout) {
    plan_.layouts.layouts.push_back(std::move(layout));
    return LayoutId(plan_.layouts.layouts.size() - 1);
  }
  // Of each device, by its number among them all.
  template <class BoxOf>
  Layout Boxes(const BoxOf& box_of) const {
    Layout layout;
    for (int64_t i = 0; i < count(); ++i) {
      std::vector<AxisInterval> box = box_of(i);
      std::sort(box.begin(), box.end());
      layout.shares.push_back({devices_[static_cast<size_t>(i)], {box.begin(), box.end()}});
    }
    return layout;
  }

  Result<int64_t> Degree(int64_t of_host, int64_t size, bool there, std::string_view what) const {
    return ChooseDegree(
        {name_, DegreeSettingOf(strategy_), what, there ? size : 0, of_host, options_.degree});
  }

  // `shards_state`: of what lies in parts over a tensor group, parameters with their state are in shards over the groups.
  Status MakeTensorParallel(bool shards_state) {
    const ModelStructure found = StructureOf(graph_, axes_);
    const std::optional<int64_t> of_host = OfEachHost();
    if (!of_host) return UnequalHosts();
    PW_RETURN_IF_ERROR(CheckExperts(found));
    PW_ASSIGN(const int64_t tensor, Degree(*of_host, CommonSize(axes_, found.heads),
                                           found.attends(), "heads of attention"));
    const int64_t data = count() / tensor;
    PW_RETURN_IF_ERROR(CheckSamples(data));
    auto cuts = TensorCuts(graph_, axes_, found, tensor, options_.sequence);
    const int64_t shards = options_.shards_in_hosts ? *of_host / tensor : data;
    if (shards_state && shards > 1) ShardState(shards, cuts);
    // Complete sums, which an axis that gradients lack leaves as they are.
    ForGradients(
        [&](GroupId of) {
          return std::vector{cuts[of].over_group, cuts[of].over_groups};
        },
        [&](GroupId group, GroupId of) {
          cuts[group] = cuts[of];
          if (cuts[of].over_groups == axes_.batch()) cuts[group].over_groups = AxisId();
        });
    std::map<TensorCut, LayoutId> layouts;
    for (const GroupId group : IdRange<GroupId>(graph_.group_count())) {
      const TensorCut& cut = cuts[group];
      auto at = layouts.find(cut);
      if (at == layouts.end())
        at = layouts.emplace(cut, Add(LayoutOfCut(axes_, cut, devices_, tensor, shards))).first;
      plan_.layouts.of_group[group] = at->second;
    }
    return Ok();
  }

  void ShardState(int64_t shards, IdVector<GroupId, TensorCut>& cuts) const {
    IdVector<GroupId, bool> sharded(graph_.group_count(), false);
    for (const StorageId id : graph_.storages()) {
      const TensorId parameter = graph_.storage(id).first;
      const OpId home = graph_.home_op(id);
      const Tensor& tensor = graph_.tensor(parameter);
      const bool kept = tensor.kind == TensorKind::kParameter && !tensor.producer.valid();
      if (!kept || !home.valid()) continue;
      TensorCut& cut = cuts[graph_.group(home)];
      if (!cut.over_group.valid()) continue;
      const AxisId axis = AxisToShard(parameter, shards, cut.over_group);
      if (!axis.valid()) continue;
      cut.over_groups = axis;
      sharded[graph_.group(home)] = true;
    }
    // Megatron-LM's distributed optimizer casts before it gathers and scatters sums; others scatter each micro-batch's
    // gradients.
    if (strategy_ == MeshStrategy::kTensor) {
      return ForCastsOfParameters([&](GroupId cast, GroupId of) { cuts[cast] = cuts[of]; });
    }
    ForMicroBatchSums(sharded, [&](GroupId sums, GroupId of) { cuts[sums] = cuts[of]; });
  }

  // A parameter in another type is made of its shard, so that what is gathered is of that type.
  template <class Set>
  void ForCastsOfParameters(const Set& set) const {
    for (const OpId id : graph_.ops()) {
      const Op& op = graph_.op(id);
      if (op.type != "aten._to_copy.default" || op.inputs.size() != 1) continue;
      const StorageId storage = graph_.tensor(op.inputs[0]).storage;
      const OpId home = graph_.home_op(storage);
      if (graph_.storage(storage).kind != TensorKind::kParameter || !home.valid()) continue;
      if (graph_.group(home) != graph_.group(id)) set(graph_.group(id), graph_.group(home));
    }
  }

  template <class Is>
  void SetWhere(LayoutId layout, const Is& is) {
    for (const OpId op : graph_.ops()) {
      if (is(op)) plan_.layouts.of_group[graph_.group(op)] = layout;
    }
  }

  // `in_hosts`: shards over the GPUs of each host, not over all.
  Status MakeZero(bool in_hosts) {
    PW_RETURN_IF_ERROR(CheckSamples(count()));
    const std::optional<int64_t> of_host = OfEachHost();
    if (in_hosts && !of_host) return UnequalHosts();
    const int64_t shards = in_hosts ? *of_host : count();
    const AxisId batch = axes_.batch();
    const Interval samples = {0, axes_.axis(batch).size};
    std::vector<Interval> parts;
    for (int64_t i = 0; i < count(); ++i) parts.push_back(EqualPart(i, count(), samples));
    if (options_.by_speed) {
      const std::vector<int64_t> shares = SharesInProportion(axes_.axis(batch).size, speeds_);
      int64_t end = 0;
      for (size_t i = 0; i < parts.size(); ++i) {
        parts[i] = {end, end + shares[i]};
        end += shares[i];
      }
    }
    Add(Boxes([&](int64_t i) {
      return std::vector<AxisInterval>{{batch, parts[static_cast<size_t>(i)]}};
    }));
    ShardParameters(shards);
    return Ok();
  }

  // `others`: parameters that lie otherwise.
  void ShardParameters(int64_t shards, const std::map<GroupId, LayoutId>& others = {}) {
    std::vector<DeviceId> all = devices_;
    IdVector<GroupId, bool> sharded(graph_.group_count(), false);
    const LayoutId everywhere = Add(CopiesOn(all));
    for (const StorageId id : graph_.storages()) {
      const TensorId parameter = graph_.storage(id).first;
      const OpId home = graph_.home_op(id);
      const Tensor& tensor = graph_.tensor(parameter);
      if (tensor.kind != TensorKind::kParameter || tensor.producer.valid() || !home.valid()) {
        continue;
      }
      const AxisId axis = AxisToShard(parameter, shards);
      const GroupId group = graph_.group(home);
      if (const auto other = others.find(group); other != others.end()) {
        plan_.layouts.of_group[group] = other->second;
        sharded[group] = true;
        continue;
      }
      if (!axis.valid()) {
        plan_.layouts.of_group[group] = everywhere;
        continue;
      }
      plan_.layouts.of_group[group] = Add(Boxes([&](int64_t i) {
        const Interval part = EqualPart(i % shards, shards, {0, axes_.axis(axis).size});
        return std::vector<AxisInterval>{{axis, part}};
      }));
      sharded[group] = true;
    }
    const auto lie_with = [&](GroupId group, GroupId of) {
      plan_.layouts.of_group[group] = plan_.layouts.of_group[of];
      sharded[group] = sharded[of];
    };
    const auto axes_of = [&](GroupId of) {
      std::vector<AxisId> axes;
      const Layout& layout = plan_.layouts.layouts[plan_.layouts.of_group[of].index()];
      for (const AxisInterval& part : layout.shares.front().box) axes.push_back(part.axis);
      return axes;
    };
    ForGradients(axes_of, lie_with);
    if (strategy_ == MeshStrategy::kZero1) {
      ForCastsOfParameters(lie_with);
      return;  // sums lie as the gradients do
    }
    ForMicroBatchSums(sharded, lie_with);
  }

  // What handles gradients lies as the parameter that they are of, if all of it can be in such parts.
  template <class AxesOf, class Set>
  void ForGradients(const AxesOf& axes_of, const Set& set) const {
    const IdVector<GroupId, GroupId> with = GroupsOfGradients(graph_);
    IdVector<GroupId, bool> splits(graph_.group_count(), true);
    for (const OpId op : graph_.ops()) {
      const GroupId group = graph_.group(op);
      if (!with[group].valid()) continue;
      for (const AxisId axis : axes_of(with[group])) {
        const bool is_batch = axis == axes_.batch();
        if (axis.valid() && !is_batch && !axes_.SplitBy(op, axis).valid()) splits[group] = false;
      }
    }
    for (const GroupId group : IdRange<GroupId>(graph_.group_count())) {
      if (with[group].valid() && splits[group]) set(group, with[group]);
    }
  }

  // Sums over micro-batches lie as the parameters that they update: each micro-batch's gradients are scattered.
  template <class Set>
  void ForMicroBatchSums(const IdVector<GroupId, bool>& sharded, const Set& set) const {
    for (const OpId op : graph_.ops()) {
      if (!IsMicroBatchSum(graph_.op(op))) continue;
      for (const OpId reader : graph_.consumers(op)) {
        if (sharded[graph_.group(reader)]) set(graph_.group(op), graph_.group(reader));
      }
    }
  }

  Status MakeOfTokens(bool by_heads) {
    const ModelStructure found = StructureOf(graph_, axes_);
    const std::optional<int64_t> of_host = OfEachHost();
    if (!of_host) return UnequalHosts();
    PW_RETURN_IF_ERROR(CheckExperts(found));
    std::vector<AxisId> tokens = TokenAxes(graph_, axes_);
    const int64_t length = tokens.empty() ? 0 : axes_.axis(tokens.front()).size;
    const bool attends = found.attends() && length > 1;
    PW_ASSIGN(const int64_t degree,
              Degree(*of_host, by_heads ? CommonSize(axes_, found.heads) : length, attends,
                     by_heads ? "heads of attention" : "tokens"));
    if (length < degree) {
      return MakeError(ErrorCode::kUsage,
                       fmt::format("{} shares {} tokens out to {} GPUs", name_, length, degree), "",
                       "Take longer sequences, or zero-2.");
    }
    std::erase_if(tokens, [&](AxisId axis) { return axes_.axis(axis).size < degree; });
    PW_RETURN_IF_ERROR(CheckAttentionSplits(graph_, axes_, by_heads ? found.heads : tokens, name_));
    const int64_t data = count() / degree;
    PW_RETURN_IF_ERROR(CheckSamples(data));
    const AxisId batch = axes_.batch();
    const auto over_groups = [&](AxisId axis, const std::vector<Interval>& parts) {
      return Add(Boxes([&](int64_t i) {
        return std::vector<AxisInterval>{
            {batch, EqualPart(i / degree, data, {0, axes_.axis(batch).size})},
            {axis, parts[static_cast<size_t>(i % degree)]}};
      }));
    };
    const auto equal = [&](AxisId axis) {
      std::vector<Interval> parts;
      for (int64_t i = 0; i < degree; ++i) {
        parts.push_back(EqualPart(i, degree, {0, axes_.axis(axis).size}));
      }
      return parts;
    };
    std::map<AxisId, LayoutId> of_tokens;
    for (const AxisId axis : tokens) {
      of_tokens[axis] =
          over_groups(axis, options_.tokens_by_work ? TokensByWork(axis, degree) : equal(axis));
    }
    for (const OpId op : graph_.ops()) {
      const AxisId axis = FirstSplit(axes_, op, tokens);
      if (axis.valid()) plan_.layouts.of_group[graph_.group(op)] = of_tokens.at(axis);
    }
    const ExpertPlaces experts =
        PlacesOfExperts(found.experts, degree, options_.shards_in_hosts ? *of_host / degree : data);
    ShardParameters(options_.shards_in_hosts ? *of_host : count(), experts.parameters);
    PlaceExperts(experts);
    PlaceBySamples(experts.whole, degree);
    if (!by_heads) return Ok();
    for (const AxisId axis : found.heads) {
      const LayoutId heads = over_groups(axis, equal(axis));
      SetWhere(heads,
               [&](OpId op) { return Attends(graph_.op(op)) && axes_.SplitBy(op, axis).valid(); });
    }
    return Ok();
  }

  // By the times of ops on the first GPU, without their launches.
  std::vector<Interval> TokensByWork(AxisId tokens, int64_t degree) const {
    const DeviceId device = devices_.front();
    const Nanos launch = problem_.cluster.kind(device).launch_overhead;
    double causal = 0, rest = 1;  // whatever is not known takes something
    for (const OpId op : graph_.ops()) {
      const RuleAxisId split = axes_.SplitBy(op, tokens);
      if (!split.valid() || graph_.op(op).is_view || !problem_.costs.Supports(op, device)) continue;
      const bool uneven = HasUnevenParts(*axes_.rule(op), split);
      const int64_t time = problem_.costs.time(op, device).count - launch.count;
      (uneven ? causal : rest) += static_cast<double>(std::max<int64_t>(0, time));
    }
    std::vector<Interval> parts;
    int64_t begin = 0;
    for (const int64_t end : EndsOfEqualWork(axes_.axis(tokens).size, degree, causal, rest)) {
      parts.push_back({begin, end});
      begin = end;
    }
    return parts;
  }

  Status MakeOfExperts() {
    const ModelStructure found = StructureOf(graph_, axes_);
    const std::optional<int64_t> of_host = OfEachHost();
    if (!of_host) return UnequalHosts();
    PW_ASSIGN(const int64_t degree,
              Degree(*of_host, CommonSize(axes_, found.experts), !found.experts.empty(),
                     "experts that are one dimension of their weights"));
    PW_RETURN_IF_ERROR(CheckSamples(count()));
    const int64_t data = count() / degree;
    const AxisId batch = axes_.batch();
    const Interval samples = {0, axes_.axis(batch).size};
    const auto of_group = [&](int64_t i) { return EqualPart(i / degree, data, samples); };
    Add(Boxes([&](int64_t i) {
      return std::vector<AxisInterval>{{batch, EqualPart(i % degree, degree, of_group(i))}};
    }));
    const ExpertPlaces experts = PlacesOfExperts(found.experts, degree, data);
    ShardParameters(count(), experts.parameters);
    PlaceExperts(experts);
    return Ok();
  }

  struct ExpertPlaces {
    std::vector<AxisId> axes;
    std::map<GroupId, LayoutId> parameters;
    // By axis:
    std::vector<LayoutId> layouts;
    std::vector<std::set<ModuleId>> modules;
    std::vector<IdVector<GroupId, bool>> rows;
    std::vector<std::vector<OpId>> whole;  // regions of rows that no axis of experts splits
  };

  // Experts over the `degree` GPUs of each group, their parameters in `shards` over the groups.
  ExpertPlaces PlacesOfExperts(const std::vector<AxisId>& experts, int64_t degree, int64_t shards) {
    const int64_t data = count() / degree;
    const AxisId batch = axes_.batch();
    const auto of_group = [&](int64_t i) {
      return EqualPart(i / degree, data, {0, axes_.axis(batch).size});
    };
    const RoutedExperts routed(graph_, axes_);
    ExpertPlaces places;
    IdVector<GroupId, bool> apart(graph_.group_count(), false);
    for (const AxisId axis : experts) {
      if (axes_.axis(axis).size < degree) continue;
      places.axes.push_back(axis);
      places.rows.push_back(routed.GroupsOf(axis));
      for (const GroupId group : IdRange<GroupId>(graph_.group_count())) {
        apart[group] = apart[group] || places.rows.back()[group];
      }
      const auto own = [&](int64_t i) {
        return AxisInterval{axis, EqualPart(i % degree, degree, {0, axes_.axis(axis).size})};
      };
      places.layouts.push_back(Add(Boxes([&](int64_t i) {
        return std::vector<AxisInterval>{{batch, of_group(i)}, own(i)};
      })));
      places.modules.push_back(ModulesOfExperts(axis, [&](GroupId group, TensorId parameter) {
        // A frozen one may be of the group of what reads it.
        const bool sharded = shards > 1 && !places.rows.back()[group];
        const AxisId by = sharded ? AxisToShard(parameter, shards, axis) : AxisId();
        places.parameters[group] = by.valid() ? Add(Boxes([&](int64_t i) {
          const Interval part = EqualPart(i / degree % shards, shards, {0, axes_.axis(by).size});
          return std::vector<AxisInterval>{own(i), {by, part}};
        }))
                                              : places.layouts.back();
      }));
    }
    for (const std::vector<OpId>& region : routed.regions()) {
      const bool split = std::any_of(region.begin(), region.end(),
                                     [&](OpId op) { return apart[graph_.group(op)]; });
      if (!split) places.whole.push_back(region);
    }
    return places;
  }

  void PlaceExperts(const ExpertPlaces& places) {
    for (size_t i = 0; i < places.layouts.size(); ++i) {
      const AxisId axis = places.axes[i];
      SetWhere(places.layouts[i], [&](OpId op) {
        const GroupId group = graph_.group(op);
        return !places.parameters.contains(group) &&
               (places.rows[i][group] ||
                (places.modules[i].contains(graph_.op(op).module) && IsOfExperts(op, axis)));
      });
    }
  }

  // Regions of rows, whose order has no tokens: samples over all GPUs, or over groups where there are fewer.
  void PlaceBySamples(const std::vector<std::vector<OpId>>& regions, int64_t degree) {
    if (regions.empty()) return;
    const AxisId batch = axes_.batch();
    const int64_t data = count() / degree;
    const bool of_each = axes_.samples() >= count();
    const LayoutId layout = Add(Boxes([&](int64_t i) {
      const Interval of_group = EqualPart(i / degree, data, {0, axes_.axis(batch).size});
      return std::vector<AxisInterval>{
          {batch, of_each ? EqualPart(i % degree, degree, of_group) : of_group}};
    }));
    for (const std::vector<OpId>& region : regions) {
      for (const OpId op : region) plan_.layouts.of_group[graph_.group(op)] = layout;
    }
  }

  // Everything that it reads and makes, but for numbers, is of experts.
  bool IsOfExperts(OpId op, AxisId axis) const {
    const Op& one = graph_.op(op);
    const auto is = [&](TensorId id) {
      return graph_.tensor(id).shape.empty() || axes_.Holds(id, axis);
    };
    return axes_.SplitBy(op, axis).valid() &&
           std::all_of(one.inputs.begin(), one.inputs.end(), is) &&
           std::all_of(one.outputs.begin(), one.outputs.end(), is);
  }

  // Those in which something is multiplied with weights of experts; `visit`: each of these, with its group.
  template <class Visit>
  std::set<ModuleId> ModulesOfExperts(AxisId axis, const Visit& visit) const {
    std::set<ModuleId> modules;
    for (const OpId op : graph_.ops()) {
      const Op& one = graph_.op(op);
      if (one.phase != Phase::kForward || one.is_view || one.inputs.size() < 2) continue;
      if (!IsOfExperts(op, axis)) continue;
      for (const TensorId input : one.inputs) {
        const StorageId storage = graph_.tensor(input).storage;
        const OpId home = graph_.home_op(storage);
        if (graph_.storage(storage).kind != TensorKind::kParameter || !home.valid()) continue;
        modules.insert(one.module);
        visit(graph_.group(home), graph_.storage(storage).first);
      }
    }
    return modules;
  }

  // What follows from inputs of the step alone, and what parts of the batch read whole (a mask of padding, by indices), is
  // on every device: gathered, it would come behind all parameters that are.
  void KeepInputsWhole() {
    IdVector<OpId, bool> early(graph_.op_count(), false), whole(graph_.op_count(), false);
    IdVector<GroupId, bool> early_group(graph_.group_count(), true);
    for (const OpId id : graph_.ops()) {
      const auto& inputs = graph_.op(id).inputs;
      early[id] = std::all_of(inputs.begin(), inputs.end(), [&](TensorId input) {
        const OpId maker = graph_.tensor(input).producer;
        return maker.valid() ? early[maker] : graph_.tensor(input).kind == TensorKind::kInput;
      });
      if (!early[id]) early_group[graph_.group(id)] = false;
      MarkReadWhole(id, whole);
    }
    LayoutId everywhere;
    for (size_t i = graph_.op_count(); i-- > 0;) {
      const OpId id(i);
      const GroupId group = graph_.group(id);
      if (!whole[id] || !early_group[group]) continue;
      for (const TensorId input : graph_.op(id).inputs) {
        if (const OpId maker = graph_.tensor(input).producer; maker.valid()) whole[maker] = true;
      }
      if (!everywhere.valid()) everywhere = Add(CopiesOn(devices_));
      plan_.layouts.of_group[group] = everywhere;
    }
  }

  // The makers of what has the batch, and of which a part of the batch of this op reads all.
  void MarkReadWhole(OpId id, IdVector<OpId, bool>& whole) const {
    const RuleAxisId split = axes_.SplitBy(id, axes_.batch());
    if (!split.valid()) return;
    const Op& op = graph_.op(id);
    const OpRule& rule = *axes_.rule(id);
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      const OpId maker = graph_.tensor(op.inputs[i]).producer;
      const bool is_whole = !Holds(rule.inputs[i], split) && !IsUnread(rule, i);
      if (maker.valid() && is_whole && axes_.Holds(op.inputs[i], axes_.batch())) {
        whole[maker] = true;
      }
    }
  }

  // One that has parts for all, in equal ones if any has, of several the longest.
  AxisId AxisToShard(TensorId parameter, int64_t shards, AxisId but = AxisId()) const {
    AxisId best;
    const auto order = [&](AxisId axis) {
      const int64_t size = axes_.axis(axis).size;
      return std::pair(size % shards == 0, size);
    };
    for (size_t d = 0; d < graph_.tensor(parameter).shape.size(); ++d) {
      for (const AxisId axis : axes_.factors(parameter, d)) {
        const bool taken = axis == axes_.batch() || axis == but;
        if (taken || axes_.axis(axis).size < shards) continue;
        if (!best.valid() || order(axis) > order(best)) best = axis;
      }
    }
    return best;
  }

  const LayoutProblem& problem_;
  const Graph& graph_;
  const NamedAxes& axes_;
  const MeshStrategy strategy_;
  const MeshOptions options_;
  const std::string_view name_;
  std::vector<std::vector<DeviceId>> hosts_;
  std::vector<DeviceId> devices_;  // host after host
  std::vector<double> speeds_;     // of each
  StepPlan plan_;
};

}  // namespace

Status CheckAttentionSplits(const Graph& graph, const NamedAxes& axes,
                            const std::vector<AxisId>& by, std::string_view algorithm) {
  int64_t attentions = 0;
  for (const OpId op : graph.ops()) {
    if (!Attends(graph.op(op))) continue;
    ++attentions;
    const bool split = std::any_of(by.begin(), by.end(), [&](AxisId axis) {
      return axis.valid() && axes.SplitBy(op, axis).valid();
    });
    if (split) continue;
    return MakeError(
        ErrorCode::kUsage,
        fmt::format("{} cannot split this attention: its kernel masks what comes later without a "
                    "mask, or rounds queries up to whole blocks, or it has other heads",
                    algorithm),
        fmt::format("op {} ({})", graph.op(op).name, graph.op(op).type),
        algorithm == "ulysses"
            ? "Take fsdp, zero-2 or data-parallel."
            : "Take ulysses, or record the model in bf16 or f16, which flash attention takes "
              "without a bias, where keys and values are equally wide.");
  }
  if (attentions > 0) return Ok();
  return MakeError(ErrorCode::kUsage,
                   fmt::format("{} needs attention as one operator, and this step has it as "
                               "products or not at all",
                               algorithm),
                   "",
                   "Take tensor, 2d or fsdp; or record a model that calls "
                   "scaled_dot_product_attention with --attention fused.");
}

Result<StepPlan> LayOutOnMesh(const LayoutProblem& problem, MeshStrategy strategy,
                              const MeshOptions& options) {
  return MeshLayouts(problem, strategy, options).Make();
}

}  // namespace placewright
