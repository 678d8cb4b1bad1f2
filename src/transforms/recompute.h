// Activations computed again in the backward pass (activation checkpointing): of a recorded training step one
// that keeps less in memory and computes more.
//
// A region is what PyTorch's torch.utils.checkpoint would be called for: the forward ops of one call of a module.
// What enters it is kept, and so is what it makes for other regions' backward passes. The rest that its backward
// pass reads is made again, with what that needs, as with use_reentrant=False: nothing behind the last that is read
// (early stop). Copies stand directly before the first backward op that reads one of them, in the order of the
// originals, and those that read no other copy wait for what that op's gradients come from (Op::after), so that
// they are not ready before in any order.
//
//   {"layers.*", ...}  every call of a module that a glob matches, of nested ones the outermost
//   {"full"}           the layers (layers.h)
//   {"selective"}      of the layers all but products (of those of matrices every second one), convolutions,
//                      attention in one operator, what collectives return: torchtitan's selective recomputation
//   {"megatron"}       the core of attention: from the product of queries and keys to that with the values, or the
//                      one operator; Megatron-LM's (Korthikanti et al. 2022, "Reducing Activation Recomputation")
//
// Copies are backward ops named "OP@recompute", of the original's module and colocation group, with its arguments:
// a counted draw has its number, so that a mask is the same. A batch norm is copied without its running statistics,
// which the step updates once (PyTorch's checkpoint updates them twice).
#ifndef PLACEWRIGHT_TRANSFORMS_RECOMPUTE_H_
#define PLACEWRIGHT_TRANSFORMS_RECOMPUTE_H_

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "graph/graph.h"

namespace placewright {

// Ops keep names, groups and order; ids move where copies stand between. nullptr where nothing is computed again: no
// backward op reads what the regions make. O(ops + edges + versions).
// Errors: kUnknownName (a glob without a forward op), kTransform (a step without layers or attention; what would be
// computed again writes what is not its own, draws from a generator in sequence, or reads what is overwritten before
// the backward pass), kDuplicateName.
Result<std::unique_ptr<Graph>> WithRecomputation(const Graph& step,
                                                 const std::vector<std::string>& set);

// The op that `op` is a copy of, or none.
OpId RecomputedOp(const Graph& graph, OpId op);

}  // namespace placewright

#endif  // PLACEWRIGHT_TRANSFORMS_RECOMPUTE_H_
