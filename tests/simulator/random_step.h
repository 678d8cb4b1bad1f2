// Small random training steps with everything the rules speak of: views, in-place writes, storages
// of many versions, hidden writes, explicit order, zero sizes and durations, shared and slow links;
// on request collectives with ops that move pieces beside them, and given sequences.
#ifndef PLACEWRIGHT_TESTS_SIMULATOR_RANDOM_STEP_H_
#define PLACEWRIGHT_TESTS_SIMULATOR_RANDOM_STEP_H_

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "shuffle.h"
#include "sim/tiny_step.h"

namespace placewright {

class RandomStep {
 public:
  // `sharing`: of links by collectives, rule 18.
  explicit RandomStep(uint64_t seed, bool collectives = false, bool sharing = false)
      : random_(seed), holds_(~seed), collectives_(collectives), sharing_(sharing) {}

  TinyProblem Make() {
    devices_ = 1 + Draw(4);
    TinyStep step(devices_, 1 + static_cast<int64_t>(Draw(4000)),
                  sharing_ ? SharingKind() : DeviceKind());
    AddLinks(step);
    coarse_ = Draw(2) == 0;
    const int32_t inputs = Draw(4);
    for (int32_t i = 0; i < inputs; ++i) {
      static constexpr TensorKind kKinds[] = {TensorKind::kInput, TensorKind::kParameter,
                                              TensorKind::kBuffer, TensorKind::kOptimizerState};
      Remember(step.Input("i" + std::to_string(i), kKinds[Draw(4)], bytes_ = Size()));
    }
    made_from_ = tensors_.size();
    const int32_t ops = 1 + Draw(24);
    for (int32_t i = 0; i < ops; ++i) {
      AddOp(step, "o" + std::to_string(i));
      if (collectives_ && Draw(4) == 0) AddCollective(step, "c" + std::to_string(i));
    }
    TinyProblem problem = step.Build();
    problem.placement = RandomPlacement(problem);
    for (int32_t i = 0; i < 200 && !MembersApart(problem); ++i) {
      problem.placement = RandomPlacement(problem);
    }
    return problem;
  }

  // Whether the members of every collective lie on distinct devices, as they must; some steps have
  // no such placement.
  static bool MembersApart(const TinyProblem& problem) {
    for (CollectiveId id : problem.graph.collectives()) {
      std::set<DeviceId> devices;
      for (OpId op : problem.graph.collective(id).members) {
        if (!devices.insert(problem.placement[op]).second) return false;
      }
    }
    return true;
  }

  // For some devices the order that their ops have in an order of the graph; in one case of four two
  // ops of it are exchanged, which may let nothing go on.
  Sequences RandomSequences(const TinyProblem& problem) {
    const Graph& graph = problem.graph;
    Sequences sequences(problem.cluster.device_count());
    for (std::optional<std::vector<OpId>>& sequence : sequences) {
      if (Draw(3) > 0) sequence.emplace();
    }
    for (OpId op : RandomOrder(graph)) {
      if (graph.op(op).is_view || graph.collective_of(op).valid()) continue;
      std::optional<std::vector<OpId>>& sequence = sequences[problem.placement[op]];
      if (sequence) sequence->push_back(op);
    }
    for (std::optional<std::vector<OpId>>& sequence : sequences) {
      if (!sequence || sequence->size() < 2 || Draw(4) > 0) continue;
      const int32_t count = static_cast<int32_t>(sequence->size());
      std::swap((*sequence)[Draw(count)], (*sequence)[Draw(count)]);
    }
    return sequences;
  }

  // Whole colocation groups at random.
  Placement RandomPlacement(const TinyProblem& problem) {
    IdVector<GroupId, DeviceId> device(problem.graph.group_count());
    for (DeviceId& d : device) d = DeviceId(Draw(devices_));
    Placement placement;
    for (OpId op : problem.graph.ops()) placement.push_back(device[problem.graph.group(op)]);
    return placement;
  }

