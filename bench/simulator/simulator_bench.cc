// How fast the simulator is, against the least that any simulator must do: reading its arrays once.
//
// The graph: `ops` ops in layers of 40; each reads one op of the layer before and one of the three
// before. Sizes are powers of two from 1 KiB to 8 MiB, times spread over four decades. 8 devices,
// a link of 10 GB/s and 2 us for every ordered pair. Usage: bench_simulator [ops] [runs].
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/random.h"
#include "cluster/cluster_builder.h"
#include "graph/graph_builder.h"
#include "sim/simulator.h"

namespace placewright {
namespace {

constexpr int32_t kDevices = 8;
constexpr int32_t kLayer = 40;

struct Case {
  Graph graph;
  Cluster cluster;
  CostTable costs;
};

Graph LayeredGraph(int32_t ops) {
  Random random(1);
  GraphBuilder builder("layered", "costgraph");
  std::vector<TensorId> made;
  for (int32_t op = 0; op < ops; ++op) {
    OpSpec spec;
    spec.name = "o" + std::to_string(op);
    spec.type = "op";
    if (op >= kLayer) {
      const int32_t layer = op / kLayer, end = layer * kLayer;
      const int32_t begin = std::max(0, layer - 3) * kLayer;
      spec.inputs.push_back(made[end - kLayer + random.Below(kLayer)]);
      spec.inputs.push_back(made[begin + random.Below(end - begin)]);
    }
    OutputSpec output;
    output.name = spec.name;
    output.dtype = DType::kOpaque;
    output.opaque_bytes = Bytes(int64_t{1} << (10 + random.Below(14)));
    spec.outputs.push_back(output);
    made.push_back(builder.AddOp(std::move(spec)).Take()[0]);
  }
  return std::move(builder).Build().Take();
}

Cluster FullMesh() {
  ClusterBuilder builder("mesh");
  const int32_t kind =
      builder.AddKind(DeviceKind{.name = "kind", .memory = Bytes(int64_t{1} << 40)}).Take();
  for (int32_t d = 0; d < kDevices; ++d) {
    Device device{.name = "d" + std::to_string(d), .kind = kind, .capacity = Bytes(1LL << 40)};
    (void)builder.AddDevice(device).Take();
  }
  for (int32_t from = 0; from < kDevices; ++from) {
    for (int32_t to = 0; to < kDevices; ++to) {
      if (from == to) continue;
      Link link{.name = "d" + std::to_string(from) + ">d" + std::to_string(to),
                .bandwidth = BytesPerSecond(10'000'000'000),
                .latency = Nanos(2000)};
      const LinkId id = builder.AddLink(link).Take();
      PW_CHECK(builder.AddRoute(DeviceId(from), DeviceId(to), {id}).ok());
    }
  }
  return std::move(builder).Build().Take();
}

CostTable SpreadTimes(const Graph& graph) {
  Random random(2);
  CostTable costs(graph.op_count(), kDevices);
  for (OpId op : graph.ops()) {
    int64_t time = 1000;  // times four draws of about 0.04 to 4
    for (int i = 0; i < 4; ++i) time = time * static_cast<int64_t>(1 + random.Below(100)) / 25;
    time = std::clamp<int64_t>(time, 1000, 5'000'000);
    for (int32_t d = 0; d < kDevices; ++d) costs.SetTime(op, DeviceId(d), Nanos(time));
  }
  return costs;
}

Placement Place(const Graph& graph, const std::string& how) {
  Random random(3);
  const int64_t ops = static_cast<int64_t>(graph.op_count());
  Placement placement;
  for (int64_t i = 0; i < ops; ++i) {
    const int64_t device = how == "contiguous"      ? i * kDevices / ops
                           : how == "blocks of ten" ? i / 10 % kDevices
                                                    : static_cast<int64_t>(random.Below(kDevices));
    placement.push_back(DeviceId(static_cast<int32_t>(device)));
  }
  return placement;
}

// Every array of the program that a simulation reads, once, in order.
int64_t PlainPass(const StepProgram& p, const Placement& placement) {
  int64_t sum = 0;
  for (int32_t op = 0; op < p.ops; ++op) {
    sum += p.time[int64_t{op} * p.devices + placement[p.op_of[op]].value()];
    for (int32_t i = p.op_units_offset[op]; i < p.op_units_offset[op + 1]; ++i) {
      sum += p.op_units[i];
    }
    for (int32_t unit = p.op_first_unit[op]; unit < p.op_first_unit[op + 1]; ++unit) {
      sum += p.unit_bytes[unit] + p.storage_bytes[p.unit_storage[unit]];
      for (int32_t i = p.unit_readers_offset[unit]; i < p.unit_readers_offset[unit + 1]; ++i) {
        sum += p.unit_readers[i];
      }
    }
  }
  return sum;
}

struct Times {
  double least, median;
};

template <class Body>
Times Measure(int runs, const Body& body) {
  std::vector<double> seconds;
  for (int run = 0; run < runs; ++run) {
    const auto start = std::chrono::steady_clock::now();
    body();
    seconds.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  std::sort(seconds.begin(), seconds.end());
  return {seconds.front(), seconds[seconds.size() / 2]};
}

void Report(const char* what, Order order, double ops, const Times& times, const Times& pass,
            const SimResult& result) {
  std::printf("| %-13s | %-13s | %6.1f | %6.1f | %6.1f | %5.1f | %8.3f |\n", what,
              std::string(ToString(order)).c_str(), ops / times.median / 1e6,
              ops / times.least / 1e6, times.median / ops * 1e9, times.median / pass.median,
              Seconds(result.step_time) * 1e3);
}

int Main(int argc, char** argv) {
  const int32_t ops = argc > 1 ? std::max(1, std::atoi(argv[1])) : 80'000;
  const int runs = argc > 2 ? std::max(1, std::atoi(argv[2])) : 31;
  const Graph graph = LayeredGraph(ops);
  const Cluster cluster = FullMesh();
  const CostTable costs = SpreadTimes(graph);
  const StepProgram program = BuildStepProgram(graph, cluster, costs);
  Simulator simulator(program);
  std::printf("%d ops, %d devices, %d runs\n\n", ops, kDevices, runs);
  std::printf("| placement     | order         | Mops/s |   best | ns/op  | passes | step, ms |\n");
  std::printf("|---------------|---------------|-------:|-------:|-------:|-------:|---------:|\n");
  int64_t sink = 0;
  for (const char* how : {"contiguous", "blocks of ten", "random"}) {
    const Placement placement = Place(graph, how);
    const Times pass = Measure(runs, [&] { sink += PlainPass(program, placement); });
    for (Order order : {Order::kFifo, Order::kCriticalPath}) {
      SimOptions options;
      options.order = order;
      const SimResult* result = nullptr;
      const Times times = Measure(runs, [&] { result = &simulator.Run(placement, options); });
      Report(how, order, ops, times, pass, *result);
    }
  }
  std::printf("\n(checksum of the passes: %lld)\n", static_cast<long long>(sink));
  return 0;
}

}  // namespace
}  // namespace placewright

int main(int argc, char** argv) { return placewright::Main(argc, argv); }
