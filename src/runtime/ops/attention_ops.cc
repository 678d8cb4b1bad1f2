#include "runtime/ops/attention_ops.h"

#include <torch/library.h>

#include <cmath>
#include <limits>
#include <utility>

namespace placewright {
namespace {

// The CPU's kernel adds up in float32 what has fewer bits.
at::ScalarType SumType(const at::Tensor& of) {
  return of.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

double ScaleOf(const at::Tensor& query, const TorchOptional<double>& scale) {
  return scale.has_value() ? *scale : 1 / std::sqrt(static_cast<double>(query.size(-1)));
}

// [batch heads queries keys]
at::Tensor Scores(const at::Tensor& query, const at::Tensor& key, const AttentionMask& given) {
  at::Tensor scores = at::matmul(query, key.transpose(-2, -1)) * ScaleOf(query, given.scale);
  if (given.causal) {
    const at::Tensor later =
        at::ones({query.size(-2), key.size(-2)}, query.options().dtype(at::kBool))
            .triu(given.first + 1);
    scores = scores.masked_fill(later, -std::numeric_limits<double>::infinity());
  }
  const TorchOptional<at::Tensor>& mask = given.mask;
  if (!mask.has_value() || !mask->defined()) return scores;
  if (mask->scalar_type() != at::kBool) return scores + mask->to(scores.scalar_type());
  return scores.masked_fill(mask->logical_not(), -std::numeric_limits<double>::infinity());
}

// Keys and values that several heads of queries share (grouped queries), for each of these.
at::Tensor ForHeads(const at::Tensor& of, const at::Tensor& query, at::ScalarType type) {
  const int64_t heads = query.size(1), own = of.size(1);
  TORCH_CHECK(own > 0 && heads % own == 0,
              "heads of keys and values do not divide those of queries");
  return heads == own ? of.to(type) : of.to(type).repeat_interleave(heads / own, 1);
}
// The gradient of one of these, of what was made for each head.
at::Tensor SumForHeads(const at::Tensor& grad, const at::Tensor& of) {
  if (grad.size(1) == of.size(1)) return grad;
  return grad.unflatten(1, at::IntArrayRef({of.size(1), -1})).sum(2);
}

// As the kernels lay out gradients of [batch heads places width]: heads behind places. Their output lies as the query
// does.
at::Tensor HeadsInside(const at::Tensor& value, at::ScalarType type) {
  return value.transpose(1, 2).to(type).contiguous().transpose(1, 2);
}

// Of rows without any key: 0.
at::Tensor SharesOf(const at::Tensor& scores, const at::Tensor& logsumexp) {
  return (scores - logsumexp.unsqueeze(-1)).exp().nan_to_num(0);
}

}  // namespace

std::tuple<at::Tensor, at::Tensor> AttentionByProducts(const at::Tensor& query,
                                                       const at::Tensor& key,
                                                       const at::Tensor& value,
                                                       const AttentionMask& mask) {
  const at::ScalarType type = SumType(query);
  const at::Tensor scores = Scores(query.to(type), ForHeads(key, query, type), mask);
  const at::Tensor sums = at::logsumexp(scores, {-1});
  const at::Tensor output = at::matmul(SharesOf(scores, sums), ForHeads(value, query, type));
  at::Tensor laid_out = output.sizes() == query.sizes() ? at::empty_like(query).copy_(output)
                                                        : HeadsInside(output, query.scalar_type());
  return {std::move(laid_out), HeadsInside(sums, type)};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> AttentionBackwardByProducts(
    const at::Tensor& grad_out, const at::Tensor& query, const at::Tensor& key,
    const at::Tensor& value, const at::Tensor& out, const at::Tensor& logsumexp,
    const AttentionMask& mask) {
  const at::ScalarType type = SumType(query);
  const at::Tensor grad = grad_out.to(type);
  const at::Tensor keys = ForHeads(key, query, type), values = ForHeads(value, query, type);
  const at::Tensor shares = SharesOf(Scores(query.to(type), keys, mask), logsumexp.to(type));
  const at::Tensor of_shares = at::matmul(grad, values.transpose(-2, -1));
  // sum_k shares_k of_shares_k of a row is what its output and the gradient of that give.
  const at::Tensor mean = (grad * out.to(type)).sum(-1, /*keepdim=*/true);
  const at::Tensor of_scores = shares * (of_shares - mean) * ScaleOf(query, mask.scale);
  const at::Tensor of_keys = at::matmul(of_scores.transpose(-2, -1), query.to(type)),
                   of_values = at::matmul(shares.transpose(-2, -1), grad);
  return {HeadsInside(at::matmul(of_scores, keys), query.scalar_type()),
          HeadsInside(SumForHeads(of_keys, key), key.scalar_type()),
          HeadsInside(SumForHeads(of_values, value), value.scalar_type())};
}

namespace {

// The first of the part's places, of [2, 1, size, from, to]: all places are `size` runs of equal length.
int64_t FirstOf(at::IntArrayRef place, const at::Tensor& query, const at::Tensor& key) {
  const bool runs = place.size() == 5 && place[0] == 2 && place[1] == 1 && place[2] > 0 &&
                    key.size(-2) % place[2] == 0 && place[3] >= 0 && place[4] <= place[2];
  const int64_t run = runs ? key.size(-2) / place[2] : 0;
  TORCH_CHECK(runs && (place[4] - place[3]) * run == query.size(-2), "no place of ", query.size(-2),
              " queries among ", key.size(-2), " keys");
  return place[3] * run;
}

void CheckIsOfAPart(double dropout_p, bool is_causal, const TorchOptional<at::Tensor>& mask) {
  TORCH_CHECK(dropout_p == 0 && is_causal && !(mask.has_value() && mask->defined()),
              "a part of attention under a causal mask has no dropout and no other mask");
}

std::tuple<at::Tensor, at::Tensor> CausalPart(const at::Tensor& query, const at::Tensor& key,
                                              const at::Tensor& value, double dropout_p,
                                              bool is_causal, at::IntArrayRef place,
                                              const TorchOptional<at::Tensor>& attn_mask,
                                              TorchOptional<double> scale) {
  CheckIsOfAPart(dropout_p, is_causal, attn_mask);
  return AttentionByProducts(query, key, value, {true, FirstOf(place, query, key), {}, scale});
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> CausalBackwardPart(
    const at::Tensor& grad_out, const at::Tensor& query, const at::Tensor& key,
    const at::Tensor& value, const at::Tensor& out, const at::Tensor& logsumexp, double dropout_p,
    bool is_causal, at::IntArrayRef place, const TorchOptional<at::Tensor>& attn_mask,
    TorchOptional<double> scale) {
  CheckIsOfAPart(dropout_p, is_causal, attn_mask);
  return AttentionBackwardByProducts(grad_out, query, key, value, out, logsumexp,
                                     {true, FirstOf(place, query, key), {}, scale});
}

}  // namespace

void RegisterAttentionOps() {
  static const auto* const registered = [] {
    auto* const library = new torch::Library(torch::Library::FRAGMENT, "placewright", c10::nullopt,
                                             __FILE__, __LINE__);
    library->def(
        "causal_attention_part(Tensor query, Tensor key, Tensor value, float dropout_p, "
        "bool is_causal, int[] place, *, Tensor? attn_mask=None, float? scale=None) -> "
        "(Tensor output, Tensor logsumexp)");
    library->def(
        "causal_attention_backward_part(Tensor grad_out, Tensor query, Tensor key, Tensor value, "
        "Tensor out, Tensor logsumexp, float dropout_p, bool is_causal, int[] place, *, "
        "Tensor? attn_mask=None, float? scale=None) -> "
        "(Tensor grad_query, Tensor grad_key, Tensor grad_value)");
    auto* const kernels =
        new torch::Library(torch::Library::IMPL, "placewright",
                           c10::DispatchKey::CompositeExplicitAutograd, __FILE__, __LINE__);
    kernels->impl("causal_attention_part", CausalPart);
    kernels->impl("causal_attention_backward_part", CausalBackwardPart);
    return library;
  }();
  (void)registered;
}

}  // namespace placewright
