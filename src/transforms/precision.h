// The transform `precision`: parameters and optimizer state in a wider type than the step computes in, as engines train
// in mixed precision (PyTorch's fully_shard with MixedPrecisionPolicy; Micikevicius et al., "Mixed precision training",
// ICLR 2018, sec. 3.1: master weights).
//
//   parameter P, its state            of the type `master`
//   what reads P before the update    reads P.cast, of the type `param`: made once, before all else, by P's group, so that
//                                     devices that have shards of P cast these, and gather what they cast
//   gradient G that the update reads  G.cast, of the type `reduce`, made where G is, so that sums over devices and
//                                     micro-batches are of that type; then G.master, of the type `master`, by P's group
//   the update                        the same ops, of the type `master`
//
// `gradients=kept` says that gradients, in the type of sums, lie in buffers that are there for the whole step, as Megatron-LM's
// do (accumulate_allreduce_grads_in_fp32): no op changes, the step's memory does (sim/memory/device_memory.h).
//
// Casts between equal types are left out. The step computes in `param` already: what it computes in is stated when it is
// recorded, since models choose themselves what stays in 32 bits (norms, softmaxes). Parameters that no update writes stay.
//
// Deviations: PyTorch casts a shard anew for each gather, here what was cast stays until its last reader.
#ifndef PLACEWRIGHT_TRANSFORMS_PRECISION_H_
#define PLACEWRIGHT_TRANSFORMS_PRECISION_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "graph/graph.h"

namespace placewright {

struct PrecisionTypes {
  std::optional<DType> param;   // not stated: what the parameters have
  std::optional<DType> reduce;  // not stated: that of gradients
  DType master = DType::kF32;
  bool keeps_gradients = false;
  std::vector<std::string> modules;  // globs; none: all
};

// Of words "param=bf16", "reduce=f32", "master=f32", "gradients=kept", and globs over modules. Errors: kTransform.
Result<PrecisionTypes> ParsePrecision(const std::vector<std::string>& words);

// nullptr: there is nothing to cast or to keep. Errors: those of ParsePrecision; kTransform for parameters that are computed with in
// another type than `param`, or that a pass writes, for modules without such parameters, and for updates that state types.
// `always`: casts between equal types, too, by which tests show that nothing else changes.
// Complexity: O(ops + edges).
Result<std::unique_ptr<Graph>> WithPrecision(const Graph& step,
                                             const std::vector<std::string>& words,
                                             bool always = false);

// Whether gradients lie in lasting buffers, as the transforms of the step say.
bool KeepsGradients(const Graph& step);

// Whether the op makes G.cast of a gradient G.
bool IsGradientCast(const Op& op);

// The parameter that an op of the step casts into the storage, before anything writes it; invalid: there is none.
StorageId CastParameter(const Graph& step, StorageId storage);

}  // namespace placewright

#endif  // PLACEWRIGHT_TRANSFORMS_PRECISION_H_
