#include "learn/nn/attention.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <vector>

#include "learn/nn/kernels/kernels.h"
#include "learn/nn/packed_matrix.h"

namespace placewright {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Elements of the activations that are made at a time: some megabytes.
constexpr int64_t kActivations = int64_t{1} << 20;

// Calls body(begin, count) for parts of the queries whose activations are few enough.
template <class Body>
void InParts(const at::Tensor& keys, int64_t queries, const Body& body) {
  const int64_t most = std::max<int64_t>(1, kActivations / std::max<int64_t>(1, keys.numel()));
  for (int64_t begin = 0; begin < queries; begin += most) {
    body(begin, std::min(most, queries - begin));
  }
}

// Widths that the kernels take.
bool KernelsTake(const AttentionMemory& memory) {
  return HasKernels(memory.keys) && memory.keys.size(2) % 16 == 0;
}

// Row [s, q] of `queries`, [s] of `keys`.
template <class Body>
void ForEachQuery(const at::Tensor& queries, const Body& body) {
  for (int64_t s = 0; s < queries.size(0); ++s) {
    for (int64_t q = 0; q < queries.size(1); ++q) body(s, s * queries.size(1) + q);
  }
}

class AttentionFunction : public torch::autograd::Function<AttentionFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& keys,
                            const at::Tensor& values, const at::Tensor& scores,
                            const at::Tensor& padding, const at::Tensor& queries) {
    const AttentionMemory memory{keys, values, scores, padding};
    std::vector<at::Tensor> weights;
    InParts(keys, queries.size(1), [&](int64_t begin, int64_t count) {
      weights.push_back(AttentionWeights(memory, queries.narrow(1, begin, count)));
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
    InParts(memory.keys, queries.size(1), [&](int64_t begin, int64_t count) {
      d_queries.push_back(AttentionBackward(memory, queries.narrow(1, begin, count),
                                            weights.narrow(1, begin, count),
                                            d_contexts.narrow(1, begin, count), d_scores, d_keys));
    });
    return {d_keys, at::bmm(weights.transpose(1, 2), d_contexts), d_scores, at::Tensor(),
            at::cat(d_queries, 1)};
  }
};

// tanh(k_l + q), [S, Q, L, A].
at::Tensor Activations(const at::Tensor& keys, const at::Tensor& queries) {
  return at::add(keys.unsqueeze(1), queries.unsqueeze(2)).tanh_();
}

}  // namespace

at::Tensor Attend(const AttentionMemory& memory, const at::Tensor& queries) {
  return AttentionFunction::apply(memory.keys, memory.values, memory.scores,
                                  memory.PaddingArgument(), queries);
}

at::Tensor AttentionMemory::PaddingArgument() const {
  return padding.defined() ? padding : at::empty({0}, keys.options());
}

at::Tensor AttentionWeights(const AttentionMemory& memory, const at::Tensor& queries) {
  const int64_t sequences = queries.size(0), count = queries.size(1), length = memory.keys.size(1);
  const int64_t width = memory.keys.size(2);
  at::Tensor scores;
  if (KernelsTake(memory)) {
    scores = at::empty({sequences, count, length}, queries.options());
    const at::Tensor keys = memory.keys.contiguous(), rows = queries.contiguous();
    ForEachQuery(queries, [&](int64_t s, int64_t row) {
      kernels::AttentionScores(
          keys.data_ptr<float>() + s * length * width, rows.data_ptr<float>() + row * width,
          memory.scores.data_ptr<float>(), length, width, scores.data_ptr<float>() + row * length);
    });
  } else {
    scores = at::matmul(Activations(memory.keys, queries), memory.scores);
  }
  if (memory.padding.defined() && memory.padding.numel() > 0) scores.add_(memory.padding);
  return at::softmax(scores, -1);
}

at::Tensor AttentionBackward(const AttentionMemory& memory, const at::Tensor& queries,
                             const at::Tensor& weights, const at::Tensor& d_contexts,
                             at::Tensor d_scores, at::Tensor d_keys) {
  const at::Tensor d_weights = at::bmm(d_contexts, memory.values.transpose(1, 2));
  // Softmax: d_l = a_l (dw_l - sum_m a_m dw_m), [S, Q, L].
  const at::Tensor d = weights * (d_weights - (weights * d_weights).sum(-1, true));
  if (KernelsTake(memory) && d_keys.is_contiguous()) {
    const int64_t length = memory.keys.size(1), width = memory.keys.size(2);
    const at::Tensor keys = memory.keys.contiguous(), rows = queries.contiguous();
    at::Tensor d_queries = at::zeros(queries.sizes(), queries.options());
    ForEachQuery(queries, [&](int64_t s, int64_t row) {
      kernels::AttentionScoresBackward(
          keys.data_ptr<float>() + s * length * width, rows.data_ptr<float>() + row * width,
          memory.scores.data_ptr<float>(), d.data_ptr<float>() + row * length, length, width,
          d_queries.data_ptr<float>() + row * width, d_keys.data_ptr<float>() + s * length * width,
          d_scores.data_ptr<float>());
    });
    return d_queries;
  }
  at::Tensor activations = Activations(memory.keys, queries);
  const at::Tensor flat = activations.view({-1, memory.scores.size(0)});
  d_scores.add_(at::mv(flat.t(), d.reshape({-1})));
  // tanh' = 1 - tanh^2.
  activations.square_().neg_().add_(1).mul_(d.unsqueeze(-1)).mul_(memory.scores);
  d_keys.add_(activations.sum(1));
  return activations.sum(2);
}

}  // namespace placewright
