// The routes that a topology implies.
#ifndef PLACEWRIGHT_CLUSTER_ROUTES_H_
#define PLACEWRIGHT_CLUSTER_ROUTES_H_

#include <placewright/base/ids.h>

#include <cstdint>
#include <vector>

namespace placewright {

// One direction in which a link can be crossed. A half-duplex link gives two hops.
struct Hop {
  int32_t from = 0, to = 0;  // nodes
  LinkId link;
  int64_t bandwidth = 1;
};

// For one source node, the best path to every node of `targets` (true: wanted): fewest links, then
// largest minimum bandwidth, then lexicographically smallest link ids. Only the source and nodes
// with `forwards` may be left again. An empty list: unreachable, or the source itself.
//
// A shortest path that is widest need not have widest beginnings (its narrowest link may come
// last), so the beginnings are ranked once for each minimum bandwidth that some target attains,
// over the hops that are at least that wide. Each such pass costs hops.size() of `work`, each link
// of a path one; when it falls below 0 the search gives up and returns an empty vector.
std::vector<std::vector<LinkId>> BestPathsFrom(int32_t source, const std::vector<Hop>& hops,
                                               const std::vector<bool>& forwards,
                                               const std::vector<bool>& targets, int64_t& work);

}  // namespace placewright

#endif  // PLACEWRIGHT_CLUSTER_ROUTES_H_
