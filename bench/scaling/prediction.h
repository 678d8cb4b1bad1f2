// Weak scaling as Placewright predicts it: the step recorded at the batch of all GPUs, split by
// samples over them, compiled and simulated.
#ifndef PLACEWRIGHT_BENCH_SCALING_PREDICTION_H_
#define PLACEWRIGHT_BENCH_SCALING_PREDICTION_H_

#include "base/result.h"
#include "bench/scaling/rows.h"

namespace placewright::bench {

struct ScalingPrediction {
  double few = 0, many = 0;  // samples per second
  double efficiency = 0;
};

// Errors: those of CaptureZooModel, MakePreset, ModelCosts, EvaluateCompiled.
Result<ScalingPrediction> Predict(const ScalingRow& row);

}  // namespace placewright::bench

#endif  // PLACEWRIGHT_BENCH_SCALING_PREDICTION_H_
