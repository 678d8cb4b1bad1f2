// Random draws by counting (src/compile/counter_draws.h), for LibTorch: library "placewright".
//
//   counter_bernoulli_(self, step, seed, draw, p, place)  1 with probability p, else 0, in place
//   counter_dropout(x, step, seed, draw, p, place)        (x mask / (1 - p), mask), the mask true with
//                                                         probability 1 - p
//
// Element e of the whole tensor, row-major, takes word e mod 4 of Philox (philox.h) with the counter
// (e div 4, draw, step) and the key `seed`; it is drawn where the word is below p 2^32. `place`: empty for all
// of a tensor, else [dimension, outer, size, from, to]: the tensor is [from, to) of the middle factor of a
// dimension of the whole, which is outer * size * inner there. So what a part draws is the part of what the
// whole draws, in every layout and type of numbers. The numbers are drawn on the host.
#ifndef PLACEWRIGHT_RUNTIME_OPS_RANDOM_OPS_H_
#define PLACEWRIGHT_RUNTIME_OPS_RANDOM_OPS_H_

namespace placewright {

// Once in a process; further calls do nothing.
void RegisterRandomOps();

}  // namespace placewright

#endif  // PLACEWRIGHT_RUNTIME_OPS_RANDOM_OPS_H_
