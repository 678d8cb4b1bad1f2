// What every tensor of a compiled step holds of the original, from its inputs on (internal to the checker).
//
// A tensor of the step names a part of a tensor of the original; what it holds there is that of its storage's
// content: which version of the original's storage, all of it or shares of a sum.
#ifndef CHECK_PLAN_DISTRIBUTED_CONTENTS_H_
#define CHECK_PLAN_DISTRIBUTED_CONTENTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "check_plan/distributed/held.h"
#include "graph/graph.h"
#include "plan/distributed_step.h"

namespace placewright::check {

class Contents {
 public:
  // Both outlive it. The step's inputs are set, as they are said to be.
  Contents(const Graph& original, const DistributedStep& step);

  // A part of an input that does not fit it, an input without a piece.
  MaybeViolation CheckInputs() const;

  Held Read(OpId op, size_t input) const;
  Held At(TensorId tensor, int32_t version) const;
  // At the end of the step.
  Held Last(TensorId tensor) const;

  // An output in a storage of its own.
  void SetFresh(TensorId output, const Held& value);
  // An output in the storage of an input: the content stays, or `op` has written another one.
  // A view of a tensor of a buffer is in its place, too.
  void SetName(TensorId output, TensorId original, const Part& part, TensorId shared);
  // The output is one of a buffer's tensors.
  void SetPlace(TensorId output, int32_t place) { names_[output] = {TensorId(), {}, place}; }
  // The output is between the ops of a norm in parts (norms/norm_check.h), until it is set otherwise.
  void SetInner(TensorId output);
  // A view of what is between them holds a tensor of its own.
  void SetAmong(TensorId output, const Held& value);
  // Several tensors behind one another, as a content.
  Content AddBuffer(std::vector<Held> tensors);
  const std::vector<Held>& BufferOf(const Content& content) const {
    return buffers_[static_cast<size_t>(content.buffer)];
  }
  // What an op has written: of a buffer the tensor in that place.
  void SetWritten(OpId op, TensorId written, const Content& content);

  // The first tensor of the original with the same bytes, seen in the same shape; what is copied to the host and back is
  // what it copies.
  TensorId Same(TensorId original) const { return same_[original]; }
  // The version of Same's storage that is due where an op of the original reads the tensor at `version`.
  int32_t DueVersion(TensorId original, int32_t version) const;
  // The version that an op of the original makes of a storage; -1: none.
  int32_t VersionBy(OpId original, StorageId storage) const;
  // The tensor is all of its storage.
  bool Covers(TensorId original) const;
  // Both parts of a tensor of the original and of the step have the same sizes.
  bool Fits(TensorId original, const Part& part, TensorId piece) const;

 private:
  struct Name {
    TensorId tensor;
    Part part;
    int32_t place = -1;  // in a buffer
    bool inner = false;
  };
  void FindCopied();
  void FindSame();
  static Held Placed(Held held);

  const Graph& original_;
  const DistributedStep& step_;
  IdVector<StorageId, StorageId> copied_;  // of the original: what a copy holds, else itself
  IdVector<TensorId, TensorId> same_;
  IdVector<TensorId, Name> names_;
  IdVector<StorageId, std::vector<Content>> contents_;  // by version
  std::vector<std::vector<Held>> buffers_;
};

}  // namespace placewright::check

#endif  // CHECK_PLAN_DISTRIBUTED_CONTENTS_H_
