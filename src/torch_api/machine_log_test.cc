#include "torch_api/machine_log.h"

#include <gtest/gtest.h>

namespace placewright {
namespace {

// What it is made with, one after the other.
class ScriptedReference : public MachineReference {
 public:
  explicit ScriptedReference(std::vector<DeviceState> looks) : looks_(std::move(looks)) {}
  Result<std::vector<DeviceState>> Measure() override {
    if (at_ == looks_.size()) return MakeError(ErrorCode::kExecution, "no more");
    return std::vector<DeviceState>{looks_[at_++]};
  }

 private:
  std::vector<DeviceState> looks_;
  size_t at_ = 0;
};

MachineState State(int64_t time) { return {Nanos(time), Nanos(10 * time), Nanos(100 * time)}; }

TEST(MachineLog, KeepsWhatEveryLookHasSeen) {
  ScriptedReference reference({{State(3), {}}, {State(1), State(7)}, {State(2), {}}});
  MachineLog log(reference, 1);
  EXPECT_FALSE(log.Medians()[0].alone.known());
  for (int look = 0; look < 3; ++look) {
    EXPECT_TRUE(log.Look().Take());  // until something has warmed up behind one
  }
  ASSERT_EQ(log.looks().size(), 3u);
  EXPECT_EQ(log.looks()[1][0].loaded, State(7));
  EXPECT_EQ(log.Medians()[0].alone, State(2));
  EXPECT_EQ(log.Medians()[0].loaded, State(7));  // the others did not ask for it
  EXPECT_EQ(log.Look().error().message, "no more");
  log.Warm();
  EXPECT_FALSE(log.Look().Take());  // not again within a second
}

}  // namespace
}  // namespace placewright
