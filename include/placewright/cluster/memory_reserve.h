// Memory of a device that no plan may use. By default every GPU keeps 5% free: PyTorch's caching
// allocator takes blocks of 2 MiB and more from the driver and cannot always give away what lies
// between tensors, so that a step needs more memory than its tensors have bytes. CPUs keep nothing.
// Evidence for the figure: docs/formats/cluster.md, "Memory reserve".
#ifndef PLACEWRIGHT_CLUSTER_MEMORY_RESERVE_H_
#define PLACEWRIGHT_CLUSTER_MEMORY_RESERVE_H_

#include <placewright/base/result.h>
#include <placewright/base/units.h>

#include <cstdint>
#include <optional>

namespace placewright {

class Cluster;

// A number of bytes, or a share of the device's memory; one of the two is 0.
struct MemoryReserve {
  Bytes bytes;
  int32_t millionths = 0;  // of the memory, at most 1,000,000

  friend bool operator==(const MemoryReserve&, const MemoryReserve&) = default;
};

inline constexpr MemoryReserve kDefaultMemoryReserve{.bytes = Bytes(0), .millionths = 50'000};

// In bytes, rounded down.
Bytes ReserveOf(const MemoryReserve& reserve, Bytes memory);

// Gives every GPU `of_each_gpu`, whatever its description states; without it, the default to those
// GPUs whose description states none. Other devices stay as they are. Errors, which leave the
// cluster half changed: kUsage (nothing of a GPU's memory would be left, or there is no GPU to have
// `of_each_gpu`).
Status ApplyMemoryReserve(const std::optional<MemoryReserve>& of_each_gpu, Cluster* cluster);

}  // namespace placewright

#endif  // PLACEWRIGHT_CLUSTER_MEMORY_RESERVE_H_
