// A batch norm in training and its backward by their definitions, on made-up inputs (internal to the checker).
//
// Forward, of the n elements of a channel, with m and v their mean and biased variance:
//   y = (x - m) / sqrt(v + eps) weight + bias,  results m and 1 / sqrt(v + eps),
//   running mean  += momentum (m - running mean),  running variance += momentum (v n / (n - 1) - running variance)
// (Ioffe, Szegedy 2015, algorithm 1; the unbiased variance as LibTorch has it). Backward, with the statistics
// s (mean) and i (1 / deviation) that it reads, and xhat = (x - s) i:
//   grad weight = sum grad xhat,  grad bias = sum grad,
//   grad x = i weight (grad - sum grad / n - xhat sum (grad xhat) / n)
#ifndef CHECK_PLAN_DISTRIBUTED_NORMS_DEFINITION_H_
#define CHECK_PLAN_DISTRIBUTED_NORMS_DEFINITION_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "check_plan/distributed/norms/value.h"
#include "check_plan/violation.h"
#include "graph/graph.h"

namespace placewright::check {

// The arguments of a norm of the original: which inputs (-1: none), and numbers.
struct StatedNorm {
  bool backward = false;
  int32_t grad = -1, x = -1, weight = -1, bias = -1;
  int32_t running_mean = -1, running_var = -1, save_mean = -1, save_invstd = -1;
  double momentum = 0, eps = 0;
};
// Nothing where the op is no norm, or has other arguments than its operator.
std::optional<StatedNorm> StatedNormOf(const Op& op);

// Made-up inputs and what the definition makes of them.
class NormDefinition {
 public:
  // `seed`: of the inputs.
  NormDefinition(const StatedNorm& norm, uint64_t seed) : norm_(norm), seed_(seed) {}

  // The part with these sizes, [n channels ...], as it is numbered.
  int32_t Add(const Part& part, const std::vector<int64_t>& shape);
  const std::vector<NormPart>& parts() const { return parts_; }
  // A number for each channel, or in that part for each row and channel.
  NormValue Input(int32_t input, const std::vector<int64_t>& shape, int32_t part = -1) const;

  // All parts together: that result of the operator, in `part` if it is the first one; or what is left in
  // the input.
  NormValue Result(int32_t result, int32_t part) { return ResultOf(result, part, All()); }
  NormValue Left(int32_t input);
  // As if that part were all.
  NormValue ResultAlone(int32_t result, int32_t part) const {
    return ResultOf(result, part, TotalsOf(part));
  }

 private:
  // Over all parts, or over one: by channel.
  struct Totals {
    double count = 0;
    std::vector<double> mean, variance;          // of x
    std::vector<double> grad_weight, grad_bias;  // of the backward
  };
  Totals TotalsOf(int32_t alone) const;
  const Totals& All();
  NormValue ResultOf(int32_t result, int32_t part, const Totals& totals) const;
  NormValue Rows(int32_t part, const Totals& totals) const;
  std::vector<double> Numbers(int32_t input, int32_t part) const;

  const StatedNorm norm_;
  const uint64_t seed_;
  std::vector<NormPart> parts_;
  std::vector<std::vector<int64_t>> shapes_;  // of the parts
  std::optional<Totals> all_;                 // of the parts so far
};

}  // namespace placewright::check

#endif  // CHECK_PLAN_DISTRIBUTED_NORMS_DEFINITION_H_
