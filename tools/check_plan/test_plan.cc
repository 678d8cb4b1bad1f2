#include "check_plan/test_plan.h"

#include "cluster/cluster_builder.h"
#include "formats/plan/plan_json.h"

namespace placewright::check {
namespace {

Cluster MakeCluster(bool one_way) {
  ClusterBuilder builder("pair");
  const int32_t kind = builder.AddKind({.name = "K", .runtime_context = Bytes(10)}).Take();
  for (const char* name : {"d0", "d1"}) {
    (void)builder.AddDevice({.name = name, .kind = kind, .capacity = Bytes(100000)}).Take();
  }
  for (int from = 0; from < (one_way ? 1 : 2); ++from) {
    const LinkId link =
        builder
            .AddLink({from == 0 ? "d0>d1" : "d1>d0", BytesPerSecond(1000000000), Nanos(2), "given"})
            .Take();
    (void)builder.AddRoute(DeviceId(from), DeviceId(1 - from), {link});
  }
  return std::move(builder).Build().Take();
}

// Tensors are lists of bytes, so that views and in-place ops have ranges.
Graph MakeGraph(const TestPlan& plan) {
  GraphBuilder builder("hand-made", "aten");
  for (const TestInput& input : plan.inputs) {
    (void)builder.AddInput(input.name, input.kind, DType::kU8, {input.bytes}).Take();
  }
  for (const TestOp& op : plan.ops) {
    OpSpec spec{.name = op.name, .type = op.kind == TestOp::kView ? "aten.view.default" : "op"};
    for (const std::string& input : op.inputs) spec.inputs.push_back(builder.Find(input).Take());
    spec.after = op.after;
    if (op.bytes >= 0) {
      OutputSpec output{.name = op.name, .dtype = DType::kU8, .shape = {op.bytes}};
      if (op.kind == TestOp::kView) output.alias = AliasKind::kView;
      if (op.kind == TestOp::kInPlace) output.alias = AliasKind::kInPlace;
      if (op.kind != TestOp::kPlain) output.alias_of = 0;
      spec.outputs = {output};
    }
    (void)builder.AddOp(spec).Take();
  }
  return std::move(builder).Build().Take();
}

}  // namespace

PlanInputs TestPlan::Build() const {
  PlanInputs built;
  built.graph.graph = MakeGraph(*this);
  built.cluster.cluster = MakeCluster(one_way);
  const Graph& graph = built.graph.graph;
  const Cluster& cluster = built.cluster.cluster;
  built.costs = CostTable(graph.op_count(), cluster.device_count());
  for (OpId id : graph.ops()) {
    const TestOp& op = ops[id.index()];
    for (DeviceId device : cluster.devices()) built.costs.SetTime(id, device, Nanos(op.time));
    built.schedule.schedule.ops.push_back({Nanos(op.start), Nanos(op.start + op.time)});
    built.schedule.placement.push_back(cluster.FindDevice(op.device));
    built.plan.placement.emplace_back(op.name, op.device);
  }
  for (const TestTransfer& t : transfers) {
    built.schedule.schedule.transfers.push_back(
        {graph.tensor(graph.FindTensor(t.storage)).storage, t.version, Bytes(0), Bytes(t.length),
         cluster.FindDevice(t.from), cluster.FindDevice(t.to), Nanos(t.ready), Nanos(t.start),
         Nanos(t.end)});
  }
  Plan& plan = built.plan;
  const std::string hash(64, '0');
  plan.graph = {"g.json", hash};
  plan.cluster = {"c.yaml", hash};
  plan.costs = {"p.costs.json", hash};
  plan.schedule = {"p.schedule.json", hash};
  plan.graph_name = graph.name();
  plan.cluster_name = cluster.name();
  plan.policy = policy;
  plan.algorithm = "heft";
  plan.feasible = true;
  plan.step_time = Nanos(step);
  plan.lower_bound = Nanos(bound);
  for (int i = 0; i < 2; ++i) {
    const double busy =
        step > 0 ? static_cast<double>(uses[i].busy) / static_cast<double>(step) : 0;
    plan.devices.push_back({i == 0 ? "d0" : "d1", "K", busy, Bytes(uses[i].tensor_peak + 10),
                            Bytes(uses[i].tensor_peak), Bytes(0), Bytes(10), Bytes(100000),
                            Bytes(0), uses[i].ops});
  }
  plan.baselines = {
      {"single", true, Nanos(step + 1)}, {"m-etf", false, Nanos(1)}, {"heft", true, Nanos(step)}};
  plan.history = {{0, 0.1, Nanos(step + 1), "single"}, {0, 0.2, Nanos(step), "heft"}};
  plan.seconds = 0.3;
  plan.first_feasible_seconds = 0.1;
  plan.share_modelled = ops.empty() ? 0 : 1;
  Seal(built);
  return built;
}

void Seal(PlanInputs& inputs) { inputs.document = PlanToJson(inputs.plan); }

std::string Verdict(const PlanInputs& inputs) {
  const MaybeViolation violation = CheckPlan(inputs);
  return violation ? std::string(ToString(violation->kind)) : "holds";
}

}  // namespace placewright::check
