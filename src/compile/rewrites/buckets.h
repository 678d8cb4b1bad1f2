// Which all-reduces of gradients are joined (internal to rewrites/).
#ifndef PLACEWRIGHT_COMPILE_REWRITES_BUCKETS_H_
#define PLACEWRIGHT_COMPILE_REWRITES_BUCKETS_H_

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "graph/graph.h"

namespace placewright {

// An all-reduce for which nothing but updates waits. Places count the step's ops in its order.
struct GradientSum {
  CollectiveId id;
  int32_t ready =
      -1;             // of the last op that makes one of its inputs; -1: all are inputs of the step
  int32_t first = 0;  // of the first of its members
  Bytes bytes;
  DType dtype = DType::kF32;
  std::vector<DeviceId> devices;  // of its members, in their order
};

struct SumBucket {
  std::vector<GradientSum> sums;
  int32_t at = 0;  // where it stands: the first member of all
  int32_t ready = -1;
  Bytes bytes;
};

// Buckets of two or more, of at most `limit` bytes each, of sums of one type over the same devices: what all of
// them read is there at the first of their members. In the order in which they get ready; a sum joins the bucket
// before it or, of kAllTogether, any.
std::vector<SumBucket> FormBuckets(std::vector<GradientSum> sums, Bytes limit);

}  // namespace placewright

#endif  // PLACEWRIGHT_COMPILE_REWRITES_BUCKETS_H_
