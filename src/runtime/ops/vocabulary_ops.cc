#include "runtime/ops/vocabulary_ops.h"

#include <ATen/ATen.h>
#include <torch/library.h>

#include <tuple>

namespace placewright {
namespace {

// Which rows, or classes, of the part indices ask for.
struct LookedUp {
  at::Tensor rows;     // of the part; any number where `outside`
  at::Tensor outside;  // the row is another part's
};

// The part has `rows` in that dimension.
LookedUp LookUpInPart(const at::Tensor& indices, int64_t rows, at::IntArrayRef place,
                      int64_t dimension = 0) {
  TORCH_CHECK(place.size() == 5 && place[0] == dimension,
              "the place of a part of a vocabulary has five numbers, and is in dimension ",
              dimension);
  const int64_t outer = place[1], size = place[2], from = place[3], to = place[4];
  TORCH_CHECK(
      outer > 0 && from >= 0 && from < to && to <= size && rows % (outer * (to - from)) == 0,
      "no place of ", rows, " rows");
  const int64_t inner = rows / (outer * (to - from));
  const at::Tensor wide = indices.to(at::kLong);
  if (wide.device().is_cpu() && wide.numel() > 0) {
    TORCH_CHECK(
        wide.min().item<int64_t>() >= 0 && wide.max().item<int64_t>() < outer * size * inner,
        "index out of range");
  }
  const at::Tensor group = wide.div(inner, "floor");
  const at::Tensor middle = group.remainder(size);
  const at::Tensor outside = middle.lt(from).logical_or_(middle.ge(to));
  const at::Tensor row = group.div(size, "floor")
                             .mul_(to - from)
                             .add_(middle)
                             .sub_(from)
                             .mul_(inner)
                             .add_(wide.remainder(inner));
  return {row, outside};
}

at::Tensor EmbeddingPart(const at::Tensor& weight, const at::Tensor& indices,
                         at::IntArrayRef place) {
  const LookedUp found = LookUpInPart(indices, weight.size(0), place);
  at::Tensor rows = at::embedding(weight, found.rows.masked_fill(found.outside, 0));
  return rows.masked_fill_(found.outside.unsqueeze(-1), 0);
}

at::Tensor EmbeddingBackwardPart(const at::Tensor& grad, const at::Tensor& indices,
                                 int64_t num_weights, int64_t padding_idx, at::IntArrayRef place) {
  const LookedUp found = LookUpInPart(indices, num_weights, place);
  const at::Tensor none = found.outside.logical_or(indices.eq(padding_idx));
  // Padding is what the operator leaves out: here, a row behind the last.
  return at::embedding_dense_backward(grad, found.rows.masked_fill(none, num_weights), num_weights,
                                      num_weights, /*scale_grad_by_freq=*/false);
}

// In the place of a target whose class the part does not have.
constexpr int64_t kIgnored = -100;

// Of a part of the classes, whose scores these are.
at::Tensor TargetsInPart(const at::Tensor& scores, const at::Tensor& target, int64_t ignore_index,
                         at::IntArrayRef place) {
  const int64_t dimension = scores.dim() == 1 ? 0 : 1;
  const at::Tensor ignored = target.eq(ignore_index);
  const LookedUp found =
      LookUpInPart(target.masked_fill(ignored, 0), scores.size(dimension), place, dimension);
  return found.rows.masked_fill(found.outside.logical_or(ignored), kIgnored);
}

std::tuple<at::Tensor, at::Tensor> NllLossPart(const at::Tensor& scores, const at::Tensor& target,
                                               const c10::optional<at::Tensor>& weight,
                                               int64_t reduction, int64_t ignore_index,
                                               at::IntArrayRef place) {
  const at::Tensor own = TargetsInPart(scores, target, ignore_index, place);
  if (scores.dim() == 4) {
    return at::nll_loss2d_forward(scores, own, weight, reduction, kIgnored);
  }
  return at::nll_loss_forward(scores, own, weight, reduction, kIgnored);
}

at::Tensor NllLossBackwardPart(const at::Tensor& grad, const at::Tensor& scores,
                               const at::Tensor& target, const c10::optional<at::Tensor>& weight,
                               int64_t reduction, int64_t ignore_index,
                               const at::Tensor& total_weight, at::IntArrayRef place) {
  const at::Tensor own = TargetsInPart(scores, target, ignore_index, place);
  if (scores.dim() == 4) {
    return at::nll_loss2d_backward(grad, scores, own, weight, reduction, kIgnored, total_weight);
  }
  return at::nll_loss_backward(grad, scores, own, weight, reduction, kIgnored, total_weight);
}

}  // namespace

void RegisterVocabularyOps() {
  static const auto* const registered = [] {
    auto* const library = new torch::Library(torch::Library::FRAGMENT, "placewright", c10::nullopt,
                                             __FILE__, __LINE__);
    library->def("embedding_part(Tensor weight, Tensor indices, int[] place) -> Tensor");
    library->def(
        "embedding_dense_backward_part(Tensor grad, Tensor indices, int num_weights, "
        "int padding_idx, int[] place) -> Tensor");
    library->def(
        "nll_loss_part(Tensor self, Tensor target, Tensor? weight, int reduction, "
        "int ignore_index, int[] place) -> (Tensor output, Tensor total_weight)");
    library->def(
        "nll_loss_backward_part(Tensor grad_output, Tensor self, Tensor target, Tensor? weight, "
        "int reduction, int ignore_index, Tensor total_weight, int[] place) -> Tensor");
    auto* const kernels =
        new torch::Library(torch::Library::IMPL, "placewright",
                           c10::DispatchKey::CompositeExplicitAutograd, __FILE__, __LINE__);
    kernels->impl("embedding_part", EmbeddingPart);
    kernels->impl("embedding_dense_backward_part", EmbeddingBackwardPart);
    kernels->impl("nll_loss_part", NllLossPart);
    kernels->impl("nll_loss_backward_part", NllLossBackwardPart);
    return library;
  }();
  (void)registered;
}

}  // namespace placewright
