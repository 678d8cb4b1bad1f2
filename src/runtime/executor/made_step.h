// Steps of tests: made op by op, with what each tensor is as LibTorch computes it by itself, and random ones
// with all collectives.
#ifndef PLACEWRIGHT_RUNTIME_EXECUTOR_MADE_STEP_H_
#define PLACEWRIGHT_RUNTIME_EXECUTOR_MADE_STEP_H_

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "graph/graph_builder.h"
#include "runtime/executor/executor.h"

namespace placewright {

// A step made op by op, and each tensor's value as LibTorch computes it here.
class MadeStep {
 public:
  MadeStep() : builder_("step", "aten") {}

  TensorId Input(const std::string& name, const at::Tensor& value) {
    const TensorId id =
        builder_.AddInput("param:" + name, TensorKind::kParameter, DType::kF32, value.sizes().vec())
            .Take();
    inputs.emplace_back(id, value.clone());
    values[id] = value.clone();
    return id;
  }

  TensorId Op(const std::string& type, std::vector<TensorId> read, DeviceId device,
              const at::Tensor& value, std::vector<int64_t> numbers = {}, bool in_place = false,
              bool is_view = false) {
    OpSpec spec;
    spec.name = fmt::format("op{}", placement.size());
    spec.type = type;
    for (size_t i = 0; i < read.size(); ++i) {
      spec.args.push_back(Value(InputRef{static_cast<int32_t>(i)}));
    }
    for (const int64_t number : numbers) spec.args.push_back(Value(number));
    OutputSpec output{.name = spec.name, .dtype = DType::kF32, .shape = value.sizes().vec()};
    if (in_place || is_view) {
      output.alias = in_place ? AliasKind::kInPlace : AliasKind::kView;
      output.alias_of = 0;
    }
    spec.outputs = {output};
    spec.inputs = std::move(read);
    const TensorId made = builder_.AddOp(std::move(spec)).Take().front();
    placement.push_back(device);
    values[made] = value;
    return made;
  }

  // One member for each of `given`, in that order.
  std::vector<TensorId> AllReduce(const std::vector<std::pair<DeviceId, TensorId>>& given) {
    at::Tensor sum = values[given.front().second].clone();
    for (size_t i = 1; i < given.size(); ++i) sum = sum + values[given[i].second];
    std::vector<TensorId> made;
    for (const auto& [device, tensor] : given) {
      made.push_back(Op("placewright.all_reduce.default", {tensor}, device, sum));
    }
    Join(made);
    return made;
  }

  // Of the first dimension, in parts as the tensors are long.
  std::vector<TensorId> AllGather(const std::vector<std::pair<DeviceId, TensorId>>& given) {
    std::vector<at::Tensor> parts;
    for (const auto& [device, tensor] : given) parts.push_back(values[tensor]);
    const at::Tensor whole = at::cat(parts, 0);
    std::vector<TensorId> made;
    int64_t from = 0;
    for (const auto& [device, tensor] : given) {
      const int64_t to = from + values[tensor].size(0);
      made.push_back(Op("placewright.all_gather.default", {tensor}, device, whole,
                        {0, 1, whole.size(0), from, to}));
      from = to;
    }
    Join(made);
    return made;
  }

  // Of the first dimension: `lengths` rows of the sum for each member.
  std::vector<TensorId> ReduceScatter(const std::vector<std::pair<DeviceId, TensorId>>& given,
                                      const std::vector<int64_t>& lengths) {
    at::Tensor sum = values[given.front().second].clone();
    for (size_t i = 1; i < given.size(); ++i) sum = sum + values[given[i].second];
    std::vector<TensorId> made;
    int64_t from = 0;
    for (size_t i = 0; i < given.size(); ++i) {
      const int64_t to = from + lengths[i];
      made.push_back(Op("placewright.reduce_scatter.default", {given[i].second}, given[i].first,
                        sum.slice(0, from, to).clone(), {0, 1, sum.size(0), from, to}));
      from = to;
    }
    Join(made);
    return made;
  }

