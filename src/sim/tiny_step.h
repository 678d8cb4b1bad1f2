// For tests: a training step of a few ops, their times, their placement and a small cluster, in one
// line each. Tensors are rows of bytes, so that sizes and ranges are what the test says.
#ifndef PLACEWRIGHT_SIM_TINY_STEP_H_
#define PLACEWRIGHT_SIM_TINY_STEP_H_

#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "cluster/cluster_builder.h"
#include "cost/cost_table.h"
#include "graph/graph_builder.h"
#include "sim/simulator.h"

namespace placewright {

// A finished TinyStep.
struct TinyProblem {
  Graph graph;
  Cluster cluster;
  CostTable costs;
  Placement placement;
  SimGraph sim_graph;

  OpId op(std::string_view name) const {
    const OpId id = graph.FindOp(name);
    PW_CHECK(id.valid());
    return id;
  }
};

struct TinyOpOptions {
  std::vector<int64_t> times;      // per device, -1: unsupported; empty: `time` everywhere
  std::vector<std::string> after;  // names of ops
  std::vector<int32_t> writes;     // inputs that it writes and does not return
  Phase phase = Phase::kForward;
  std::string type = "test.op";  // of ops with fresh outputs
};

// Whose collectives share links (rule 18): beside one of them ops take 132 / 112 as long.
inline DeviceKind SharingKind() {
  return DeviceKind{.device_class = DeviceClass::kGpu, .multiprocessors = 132, .channels = 20};
}

class TinyStep {
 public:
  // `like`: of the devices, but for name and memory.
  explicit TinyStep(int32_t devices, int64_t capacity = int64_t{1} << 40, DeviceKind like = {})
      : builder_("tiny", "aten"), cluster_("tiny") {
    like.name = "kind";
    like.memory = Bytes(capacity);
    const int32_t kind = cluster_.AddKind(std::move(like)).Take();
    for (int32_t d = 0; d < devices; ++d) {
      Device device{.name = "d" + std::to_string(d), .kind = kind, .capacity = Bytes(capacity)};
      devices_.push_back(cluster_.AddDevice(device).Take());
    }
  }

