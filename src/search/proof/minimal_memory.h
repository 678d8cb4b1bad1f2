// What single colocation groups need on whatever device they lie, and the words for it.
#ifndef PLACEWRIGHT_SEARCH_PROOF_MINIMAL_MEMORY_H_
#define PLACEWRIGHT_SEARCH_PROOF_MINIMAL_MEMORY_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "search/problem/problem.h"

namespace placewright {

// What any device needs at least to run a group.
struct MinMemory {
  int64_t bytes = 0;  // persistent + one op's inputs and outputs + largest workspace
  ExecOpId op;        // with the largest need, or none
};

// Bytes that one exec op of `group` reads and makes, by storage; what persists in the group left
// out.
std::map<StorageId, int64_t> WorkingSet(const Problem& problem, ColocationGroupId group,
                                        ExecOpId op);

using GroupMemory = IdVector<ColocationGroupId, MinMemory>;

// O(edges log edges).
GroupMemory MinMemoryOfGroups(const Problem& problem);

// "1.5 KiB (1,536 B)"; "512 B" below a KiB.
std::string FormatSize(int64_t bytes);
// ", keeping 614.4 MiB (644,245,094 B) in reserve", or "" where the device keeps none.
std::string KeptInReserve(const Problem& problem, DeviceId device);

// "the colocation group of op NAME (3 ops)"
std::string GroupName(const Problem& problem, ColocationGroupId group);

// "; the largest indivisible group is ... with SIZE", or "" without groups.
std::string LargestGroup(const Problem& problem, const GroupMemory& minimal);

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_PROOF_MINIMAL_MEMORY_H_
