// Graphs of the data folder.
#ifndef PLACEWRIGHT_BENCH_COSTS_RECORDED_H_
#define PLACEWRIGHT_BENCH_COSTS_RECORDED_H_

#include <string>

#include "base/result.h"
#include "graph/graph.h"

namespace placewright::bench {

// An ONNX model (by its name's end) or an ATen training graph. Errors: those of the readers.
Result<Graph> ReadRecorded(const std::string& path);

}  // namespace placewright::bench

#endif  // PLACEWRIGHT_BENCH_COSTS_RECORDED_H_
