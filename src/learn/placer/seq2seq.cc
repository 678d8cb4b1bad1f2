#include "learn/placer/seq2seq.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/check.h"

namespace placewright {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The logit of one of `devices` before the others' 0 at which they have `share` together; 0 where
// that is no preference.
double StayLogit(double share, int64_t devices) {
  const auto others = static_cast<double>(devices - 1);
  return share * (others + 1) >= others ? 0 : std::log(others * (1 - share) / share);
}

}  // namespace

Seq2SeqPlacer::Seq2SeqPlacer(int64_t inputs, int64_t devices, const Seq2SeqOptions& options,
                             const std::string& name, Parameters& parameters)
    : options_(options), devices_(devices) {
  const int64_t width = options.width;
  PW_CHECK(width > 0 && width % 2 == 0);
  forward_ = MakeLstm(name + ".encoder.forward", inputs, width / 2, parameters);
  backward_ = MakeLstm(name + ".encoder.backward", inputs, width / 2, parameters);
  const bool before = options.attention == Seq2SeqOptions::Attention::kBefore;
  const double limit = 1 / std::sqrt(static_cast<double>(width));
  keys_ = parameters.Glorot(name + ".attention.keys", options.attention_width, width);
  query_ = parameters.Glorot(name + ".attention.query", options.attention_width, width);
  scores_ = parameters.Uniform(name + ".attention.scores", {options.attention_width},
                               1 / std::sqrt(static_cast<double>(options.attention_width)));
  if (options.aligned) {
    aligned_ = parameters.Uniform(name + ".decoder.aligned", {4 * width, width}, limit);
  }
  bias_ = parameters.Constant(name + ".decoder.bias", {4 * width}, 0);
  before_ = parameters.Uniform(name + ".decoder.before", {devices + 1, 4 * width}, limit);
  recurrent_ = parameters.Uniform(name + ".decoder.recurrent",
                                  {4 * width, before ? 2 * width : width}, limit);
  output_ = parameters.Glorot(name + ".output", devices, before ? width : 2 * width);
  output_bias_ = parameters.Constant(name + ".output_bias", {devices}, 0);
  if (options.switches > 0) {
    transitions_ = parameters.Constant(name + ".transitions", {devices + 1, devices}, 0);
  }
}

Seq2SeqPlacer::Encoded Seq2SeqPlacer::Encode(const at::Tensor& embeddings) const {
  const int64_t sequences = embeddings.size(0), units = embeddings.size(1);
  Encoded encoded;
  encoded.units = units;
  const int64_t length = options_.segment == 0 ? units : std::min(options_.segment, units);
  encoded.segments = (units + length - 1) / length;
  const at::Tensor steps = embeddings.transpose(0, 1);  // [N, B, I]
  LstmState ahead = ZeroState(sequences, forward_), back = ZeroState(sequences, backward_);
  std::vector<at::Tensor> outputs, h, c;
  for (int64_t begin = 0; begin < units; begin += length) {
    const at::Tensor segment = steps.narrow(0, begin, std::min(length, units - begin));
    const LstmResult forward = RunLstm(forward_, segment, ahead);
    const LstmResult backward = RunLstm(backward_, segment, back, true);
    outputs.push_back(at::cat({forward.outputs, backward.outputs}, 2));
    ahead = forward.last;
    back = backward.last;
    h.push_back(at::cat({ahead.h, back.h}, 1));
    c.push_back(at::cat({ahead.c, back.c}, 1));
  }
  const int64_t missing = encoded.segments * length - units;
  if (missing > 0)
    outputs.push_back(outputs.front().new_zeros({missing, sequences, options_.width}));
  // [segments L, B, width] -> [B segments, L, width].
  const auto pieces = [&](const at::Tensor& x) {
    return x.view({encoded.segments, length, sequences, -1})
        .permute({2, 0, 1, 3})
        .reshape({sequences * encoded.segments, length, -1});
  };
  const at::Tensor values = pieces(at::cat(outputs, 0));
  encoded.memory = {at::matmul(values, keys_.t()), values, scores_, at::Tensor()};
  if (missing > 0) {
    at::Tensor padding = at::zeros({encoded.segments * length}, values.options());
    padding.narrow(0, units, missing).fill_(-kInfinity);
    encoded.memory.padding = padding.view({1, encoded.segments, length})
                                 .expand({sequences, encoded.segments, length})
                                 .reshape({sequences * encoded.segments, 1, length});
  }
  const auto starts = [&](const std::vector<at::Tensor>& states) {
    return at::stack(states, 1).reshape({sequences * encoded.segments, options_.width});
  };
  encoded.start = {starts(h), starts(c)};
  encoded.gates = options_.aligned
                      ? at::linear(values, aligned_, bias_).transpose(0, 1)
                      : bias_.expand({length, sequences * encoded.segments, 4 * options_.width});
  return encoded;
}

at::Tensor Seq2SeqPlacer::ToSegments(const Encoded& encoded, const at::Tensor& by_sequence) const {
  const int64_t sequences = by_sequence.size(0), repeats = by_sequence.size(1);
  const int64_t length = encoded.gates.size(0);
  const int64_t missing = encoded.segments * length - encoded.units;
  std::vector<int64_t> sizes = by_sequence.sizes().vec();
  at::Tensor padded = by_sequence;
  if (missing > 0) {
    sizes[2] = missing;
    padded = at::cat({by_sequence, by_sequence.new_zeros(sizes)}, 2);
  }
  std::vector<int64_t> cut = {sequences, repeats, encoded.segments, length};
  std::vector<int64_t> joined = {sequences * encoded.segments * repeats, length};
  cut.insert(cut.end(), sizes.begin() + 3, sizes.end());
  joined.insert(joined.end(), sizes.begin() + 3, sizes.end());
  return padded.reshape(cut).transpose(1, 2).reshape(joined);
}

