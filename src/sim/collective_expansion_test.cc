// The closed forms of cost/communication hold what the simulator makes of a collective's single
// transfers: rings expanded into ops and transfers, as rules 1 to 6 run them.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "cost/communication.h"
#include "cost/communication/test_clusters.h"
#include "graph/graph_builder.h"
#include "sim/simulator.h"

namespace placewright {
namespace {

// Ops without time on the devices of rings, tensors of bytes.
class Expansion {
 public:
  explicit Expansion(const Cluster& cluster) : cluster_(cluster), builder_("expanded", "aten") {}

  TensorId Make(DeviceId device, std::vector<TensorId> inputs, int64_t bytes) {
    OpSpec spec;
    spec.name = "op" + std::to_string(placement_.size());
    spec.type = "test.op";
    spec.inputs = std::move(inputs);
    spec.outputs = {{.name = spec.name, .dtype = DType::kU8, .shape = {bytes}}};
    placement_.push_back(device);
    return builder_.AddOp(std::move(spec)).Take().front();
  }

  Nanos Run() {
    const Graph graph = std::move(builder_).Build().Take();
    CostTable costs(graph.op_count(), cluster_.device_count());
    for (const OpId op : graph.ops()) {
      for (const DeviceId device : cluster_.devices()) costs.SetTime(op, device, Nanos(0));
    }
    const SimGraph sim_graph = BuildSimGraph(graph, cluster_, costs);
    Simulator simulator(sim_graph);
    return simulator.Run(placement_).step_time;
  }

