#include "check_plan/distributed/norms/definition.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "base/random.h"

namespace placewright::check {
namespace {

constexpr int64_t kRows =
    4;  // of a part: mean, variance and products of two take independent values

// An argument by its position or its name.
const Value* ArgumentOf(const Op& op, size_t position, std::string_view name) {
  if (position < op.args.size()) return &op.args[position];
  for (const NamedValue& named : op.attributes) {
    if (named.name == name) return &named.value;
  }
  return nullptr;
}

int32_t InputOf(const Op& op, size_t position, std::string_view name) {
  const Value* const value = ArgumentOf(op, position, name);
  const InputRef* const input = value == nullptr ? nullptr : value->AsInput();
  const bool there =
      input != nullptr && input->index >= 0 && static_cast<size_t>(input->index) < op.inputs.size();
  return there ? input->index : -1;
}

bool ReadNumber(const Op& op, size_t position, std::string_view name, double& number) {
  const Value* const value = ArgumentOf(op, position, name);
  if (value == nullptr) return false;
  if (const int64_t* integer = value->AsInt()) number = static_cast<double>(*integer);
  if (const double* real = value->AsDouble()) number = *real;
  return value->AsInt() != nullptr || value->AsDouble() != nullptr;
}

std::optional<StatedNorm> BackwardOf(const Op& op) {
  StatedNorm norm{.backward = true};
  norm.grad = InputOf(op, 0, "grad_out");
  norm.x = InputOf(op, 1, "input");
  norm.weight = InputOf(op, 2, "weight");
  norm.running_mean = InputOf(op, 3, "running_mean");
  norm.running_var = InputOf(op, 4, "running_var");
  norm.save_mean = InputOf(op, 5, "save_mean");
  norm.save_invstd = InputOf(op, 6, "save_invstd");
  const bool all = norm.grad >= 0 && norm.x >= 0 && norm.save_mean >= 0 && norm.save_invstd >= 0;
  return all ? std::optional<StatedNorm>(norm) : std::nullopt;
}

}  // namespace

std::optional<StatedNorm> StatedNormOf(const Op& op) {
  if (op.type == "aten.native_batch_norm_backward.default") return BackwardOf(op);
  const bool without = op.type == "aten._native_batch_norm_legit.no_stats";
  const bool is_norm = op.type == "aten.native_batch_norm.default" ||
                       op.type == "aten._native_batch_norm_legit.default" || without;
  if (!is_norm) return std::nullopt;
  StatedNorm norm;
  norm.x = InputOf(op, 0, "input");
  norm.weight = InputOf(op, 1, "weight");
  norm.bias = InputOf(op, 2, "bias");
  norm.running_mean = without ? -1 : InputOf(op, 3, "running_mean");
  norm.running_var = without ? -1 : InputOf(op, 4, "running_var");
  const size_t numbers = without ? 4 : 6;
  const bool all = norm.x >= 0 && ReadNumber(op, numbers, "momentum", norm.momentum) &&
                   ReadNumber(op, numbers + 1, "eps", norm.eps);
  return all ? std::optional<StatedNorm>(norm) : std::nullopt;
}

// The elements are shared out among the rows as evenly as they can be.
int32_t NormDefinition::Add(const Part& part, const std::vector<int64_t>& shape) {
  const int64_t count = CountOf(shape) / shape[1];
  const int64_t rows = std::min(kRows, count);
  NormPart added{part, {}};
  for (int64_t row = 0; row < rows; ++row) {
    added.weights.push_back(static_cast<double>(count / rows + (row < count % rows ? 1 : 0)));
  }
  parts_.push_back(std::move(added));
  shapes_.push_back(shape);
  all_.reset();
  return static_cast<int32_t>(parts_.size()) - 1;
}

NormValue NormDefinition::Input(int32_t input, const std::vector<int64_t>& shape,
                                int32_t part) const {
  const size_t channels = part >= 0 ? ChannelsOf(shape) : static_cast<size_t>(shape[0]);
  const size_t rows = part >= 0 ? parts_[static_cast<size_t>(part)].weights.size() : 1;
  Random random =
      Random(seed_).Fork(static_cast<uint64_t>(input + 1)).Fork(static_cast<uint64_t>(part + 1));
  NormValue value{shape, std::vector<double>(rows * channels), part};
  // Variances and deviations are positive.
  for (double& number : value.numbers) number = random.Unit() + (part >= 0 ? -0.25 : 0.5);
  return value;
}

std::vector<double> NormDefinition::Numbers(int32_t input, int32_t part) const {
  const std::vector<int64_t>& shape = shapes_[static_cast<size_t>(std::max(part, 0))];
  if (part >= 0) return Input(input, shape, part).numbers;
  return Input(input, {shape[1]}).numbers;
}

NormDefinition::Totals NormDefinition::TotalsOf(int32_t alone) const {
  const size_t channels = ChannelsOf(shapes_[0]);
  Totals totals;
  totals.mean = totals.variance = std::vector<double>(channels);
  totals.grad_weight = totals.grad_bias = std::vector<double>(channels);
  std::vector<double> mean(channels), invstd(channels, 1);
  const auto add_all = [&](std::vector<double>& sum, const auto& of) {
    for (size_t p = 0; p < parts_.size(); ++p) {
      if (alone >= 0 && static_cast<size_t>(alone) != p) continue;
      const std::vector<double> x = Numbers(norm_.x, static_cast<int32_t>(p));
      std::vector<double> grad(x.size());
      if (norm_.backward) grad = Numbers(norm_.grad, static_cast<int32_t>(p));
      for (size_t i = 0; i < x.size(); ++i) {
        const size_t c = i % channels;
        sum[c] += parts_[p].weights[i / channels] * of((x[i] - mean[c]) * invstd[c], grad[i]);
      }
    }
  };
  for (size_t p = 0; p < parts_.size(); ++p) {
    if (alone >= 0 && static_cast<size_t>(alone) != p) continue;
    for (const double weight : parts_[p].weights) totals.count += weight;
  }
  if (norm_.backward) {
    mean = Numbers(norm_.save_mean, -1);
    invstd = Numbers(norm_.save_invstd, -1);
    add_all(totals.grad_weight, [](double xhat, double grad) { return grad * xhat; });
    add_all(totals.grad_bias, [](double, double grad) { return grad; });
    return totals;
  }
  add_all(totals.mean, [](double x, double) { return x; });
  for (double& number : totals.mean) number /= totals.count;
  mean = totals.mean;
  add_all(totals.variance, [](double away, double) { return away * away; });
  for (double& number : totals.variance) number /= totals.count;
  return totals;
}

// y, or the gradient of x.
NormValue NormDefinition::Rows(int32_t part, const Totals& totals) const {
  const std::vector<int64_t>& shape = shapes_[static_cast<size_t>(part)];
  NormValue rows = Input(norm_.x, shape, part);
  const size_t channels = ChannelsOf(shape);
  std::vector<double> weight(channels, 1), bias(channels), grad, mean, invstd;
  if (norm_.weight >= 0) weight = Numbers(norm_.weight, -1);
  if (norm_.bias >= 0) bias = Numbers(norm_.bias, -1);
  if (norm_.backward) {
    grad = Numbers(norm_.grad, part);
    mean = Numbers(norm_.save_mean, -1);
    invstd = Numbers(norm_.save_invstd, -1);
  }
  for (size_t i = 0; i < rows.numbers.size(); ++i) {
    const size_t c = i % channels;
    double& number = rows.numbers[i];
    if (norm_.backward) {
      const double xhat = (number - mean[c]) * invstd[c];
      number = invstd[c] * weight[c] *
               (grad[i] - (totals.grad_bias[c] + xhat * totals.grad_weight[c]) / totals.count);
    } else {
      const double deviation = std::sqrt(totals.variance[c] + norm_.eps);
      number = (number - totals.mean[c]) / deviation * weight[c] + bias[c];
    }
  }
  return rows;
}

const NormDefinition::Totals& NormDefinition::All() {
  if (!all_) all_ = TotalsOf(-1);
  return *all_;
}

NormValue NormDefinition::ResultOf(int32_t result, int32_t part, const Totals& totals) const {
  if (result == 0) return Rows(part, totals);
  NormValue value{{shapes_[0][1]}, {}, -1};
  if (norm_.backward) {
    value.numbers = result == 1 ? totals.grad_weight : totals.grad_bias;
    return value;
  }
  value.numbers = totals.mean;
  if (result == 1) return value;
  for (size_t c = 0; c < value.numbers.size(); ++c) {
    value.numbers[c] = 1 / std::sqrt(totals.variance[c] + norm_.eps);
  }
  return value;
}

NormValue NormDefinition::Left(int32_t input) {
  const Totals& totals = All();
  NormValue value = Input(input, {shapes_[0][1]});
  for (size_t c = 0; c < value.numbers.size(); ++c) {
    const double unbiased = totals.variance[c] * totals.count / (totals.count - 1);
    const double towards = input == norm_.running_mean ? totals.mean[c] : unbiased;
    value.numbers[c] += norm_.momentum * (towards - value.numbers[c]);
  }
  return value;
}

}  // namespace placewright::check
