// Random draws that every layout gives alike: of a step that draws from a sequential generator one whose draws
// count (Philox, src/runtime/ops/random_ops.h): element e of draw i of step s is a function of (seed, s, i, e).
// A part of a tensor is then drawn by the device that has it, without asking others, and is the part of what
// one device draws.
//
//   aten.bernoulli_.float                                placewright.counter_bernoulli_
//   aten.bernoulli (of a tensor of probabilities)        placewright.counter_bernoulli_of
//   aten.native_dropout                                  placewright.counter_dropout, in training
//   aten.normal_, uniform_, exponential_, log_normal_,   placewright.counter_draw_
//     cauchy_, geometric_, random_ with bounds
//   aten.rand_like, randn_like, randint_like             placewright.counter_draw_like
//   aten.rand, randn, randint, normal of a size          placewright.counter_draw_new
//
// s is the buffer "buffer:placewright.step" (int64, no dimensions), which the step reads and, as its last
// op, increments: it is set once, and later steps draw other numbers. i counts the draws in the order of the
// file. Draws are no longer ordered among one another. Other ops that draw stay as they are, and one device of
// their layout draws for all (compiler.h): permutations, samples without replacement, distributions of which
// the parameters are tensors, complex numbers, integers without bounds, what a kernel draws inside.
#ifndef PLACEWRIGHT_TRANSFORMS_COUNTER_DRAWS_H_
#define PLACEWRIGHT_TRANSFORMS_COUNTER_DRAWS_H_

#include <cstdint>
#include <memory>

#include "base/result.h"
#include "graph/graph.h"

namespace placewright {

// The reference on one device and what is compiled are the same graph, after this. Every op keeps its id and
// name, every group its ops; the increment comes behind them, in a group of its own. A graph without such
// draws comes back as it is. Errors: kDuplicateName where a tensor or op has one of the new names.
Result<Graph> UseCounterBasedDraws(Graph graph, uint64_t seed);
// The same of a graph that stays; nullptr where it has no such draws.
Result<std::unique_ptr<Graph>> WithCountedDraws(const Graph& graph, uint64_t seed);

}  // namespace placewright

#endif  // PLACEWRIGHT_TRANSFORMS_COUNTER_DRAWS_H_
