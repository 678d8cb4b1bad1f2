#include "bench/scaling/rows.h"

#include <vector>

namespace placewright::bench {
namespace {

constexpr auto kAsIs = CapturePrecision::kAsIs, kF16 = CapturePrecision::kF16;
constexpr auto kFp32 = FloatPrecision::kFp32, kTf32 = FloatPrecision::kTf32;

constexpr Bytes kEach(0);                             // TF17: every gradient by itself
constexpr Bytes kDdp(int64_t{25} << 20);              // DLE21, DLPERF: bucket_cap_mb of PyTorch
constexpr Bytes kHorovod(int64_t{64} << 20);          // HOROVOD_FUSION_THRESHOLD
constexpr Bytes kApex(int64_t{10'000'000} * 4);       // DLE19: Apex's message_size, elements
constexpr Bytes kApexBert(int64_t{250'000'000} * 4);  // the same as NVIDIA's pre-training sets it

using Values = std::map<std::string, double>;

// As docs/results/scaling.md says it of the rows' configurations and sources.
const std::vector<ScalingRow>& Rows() {
  static const Values none, squad = {{"sequence", 384}}, pretrain = {{"sequence", 128}};
  static constexpr std::string_view kInput = "input", kNetwork = "network", kOpen = "open";
  static constexpr bool kQuick = true;
  // clang-format off
  static const std::vector<ScalingRow> rows = {
      {"resnet-50", none, 112, kAsIs, kFp32, kDdp,
       {"dgx-1", 1, 367, 18}, {"dgx-1", 8, 2855, 2}, "DLE21", {}, kQuick},
      {"resnet-50", none, 256, kF16, kFp32, kDdp,
       {"dgx-1", 1, 1200, 8}, {"dgx-1", 8, 8322}, "DLE21", {}, kQuick},
      {"resnet-50", none, 112, kAsIs, kFp32, kDdp,
       {"dgx-1-32gb", 1, 356, 18}, {"dgx-1-32gb", 8, 2766, 2}, "DLE21"},
      {"resnet-50", none, 256, kF16, kFp32, kDdp,
       {"dgx-1-32gb", 1, 1156, 8}, {"dgx-1-32gb", 8, 8056}, "DLE21"},
      {"resnet-50", none, 256, kAsIs, kTf32, kDdp,
       {"dgx-a100-80gb", 1, 938, 8}, {"dgx-a100-80gb", 8, 7248}, "DLE21"},
      {"resnet-50", none, 256, kF16, kTf32, kDdp,
       {"dgx-a100-80gb", 1, 2470, 8}, {"dgx-a100-80gb", 8, 16621}, "DLE21", kInput},
      {"resnet-50", none, 64, kAsIs, kFp32, kEach,
       {"p2.8xlarge", 1, 51.5}, {"p2.8xlarge", 8, 384}, "TF17"},
      {"vgg-16", none, 64, kAsIs, kFp32, kEach,
       {"dgx-1-p100", 1, 154}, {"dgx-1-p100", 8, 1081}, "TF17", kOpen},
      {"bert-large", squad, 4, kAsIs, kFp32, kApex,
       {"dgx-1", 1, 8.96}, {"dgx-1", 8, 64.64}, "DLE19"},
      {"bert-large", squad, 10, kF16, kFp32, kApex,
       {"dgx-1", 1, 45.2}, {"dgx-1", 8, 327.2}, "DLE19"},
      {"bert-large", squad, 8, kAsIs, kFp32, kApex,
       {"dgx-1-32gb", 1, 8.64}, {"dgx-1-32gb", 8, 64.32}, "DLE19"},
      {"bert-large", squad, 10, kF16, kFp32, kApex,
       {"dgx-1-32gb", 1, 46.0}, {"dgx-1-32gb", 8, 325.6}, "DLE19"},
      {"bert-large", squad, 4, kAsIs, kFp32, kApex,
       {"dgx-2", 1, 9.92}, {"dgx-2", 16, 141.4}, "DLE19"},
      {"bert-large", squad, 10, kF16, kFp32, kApex,
       {"dgx-2", 1, 47.4}, {"dgx-2", 16, 648}, "DLE19", kOpen},
      {"bert-base", pretrain, 48, kAsIs, kFp32, kApexBert,
       {"dlperf", 1, 121.94}, {"dlperf", 8, 928.01}, "DLPERF"},
      {"resnet-50", none, 128, kAsIs, kFp32, kDdp,
       {"dlperf", 1, 367.29}, {"2x dlperf", 16, 5716.79}, "DLPERF", {}, kQuick},
      {"resnet-50", none, 128, kAsIs, kFp32, kDdp,
       {"dlperf", 1, 367.29}, {"4x dlperf", 32, 10917.09}, "DLPERF"},
      {"resnet-50", none, 256, kF16, kFp32, kDdp,
       {"dlperf", 1, 802.9}, {"2x dlperf", 16, 11991.94}, "DLPERF"},
      {"resnet-50", none, 256, kF16, kFp32, kDdp,
       {"dlperf", 1, 802.9}, {"4x dlperf", 32, 22551.16}, "DLPERF"},
      {"bert-base", pretrain, 48, kAsIs, kFp32, kApexBert,
       {"dlperf", 1, 121.94}, {"2x dlperf", 16, 1584.32}, "DLPERF", {}, kQuick},
      {"bert-base", pretrain, 48, kAsIs, kFp32, kApexBert,
       {"dlperf", 1, 121.94}, {"4x dlperf", 32, 3039.3}, "DLPERF"},
      {"bert-base", pretrain, 96, kF16, kFp32, kApexBert,
       {"dlperf", 1, 462.35}, {"2x dlperf", 16, 5426.07}, "DLPERF"},
      {"bert-base", pretrain, 96, kF16, kFp32, kApexBert,
       {"dlperf", 1, 462.35}, {"4x dlperf", 32, 10349.12}, "DLPERF"},
      {"inception-v3", none, 64, kAsIs, kFp32, kHorovod,
       {"horovod", 1, 1}, {"32x horovod", 128, 0.9 * 128}, "HOROVOD"},
      {"resnet-101", none, 64, kAsIs, kFp32, kHorovod,
       {"horovod", 1, 1}, {"32x horovod", 128, 0.9 * 128}, "HOROVOD"},
      {"vgg-16", none, 64, kAsIs, kFp32, kHorovod,
       {"horovod", 1, 1}, {"32x horovod", 128, 0.79 * 128}, "HOROVOD", {}, kQuick},
      {"vgg-16", none, 64, kAsIs, kFp32, kHorovod,
       {"horovod", 1, 1}, {"128x horovod", 512, 0.68 * 512}, "HOROVOD", kNetwork},
  };
  // clang-format on
  return rows;
}

}  // namespace

std::span<const ScalingRow> ScalingRows() { return Rows(); }

}  // namespace placewright::bench
