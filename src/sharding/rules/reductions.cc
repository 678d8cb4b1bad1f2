// Ops that reduce dimensions, or look at a whole one for each element: sums, means, softmax, norms.
#include <algorithm>
#include <utility>

#include "sharding/rules/forms.h"
#include "sharding/softmax_call.h"
#include "sharding/statistics_call.h"

namespace placewright {
namespace {

// Which dimensions a reduction takes: those stated, or all. kByName: all.
std::vector<bool> Reduced(RuleMaker& maker, size_t position, size_t rank) {
  const std::optional<std::vector<int64_t>> stated =
      position == kByName ? std::nullopt : maker.Integers(position, "dim");
  std::vector<bool> reduced(rank, !stated || stated->empty());
  if (rank == 0 || !stated) return reduced;
  for (const int64_t dimension : *stated) reduced[maker.Dimension(dimension, rank)] = true;
  return reduced;
}

void Reduce(RuleMaker& maker, size_t dims_at, Parts parts) {
  if (maker.input_count() < 1) return maker.Fail();
  ReduceDimensions(maker, Reduced(maker, dims_at, maker.in(0).size()), parts);
}

// sum(x), sum.dim_IntList(x, dims, keepdim)
void Sum(RuleMaker& maker) {
  Reduce(maker, 1, Parts::kSum);
  maker.rule().linear = {{0}};
}

// amax(x, dims, keepdim), var(x, dims, ...), prod(x, dim), median(x, dim): of all elements along these at once.
void AtOnce(RuleMaker& maker) { Reduce(maker, 1, Parts::kWhole); }
// amax, amin, linalg_vector_norm: of parts, too, where several ops can compute it.
void OfParts(RuleMaker& maker, size_t dims_at) {
  const bool several =
      maker.input_count() == 1 && StatisticsCallOf(maker.op(), {maker.in(0).size()});
  Reduce(maker, dims_at, several ? Parts::kSynchronised : Parts::kWhole);
}
void Extremum(RuleMaker& maker) { OfParts(maker, 1); }
// norm.ScalarOpt_dim(x, p, dims, keepdim)
void Norm(RuleMaker& maker) { OfParts(maker, 2); }

void Mean(RuleMaker& maker) {
  Reduce(maker, 1, Parts::kSum);
  maker.rule().linear = {{0}};
  maker.rule().form = PartForm::kMean;
  maker.DivideByReduced();
}

// var.default(x, unbiased), prod.default(x), median(x): over all dimensions.
void OverAll(RuleMaker& maker) { Reduce(maker, kByName, Parts::kWhole); }
// One dimension, by default the last.
void ReduceOne(RuleMaker& maker, size_t dim_at) {
  if (maker.input_count() != 1 || maker.in(0).empty()) return maker.Fail();
  std::vector<bool> reduced(maker.in(0).size(), false);
  reduced[maker.Dimension(maker.Integer(dim_at, "dim", -1), reduced.size())] = true;
  ReduceDimensions(maker, reduced, Parts::kWhole);
}
// mode(x, dim, keepdim), kthvalue(x, k, dim, keepdim)
void Mode(RuleMaker& maker) { ReduceOne(maker, 1); }
void KthValue(RuleMaker& maker) { ReduceOne(maker, 2); }

// aminmax(x, *, dim, keepdim)
void Extrema(RuleMaker& maker) {
  if (maker.input_count() != 1) return maker.Fail();
  const std::optional<std::vector<int64_t>> stated = maker.Integers(kByName, "dim");
  std::vector<bool> reduced(maker.in(0).size(), !stated);
  for (size_t i = 0; stated && i < stated->size() && !reduced.empty(); ++i) {
    reduced[maker.Dimension((*stated)[i], reduced.size())] = true;
  }
  ReduceDimensions(maker, reduced, Parts::kWhole);
}

// count_nonzero(x, dim), nansum(x, dim, keepdim): what is counted adds up.
void Count(RuleMaker& maker) { Reduce(maker, 1, Parts::kSum); }

std::optional<double> NumberOf(const Value* value) {
  if (value == nullptr) return std::nullopt;
  if (const double* number = value->AsDouble()) return *number;
  if (const int64_t* number = value->AsInt()) return static_cast<double>(*number);
  return std::nullopt;
}

// histc(x, bins, min, max): counts of fixed bins add up; bins between the extrema of x need all of it.
void Histogram(RuleMaker& maker) {
  if (maker.input_count() != 1 || maker.output_count() != 1) return maker.Fail();
  const std::optional<double> low = NumberOf(maker.Argument(2, "min"));
  const std::optional<double> high = NumberOf(maker.Argument(3, "max"));
  const bool fixed = low && high && *low != *high;
  maker.input(0) = maker.AxesOf(maker.in(0), fixed ? Parts::kSum : Parts::kWhole);
  maker.output(0) = maker.AxesOf(maker.out(0), Parts::kWhole);
}

// renorm(x, p, dim, maxnorm): a norm over all dimensions but one.
void Renorm(RuleMaker& maker) {
  if (!IsUnary(maker) || maker.in(0).empty()) return maker.Fail();
  const TensorAxes axes = maker.AxesOf(maker.in(0), Parts::kWhole);
  const size_t dim = maker.Dimension(maker.Integer(2, "dim", 0), axes.size());
  if (maker.failed()) return;
  maker.SetParts(axes[dim][0], Parts::kSplit);
  maker.input(0) = maker.output(0) = axes;
}

// softmax(x, dim, ...), and its backward (grad, y, dim, ...): "...d...->...d...", d whole.
void AlongOne(RuleMaker& maker, size_t dim_at) {
  if (maker.input_count() < 1 || maker.output_count() < 1) return maker.Fail();
  const std::vector<int64_t>& shape = maker.in(0);
  const TensorAxes axes = maker.AxesOf(shape);
  if (!shape.empty()) {
    const size_t dim = maker.Dimension(maker.Integer(dim_at, "dim", -1), shape.size());
    if (maker.failed()) return;
    maker.SetParts(axes[dim][0], Parts::kWhole);
  }
  for (size_t i = 0; i < maker.input_count(); ++i) {
    if (maker.in(i) != shape) return maker.Fail();
    maker.input(i) = axes;
  }
  for (size_t i = 0; i < maker.output_count(); ++i) {
    if (maker.out(i) != shape) return maker.Fail();
    maker.output(i) = axes;
  }
}

// Along d in parts, too, where several ops can compute them.
void SoftmaxAlong(RuleMaker& maker, size_t dim_at) {
  AlongOne(maker, dim_at);
  if (maker.failed() || maker.in(0).empty() || !SoftmaxCallOf(maker.op())) return;
  const size_t dim = maker.Dimension(maker.Integer(dim_at, "dim", -1), maker.in(0).size());
  if (!maker.failed()) maker.SetParts(maker.input(0)[dim][0], Parts::kSynchronised);
}
void Softmax(RuleMaker& maker) { SoftmaxAlong(maker, 1); }
void SoftmaxBackward(RuleMaker& maker) { SoftmaxAlong(maker, 2); }
void CumulativeSum(RuleMaker& maker) {
  AlongOne(maker, 1);
  maker.rule().linear = {{0}};
}

// cumprod, logcumsumexp(x, dim); cummax(x, dim) -> (values, places)
void Cumulative(RuleMaker& maker) { AlongOne(maker, 1); }

// _sample_dirichlet(x): along the last dimension.
void SampleDirichlet(RuleMaker& maker) {
  AlongOne(maker, kByName);
  maker.rule().draws_random = true;
}

// _masked_softmax(x, mask, dim, mask_type), and its backward (grad, y, mask, dim): a mask of x's shape.
void MaskedSoftmax(RuleMaker& maker) {
  const bool backward = maker.op().type.find("backward") != std::string_view::npos;
  AlongOne(maker, backward ? 3 : 2);
}

}  // namespace

std::vector<RuleRow> ReductionRules() {
  return {{"max min _aminmax", AtOnce, "dim"},
          {"max min _aminmax var std var_mean std_mean prod median nanmedian", OverAll, "default"},
          {"sum", Sum},
          {"mean", Mean},
          {"amax amin", Extremum},
          {"var std var_mean std_mean prod median nanmedian argmax argmin any all "
           "logsumexp",
           AtOnce},
          {"aminmax", Extrema},
          {"mode", Mode},
          {"kthvalue", KthValue},
          {"count_nonzero nansum", Count},
          {"histc", Histogram},
          {"renorm", Renorm},
          {"norm linalg_vector_norm", Norm},
          {"_softmax _log_softmax _safe_softmax", Softmax},
          {"_softmax_backward_data _log_softmax_backward_data", SoftmaxBackward},
          {"cumsum", CumulativeSum},
          {"cumprod cummax cummin logcumsumexp _logcumsumexp", Cumulative},
          {"_sample_dirichlet", SampleDirichlet},
          {"_masked_softmax _masked_softmax_backward", MaskedSoftmax}};
}

}  // namespace placewright
