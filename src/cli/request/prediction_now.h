// `run`'s second prediction: the machine's state around the steps that it executes.
#ifndef PLACEWRIGHT_CLI_REQUEST_PREDICTION_NOW_H_
#define PLACEWRIGHT_CLI_REQUEST_PREDICTION_NOW_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/request/measured_prediction.h"
#include "cli/terminal/console.h"
#include "formats/plan/plan_files.h"
#include "torch_api/profiling_service.h"

namespace placewright {

// What a plan is predicted to take as the machine is meanwhile, where its times are a store's that were
// measured beside references. It is said beside what is asked for: what fails here is a note.
class PredictionNow {
 public:
  PredictionNow(const PlanInputs& loaded, const std::string& plan_file,
                const ProfilingService* service, const std::vector<ExecutionDevice>& devices,
                Console& console)
      : service_(service), devices_(devices), console_(console) {
    if (service == nullptr) return;
    std::optional<MeasuredPrediction> of_plan =
        MeasuredPrediction::OfPlan(loaded, plan_file, console);
    if (of_plan && of_plan->knows_state()) prediction_.emplace(std::move(*of_plan));
  }

  // Before the first step and behind the last one.
  void Look() {
    if (!prediction_) return;
    const auto look = [&]() -> Status {
      // Not kept between: its memory would be missed by the steps.
      PW_ASSIGN(const std::unique_ptr<MachineReference> reference,
                service_->StartReference(devices_, std::vector<bool>(devices_.size(), true),
                                         devices_.size() > 1));
      PW_ASSIGN(std::vector<DeviceState> states, reference->Measure());
      looks_.push_back(std::move(states));
      return Ok();
    };
    Note(look());
  }

  std::optional<Nanos> StepTime(const Placement& placement, SchedulingPolicy policy) {
    if (looks_.size() < 2) return std::nullopt;
    const Result<Prediction> now =
        prediction_->Predict(placement, policy, Between(looks_.front(), looks_.back()));
    if (now.ok()) return now.value().result.step_time;
    Note(now.error());
    return std::nullopt;
  }

 private:
  void Note(const Status& status) {
    if (!status.ok()) {
      console_.Note("the machine's state is not known: " + status.error().ToString());
    }
  }

  const ProfilingService* service_;
  std::vector<ExecutionDevice> devices_;
  Console& console_;
  std::optional<MeasuredPrediction> prediction_;
  std::vector<std::vector<DeviceState>> looks_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_REQUEST_PREDICTION_NOW_H_
