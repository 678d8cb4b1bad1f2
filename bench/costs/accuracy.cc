// Prints predicted against published throughput. `bench/costs/run [FOLDER]`: rows with a recorded
// graph use it where the folder of graphs (default ../shared/data) is there, and say so.
#include <fmt/format.h>

#include <cstdio>
#include <map>
#include <optional>
#include <string>

#include "bench/costs/networks.h"
#include "bench/costs/published.h"
#include "bench/costs/recorded.h"
#include "bench/costs/rescale.h"
#include "cluster/catalogue.h"

namespace placewright::bench {
namespace {

struct Prediction {
  double images_per_second = 0;
  std::string basis;
};

// nullopt: the row's graph is missing and no network of that name can be built.
std::optional<Prediction> Predict(const PublishedRow& row, const DeviceKind& kind,
                                  const std::string& folder) {
  const double batch = static_cast<double>(row.batch);
  if (!row.graph.empty()) {
    const auto loaded = ReadRecorded(folder + "/" + std::string(row.graph));
    if (loaded.ok()) {
      const double factor = batch / static_cast<double>(row.graph_batch);
      return Prediction{batch / Seconds(StepTime(loaded.value(), kind, factor)),
                        fmt::format("file, batch {}", row.graph_batch)};
    }
  }
  const auto graph = BuildNetwork(row.model, row.batch);
  if (!graph) return std::nullopt;
  return Prediction{batch / Seconds(StepTime(*graph, kind)), "built"};
}

int Run(const std::string& folder) {
  fmt::print("| GPU | model | batch | published | predicted | difference | | graph | source |\n");
  fmt::print("|---|---|---:|---:|---:|---:|---|---|---|\n");
  int outside = 0;
  for (const PublishedRow& row : PublishedRows()) {
    const DeviceKind* kind = FindKind(row.kind);
    if (kind == nullptr) {
      fmt::print(stderr, "the catalogue has no {}\n", row.kind);
      return 1;
    }
    const std::optional<Prediction> predicted = Predict(row, *kind, folder);
    if (!predicted) {
      fmt::print(stderr, "left out: {} needs {}\n", row.model, row.graph);
      continue;
    }
    const double error = predicted->images_per_second / row.images_per_second - 1;
    if (error > 0.3 || error < -0.3) ++outside;
    fmt::print("| {} | {} | {} | {:.4g} | {:.4g} | {:+.0f} % | {} | {} | {} |\n", row.kind,
               row.model, row.batch, row.images_per_second, predicted->images_per_second,
               100 * error, row.fitted ? "fitted" : "held out", predicted->basis, row.source);
  }
  fmt::print("\n{} of {} rows differ by more than 30 %.\n", outside, PublishedRows().size());
  return 0;
}

}  // namespace
}  // namespace placewright::bench

int main(int argc, char** argv) {
  return placewright::bench::Run(argc > 1 ? argv[1] : PLACEWRIGHT_SHARED_DATA);
}
