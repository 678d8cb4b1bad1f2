// Dense layers a few numbers wide, for many rows: what Placeto's network is made of. Matrix products
// of LibTorch or a BLAS cost more to call than these take.
//
// Sums run over the inputs, or over the rows, in their order, without fused multiply-adds, in as many
// columns at a time as the processor can: results are the same on every machine.
#ifndef PLACEWRIGHT_PLACETO_NETWORK_KERNELS_H_
#define PLACEWRIGHT_PLACETO_NETWORK_KERNELS_H_

#include <cstdint>

namespace placewright {

// Widths of rows in memory are multiples of this; what is beyond a row's numbers is 0.
inline constexpr int32_t kDenseLanes = 8;
constexpr int32_t PaddedWidth(int32_t width) {
  return (width + kDenseLanes - 1) / kDenseLanes * kDenseLanes;
}

// y [rows, columns] = x [rows, depth] w [depth, columns] + b, of which what is negative becomes 0
// where `relu`. Rows of x and y lie their strides apart, those of w `columns`, a padded width. b may
// be nullptr.
struct DenseShape {
  int64_t rows = 0;
  int32_t depth = 0, columns = 0, x_stride = 0, y_stride = 0;
};
template <class Real>
void Dense(const DenseShape& shape, const Real* x, const Real* w, const Real* b, bool relu,
           Real* y);

// dw [depth, columns] += x^T dy and db [columns] += the sum of dy's rows.
template <class Real>
void DenseGradient(const DenseShape& shape, const Real* x, const Real* dy, Real* dw, Real* db);

// dy where y is positive, elsewhere 0; `count` numbers.
template <class Real>
void MaskGradient(int64_t count, const Real* y, Real* dy);

}  // namespace placewright

#endif  // PLACEWRIGHT_PLACETO_NETWORK_KERNELS_H_
