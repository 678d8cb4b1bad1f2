#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster/catalogue.h"
#include "cost/cost_model.h"
#include "cost/efficiency.h"

namespace placewright {
namespace {

using ::testing::Contains;

// 10 TFLOP/s, 100 GB/s, 5 us a launch.
DeviceKind MakeKind(std::string architecture = "volta") {
  DeviceKind kind;
  kind.name = "test";
  kind.device_class = DeviceClass::kGpu;
  kind.architecture = std::move(architecture);
  kind.peak.f32 = 10e12;
  kind.memory_bandwidth = BytesPerSecond(100'000'000'000);
  kind.launch_overhead = Nanos(5000);
  return kind;
}

Work MakeWork(OpClass op_class, double flops, int64_t read, int64_t written) {
  Work work;
  work.op_class = op_class;
  work.flops = flops;
  work.bytes_read = Bytes(read);
  work.bytes_written = Bytes(written);
  return work;
}

TEST(Roofline, MemoryBoundOpTakesItsBytes) {
  const double share = EfficiencyOf(OpClass::kElementwise, DType::kF32, MakeKind()).bandwidth;
  // 83,000,000 bytes / (100 GB/s * 0.83) = 1,000,000 ns, and the launch; 1 MFLOP is negligible.
  const auto bytes = static_cast<int64_t>(100e6 * share);
  const Work work = MakeWork(OpClass::kElementwise, 1e6, bytes / 2, bytes - bytes / 2);
  EXPECT_NEAR(static_cast<double>(RooflineTime(work, DType::kF32, MakeKind()).count), 1'005'000, 2);
}

TEST(Roofline, ComputeBoundOpTakesItsFlops) {
  const double share = EfficiencyOf(OpClass::kGemm, DType::kF32, MakeKind()).compute;
  // 10e9 * share flops at 10e12 * share flop/s: 1,000,000 ns, and the launch.
  const Work work = MakeWork(OpClass::kGemm, 10e9 * share, 1000, 1000);
  EXPECT_NEAR(static_cast<double>(RooflineTime(work, DType::kF32, MakeKind()).count), 1'005'000, 2);
}

TEST(Roofline, TimesAreRoundedUpToWholeNanoseconds) {
  DeviceKind kind = MakeKind();
  kind.memory_bandwidth = BytesPerSecond(1'000'000'000'000);
  // 1 byte at 1000 B/ns times a share below 1: less than 1 ns, rounded up to 1.
  EXPECT_EQ(RooflineTime(MakeWork(OpClass::kDataMovement, 0, 1, 0), DType::kF32, kind),
            Nanos(5001));
}

TEST(Roofline, WithoutWorkThereIsNoLaunch) {
  EXPECT_EQ(RooflineTime(MakeWork(OpClass::kCreation, 0, 0, 0), DType::kF32, MakeKind()), Nanos(0));
}

TEST(Roofline, ADTypeWithoutARateIsUnsupportedForArithmeticAlone) {
  const DeviceKind kind = MakeKind();  // states no f64 rate
  EXPECT_EQ(RooflineTime(MakeWork(OpClass::kGemm, 1e9, 8, 8), DType::kF64, kind),
            CostTable::kUnsupported);
  EXPECT_NE(RooflineTime(MakeWork(OpClass::kDataMovement, 0, 8, 8), DType::kF64, kind),
            CostTable::kUnsupported);
}

TEST(Roofline, TensorCoreRatesAreForProductsAlone) {
  DeviceKind kind = MakeKind();
  kind.peak.f16 = 80e12;
  const Nanos half = RooflineTime(MakeWork(OpClass::kGemm, 1e12, 8, 8), DType::kF16, kind);
  const Nanos single = RooflineTime(MakeWork(OpClass::kGemm, 1e12, 8, 8), DType::kF32, kind);
  // 8 times the rate at a share of 0.72 instead of 0.80: 8 * 0.72 / 0.80 = 7.2 times shorter.
  EXPECT_NEAR(static_cast<double>((single - Nanos(5000)).count),
              7.2 * static_cast<double>((half - Nanos(5000)).count), 16);
  EXPECT_EQ(RooflineTime(MakeWork(OpClass::kElementwise, 1e12, 8, 8), DType::kF16, kind),
            RooflineTime(MakeWork(OpClass::kElementwise, 1e12, 8, 8), DType::kF32, kind));
}

// The more tensor cores outrun the rest of a device, the less of their rate is reached.
TEST(Roofline, TensorCoresReachLessTheFasterTheyAre) {
  double before = 1;
  for (const double ratio : {1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 15.0, 16.0, 30.0}) {
    DeviceKind kind = MakeKind("ampere");
    kind.peak.f16 = ratio * kind.peak.f32;
    const double share = EfficiencyOf(OpClass::kGemm, DType::kF16, kind).compute;
    EXPECT_LE(share, before);
    EXPECT_GE(share * ratio, before * ratio / 2);
    before = share;
  }
  EXPECT_EQ(before, 0.65);
}

// FlashAttention-2 reaches 35% of an H100's tensor cores, 0.35 * 989 = 346 TFLOP/s, and on an A100 what products do.
TEST(Roofline, AttentionInOneKernelIsSlowerThanProductsOnHopper) {
  const DeviceKind &h100 = *FindKind("H100"), &a100 = *FindKind("A100-40GB");
  const char* const flash = "aten._scaled_dot_product_flash_attention_for_cpu_backward.default";
  Work work = MakeWork(OpClass::kGemm, 346.15e12, 8, 8);
  work.flops *= TimesOfProducts(flash, DType::kBF16, h100);
  EXPECT_NEAR(Seconds(RooflineTime(work, DType::kBF16, h100)), 1, 2e-3);
  EXPECT_EQ(TimesOfProducts(flash, DType::kF32, h100), 1);
  EXPECT_EQ(TimesOfProducts(flash, DType::kBF16, a100), 1);
  for (const char* type : {"aten._scaled_dot_product_cudnn_attention.default", "aten.mm.default",
                           "aten._scaled_dot_product_attention_math.default"}) {
    EXPECT_EQ(TimesOfProducts(type, DType::kBF16, h100), 1) << type;
  }
}

// Half the 16-bit rate, at TF32's share: 156 * 0.5 = 78 TFLOP/s beside 19.5 * 0.8 = 15.6 in FP32.
TEST(Roofline, Float32IsMultipliedInTheAskedPrecision) {
  const DeviceKind& a100 = *FindKind("A100-40GB");
  const Work product = MakeWork(OpClass::kGemm, 78e12, 8, 8);
  const auto seconds = [&](const Work& work, FloatPrecision precision, const DeviceKind& kind) {
    return Seconds(RooflineTime(work, DType::kF32, kind, precision));
  };
  EXPECT_NEAR(seconds(product, FloatPrecision::kTf32, a100), 1, 1e-3);
  EXPECT_NEAR(seconds(product, FloatPrecision::kFp32, a100), 5, 1e-3);
  EXPECT_EQ(seconds(product, FloatPrecision::kPyTorch, a100),
            seconds(product, FloatPrecision::kFp32, a100));
  const Work convolution = MakeWork(OpClass::kConvPointwise, 52e12, 8, 8);
  EXPECT_NEAR(seconds(convolution, FloatPrecision::kTf32, a100), 1, 1e-3);
  EXPECT_EQ(seconds(convolution, FloatPrecision::kPyTorch, a100),
            seconds(convolution, FloatPrecision::kTf32, a100));
  EXPECT_GT(seconds(convolution, FloatPrecision::kFp32, a100), 2);
  // Volta has none; on an RTX 3090 it is no faster than FP32.
  for (const char* name : {"V100-16GB", "RTX-3090"}) {
    const DeviceKind& kind = *FindKind(name);
    EXPECT_EQ(seconds(product, FloatPrecision::kTf32, kind),
              seconds(product, FloatPrecision::kFp32, kind))
        << name;
  }
}

TEST(Roofline, PrecisionsHaveNames) {
  for (const FloatPrecision precision :
       {FloatPrecision::kPyTorch, FloatPrecision::kFp32, FloatPrecision::kTf32}) {
    EXPECT_EQ(ParseFloatPrecision(ToString(precision)).value(), precision);
  }
  EXPECT_EQ(ParseFloatPrecision("tf23").error().code, ErrorCode::kUsage);
}

TEST(Roofline, EveryKindOfTheCatalogueHasEfficiencies) {
  for (const DeviceKind& kind : Catalogue()) {
    EXPECT_THAT(EfficiencyArchitectures(kind.device_class), Contains(kind.architecture))
        << kind.name;
  }
}

TEST(Roofline, WinogradIsForSinglePrecisionAlone) {
  const auto share = [](OpClass op_class, DType dtype) {
    return EfficiencyOf(op_class, dtype, MakeKind()).compute;
  };
  EXPECT_GT(share(OpClass::kConvWinograd, DType::kF32), 1);
  for (DType dtype : {DType::kF64, DType::kF16, DType::kBF16, DType::kI8}) {
    EXPECT_LT(share(OpClass::kConvWinograd, dtype), 1) << ToString(dtype);
  }
}

TEST(Roofline, MoreWorkNeverTakesLess) {
  for (const char* architecture :
       {"kepler", "pascal", "volta", "turing", "turing-70w", "ampere", "hopper", "broadwell"}) {
    Nanos before(0);
    Work work = MakeWork(OpClass::kGemm, 1, 1, 1);
    for (int step = 0; step < 60; ++step) {
      const Nanos now = RooflineTime(work, DType::kF32, MakeKind(architecture));
      EXPECT_LE(before, now);
      before = now;
      work.flops *= 2;
      work.depth += 37;
      work.bytes_read = Bytes(SaturatingMultiply(work.bytes_read.count, 2));
    }
  }
}

// 16 * 153 steps at 1.53 a ns: 1600 ns to fill, 512 terms at most unless they wait for each other.
TEST(Roofline, SmallProductsTakeTheTimeToFill) {
  DeviceKind kind = MakeKind();
  kind.launch_overhead = Nanos(0);
  Work work = MakeWork(OpClass::kGemm, 1, 1, 1);
  work.depth = 153;
  EXPECT_NEAR(static_cast<double>(RooflineTime(work, DType::kF32, kind).count), 1600, 1);
  work.depth = 5120;  // as 512: 16 * 512 / 1.53 = 5354
  EXPECT_NEAR(static_cast<double>(RooflineTime(work, DType::kF32, kind).count), 5355, 1);
  work.op_class = OpClass::kRecurrent;  // 10 times that
  EXPECT_NEAR(static_cast<double>(RooflineTime(work, DType::kF32, kind).count), 53'543, 1);
}

TEST(Roofline, HugeWorkSaturates) {
  const Work work = MakeWork(OpClass::kGemm, 1e300, kMaxQuantity, kMaxQuantity);
  EXPECT_EQ(RooflineTime(work, DType::kF32, MakeKind()), Nanos(kMaxQuantity));
}

}  // namespace
}  // namespace placewright
