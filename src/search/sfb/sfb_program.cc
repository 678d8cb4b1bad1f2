#include "search/sfb/sfb_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "base/check.h"

namespace placewright {
namespace {

using Wide = __int128;

constexpr int64_t kPicosPerNano = 1000;
constexpr int64_t kPicosPerSecond = 1'000'000'000'000;

int64_t Saturated(Wide value) { return static_cast<int64_t>(std::min<Wide>(value, kMaxQuantity)); }

// `times` * bytes / bandwidth in picoseconds, rounded down; with `up`, up. times * bytes < 2^80.
int64_t PicosOf(int64_t times, Bytes bytes, BytesPerSecond bandwidth, bool up) {
  PW_CHECK(bandwidth.count > 0);
  const Wide product = Wide{times} * bytes.count;
  const Wide whole = product / bandwidth.count, rest = product % bandwidth.count;
  if (whole > kMaxQuantity / kPicosPerSecond) return kMaxQuantity;
  const Wide of_rest = rest * kPicosPerSecond;
  return Saturated(whole * kPicosPerSecond +
                   (of_rest + (up ? bandwidth.count - 1 : 0)) / bandwidth.count);
}

size_t IndexOfOp(int32_t op) { return static_cast<size_t>(op); }

}  // namespace

int64_t SfbProgram::CostOfOp(int32_t op) const {
  return Saturated(Wide{devices - 1} * times[IndexOfOp(op)].count * kPicosPerNano);
}

int64_t SfbProgram::CostOfTensor(const Tensor& tensor) const {
  return PicosOf(devices * (devices - 1), tensor.slice, bandwidth, true);
}

int64_t SfbProgram::Synchronisation() const {
  const int64_t crossing = 2 * (devices - 1);
  if (exchange == GradientExchange::kServers) {
    return PicosOf(crossing, gradient_bytes, bandwidth, false);
  }
  return Saturated(Wide{PicosOf(crossing, gradient_bytes, bandwidth, false)} / devices);
}

const SfbSolution& SfbSolver::Solve(const SfbProgram& program) {
  const auto ops = static_cast<int32_t>(program.times.size());
  cut_.Clear(ops);
  for (int32_t op = 0; op < ops; ++op) cut_.AddSink(op, program.CostOfOp(op));
  for (const SfbProgram::Tensor& tensor : program.tensors) {
    const int64_t cost = program.CostOfTensor(tensor);
    if (tensor.from == SfbProgram::kOutside) {
      cut_.AddSink(tensor.to, cost);
    } else {
      cut_.AddArc(tensor.to, tensor.from, cost);
    }
  }
  for (const SfbProgram::Together& pair : program.together) {
    if (pair.reader == SfbProgram::kOutside) {
      cut_.AddSink(pair.one, MinimumCut::kUncuttable);
    } else {
      cut_.AddArc(pair.one, pair.reader, MinimumCut::kUncuttable);
    }
  }
  const int64_t saved = program.Synchronisation();
  cut_.AddSource(program.gradient, saved);
  solution_.objective = cut_.Solve() - saved;
  solution_.duplicated.resize(program.times.size());
  for (int32_t op = 0; op < ops; ++op) solution_.duplicated[IndexOfOp(op)] = cut_.OnSourceSide(op);
  return solution_;
}

int64_t ObjectiveOf(const SfbProgram& program, const std::vector<bool>& duplicated) {
  int64_t cost = 0;
  for (size_t op = 0; op < program.times.size(); ++op) {
    if (duplicated[op]) {
      cost = SaturatingAdd(cost, program.CostOfOp(static_cast<int32_t>(op)));
    }
  }
  for (const SfbProgram::Tensor& tensor : program.tensors) {
    const bool from = tensor.from != SfbProgram::kOutside && duplicated[IndexOfOp(tensor.from)];
    if (duplicated[IndexOfOp(tensor.to)] && !from) {
      cost = SaturatingAdd(cost, program.CostOfTensor(tensor));
    }
  }
  return cost - (duplicated[IndexOfOp(program.gradient)] ? program.Synchronisation() : 0);
}

std::string FormatLp(const SfbProgram& program) {
  std::string text = "Minimize\n obj:";
  auto out = std::back_inserter(text);
  const auto ops = static_cast<int32_t>(program.times.size());
  for (int32_t op = 0; op < ops; ++op) {
    // Readers of the format refuse a variable that stands in a row twice.
    const int64_t saved = op == program.gradient ? program.Synchronisation() : 0;
    fmt::format_to(out, " {:+} a{}\n", program.CostOfOp(op) - saved, op);
  }
  for (size_t k = 0; k < program.tensors.size(); ++k) {
    fmt::format_to(out, " + {} b{}\n", program.CostOfTensor(program.tensors[k]), k);
  }
  text += "Subject To\n";
  std::vector<std::set<int32_t>> consumers(program.times.size());
  for (const SfbProgram::Tensor& tensor : program.tensors) {
    if (tensor.from != SfbProgram::kOutside) consumers[IndexOfOp(tensor.from)].insert(tensor.to);
  }
  std::vector<bool> free(program.times.size(), false);
  for (const SfbProgram::Together& pair : program.together) {
    if (pair.reader != SfbProgram::kOutside) free[IndexOfOp(pair.reader)] = true;
  }
  for (int32_t op = 0; op < ops; ++op) {
    if (free[IndexOfOp(op)]) continue;
    fmt::format_to(out, " u{}: a{}", op, op);
    for (const int32_t consumer : consumers[IndexOfOp(op)]) fmt::format_to(out, " - a{}", consumer);
    text += op == program.gradient ? " - al <= 0\n" : " <= 0\n";
  }
  for (size_t k = 0; k < program.tensors.size(); ++k) {
    const SfbProgram::Tensor& tensor = program.tensors[k];
    fmt::format_to(out, " c{}: b{} - a{}", k, k, tensor.to);
    if (tensor.from != SfbProgram::kOutside) fmt::format_to(out, " + a{}", tensor.from);
    text += " >= 0\n";
  }
  for (size_t k = 0; k < program.together.size(); ++k) {
    const SfbProgram::Together& pair = program.together[k];
    fmt::format_to(out, " t{}: a{}", k, pair.one);
    if (pair.reader != SfbProgram::kOutside) fmt::format_to(out, " - a{}", pair.reader);
    text += " <= 0\n";
  }
  text += "Binaries\n al\n";
  for (int32_t op = 0; op < ops; ++op) fmt::format_to(out, " a{}\n", op);
  for (size_t k = 0; k < program.tensors.size(); ++k) fmt::format_to(out, " b{}\n", k);
  text += "End\n";
  return text;
}

}  // namespace placewright
