#include "learn/nn/kernels/kernels.h"

#include <algorithm>
#include <cstring>

namespace placewright::kernels {
namespace {

#define PW_INLINE inline __attribute__((always_inline))

// Vectors of the compiler's own (GCC and Clang). No function takes or returns one by value: without
// the instructions these have no calling convention.
template <int kLanes>
struct Lanes {
  typedef float Floats __attribute__((vector_size(4 * kLanes)));
  typedef int32_t Ints __attribute__((vector_size(4 * kLanes)));
};

template <class Vector>
PW_INLINE void Load(Vector& to, const float* from) {
  std::memcpy(&to, from, sizeof(Vector));
}
template <class Vector>
PW_INLINE void Store(const Vector& from, float* to) {
  std::memcpy(to, &from, sizeof(Vector));
}

// R rows times kVectors vectors of a panel's columns, from `offset` on.
template <int kLanes, int kVectors, int R>
PW_INLINE void Block(const float* x, int64_t x_stride, const float* panel, int64_t depth,
                     float* result) {
  using Floats = typename Lanes<kLanes>::Floats;
  Floats sums[R][kVectors] = {};
  for (int64_t k = 0; k < depth; ++k) {
    Floats row[kVectors];
    for (int v = 0; v < kVectors; ++v) Load(row[v], panel + k * kPanel + v * kLanes);
    for (int r = 0; r < R; ++r) {
      for (int v = 0; v < kVectors; ++v) sums[r][v] += x[r * x_stride + k] * row[v];
    }
  }
  for (int r = 0; r < R; ++r) {
    for (int v = 0; v < kVectors; ++v) {
      Store(sums[r][v], result + r * kPanel + v * kLanes);
    }
  }
}

// `rows` <= kRows rows: each number of them has a block of its own, so that all sums are registers.
template <int kLanes, int kVectors, int kRows>
PW_INLINE void SomeRows(int64_t rows, const float* x, int64_t x_stride, const float* panel,
                        int64_t depth, float* result) {
  if constexpr (kRows > 1) {
    if (rows < kRows) {
      SomeRows<kLanes, kVectors, kRows - 1>(rows, x, x_stride, panel, depth, result);
      return;
    }
  }
  Block<kLanes, kVectors, kRows>(x, x_stride, panel, depth, result);
}

// One panel, at most kRows rows at a time, in parts of like size. A panel stays in the second cache.
template <int kLanes, int kVectors, int kRows>
PW_INLINE void Panel(const float* x, int64_t x_stride, int64_t rows, const float* panel,
                     int64_t depth, int64_t columns, float* out, int64_t out_stride) {
  float result[kRows * kPanel];
  for (int64_t row = 0, parts = (rows + kRows - 1) / kRows; parts > 0; --parts) {
    const int64_t count = (rows - row + parts - 1) / parts;
    for (int64_t column = 0; column < kPanel; column += kLanes * kVectors) {
      SomeRows<kLanes, kVectors, kRows>(count, x + row * x_stride, x_stride, panel + column, depth,
                                        result + column);
    }
    for (int64_t r = 0; r < count; ++r) {
      float* const to = out + (row + r) * out_stride;
      for (int64_t n = 0; n < columns; ++n) to[n] += result[r * kPanel + n];
    }
    row += count;
  }
}

template <int kLanes, int kVectors, int kRows>
PW_INLINE void Product(const float* x, int64_t x_stride, int64_t rows, const float* packed,
                       int64_t depth, int64_t columns, float* out, int64_t out_stride) {
  for (int64_t column = 0; column < columns; column += kPanel) {
    Panel<kLanes, kVectors, kRows>(x, x_stride, rows, packed + column * depth, depth,
                                   std::min(kPanel, columns - column), out + column, out_stride);
  }
}

// tanh x = 1 - 2 / (e^(2 x) + 1), to 3e-7: e^y = 2^n 2^f with n the integer nearest to y / ln 2 and
// the series of 2^f to the sixth power.
template <int kLanes>
PW_INLINE void Tanh(typename Lanes<kLanes>::Floats& x) {
  using Floats = typename Lanes<kLanes>::Floats;
  using Ints = typename Lanes<kLanes>::Ints;
  constexpr float kTwoOverLn2 = 2.885390081777927f, kLargest = 30, kRound = 12582912;  // 1.5 2^23
  Floats y = x * kTwoOverLn2;
  y = y > kLargest ? (y - y + kLargest) : y;
  y = y < -kLargest ? (y - y - kLargest) : y;
  const Floats shifted = y + kRound;
  const Floats f = y - (shifted - kRound);
  const Floats power =
      1 + f * (0.6931471805599453f +
               f * (0.2402265069591007f +
                    f * (0.05550410866482158f +
                         f * (0.009618129107628477f +
                              f * (0.0013333558146428443f + f * 0.00015403530393381608f)))));
  Ints bits;
  std::memcpy(&bits, &shifted, sizeof(bits));
  const Ints scaled = (bits << 23) + 0x3f800000;  // 2^n; the low bits of 1.5 2^23 + n are n
  Floats scale;
  std::memcpy(&scale, &scaled, sizeof(scale));
  x = 1 - 2 / (scale * power + 1);
}

template <int kLanes>
PW_INLINE void Scores(const float* keys, const float* query, const float* v, int64_t length,
                      int64_t width, float* scores) {
  using Floats = typename Lanes<kLanes>::Floats;
  for (int64_t l = 0; l < length; ++l) {
    Floats sum = {};
    for (int64_t a = 0; a < width; a += kLanes) {
      Floats t, q, weight;
      Load(t, keys + l * width + a);
      Load(q, query + a);
      Load(weight, v + a);
      t += q;
      Tanh<kLanes>(t);
      sum += t * weight;
    }
    float total = 0;
    for (int i = 0; i < kLanes; ++i) total += sum[i];
    scores[l] = total;
  }
}

template <int kLanes>
PW_INLINE void ScoresBackward(const float* keys, const float* query, const float* v, const float* d,
                              int64_t length, int64_t width, float* d_query, float* d_keys,
                              float* d_v) {
  using Floats = typename Lanes<kLanes>::Floats;
  for (int64_t a = 0; a < width; a += kLanes) {
    Floats q, weight, of_query, of_v, of_key;
    Load(q, query + a);
    Load(weight, v + a);
    Load(of_query, d_query + a);
    Load(of_v, d_v + a);
    for (int64_t l = 0; l < length; ++l) {
      Floats t;
      Load(t, keys + l * width + a);
      t += q;
      Tanh<kLanes>(t);
      of_v += d[l] * t;
      const Floats inner = d[l] * weight * (1 - t * t);
      of_query += inner;
      Load(of_key, d_keys + l * width + a);
      of_key += inner;
      Store(of_key, d_keys + l * width + a);
    }
    Store(of_query, d_query + a);
    Store(of_v, d_v + a);
  }
}

// The same three functions for each kind of processor.
#define PW_KERNELS(NAME, TARGET, LANES, VECTORS, ROWS)                                           \
  struct NAME {                                                                                  \
    TARGET static void Multiply(const float* x, int64_t x_stride, int64_t rows,                  \
                                const float* packed, int64_t depth, int64_t columns, float* out, \
                                int64_t out_stride) {                                            \
      Product<LANES, VECTORS, ROWS>(x, x_stride, rows, packed, depth, columns, out, out_stride); \
    }                                                                                            \
    TARGET static void Score(const float* keys, const float* query, const float* v,              \
                             int64_t length, int64_t width, float* scores) {                     \
      Scores<LANES>(keys, query, v, length, width, scores);                                      \
    }                                                                                            \
    TARGET static void ScoreBackward(const float* keys, const float* query, const float* v,      \
                                     const float* d, int64_t length, int64_t width,              \
                                     float* d_query, float* d_keys, float* d_v) {                \
      ScoresBackward<LANES>(keys, query, v, d, length, width, d_query, d_keys, d_v);             \
    }                                                                                            \
  }

PW_KERNELS(Plain, , 4, 2, 2);
#if defined(__x86_64__)
PW_KERNELS(Avx2, __attribute__((target("avx2,fma"))), 8, 2, 6);
PW_KERNELS(Avx512, __attribute__((target("avx512f,avx512dq,avx512vl,fma"))), 16, 2, 10);
#endif

struct Table {
  decltype(&Plain::Multiply) multiply;
  decltype(&Plain::Score) score;
  decltype(&Plain::ScoreBackward) score_backward;
};

const Table& Chosen() {
  static const Table table = [] {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl")) {
      return Table{&Avx512::Multiply, &Avx512::Score, &Avx512::ScoreBackward};
    }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
      return Table{&Avx2::Multiply, &Avx2::Score, &Avx2::ScoreBackward};
    }
#endif
    return Table{&Plain::Multiply, &Plain::Score, &Plain::ScoreBackward};
  }();
  return table;
}

}  // namespace

void AddPackedProduct(const float* x, int64_t x_stride, int64_t rows, const float* packed,
                      int64_t depth, int64_t columns, float* out, int64_t out_stride) {
  Chosen().multiply(x, x_stride, rows, packed, depth, columns, out, out_stride);
}

void AttentionScores(const float* keys, const float* query, const float* v, int64_t length,
                     int64_t width, float* scores) {
  Chosen().score(keys, query, v, length, width, scores);
}

void AttentionScoresBackward(const float* keys, const float* query, const float* v, const float* d,
                             int64_t length, int64_t width, float* d_query, float* d_keys,
                             float* d_v) {
  Chosen().score_backward(keys, query, v, d, length, width, d_query, d_keys, d_v);
}

}  // namespace placewright::kernels
