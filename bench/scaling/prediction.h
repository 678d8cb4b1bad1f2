// Weak scaling as Placewright predicts it: the step recorded at the batch of all GPUs, split by
// samples over them, compiled and simulated.
#ifndef PLACEWRIGHT_BENCH_SCALING_PREDICTION_H_
#define PLACEWRIGHT_BENCH_SCALING_PREDICTION_H_

#include "base/result.h"
#include "bench/scaling/rows.h"

namespace placewright::bench {

struct ScalingPrediction {
  // Samples per second, as simulated: all GPUs of a kind are equally fast.
  double few = 0, many = 0;
  double simulated = 0;   // efficiency of that
  double efficiency = 0;  // with the slowest GPU (SlowestOf)
};

// Errors: those of CaptureZooModel, MakePreset, ModelCosts, EvaluateLayouts.
Result<ScalingPrediction> Predict(const ScalingRow& row);

// How much longer a step takes on the slowest of `gpus` of one kind than on a single one, taken to
// be the median: 1 + s m, with m the expected largest of so many standard normal numbers, by Blom's
// approximation
//
//   m = Phi^-1((gpus - 3/8) / (gpus + 1/4))
//
// (Blom, "Statistical estimates and transformed beta-variables", 1958), and s their standard
// deviation. Sinha et al., "Not All GPUs Are Created Equal", SC 2022 (arXiv:2208.11035), found a
// performance variation of 8% on average between equal GPUs of five clusters, over applications.
// We take it for the distance of a box plot's whiskers, 5.4 standard deviations of normal numbers,
// so that s is 1.5%.
double SlowestOf(int32_t gpus);

}  // namespace placewright::bench

#endif  // PLACEWRIGHT_BENCH_SCALING_PREDICTION_H_
