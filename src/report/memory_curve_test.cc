#include "report/memory_curve.h"

#include <gmock/gmock.h>

#include "report/two_devices_fixture.h"

namespace placewright {
namespace {

using MemoryCurveTest = TwoDevices;

std::vector<std::pair<int64_t, int64_t>> Points(const MemoryCurve& curve) {
  std::vector<std::pair<int64_t, int64_t>> points;
  for (const MemoryPoint& point : curve) points.emplace_back(point.time.count, point.bytes.count);
  return points;
}

TEST_F(MemoryCurveTest, FollowsTensorsAndCopiesFromStartToLastUse) {
  ASSERT_EQ(result_.step_time, Nanos(6035));
  const std::vector<MemoryCurve> curves = MemoryCurves(sim_graph_, placement_, *result_.schedule);
  ASSERT_EQ(curves.size(), 2u);
  // In granules of 512 B: w 1000 -> 1024, x 4000 -> 4096, g 2000 -> 2048.
  // d0: w all the time; x from the start of a to the end of its transfer; the copy of g from the
  // start of its transfer to the end of c.
  using testing::ElementsAre;
  using testing::Pair;
  EXPECT_THAT(Points(curves[0]), ElementsAre(Pair(0, 1024 + 4096), Pair(4010, 1024),
                                             Pair(4030, 1024 + 2048), Pair(6035, 1024)));
  // d1: the copy of x from 10 to the end of b; g from the start of b to the end of its transfer.
  EXPECT_THAT(Points(curves[1]), ElementsAre(Pair(0, 0), Pair(10, 4096), Pair(4010, 4096 + 2048),
                                             Pair(4030, 2048), Pair(6030, 0)));
}

TEST_F(MemoryCurveTest, PeaksWhereTheSimulatorDoes) {
  const std::vector<MemoryCurve> curves = MemoryCurves(sim_graph_, placement_, *result_.schedule);
  for (size_t d = 0; d < curves.size(); ++d) {
    Bytes peak;
    for (const MemoryPoint& point : curves[d]) peak = std::max(peak, point.bytes);
    EXPECT_EQ(peak, result_.devices[d].tensor_peak) << d;
  }
}

// While a and b run their devices hold 5120 and 6144 bytes, while c runs its device 3072.
TEST_F(MemoryCurveTest, WorkspaceCountsWhileItsOpRuns) {
  const std::vector<MemoryCurve> curves = MemoryCurves(sim_graph_, placement_, *result_.schedule);
  const auto peaks = [&](int64_t a, int64_t b, int64_t c) {
    SimGraph with = sim_graph_;
    with.workspace[ExecOpId(0)] = a;
    with.workspace[ExecOpId(1)] = b;
    with.workspace[ExecOpId(2)] = c;
    return PeaksWithWorkspace(with, placement_, *result_.schedule, curves);
  };
  EXPECT_EQ(peaks(0, 0, 0), (std::vector<Bytes>{Bytes(5120), Bytes(6144)}));
  EXPECT_EQ(peaks(100, 200, 0), (std::vector<Bytes>{Bytes(5220), Bytes(6344)}));
  EXPECT_EQ(peaks(100, 0, 2000), (std::vector<Bytes>{Bytes(5220), Bytes(6144)}));
  EXPECT_EQ(peaks(100, 0, 3000), (std::vector<Bytes>{Bytes(6072), Bytes(6144)}));
}

}  // namespace
}  // namespace placewright
