// What is copied to the host and back between the passes (transforms/offload.h), as pieces.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cluster/cluster_builder.h"
#include "compile/host_memory.h"
#include "compile/test_steps.h"

namespace placewright {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// a and b compute, c and d are CPUs; b is nearer to d.
Cluster TwoWithHosts() {
  ClusterBuilder builder("hosts");
  const DeviceKind of_gpus{.name = "G", .device_class = DeviceClass::kGpu};
  const DeviceKind of_cpus{.name = "C", .device_class = DeviceClass::kCpu};
  const int32_t gpu = builder.AddKind(of_gpus).Take(), cpu = builder.AddKind(of_cpus).Take();
  for (const char* name : {"a", "b", "c", "d"}) {
    const int32_t kind = std::string_view(name) < "c" ? gpu : cpu;
    (void)builder.AddDevice({.name = name, .kind = kind, .capacity = Bytes(1 << 20)}).Take();
  }
  const auto connect = [&](const char* from, const char* to, int64_t bandwidth) {
    PW_CHECK(
        builder.Connect(from, to, BytesPerSecond(bandwidth), Nanos(0), Duplex::kFull, "").ok());
  };
  connect("a", "b", 1000);
  connect("a", "c", 1000);
  connect("a", "d", 1000);
  connect("b", "c", 1000);
  connect("b", "d", 2000);
  connect("c", "d", 1000);
  return std::move(builder).Build().Take();
}

const TestStep& SavedActivation() {
  static const TestStep* const step = new TestStep(R"(
    input x batch:8 in:4
    y = relu x
    y@offload = clone y
    z = neg y
    backward:
    g = neg z
    y@fetch = clone y@offload after g
    gx = mul y@fetch g
    -> z gx)");
  return *step;
}

DistributedStep CompiledOn(const Cluster& cluster, std::string_view layouts) {
  const TestStep& step = SavedActivation();
  return Compile(step.graph(), step.axes(), step.LayoutsOf(layouts), cluster, CompileOptions())
      .Take();
}

// From where to where, and what is waited for, in their order.
std::vector<std::string> CopiesOf(const DistributedStep& step, const Cluster& cluster) {
  std::vector<std::string> copies;
  for (const CollectiveId id : step.graph.collectives()) {
    std::string from, to, after;
    for (const OpId member : step.graph.collective(id).members) {
      const Op& op = step.graph.op(member);
      EXPECT_EQ(op.type, "placewright.broadcast.default");
      (op.inputs.empty() ? to : from) += cluster.device(step.placement[member]).name;
      for (const OpId earlier : op.after) after += " after " + step.graph.op(earlier).name;
    }
    copies.push_back(from + ">" + to + after);
  }
  return copies;
}

// Each part to the memory that is nearest to its device, and back when its own device may go on.
TEST(HostCopies, TakeEveryPartToItsHostAndBack) {
  const Cluster cluster = TwoWithHosts();
  const DistributedStep step = CompiledOn(cluster, "*: batch a:3 b:5");
  EXPECT_THAT(CopiesOf(step, cluster), ElementsAre("a>c", "b>d", "c>a after g@a", "d>b after g@b"));
  for (const char* name : {"gx@a", "gx@b"}) {
    const Op& gx = step.graph.op(step.graph.FindOp(name));
    const OpId maker = step.graph.tensor(gx.inputs.front()).producer;
    EXPECT_EQ(step.graph.op(maker).type, "placewright.broadcast.default");
    EXPECT_EQ(step.placement[maker], step.placement[step.graph.FindOp(name)]);
  }
}

// There it is in host memory: nothing is copied.
TEST(HostCopies, OfACpuAreNone) {
  const Cluster cluster = TwoWithHosts();
  const DistributedStep step = CompiledOn(cluster, "*: c");
  EXPECT_EQ(step.graph.op_count(), 4u);
  EXPECT_EQ(step.graph.collective_count(), 0u);
}

TEST(HostCopies, NeedAHost) {
  EXPECT_THAT(SavedActivation().Compiled("*: a"),
              HasSubstr("activations of a have no host memory to go to"));
}

TEST(HostMemory, IsTheNearest) {
  const Cluster cluster = TwoWithHosts();
  EXPECT_EQ(HostMemoryOf(cluster, DeviceId(0)).Take(), DeviceId(2));
  EXPECT_EQ(HostMemoryOf(cluster, DeviceId(1)).Take(), DeviceId(3));
  EXPECT_EQ(HostMemoryOf(cluster, DeviceId(3)).Take(), DeviceId(3));
}

}  // namespace
}  // namespace placewright
