#include "capture/zoo/blocks/transformer.h"

#include <c10/util/Exception.h>

#include <cmath>
#include <limits>

namespace placewright {

MultiHeadAttention::MultiHeadAttention(int64_t hidden, int64_t heads)
    : heads_(heads), head_width_(hidden / heads) {
  query_ = Add<Linear>("query", hidden, hidden);
  key_ = Add<Linear>("key", hidden, hidden);
  value_ = Add<Linear>("value", hidden, hidden);
  output_ = Add<Linear>("output", hidden, hidden);
}

at::Tensor MultiHeadAttention::Forward(const at::Tensor& asking, const at::Tensor& seen,
                                       const at::Tensor& mask) {
  const ModuleScope scope = Enter();
  // [batch, tokens, hidden] -> [batch, heads, tokens, hidden / heads]
  const auto by_heads = [&](const at::Tensor& x) {
    return x.view({x.size(0), x.size(1), heads_, head_width_}).transpose(1, 2);
  };
  const at::Tensor query = by_heads(query_->Forward(asking)), key = by_heads(key_->Forward(seen)),
                   value = by_heads(value_->Forward(seen));
  at::Tensor scores = at::matmul(query, key.transpose(-1, -2));
  scores = scores / std::sqrt(static_cast<double>(head_width_));
  if (mask.defined()) scores = scores + mask;
  const at::Tensor mixed = at::matmul(at::softmax(scores, -1), value);
  return output_->Forward(mixed.transpose(1, 2).contiguous().view(asking.sizes()));
}

FeedForward::FeedForward(int64_t hidden, int64_t inner) {
  inner_ = Add<Linear>("inner", hidden, inner);
  output_ = Add<Linear>("output", inner, hidden);
}

at::Tensor FeedForward::Forward(const at::Tensor& x) {
  const ModuleScope scope = Enter();
  return output_->Forward(at::relu(inner_->Forward(x)));
}

at::Tensor CausalMask(int64_t tokens) {
  constexpr double kNever = -std::numeric_limits<double>::infinity();
  return at::full({tokens, tokens}, kNever).triu(1);
}

at::Tensor PositionalEncoding(int64_t tokens, int64_t hidden) {
  const at::Tensor pairs = at::arange(0, hidden, 2, at::kFloat);
  const at::Tensor rates = (pairs * (-std::log(10000.0) / static_cast<double>(hidden))).exp();
  const at::Tensor angles = at::arange(tokens, at::kFloat).unsqueeze(1) * rates;
  return at::stack({angles.sin(), angles.cos()}, 2).flatten(1).slice(1, 0, hidden).contiguous();
}

}  // namespace placewright