  // A directed link of `bandwidth` bytes a second; returns its number.
  int32_t Link(int64_t bandwidth, int64_t latency) {
    placewright::Link link{.name = "l" + std::to_string(links_.size()),
                           .bandwidth = BytesPerSecond(bandwidth),
                           .latency = Nanos(latency)};
    links_.push_back(cluster_.AddLink(link).Take());
    return static_cast<int32_t>(links_.size()) - 1;
  }
  void Route(int32_t from, int32_t to, std::vector<int32_t> links) {
    std::vector<LinkId> ids;
    for (int32_t link : links) ids.push_back(links_[link]);
    PW_CHECK(cluster_.AddRoute(devices_[from], devices_[to], std::move(ids)).ok());
  }
  // One link of its own for every ordered pair: a byte a nanosecond, 10 ns.
  void ConnectAll() {
    for (int32_t from = 0; from < static_cast<int32_t>(devices_.size()); ++from) {
      for (int32_t to = 0; to < static_cast<int32_t>(devices_.size()); ++to) {
        if (from != to) Route(from, to, {Link(1'000'000'000, 10)});
      }
    }
  }

  TensorId Input(const std::string& name, TensorKind kind, int64_t bytes) {
    return Keep(builder_.AddInput(name, kind, DType::kU8, {bytes}).Take(), 0, bytes);
  }

  // An op with fresh outputs of these sizes; the ids of the outputs.
  std::vector<TensorId> Op(const std::string& name, int32_t device, int64_t time,
                           std::vector<TensorId> inputs, std::vector<int64_t> output_bytes,
                           const TinyOpOptions& options = {}) {
    OpSpec spec = Spec(name, options.type, std::move(inputs), options);
    for (size_t i = 0; i < output_bytes.size(); ++i) {
      OutputSpec output{.name = i == 0 ? name : name + ":" + std::to_string(i)};
      output.dtype = DType::kU8;
      output.shape = {output_bytes[i]};
      spec.outputs.push_back(output);
    }
    const std::vector<TensorId> ids = Add(std::move(spec), device, time, options);
    for (size_t i = 0; i < ids.size(); ++i) Keep(ids[i], 0, output_bytes[i]);
    return ids;
  }
  // Writes the range of inputs[0] and returns it.
  TensorId InPlace(const std::string& name, int32_t device, int64_t time,
                   std::vector<TensorId> inputs, const TinyOpOptions& options = {}) {
    const auto [offset, length] = ranges_[inputs[0].index()];
    OpSpec spec = Spec(name, "test.op_", inputs, options);
    OutputSpec output{.name = name, .dtype = DType::kU8};
    output.shape = {length};
    output.alias = AliasKind::kInPlace;
    output.alias_of = 0;
    spec.outputs = {output};
    return Keep(Add(std::move(spec), device, time, options)[0], offset, length);
  }
  // Bytes [begin, begin + length) of `of`; a view op that lies on `device`.
  TensorId View(const std::string& name, int32_t device, TensorId of, int64_t begin, int64_t length,
                const TinyOpOptions& options = {}) {
    OpSpec spec = Spec(name, "aten.slice.Tensor", {of}, options);
    spec.args = {Value(InputRef{0}), Value(int64_t{0}), Value(begin), Value(begin + length)};
    OutputSpec output{.name = name, .dtype = DType::kU8};
    output.shape = {length};
    output.alias = AliasKind::kView;
    output.alias_of = 0;
    spec.outputs = {output};
    const int64_t offset = ranges_[of.index()].first + begin;
    return Keep(Add(std::move(spec), device, 0, options)[0], offset, length);
  }
  void Tie(TensorId a, TensorId b) { builder_.Tie(a, b); }
  void Hold(TensorId tensor, const std::string& op) {
    for (OpId id : IdRange<OpId>(builder_.added().ops.size())) {
      if (builder_.added().ops[id].name == op) builder_.Hold(tensor, id);
    }
  }
  // Ops begin and end together, and hold these links (by number) for `time`.
  void Collective(const std::string& name, std::vector<OpId> members, std::vector<int32_t> links,
                  int64_t time) {
    PW_CHECK(builder_.AddCollective(name, std::move(members)).ok());
    CostTable::CollectiveCost cost{Nanos(time), {}};
    for (int32_t link : links) cost.links.push_back(links_[link]);
    collectives_.push_back(std::move(cost));
  }
  int32_t links() const { return static_cast<int32_t>(links_.size()); }

  TinyProblem Build() {
    Result<Graph> graph = std::move(builder_).Build();
    PW_CHECK(graph.ok());
    TinyProblem problem{graph.Take(), std::move(cluster_).Build().Take(), {}, placement_, {}};
    problem.costs = CostTable(problem.graph.op_count(), devices_.size());
    for (OpId op : problem.graph.ops()) {
      for (DeviceId device : problem.cluster.devices()) {
        const std::vector<int64_t>& times = times_[op.index()];
        problem.costs.SetTime(op, device, Nanos(times[device.index()]));
      }
    }
    problem.costs.SetCollectives(collectives_);
    problem.sim_graph = BuildSimGraph(problem.graph, problem.cluster, problem.costs);
    return problem;
  }

 private:
  static OpSpec Spec(const std::string& name, const std::string& type, std::vector<TensorId> inputs,
                     const TinyOpOptions& options) {
    OpSpec spec;
    spec.name = name;
    spec.type = type;
    spec.phase = options.phase;
    spec.inputs = std::move(inputs);
    spec.writes = options.writes;
    spec.after = options.after;
    return spec;
  }
  std::vector<TensorId> Add(OpSpec spec, int32_t device, int64_t time,
                            const TinyOpOptions& options) {
    Result<std::vector<TensorId>> ids = builder_.AddOp(std::move(spec));
    PW_CHECK(ids.ok());
    placement_.push_back(devices_[device]);
    times_.push_back(options.times.empty() ? std::vector<int64_t>(devices_.size(), time)
                                           : options.times);
    return ids.Take();
  }
  TensorId Keep(TensorId id, int64_t offset, int64_t length) {
    ranges_.resize(std::max(ranges_.size(), id.index() + 1));
    ranges_[id.index()] = {offset, length};
    return id;
  }

  GraphBuilder builder_;
  ClusterBuilder cluster_;
  std::vector<DeviceId> devices_;
  std::vector<LinkId> links_;
  std::vector<std::pair<int64_t, int64_t>> ranges_;  // of each tensor in its storage
  std::vector<std::vector<int64_t>> times_;
  IdVector<CollectiveId, CostTable::CollectiveCost> collectives_;
  Placement placement_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SIM_TINY_STEP_H_
