#include "runtime/ops/routing_ops.h"

#include <ATen/ATen.h>
#include <torch/library.h>

#include <tuple>
#include <vector>

namespace placewright {
namespace {

struct KeyInterval {
  int64_t from = 0, to = 0;
};

KeyInterval KeysIn(at::IntArrayRef place) {
  TORCH_CHECK(place.size() == 5, "the place of a part of the keys has five numbers");
  const int64_t size = place[2], from = place[3], to = place[4];
  TORCH_CHECK(from >= 0 && from < to && to <= size, "no part of ", size, " keys");
  return {from, to};
}

std::tuple<at::Tensor, at::Tensor> SortPart(const at::Tensor& keys, at::IntArrayRef place) {
  const KeyInterval part = KeysIn(place);
  TORCH_CHECK(keys.dim() == 1, "keys have one dimension");
  TORCH_CHECK(keys.numel() == 0 ||
                  (keys.min().item<int64_t>() >= 0 && keys.max().item<int64_t>() < place[2]),
              "a key is none of ", place[2]);
  const at::Tensor places = keys.ge(part.from).logical_and_(keys.lt(part.to)).nonzero().squeeze(1);
  const auto [sorted, order] =
      at::sort(keys.index_select(0, places), /*stable=*/true, /*dim=*/0, /*descending=*/false);
  return {sorted, places.index_select(0, order)};
}

at::Tensor HistcPart(const at::Tensor& keys, int64_t bins, const at::Scalar& min,
                     const at::Scalar& max, at::IntArrayRef place) {
  const KeyInterval part = KeysIn(place);
  TORCH_CHECK(place[1] == 1 && place[2] == bins, "no part of ", bins, " keys");
  return at::histc(keys, bins, min, max).narrow(0, part.from, part.to - part.from).clone();
}

const at::Tensor& PlacesOf(at::TensorList places) {
  TORCH_CHECK(places.size() == 1, "rows have one place each");
  return places[0];
}

at::Tensor& OrderPart(at::Tensor& x, at::TensorList places, const at::Tensor& /*values*/,
                      at::IntArrayRef place) {
  KeysIn(place);
  return x.copy_(PlacesOf(places));
}

at::Tensor UnsortPart(const at::Tensor& rows, at::TensorList places, at::IntArrayRef sizes,
                      at::IntArrayRef place) {
  KeysIn(place);
  return at::zeros(sizes, rows.options()).index_copy_(0, PlacesOf(places), rows);
}

at::Tensor SortRowsPart(const at::Tensor& /*x*/, at::TensorList places, const at::Tensor& rows,
                        at::IntArrayRef place) {
  KeysIn(place);
  return rows.index_select(0, PlacesOf(places));
}

// Among the part's own keys.
at::Tensor NumbersOf(at::TensorList keys, at::IntArrayRef place) {
  TORCH_CHECK(keys.size() == 1, "rows have one key each");
  return keys[0] - KeysIn(place).from;
}

at::Tensor RowsOfKeysPart(const at::Tensor& table, at::TensorList keys, at::IntArrayRef place) {
  return table.index_select(0, NumbersOf(keys, place));
}

at::Tensor SumByKeysPart(const at::Tensor& table, at::TensorList keys, const at::Tensor& rows,
                         bool accumulate, at::IntArrayRef place) {
  TORCH_CHECK(accumulate, "rows of a key are added up");
  return table.index_add(0, NumbersOf(keys, place), rows);
}

at::Tensor SliceBackwardPart(const at::Tensor& grad, at::IntArrayRef sizes, int64_t dim,
                             int64_t start, int64_t end, int64_t step, at::IntArrayRef place) {
  KeysIn(place);
  std::vector<int64_t> own = grad.sizes().vec();
  own.at(static_cast<size_t>(dim)) = sizes.at(static_cast<size_t>(dim));
  return at::slice_backward(grad, own, dim, start, end, step);
}

}  // namespace

void RegisterRoutingOps() {
  static const auto* const registered = [] {
    auto* const library = new torch::Library(torch::Library::FRAGMENT, "placewright", c10::nullopt,
                                             __FILE__, __LINE__);
    library->def("sort_part(Tensor self, int[] place) -> (Tensor values, Tensor indices)");
    library->def(
        "histc_part(Tensor self, int bins, Scalar min, Scalar max, int[] place) -> Tensor");
    library->def(
        "order_part_(Tensor(a!) self, Tensor[] places, Tensor values, int[] place) -> Tensor(a!)");
    library->def("unsort_part(Tensor self, Tensor[] places, int[] sizes, int[] place) -> Tensor");
    library->def(
        "sort_rows_part(Tensor self, Tensor[] places, Tensor values, int[] place) -> Tensor");
    library->def("rows_of_keys_part(Tensor self, Tensor[] keys, int[] place) -> Tensor");
    library->def(
        "sum_by_keys_part(Tensor self, Tensor[] keys, Tensor values, bool accumulate, int[] place) "
        "-> Tensor");
    library->def(
        "slice_backward_part(Tensor self, int[] sizes, int dim, int start, int end, int step, "
        "int[] place) -> Tensor");
    auto* const kernels =
        new torch::Library(torch::Library::IMPL, "placewright",
                           c10::DispatchKey::CompositeExplicitAutograd, __FILE__, __LINE__);
    kernels->impl("sort_part", SortPart);
    kernels->impl("histc_part", HistcPart);
    kernels->impl("order_part_", OrderPart);
    kernels->impl("unsort_part", UnsortPart);
    kernels->impl("sort_rows_part", SortRowsPart);
    kernels->impl("rows_of_keys_part", RowsOfKeysPart);
    kernels->impl("sum_by_keys_part", SumByKeysPart);
    kernels->impl("slice_backward_part", SliceBackwardPart);
    return library;
  }();
  (void)registered;
}

}  // namespace placewright
