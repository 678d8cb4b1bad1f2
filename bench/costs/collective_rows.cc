#include "bench/costs/collective_rows.h"

#include <fmt/format.h>

#include <map>
#include <string>

#include "base/check.h"
#include "cluster/catalogue.h"
#include "cost/communication.h"

namespace placewright::bench {
namespace {

constexpr auto kAllReduce = CollectiveKind::kAllReduce;
constexpr auto kAllGather = CollectiveKind::kAllGather;
constexpr auto kReduceScatter = CollectiveKind::kReduceScatter;
constexpr auto kRing = CollectiveAlgorithm::kRing;
constexpr auto kNvls = CollectiveAlgorithm::kNvls;
constexpr auto kNvlsTree = CollectiveAlgorithm::kNvlsTree;
constexpr auto kFastest = std::nullopt;

constexpr double kInside = 0.10, kAcross = 0.15;  // of machines
// Gathers over machines are measured at five sixths of what reduce-scatters, the same backwards, are.
constexpr double kGathers = 0.25;

constexpr int64_t kLarge = 4'000'000'000, kMedium = 256'000'000;

// A bandwidth in GB/s of all bytes of the tensor.
double MicrosAt(int64_t bytes, double gigabytes_per_second, double latency = 0) {
  return latency + static_cast<double>(bytes) / (gigabytes_per_second * 1e3);
}

// ml-engineering: bus bandwidths.
PublishedCollective Bus(CollectiveKind kind, CollectiveAlgorithm algorithm, double bus) {
  const double times = (kind == kAllReduce ? 2 : 1) * 7.0 / 8;
  return {kind, algorithm, 1, 8, kLarge, MicrosAt(kLarge, bus / times), "ML", kInside};
}

}  // namespace

std::vector<PublishedCollective> PublishedCollectives() {
  std::vector<PublishedCollective> rows = {
      Bus(kAllReduce, kNvls, 480.0), Bus(kAllReduce, kRing, 367.2), Bus(kAllGather, kRing, 361.4),
      Bus(kReduceScatter, kRing, 362.9)};
  // autoparallel, of nccl-tests on one machine: us and GB/s.
  for (const auto& [kind, gpus, latency, rate] :
       {std::tuple(kAllReduce, 2, 10.0, 324.0), std::tuple(kAllReduce, 4, 15.0, 236.0),
        std::tuple(kAllReduce, 8, 31.0, 267.0), std::tuple(kAllGather, 8, 30.0, 394.0)}) {
    rows.push_back({kind, kFastest, 1, gpus, kLarge, MicrosAt(kLarge, rate, latency), "AP",
                    gpus == 2 ? kAcross : kInside});
  }
  // autoparallel, as NCCL's tuner logged them: the fastest protocol of an algorithm, us and GB/s.
  struct Tuned {
    CollectiveKind kind;
    CollectiveAlgorithm algorithm;
    int machines;
    double latency, rate;
  };
  for (const Tuned& tuned :
       {Tuned{kAllGather, kRing, 2, 70.0, 409.6}, Tuned{kAllGather, kRing, 8, 296.8, 390.1},
        Tuned{kAllReduce, kRing, 2, 1.4 * 131.6, 204.8}, Tuned{kAllReduce, kRing, 8, 585.2, 195.0},
        Tuned{kAllReduce, kNvlsTree, 2, 53.0, 266.7},
        Tuned{kAllReduce, kNvlsTree, 8, 109.0, 160.0}}) {
    for (const int64_t bytes : {kMedium, kLarge}) {
      rows.push_back({tuned.kind, tuned.algorithm, tuned.machines, 8, bytes,
                      MicrosAt(bytes, tuned.rate, tuned.latency), "NCCL", kAcross});
    }
  }
  // autoparallel, of nccl-tests over RoCE, without NVLS: GB/s of large tensors.
  for (const auto& [kind, machines, rate, tolerance] :
       {std::tuple(kAllReduce, 2, 193.1, kAcross), std::tuple(kAllReduce, 8, 171.4, kAcross),
        std::tuple(kReduceScatter, 2, 377.0, kAcross),
        std::tuple(kReduceScatter, 8, 358.5, kAcross), std::tuple(kAllGather, 2, 322.6, kGathers),
        std::tuple(kAllGather, 8, 305.0, kGathers)}) {
    rows.push_back({kind, kRing, machines, 8, kLarge, MicrosAt(kLarge, rate), "RoCE", tolerance});
  }
  return rows;
}

double MicrosOf(const PublishedCollective& row) {
  const Cluster cluster =
      MakePreset(row.machines == 1 ? "8xH100" : fmt::format("{}x8xH100", row.machines)).Take();
  std::map<int32_t, int> taken;
  std::vector<DeviceId> devices;
  for (const DeviceId id : cluster.devices()) {
    if (cluster.kind(id).device_class != DeviceClass::kGpu) continue;
    if (taken[cluster.device(id).host]++ < row.gpus) devices.push_back(id);
  }
  const int64_t n = static_cast<int64_t>(devices.size());
  const CollectiveRequest request{row.kind, Bytes(row.bytes), Bytes((row.bytes + n - 1) / n)};
  const Communication communication(cluster);
  const DeviceSetPlan& plan = *communication.PlanOf(devices).Take();
  if (row.algorithm) return plan.NanosOf(*row.algorithm, request) / 1e3;
  return static_cast<double>(plan.Fastest(request).time.count) / 1e3;
}

double BusBandwidth(const PublishedCollective& row, double micros) {
  const double n = row.machines * row.gpus;
  const double times = (row.kind == kAllReduce ? 2 : 1) * (n - 1) / n;
  return times * static_cast<double>(row.bytes) / (micros * 1e3);
}

}  // namespace placewright::bench
