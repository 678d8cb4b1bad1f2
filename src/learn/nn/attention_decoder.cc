#include "learn/nn/attention_decoder.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include "learn/nn/lstm_cell.h"

namespace placewright {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

class DecoderFunction : public torch::autograd::Function<DecoderFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& gates_in,
                            const at::Tensor& recurrent, const at::Tensor& query,
                            const at::Tensor& keys, const at::Tensor& values,
                            const at::Tensor& scores, const at::Tensor& padding,
                            const at::Tensor& h_start, const at::Tensor& c_start) {
    const AttentionMemory memory{keys, values, scores, padding};
    const int64_t steps = gates_in.size(0), rows = gates_in.size(1), sequences = keys.size(0);
    const int64_t repeats = rows / sequences, depth = values.size(2), width = h_start.size(1);
    at::Tensor gates = gates_in.clone();
    at::Tensor weights = at::empty({steps, sequences, repeats, keys.size(1)}, gates_in.options());
    at::Tensor queries = at::zeros({steps, rows, query.size(0)}, gates_in.options());
    // What enters step t: context_t, h_(t-1).
    at::Tensor entering = at::empty({steps + 1, rows, depth + width}, gates_in.options());
    at::Tensor c = at::empty({steps + 1, rows, width}, gates_in.options());
    entering[0].narrow(1, depth, width).copy_(h_start);
    c[0].copy_(c_start);
    const PackedMatrix by_recurrent(recurrent.t()), by_query(query.t());
    at::Tensor h = at::empty({rows, width}, gates_in.options());
    h.copy_(h_start);
    for (int64_t t = 0; t < steps; ++t) {
      at::Tensor q = queries[t];
      by_query.AddProduct(h, q);
      at::Tensor a = weights[t];
      a.copy_(AttentionWeights(memory, q.view({sequences, repeats, -1})));
      at::Tensor entered = entering[t];
      entered.narrow(1, 0, depth).copy_(at::bmm(a, values).view({rows, depth}));
      at::Tensor z = gates[t];
      by_recurrent.AddProduct(entered, z);
      LstmCellForward(z, c[t], c[t + 1], h);
      entering[t + 1].narrow(1, depth, width).copy_(h);
    }
    context->save_for_backward(
        {recurrent, query, keys, values, scores, padding, gates, weights, queries, entering, c});
    return entering.slice(0, 1).narrow(2, depth, width).contiguous();
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &recurrent = saved[0], &query = saved[1];
    const AttentionMemory memory{saved[2], saved[3], saved[4], saved[5]};
    const at::Tensor &gates = saved[6], &weights = saved[7], &queries = saved[8];
    const at::Tensor &entering = saved[9], &c = saved[10];
    const int64_t steps = gates.size(0), rows = gates.size(1), sequences = memory.keys.size(0);
    const int64_t repeats = rows / sequences, depth = memory.values.size(2);
    const int64_t width = c.size(2);
    at::Tensor dz = at::empty(gates.sizes(), gates.options()),
               d_queries = at::empty(queries.sizes(), queries.options());
    at::Tensor d_contexts = at::empty({steps, sequences, repeats, depth}, gates.options());
    at::Tensor d_keys = at::zeros_like(memory.keys), d_scores = at::zeros_like(memory.scores);
    at::Tensor dh = at::zeros({rows, width}, gates.options()), dc = at::zeros_like(dh);
    const PackedMatrix by_recurrent(recurrent), by_query(query);
    at::Tensor d_entered = at::empty({rows, depth + width}, gates.options());
    for (int64_t t = steps - 1; t >= 0; --t) {
      dh.add_(gradients[0][t]);
      at::Tensor dz_t = dz[t];
      LstmCellBackward(gates[t], c[t], c[t + 1], dh, dc, dz_t);
      d_entered.zero_();
      by_recurrent.AddProduct(dz_t, d_entered);
      at::Tensor d_context = d_contexts[t];
      d_context.copy_(d_entered.narrow(1, 0, depth).reshape({sequences, repeats, depth}));
      at::Tensor d_query = d_queries[t];
      d_query.copy_(AttentionBackward(memory, queries[t].view({sequences, repeats, -1}), weights[t],
                                      d_context, d_scores, d_keys)
                        .view({rows, -1}));
      dh.copy_(d_entered.narrow(1, depth, width));
      by_query.AddProduct(d_query, dh);
    }
    const int64_t all = steps * rows;
    const at::Tensor entered = entering.slice(0, 0, steps).reshape({all, depth + width});
    // Of one sequence at all steps: [S, T R, ...].
    const auto by_sequence = [&](const at::Tensor& x) {
      return x.transpose(0, 1).reshape({sequences, steps * repeats, -1});
    };
    return {dz,
            at::mm(dz.view({all, -1}).t(), entered),
            at::mm(d_queries.view({all, -1}).t(), entered.narrow(1, depth, width)),
            d_keys,
            at::bmm(by_sequence(weights).transpose(1, 2), by_sequence(d_contexts)),
            d_scores,
            at::Tensor(),
            dh,
            dc};
  }
};

}  // namespace

at::Tensor RunAttentionDecoder(const AttentionDecoderWeights& weights,
                               const AttentionMemory& memory, const at::Tensor& gates,
                               const LstmState& start) {
  return DecoderFunction::apply(gates, weights.recurrent, weights.query, memory.keys, memory.values,
                                memory.scores, memory.PaddingArgument(), start.h, start.c);
}

void StepAttentionDecoder(const PackedDecoder& weights, const AttentionMemory& memory,
                          at::Tensor gates, LstmState& state) {
  const int64_t sequences = memory.keys.size(0), repeats = gates.size(0) / sequences;
  at::Tensor query = at::zeros({gates.size(0), memory.keys.size(2)}, gates.options());
  weights.query.AddProduct(state.h, query);
  const at::Tensor a = AttentionWeights(memory, query.view({sequences, repeats, -1}));
  const at::Tensor context = at::bmm(a, memory.values).view({gates.size(0), -1});
  weights.recurrent.AddProduct(at::cat({context, state.h}, 1), gates);
  at::Tensor c = at::empty_like(state.c), h = at::empty_like(state.h);
  LstmCellForward(gates, state.c, c, h);
  state = {h, c};
}

}  // namespace placewright
