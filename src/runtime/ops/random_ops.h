// Random draws by counting (src/transforms/counter_draws.h), for LibTorch: library "placewright".
//
//   counter_bernoulli_(self, step, seed, draw, p, place)  1 with probability p, else 0, in place
//   counter_bernoulli_of(p, step, seed, draw, place)      the same, of the probability of each element
//   counter_dropout(x, step, seed, draw, p, place)        (x mask / (1 - p), mask), the mask true with
//                                                         probability 1 - p
//   counter_draw_(self, step, seed, draw, distribution, first, second, place)      in place
//   counter_draw_like(x, ..., place, dtype, memory_format)                         of the size of x
//   counter_draw_new(size, ..., place, dtype, device)
//
// Element e of the whole tensor, row-major, takes word w = e mod 4 of Philox (philox.h) with the counter
// (e div 4, draw, step) and the key `seed`; it is 1 where the word is below p 2^32. Of a distribution, with
// u = (w + 1/2) / 2^32:
//   uniform(a, b)       a + (b - a) v, v the first 24 bits of w (f16: 11, bf16: 8) as a fraction
//   exponential(a)      -log(u) / a
//   cauchy(a, b)        a + b tan(pi (u - 1/2))
//   geometric(a)        max(1, ceil(log(u) / log(1 - a)))
// and of two words w1, w2, those at 2 (e mod 2) with the counter e div 2 in the place of e div 4:
//   normal(a, b)        a + b sqrt(-2 log(u1)) cos(2 pi w2 / 2^32)      (Box, Muller 1958)
//   log_normal(a, b)    exp(normal(a, b))
//   integers(a, b)      a + floor((w1 2^32 + w2) (b - a) / 2^64)
// computed in double precision. `place`: empty for all
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
