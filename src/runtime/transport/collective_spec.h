// What a collective does, as each of its members states it.
#ifndef PLACEWRIGHT_RUNTIME_TRANSPORT_COLLECTIVE_SPEC_H_
#define PLACEWRIGHT_RUNTIME_TRANSPORT_COLLECTIVE_SPEC_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace placewright {

struct CollectiveSpec {
  enum class Kind : uint8_t {
    // Every member gives a tensor of one shape and gets their sum: the first member's, then the
    // others added one after the other, so that all hold equal bits.
    kAllReduce,
    // Every member gives its part of a tensor and gets all of it.
    kAllGather,
    // Every member gives a tensor of one shape and gets its part of their sum, added up as above.
    kReduceScatter,
    // One member, the root, gives a tensor and gets none; the others get it and give none.
    kBroadcast,
    // Every member gives its part of a tensor along one axis and gets its part along another one.
    kAllToAll
  };
  // [from, to) of an axis.
  struct Part {
    int64_t from = 0, to = 0;
    friend bool operator==(const Part&, const Part&) = default;
  };

  Kind kind = Kind::kAllReduce;
  std::string name;              // where members meet: at one time one collective has it
  std::vector<int32_t> members;  // ranks, distinct, at least one
  // Of kAllGather, kReduceScatter and kAllToAll: `dimension` of the whole tensor has outer * size * inner
  // elements, and the axis is the middle factor. Parts are by member; in some order they follow one another
  // from 0 to `size`. Of kAllToAll these are what members give, of what any of them gets; `outer` says nothing.
  int32_t dimension = 0;
  int64_t outer = 1, size = 1;
  std::vector<Part> parts;
  // Of kAllToAll, by member: `taken` is what it gets of all that is given, along the axis of `taken_size` in
  // `taken_dimension`. `outers`: outer of the first axis in what it gets; `taken_outers`: of the second in what
  // it gives.
  int32_t taken_dimension = 0;
  int64_t taken_size = 1;
  std::vector<Part> taken;
  std::vector<int64_t> outers, taken_outers;
  int32_t root = -1;  // of kBroadcast: its rank, one of the members
  // Of a collective of several tensors each one's, of the same kind and members; else none. Members then give and get
  // as many tensors.
  std::vector<CollectiveSpec> tensors;

  friend bool operator==(const CollectiveSpec&, const CollectiveSpec&) = default;
};

std::string_view ToString(CollectiveSpec::Kind kind);  // "all-reduce", "all-gather", ...

}  // namespace placewright

#endif  // PLACEWRIGHT_RUNTIME_TRANSPORT_COLLECTIVE_SPEC_H_
