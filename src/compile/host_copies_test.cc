// What is copied to the host and back between the passes (transforms/offload.h), as pieces.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>

#include "cluster/cluster_builder.h"
#include "compile/host_memory.h"
#include "compile/test_steps.h"

namespace placewright {
namespace {

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

std::string CompiledOn(const Cluster& cluster, std::string_view layouts) {
  const TestStep& step = SavedActivation();
  const auto compiled =
      Compile(step.graph(), step.axes(), step.LayoutsOf(layouts), cluster, CompileOptions());
  return compiled.ok() ? LinesOf(compiled.value(), cluster)
                       : "error: " + compiled.error().ToString();
}

// Each part to the memory that is nearest to its device, and back when its own device may go on.
TEST(HostCopies, TakeEveryPartToItsHostAndBack) {
  EXPECT_EQ(CompiledOn(TwoWithHosts(), "*: batch a:3 b:5"), R"(
a: y@a [3 4] = relu(x[0:0-3])
b: y@b [5 4] = relu(x[0:3-8])
)");
}

// There it is in host memory: the step has no copy.
TEST(HostCopies, OfACpuAreNone) {
  EXPECT_EQ(CompiledOn(TwoWithHosts(), "*: c"), R"(
c: y [8 4] = relu(x)
c: z [8 4] = neg(y)
c: g [8 4] = neg(z)
c: gx [8 4] = mul(y, g)
-> z gx
)");
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
