// ONNX: products of matrices, Einstein sums, convolutions, whole recurrent layers.
#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "sharding/rules/forms.h"

namespace placewright {
namespace {

// "...mk,...kn->...mn" with the dots broadcast; a vector has no m, or no n.
void OnnxMatMul(RuleMaker& maker) {
  if (maker.input_count() != 2 || maker.output_count() != 1) return maker.Fail();
  const std::vector<int64_t>&a = maker.in(0), &b = maker.in(1), &y = maker.out(0);
  if (a.empty() || b.empty()) return maker.Fail();
  const bool has_m = a.size() > 1, has_n = b.size() > 1;
  const size_t inner = (has_m ? 1u : 0u) + (has_n ? 1u : 0u);
  if (y.size() < inner) return maker.Fail();
  const auto outer_of = [](const std::vector<int64_t>& shape, size_t last) {
    return std::vector<int64_t>(shape.begin(), shape.end() - static_cast<std::ptrdiff_t>(last));
  };
  const std::vector<int64_t> outer = outer_of(y, inner);
  const TensorAxes axes = maker.AxesOf(outer);
  const RuleAxisId k = maker.Axis(a.back(), Parts::kSum);
  maker.input(0) = maker.Broadcast(outer_of(a, has_m ? 2 : 1), axes, outer);
  maker.input(1) = maker.Broadcast(outer_of(b, has_n ? 2 : 1), axes, outer);
  maker.output(0) = axes;
  if (has_m) {
    const RuleAxisId m = maker.Axis(a[a.size() - 2]);
    maker.input(0).push_back({m});
    maker.output(0).push_back({m});
  }
  maker.input(0).push_back({k});
  maker.input(1).push_back({k});
  if (has_n) {
    const RuleAxisId n = maker.Axis(b.back());
    maker.input(1).push_back({n});
    maker.output(0).push_back({n});
  }
  maker.rule().linear = {{0}, {1}};
}

// Gemm(A, B, C?): either matrix may stand transposed; C is broadcast to the product.
void OnnxGemm(RuleMaker& maker) {
  if (maker.input_count() < 2 || maker.input_count() > 3 || maker.output_count() != 1 ||
      maker.in(0).size() != 2 || maker.in(1).size() != 2 || maker.out(0).size() != 2) {
    return maker.Fail();
  }
  const bool a_turned = maker.Flag(kByName, "transA", false);
  const bool b_turned = maker.Flag(kByName, "transB", false);
  const RuleAxisId m = maker.Axis(maker.out(0)[0]), n = maker.Axis(maker.out(0)[1]);
  const RuleAxisId k = maker.Axis(maker.in(0)[a_turned ? 0 : 1], Parts::kSum);
  maker.input(0) = {{a_turned ? k : m}, {a_turned ? m : k}};
  maker.input(1) = {{b_turned ? n : k}, {b_turned ? k : n}};
  maker.output(0) = {{m}, {n}};
  maker.rule().linear = {{0}, {1}};
  if (maker.input_count() == 3) AddOnce(maker, 2);
}

// The letters of every tensor of "ij, jk -> ik", the output's last. Nothing where a letter stands twice in
// one of them, or dots stand for dimensions.
std::optional<std::vector<std::string>> EinsumTerms(const std::string& equation) {
  std::vector<std::string> terms(1);
  bool has_output = false;
  for (size_t i = 0; i < equation.size(); ++i) {
    const char c = equation[i];
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (letter && terms.back().find(c) == std::string::npos) {
      terms.back() += c;
    } else if (c == ',' && !has_output) {
      terms.emplace_back();
    } else if (c == '-' && !has_output && i + 1 < equation.size() && equation[i + 1] == '>') {
      terms.emplace_back();
      has_output = true;
      ++i;
    } else if (c != ' ') {
      return std::nullopt;
    }
  }
  if (has_output) return terms;
  // Without an arrow the output has the letters that stand once, in their order.
  std::map<char, int> count;
  for (const std::string& term : terms) {
    for (const char letter : term) ++count[letter];
  }
  std::string output;
  for (const auto& [letter, times] : count) {
    if (times == 1) output += letter;
  }
  terms.push_back(std::move(output));
  return terms;
}

void OnnxEinsum(RuleMaker& maker) {
  const Value* const stated = maker.Argument(kByName, "equation");
  const std::string* const equation = stated == nullptr ? nullptr : stated->AsString();
  if (equation == nullptr || maker.output_count() != 1) return maker.Fail();
  const auto terms = EinsumTerms(*equation);
  if (!terms || terms->size() != maker.input_count() + 1) return maker.Fail();
  std::map<char, int64_t> sizes;
  for (size_t i = 0; i < maker.input_count(); ++i) {
    const std::string& term = (*terms)[i];
    if (term.size() != maker.in(i).size()) return maker.Fail();
    for (size_t d = 0; d < term.size(); ++d) {
      const auto [at, added] = sizes.emplace(term[d], maker.in(i)[d]);
      if (!added && at->second == 1) at->second = maker.in(i)[d];
    }
  }
  std::map<char, RuleAxisId> axes;
  const std::string& made = terms->back();
  for (const auto& [letter, size] : sizes) {
    const bool summed = made.find(letter) == std::string::npos;
    axes[letter] = maker.Axis(size, summed ? Parts::kSum : Parts::kSplit);
  }
  // A dimension of size 1 is broadcast.
  for (size_t i = 0; i < maker.input_count(); ++i) {
    for (size_t d = 0; d < maker.in(i).size(); ++d) {
      const char letter = (*terms)[i][d];
      const bool broadcast = maker.in(i)[d] == 1 && sizes[letter] != 1;
      maker.input(i).push_back(broadcast ? std::vector<RuleAxisId>() : std::vector{axes[letter]});
      // What every part would add again.
      if (broadcast && maker.parts(axes[letter]) == Parts::kSum) return maker.Fail();
    }
    maker.rule().linear.push_back({static_cast<int32_t>(i)});
  }
  for (const char letter : made) {
    if (sizes.count(letter) == 0) return maker.Fail();
    maker.output(0).push_back({axes[letter]});
  }
}

void OnnxConvolve(RuleMaker& maker, bool transposed) {
  if (maker.input_count() < 2 || maker.input_count() > 3 || maker.output_count() != 1) {
    return maker.Fail();
  }
  ConvolutionWithBias(maker, transposed, kByName, "group");
}

void OnnxConv(RuleMaker& maker) { OnnxConvolve(maker, false); }
void OnnxConvTranspose(RuleMaker& maker) { OnnxConvolve(maker, true); }

// A tensor of the layer: whole, but for the batch at dimension `at`.
TensorAxes WholeButBatch(RuleMaker& maker, const std::vector<int64_t>& shape, size_t at,
                         RuleAxisId batch) {
  TensorAxes axes = maker.AxesOf(shape, Parts::kWhole);
  if (at >= shape.size()) {
    maker.Fail();
    return axes;
  }
  axes[at] = {batch};
  return axes;
}

// LSTM, GRU, RNN (x, w, r, b?, lengths?, h?, c?, p?) -> (y?, h?, c?). x [s b i] and y [s d b h], states
// [d b h]; with layout 1 the batch comes first. All of a state goes into each step.
void OnnxRecurrent(RuleMaker& maker) {
  if (maker.input_count() < 3 || maker.in(0).size() != 3 || maker.output_count() < 1) {
    return maker.Fail();
  }
  const bool first = maker.Integer(kByName, "layout", 0) == 1;
  const RuleAxisId batch = maker.Axis(maker.in(0)[first ? 0 : 1]);
  for (size_t at = 0; at < maker.op().args.size(); ++at) {
    const int32_t found = maker.InputAt(at);
    if (found < 0) continue;
    const auto i = static_cast<size_t>(found);
    const bool has_batch = at == 0 || (at >= 4 && at <= 6);
    const size_t dimension = at == 4 || first ? 0 : 1;
    maker.input(i) = has_batch ? WholeButBatch(maker, maker.in(i), dimension, batch)
                               : maker.AxesOf(maker.in(i), Parts::kWhole);
  }
  for (size_t i = 0; i < maker.output_count(); ++i) {
    const size_t dimension = first ? 0 : maker.ResultOf(i) == 0 ? 2 : 1;
    maker.output(i) = WholeButBatch(maker, maker.out(i), dimension, batch);
  }
}

}  // namespace

std::vector<RuleRow> OnnxProductRules() {
  return {{"MatMul", OnnxMatMul},
          {"Gemm", OnnxGemm},
          {"Einsum", OnnxEinsum},
          {"Conv", OnnxConv},
          {"ConvTranspose", OnnxConvTranspose},
          {"LSTM GRU RNN", OnnxRecurrent}};
}

}  // namespace placewright
