#include "runtime/ops/part_ops.h"

#include <ATen/ATen.h>
#include <torch/library.h>

#include <vector>

#include "aten/memory_order.h"

namespace placewright {
namespace {

at::Tensor Split(const at::Tensor& x, int64_t dimension, int64_t outer, int64_t size, int64_t from,
                 int64_t to) {
  return PartInOrder(x, dimension, outer, size, from, to);
}

// The longest part says most about the order: where a dimension is of 1, it lies anywhere.
at::Tensor Concat(at::TensorList parts, int64_t dimension, int64_t outer) {
  const at::Tensor* longest = &parts.front();
  int64_t length = 0;
  for (const at::Tensor& part : parts) {
    length += part.size(dimension) / outer;
    if (part.size(dimension) > longest->size(dimension)) longest = &part;
  }
  std::vector<int64_t> shape = parts[0].sizes().vec();
  shape[static_cast<size_t>(dimension)] = outer * length;
  const at::Tensor whole = EmptyInOrderOf(shape, *longest);
  const at::Tensor factors = WithFactorsOf(whole, dimension, outer, length);
  int64_t from = 0;
  for (const at::Tensor& part : parts) {
    const int64_t own = part.size(dimension) / outer;
    factors.narrow(dimension + 1, from, own).copy_(WithFactorsOf(part, dimension, outer, own));
    from += own;
  }
  return whole;
}

at::Tensor AddN(at::TensorList parts) {
  at::Tensor sum = parts[0].clone();
  for (size_t i = 1; i < parts.size(); ++i) sum.add_(parts[i]);
  return sum;
}

at::Tensor Pack(at::TensorList parts) {
  std::vector<at::Tensor> flat;
  for (const at::Tensor& part : parts) flat.push_back(part.reshape({-1}));
  return at::cat(flat);
}

at::Tensor Unpack(const at::Tensor& buffer, int64_t begin, at::IntArrayRef shape) {
  int64_t length = 1;
  for (const int64_t size : shape) length *= size;
  return buffer.narrow(0, begin, length).view(shape);
}

}  // namespace

void RegisterPartOps() {
  static const auto* const registered = [] {
    auto* const library =
        new torch::Library(torch::Library::DEF, "placewright", c10::nullopt, __FILE__, __LINE__);
    library->def(
        "split(Tensor x, int dimension, int outer, int size, int begin, int end) -> Tensor");
    library->def("concat(Tensor[] parts, int dimension, int outer) -> Tensor");
    library->def("add_n(Tensor[] parts) -> Tensor");
    library->def("pack(Tensor[] parts) -> Tensor");
    library->def("unpack(Tensor(a) buffer, int begin, int[] shape) -> Tensor(a)");
    auto* const kernels =
        new torch::Library(torch::Library::IMPL, "placewright",
                           c10::DispatchKey::CompositeExplicitAutograd, __FILE__, __LINE__);
    kernels->impl("split", Split);
    kernels->impl("concat", Concat);
    kernels->impl("add_n", AddN);
    kernels->impl("pack", Pack);
    kernels->impl("unpack", Unpack);
    return library;
  }();
  (void)registered;
}

}  // namespace placewright
