#include "learn/nn/lstm.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include "learn/nn/lstm_cell.h"

namespace placewright {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

class LstmFunction : public torch::autograd::Function<LstmFunction> {
 public:
  static variable_list forward(AutogradContext* context, const at::Tensor& gates_in,
                               const at::Tensor& weight, const at::Tensor& h_start,
                               const at::Tensor& c_start, bool reversed) {
    const int64_t steps = gates_in.size(0), batch = gates_in.size(1), width = weight.size(1);
    at::Tensor gates = gates_in.clone(at::MemoryFormat::Contiguous);
    // h and c before the first step, then after every step in the order in which they are taken.
    at::Tensor h = at::empty({steps + 1, batch, width}, gates.options());
    at::Tensor c = at::empty_like(h);
    h[0].copy_(h_start);
    c[0].copy_(c_start);
    const PackedMatrix hidden(weight.t());
    for (int64_t k = 0; k < steps; ++k) {
      at::Tensor z = gates[reversed ? steps - 1 - k : k];
      hidden.AddProduct(h[k], z);
      LstmCellForward(z, c[k], c[k + 1], h[k + 1]);
    }
    context->save_for_backward({weight, gates, h, c});
    context->saved_data["reversed"] = reversed;
    const at::Tensor taken = h.slice(0, 1);
    return {reversed ? taken.flip(0) : taken.clone(), h[steps].clone(), c[steps].clone()};
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &weight = saved[0], &gates = saved[1], &h = saved[2], &c = saved[3];
    const bool reversed = context->saved_data["reversed"].toBool();
    const int64_t steps = gates.size(0), batch = gates.size(1), width = weight.size(1);
    const auto or_zero = [&](const at::Tensor& gradient) {
      return gradient.defined() ? gradient.clone(at::MemoryFormat::Contiguous)
                                : at::zeros({batch, width}, gates.options());
    };
    at::Tensor dh = or_zero(gradients[1]), dc = or_zero(gradients[2]);
    at::Tensor dz = at::empty(gates.sizes(), gates.options());
    const PackedMatrix hidden(weight);
    for (int64_t k = steps - 1; k >= 0; --k) {
      const int64_t t = reversed ? steps - 1 - k : k;
      if (gradients[0].defined()) dh.add_(gradients[0][t]);
      at::Tensor dz_t = dz[t];
      LstmCellBackward(gates[t], c[k], c[k + 1], dh, dc, dz_t);
      dh.zero_();
      hidden.AddProduct(dz_t, dh);
    }
    at::Tensor before = h.slice(0, 0, steps);
    if (reversed) before = before.flip(0);
    const at::Tensor rows = dz.view({steps * batch, 4 * width});
    return {dz, at::mm(rows.t(), before.reshape({steps * batch, width})), dh, dc, at::Tensor()};
  }
};

}  // namespace

void LstmCellForward(at::Tensor gates, const at::Tensor& c_before, at::Tensor c, at::Tensor h) {
  const int64_t width = c.size(-1);
  gates.narrow(-1, 0, 2 * width).sigmoid_();
  gates.narrow(-1, 2 * width, width).tanh_();
  gates.narrow(-1, 3 * width, width).sigmoid_();
  at::mul_out(c, gates.narrow(-1, width, width), c_before);
  c.addcmul_(gates.narrow(-1, 0, width), gates.narrow(-1, 2 * width, width));
  at::tanh_out(h, c);
  h.mul_(gates.narrow(-1, 3 * width, width));
}

void LstmCellBackward(const at::Tensor& gates, const at::Tensor& c_before, const at::Tensor& c,
                      const at::Tensor& dh, at::Tensor dc, at::Tensor dz) {
  const int64_t width = c.size(-1);
  const at::Tensor i = gates.narrow(-1, 0, width), f = gates.narrow(-1, width, width);
  const at::Tensor g = gates.narrow(-1, 2 * width, width), o = gates.narrow(-1, 3 * width, width);
  at::Tensor di = dz.narrow(-1, 0, width), df = dz.narrow(-1, width, width);
  at::Tensor dg = dz.narrow(-1, 2 * width, width), d_o = dz.narrow(-1, 3 * width, width);
  const at::Tensor tanh_c = at::tanh(c);
  at::mul_out(d_o, dh, tanh_c);
  // tanh' = 1 - tanh^2: dc += dh o (1 - tanh(c)^2).
  dc.add_(at::tanh_backward(dh * o, tanh_c));
  at::mul_out(di, dc, g);
  at::mul_out(dg, dc, i);
  at::mul_out(df, dc, c_before);
  dc.mul_(f);
  // sigmoid' = s (1 - s), through the activated values.
  at::sigmoid_backward_out(di, di, i);
  at::sigmoid_backward_out(df, df, f);
  at::tanh_backward_out(dg, dg, g);
  at::sigmoid_backward_out(d_o, d_o, o);
}

LstmWeights MakeLstm(const std::string& name, int64_t inputs, int64_t width,
                     Parameters& parameters) {
  // LibTorch's: uniform in 1 / sqrt(width).
  const double limit = 1 / std::sqrt(static_cast<double>(width));
  return {parameters.Uniform(name + ".input", {4 * width, inputs}, limit),
          parameters.Uniform(name + ".hidden", {4 * width, width}, limit),
          parameters.Constant(name + ".bias", {4 * width}, 0)};
}

LstmResult RunLstm(const LstmWeights& weights, const at::Tensor& inputs, const LstmState& start,
                   bool reversed) {
  return RunLstmOnGates(weights.hidden, at::linear(inputs, weights.input, weights.bias), start,
                        reversed);
}

LstmResult RunLstmOnGates(const at::Tensor& hidden_weight, const at::Tensor& gates,
                          const LstmState& start, bool reversed) {
  const variable_list results =
      LstmFunction::apply(gates, hidden_weight, start.h, start.c, reversed);
  return {results[0], {results[1], results[2]}};
}

LstmState ZeroState(int64_t batch, const LstmWeights& weights) {
  const at::Tensor zeros = at::zeros({batch, weights.width()}, weights.bias.options());
  return {zeros, zeros};
}

void StepLstm(const PackedMatrix& hidden, at::Tensor gates, LstmState& state) {
  hidden.AddProduct(state.h, gates);
  at::Tensor c = at::empty_like(state.c), h = at::empty_like(state.h);
  LstmCellForward(gates, state.c, c, h);
  state = {h, c};
}

}  // namespace placewright
