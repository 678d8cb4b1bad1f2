// What placements are predicted to take on this machine, by times that `profile` has measured: alone and
// with the other devices at work, mixed for each placement by how much its devices compute at the same
// time, and as the machine is when the placement is executed (cost/machine_state.h).
#ifndef PLACEWRIGHT_CLI_REQUEST_MEASURED_PREDICTION_H_
#define PLACEWRIGHT_CLI_REQUEST_MEASURED_PREDICTION_H_

#include <string>
#include <vector>

#include "base/result.h"
#include "cost/cost_model.h"
#include "sim/simulator.h"
#include "torch_api/profiling_service.h"

namespace placewright {

struct Prediction {
  SimResult result;          // with schedule
  std::vector<Bytes> peaks;  // by device, of tensors with the workspace of the op that runs
  double share_modelled = 0;
};

// A placement with these costs.
Prediction Predict(const Graph& graph, const Cluster& cluster, const CostTable& costs,
                   const Placement& placement, SchedulingPolicy policy);

class MeasuredPrediction {
 public:
  // Both outlive it. Errors: those of ReadMeasured and ModelCosts.
  static Result<MeasuredPrediction> Read(const Graph& graph, const Cluster& cluster,
                                         const std::string& store, FloatPrecision precision);

  // Whether most of its ops were measured with the other devices at work, or there is one device alone.
  bool knows_loaded() const { return knows_loaded_; }
  // As the machine was when it was profiled, all devices at work all the time.
  const CostTable& busy() const { return busy_; }

  // As the machine was when it was profiled, and as it is now: `states`, by device, of each that was
  // measured.
  Result<Prediction> Predict(const Placement& placement, SchedulingPolicy policy) const;
  Result<Prediction> Predict(const Placement& placement, SchedulingPolicy policy,
                             const std::vector<DeviceState>& states) const;

 private:
  MeasuredPrediction(const Graph& graph, const Cluster& cluster, FloatPrecision precision)
      : graph_(graph), cluster_(cluster), precision_(precision) {}
  Result<CostTable> CostsOf(std::vector<MeasuredDevice> measured,
                            CostModelReport* report = nullptr) const;
  Prediction Mixed(const CostTable& alone, const CostTable& busy, const Placement& placement,
                   SchedulingPolicy policy) const;

  const Graph& graph_;
  const Cluster& cluster_;
  FloatPrecision precision_;
  std::vector<MeasuredDevice> alone_rows_, busy_rows_;
  CostTable alone_, busy_;
  bool knows_loaded_ = false;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_REQUEST_MEASURED_PREDICTION_H_