  int32_t Draw(int32_t bound) { return static_cast<int32_t>(random_.Below(bound)); }

 private:
  // Ops before the others that may come next, at random.
  std::vector<OpId> RandomOrder(const Graph& graph) {
    IdVector<OpId, char> done(graph.op_count(), 0);
    const auto may_come = [&](OpId op) {
      for (OpId before : graph.producers(op)) {
        if (!done[before]) return false;
      }
      for (const OrderEdge& edge : graph.order_edges()) {
        if (edge.to == op && !done[edge.from]) return false;
      }
      return true;
    };
    std::vector<OpId> order;
    while (order.size() < graph.op_count()) {
      const OpId op(Draw(static_cast<int32_t>(graph.op_count())));
      const CollectiveId collective = graph.collective_of(op);
      std::vector<OpId> together = {op};
      if (collective.valid()) together = graph.collective(collective).members;
      bool all = true;
      for (OpId one : together) all = all && !done[one] && may_come(one);
      for (OpId one : all ? together : std::vector<OpId>()) {
        done[one] = 1;
        order.push_back(one);
      }
    }
    return order;
  }

  // Few links that many routes share, or one of its own for every pair of devices.
  void AddLinks(TinyStep& step) {
    const bool mesh = Draw(3) == 0;
    std::vector<int32_t> links;
    const int32_t count = 1 + Draw(6);
    for (int32_t i = 0; i < count; ++i) {
      static constexpr int64_t kRates[] = {1'000'000'000, 300'000'000, 7'000'000'000};
      links.push_back(step.Link(kRates[Draw(3)], Draw(3) * 10));
    }
    for (int32_t from = 0; from < devices_; ++from) {
      for (int32_t to = 0; to < devices_; ++to) {
        if (from == to) continue;
        if (mesh) {
          step.Route(from, to, {step.Link(int64_t{1'000'000'000} * (1 + Draw(3)), Draw(3) * 10)});
          continue;
        }
        std::vector<int32_t> route = links;
        Shuffle(random_, route);
        route.resize(std::min<size_t>(route.size(), 1 + Draw(3)));
        step.Route(from, to, route);
      }
    }
  }

  // Few distinct values make ties, many make none.
  int64_t Time() { return coarse_ ? 100 * Draw(3) : Draw(1000); }
  int64_t Size() { return coarse_ ? 100 * Draw(4) : Draw(2000); }

  // `root`: the position of the tensor whose storage it is; of a fresh one its own.
  void Remember(TensorId id, size_t root) {
    tensors_.push_back(id);
    sizes_.push_back(bytes_);
    roots_.push_back(root);
  }
  void Remember(TensorId id) { Remember(id, tensors_.size()); }
  // Members follow one another and touch nothing of one another's, so that no way leads from one to
  // another.
  void AddCollective(TinyStep& step, const std::string& name) {
    std::vector<OpId> members;
    std::set<size_t> touched;
    const size_t before = tensors_.size();
    const int32_t count = 1 + Draw(devices_);
    std::vector<std::pair<TensorId, std::pair<int64_t, size_t>>> made;
    for (int32_t i = 0; i < count; ++i) {
      TinyOpOptions options;
      options.times.assign(devices_, 0);
      if (Draw(10) == 0) options.after.push_back(names_[Draw(static_cast<int32_t>(names_.size()))]);
      std::vector<size_t> inputs;
      for (int32_t j = Draw(3); j > 0 && before > 0; --j) {
        const size_t input = Draw(static_cast<int32_t>(before));
        if (touched.insert(roots_[input]).second) inputs.push_back(input);
      }
      std::vector<TensorId> ids;
      for (size_t input : inputs) ids.push_back(tensors_[input]);
      const std::string member = name + "." + std::to_string(i);
      members.push_back(OpId(names_.size() + i));
      if (!inputs.empty() && Draw(2) == 0) {
        made.push_back(
            {step.InPlace(member, 0, 0, ids, options), {sizes_[inputs[0]], roots_[inputs[0]]}});
        continue;
      }
      const int64_t size = Size();
      made.push_back(
          {step.Op(member, 0, 0, ids, {size}, options)[0], {size, before + made.size()}});
    }
    for (int32_t i = 0; i < count; ++i) names_.push_back(name + "." + std::to_string(i));
    for (const auto& [id, of] : made) {
      bytes_ = of.first;
      Remember(id, of.second);
    }
    std::vector<int32_t> links;
    for (int32_t link = 0; link < step.links(); ++link) {
      if (Draw(3) == 0) links.push_back(link);
    }
    step.Collective(name, members, links, Time());
  }
  size_t AnyTensor() {
    const size_t count = tensors_.size();
    const size_t near = std::min<size_t>(count, 6);
    return Draw(3) == 0 ? Draw(static_cast<int32_t>(count))
                        : count - 1 - Draw(static_cast<int32_t>(near));
  }

  void AddOp(TinyStep& step, const std::string& name) {
    TinyOpOptions options;
    const size_t before = tensors_.size();
    if (Draw(10) == 0 && !names_.empty()) {
      options.after.push_back(names_[Draw(static_cast<int32_t>(names_.size()))]);
    }
    if (Draw(5) == 0) options.phase = Phase::kBackward;
    const int32_t what = Draw(10);
    if (what < 3 && !tensors_.empty()) {
      const size_t of = AnyTensor();
      const int64_t begin = Draw(static_cast<int32_t>(sizes_[of]) + 1);
      bytes_ =
          Draw(2) == 0 ? sizes_[of] - begin : Draw(static_cast<int32_t>(sizes_[of] - begin) + 1);
      Remember(step.View(name, 0, tensors_[of], begin, bytes_, options), roots_[of]);
    } else {
      std::vector<size_t> inputs;
      for (int32_t i = Draw(4); i > 0 && !tensors_.empty(); --i) inputs.push_back(AnyTensor());
      std::vector<TensorId> ids;
      for (size_t input : inputs) ids.push_back(tensors_[input]);
      for (int32_t d = 0; d < devices_; ++d) options.times.push_back(Time());
      if (!ids.empty() && Draw(8) == 0)
        options.writes.push_back(Draw(static_cast<int32_t>(ids.size())));
      if (what < 6 && !ids.empty()) {
        bytes_ = sizes_[inputs[0]];
        Remember(step.InPlace(name, 0, 0, ids, options), roots_[inputs[0]]);
      } else {
        if (collectives_ && Draw(2) == 0) options.type = "placewright.split.default";
        AddFresh(step, name, ids, options);
      }
    }
    while (before > made_from_ && holds_.Below(4) == 0) {
      const size_t one = made_from_ + holds_.Below(before - made_from_);
      step.Hold(tensors_[one], name);
    }
    names_.push_back(name);
  }

  void AddFresh(TinyStep& step, const std::string& name, const std::vector<TensorId>& inputs,
                const TinyOpOptions& options) {
    std::vector<int64_t> sizes;
    for (int32_t i = Draw(10) == 0 ? 0 : 1 + Draw(2); i > 0; --i) sizes.push_back(Size());
    const std::vector<TensorId> outputs = step.Op(name, 0, 0, inputs, sizes, options);
    for (size_t i = 0; i < outputs.size(); ++i) {
      bytes_ = sizes[i];
      Remember(outputs[i]);
    }
  }

  Random random_, holds_;  // what is held is drawn apart
  const bool collectives_, sharing_;
  int32_t devices_ = 1;
  bool coarse_ = false;
  int64_t bytes_ = 0;
  size_t made_from_ = 0;  // the first tensor that an op makes
  std::vector<TensorId> tensors_;
  std::vector<int64_t> sizes_;
  std::vector<size_t> roots_;
  std::vector<std::string> names_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_TESTS_SIMULATOR_RANDOM_STEP_H_
