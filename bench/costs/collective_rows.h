// Published times of collectives on H100, and ours of the same on the catalogue's machines.
#ifndef PLACEWRIGHT_BENCH_COSTS_COLLECTIVE_ROWS_H_
#define PLACEWRIGHT_BENCH_COSTS_COLLECTIVE_ROWS_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "cost/communication/collective_kind.h"

namespace placewright::bench {

struct PublishedCollective {
  CollectiveKind kind;
  // The one that was measured or reckoned; nullopt: the fastest.
  std::optional<CollectiveAlgorithm> algorithm;
  int machines, gpus;  // of each
  int64_t bytes;       // of the whole tensor
  double micros;       // published, or what a published bandwidth means for so many bytes
  std::string_view source;
  double tolerance;  // of ours / published - 1
};
std::vector<PublishedCollective> PublishedCollectives();

// On the first `gpus` GPUs of each of so many machines with 8 H100 and 8 x 400 Gb/s.
double MicrosOf(const PublishedCollective& row);
// 2 (n - 1) / n bytes / time of an all-reduce, (n - 1) / n of the others; GB/s.
double BusBandwidth(const PublishedCollective& row, double micros);

}  // namespace placewright::bench

#endif  // PLACEWRIGHT_BENCH_COSTS_COLLECTIVE_ROWS_H_
