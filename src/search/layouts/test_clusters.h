// A cluster for the tests of this folder and of those beside it.
#ifndef PLACEWRIGHT_SEARCH_LAYOUTS_TEST_CLUSTERS_H_
#define PLACEWRIGHT_SEARCH_LAYOUTS_TEST_CLUSTERS_H_

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "cluster/cluster_builder.h"

namespace placewright {

// Equal devices, a, b, ..., of 100 GFLOP/s, 16 GiB/s and 256 MiB, with a link between any two.
inline Cluster EqualDevices(int count, BytesPerSecond bandwidth) {
  ClusterBuilder builder("equal");
  DeviceKind model{.name = "K"};
  model.peak.f32 = 1e11;
  model.memory_bandwidth = BytesPerSecond(int64_t{1} << 34);
  const int32_t kind = builder.AddKind(model).Take();
  const auto name = [](int i) { return std::string(1, static_cast<char>('a' + i)); };
  for (int i = 0; i < count; ++i) {
    (void)builder.AddDevice({.name = name(i), .kind = kind, .capacity = Bytes(1 << 28)}).Take();
    for (int j = 0; j < i; ++j) {
      EXPECT_TRUE(builder.Connect(name(j), name(i), bandwidth, Nanos(10), Duplex::kFull, "").ok());
    }
  }
  return std::move(builder).Build().Take();
}
inline Cluster TwoDevices(BytesPerSecond bandwidth) { return EqualDevices(2, bandwidth); }

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_LAYOUTS_TEST_CLUSTERS_H_
