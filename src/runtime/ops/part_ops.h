// The operators that compiled steps are put together with (src/compile/rewrites/), for LibTorch: library
// "placewright".
//
// Results lie in memory in the order of what they are made of (aten/memory_order.h), but for those of a buffer.
//
//   split(x, dimension, outer, size, from, to)  [from, to) of the middle factor of a dimension that is
//                                               outer * size * inner
//   concat(parts, dimension, outer)             the inverse, of parts that follow one another
//   add_n(parts)                                their sum, from the first on
//   pack(parts)                                 their elements behind one another, in one dimension
//   unpack(buffer, from, shape)                 a view of elements of it, from there on
#ifndef PLACEWRIGHT_RUNTIME_OPS_PART_OPS_H_
#define PLACEWRIGHT_RUNTIME_OPS_PART_OPS_H_

namespace placewright {

// Once in a process; further calls do nothing.
void RegisterPartOps();

}  // namespace placewright

#endif  // PLACEWRIGHT_RUNTIME_OPS_PART_OPS_H_
