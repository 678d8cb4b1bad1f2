#include "cli/request/steps_by_batch.h"

#include <fmt/format.h>

#include <utility>

#include "cli/request/models.h"

namespace placewright {

Result<StrategyTrier*> StepsByBatch::At(std::optional<int64_t> batch) {
  const int64_t key = batch.value_or(0);
  const auto at = steps_.find(key);
  if (at != steps_.end()) return &at->second->trier;
  PW_ASSIGN(const auto dimensions, ParseDimensions(input_.dimensions));
  GraphInputOptions options{batch, "", dimensions};
  options.prove_batch = true;
  PW_ASSIGN(LoadedGraph loaded,
            LoadGraphOrModel(input_.graph, options, {}, input_.interrupted, input_.say));
  const auto refuse = [&](const std::string& why) {
    Error error =
        MakeError(ErrorCode::kUsage, why, "", "Give a step as it was recorded, or a model.");
    error.file = input_.graph;
    return error;
  };
  if (loaded.cluster || loaded.times) return refuse("the file states its own devices or times");
  if (!RewriteAlike(loaded.graph.transforms(), {})) {
    return refuse("the step is rewritten already: " + Describe(loaded.graph.transforms()));
  }
  if (sha256_.empty()) sha256_ = loaded.sha256;
  auto step = std::make_unique<Step>(std::move(loaded.graph));
  return &steps_.emplace(key, std::move(step)).first->second->trier;
}

Status CheckMayBeSplit(const Graph& step, const std::string& file) {
  const BatchScaling* const laws = step.batch_scaling();
  if (laws != nullptr && laws->reason.empty()) return Ok();
  Error error = MakeError(ErrorCode::kBatchScaling,
                          "no op can be split: it is not proven how sizes follow the batch", "",
                          "Record the step so that it scales (docs/formats/pytorch.md).");
  error.file = file;
  return error;
}

}  // namespace placewright
