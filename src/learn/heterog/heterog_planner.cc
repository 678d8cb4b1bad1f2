#include "learn/heterog/heterog_planner.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "learn/agent/agent.h"
#include "learn/heterog/heterog_learner.h"
#include "learn/tag/tag_parameters.h"
#include "search/layouts/layout_record.h"

namespace placewright {
namespace {

class HeterogRun : public PlannerRun {
 public:
  HeterogRun(const AgentSettings& settings, Evaluator& evaluator, const PlannerOptions& options)
      : settings_(settings),
        options_(options),
        record_(evaluator, options_, book_, settings.algorithm().name) {}

  Status Start(const Problem& problem, Evaluator& evaluator, const StoredPolicy* policy) {
    PW_ASSIGN(network_, TrainedTagNetwork::Make(settings_, options_.seed, policy));
    PW_ASSIGN(learner_, HeterogLearner::Make(settings_, problem, evaluator, book_, options_.budget,
                                             options_.seed, *network_.network,
                                             network_.parameters->options()));
    record_.Keep(learner_->game().base_state(), learner_->game().base());
    learner_->SetOnScored([this](const LayoutState& state, const Score& score, int64_t number) {
      record_.result.iterations = number;
      record_.Keep(state, score);
    });
    if (policy != nullptr) learner_->ScoreLikeliest();
    return Ok();
  }

  bool Advance(int64_t max_moves) override {
    const int64_t left =
        options_.budget.iterations.value_or(kMaxQuantity) - record_.result.iterations;
    if (left <= 0 || record_.IsEnough()) return false;
    const bool sampled = learner_->Sample(std::min(max_moves, left)) > 0;
    record_.result.iterations = learner_->total().samples;
    if (sampled && learner_->UpdateIsDue()) learner_->Learn(*network_.optimizer);
    return sampled;
  }

  void Offer(const Score&, const StepPlan&) override {}
  const PlannerResult& result() const override { return record_.result; }

  Status Finish() override {
    learner_->ScoreLikeliest();
    PW_RETURN_IF_ERROR(record_.Finish());
    const SampleCounts& total = learner_->total();
    record_.result.notes.push_back(fmt::format(
        "heterog: {} strategies drawn, of which {} do not fit or take more than {:g} steps of data "
        "parallelism; that takes {:.3f} ms",
        total.samples, total.invalid, settings_.Number("invalid-steps"),
        static_cast<double>(learner_->game().base().step_time) * 1e-6));
    return Ok();
  }

 private:
  const AgentSettings settings_;
  const PlannerOptions options_;
  LayoutBook book_;
  LayoutRecord record_;
  TrainedTagNetwork network_;
  std::unique_ptr<HeterogLearner> learner_;
};

}  // namespace

Result<std::unique_ptr<PlannerRun>> HeterogPlanner::Start(const Problem& problem,
                                                          Evaluator& evaluator,
                                                          const PlannerOptions& options) const {
  auto run = std::make_unique<HeterogRun>(settings_, evaluator, options);
  PW_RETURN_IF_ERROR(run->Start(problem, evaluator, policy_.get()));
  return std::unique_ptr<PlannerRun>(std::move(run));
}

}  // namespace placewright
