// Sums and extremes over dimensions, and distances.
#include <ATen/ExpandUtils.h>

#include "aten/failure.h"
#include "capture/meta/shape_functions.h"

namespace placewright {
namespace {

std::vector<c10::IValue> OneNumber(const TorchCall& call) {
  return {EmptyMeta({}, TensorArgument(call, 0).scalar_type())};
}

// Over argument 1, the dimensions: none or an empty list for all. `keep`: whether they stay, with
// size 1.
std::vector<int64_t> ReducedSizes(const TorchCall& call, bool keep) {
  const at::Tensor self = TensorArgument(call, 0);
  std::vector<bool> over(static_cast<size_t>(self.dim()), true);
  if (!call.argument(1).isNone() && !call.argument(1).toIntVector().empty()) {
    over.assign(over.size(), false);
    for (const int64_t dim : call.argument(1).toIntVector()) {
      over.at(static_cast<size_t>(dim < 0 ? dim + self.dim() : dim)) = true;
    }
  }
  std::vector<int64_t> sizes;
  for (size_t i = 0; i < over.size(); ++i) {
    if (!over[i]) sizes.push_back(self.size(static_cast<int64_t>(i)));
    if (over[i] && keep) sizes.push_back(1);
  }
  return sizes;
}
// `keep`: the argument that says so.
at::Tensor Reduced(const TorchCall& call, size_t keep) {
  return EmptyMeta(ReducedSizes(call, call.argument(keep).toBool()),
                   TensorArgument(call, 0).scalar_type());
}
// var(self, dim, *, correction, keepdim), std, and both with the mean
std::vector<c10::IValue> Variance(const TorchCall& call) { return {Reduced(call, 3)}; }
std::vector<c10::IValue> VarianceAndMean(const TorchCall& call) {
  return {Reduced(call, 3), Reduced(call, 3)};
}
// logsumexp(self, dim, keepdim)
std::vector<c10::IValue> LogSumExp(const TorchCall& call) { return {Reduced(call, 2)}; }

// count_nonzero(self, dim) for at most one dimension, count_nonzero(self, dim[])
std::vector<c10::IValue> CountAlong(const TorchCall& call) {
  std::vector<int64_t> sizes;
  if (!call.argument(1).isNone()) {
    sizes = TensorArgument(call, 0).sizes().vec();
    const int64_t dim = call.argument(1).toInt();
    sizes.erase(sizes.begin() + (dim < 0 ? dim + static_cast<int64_t>(sizes.size()) : dim));
  }
  return {EmptyMeta(sizes, at::kLong)};
}
std::vector<c10::IValue> CountOver(const TorchCall& call) {
  return {EmptyMeta(ReducedSizes(call, false), at::kLong)};
}

// median(self, dim, keepdim) -> (values, indices)
std::vector<c10::IValue> Median(const TorchCall& call) {
  const at::Tensor self = TensorArgument(call, 0);
  std::vector<int64_t> sizes = self.sizes().vec();
  if (!sizes.empty()) {
    const int64_t dim = call.argument(1).toInt();
    const auto at = sizes.begin() + (dim < 0 ? dim + self.dim() : dim);
    if (call.argument(2).toBool()) {
      *at = 1;
    } else {
      sizes.erase(at);
    }
  }
  return {EmptyMeta(sizes, self.scalar_type()), EmptyMeta(sizes, at::kLong)};
}

// addbmm(self, batch1, batch2): the sum of the products
std::vector<c10::IValue> SumOfProducts(const TorchCall& call) {
  return {EmptyMeta({TensorArgument(call, 1).size(1), TensorArgument(call, 2).size(2)},
                    TensorArgument(call, 0).scalar_type())};
}

// logcumsumexp(self, dim)
std::vector<c10::IValue> CumulativeLikeFirst(const TorchCall& call) {
  return {EmptyContiguous(TensorArgument(call, 0))};
}

// The dimensions that two batches of rows broadcast to.
std::vector<int64_t> CommonBatch(const at::Tensor& a, const at::Tensor& b) {
  TORCH_CHECK(a.dim() > 1 && b.dim() > 1, "distances of ", a.sizes(), " and ", b.sizes());
  return at::infer_size(a.sizes().slice(0, static_cast<size_t>(a.dim()) - 2),
                        b.sizes().slice(0, static_cast<size_t>(b.dim()) - 2));
}

// _cdist_forward(x1, x2, p, compute_mode): of every row of x1 to every row of x2.
std::vector<c10::IValue> Distances(const TorchCall& call) {
  const at::Tensor a = TensorArgument(call, 0), b = TensorArgument(call, 1);
  std::vector<int64_t> sizes = CommonBatch(a, b);
  sizes.push_back(a.size(-2));
  sizes.push_back(b.size(-2));
  return {EmptyMeta(sizes, a.scalar_type())};
}

// _cdist_backward(grad, x1, x2, p, cdist): of x1, not yet summed over what was broadcast.
std::vector<c10::IValue> DistancesBackward(const TorchCall& call) {
  const at::Tensor a = TensorArgument(call, 1);
  std::vector<int64_t> sizes = CommonBatch(a, TensorArgument(call, 2));
  sizes.push_back(a.size(-2));
  sizes.push_back(a.size(-1));
  return {EmptyMeta(sizes, a.scalar_type())};
}

// _weight_norm_interface(v, g, dim) -> (w, norms)
std::vector<c10::IValue> WeightNorm(const TorchCall& call) {
  return {EmptyContiguous(TensorArgument(call, 0)), EmptyContiguous(TensorArgument(call, 1))};
}
// _weight_norm_interface_backward(grad_w, saved_v, saved_g, saved_norms, dim)
std::vector<c10::IValue> WeightNormBackward(const TorchCall& call) {
  return {EmptyContiguous(TensorArgument(call, 1)), EmptyContiguous(TensorArgument(call, 2))};
}

// multinomial(self, num_samples, ...)
std::vector<c10::IValue> Multinomial(const TorchCall& call) {
  std::vector<int64_t> sizes = TensorArgument(call, 0).sizes().vec();
  TORCH_CHECK(!sizes.empty(), "draws of a single number");
  sizes.back() = call.argument(1).toInt();
  return {EmptyMeta(sizes, at::kLong)};
}

// repeat_interleave(repeats, *, output_size)
std::vector<c10::IValue> Repeats(const TorchCall& call) {
  if (call.argument(1).isNone()) {
    throw TorchFailure(MakeError(
        ErrorCode::kDataDependent, "the size of the result is what a tensor holds",
        "op " + call.schema().name(), "Give repeat_interleave its output_size, or use expand."));
  }
  return {EmptyMeta({call.argument(1).toInt()}, TensorArgument(call, 0).scalar_type())};
}

}  // namespace

void AddReductionShapes(ShapeTable& table) {
  for (const char* name : {"aten::max", "aten::min", "aten::dot", "aten::trace", "aten::median"}) {
    table[name] = OneNumber;
  }
  table["aten::var.correction"] = Variance;
  table["aten::std.correction"] = Variance;
  table["aten::var_mean.correction"] = VarianceAndMean;
  table["aten::std_mean.correction"] = VarianceAndMean;
  table["aten::median.dim"] = Median;
  table["aten::count_nonzero"] = CountAlong;
  table["aten::count_nonzero.dim_IntList"] = CountOver;
  table["aten::addbmm"] = SumOfProducts;
  table["aten::logsumexp"] = LogSumExp;
  table["aten::logcumsumexp"] = CumulativeLikeFirst;
  table["aten::_cdist_forward"] = Distances;
  table["aten::_cdist_backward"] = DistancesBackward;
  table["aten::_weight_norm_interface"] = WeightNorm;
  table["aten::_weight_norm_interface_backward"] = WeightNormBackward;
  table["aten::multinomial"] = Multinomial;
  table["aten::repeat_interleave.Tensor"] = Repeats;
}

}  // namespace placewright
