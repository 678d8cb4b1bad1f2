// The inner loops of recurrent layers on a CPU, in single precision: what LibTorch's matrix product
// does badly, a few rows times a large matrix again and again (it packs the matrix anew each time,
// which takes longer than the product), and attention without its activations in memory.
//
// Chosen at run time by what the processor has: AVX-512, AVX2 with FMA, or whatever the compiler
// makes of plain C++. Results differ in the last bits between these; on one machine they are equal.
#ifndef PLACEWRIGHT_LEARN_NN_KERNELS_KERNELS_H_
#define PLACEWRIGHT_LEARN_NN_KERNELS_KERNELS_H_

#include <algorithm>
#include <cstdint>
#include <vector>

namespace placewright::kernels {

// Columns of a panel: a packed matrix [K, N] is ceil(N / 32) panels, each K rows of 32 columns, the
// last filled up with zeros.
inline constexpr int64_t kPanel = 32;

// `at(k, n)` is element [k, n].
template <class At>
std::vector<float> Pack(int64_t depth, int64_t columns, const At& at) {
  const int64_t panels = (columns + kPanel - 1) / kPanel;
  std::vector<float> packed(static_cast<size_t>(panels * depth * kPanel), 0);
  float* out = packed.data();
  for (int64_t panel = 0; panel < panels; ++panel) {
    for (int64_t k = 0; k < depth; ++k, out += kPanel) {
      for (int64_t n = panel * kPanel; n < std::min(columns, (panel + 1) * kPanel); ++n) {
        out[n - panel * kPanel] = at(k, n);
      }
    }
  }
  return packed;
}

// out [rows, columns] += x [rows, depth] packed; rows lie so many elements apart.
void AddPackedProduct(const float* x, int64_t x_stride, int64_t rows, const float* packed,
                      int64_t depth, int64_t columns, float* out, int64_t out_stride);

// Of one query q [width] over `length` keys [length, width]: scores[l] = v . tanh(k_l + q). Widths
// are multiples of 16.
void AttentionScores(const float* keys, const float* query, const float* v, int64_t length,
                     int64_t width, float* scores);

// From d [length], the gradient of the scores: adds to d_query [width], d_keys [length, width] and
// d_v [width].
void AttentionScoresBackward(const float* keys, const float* query, const float* v, const float* d,
                             int64_t length, int64_t width, float* d_query, float* d_keys,
                             float* d_v);

}  // namespace placewright::kernels

#endif  // PLACEWRIGHT_LEARN_NN_KERNELS_KERNELS_H_