  // From one dimension of two to the other one: as many of its elements for each member as `lengths` says.
  std::vector<TensorId> AllToAll(const std::vector<std::pair<DeviceId, TensorId>>& given,
                                 int64_t dimension, const std::vector<int64_t>& lengths) {
    const int64_t other = 1 - dimension;
    std::vector<at::Tensor> parts;
    for (const auto& [device, tensor] : given) parts.push_back(values[tensor]);
    const at::Tensor whole = at::cat(parts, dimension);
    std::vector<TensorId> made;
    int64_t from = 0, begin = 0;
    for (size_t i = 0; i < given.size(); ++i) {
      const int64_t to = from + parts[i].size(dimension), end = begin + lengths[i];
      made.push_back(Op("placewright.all_to_all.default", {given[i].second}, given[i].first,
                        whole.slice(other, begin, end).clone(),
                        {dimension, 1, whole.size(dimension), from, to, other, 1, whole.size(other),
                         begin, end}));
      from = to;
      begin = end;
    }
    Join(made);
    return made;
  }

  // A member of a collective of several tensors: what it reads, what comes of each, and which part it states of each.
  struct MemberOfSeveral {
    DeviceId device;
    std::vector<TensorId> read;
    std::vector<at::Tensor> values;
    std::vector<std::vector<int64_t>> numbers;  // none of a sum
  };
  // What each member makes.
  std::vector<std::vector<TensorId>> Several(const std::string& type,
                                             std::vector<MemberOfSeveral> members) {
    std::vector<std::vector<TensorId>> made;
    std::vector<OpId> ops;
    for (MemberOfSeveral& member : members) {
      OpSpec spec;
      spec.name = fmt::format("op{}", placement.size());
      spec.type = type;
      Value::List references;
      for (size_t i = 0; i < member.read.size(); ++i) {
        references.emplace_back(InputRef{static_cast<int32_t>(i)});
        spec.outputs.push_back({.name = fmt::format("{}:{}", spec.name, i),
                                .dtype = DType::kF32,
                                .shape = member.values[i].sizes().vec()});
      }
      spec.args.emplace_back(std::move(references));
      for (const std::vector<int64_t>& numbers : member.numbers) {
        spec.args.emplace_back(Value::List(numbers.begin(), numbers.end()));
      }
      spec.inputs = std::move(member.read);
      made.push_back(builder_.AddOp(std::move(spec)).Take());
      ops.emplace_back(placement.size());
      placement.push_back(member.device);
      for (size_t i = 0; i < made.back().size(); ++i) values[made.back()[i]] = member.values[i];
    }
    JoinOps(std::move(ops));
    return made;
  }

  // Copies on the other devices.
  std::vector<TensorId> Broadcast(DeviceId root, TensorId tensor,
                                  const std::vector<DeviceId>& others) {
    std::vector<OpId> members = {AddRoot(root, tensor)};
    std::vector<TensorId> made;
    for (const DeviceId device : others) {
      made.push_back(Op("placewright.broadcast.default", {}, device, values[tensor].clone()));
      members.push_back(builder_.added().tensors[made.back()].producer);
    }
    JoinOps(std::move(members));
    return made;
  }

  OpId AddRoot(DeviceId root, TensorId tensor) {
    OpSpec spec;
    spec.name = fmt::format("op{}", placement.size());
    spec.type = "placewright.broadcast.default";
    spec.inputs = {tensor};
    spec.args = {Value(InputRef{0})};
    EXPECT_TRUE(builder_.AddOp(std::move(spec)).ok());
    placement.push_back(root);
    return OpId(placement.size() - 1);
  }

  void Join(const std::vector<TensorId>& made) {
    std::vector<OpId> members;
    for (const TensorId id : made) members.push_back(builder_.added().tensors[id].producer);
    JoinOps(std::move(members));
  }

  void JoinOps(std::vector<OpId> members) {
    ASSERT_TRUE(builder_.AddCollective(fmt::format("collective{}", collectives_++), members).ok());
  }

  const Graph& Finish(std::vector<TensorId> outputs) {
    builder_.SetOutputs(std::move(outputs));
    graph_ = std::make_unique<Graph>(std::move(builder_).Build().Take());
    return *graph_;
  }

  Result<std::unique_ptr<Executor>> Start(size_t devices, std::vector<int64_t> limits = {},
                                          const ExecutorOptions& options = {},
                                          bool queued = true) const {
    std::vector<std::unique_ptr<RuntimeDevice>> made;
    limits.resize(devices, 0);
    for (size_t i = 0; i < devices; ++i) {
      const CpuDeviceOptions device{"sim:" + std::to_string(i), 1, limits[i]};
      made.push_back(queued ? MakeSimulatedDevice(device) : MakeCpuDevice(device));
    }
    return Executor::Create(*graph_, placement, std::move(made), options);
  }

