// Prints predicted against published throughput in TF32 and mixed precision: `bench/costs/run --mixed`.
// `--classes` adds how much of each predicted step lies in which class of ops.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <string>

#include "bench/costs/mixed_rows.h"
#include "cluster/catalogue.h"
#include "cost/cost_model.h"

namespace placewright::bench {
namespace {

std::string Shares(const Graph& graph, const DeviceKind& kind, FloatPrecision precision) {
  std::array<double, kOpClassCount> time{};
  double sum = 0;
  for (const OpId op : graph.ops()) {
    const Work work = WorkOf(graph, op);
    const Nanos one = RooflineTime(work, ComputeDType(graph, op), kind, precision);
    time[static_cast<size_t>(work.op_class)] += static_cast<double>(one.count);
    sum += static_cast<double>(one.count);
  }
  std::string text;
  for (size_t i = 0; i < kOpClassCount; ++i) {
    if (time[i] < 0.02 * sum) continue;
    text += fmt::format(" {} {:.0f}%", ToString(static_cast<OpClass>(i)), 100 * time[i] / sum);
  }
  return text;
}

int Run(bool classes) {
  fmt::print(
      "| GPU | model | batch | precision | published | predicted | difference | | source |\n");
  fmt::print("|---|---|---:|---|---:|---:|---:|---|---|\n");
  int outside = 0, fitted = 0;
  double squares = 0;
  for (const MixedRow& row : MixedRows()) {
    const DeviceKind* kind = FindKind(row.kind);
    const Result<Graph> graph = Record(row);
    if (kind == nullptr || !graph.ok()) {
      fmt::print(stderr, "{} on {}: {}\n", row.model, row.kind,
                 graph.ok() ? "not in the catalogue" : graph.error().ToString());
      return 1;
    }
    const double predicted = PredictedPerSecond(row, graph.value());
    const double error = predicted / row.per_second - 1;
    outside += std::abs(error) > 0.25 ? 1 : 0;
    fitted += row.fitted ? 1 : 0;
    squares += std::log(1 + error) * std::log(1 + error);
    const bool amp = row.amp != CapturePrecision::kAsIs;
    fmt::print("| {} | {} | {} | {} | {:.4g} | {:.4g} | {:+.0f} % | {} | {} |{}\n", row.kind,
               row.model, row.batch, amp ? "f16" : ToString(row.precision), row.per_second,
               predicted, 100 * error, row.fitted ? "fitted" : "held out", row.source,
               classes ? Shares(graph.value(), *kind, row.precision) : "");
  }
  const size_t rows = MixedRows().size();
  fmt::print(
      "\n{} of {} rows differ by more than 25 %; {} were fitted; root mean square {:.0f} %.\n",
      outside, rows, fitted, 100 * std::sqrt(squares / static_cast<double>(rows)));
  return 0;
}

}  // namespace
}  // namespace placewright::bench

int main(int argc, char** argv) {
  return placewright::bench::Run(argc > 1 && std::string(argv[1]) == "--classes");
}
