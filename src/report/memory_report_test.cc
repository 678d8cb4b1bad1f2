#include "report/memory_report.h"

#include <gmock/gmock.h>

#include "cluster/catalogue.h"

namespace placewright {
namespace {

using testing::HasSubstr;
using testing::Not;

DevicePeaks Holding(int64_t mib) {
  DevicePeaks memory;
  memory.uses[static_cast<size_t>(MemoryUse::kParameters)] = memory.allocated = Bytes(mib << 20);
  memory.reserved = Bytes((mib + 64) << 20);
  memory.library = {Bytes(int64_t{720} << 20), 1, 0};
  memory.context = Bytes(int64_t{500} << 20);
  memory.offered = Bytes(int64_t{16} << 30);
  return memory;
}

class MemoryReport : public ::testing::Test {
 protected:
  Cluster cluster_ = MakePreset("4xP100").Take();
  IdVector<DeviceId, DevicePeaks> memories_ =
      IdVector<DeviceId, DevicePeaks>(cluster_.device_count());
};

// Of 1,000, 1,005, 1,005 and 2,000 MiB the first three are alike, and the second is shown.
TEST_F(MemoryReport, AlikeDevicesAreOneLineEach) {
  const std::vector<int64_t> held = {1000, 1005, 1005, 2000};
  for (size_t i = 0; i < held.size(); ++i) memories_[DeviceId(i)] = Holding(held[i]);
  const std::vector<AlikeMemory> groups = FoldMemory(memories_, cluster_);
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0].fullest, DeviceId(1));
  EXPECT_EQ(groups[0].devices, (std::vector<DeviceId>{DeviceId(0), DeviceId(1), DeviceId(2)}));
  EXPECT_EQ(groups[1].devices, (std::vector<DeviceId>{DeviceId(3)}));
}

TEST_F(MemoryReport, PeaksAndWhatFillsThem) {
  memories_[DeviceId(0)] = Holding(1024);
  const std::string text = RenderMemory(memories_, cluster_, {});
  EXPECT_THAT(text, HasSubstr("host0/gpu0"));
  EXPECT_THAT(text, Not(HasSubstr("host0/gpu1")));
  // 1,024; with 64 between tensors 1,088; with 720 and 500 it is 2,308 MiB of 16 GiB.
  EXPECT_THAT(text, HasSubstr("of 16.0 GiB"));
  EXPECT_THAT(text, HasSubstr("device             2.3 GiB"));
  EXPECT_THAT(text, HasSubstr("reserved           1.1 GiB"));
  EXPECT_THAT(text, HasSubstr("allocated          1.0 GiB"));
  EXPECT_THAT(text, HasSubstr("  parameters       1.0 GiB"));
  EXPECT_THAT(text, HasSubstr("1 communicator"));
  // Each peak is followed by what it alone has: NCCL's buffers are no part of what the allocator holds, and what lies
  // between tensors is none of what is allocated.
  size_t at = 0;
  for (const char* line : {"\ndevice ", "\n  NCCL ", "\n  context ", "\nreserved ",
                           "\n  between tensors ", "\nallocated ", "\n  parameters "}) {
    const size_t found = text.find(line, at);
    ASSERT_NE(found, std::string::npos) << line << " is not behind the one before:\n" << text;
    at = found + 1;
  }
  EXPECT_THAT(text, Not(HasSubstr("activations")));
}

TEST_F(MemoryReport, WhatDoesNotFitSaysByHowMuch) {
  memories_[DeviceId(0)] = Holding(16 << 10);
  memories_[DeviceId(0)].fits = false;
  // 64 + 720 + 500 = 1,284 MiB above 16 GiB.
  EXPECT_THAT(RenderMemory(memories_, cluster_, {}), HasSubstr("over by 1.3 GiB"));
  memories_[DeviceId(0)] = Holding(14 << 10);
  memories_[DeviceId(0)].fits = false;
  EXPECT_THAT(RenderMemory(memories_, cluster_, {}), HasSubstr("too fragmented"));
  memories_[DeviceId(0)].into_reserve = Bytes(int64_t{512} << 20);
  EXPECT_THAT(RenderMemory(memories_, cluster_, {}), HasSubstr("0.5 GiB into the memory reserve"));
}

}  // namespace
}  // namespace placewright
