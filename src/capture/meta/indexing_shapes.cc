// Look-ups and rearrangements.
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
  table["aten::index_select"] = IndexSelect;
  table["aten::flip"] = Flip;
  table["aten::roll"] = Roll;
}

}  // namespace placewright
