#include "placeto/network/kernels.h"

#include <algorithm>
#include <cstring>

namespace placewright {
namespace {

#define PW_INLINE inline __attribute__((always_inline))

// A vector of the compiler's own (GCC and Clang), as wide as kDenseLanes whatever the processor has.
// No function takes or returns one by value: without the instructions these have no calling
// convention.
template <class Real>
struct Lanes {
  typedef Real Vector __attribute__((vector_size(sizeof(Real) * kDenseLanes)));
};

template <class Vector, class Real>
PW_INLINE void Load(Vector& to, const Real* from) {
  std::memcpy(&to, from, sizeof(Vector));
}
template <class Vector, class Real>
PW_INLINE void Store(const Vector& from, Real* to) {
  std::memcpy(to, &from, sizeof(Vector));
}

// kRows rows of y, kVectors vectors of their columns.
template <class Real, int kRows, int kVectors>
PW_INLINE void DenseBlock(const DenseShape& s, const Real* x, const Real* w, const Real* b,
                          bool relu, Real* y) {
  using Vector = typename Lanes<Real>::Vector;
  Vector sums[kRows][kVectors];
  for (int v = 0; v < kVectors; ++v) {
    Vector first = {};
    if (b != nullptr) Load(first, b + v * kDenseLanes);
    for (int r = 0; r < kRows; ++r) sums[r][v] = first;
  }
  for (int32_t k = 0; k < s.depth; ++k) {
    Vector row[kVectors];
    for (int v = 0; v < kVectors; ++v) Load(row[v], w + k * s.columns + v * kDenseLanes);
    for (int r = 0; r < kRows; ++r) {
      const Real of_row = x[r * s.x_stride + k];
      for (int v = 0; v < kVectors; ++v) sums[r][v] += of_row * row[v];
    }
  }
  const Vector zero = {};
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) {
      if (relu) sums[r][v] = sums[r][v] > zero ? sums[r][v] : zero;
      Store(sums[r][v], y + r * s.y_stride + v * kDenseLanes);
    }
  }
}

template <class Real, int kVectors>
PW_INLINE void DenseColumns(const DenseShape& s, const Real* x, const Real* w, const Real* b,
                            bool relu, Real* y) {
  constexpr int kRows = 4;
  int64_t row = 0;
  for (; row + kRows <= s.rows; row += kRows) {
    DenseBlock<Real, kRows, kVectors>(s, x + row * s.x_stride, w, b, relu, y + row * s.y_stride);
  }
  for (; row < s.rows; ++row) {
    DenseBlock<Real, 1, kVectors>(s, x + row * s.x_stride, w, b, relu, y + row * s.y_stride);
  }
}

template <class Real>
PW_INLINE void DenseAll(const DenseShape& s, const Real* x, const Real* w, const Real* b, bool relu,
                        Real* y) {
  constexpr int kVectors = 2;
  int32_t column = 0;
  const auto bias = [&] { return b == nullptr ? nullptr : b + column; };
  for (; column + kVectors * kDenseLanes <= s.columns; column += kVectors * kDenseLanes) {
    DenseColumns<Real, kVectors>(s, x, w + column, bias(), relu, y + column);
  }
  if (column < s.columns) DenseColumns<Real, 1>(s, x, w + column, bias(), relu, y + column);
}

// kInputs rows of dw, kVectors vectors of their columns.
template <class Real, int kInputs, int kVectors>
PW_INLINE void GradientBlock(const DenseShape& s, const Real* x, const Real* dy, Real* dw) {
  using Vector = typename Lanes<Real>::Vector;
  Vector sums[kInputs][kVectors] = {};
  for (int64_t r = 0; r < s.rows; ++r) {
    Vector of_row[kVectors];
    for (int v = 0; v < kVectors; ++v) Load(of_row[v], dy + r * s.y_stride + v * kDenseLanes);
    for (int i = 0; i < kInputs; ++i) {
      const Real input = x[r * s.x_stride + i];
      for (int v = 0; v < kVectors; ++v) sums[i][v] += input * of_row[v];
    }
  }
  for (int i = 0; i < kInputs; ++i) {
    for (int v = 0; v < kVectors; ++v) {
      Vector total;
      Real* const at = dw + i * s.columns + v * kDenseLanes;
      Load(total, at);
      total += sums[i][v];
      Store(total, at);
    }
  }
}

