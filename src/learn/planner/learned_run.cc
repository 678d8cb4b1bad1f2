#include "learn/planner/learned_run.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "search/evaluation/group_placement.h"
#include "search/local/initial_placements.h"

namespace placewright {
namespace {

// Streams of a run's random numbers; agents have others (agent.cc).
enum RunStream : uint64_t { kFirstDraw = 101, kTrainer = 102 };

constexpr int64_t kInvalidFactor = 10;

// LibTorch computes on one thread of ours; its number of threads belongs to the calling thread.
void UseOneThread() { at::set_num_threads(1); }

RewardScale ScaleOf(const AgentSettings& settings, const AgentProblem& problem,
                    Evaluator& evaluator) {
  RewardScale scale;
  const GroupPlacement alone = AllOnFastest(problem.candidates);
  const Evaluation one = evaluator.EvaluateOne(ExpandGroups(problem.problem, alone));
  const int64_t step = std::clamp<int64_t>(one.step_time.count, 1, kMaxQuantity / kInvalidFactor);
  if (settings.Is("reward", "relative")) scale.unit = Nanos(step);
  const double seconds = settings.Number("invalid-seconds");
  scale.invalid = seconds > 0 ? Nanos(std::llround(seconds * 1e9)) : Nanos(step * kInvalidFactor);
  return scale;
}

}  // namespace

LearnedRun::LearnedRun(const AgentSettings& settings, const Problem& problem, Evaluator& evaluator,
                       const PlannerOptions& options)
    : evaluator_(evaluator),
      options_(options),
      problem_(problem, options.seed),
      scale_(ScaleOf(settings, problem_, evaluator)),
      record_(problem, options_, settings.algorithm().name) {}

Result<std::unique_ptr<LearnedRun>> LearnedRun::Start(const AgentSettings& settings,
                                                      const Problem& problem, Evaluator& evaluator,
                                                      const PlannerOptions& options) {
  UseOneThread();
  std::unique_ptr<LearnedRun> run(new LearnedRun(settings, problem, evaluator, options));
  PW_RETURN_IF_ERROR(run->Build(settings));
  return run;
}

Status LearnedRun::Build(const AgentSettings& settings) {
  PW_ASSIGN(agent_, MakeAgent(settings, problem_));
  const Random random(options_.seed);
  trainer_ = std::make_unique<Trainer>(*agent_.policy, agent_.trainer, random.Fork(kTrainer));
  Random first = random.Fork(kFirstDraw);
  drawn_ = agent_.policy->Sample(1, first).cpu();
  const GroupPlacement devices = PlacementOfRow(0);
  drawn_ = at::Tensor();
  Consider(evaluator_.EvaluateOne(ExpandGroups(problem_.problem, devices)), devices, true);
  if (options_.initial) {
    const GroupPlacement start = GroupsOf(problem_.problem, *options_.initial);
    Consider(evaluator_.EvaluateOne(ExpandGroups(problem_.problem, start)), start, false);
  }
  return Ok();
}

bool LearnedRun::Advance(int64_t max_moves) {
  UseOneThread();
  int64_t left = max_moves;
  if (options_.budget.iterations) {
    left = std::min(left, *options_.budget.iterations - record_.result.iterations);
  }
  if (left <= 0) return false;
  if (!pretrained_) {
    if (agent_.pretrain) agent_.pretrain(options_.budget);
    pretrained_ = true;
    if (options_.budget.Expired()) return false;
  }
  if (!drawn_.defined()) Draw();
  EvaluateDrawn(std::min(left, drawn_.size(0) - static_cast<int64_t>(rewards_.size())));
  NoteSamples();
  if (static_cast<int64_t>(rewards_.size()) < drawn_.size(0)) return true;
  trainer_->Observe(drawn_, rewards_, options_.budget);
  drawn_ = at::Tensor();
  rewards_.clear();
  return true;
}

void LearnedRun::Draw() { drawn_ = trainer_->Draw().cpu(); }

GroupPlacement LearnedRun::PlacementOfRow(int64_t row) const {
  return PlaceUnits(agent_.units, problem_.candidates, agent_.policy->DevicesOf(drawn_[row]));
}

void LearnedRun::EvaluateDrawn(int64_t count) {
  const auto first = static_cast<int64_t>(rewards_.size());
  std::vector<GroupPlacement> devices;
  std::vector<Placement> placements;
  for (int64_t row = first; row < first + count; ++row) {
    devices.push_back(PlacementOfRow(row));
    placements.push_back(ExpandGroups(problem_.problem, devices.back()));
  }
  const std::vector<Evaluation> evaluations = evaluator_.Evaluate(placements);
  for (size_t i = 0; i < evaluations.size(); ++i) {
    ++record_.result.iterations;
    invalid_samples_ += evaluations[i].feasible ? 0 : 1;
    rewards_.push_back(RewardOf(evaluations[i], scale_));
    Consider(evaluations[i], devices[i], false);
  }
}

void LearnedRun::Consider(const Evaluation& evaluation, const GroupPlacement& devices, bool first) {
  const bool better = first || evaluation.score() < best_.score;
  if (better) best_ = {evaluation.score(), devices};
  record_.Update(best_, better);
}

void LearnedRun::NoteSamples() {
  record_.result.notes = {fmt::format("{}: {} placements sampled, {} of them did not fit",
                                      record_.result.algorithm, record_.result.iterations,
                                      invalid_samples_)};
}

}  // namespace placewright
