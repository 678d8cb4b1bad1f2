// Prints our times of collectives beside published ones: `bench/costs/run --collectives`.
#include <fmt/format.h>

#include "bench/costs/collective_rows.h"

int main() {
  using namespace placewright;
  fmt::print(
      "| collective | machines x GPUs | way | MB | published us | bus GB/s | ours us | "
      "bus GB/s | ratio | |\n");
  fmt::print("|---|---|---|---:|---:|---:|---:|---:|---:|---|\n");
  for (const bench::PublishedCollective& row : bench::PublishedCollectives()) {
    const double ours = bench::MicrosOf(row);
    fmt::print("| {} | {} x {} | {} | {:.4g} | {:.0f} | {:.1f} | {:.0f} | {:.1f} | {:.2f} | {} |\n",
               ToString(row.kind), row.machines, row.gpus,
               row.algorithm ? ToString(*row.algorithm) : "fastest",
               static_cast<double>(row.bytes) / 1e6, row.micros,
               bench::BusBandwidth(row, row.micros), ours, bench::BusBandwidth(row, ours),
               ours / row.micros, row.source);
  }
  return 0;
}
