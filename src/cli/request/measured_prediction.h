// What placements are predicted to take on this machine, by times that `profile` has measured: alone and
// with the other devices at work, mixed for each placement by how much its devices compute at the same
// time, and as the machine is when the placement is executed (cost/machine_state.h).
#ifndef PLACEWRIGHT_CLI_REQUEST_MEASURED_PREDICTION_H_
#define PLACEWRIGHT_CLI_REQUEST_MEASURED_PREDICTION_H_

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/terminal/console.h"
#include "cost/cost_model.h"
#include "formats/plan/plan_files.h"
#include "sim/simulator.h"
#include "torch_api/profiling_service.h"

namespace placewright {

struct Prediction {
  SimResult result;          // with schedule
  std::vector<Bytes> peaks;  // by device, of tensors with the workspace of the op that runs
  double share_modelled = 0;
};

// The state of a machine between two looks at it, by device.
std::vector<DeviceState> Between(const std::vector<DeviceState>& before,
                                 const std::vector<DeviceState>& after);

// A placement with these costs.
Prediction Predict(const Graph& graph, const Cluster& cluster, const CostTable& costs,
                   const Placement& placement, SchedulingPolicy policy,
                   const Sequences* sequences = nullptr);

class MeasuredPrediction {
 public:
  // Both outlive it. Errors: those of ReadMeasured and ModelCosts.
  static Result<MeasuredPrediction> Read(const Graph& graph, const Cluster& cluster,
                                         const std::string& store, FloatPrecision precision);

  // What a plan's times were looked up in, where they are a store's that is still there: alone and with
  // others at work, whichever the plan took; for the plan's own placement, with its sequences. `loaded`
  // outlives it. A store that cannot be read is noted, and is none.
  static std::optional<MeasuredPrediction> OfPlan(const PlanInputs& loaded,
                                                  const std::string& plan_file, Console& console);

  // Whether most of its ops were measured with the other devices at work, or there is one device alone.
  bool knows_loaded() const { return knows_loaded_; }
  // As the machine was when it was profiled, all devices at work all the time.
  const CostTable& busy() const { return busy_; }

  // Whether any of its times was measured beside references, so that it can be scaled at all.
  bool knows_state() const;

  // As the machine was when it was profiled, and as it is now: `states`, by device, of each that was
  // measured.
  Result<Prediction> Predict(const Placement& placement, SchedulingPolicy policy) const;
  Result<Prediction> Predict(const Placement& placement, SchedulingPolicy policy,
                             const std::vector<DeviceState>& states) const;
  // The median over steps, of which `of_step` has the machine's states; it is not empty. Of more than a
  // hundred runs of steps in one state some are left out, evenly.
  Result<Prediction> PredictMedian(const Placement& placement, SchedulingPolicy policy,
                                   const std::vector<std::vector<DeviceState>>& of_step) const;

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
  const Sequences* sequences_ = nullptr;
  bool knows_loaded_ = false;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_REQUEST_MEASURED_PREDICTION_H_
