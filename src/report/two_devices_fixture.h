// A step of three ops on two devices, small enough to time by hand; for the tests of this module.
#ifndef PLACEWRIGHT_REPORT_TWO_DEVICES_FIXTURE_H_
#define PLACEWRIGHT_REPORT_TWO_DEVICES_FIXTURE_H_

#include <gtest/gtest.h>

#include <utility>

#include "cluster/cluster_builder.h"
#include "graph/graph_builder.h"
#include "sim/simulator.h"

namespace placewright {

// a (10 ns, forward) -> b (20 ns, backward) -> c (5 ns, optimizer, writes the parameter w).
// a reads w and makes x (4,000 B); b reads x and makes g (2,000 B); c reads w and g.
// a and c share the group of w and lie on d0, b lies on d1. 1 GB/s and no latency: a byte takes
// 1 ns.
//
//   a on d0 [0, 10), x to d1 [10, 4010), b on d1 [4010, 4030), g to d0 [4030, 6030),
//   c on d0 [6030, 6035).
class TwoDevices : public ::testing::Test {
 protected:
  void SetUp() override {
    GraphBuilder graph("chain", "aten");
    const TensorId w = graph.AddInput("w", TensorKind::kParameter, DType::kF32, {250}).Take();
    const TensorId x = graph.AddOp(Spec("a", Phase::kForward, "net.one", {w}, 1000)).Take()[0];
    const TensorId g = graph.AddOp(Spec("b", Phase::kBackward, "net.two", {x}, 500)).Take()[0];
    OpSpec c = Spec("c", Phase::kOptimizer, "net.one", {w, g}, 0);
    c.outputs.clear();
    c.writes = {0};
    ASSERT_TRUE(graph.AddOp(std::move(c)).ok());
    graph_.emplace(std::move(graph).Build().Take());

    ClusterBuilder cluster("pair");
    DeviceKind kind;
    kind.name = "box";
    const int32_t index = cluster.AddKind(kind).Take();
    for (const char* name : {"d0", "d1"}) {
      Device device;
      device.name = name;
      device.kind = index;
      device.capacity = Bytes(8192);
      ASSERT_TRUE(cluster.AddDevice(device).ok());
    }
    ASSERT_TRUE(
        cluster.Connect("d0", "d1", BytesPerSecond(1000000000), Nanos(0), Duplex::kFull, "by hand")
            .ok());
    cluster_.emplace(std::move(cluster).Build().Take());

    CostTable costs(3, 2);
    for (DeviceId device : cluster_->devices()) {
      costs.SetTime(OpId(0), device, Nanos(10));
      costs.SetTime(OpId(1), device, Nanos(20));
      costs.SetTime(OpId(2), device, Nanos(5));
    }
    costs_ = std::move(costs);
    placement_.assign(3, DeviceId(0));
    placement_[OpId(1)] = DeviceId(1);
    sim_graph_ = BuildSimGraph(*graph_, *cluster_, costs_);
    Simulator simulator(sim_graph_);
    result_ = simulator.Run(placement_, {SchedulingPolicy::kFifo, true, true});
  }

  static OpSpec Spec(const char* name, Phase phase, const char* module,
                     std::vector<TensorId> inputs, int64_t elements) {
    OpSpec spec;
    spec.name = name;
    spec.type = "test.op";
    spec.phase = phase;
    spec.module = module;
    spec.inputs = std::move(inputs);
    OutputSpec output;
    output.name = name;
    output.shape = {elements};
    spec.outputs = {output};
    return spec;
  }

  std::optional<Graph> graph_;
  std::optional<Cluster> cluster_;
  CostTable costs_;
  Placement placement_;
  SimGraph sim_graph_;
  SimResult result_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_REPORT_TWO_DEVICES_FIXTURE_H_
