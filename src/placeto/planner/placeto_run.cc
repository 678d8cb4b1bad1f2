#include "placeto/planner/placeto_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "placeto/agent/stored_numbers.h"
#include "search/evaluation/group_placement.h"
#include "search/local/initial_placements.h"

namespace placewright {
namespace {

// Streams of a run's random numbers.
enum Stream : uint64_t { kFirstValues = 1, kVisits = 2, kLives = 3 };

// Placements in a slice: of a thousand units, some fifty milliseconds.
constexpr int64_t kStepsPerSlice = 16;

}  // namespace

PlacetoOptions PlacetoOptionsOf(const AgentSettings& settings) {
  PlacetoOptions options;
  options.reward = settings.Is("reward", "improvement") ? PlacetoOptions::Reward::kImprovement
                                                        : PlacetoOptions::Reward::kSlowDown;
  options.baseline = settings.Is("baseline", "mean")     ? PlacetoOptions::Baseline::kMean
                     : settings.Is("baseline", "moving") ? PlacetoOptions::Baseline::kMoving
                                                         : PlacetoOptions::Baseline::kLearned;
  options.baseline_decay = settings.Number("baseline-decay");
  options.entropy = settings.Number("entropy");
  options.discount = settings.Number("discount");
  options.memory_penalty = settings.Number("memory-penalty");
  options.greedy_every = settings.Integer("greedy-every");
  options.uniform = settings.Is("policy", "uniform");
  return options;
}

Result<std::shared_ptr<PlacetoLearner>> MakePlacetoLearner(const AgentSettings& settings,
                                                           size_t devices, uint64_t seed,
                                                           const StoredPolicy* stored) {
  const PlacetoLearnerOptions options{settings.Number("learning-rate"),
                                      settings.Number("gradient-norm")};
  auto learner = std::make_shared<PlacetoLearner>(static_cast<int32_t>(devices),
                                                  settings.Is("baseline", "learned"), options,
                                                  Random(seed).Fork(kFirstValues));
  if (stored != nullptr) PW_RETURN_IF_ERROR(learner->Restore(*stored, false));
  return learner;
}

PlacetoRun::PlacetoRun(const Problem& problem, Evaluator& evaluator, const PlannerOptions& options)
    : evaluator_(evaluator),
      options_(options),
      problem_(problem),
      graph_(BuildOpGraph(problem)),
      candidates_(FindCandidateDevices(problem, graph_)),
      groups_(DescribeGroups(problem, graph_)),
      record_(problem, options_, "placeto") {}

Result<std::unique_ptr<PlacetoRun>> PlacetoRun::Start(const AgentSettings& settings,
                                                      const Problem& problem, Evaluator& evaluator,
                                                      const PlannerOptions& options,
                                                      std::shared_ptr<PlacetoLearner> learner,
                                                      Use use) {
  std::unique_ptr<PlacetoRun> run(new PlacetoRun(problem, evaluator, options));
  UnitOptions of_units;
  of_units.parts = settings.Integer("parts");
  of_units.fluid = settings.Is("partition", "fluid");
  of_units.seed = options.seed;
  PW_ASSIGN(run->units_, MakeUnits(problem, run->graph_, run->candidates_, run->groups_, of_units));
  run->placeto_graph_.emplace(MakePlacetoGraph(run->graph_, run->groups_, run->units_));
  run->environment_ = std::make_unique<StepEnvironment>(
      problem, evaluator, run->candidates_, run->units_, settings.Is("simulator", "placeto"));
  PlacetoTask task;
  task.graph = &*run->placeto_graph_;
  task.environment = run->environment_.get();
  for (const std::vector<DeviceId>& candidates : run->units_.candidates) {
    std::vector<int32_t>& allowed = task.allowed.emplace_back();
    for (const DeviceId device : candidates) allowed.push_back(device.value());
  }
  task.order =
      UnitsInOrder(problem, run->units_, ParseTraversalOrder(settings.Word("order")).value());
  const GroupPlacement start =
      InitialGroups(problem, options).value_or(AllOnFastest(run->candidates_));
  std::vector<int32_t> first;
  for (const DeviceId device : DevicesOfUnits(problem, run->units_, start)) {
    first.push_back(device.value());
  }
  PlacetoOptions of_agent = PlacetoOptionsOf(settings);
  of_agent.remembers = use != Use::kTraining;
  if (use == Use::kPlan) run->restart_ = settings.Integer("restart");
  run->learner_ = std::move(learner);
  run->agent_ = std::make_unique<PlacetoAgent>(std::move(task), of_agent, run->learner_,
                                               Random(options.seed).Fork(kVisits), first);
  // The beginning is no iteration.
  run->has_choice_ = run->agent_->Step();
  // Uniform draws learn nothing, nor do episodes that all take the likeliest devices.
  run->learns_ = run->has_choice_ && !of_agent.uniform && of_agent.greedy_every != 1;
  if (!run->has_choice_) {
    std::vector<double> starts;
    run->environment_->Evaluate(first, starts);
  }
  run->Consider();
  return run;
}

void PlacetoRun::Consider() {
  const Score score = environment_->evaluation().score();
  const bool better = !any_ || score < best_.score;
  if (better) best_ = {score, environment_->placement()};
  any_ = true;
  record_.Update(best_, better);
}

bool PlacetoRun::Step() {
  if (!agent_->Step()) return false;
  total_.evaluating = environment_->seconds();
  const Evaluation& evaluation = environment_->evaluation();
  ++record_.result.iterations;
  ++total_.samples;
  if (evaluation.feasible) {
    total_.seconds += Seconds(evaluation.step_time);
  } else {
    ++total_.invalid;
  }
  Consider();
  if (agent_->cost() < lowest_) {
    lowest_ = agent_->cost();
    since_ = 0;
  }
  if (restart_ > 0 && agent_->AtEpisodeEnd() && ++since_ > restart_) BeginAnew();
  return true;
}

void PlacetoRun::BeginAnew() {
  Random random = Random(options_.seed).Fork(kLives).Fork(++lives_);
  std::vector<int32_t> first;
  for (const std::vector<DeviceId>& candidates : units_.candidates) {
    first.push_back(candidates[random.Below(candidates.size())].value());
  }
  learner_->Reset(random.Fork(kFirstValues));
  agent_->BeginAnew(std::move(first));
  lowest_ = std::numeric_limits<double>::infinity();
  since_ = 0;
}

bool PlacetoRun::Advance(int64_t max_moves) {
  int64_t left = std::min(max_moves, kStepsPerSlice);
  if (options_.budget.iterations) {
    left = std::min(left, *options_.budget.iterations - record_.result.iterations);
  }
  if (left <= 0) return false;
  for (; left > 0 && !options_.budget.Expired(); --left) {
    if (!Step()) return false;
  }
  record_.result.notes = {
      fmt::format("placeto: {} placements in {} episodes, {} of them did not fit", total_.samples,
                  agent_->episodes(), total_.invalid)};
  // Once it has begun anew, episodes have ended before.
  if (learns_ && lives_ == 0 && !agent_->has_learned()) {
    record_.result.notes.push_back(fmt::format(
        "placeto: nothing was learned, as no episode of {} visits came to its end behind that "
        "of the likeliest devices; give more time, or fewer units (--set parts=N)",
        agent_->visits()));
  }
  return true;
}

void PlacetoRun::Store(const std::string& prefix, StoredPolicy& policy) const {
  agent_->Store(prefix, policy);
  const std::vector<int64_t> counts = {record_.result.iterations, total_.samples, total_.invalid};
  std::vector<int64_t> devices, iterations, times;
  std::vector<double> seconds = {total_.seconds};
  for (const DeviceId device : best_.devices) devices.push_back(device.value());
  for (const HistoryPoint& point : record_.result.history) {
    iterations.push_back(point.iterations);
    times.push_back(point.step_time.count);
    seconds.push_back(point.seconds);
  }
  policy.state_tensors[prefix + "counts"] = StoredNumbers<int64_t>(counts);
  policy.state_tensors[prefix + "found"] = StoredNumbers<int64_t>(devices);
  policy.state_tensors[prefix + "history_iterations"] = StoredNumbers<int64_t>(iterations);
  policy.state_tensors[prefix + "history_step_times"] = StoredNumbers<int64_t>(times);
  policy.state_tensors[prefix + "seconds"] = StoredNumbers<double>(seconds);
}

Status PlacetoRun::Restore(const std::string& prefix, const StoredPolicy& policy) {
  const auto integers = [&](const char* name) {
    return NumbersOf<int64_t>(policy.state_tensors, prefix + name);
  };
  PW_ASSIGN(const std::vector<int64_t> counts, integers("counts"));
  PW_ASSIGN(const std::vector<int64_t> found, integers("found"));
  PW_ASSIGN(const std::vector<int64_t> iterations, integers("history_iterations"));
  PW_ASSIGN(const std::vector<int64_t> times, integers("history_step_times"));
  PW_ASSIGN(const std::vector<double> seconds,
            NumbersOf<double>(policy.state_tensors, prefix + "seconds"));
  const auto other = [] {
    return MakeError(ErrorCode::kPlanMismatch, "the training is of another graph or cluster", "",
                     "Give the graphs and the cluster that it began with.");
  };
  if (counts.size() != 3 || found.size() != problem_.groups.size() ||
      iterations.size() != times.size() || seconds.size() != times.size() + 1) {
    return other();
  }
  GroupPlacement devices;
  for (const ColocationGroupId group : problem_.group_ids()) {
    const DeviceId device(static_cast<int32_t>(found[group.index()]));
    const std::vector<DeviceId>& allowed = problem_.groups[group].allowed;
    if (!std::binary_search(allowed.begin(), allowed.end(), device)) return other();
    devices.push_back(device);
  }
  // Devices and groups may agree by chance: the best placement must take as long as it did.
  const Evaluation evaluation = evaluator_.EvaluateOne(ExpandGroups(problem_, devices));
  if (evaluation.feasible && !times.empty() && times.back() != evaluation.step_time.count) {
    return other();
  }
  PW_RETURN_IF_ERROR(agent_->Restore(prefix, policy));
  record_.result.iterations = counts[0];
  total_ = {counts[1], counts[2], seconds[0], 0};
  best_ = {evaluation.score(), devices};
  record_.result.history.clear();
  for (size_t i = 0; i < times.size(); ++i) {
    record_.result.history.push_back(
        {iterations[i], seconds[i + 1], Nanos(times[i]), record_.result.algorithm});
  }
  if (!times.empty()) record_.result.first_feasible_seconds = seconds[1];
  record_.Update(best_, true);
  return Ok();
}

}  // namespace placewright
