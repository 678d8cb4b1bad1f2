// Published single-GPU throughputs in single precision: training on synthetic data, and the forward
// pass of BERT.
#ifndef PLACEWRIGHT_BENCH_COSTS_PUBLISHED_H_
#define PLACEWRIGHT_BENCH_COSTS_PUBLISHED_H_

#include <cstdint>
#include <span>
#include <string_view>

namespace placewright::bench {

struct PublishedRow {
  std::string_view kind;   // of the catalogue
  std::string_view model;  // of NetworkNames(), or of `graph` alone
  int64_t batch = 0;
  double images_per_second = 0;
  bool fitted = false;      // used to choose a constant; else held out
  std::string_view source;  // key of docs/costs.md, "Sources"
  // A graph of ../shared/data to predict from, rescaled to `batch`; where it is missing, the model
  // is built.
  std::string_view graph;
  int64_t graph_batch = 0;
};

std::span<const PublishedRow> PublishedRows();

}  // namespace placewright::bench

#endif  // PLACEWRIGHT_BENCH_COSTS_PUBLISHED_H_