at::Tensor Seq2SeqPlacer::FromSegments(const Encoded& encoded, const at::Tensor& by_segment) const {
  const int64_t length = encoded.gates.size(0);
  const int64_t sequences = encoded.memory.keys.size(0) / encoded.segments;
  const int64_t repeats = by_segment.size(0) / encoded.memory.keys.size(0);
  std::vector<int64_t> cut = {sequences, encoded.segments, repeats, length};
  std::vector<int64_t> joined = {sequences, repeats, encoded.segments * length};
  const std::vector<int64_t> rest = by_segment.sizes().slice(2).vec();
  cut.insert(cut.end(), rest.begin(), rest.end());
  joined.insert(joined.end(), rest.begin(), rest.end());
  return by_segment.reshape(cut).transpose(1, 2).reshape(joined).narrow(2, 0, encoded.units);
}

at::Tensor Seq2SeqPlacer::Score(const Encoded& encoded, const at::Tensor& h,
                                const at::Tensor& context, const at::Tensor& previous) const {
  at::Tensor logits =
      at::linear(context.defined() ? at::cat({h, context}, -1) : h, output_, output_bias_);
  if (options_.logit_bound > 0) logits = at::tanh(logits) * options_.logit_bound;
  if (!transitions_.defined()) return logits;
  const double stay = StayLogit(options_.switches / static_cast<double>(encoded.units), devices_);
  const at::Tensor first = at::eye(devices_ + 1, devices_, transitions_.options()) * stay;
  return logits + at::embedding(transitions_ + first, previous.contiguous());
}

at::Tensor Seq2SeqPlacer::Logits(const PlacerInputs& inputs, const at::Tensor& devices) const {
  const Encoded encoded = Encode(inputs.embeddings);
  const int64_t sequences = encoded.memory.keys.size(0), length = encoded.gates.size(0);
  const at::Tensor taken = ToSegments(encoded, devices);  // [rows, L]
  const int64_t rows = taken.size(0), repeats = rows / sequences;
  const at::Tensor none = taken.new_full({rows, 1}, devices_);
  const at::Tensor previous = at::cat({none, taken.narrow(1, 0, length - 1)}, 1).t();  // [L, rows]
  const at::Tensor of_units = encoded.gates.unsqueeze(2)
                                  .expand({length, sequences, repeats, 4 * options_.width})
                                  .reshape({length, rows, 4 * options_.width});
  const at::Tensor gates = of_units + at::embedding(before_, previous.contiguous());
  const LstmState start = {encoded.start.h.repeat_interleave(repeats, 0),
                           encoded.start.c.repeat_interleave(repeats, 0)};
  at::Tensor h, context;  // [L, rows, width]
  if (options_.attention == Seq2SeqOptions::Attention::kBefore) {
    h = RunAttentionDecoder(decoder(), encoded.memory, gates, start);
  } else {
    h = RunLstmOnGates(recurrent_, gates, start).outputs;
    const at::Tensor queries = at::matmul(h, query_.t())
                                   .view({length, sequences, repeats, -1})
                                   .permute({1, 0, 2, 3})
                                   .reshape({sequences, length * repeats, -1});
    context = Attend(encoded.memory, queries)
                  .view({sequences, length, repeats, -1})
                  .permute({1, 0, 2, 3})
                  .reshape({length, rows, -1});
  }
  const at::Tensor scores = Score(encoded, h, context, previous);
  const at::Tensor logits = FromSegments(encoded, scores.transpose(0, 1));
  return logits + inputs.forbidden;
}

at::Tensor Seq2SeqPlacer::Sample(const PlacerInputs& inputs, const at::Tensor& noise) const {
  const at::NoGradGuard no_gradients;
  const Encoded encoded = Encode(inputs.embeddings);
  const int64_t sequences = encoded.memory.keys.size(0), length = encoded.gates.size(0);
  const int64_t repeats = noise.size(1);
  // What is added to the logits: the noise, and where a unit may not lie.
  const at::Tensor added = ToSegments(encoded, noise + inputs.forbidden);  // [rows, L, devices]
  const int64_t rows = added.size(0);
  LstmState state = {encoded.start.h.repeat_interleave(repeats, 0),
                     encoded.start.c.repeat_interleave(repeats, 0)};
  at::Tensor previous =
      at::full({rows}, devices_, at::TensorOptions(noise.device()).dtype(at::kLong));
  std::vector<at::Tensor> drawn;
  const bool before = options_.attention == Seq2SeqOptions::Attention::kBefore;
  const PackedDecoder packed(decoder());
  for (int64_t t = 0; t < length; ++t) {
    at::Tensor gates =
        encoded.gates[t].repeat_interleave(repeats, 0) + before_.index_select(0, previous);
    at::Tensor context;
    if (before) {
      StepAttentionDecoder(packed, encoded.memory, gates, state);
    } else {
      StepLstm(packed.recurrent, gates, state);
      const at::Tensor query = at::mm(state.h, query_.t()).view({sequences, repeats, -1});
      context = Attend(encoded.memory, query).view({rows, -1});
    }
    previous = (Score(encoded, state.h, context, previous) + added.select(1, t)).argmax(-1);
    drawn.push_back(previous);
  }
  return FromSegments(encoded, at::stack(drawn, 1)).contiguous();
}

}  // namespace placewright
