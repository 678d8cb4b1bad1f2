#include "report/timeline_svg.h"

#include <gmock/gmock.h>

#include "report/two_devices_fixture.h"

namespace placewright {
namespace {

using TimelineSvg = TwoDevices;
using testing::HasSubstr;
using testing::Not;

TEST_F(TimelineSvg, DrawsOpsLinksAndMemoryAtTheirTimes) {
  const std::vector<MemoryCurve> memory = MemoryCurves(program_, placement_, *result_.schedule);
  const std::string svg =
      RenderTimelineSvg({*graph_, *cluster_, placement_, *result_.schedule, memory,
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

// Peaks are 6,144 B on both devices, the capacity 8,192 B, then a hundred times that.
TEST_F(TimelineSvg, SaysTheScaleOfEveryMemoryLane) {
  const std::vector<MemoryCurve> memory = MemoryCurves(program_, placement_, *result_.schedule);
  const auto draw = [&](int64_t capacity) {
    ClusterBuilder builder("pair");
    DeviceKind kind;
    kind.name = "box";
    const int32_t index = builder.AddKind(kind).Take();
    for (const char* name : {"d0", "d1"}) {
      Device device;
      device.name = name;
      device.kind = index;
      device.capacity = Bytes(capacity);
      EXPECT_TRUE(builder.AddDevice(device).ok());
    }
    EXPECT_TRUE(
        builder.Connect("d0", "d1", BytesPerSecond(1000000000), Nanos(0), Duplex::kFull, "").ok());
    const Cluster cluster = std::move(builder).Build().Take();
    return RenderTimelineSvg({*graph_, cluster, placement_, *result_.schedule, memory,
                              result_.step_time, Nanos(0), "", ""});
  };
  const std::string full = draw(8192), empty = draw(819200);
  EXPECT_THAT(full, HasSubstr("scale: capacity"));
  EXPECT_THAT(full, HasSubstr("the dashed line is the device&apos;s capacity"));
  EXPECT_THAT(full, HasSubstr("stroke-dasharray"));
  EXPECT_THAT(empty, HasSubstr("scale: own peak"));
  EXPECT_THAT(empty, Not(HasSubstr("dashed line")));
  EXPECT_THAT(empty, Not(HasSubstr("stroke-dasharray")));
  EXPECT_THAT(draw(4096), HasSubstr("#c62828"));  // over its capacity: the line lies within
}

TEST(EscapeXml, LeavesNothingThatEndsTextOrAttribute) {
  EXPECT_EQ(EscapeXml("a<b>&\"'\x01"), "a&lt;b&gt;&amp;&quot;&apos;?");
}

}  // namespace
}  // namespace placewright
