#include "runtime/device/device_memory.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "aten/denormals.h"
#include "aten/failure.h"
#include "runtime/device/device.h"

namespace placewright {
namespace {

TEST(BlockCache, GivesLargeBlocksAgain) {
  BlockCache cache;
  void* const first = cache.Take(100'000);
  void* const second = cache.Take(100'000);
  EXPECT_NE(first, second);
  cache.GiveBack(first, 100'000);
  EXPECT_EQ(cache.Take(99'000), first);  // both are 13 times 8,192 bytes
  cache.GiveBack(first, 99'000);
  cache.Clear();
  cache.GiveBack(second, 100'000);
}

TEST(DeviceMemory, CountsWhatItsThreadsAllocate) {
  const auto memory = std::make_shared<DeviceMemory>("cpu:0", 100'000);
  const at::Tensor before = at::zeros({10});
  EXPECT_EQ(DeviceMemory::Of(before), nullptr);
  {
    const AllocatesFor here(memory);
    const at::Tensor ten = at::zeros({10});
    EXPECT_EQ(memory->used(), 40);
    EXPECT_EQ(DeviceMemory::Of(ten), memory.get());
    EXPECT_EQ(DeviceMemory::Of(ten.view({2, 5})), memory.get());
    EXPECT_THROW(at::zeros({30'000}), TorchFailure);
    EXPECT_EQ(memory->used(), 40);  // what was refused is not counted
    const at::Tensor large = at::zeros({20'000});
    EXPECT_EQ(memory->used(), 80'040);
  }
  EXPECT_EQ(memory->used(), 0);
  EXPECT_EQ(memory->peak(), 80'040);
  memory->ResetPeak();
  EXPECT_EQ(memory->peak(), 0);
  EXPECT_EQ(DeviceMemory::Of(at::zeros({10})), nullptr);
}

// A tensor may outlive the device.
TEST(DeviceMemory, LivesAsLongAsItsTensors) {
  auto memory = std::make_shared<DeviceMemory>("cpu:0", 0);
  at::Tensor tensor;
  {
    const AllocatesFor here(memory);
    tensor = at::ones({50'000});
  }
  const std::weak_ptr<DeviceMemory> known = memory;
  memory.reset();
  ASSERT_FALSE(known.expired());
  EXPECT_EQ(tensor.sum().item<float>(), 50'000);
  tensor.reset();
  EXPECT_TRUE(known.expired());
}

// 1e-40 is a denormal number. On a thread that computes without them anyway nothing changes behind it.
TEST(CpuDevice, ComputesWithoutDenormals) {
  const auto is_zero = [] { return (at::full({64}, 1e-30F) * 1e-10F).eq(0).all().item<bool>(); };
  const std::unique_ptr<RuntimeDevice> device = MakeCpuDevice({.name = "cpu:0"});
  bool on_device = false;
  device->Submit([&] { on_device = is_zero(); });
  EXPECT_TRUE(on_device);
  EXPECT_FALSE(is_zero());
  const WithoutDenormals here;
  device->Submit([] {});
  EXPECT_TRUE(is_zero());
}

}  // namespace
}  // namespace placewright
