#include "torch_api/policy_training.h"

#include <fmt/format.h>

#include "base/text.h"

namespace placewright {

void TrainingProgress::AddUpdate(size_t problem, const SampleCounts& before,
                                 const SampleCounts& now, double entropy) {
  TrainingUpdate update{problem, now.samples - before.samples, now.invalid - before.invalid, 0,
                        entropy};
  const int64_t fitting = update.samples - update.invalid;
  if (fitting > 0) {
    update.mean_seconds = (now.seconds - before.seconds) / static_cast<double>(fitting);
  }
  samples += update.samples;
  samples_here += update.samples;
  invalid += update.invalid;
  evaluating += now.evaluating - before.evaluating;
  ++updates;
  last.push_back(update);
}

Status CheckSameTraining(const AgentSettings& settings, const StoredPolicy& stored,
                         uint64_t stored_seed, uint64_t seed, uint64_t stored_problems,
                         uint64_t problems) {
  const auto other = [](std::string message) {
    return MakeError(ErrorCode::kPlanMismatch, std::move(message), "",
                     "Go on with the options that it began with.");
  };
  for (const AgentSetting& setting : settings.algorithm().settings) {
    const std::string own = setting.ValueIn(stored.settings), value = settings.Word(setting.name);
    if (own != value) {
      return other(
          fmt::format("the training has {}={}, not {}", setting.name, Printable(own, 40), value));
    }
  }
  if (stored_seed != seed) {
    return other(fmt::format("the training has the seed {}, not {}", stored_seed, seed));
  }
  if (stored_problems != problems) {
    return other(fmt::format("the training is on {} graph{}, not on {}", stored_problems,
                             stored_problems == 1 ? "" : "s", problems));
  }
  return Ok();
}

}  // namespace placewright
