// Published single-GPU training throughputs in TF32 and in mixed precision, of models of the zoo.
#ifndef PLACEWRIGHT_BENCH_COSTS_MIXED_ROWS_H_
#define PLACEWRIGHT_BENCH_COSTS_MIXED_ROWS_H_

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "cost/precision.h"
#include "torch_api/capture_service.h"

namespace placewright::bench {

struct MixedRow {
  std::string_view kind;   // of the catalogue
  std::string_view model;  // of the zoo
  int64_t batch = 0;
  // As the framework was set: mixed precision, or float32 in this precision.
  CapturePrecision amp = CapturePrecision::kAsIs;
  FloatPrecision precision = FloatPrecision::kFp32;
  double per_second = 0;                   // images or texts
  bool fitted = false;                     // used to choose a constant; else held out
  std::string_view source;                 // key of docs/costs.md, "Sources"
  std::map<std::string, double> values{};  // further numbers of the model
};

std::span<const MixedRow> MixedRows();
// The step, with Adam for texts and SGD for images. Errors: those of CaptureZooModel.
Result<Graph> Record(const MixedRow& row);
// Images or texts: the sum over the step's ops, one after the other, on the row's kind.
double PredictedPerSecond(const MixedRow& row, const Graph& graph);

}  // namespace placewright::bench

#endif  // PLACEWRIGHT_BENCH_COSTS_MIXED_ROWS_H_
