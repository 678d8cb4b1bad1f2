// Look-ups and rearrangements.
#include <algorithm>

#include "aten/torch_version.h"
#include "capture/meta/shape_functions.h"

namespace placewright {
namespace {

// embedding(weight, indices, ...): a row of `weight` for every index.
std::vector<c10::IValue> Embedding(const TorchCall& call) {
  const at::Tensor weight = TensorArgument(call, 0);
  std::vector<int64_t> sizes = TensorArgument(call, 1).sizes().vec();
  sizes.push_back(weight.size(1));
  return {EmptyMeta(sizes, weight.scalar_type())};
}

// embedding_dense_backward(grad_output, indices, num_weights, ...)
std::vector<c10::IValue> EmbeddingBackward(const TorchCall& call) {
  const at::Tensor gradient = TensorArgument(call, 0);
  return {EmptyMeta({call.argument(2).toInt(), gradient.size(-1)}, gradient.scalar_type())};
}

// _embedding_bag(weight, indices, offsets, scale_grad_by_freq, mode = 4, sparse,
//   per_sample_weights = 6, include_last_offset = 7, padding_idx = 8)
//   -> (output, offset2bag, bag_size, max_indices). A sum of rows of floats needs no offset2bag.
std::vector<c10::IValue> EmbeddingBag(const TorchCall& call) {
  constexpr int64_t kSum = 0, kMax = 2;
  const at::Tensor weight = TensorArgument(call, 0), indices = TensorArgument(call, 1);
  const at::Tensor offsets = TensorArgument(call, 2), scale = TensorArgument(call, 6);
  const int64_t mode = call.argument(4).toInt();
  const bool fast = mode == kSum && call.argument(8).toInt() < 0 && weight.stride(1) == 1 &&
                    (weight.scalar_type() == at::kFloat || weight.scalar_type() == at::kHalf) &&
                    (!scale.defined() || scale.stride(0) == 1);
  const int64_t bags = offsets.size(0) - (call.argument(7).toBool() ? 1 : 0);
  const at::ScalarType type = offsets.scalar_type();
  return {EmptyMeta({bags, weight.size(1)}, weight.scalar_type()),
          EmptyMeta({fast ? 0 : indices.size(0)}, type), EmptyMeta({bags}, type),
          mode == kMax ? EmptyMeta({bags, weight.size(1)}, type) : EmptyMeta({bags}, type)};
}

// _embedding_bag_dense_backward(grad, indices, offset2bag, bag_size, maximum_indices, num_weights),
// in 2.x _embedding_bag_backward with offsets behind the indices
std::vector<c10::IValue> EmbeddingBagBackward(const TorchCall& call) {
  const at::Tensor gradient = TensorArgument(call, 0);
  return {EmptyMeta({call.argument(kEmbeddingBagRows).toInt(), gradient.size(1)},
                    gradient.scalar_type())};
}

// _embedding_bag_per_sample_weights_backward(grad, weight, indices, ...)
std::vector<c10::IValue> EmbeddingBagScaleBackward(const TorchCall& call) {
  return {EmptyMeta({TensorArgument(call, 2).size(0)}, TensorArgument(call, 0).scalar_type())};
}

// bucketize(self, boundaries, *, out_int32), searchsorted(sorted_sequence, self, *, out_int32)
template <size_t Self>
std::vector<c10::IValue> Places(const TorchCall& call) {
  return {EmptyMeta(TensorArgument(call, Self).sizes(),
                    call.argument(2).toBool() ? at::kInt : at::kLong)};
}

at::ScalarType TypeOr(const c10::IValue& type, at::ScalarType otherwise) {
  return type.isNone() ? otherwise : static_cast<at::ScalarType>(type.toInt());
}

// randperm(n, *, dtype)
std::vector<c10::IValue> Permutation(const TorchCall& call) {
  return {EmptyMeta({call.argument(0).toInt()}, TypeOr(call.argument(1), at::kLong))};
}

// tril_indices(row, col, offset, *, dtype): of each row i the columns up to i + offset.
// triu_indices: the others, and that one.
template <bool Lower>
std::vector<c10::IValue> Triangle(const TorchCall& call) {
  const int64_t rows = call.argument(0).toInt(), columns = call.argument(1).toInt();
  const int64_t offset = call.argument(2).toInt();
  int64_t count = 0;
  for (int64_t i = 0; i < rows; ++i) {
    const int64_t before = std::clamp<int64_t>(i + offset, 0, columns);
    count += Lower ? std::clamp<int64_t>(i + offset + 1, 0, columns) : columns - before;
  }
  return {EmptyMeta({2, count}, TypeOr(call.argument(3), at::kLong))};
}

// take(self, index)
std::vector<c10::IValue> Take(const TorchCall& call) {
  return {EmptyMeta(TensorArgument(call, 1).sizes(), TensorArgument(call, 0).scalar_type())};
}

// index_select(self, dim, index)
std::vector<c10::IValue> IndexSelect(const TorchCall& call) {
  const at::Tensor self = TensorArgument(call, 0);
  std::vector<int64_t> sizes = self.sizes().vec();
  const int64_t dim = call.argument(1).toInt();
  if (!sizes.empty()) {
    sizes.at(static_cast<size_t>(dim < 0 ? dim + self.dim() : dim)) =
        TensorArgument(call, 2).numel();
  }
  return {EmptyMeta(sizes, self.scalar_type())};
}

// flip keeps the strides of what has no gaps, roll makes them contiguous.
std::vector<c10::IValue> Flip(const TorchCall& call) {
  return {EmptyLike(TensorArgument(call, 0))};
}
std::vector<c10::IValue> Roll(const TorchCall& call) {
  const at::Tensor self = TensorArgument(call, 0);
  return {EmptyMeta(self.sizes(), self.scalar_type())};
}

}  // namespace

void AddIndexingShapes(ShapeTable& table) {
  table["aten::embedding"] = Embedding;
  table["aten::embedding_dense_backward"] = EmbeddingBackward;
  table["aten::_embedding_bag"] = EmbeddingBag;
  table["aten::_embedding_bag_forward_only"] = EmbeddingBag;
  table[kEmbeddingBagBackward] = EmbeddingBagBackward;
  table["aten::_embedding_bag_per_sample_weights_backward"] = EmbeddingBagScaleBackward;
  table["aten::bucketize.Tensor"] = Places<0>;
  table["aten::searchsorted.Tensor"] = Places<1>;
  table["aten::randperm"] = Permutation;
  table["aten::tril_indices"] = Triangle<true>;
  table["aten::triu_indices"] = Triangle<false>;
  table["aten::take"] = Take;
  table["aten::index_select"] = IndexSelect;
  table["aten::flip"] = Flip;
  table["aten::roll"] = Roll;
}

}  // namespace placewright
