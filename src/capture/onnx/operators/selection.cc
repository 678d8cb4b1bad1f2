// What is picked out of a tensor by indices, which may count from behind. Rows of a table that the step
// computes must not be negative (tokens are not): it is looked up as it is.
#include <ATen/ATen.h>

#include "capture/onnx/operators/table.h"

namespace placewright::lowering {
namespace {

// Input i as indices into a dimension of that size.
at::Tensor Indices(const NodeCall& call, size_t i, int64_t size, bool rows_of_table = false) {
  if (call.CountsFromFront(i)) return call.In(i).to(at::kLong);
  if (call.on_host || !call.inputs[i].is_host()) {
    const at::Tensor given = call.In(i).to(at::kLong);
    return rows_of_table ? given : call.FromFront(given, size);
  }
  const at::Tensor front = [&] {
    const OutsideStep outside;
    const at::Tensor given = call.inputs[i].tensor().to(at::kLong);
    return at::where(at::lt(given, 0), at::add(given, size), given);
  }();
  return Value::Host(front).InStep();
}

Values Gather(const NodeCall& call) {
  const at::Tensor x = call.In(0);
  if (!call.Has(1)) call.Invalid("no indices");
  const int64_t axis = call.Axis(call.Int("axis", 0), x.dim());
  if (call.inputs[1].is_host() && call.inputs[1].tensor().dim() == 0) {
    const int64_t at_index = call.KnownInt(1);
    if (at_index < -x.size(axis) || at_index >= x.size(axis)) {
      call.Invalid("index " + std::to_string(at_index) + " of a dimension of " +
                   std::to_string(x.size(axis)));
    }
    return {at::select(x, axis, at_index)};
  }
  const bool table =
      axis == 0 && x.dim() == 2 && at::isFloatingType(x.scalar_type()) && !call.on_host;
  const at::Tensor indices = Indices(call, 1, x.size(axis), table);
  if (table) return {at::embedding(x, indices)};
  const at::Tensor picked =
      at::index_select(x, axis, indices.dim() == 1 ? indices : at::reshape(indices, {-1}));
  if (indices.dim() == 1) return {picked};
  Ints shape(x.sizes().begin(), x.sizes().begin() + axis);
  shape.insert(shape.end(), indices.sizes().begin(), indices.sizes().end());
  shape.insert(shape.end(), x.sizes().begin() + axis + 1, x.sizes().end());
  return {at::reshape(picked, shape)};
}

Values GatherElements(const NodeCall& call) {
  const at::Tensor x = call.In(0);
  if (!call.Has(1)) call.Invalid("no indices");
  const int64_t axis = call.Axis(call.Int("axis", 0), x.dim());
  return {at::gather(x, axis, Indices(call, 1, x.size(axis)))};
}

// The last dimension of the indices names a place in x, behind `batch_dims` common dimensions.
Values GatherNd(const NodeCall& call) {
  const at::Tensor x = call.In(0);
  const at::Tensor indices = call.In(1).to(at::kLong);
  const int64_t common = call.Int("batch_dims", 0);
  if (indices.dim() < 1 || common < 0 || common >= std::min(x.dim(), indices.dim())) {
    call.Invalid("batch_dims or the dimensions of the indices");
  }
  const int64_t depth = indices.size(-1);
  if (depth < 1 || depth > x.dim() - common) call.Invalid("the last dimension of the indices");
  int64_t batches = 1, places = 1;
  for (int64_t d = 0; d < common; ++d) batches *= x.size(d);
  // The place as one number within a batch, then within all.
  at::Tensor row;
  for (int64_t i = 0; i < depth; ++i) {
    const int64_t size = x.size(common + i);
    at::Tensor part = at::select(indices, -1, i);
    if (!call.CountsFromFront(1)) part = call.FromFront(part, size);
    row = row.defined() ? at::add(at::mul(row, size), part) : part;
    places *= size;
  }
  row = at::reshape(row, {batches, -1});
  if (batches > 1) {
    const at::Tensor first = at::arange(0, batches * places, places, row.options());
    row = at::add(row, at::unsqueeze(first, 1));
  }
  Ints rest(x.sizes().begin() + common + depth, x.sizes().end());
  Ints flat = {batches * places};
  flat.insert(flat.end(), rest.begin(), rest.end());
  Ints shape(indices.sizes().begin(), indices.sizes().end() - 1);
  shape.insert(shape.end(), rest.begin(), rest.end());
  const at::Tensor picked = at::index_select(at::reshape(x, flat), 0, at::reshape(row, {-1}));
  return {at::reshape(picked, shape)};
}

// The places where a known tensor is not zero, one column each.
Values NonZero(const NodeCall& call) {
  const at::Tensor known = call.Known(0);
  const OutsideStep outside;
  return {Value::Host(at::t(at::nonzero(known)).contiguous())};
}

// The slices at which a known condition holds.
Values Compress(const NodeCall& call) {
  at::Tensor x = call.In(0);
  const at::Tensor condition = call.Known(1);
  const auto* axis = FindImportedAttribute<int64_t>(call.node, "axis");
  if (axis == nullptr) x = at::reshape(x, {-1});
  const int64_t along = axis == nullptr ? 0 : call.Axis(*axis, x.dim());
  const Value places = [&] {
    const OutsideStep outside;
    return Value::Host(at::reshape(at::nonzero(condition), {-1}));
  }();
  if (places.tensor().numel() > x.size(along)) call.Invalid("a condition longer than the tensor");
  return {at::index_select(x, along, call.on_host ? places.tensor() : places.InStep())};
}

// The first `sequence_lens` elements of every batch element, reversed: a known gather of indices
// that are computed from the lengths.
Values ReverseSequence(const NodeCall& call) {
  const at::Tensor x = call.In(0), lengths = call.In(1).to(at::kLong);
  const int64_t batch = call.Int("batch_axis", 1), time = call.Int("time_axis", 0);
  if (batch + time != 1 || batch * time != 0 || x.dim() < 2) call.Invalid("the axes");
  const at::Tensor steps = at::arange(x.size(time), lengths.options());
  Ints along(2, 1), across(2, 1);
  along[static_cast<size_t>(time)] = across[static_cast<size_t>(batch)] = -1;
  const at::Tensor t = at::reshape(steps, along), length = at::reshape(lengths, across);
  at::Tensor index = at::where(at::lt(t, length), at::sub(at::sub(length, t), 1), t);
  for (int64_t d = 2; d < x.dim(); ++d) index = at::unsqueeze(index, -1);
  return {at::gather(x, time, at::expand_copy(index, x.sizes()))};
}

}  // namespace

void AddSelectionOperators(OperatorTable& table) {
  table["Compress"] = Compress;
  table["Gather"] = Gather;
  table["GatherElements"] = GatherElements;
  table["GatherND"] = GatherNd;
  table["NonZero"] = NonZero;
  table["ReverseSequence"] = ReverseSequence;
}

}  // namespace placewright::lowering