 private:
  const Cluster& cluster_;
  GraphBuilder builder_;
  Placement placement_;
};

// What position i of n positions has of each piece.
using Pieces = std::vector<std::vector<TensorId>>;

// Position i hands piece `first` + i - s on to the next one in step s; n - 1 steps. `add`: the next
// one adds it to its own, otherwise it keeps it.
void GoRound(Expansion& expansion, const Ring& ring, Pieces& has, const std::vector<int64_t>& sizes,
             size_t first, bool add) {
  const size_t n = ring.order.size();
  for (size_t s = 0; s + 1 < n; ++s) {
    Pieces after = has;
    for (size_t i = 0; i < n; ++i) {
      const size_t piece = (first + i + n - s) % n, next = (i + 1) % n;
      std::vector<TensorId> inputs = {has[i][piece]};
      if (add) inputs.push_back(has[next][piece]);
      after[next][piece] = expansion.Make(ring.order[next], std::move(inputs), sizes[piece]);
    }
    has = std::move(after);
  }
}

int64_t ShareOfRing(const std::vector<Ring>& rings, const Ring& ring, double bytes) {
  double sum = 0;
  for (const Ring& one : rings) sum += one.rate;
  return static_cast<int64_t>(bytes * ring.rate / sum);
}

Nanos SimulatedAllReduce(const Cluster& cluster, const std::vector<Ring>& rings, int64_t bytes) {
  Expansion expansion(cluster);
  for (const Ring& ring : rings) {
    const size_t n = ring.order.size();
    const double piece = static_cast<double>(bytes) / static_cast<double>(n);
    const std::vector<int64_t> sizes(n, ShareOfRing(rings, ring, piece));
    Pieces has(n, std::vector<TensorId>(n));
    for (size_t i = 0; i < n; ++i) {
      for (size_t c = 0; c < n; ++c) has[i][c] = expansion.Make(ring.order[i], {}, sizes[c]);
    }
    GoRound(expansion, ring, has, sizes, 0, /*add=*/true);
    GoRound(expansion, ring, has, sizes, 1, /*add=*/false);
  }
  return expansion.Run();
}

Nanos SimulatedAllGather(const Cluster& cluster, const std::vector<Ring>& rings,
                         const std::vector<int64_t>& pieces) {
  Expansion expansion(cluster);
  for (const Ring& ring : rings) {
    const size_t n = ring.order.size();
    std::vector<int64_t> sizes;
    for (const int64_t piece : pieces) {
      sizes.push_back(ShareOfRing(rings, ring, static_cast<double>(piece)));
    }
    Pieces has(n, std::vector<TensorId>(n));
    for (size_t i = 0; i < n; ++i) has[i][i] = expansion.Make(ring.order[i], {}, sizes[i]);
    GoRound(expansion, ring, has, sizes, 0, /*add=*/false);
  }
  return expansion.Run();
}

// The first half of an all-reduce: each ends with one piece of the sum.
Nanos SimulatedReduceScatter(const Cluster& cluster, const std::vector<Ring>& rings,
                             int64_t piece) {
  Expansion expansion(cluster);
  for (const Ring& ring : rings) {
    const size_t n = ring.order.size();
    const std::vector<int64_t> sizes(n, ShareOfRing(rings, ring, static_cast<double>(piece)));
    Pieces has(n, std::vector<TensorId>(n));
    for (size_t i = 0; i < n; ++i) {
      for (size_t c = 0; c < n; ++c) has[i][c] = expansion.Make(ring.order[i], {}, sizes[c]);
    }
    GoRound(expansion, ring, has, sizes, 0, /*add=*/true);
  }
  return expansion.Run();
}

// The root hands its chunks on, along every ring.
Nanos SimulatedBroadcast(const Cluster& cluster, const std::vector<Ring>& all_rings, int64_t bytes,
                         DeviceId root) {
  Expansion expansion(cluster);
  const std::vector<Ring> rings = RingsFrom(cluster, all_rings, root);
  const Round round = PipelineRound(cluster, rings);
  for (const Ring& ring : rings) {
    const std::vector<DeviceId>& order = ring.order;
    EXPECT_EQ(order.front(), root);
    const int64_t chunks =
        PipelineChunks(round, static_cast<int>(order.size()) - 1, static_cast<double>(bytes));
    const int64_t size =
        ShareOfRing(rings, ring, static_cast<double>(bytes) / static_cast<double>(chunks));
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
      TensorId at = expansion.Make(order.front(), {}, size);
      for (size_t i = 1; i < order.size(); ++i) at = expansion.Make(order[i], {at}, size);
    }
  }
  return expansion.Run();
}

void ExpectWithinAPercent(double closed, Nanos simulated, const std::string& what) {
  const double time = static_cast<double>(simulated.count);
  EXPECT_NEAR(closed, time, 0.01 * time) << what;
}

// With links of one kind (`alike`) all-gathers of uneven pieces, too: the largest piece goes
// through all steps. Over unlike links it is on the slowest one only once, and the closed form is a
// bound.
void ExpectRingsAsSimulated(const Cluster& cluster, const std::vector<DeviceId>& devices,
                            const std::string& name, bool alike = false) {
  const Communication communication(cluster);
  const DeviceSetPlan& plan = *communication.PlanOf(devices).Take();
  const auto closed = [&](CollectiveKind kind, int64_t whole, int64_t piece) {
    return plan.NanosOf(CollectiveAlgorithm::kRing, {kind, Bytes(whole), Bytes(piece)});
  };
  for (const int64_t bytes : {int64_t{4'000}, int64_t{1'000'000}, int64_t{300'000'000}}) {
    const std::string what = name + ", " + std::to_string(bytes) + " bytes";
    ExpectWithinAPercent(closed(CollectiveKind::kAllReduce, bytes, bytes),
                         SimulatedAllReduce(cluster, plan.rings(), bytes), "all-reduce on " + what);
    std::vector<int64_t> pieces(devices.size(), bytes);
    const double gathered = closed(CollectiveKind::kAllGather, bytes * 8, bytes);
    ExpectWithinAPercent(gathered, SimulatedAllGather(cluster, plan.rings(), pieces),
                         "all-gather on " + what);
    ExpectWithinAPercent(closed(CollectiveKind::kReduceScatter, bytes * 8, bytes),
                         SimulatedReduceScatter(cluster, plan.rings(), bytes),
                         "reduce-scatter on " + what);
    for (const DeviceId root : {devices.front(), devices.back()}) {
      if (!alike) break;
      ExpectWithinAPercent(
          plan.NanosOf(CollectiveAlgorithm::kRing,
                       {CollectiveKind::kBroadcast, Bytes(bytes), Bytes(bytes), root}),
          SimulatedBroadcast(cluster, plan.rings(), bytes, root), "broadcast on " + what);
    }
    for (size_t i = 1; i < pieces.size(); ++i) pieces[i] /= 10;
    const Nanos uneven = SimulatedAllGather(cluster, plan.rings(), pieces);
    EXPECT_LE(static_cast<double>(uneven.count), gathered) << what;
    if (alike) ExpectWithinAPercent(gathered, uneven, "all-gather of uneven pieces on " + what);
  }
}

TEST(CollectiveExpansion, RingsOnASwitch) {
  for (const int32_t n : {2, 3, 5, 8}) {
    const Cluster cluster = SwitchedDevices(n, 7'000'000'000, 3000);
    ExpectRingsAsSimulated(cluster, AllDevicesOf(cluster), std::to_string(n) + " on a switch",
                           /*alike=*/true);
  }
}

// Links of unlike figures: the slowest step sets the pace.
TEST(CollectiveExpansion, RingsOverUnlikeLinks) {
  constexpr int32_t kDevices = 5;
  TestDevices made(kDevices);
  for (int32_t a = 0; a < kDevices; ++a) {
    for (int32_t b = 0; b < a; ++b) {
      made.Join("d" + std::to_string(a), "d" + std::to_string(b),
                (1 + a * 7 % 5 + b) * int64_t{1'000'000'000}, 500 * (1 + b));
    }
  }
  const Cluster cluster = made.Build();
  ExpectRingsAsSimulated(cluster, AllDevicesOf(cluster), "five devices, each pair joined");
}

TEST(CollectiveExpansion, ParallelRingsOfACubeMesh) {
  const Cluster cluster = GpuMachines("V100-16GB", {8}, Interconnect::kNvlink);
  ExpectRingsAsSimulated(cluster, GpusOf(cluster), "eight V100", /*alike=*/true);
}

TEST(CollectiveExpansion, RingsOverPcieAndNetwork) {
  for (const std::vector<int32_t>& counts : {std::vector<int32_t>{4}, {1, 1, 1}, {2, 2}}) {
    const Cluster cluster = GpuMachines("T4", counts, Interconnect::kPcie3, 10'000);
    ExpectRingsAsSimulated(cluster, GpusOf(cluster),
                           std::to_string(counts.size()) + " machines with T4");
  }
}

// Hierarchical, of machines that are alike: device j of each machine ends its reduce-scatters with
// the same pieces of every ring, which then go round the machines in parts, all at once over the
// network.
Nanos SimulatedHierarchy(const Cluster& cluster, const Communication& communication,
                         const Machines& machines, int64_t bytes) {
  Expansion expansion(cluster);
  const size_t m = machines.size(), k = machines[0].size();
  const std::vector<Ring>& first = communication.PlanOf(machines[0]).Take()->rings();
  for (size_t r = 0; r < first.size(); ++r) {
    const double piece = static_cast<double>(bytes) / static_cast<double>(k);
    const std::vector<int64_t> sizes(k, ShareOfRing(first, first[r], piece));
    std::vector<Ring> rings;
    std::vector<Pieces> has;
    for (const std::vector<DeviceId>& machine : machines) {
      const Ring& ring = rings.emplace_back(communication.PlanOf(machine).Take()->rings()[r]);
      Pieces own(k, std::vector<TensorId>(k));
      for (size_t i = 0; i < k; ++i) {
        for (size_t c = 0; c < k; ++c) own[i][c] = expansion.Make(ring.order[i], {}, sizes[c]);
      }
      GoRound(expansion, ring, own, sizes, 0, /*add=*/true);
      has.push_back(std::move(own));
    }
    for (size_t i = 0; i < k; ++i) {
      const size_t held = (i + 1) % k;
      const std::vector<int64_t> parts(m, sizes[held] / static_cast<int64_t>(m));
      Ring across;
      Pieces slice(m);
      for (size_t h = 0; h < m; ++h) {
        across.order.push_back(rings[h].order[i]);
        for (size_t part = 0; part < m; ++part) {
          slice[h].push_back(expansion.Make(across.order[h], {has[h][i][held]}, parts[part]));
        }
      }
      GoRound(expansion, across, slice, parts, 0, /*add=*/true);
      GoRound(expansion, across, slice, parts, 1, /*add=*/false);
      for (size_t h = 0; h < m; ++h) {
        has[h][i][held] = expansion.Make(across.order[h], slice[h], sizes[held]);
      }
    }
    for (size_t h = 0; h < m; ++h) GoRound(expansion, rings[h], has[h], sizes, 1, /*add=*/false);
  }
  return expansion.Run();
}

// Slices share the network. In the simulator they take it by turns, each with its latency, and
// machines do not wait for one another between phases; of many bytes that makes a few percent.
TEST(CollectiveExpansion, HierarchiesShareTheNetwork) {
  for (const std::vector<int32_t>& counts :
       {std::vector<int32_t>{2, 2}, {4, 4}, {4, 4, 4}, {8, 8}}) {
    const Cluster cluster = GpuMachines("V100-16GB", counts, Interconnect::kNvlink);
    const Communication communication(cluster);
    const std::vector<DeviceId> gpus = GpusOf(cluster);
    const int64_t bytes = 200'000'000;
    const double closed = communication.PlanOf(gpus).Take()->NanosOf(
        CollectiveAlgorithm::kHierarchical,
        {CollectiveKind::kAllReduce, Bytes(bytes), Bytes(bytes)});
    const Nanos simulated =
        SimulatedHierarchy(cluster, communication, MachinesOf(cluster, gpus), bytes);
    EXPECT_NEAR(closed / static_cast<double>(simulated.count), 1, 0.1)
        << counts.size() << " machines";
  }
}

}  // namespace
}  // namespace placewright
