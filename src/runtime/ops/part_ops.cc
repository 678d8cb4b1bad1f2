#include "runtime/ops/part_ops.h"

#include <ATen/ATen.h>
#include <torch/library.h>

#include <vector>

namespace placewright {
namespace {

// The shape with dimension `at` replaced by `sizes`.
std::vector<int64_t> WithFactors(at::IntArrayRef shape, int64_t at,
                                 const std::vector<int64_t>& sizes) {
  std::vector<int64_t> factors = shape.vec();
  const auto place = factors.begin() + at;
  factors.insert(factors.erase(place), sizes.begin(), sizes.end());
  return factors;
}

at::Tensor Split(const at::Tensor& x, int64_t dimension, int64_t outer, int64_t size, int64_t from,
                 int64_t to) {
  const int64_t inner = x.size(dimension) / (outer * size);
  at::Tensor part = x.reshape(WithFactors(x.sizes(), dimension, {outer, size, inner}))
                        .narrow(dimension + 1, from, to - from);
  const std::vector<int64_t> shape =
      WithFactors(x.sizes(), dimension, {outer * (to - from) * inner});
  return part.clone(at::MemoryFormat::Contiguous).view(shape);
}

at::Tensor Concat(at::TensorList parts, int64_t dimension, int64_t outer) {
  std::vector<at::Tensor> factors;
  int64_t length = 0;
  for (const at::Tensor& part : parts) {
    const int64_t own = part.size(dimension) / outer;
    factors.push_back(part.reshape(WithFactors(part.sizes(), dimension, {outer, own})));
    length += own;
  }
  return at::cat(factors, dimension + 1)
      .contiguous()
      .view(WithFactors(parts[0].sizes(), dimension, {outer * length}));
}

at::Tensor AddN(at::TensorList parts) {
  at::Tensor sum = parts[0].clone(at::MemoryFormat::Contiguous);
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
