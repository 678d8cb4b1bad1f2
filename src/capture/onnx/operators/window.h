// The geometry of a window that slides over the spatial dimensions of [N, C, D1, ...]: what
// convolutions and pooling have in common.
#ifndef PLACEWRIGHT_CAPTURE_ONNX_OPERATORS_WINDOW_H_
#define PLACEWRIGHT_CAPTURE_ONNX_OPERATORS_WINDOW_H_

#include "capture/onnx/node_call.h"

namespace placewright::lowering {

struct Window {
  Ints kernel, stride, dilation;
  Ints begin, end;  // padding before and behind, by dimension; may be negative

  size_t rank() const { return kernel.size(); }
  int64_t CandidateScope(size_t d) const { return dilation[d] * (kernel[d] - 1) + 1; }
  // The same padding on both sides of every dimension, none negative.
  bool Symmetric() const;
};

// Reads kernel_shape (or takes `kernel`), strides, dilations, and pads or auto_pad, which needs the
// input's sizes. Refuses kernels, strides and dilations below 1 and lists of another length.
Window ReadWindow(const NodeCall& call, const at::Tensor& input, std::optional<Ints> kernel);

// The tensor with `begin` and `end` elements of `value` around its last dimensions.
at::Tensor PadSpatial(const at::Tensor& input, const Ints& begin, const Ints& end, double value);

}  // namespace placewright::lowering

#endif  // PLACEWRIGHT_CAPTURE_ONNX_OPERATORS_WINDOW_H_
