#include "learn/nn/packed_matrix.h"

#include <ATen/ATen.h>

#include "base/check.h"
#include "learn/nn/kernels/kernels.h"

namespace placewright {

bool HasKernels(const at::Tensor& tensor) {
  return tensor.is_cpu() && tensor.scalar_type() == at::kFloat;
}

PackedMatrix::PackedMatrix(const at::Tensor& matrix) : matrix_(matrix.detach()) {
  if (!HasKernels(matrix_)) return;
  const auto* const data = matrix_.data_ptr<float>();
  const int64_t row = matrix_.stride(0), column = matrix_.stride(1);
  packed_ = kernels::Pack(matrix_.size(0), matrix_.size(1),
                          [&](int64_t k, int64_t n) { return data[k * row + n * column]; });
}

void PackedMatrix::AddProduct(const at::Tensor& x, at::Tensor out) const {
  if (packed_.empty()) {
    out.addmm_(x, matrix_);
    return;
  }
  PW_CHECK(x.size(1) == matrix_.size(0) && out.size(1) == matrix_.size(1));
  PW_CHECK(x.stride(1) == 1 && out.stride(1) == 1 && x.size(0) == out.size(0));
  kernels::AddPackedProduct(x.data_ptr<float>(), x.stride(0), x.size(0), packed_.data(), x.size(1),
                            out.size(1), out.data_ptr<float>(), out.stride(0));
}

}  // namespace placewright
