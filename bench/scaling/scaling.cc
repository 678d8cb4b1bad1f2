// Prints predicted against published weak scaling: `bench/scaling/run [MODEL]`.
#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <string_view>

#include "bench/scaling/prediction.h"
#include "bench/scaling/rows.h"

namespace placewright::bench {
namespace {

int Run(std::string_view model) {
  fmt::print(
      "| model | batch | precision | machines | GPUs | published | predicted | difference | | "
      "source |\n|---|---:|---|---|---:|---:|---:|---:|---|---|\n");
  int outside = 0, rows = 0;
  for (const ScalingRow& row : ScalingRows()) {
    if (!model.empty() && row.model != model) continue;
    const Result<ScalingPrediction> predicted = Predict(row);
    if (!predicted.ok()) {
      fmt::print(stderr, "{} on {}: {}\n", row.model, row.many.cluster,
                 predicted.error().ToString());
      return 1;
    }
    const double points = 100 * (predicted.value().efficiency - row.Published());
    ++rows;
    outside += std::abs(points) > 10 ? 1 : 0;
    const bool amp = row.amp != CapturePrecision::kAsIs;
    fmt::print("| {} | {} | {} | {} | {} to {} | {:.1f} % | {:.1f} % | {:+.1f} | {} | {} |\n",
               row.model, row.batch, amp ? "f16" : ToString(row.precision), row.many.cluster,
               row.few.gpus, row.many.gpus, 100 * row.Published(),
               100 * predicted.value().efficiency, points, row.beyond, row.source);
    std::fflush(stdout);
  }
  fmt::print("\n{} of {} rows differ by more than 10 points.\n", outside, rows);
  return 0;
}

}  // namespace
}  // namespace placewright::bench

int main(int argc, char** argv) { return placewright::bench::Run(argc > 1 ? argv[1] : ""); }
