#include "report/time_split.h"

#include <gtest/gtest.h>

namespace placewright {
namespace {

StepSplit Halved() {
  StepSplit split;
  split.compute = 0.5;
  split.communication = 0.3;
  split.idle = 0.2;
  split.op_types = {{"aten.mm.default", 0.4}, {"aten.add.Tensor", 0.1}};
  split.kinds = {{"all-gather", 0.25}, {"transfer", 0.05}};
  return split;
}

TEST(TimeSplit, SaysWhatIsComputedAndWaitedFor) {
  EXPECT_EQ(
      RenderSplit(Halved(), Nanos(1000), 1, {}),
      "where the time goes           time  of the step\n"
      "computing                  0.50 us        50.0%  ######......\n"
      "waiting for all-gather     0.25 us        25.0%  ###.........\n"
      "waiting for transfer       0.05 us         5.0%  #...........\n"
      "waiting for other devices  0.20 us        20.0%  ##..........\n"
      "on the average of the devices that compute; longest op types: aten.mm.default 40.0%\n");
}

// 10% of what is modelled of 500 ns, and 20% of 300 ns.
TEST(TimeSplit, TiesAreWithinTheErrorOfTheModel) {
  EXPECT_EQ(TieWithin(Halved(), {.modelled = 1}, Nanos(1000)), Nanos(110));
  EXPECT_EQ(TieWithin(Halved(), {.measured = 0.5, .modelled = 0.5}, Nanos(2000)), Nanos(170));
}

}  // namespace
}  // namespace placewright
