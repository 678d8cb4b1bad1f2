// A cluster for the tests of this folder and of those beside it.
#ifndef PLACEWRIGHT_SEARCH_LAYOUTS_TEST_CLUSTERS_H_
#define PLACEWRIGHT_SEARCH_LAYOUTS_TEST_CLUSTERS_H_

#include <gtest/gtest.h>

#include <utility>

#include "cluster/cluster_builder.h"

namespace placewright {

// Two equal devices, a and b, of 100 GFLOP/s, 16 GiB/s and 256 MiB, with a link between them.
inline Cluster TwoDevices(BytesPerSecond bandwidth) {
  ClusterBuilder builder("two");
  DeviceKind model{.name = "K"};
  model.peak.f32 = 1e11;
  model.memory_bandwidth = BytesPerSecond(int64_t{1} << 34);
  const int32_t kind = builder.AddKind(model).Take();
  for (const char* name : {"a", "b"}) {
    (void)builder.AddDevice({.name = name, .kind = kind, .capacity = Bytes(1 << 28)}).Take();
  }
  EXPECT_TRUE(builder.Connect("a", "b", bandwidth, Nanos(10), Duplex::kFull, "").ok());
  return std::move(builder).Build().Take();
}

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_LAYOUTS_TEST_CLUSTERS_H_
