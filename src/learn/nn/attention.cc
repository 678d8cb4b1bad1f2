#include "learn/nn/attention.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <vector>

namespace placewright {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Elements of the activations that are made at a time: some megabytes.
constexpr int64_t kActivations = int64_t{1} << 20;

int64_t QueriesAtATime(const at::Tensor& keys) {
  return std::max<int64_t>(1, kActivations / std::max<int64_t>(1, keys.numel()));
}

// Calls body(part of the queries' range, activations for it).
template <class Body>
void InParts(const at::Tensor& keys, int64_t queries, const Body& body) {
  const int64_t most = QueriesAtATime(keys);
  for (int64_t begin = 0; begin < queries; begin += most) {
    const int64_t count = std::min(most, queries - begin);
    body(begin, count,
         at::empty({keys.size(0), count, keys.size(1), keys.size(2)}, keys.options()));
  }
}

class AttentionFunction : public torch::autograd::Function<AttentionFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& keys,
                            const at::Tensor& values, const at::Tensor& scores,
                            const at::Tensor& padding, const at::Tensor& queries) {
    const AttentionMemory memory{keys, values, scores, padding};
    std::vector<at::Tensor> weights;
    InParts(keys, queries.size(1), [&](int64_t begin, int64_t count, const at::Tensor& room) {
      weights.push_back(AttentionWeights(memory, queries.narrow(1, begin, count), room));
    });
    const at::Tensor all = at::cat(weights, 1);
    context->save_for_backward({keys, values, scores, padding, queries, all});
    return at::bmm(all, values);
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const AttentionMemory memory{saved[0], saved[1], saved[2], saved[3]};
    const at::Tensor &queries = saved[4], &weights = saved[5], &d_contexts = gradients[0];
    at::Tensor d_keys = at::zeros_like(memory.keys), d_scores = at::zeros_like(memory.scores);
    std::vector<at::Tensor> d_queries;
    InParts(memory.keys, queries.size(1), [&](int64_t begin, int64_t count, at::Tensor room) {
      d_queries.push_back(AttentionBackward(
          memory, queries.narrow(1, begin, count), weights.narrow(1, begin, count),
          d_contexts.narrow(1, begin, count), std::move(room), d_scores, d_keys));
    });
    return {d_keys, at::bmm(weights.transpose(1, 2), d_contexts), d_scores, at::Tensor(),
            at::cat(d_queries, 1)};
  }
};

// tanh(k_l + q) into `activations`.
void Activate(const at::Tensor& keys, const at::Tensor& queries, at::Tensor& activations) {
  at::add_out(activations, keys.unsqueeze(1), queries.unsqueeze(2));
  activations.tanh_();
}

}  // namespace

at::Tensor Attend(const AttentionMemory& memory, const at::Tensor& queries) {
  return AttentionFunction::apply(memory.keys, memory.values, memory.scores,
                                  memory.PaddingArgument(), queries);
}

at::Tensor AttentionMemory::PaddingArgument() const {
  return padding.defined() ? padding : at::empty({0}, keys.options());
}

at::Tensor AttentionWeights(const AttentionMemory& memory, const at::Tensor& queries,
                            at::Tensor activations) {
  Activate(memory.keys, queries, activations);
  const int64_t sequences = queries.size(0), count = queries.size(1);
  at::Tensor scores = at::mv(activations.view({-1, memory.scores.size(0)}), memory.scores)
                          .view({sequences, count, memory.keys.size(1)});
  if (memory.padding.defined() && memory.padding.numel() > 0) scores.add_(memory.padding);
  return at::softmax(scores, -1);
}

at::Tensor AttentionBackward(const AttentionMemory& memory, const at::Tensor& queries,
                             const at::Tensor& weights, const at::Tensor& d_contexts,
                             at::Tensor activations, at::Tensor d_scores, at::Tensor d_keys) {
  const at::Tensor d_weights = at::bmm(d_contexts, memory.values.transpose(1, 2));
  // Softmax: d_l = a_l (dw_l - sum_m a_m dw_m), [S, Q, L].
  const at::Tensor d = weights * (d_weights - (weights * d_weights).sum(-1, true));
  Activate(memory.keys, queries, activations);
  const at::Tensor flat = activations.view({-1, memory.scores.size(0)});
  d_scores.add_(at::mv(flat.t(), d.reshape({-1})));
  // tanh' = 1 - tanh^2.
  activations.square_().neg_().add_(1).mul_(d.unsqueeze(-1)).mul_(memory.scores);
  d_keys.add_(activations.sum(1));
  return activations.sum(2);
}

}  // namespace placewright
