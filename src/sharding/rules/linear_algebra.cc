// Decompositions and solutions of matrices, Fourier transforms: samples in front are split, the dimensions that
// they work along are whole.
#include <algorithm>
#include <utility>

#include "sharding/rules/forms.h"

namespace placewright {
namespace {

// Ops on matrices "... m n": all tensors have the dimensions in front in common, or none of them (info, pivots:
// one dimension less, or two).
void PerMatrix(RuleMaker& maker) {
  if (maker.input_count() < 1 || maker.output_count() < 1 || maker.in(0).size() < 2) {
    return maker.Fail();
  }
  std::vector<int64_t> samples = maker.in(0);
  samples.resize(samples.size() - 2);
  const TensorAxes shared = maker.AxesOf(samples);
  const bool solves = maker.op().type.find("solve") != std::string_view::npos;
  const auto axes_of = [&](const std::vector<int64_t>& shape) {
    TensorAxes axes;
    // Another rank: what is broadcast to the samples.
    const bool fits = shape.size() >= samples.size() && shape.size() <= samples.size() + 2 &&
                      std::equal(samples.begin(), samples.end(), shape.begin());
    if (solves && shape.size() != samples.size() + 2 && shape.size() != samples.size()) {
      const std::vector<int64_t>& first = maker.in(0);
      const bool line =
          shape.size() + 1 == first.size() && std::equal(shape.begin(), shape.end(), first.begin());
      if (!line) maker.Fail();
    }
    if (!fits && shape != std::vector<int64_t>{0}) maker.Fail();
    for (size_t i = 0; i < shape.size(); ++i) {
      axes.push_back(fits && i < samples.size() ? shared[i]
                                                : std::vector{maker.Axis(shape[i], Parts::kWhole)});
    }
    return axes;
  };
  for (size_t i = 0; i < maker.input_count(); ++i) maker.input(i) = axes_of(maker.in(i));
  for (size_t i = 0; i < maker.output_count(); ++i) maker.output(i) = axes_of(maker.out(i));
}

// _fft_*(x, dim, normalization, ...): linear, along `dim`.
void Fourier(RuleMaker& maker) {
  const auto dims = maker.Integers(1, "dim");
  if (!IsUnary(maker) || !dims || maker.in(0).size() != maker.out(0).size()) return maker.Fail();
  TensorAxes input = maker.AxesOf(maker.in(0)), output = input;
  for (const int64_t stated : *dims) {
    const size_t dim = maker.Dimension(stated, input.size());
    if (maker.failed()) return;
    input[dim] = {maker.Axis(maker.in(0)[dim], Parts::kWhole)};
    output[dim] = {maker.Axis(maker.out(0)[dim], Parts::kWhole)};
  }
  maker.input(0) = std::move(input);
  maker.output(0) = std::move(output);
  LinearInAll(maker);
}

// linalg_cross(x, y, *, dim)
void Cross(RuleMaker& maker) {
  Elementwise(maker);
  if (maker.failed() || maker.out(0).empty()) return maker.Fail();
  const size_t dim = maker.Dimension(maker.Integer(kByName, "dim", -1), maker.out(0).size());
  if (!maker.failed()) maker.SetParts(maker.output(0)[dim][0], Parts::kWhole);
}

}  // namespace

std::vector<RuleRow> LinearAlgebraRules() {
  return {{"cholesky cholesky_inverse cholesky_solve _cholesky_solve_helper linalg_cholesky_ex "
           "linalg_eig _linalg_eigh _linalg_eigvals _linalg_det _linalg_slogdet _linalg_svd "
           "linalg_inv_ex linalg_householder_product linalg_ldl_factor_ex linalg_ldl_solve "
           "linalg_lu linalg_lu_factor_ex linalg_lu_solve linalg_matrix_exp linalg_pinv linalg_qr "
           "linalg_solve_triangular _linalg_solve_ex geqrf ormqr lu_unpack triangular_solve "
           "linalg_polar linalg_matrix_sqrth",
           PerMatrix},
          {"_fft_c2c _fft_r2c _fft_c2r", Fourier},
          {"linalg_cross", Cross}};
}

}  // namespace placewright
