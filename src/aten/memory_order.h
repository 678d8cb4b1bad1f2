// In which order the dimensions of a tensor lie in memory. Operators make their results in the order of what they
// read (a transposed tensor plus a number is a transposed tensor), and views that a step takes of them fit that order
// alone: what moves, joins and sums parts of tensors keeps it.
#ifndef PLACEWRIGHT_ATEN_MEMORY_ORDER_H_
#define PLACEWRIGHT_ATEN_MEMORY_ORDER_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace placewright {

// Strides of a tensor of `shape` without gaps, in the order of `like`, which has as many dimensions. A dimension of
// which `like` has one element, or one for all places, says nothing: it stays where it is among the others.
std::vector<int64_t> StridesInOrderOf(at::IntArrayRef shape, const at::Tensor& like);
// An uninitialised one, on the device of `like`.
at::Tensor EmptyInOrderOf(at::IntArrayRef shape, const at::Tensor& like);

// Dimension `at` of `tensor`, which has outer * length * inner elements, as three dimensions: a view, whatever its
// strides.
at::Tensor WithFactorsOf(const at::Tensor& tensor, int64_t at, int64_t outer, int64_t length);

// [from, to) of the middle factor of a dimension that is outer * size * inner, in the tensor's order.
at::Tensor PartInOrder(const at::Tensor& whole, int64_t dimension, int64_t outer, int64_t size,
                       int64_t from, int64_t to);

}  // namespace placewright

#endif  // PLACEWRIGHT_ATEN_MEMORY_ORDER_H_
