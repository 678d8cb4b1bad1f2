// Adds the ordinary ops that one part of an op is computed with (internal to rewrites/): all on the part's
// device, with the op's phase, module and origin.
#ifndef PLACEWRIGHT_COMPILE_REWRITES_PART_WRITER_H_
#define PLACEWRIGHT_COMPILE_REWRITES_PART_WRITER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "compile/emitter.h"
#include "compile/tensor_state.h"

namespace placewright {

// An op of the original step, and what each of its parts reads.
struct OpInParts {
  const Graph& graph;
  OpId op;
  std::vector<DeviceId> devices;            // of the parts, in their order
  std::vector<std::vector<TensorId>> read;  // by part, parallel to the op's inputs
};
// By part, parallel to the op's outputs; invalid: not read.
using MadeInParts = std::vector<std::vector<TensorId>>;

// One call. Without `args` these are the inputs.
struct PlainOp {
  std::string type;
  std::vector<TensorId> inputs;
  std::vector<Value> args;
  std::vector<NamedValue> attributes;
  AliasKind alias = AliasKind::kFresh;  // of the first input
  bool kernel = false;  // a GPU has a kernel for it, and for the ops of the part that have none
};

class PartWriter {
 public:
  PartWriter(Emitter& emitter, const OpInParts& op, size_t part)
      : emitter_(emitter), op_(op), part_(part) {}

  DeviceId device() const { return op_.devices[part_]; }
  // What the part reads as an input of the op; invalid where there is none.
  TensorId Read(int32_t input) const {
    return input < 0 ? TensorId() : op_.read[part_][static_cast<size_t>(input)];
  }
  const std::vector<int64_t>& shape(TensorId id) const { return emitter_.shape(id); }
  DType dtype(TensorId id) const { return emitter_.dtype(id); }

  TensorId Add(PlainOp call, std::vector<int64_t> shape, DType dtype);
  // Several results: shape, dtype and output_index of `outputs`. `main`: it has the op's own name.
  std::vector<TensorId> AddAll(PlainOp call, std::vector<OutputSpec> outputs, bool main = false);
  // In place on the first input.
  TensorId Write(PlainOp call);

  // The same where it has that dtype already.
  TensorId Cast(TensorId id, DType dtype);
  // [from, to) of a vector, and of the columns of a matrix: views.
  TensorId Slice(TensorId id, int64_t from, int64_t to);
  // A vector [c] as [c 1 1 ...], which is broadcast to a tensor [n c ...] of that rank: a view, of a copy where
  // the vector is another device's, since views are where their storage is.
  TensorId PerChannel(TensorId id, size_t rank);
  // Vectors, one behind the other.
  TensorId Join(std::vector<TensorId> vectors);

 private:
  TensorId Copy(TensorId id, DType dtype);

  Emitter& emitter_;
  const OpInParts& op_;
  const size_t part_;
};

// On the device of every piece: the sum of all of them, or all of them joined in their order along the axis at `place`,
// of which each has one. `collectives`: as CompileOptions has it.
std::vector<TensorId> SumOnAll(Emitter& emitter, const std::vector<Piece>& pieces,
                               bool collectives);
std::vector<TensorId> JoinOnAll(Emitter& emitter, const std::vector<Piece>& pieces,
                                const AxisPlace& place, bool collectives);

// A 16-bit type is too coarse for sums.
DType DTypeOfSums(DType dtype);

}  // namespace placewright

#endif  // PLACEWRIGHT_COMPILE_REWRITES_PART_WRITER_H_
