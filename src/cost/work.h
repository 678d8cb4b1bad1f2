// How much arithmetic and memory traffic an op asks for, whatever device runs it.
#ifndef PLACEWRIGHT_COST_WORK_H_
#define PLACEWRIGHT_COST_WORK_H_

#include <cstdint>
#include <string_view>

#include "base/units.h"
#include "graph/graph.h"

namespace placewright {

// Efficiency tables have one row per class and architecture.
enum class OpClass : uint8_t {
  kView,           // free
  kGemm,           // mm, addmm, bmm, Gemm, MatMul, Einsum
  kGemv,           // mv and matrix products with one row: bound by bandwidth
  kConvDense,      // convolutions that no fast algorithm shortens
  kConvWinograd,   // 3x3 or 5x5, stride 1, dilation 1, ungrouped, 16 channels or more
  kConvPointwise,  // 1x1
  kConvDepthwise,  // fewer than 4 channels a group
  kRecurrent,      // LSTM, GRU, RNN as one op
  kNormalization,  // batch, layer, group norm, softmax, log-softmax
  kPooling,
  kReduction,
  kElementwise,
  kDataMovement,  // copies, concatenation, gathers, embeddings, padding
  kCreation,      // zeros, empty, arange, constants
  kRandom,        // bernoulli_, dropout masks
  kOther          // unknown: costed by bytes and listed as modelled by bytes
};
inline constexpr size_t kOpClassCount = 16;
std::string_view ToString(OpClass op_class);  // "gemm", "conv-winograd", ...

struct Work {
  OpClass op_class = OpClass::kOther;
  int64_t macs = 0;  // multiply-accumulates as the index of public figures counts them
  double flops = 0;  // arithmetic that the device performs (2 * macs for products, and others)
  Bytes bytes_read;
  Bytes bytes_written;
  int64_t depth = 0;  // steps of the longest sum that one output waits for (k of a product)
  Bytes workspace;    // scratch memory
  bool known = true;  // false: no row in the table for this op type
};

// Work of one op. Never fails: an unknown type gives kOther with its bytes, known = false.
Work WorkOf(const Graph& graph, OpId op);
Work WorkOf(const Graph& graph, const Op& op);  // whose tensors are the graph's

// The dtype in which an op computes: of its first floating-point tensor (inputs first); without
// one, of its first tensor. It decides the peak rate.
DType ComputeDType(const Graph& graph, OpId op);

}  // namespace placewright

#endif  // PLACEWRIGHT_COST_WORK_H_