  Status Set(Executor& executor) const {
    for (const auto& [id, value] : inputs) PW_RETURN_IF_ERROR(executor.SetInput(id, value));
    return Ok();
  }

  IdVector<OpId, DeviceId> placement;
  std::vector<std::pair<TensorId, at::Tensor>> inputs;
  std::map<TensorId, at::Tensor> values;

 private:
  GraphBuilder builder_;
  std::unique_ptr<Graph> graph_;
  int collectives_ = 0;
};

inline bool SameBits(const at::Tensor& a, const at::Tensor& b) {
  if (a.sizes() != b.sizes()) return false;
  const at::Tensor x = a.contiguous(), y = b.contiguous();
  return std::memcmp(x.data_ptr(), y.data_ptr(), x.nbytes()) == 0;
}

// A value on every device, and ops that mix them: sums with what another device has, writes in
// place behind a collective that reads what they write, sums and gathers over some of the devices.
struct RandomStep {
  RandomStep(size_t devices, uint64_t seed) : random(seed) {
    at::manual_seed(seed);
    for (size_t d = 0; d < devices; ++d) {
      const DeviceId device(d);
      const TensorId input = step.Input(fmt::format("x{}", d), at::rand({4, 3}, at::kFloat) - 0.5);
      now.push_back(step.Op("aten.tanh.default", {input}, device, step.values[input].tanh()));
    }
    for (int i = 0; i < 60; ++i) Add(i);
    graph = &step.Finish(now);
  }

  void Add(int number) {
    const DeviceId device(random.Below(now.size()));
    TensorId& own = now[device.index()];
    switch (random.Below(8)) {
      case 0: own = step.Op("aten.tanh.default", {own}, device, step.values[own].tanh()); return;
      case 1: {
        const TensorId other = now[random.Below(now.size())];
        own =
            step.Op("aten.add.Tensor", {own, other}, device, step.values[own] + step.values[other]);
        return;
      }
      case 2: Gather(); return;
      case 3: Scatter(); return;
      case 4: Broadcast(device); return;
      case 5: ScatterSeveral(); return;
      default: Reduce(number % 2 == 0); return;
    }
  }

  std::vector<std::pair<DeviceId, TensorId>> Some() {
    std::vector<std::pair<DeviceId, TensorId>> some;
    for (size_t d = 0; d < now.size(); ++d) some.emplace_back(DeviceId(d), now[d]);
    for (size_t i = some.size(); i > 1; --i) std::swap(some[i - 1], some[random.Below(i)]);
    some.resize(1 + random.Below(some.size()));
    return some;
  }

  // Adds the sum in place to what was summed, or to itself.
  void Reduce(bool writes_input) {
    const auto some = Some();
    const std::vector<TensorId> sums = step.AllReduce(some);
    for (size_t i = 0; i < some.size(); ++i) {
      const auto& [device, given] = some[i];
      const TensorId written = writes_input ? given : sums[i];
      const at::Tensor grown = step.values[written] + step.values[sums[i]];
      now[device.index()] =
          step.Op("aten.add_.Tensor", {written, sums[i]}, device, grown, {}, /*in_place=*/true);
    }
  }

  // Parts of a sum, which are then gathered again.
  void Scatter() {
    auto some = Some();
    std::vector<int64_t> lengths(some.size(), 1);
    lengths[random.Below(lengths.size())] += 4 - static_cast<int64_t>(some.size());
    const std::vector<TensorId> parts = step.ReduceScatter(some, lengths);
    for (size_t i = 0; i < some.size(); ++i) some[i].second = parts[i];
    if (random.Below(2) == 0) Exchange(some, lengths);
    const std::vector<TensorId> all = step.AllGather(some);
    for (size_t i = 0; i < some.size(); ++i) now[some[i].first.index()] = all[i];
  }

