// Tensors in which some places are replaced by others.
#include <ATen/ATen.h>

#include <algorithm>

#include "capture/onnx/operators/table.h"

namespace placewright::lowering {
namespace {

// LibTorch's word for a reduction, empty for none.
std::string Reduction(const NodeCall& call) {
  const std::string word = call.Text("reduction", "none");
  if (word == "none") return "";
  if (word == "add") return "sum";
  if (word == "mul") return "prod";
  if (word == "max") return "amax";
  if (word == "min") return "amin";
  call.Invalid("reduction \"" + word + "\"");
}

at::Tensor ScatterInto(const at::Tensor& x, int64_t axis, const at::Tensor& indices,
                       const at::Tensor& updates, const std::string& reduction) {
  if (reduction.empty()) return at::scatter(x, axis, indices, updates);
  if (reduction == "sum") return at::scatter_add(x, axis, indices, updates);
  return at::scatter_reduce(x, axis, indices, updates, reduction, true);
}

Values ScatterElements(const NodeCall& call) {
  const at::Tensor x = call.In(0), updates = call.In(2);
  const int64_t axis = call.Axis(call.Int("axis", 0), x.dim());
  at::Tensor indices = call.In(1).to(at::kLong);
  if (!call.CountsFromFront(1)) indices = call.FromFront(indices, x.size(axis));
  return {ScatterInto(x, axis, indices, updates, Reduction(call))};
}

// The last dimension of the indices names a place in x, as one number in the flattened tensor; its
// slice is replaced.
Values ScatterNd(const NodeCall& call) {
  const at::Tensor x = call.In(0), indices = call.In(1).to(at::kLong), updates = call.In(2);
  const int64_t depth = indices.dim() < 1 ? 0 : indices.size(-1);
  if (depth < 1 || depth > x.dim()) call.Invalid("the last dimension of the indices");
  at::Tensor row;
  int64_t places = 1, slice = 1;
  for (int64_t d = 0; d < x.dim(); ++d) (d < depth ? places : slice) *= x.size(d);
  for (int64_t i = 0; i < depth; ++i) {
    at::Tensor part = at::select(indices, -1, i);
    if (!call.CountsFromFront(1)) part = call.FromFront(part, x.size(i));
    row = row.defined() ? at::add(at::mul(row, x.size(i)), part) : part;
  }
  const int64_t count = row.numel();
  const at::Tensor flat = at::reshape(x, {places, slice});
  const at::Tensor rows = at::expand_copy(at::reshape(row, {count, 1}), {count, slice});
  const at::Tensor replaced =
      ScatterInto(flat, 0, rows, at::reshape(updates, {count, slice}), Reduction(call));
  return {at::reshape(replaced, x.sizes())};
}

}  // namespace

void AddScatterOperators(OperatorTable& table) {
  table["Scatter"] = ScatterElements;
  table["ScatterElements"] = ScatterElements;
  table["ScatterND"] = ScatterNd;
}

}  // namespace placewright::lowering
