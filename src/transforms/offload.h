// Activations in host memory between the passes: of a recorded training step one that keeps less on the devices that
// compute, and copies more.
//
// A region is one call of a module, as of recompute.h. What its ops make and the backward pass reads is copied to the host
// of the device that made it as soon as it is there ("X@offload"), and back ("X@fetch") for the backward ops, which read
// that copy and views of it in the place of the original. So the device is rid of the original behind its last reader in
// the forward pass.
//
//   when back     one region ahead: with what comes before the first backward op that reads something of the region whose
//                 backward pass comes before
//   how far out   the region behind the next one begins when the copies out are done, so that a slow link holds computing
//                 up, not memory
//   what stays    a region whose backward pass follows directly, unless it is the only one; tensors below 1 KiB, as in
//                 torchtune; what the step returns, or writes again in the backward pass
//
//   {"layers.*", ...}  every call of a module that a glob matches, of nested ones the outermost
//   {"full"}           the layers (layers.h); with activations computed again (recompute.h) what enters each of them
//
// A copy is a clone in the colocation group of what it copies: on one device the step computes the same. Where steps are
// laid out over devices it is no op: pieces cross to the memory of the host and back (compile/step_writer.h).
//
// Sources: torch.autograd.graph.save_on_cpu; torchtune's OffloadActivations, which copies on streams of its own, fetches
// ahead and bounds what is on its way out.
#ifndef PLACEWRIGHT_TRANSFORMS_OFFLOAD_H_
#define PLACEWRIGHT_TRANSFORMS_OFFLOAD_H_

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "graph/graph.h"

namespace placewright {

// Ops keep names, groups and order; ids move where copies stand between. nullptr where nothing is offloaded. O(ops + edges
// + versions). Errors: kUnknownName (a glob without a forward op), kTransform (a step without layers; a word of --recompute),
// kDuplicateName.
Result<std::unique_ptr<Graph>> WithOffloading(const Graph& step,
                                              const std::vector<std::string>& set,
                                              Bytes smallest = Bytes(1024));

enum class HostCopy : uint8_t { kNone, kToHost, kFromHost };
// What the op is of a step with offloading.
HostCopy HostCopyOf(const Op& op);

}  // namespace placewright

#endif  // PLACEWRIGHT_TRANSFORMS_OFFLOAD_H_
