// One step at several batches, for commands that look for the best strategy (planning/strategy_trials.h).
#ifndef PLACEWRIGHT_CLI_REQUEST_STEPS_BY_BATCH_H_
#define PLACEWRIGHT_CLI_REQUEST_STEPS_BY_BATCH_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "cli/terminal/options.h"
#include "planning/strategy_trials.h"

namespace placewright {

class StepsByBatch {
 public:
  // `input`: the graph, its dimensions, what interrupts a recording. It outlives this.
  explicit StepsByBatch(const InputOptions& input) : input_(input) {}

  // Reads or records it where that was not done. Not stated: as it was recorded. Errors: those of LoadGraphOrModel; kUsage
  // (a file that states its own devices or times, a step that is rewritten already).
  Result<StrategyTrier*> At(std::optional<int64_t> batch);
  // Of the file that was read first; empty before.
  const std::string& sha256() const { return sha256_; }

 private:
  // Never moved.
  struct Step {
    explicit Step(Graph of) : graph(std::move(of)), trier(graph) {}
    const Graph graph;
    StrategyTrier trier;
  };

  const InputOptions& input_;
  std::map<int64_t, std::unique_ptr<Step>> steps_;  // 0: as recorded
  std::string sha256_;
};

// kBatchScaling where nothing proves how the step's sizes follow its batch, so that no op can be split.
Status CheckMayBeSplit(const Graph& step, const std::string& file);

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_REQUEST_STEPS_BY_BATCH_H_
