#include "report/timeline_svg.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "report/two_devices_fixture.h"
#include "sim/tiny_step.h"

namespace placewright {
namespace {

using TimelineSvg = TwoDevices;
using testing::HasSubstr;
using testing::Not;

TEST_F(TimelineSvg, DrawsOpsLinksAndMemoryAtTheirTimes) {
  const std::vector<MemoryCurve> memory = MemoryCurves(sim_graph_, placement_, *result_.schedule);
  const std::string svg =
      RenderTimelineSvg({*graph_, *cluster_, placement_, *result_.schedule, memory, result_.devices,
                         result_.step_time, Nanos(35), "a <title>", "two devices"});
  EXPECT_THAT(svg, testing::StartsWith("<svg "));
  EXPECT_THAT(svg, testing::EndsWith("</svg>\n"));
  EXPECT_THAT(svg, HasSubstr("a &lt;title&gt;"));
  EXPECT_THAT(svg, Not(HasSubstr("<title>\"")));
  // The plot is 1,106 pixels wide and starts at 150. b runs from 4010 to 4030 of 6035:
  // 150 + 1106 * 4010 / 6035 = 884.89.
  EXPECT_THAT(svg, HasSubstr("x=\"884.89\""));
  EXPECT_THAT(svg, HasSubstr("b (test.op) net.two"));
  EXPECT_THAT(svg, HasSubstr("peak 6.0 KiB of 8.0 KiB"));  // 4096 + 2048
  // x crosses from 10 ns for 4,000 ns: 150 + 1106 * 10 / 6035 = 151.83.
  EXPECT_THAT(svg, HasSubstr("x=\"151.83\""));
  EXPECT_THAT(svg, HasSubstr("d0&gt;d1"));
  EXPECT_THAT(svg, HasSubstr("lower bound"));
}

// On a scale of twice the step everything is half as wide, and the step's end is drawn; the second picture
// begins below the first, and has no definitions of its own.
TEST_F(TimelineSvg, PicturesAreComparedOnOneScale) {
  const std::vector<MemoryCurve> memory = MemoryCurves(sim_graph_, placement_, *result_.schedule);
  TimelineInput input{*graph_, *cluster_,       placement_,        *result_.schedule,
                      memory,  result_.devices, result_.step_time, Nanos(0),
                      "one",   "predicted"};
  const std::string alone = RenderTimelineSvg(input);
  EXPECT_THAT(alone, Not(HasSubstr("the step ends")));
  input.scale = Nanos(2 * result_.step_time.count);
  input.title = "two";
  const std::string half = RenderTimelineSvg(input);
  EXPECT_THAT(half, HasSubstr("x=\"517.44\""));  // 150 + 734.89 / 2
  EXPECT_THAT(half, HasSubstr("the step ends"));
  const std::string both = StackPictures({alone, half});
  const size_t second = both.find("<svg y=", both.find("<svg y=\"0\"") + 1);
  ASSERT_NE(second, std::string::npos);
  EXPECT_LT(both.find(">one<"), second);
  EXPECT_GT(both.find(">two<"), second);
  EXPECT_EQ(both.find("<defs>"), both.rfind("<defs>"));
}

// a [0, 30) on d0, summed with b of d1 [30, 50): a lane for both members, nothing among the ops.
TEST(TimelineSvgOfCollectives, HaveALane) {
  TinyStep step(2);
  step.ConnectAll();
  const TensorId a = step.Op("a", 0, 30, {}, {8})[0], b = step.Op("b", 1, 10, {}, {8})[0];
  (void)step.Op("sum0", 0, 0, {a}, {8});
  (void)step.Op("sum1", 1, 0, {b}, {8});
  step.Collective("sum", {OpId(2), OpId(3)}, {0, 1}, 20);
  const TinyProblem problem = step.Build();
  Simulator simulator(problem.sim_graph);
  const SimResult& result = simulator.Run(problem.placement, {SchedulingPolicy::kFifo, true});
  ASSERT_TRUE(result.schedule);
  const std::vector<MemoryCurve> memory =
      MemoryCurves(problem.sim_graph, problem.placement, *result.schedule);
  const std::string svg =
      RenderTimelineSvg({problem.graph, problem.cluster, problem.placement, *result.schedule,
                         memory, result.devices, result.step_time, Nanos(0), "one", "collective"});
  EXPECT_THAT(svg, HasSubstr(">collectives</text>"));
  EXPECT_THAT(svg, HasSubstr("1 collective, 20 ns from 30 ns"));
  EXPECT_THAT(svg, Not(HasSubstr("sum0")));
}

// Tensors peak at 6,144 B on both devices; with 1,024 B of runtime context the table counts 7,168
// B.
class TimelineMemory : public TwoDevices {
 protected:
  std::string Draw(int64_t capacity, int64_t reserve) {
    ClusterBuilder builder("pair");
    DeviceKind kind;
    kind.name = "box";
    kind.runtime_context = Bytes(1024);
    const int32_t index = builder.AddKind(kind).Take();
    for (const char* name : {"d0", "d1"}) {
      EXPECT_TRUE(builder.AddDevice({name, index, 0, Bytes(capacity), Bytes(reserve)}).ok());
    }
    EXPECT_TRUE(
        builder.Connect("d0", "d1", BytesPerSecond(1000000000), Nanos(0), Duplex::kFull, "").ok());
    const Cluster cluster = std::move(builder).Build().Take();
    const SimGraph sim_graph = BuildSimGraph(*graph_, cluster, costs_);
    Simulator simulator(sim_graph);
    const SimResult result = simulator.Run(placement_, {SchedulingPolicy::kFifo, true, true});
    const std::vector<MemoryCurve> memory = MemoryCurves(sim_graph, placement_, *result.schedule);
    return RenderTimelineSvg({*graph_, cluster, placement_, *result.schedule, memory,
                              result.devices, result.step_time, Nanos(0), "", ""});
  }
  // The top of d0's runtime context: its lane is 40 pixels high and ends at 94 + 26 + 2 + 40 = 162.
  static std::string ContextFrom(double y) {
    return fmt::format("y=\"{:.1f}\" width=\"1106.00\"", y);
  }
};

TEST_F(TimelineMemory, EveryLaneIsAsHighAsTheDevicesMemory) {
  // 1,024 of 8,192 B are an eighth of 40 pixels; of 81,920 B a hundredth of that, and
  // the lane is not stretched.
  EXPECT_THAT(Draw(8192, 0), HasSubstr(ContextFrom(157) + " height=\"5.0\""));
  EXPECT_THAT(Draw(81920, 0), HasSubstr(ContextFrom(161.5) + " height=\"0.5\""));
  for (const int64_t capacity : {8192, 81920}) {
    EXPECT_THAT(Draw(capacity, 0), HasSubstr("a lane is as high as the device&apos;s memory"));
    EXPECT_THAT(Draw(capacity, 0), HasSubstr("stroke-dasharray"));
  }
}

TEST_F(TimelineMemory, CountsTheRuntimeContextAsTheTableDoes) {
  EXPECT_THAT(Draw(8192, 0), HasSubstr("7.0 KiB of 8.0 KiB"));
  EXPECT_THAT(Draw(8192, 0), HasSubstr("runtime context: 1.0 KiB"));
}

TEST_F(TimelineMemory, ShowsTheReserveWhereThereIsOne) {
  // 8,192 B usable and as many in reserve: the upper half of the lane, from 122 to 142.
  const std::string with = Draw(8192, 8192);
  EXPECT_THAT(with, HasSubstr(ContextFrom(122) + " height=\"20.0\" fill=\"url(#reserve)\""));
  EXPECT_THAT(with, HasSubstr("+ 8.0 KiB reserve"));
  EXPECT_THAT(Draw(8192, 0), Not(HasSubstr("fill=\"url(#reserve)\"")));
}

TEST_F(TimelineMemory, SaysHowMuchIsTooMuch) {
  // 7,168 - 4,096 B.
  EXPECT_THAT(Draw(4096, 0), HasSubstr("3.0 KiB too much"));
  EXPECT_THAT(Draw(8192, 0), Not(HasSubstr("too much")));
}

TEST(EscapeXml, LeavesNothingThatEndsTextOrAttribute) {
  EXPECT_EQ(EscapeXml("a<b>&\"'\x01"), "a&lt;b&gt;&amp;&quot;&apos;?");
}

TEST(TimelineSvgOfMicroBatches, NumbersTheirPasses) {
  TinyStep step(1);
  const TensorId x = step.Op("f@1", 0, 10, {}, {8})[0];
  step.Op("f@2", 0, 10, {x}, {8});
  const TinyProblem problem = step.Build();
  Simulator simulator(problem.sim_graph);
  const SimResult result = simulator.Run(problem.placement, {.schedule = true});
  const std::vector<MemoryCurve> memory =
      MemoryCurves(problem.sim_graph, problem.placement, *result.schedule);
  const std::string svg =
      RenderTimelineSvg({problem.graph, problem.cluster, problem.placement, *result.schedule,
                         memory, result.devices, result.step_time, Nanos(0), "t", "s"});
  EXPECT_THAT(svg, HasSubstr(">1</text>"));
  EXPECT_THAT(svg, HasSubstr(">2</text>"));
}

}  // namespace
}  // namespace placewright
