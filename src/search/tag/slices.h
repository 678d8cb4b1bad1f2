// What a search over strategies chooses among for a unit of ops: a slice of a strategy (Zhang et al., TAG, sec. 4.2.1),
// which is a set of device groups and a way to use it.
//
//   even, by speed           the batch shared out, gradients by AllReduce
//   servers, even, by speed  the same, every parameter on one device of the set in turn, in the order of their ids
//   copies                   everything on every device
//   model-parallel           whole ops, cut into one part a device by METIS, with parts of time in proportion to speed
//   place                    everything on the first device of a group; of a set of one device there is nothing else
//
// Sets: of up to seven groups every subset; of more at most 256 of them: single groups; all of some kinds of device;
// all of a machine; from the fastest on, one more at a time; and grown from each group by the group with the most
// bandwidth to what is there.
//
// Deviations: the paper has four options for every set of several groups and one for a group alone; here a group of
// several devices has all options, as it can be used in all ways. Shares by speed are ours: the paper says that its
// strategies lack them. Of parameters on several groups, and of model parallelism there, it says nothing.
#ifndef PLACEWRIGHT_SEARCH_TAG_SLICES_H_
#define PLACEWRIGHT_SEARCH_TAG_SLICES_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "cluster/cluster.h"
#include "search/layouts/layout_devices.h"

namespace placewright {

enum class SliceOption : uint8_t {
  kPlace,
  kEven,
  kBySpeed,
  kEvenServers,
  kServersBySpeed,
  kCopies,
  kModelParallel
};
std::string_view ToString(SliceOption option);  // "place", "even", ...
inline bool HasServers(SliceOption option) {
  return option == SliceOption::kEvenServers || option == SliceOption::kServersBySpeed;
}

struct Slice {
  std::vector<int32_t> groups;    // of devices, ascending
  std::vector<DeviceId> devices;  // ascending
  SliceOption option = SliceOption::kPlace;
  std::vector<int64_t> shares;  // of the batch, for each device, where it is shared out
};

struct SliceOptions {
  bool by_speed = true;       // whether there are shares by speed
  bool copies = true;         // the authors' code has none
  size_t all_subsets = 7;     // up to so many device groups every subset
  size_t most_subsets = 256;  // of more
};

// Sets of device groups, each ascending, without doubles; the set of all is the first. `groups`: at least one, none
// empty.
std::vector<std::vector<int32_t>> SetsOfGroups(const Cluster& cluster,
                                               const std::vector<std::vector<DeviceId>>& groups,
                                               const DeviceTimes& times,
                                               const SliceOptions& options);

// `samples`: in so many parts the batch can be cut; where a set has more devices, the fastest of them have one each, as for
// data parallelism (search/layouts/data_parallel.h).
std::vector<Slice> MakeSlices(const Cluster& cluster,
                              const std::vector<std::vector<DeviceId>>& groups,
                              const DeviceTimes& times, int64_t samples,
                              const SliceOptions& options);

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_TAG_SLICES_H_
