#include "search/test_problems.h"

#include <algorithm>

#include "base/check.h"
#include "base/random.h"
#include "cluster/cluster_builder.h"
#include "graph/graph_builder.h"
#include "search/evaluation/simulated.h"
#include "search/proof/infeasibility.h"

namespace placewright {
namespace {

Cluster MakeCluster(const TestSpec& spec) {
  ClusterBuilder builder("test");
  DeviceKind kind;
  kind.name = "test";
  const int32_t kind_index = builder.AddKind(kind).Take();
  kind.name = "test-cpu";
  kind.device_class = DeviceClass::kCpu;
  const int32_t cpu_index = spec.cpus > 0 ? builder.AddKind(kind).Take() : -1;
  const int devices = static_cast<int>(spec.capacity.size());
  const int accelerators = devices - static_cast<int>(spec.cpus);
  for (int d = 0; d < devices; ++d) {
    Device device;
    device.name = "d" + std::to_string(d);
    device.kind = d < accelerators ? kind_index : cpu_index;
    device.capacity = Bytes(spec.capacity[d]);
    builder.AddDevice(device).Take();
  }
  for (int a = 0; a < devices; ++a) {
    for (int b = 0; b < devices; ++b) {
      const bool apart =
          std::find(spec.apart.begin(), spec.apart.end(), std::pair(a, b)) != spec.apart.end();
      if (a == b || apart) continue;
      Link link;
      link.name = "d" + std::to_string(a) + ">d" + std::to_string(b);
      link.bandwidth = BytesPerSecond(spec.bandwidth);
      link.latency = Nanos(spec.latency);
      link.source = "given";
      const LinkId id = builder.AddLink(link).Take();
      PW_CHECK(builder.AddRoute(DeviceId(a), DeviceId(b), {id}).ok());
    }
  }
  return std::move(builder).Build().Take();
}

Graph MakeGraph(const TestSpec& spec) {
  GraphBuilder builder("test", "costgraph");
  for (const TestInput& input : spec.inputs) {
    PW_CHECK(builder
                 .AddInput(input.name, input.kind, DType::kOpaque, {}, Bytes(input.bytes),
                           DeviceId(input.home))
                 .ok());
  }
  for (const TestOp& op : spec.ops) {
    OpSpec made;
    made.name = op.name;
    made.type = "op";
    made.phase = op.phase;
    made.module = op.module;
    for (const std::string& name : op.reads) made.inputs.push_back(builder.Find(name).Take());
    for (size_t k = 0; k < op.output_bytes.size(); ++k) {
      OutputSpec output;
      output.name = k == 0 ? op.name : op.name + ":" + std::to_string(k);
      output.dtype = DType::kOpaque;
      output.opaque_bytes = Bytes(op.output_bytes[k]);
      if (op.view) output.alias = AliasKind::kView, output.alias_of = 0;
      made.outputs.push_back(output);
    }
    if (!op.in_place.empty()) {
      OutputSpec output;
      output.name = op.name + ":new";
      output.dtype = DType::kOpaque;
      output.alias = decltype(output.alias)::kInPlace;
      output.alias_of = static_cast<int32_t>(made.inputs.size());
      made.inputs.push_back(builder.Find(op.in_place).Take());
      made.outputs.push_back(output);
    }
    const auto added = builder.AddOp(std::move(made));
    PW_CHECK(added.ok());
  }
  auto built = std::move(builder).Build();
  if (!built.ok()) CheckFailed(__FILE__, __LINE__, built.error().ToString());
  return built.Take();
}

CostTable MakeCosts(const TestSpec& spec) {
  CostTable costs(spec.ops.size(), spec.capacity.size());
  for (size_t i = 0; i < spec.ops.size(); ++i) {
    for (size_t d = 0; d < spec.capacity.size(); ++d) {
      costs.SetTime(OpId(i), DeviceId(d), Nanos(spec.ops[i].time_ns[d]));
    }
  }
  return costs;
}

}  // namespace

std::unique_ptr<TestProblem> MakeTestProblem(const TestSpec& spec) {
  auto made = std::make_unique<TestProblem>(
      TestProblem{MakeGraph(spec), MakeCluster(spec), MakeCosts(spec), {}, nullptr});
  auto problem =
      BuildProblem(made->graph, made->cluster, made->costs, spec.constraints, spec.policy);
  if (!problem.ok()) CheckFailed(__FILE__, __LINE__, problem.error().ToString());
  made->problem = problem.Take();
  made->evaluator = MakeSimulatedEvaluator(made->problem);
  return made;
}

Error TestProblemError(const TestSpec& spec) {
  const Graph graph = MakeGraph(spec);
  const Cluster cluster = MakeCluster(spec);
  const CostTable costs = MakeCosts(spec);
  return BuildProblem(graph, cluster, costs, spec.constraints, spec.policy).error();
}

TestSpec RandomSpec(uint64_t seed) {
  Random random(seed);
  TestSpec spec;
  const size_t devices = 2 + random.Below(2);
  const bool tight = seed % 2 == 1;
  for (size_t d = 0; d < devices; ++d) {
    spec.capacity.push_back(tight ? 512 * static_cast<int64_t>(4 + random.Below(12)) : 1 << 20);
  }
  spec.latency = static_cast<int64_t>(random.Below(20));
  const size_t parameters = random.Below(3);
  for (size_t p = 0; p < parameters; ++p) {
    spec.inputs.push_back({"w" + std::to_string(p), static_cast<int64_t>(random.Below(2000))});
  }
  spec.inputs.push_back({"x", 100, TensorKind::kInput});
  const size_t ops = 2 + random.Below(6);
  std::vector<std::string> tensors;
  for (const TestInput& input : spec.inputs) tensors.push_back(input.name);
  std::vector<bool> updated(parameters, false);
  for (size_t i = 0; i < ops; ++i) {
    TestOp op;
    op.name = "op" + std::to_string(i);
    for (size_t d = 0; d < devices; ++d) {
      op.time_ns.push_back(static_cast<int64_t>(random.Below(60) * (1 + d * (seed % 3))));
    }
    if (random.Below(8) == 0) op.time_ns[random.Below(devices)] = -1;
    const size_t reads = random.Below(3);
    for (size_t r = 0; r < reads; ++r) {
      const std::string& tensor = tensors[random.Below(tensors.size())];
      const bool stale = tensor[0] == 'w' && updated[tensor[1] - '0'];
      const bool repeats = std::find(op.reads.begin(), op.reads.end(), tensor) != op.reads.end();
      if (!stale && !repeats) op.reads.push_back(tensor);
    }
    if (parameters > 0 && random.Below(4) == 0) {
      const size_t p = random.Below(parameters);
      const std::string name = "w" + std::to_string(p);
      const bool reads_it = std::find(op.reads.begin(), op.reads.end(), name) != op.reads.end();
      if (!updated[p] && !reads_it) {
        op.in_place = name;
        op.phase = Phase::kOptimizer;
        updated[p] = true;
      }
    }
    if (op.in_place.empty() || random.Below(2) == 0) {
      op.output_bytes.push_back(static_cast<int64_t>(random.Below(1500)));
      tensors.push_back(op.name);
    }
    spec.ops.push_back(std::move(op));
  }
  return spec;
}

std::vector<DeviceId> DeviceList(const std::vector<int32_t>& devices) {
  std::vector<DeviceId> list;
  for (int32_t device : devices) list.emplace_back(device);
  return list;
}

GroupPlacement OnDevices(const std::vector<int32_t>& devices) {
  GroupPlacement placement;
  for (int32_t device : devices) placement.push_back(DeviceId(device));
  return placement;
}

GroupPlacement AllOn(int32_t device, size_t groups) {
  return GroupPlacement(groups, DeviceId(device));
}

Status CheckSpecNotProvenInfeasible(const TestSpec& spec) {
  const std::unique_ptr<TestProblem> test = MakeTestProblem(spec);
  return CheckNotProvenInfeasible(test->problem, *test->evaluator, test->plans());
}

size_t PlannersInAuto(const Problem& problem) {
  const PlannerTable table = MakeSearchPlanners();
  return static_cast<size_t>(std::count_if(table.begin(), table.end(), [&](const auto& planner) {
    const IterativePlanner* search = planner->AsIterative();
    return planner->in_auto() && (search == nullptr || search->joins_after(problem) == 0);
  }));
}

std::optional<Score> BestOfAll(const Problem& problem) {
  const std::unique_ptr<Evaluator> evaluator = MakeSimulatedEvaluator(problem);
  IdVector<ColocationGroupId, size_t> choice(problem.groups.size(), 0);
  std::optional<Score> best;
  while (true) {
    GroupPlacement devices;
    for (ColocationGroupId group : IdRange<ColocationGroupId>(choice.size())) {
      devices.push_back(problem.groups[group].allowed[choice[group]]);
    }
    const auto score = EvaluateGroups(problem, devices, *evaluator);
    if (score.ok() && (!best || score.value() < *best)) best = score.value();
    size_t u = 0;
    while (u < choice.size() &&
           ++choice[ColocationGroupId(u)] == problem.groups[ColocationGroupId(u)].allowed.size()) {
      choice[ColocationGroupId(u++)] = 0;
    }
    if (u == choice.size()) return best;
  }
}

}  // namespace placewright