  // Two tensors of each member at once: parts of their sums, which are gathered again and added up.
  void ScatterSeveral() {
    using Member = MadeStep::MemberOfSeveral;
    const auto some = Some();
    const int64_t rows = 4, parts = static_cast<int64_t>(some.size());
    std::vector<Member> scatters, gathers, sums;
    std::vector<at::Tensor> of_all(2);
    for (const auto& [device, own] : some) {
      const TensorId other = step.Op("aten.tanh.default", {own}, device, step.values[own].tanh());
      scatters.push_back({device, {own, other}, {}, {}});
      for (size_t i = 0; i < 2; ++i) {
        const at::Tensor& value = step.values[scatters.back().read[i]];
        of_all[i] = of_all[i].defined() ? of_all[i] + value : value.clone();
      }
    }
    // The last one has what is left of the first tensor, the first one of the second.
    for (size_t m = 0; m < some.size(); ++m) {
      const auto at = static_cast<int64_t>(m);
      const int64_t left = rows - parts;
      const std::vector<std::vector<int64_t>> bounds = {{at, at + 1 + (at + 1 == parts ? left : 0)},
                                                        {at + (at > 0 ? left : 0), at + 1 + left}};
      for (size_t i = 0; i < 2; ++i) {
        scatters[m].numbers.push_back({0, 1, rows, bounds[i][0], bounds[i][1]});
        scatters[m].values.push_back(of_all[i].slice(0, bounds[i][0], bounds[i][1]).clone());
      }
    }
    const auto scattered = step.Several("placewright.reduce_scatter.coalesced", scatters);
    for (size_t m = 0; m < some.size(); ++m) {
      gathers.push_back({some[m].first, scattered[m], of_all, scatters[m].numbers});
    }
    const auto gathered = step.Several("placewright.all_gather.coalesced", gathers);
    for (size_t m = 0; m < some.size(); ++m) {
      sums.push_back({some[m].first, gathered[m], {}, {}});
      for (const at::Tensor& value : of_all) {
        at::Tensor sum = value.clone();
        for (size_t i = 1; i < some.size(); ++i) sum = sum + value;
        sums.back().values.push_back(sum);
      }
    }
    const auto added = step.Several("placewright.all_reduce.coalesced", sums);
    for (size_t m = 0; m < some.size(); ++m) {
      const DeviceId device = some[m].first;
      now[device.index()] = step.Op("aten.sub.Tensor", {added[m][0], added[m][1]}, device,
                                    step.values[added[m][0]] - step.values[added[m][1]]);
    }
  }

  // Of rows columns, and of these the rows again.
  void Exchange(std::vector<std::pair<DeviceId, TensorId>>& some, std::vector<int64_t> rows) {
    const int64_t columns = step.values[some[0].second].size(1);
    if (columns < static_cast<int64_t>(some.size())) return;
    std::vector<int64_t> lengths(some.size(), 1);
    lengths.back() += columns - static_cast<int64_t>(some.size());
    for (const bool back : {false, true}) {
      const auto made = step.AllToAll(some, back ? 1 : 0, back ? rows : lengths);
      for (size_t i = 0; i < some.size(); ++i) some[i].second = made[i];
    }
  }

  // Added to what the others have; the root writes over what it gave.
  void Broadcast(DeviceId root) {
    std::vector<DeviceId> others;
    for (const auto& [device, own] : Some()) {
      if (device != root) others.push_back(device);
    }
    const TensorId given = now[root.index()];
    const std::vector<TensorId> copies = step.Broadcast(root, given, others);
    for (size_t i = 0; i < others.size(); ++i) {
      TensorId& own = now[others[i].index()];
      own = step.Op("aten.add.Tensor", {own, copies[i]}, others[i],
                    step.values[own] + step.values[copies[i]]);
    }
    now[root.index()] = step.Op("aten.add_.Tensor", {given, given}, root,
                                step.values[given] + step.values[given], {}, /*in_place=*/true);
  }

  // Rows of all, of which each device takes the first four: a view of what the collective makes.
  void Gather() {
    const auto some = Some();
    const std::vector<TensorId> all = step.AllGather(some);
    for (size_t i = 0; i < some.size(); ++i) {
      const DeviceId device = some[i].first;
      const TensorId top = step.Op("aten.slice.Tensor", {all[i]}, device,
                                   step.values[all[i]].slice(0, 0, 4), {0, 0, 4}, false, true);
      now[device.index()] =
          step.Op("aten.add.Tensor", {top, top}, device, step.values[top] + step.values[top]);
    }
  }

  Random random;
  MadeStep step;
  std::vector<TensorId> now;
  const Graph* graph = nullptr;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_RUNTIME_EXECUTOR_MADE_STEP_H_