template <class Real, int kVectors>
PW_INLINE void GradientColumns(const DenseShape& s, const Real* x, const Real* dy, Real* dw,
                               Real* db) {
  using Vector = typename Lanes<Real>::Vector;
  constexpr int kInputs = 4;
  int32_t input = 0;
  for (; input + kInputs <= s.depth; input += kInputs) {
    GradientBlock<Real, kInputs, kVectors>(s, x + input, dy, dw + input * s.columns);
  }
  for (; input < s.depth; ++input) {
    GradientBlock<Real, 1, kVectors>(s, x + input, dy, dw + input * s.columns);
  }
  Vector sums[kVectors] = {};
  for (int64_t r = 0; r < s.rows; ++r) {
    for (int v = 0; v < kVectors; ++v) {
      Vector of_row;
      Load(of_row, dy + r * s.y_stride + v * kDenseLanes);
      sums[v] += of_row;
    }
  }
  for (int v = 0; v < kVectors; ++v) {
    Vector total;
    Load(total, db + v * kDenseLanes);
    total += sums[v];
    Store(total, db + v * kDenseLanes);
  }
}

template <class Real>
PW_INLINE void GradientAll(const DenseShape& s, const Real* x, const Real* dy, Real* dw, Real* db) {
  constexpr int kVectors = 2;
  int32_t column = 0;
  for (; column + kVectors * kDenseLanes <= s.columns; column += kVectors * kDenseLanes) {
    GradientColumns<Real, kVectors>(s, x, dy + column, dw + column, db + column);
  }
  if (column < s.columns) {
    GradientColumns<Real, 1>(s, x, dy + column, dw + column, db + column);
  }
}

template <class Real>
PW_INLINE void Mask(int64_t count, const Real* y, Real* dy) {
  for (int64_t i = 0; i < count; ++i) dy[i] = y[i] > 0 ? dy[i] : 0;
}

// The same functions for each kind of processor.
#define PW_DENSE(NAME, TARGET)                                                                   \
  template <class Real>                                                                          \
  struct NAME {                                                                                  \
    TARGET static void Product(const DenseShape& s, const Real* x, const Real* w, const Real* b, \
                               bool relu, Real* y) {                                             \
      DenseAll<Real>(s, x, w, b, relu, y);                                                       \
    }                                                                                            \
    TARGET static void Gradient(const DenseShape& s, const Real* x, const Real* dy, Real* dw,    \
                                Real* db) {                                                      \
      GradientAll<Real>(s, x, dy, dw, db);                                                       \
    }                                                                                            \
    TARGET static void Masked(int64_t count, const Real* y, Real* dy) {                          \
      Mask<Real>(count, y, dy);                                                                  \
    }                                                                                            \
  }

PW_DENSE(Plain, );
#if defined(__x86_64__)
PW_DENSE(Avx2, __attribute__((target("avx2"))));
PW_DENSE(Avx512, __attribute__((target("avx512f,avx512dq,avx512vl"))));
#endif

template <class Real>
struct Table {
  decltype(&Plain<Real>::Product) product;
  decltype(&Plain<Real>::Gradient) gradient;
  decltype(&Plain<Real>::Masked) mask;
};

template <class Real>
const Table<Real>& Chosen() {
  static const Table<Real> table = [] {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl")) {
      return Table<Real>{&Avx512<Real>::Product, &Avx512<Real>::Gradient, &Avx512<Real>::Masked};
    }
    if (__builtin_cpu_supports("avx2")) {
      return Table<Real>{&Avx2<Real>::Product, &Avx2<Real>::Gradient, &Avx2<Real>::Masked};
    }
#endif
    return Table<Real>{&Plain<Real>::Product, &Plain<Real>::Gradient, &Plain<Real>::Masked};
  }();
  return table;
}

}  // namespace

template <class Real>
void Dense(const DenseShape& shape, const Real* x, const Real* w, const Real* b, bool relu,
           Real* y) {
  Chosen<Real>().product(shape, x, w, b, relu, y);
}

template <class Real>
void DenseGradient(const DenseShape& shape, const Real* x, const Real* dy, Real* dw, Real* db) {
  Chosen<Real>().gradient(shape, x, dy, dw, db);
}

template <class Real>
void MaskGradient(int64_t count, const Real* y, Real* dy) {
  Chosen<Real>().mask(count, y, dy);
}

template void Dense(const DenseShape&, const float*, const float*, const float*, bool, float*);
template void Dense(const DenseShape&, const double*, const double*, const double*, bool, double*);
template void DenseGradient(const DenseShape&, const float*, const float*, float*, float*);
template void DenseGradient(const DenseShape&, const double*, const double*, double*, double*);
template void MaskGradient(int64_t, const float*, float*);
template void MaskGradient(int64_t, const double*, double*);

}  // namespace placewright
