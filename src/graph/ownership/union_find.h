// Disjoint sets of dense ids; the representative of a set is its smallest member.
#ifndef PLACEWRIGHT_GRAPH_OWNERSHIP_UNION_FIND_H_
#define PLACEWRIGHT_GRAPH_OWNERSHIP_UNION_FIND_H_

#include <algorithm>

#include "base/ids.h"

namespace placewright {

template <class IdType>
class UnionFind {
 public:
  explicit UnionFind(size_t size) : parent_(size) {
    for (IdType id : IdRange<IdType>(size)) parent_[id] = id;
  }

  IdType Find(IdType id) {
    while (parent_[id] != id) {
      parent_[id] = parent_[parent_[id]];  // path halving
      id = parent_[id];
    }
    return id;
  }

  // O(log n) amortised: the larger root hangs below the smaller, paths are halved.
  void Join(IdType a, IdType b) {
    a = Find(a);
    b = Find(b);
    parent_[std::max(a, b)] = std::min(a, b);
  }

 private:
  IdVector<IdType, IdType> parent_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_GRAPH_OWNERSHIP_UNION_FIND_H_
