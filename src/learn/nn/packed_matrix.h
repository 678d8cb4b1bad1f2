// A matrix that many small products in a row multiply by.
#ifndef PLACEWRIGHT_LEARN_NN_PACKED_MATRIX_H_
#define PLACEWRIGHT_LEARN_NN_PACKED_MATRIX_H_

#include <ATen/core/Tensor.h>

#include <vector>

namespace placewright {

class PackedMatrix {
 public:
  // [K, N], of any strides. Single precision on a CPU is packed for kernels of ours; all else goes
  // to LibTorch.
  explicit PackedMatrix(const at::Tensor& matrix);

  // out [M, N] += x [M, K] matrix. Rows of both lie at any distance, their elements side by side.
  void AddProduct(const at::Tensor& x, at::Tensor out) const;

 private:
  at::Tensor matrix_;
  std::vector<float> packed_;  // empty: LibTorch multiplies
};

// Whether the kernels of ours take tensors like this.
bool HasKernels(const at::Tensor& tensor);

}  // namespace placewright

#endif  // PLACEWRIGHT_LEARN_NN_PACKED_MATRIX_H_
