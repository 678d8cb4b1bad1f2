#include "learn/planner/learned_run.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>

#include "base/text.h"
#include "learn/features/vocabulary.h"
#include "learn/planner/teacher.h"
#include "learn/rl/learning_thread.h"
#include "learn/rl/objective.h"
#include "search/evaluation/group_placement.h"
#include "search/local/initial_placements.h"
#include "search/local/memory_repair.h"

namespace placewright {
namespace {

// Streams of a run's random numbers; agents have others (agent.cc).
enum RunStream : uint64_t { kFirstDraw = 101, kTrainer = 102, kVariations = 103 };

RewardScale ScaleOf(const AgentSettings& settings, const AgentProblem& problem,
                    Evaluator& evaluator) {
  RewardScale scale;
  const GroupPlacement alone = AllOnFastest(problem.candidates);
  const Evaluation one = evaluator.EvaluateOne(ExpandGroups(problem.problem, alone));
  const double steps = settings.Number("invalid-steps");
  const int64_t step =
      std::clamp<int64_t>(one.step_time.count, 1, static_cast<int64_t>(kMaxQuantity / steps));
  if (settings.Is("reward", "relative")) scale.unit = Nanos(step);
  const double seconds = settings.Number("invalid-seconds");
  scale.invalid = seconds > 0 ? Nanos(std::llround(seconds * 1e9))
                              : Nanos(std::llround(static_cast<double>(step) * steps));
  if (settings.Is("invalid", "graded")) {
    const auto& devices = problem.problem.cluster->devices();
    Bytes largest(1);
    for (const DeviceId device : devices) {
      largest = std::max(largest, problem.problem.cluster->device(device).capacity);
    }
    scale.graded = largest;
  }
  return scale;
}

// Whether a policy places any number of units in one pass.
bool PlacesAtOnce(const AgentSettings& settings) { return settings.algorithm().name == "gdp"; }

uint64_t HashOf(const GroupPlacement& devices) {
  Random state(devices.size());
  for (const DeviceId device : devices) {
    state = state.Fork(static_cast<uint64_t>(device.value()));
  }
  return state.Next();
}

}  // namespace

LearnedRun::LearnedRun(const AgentSettings& settings, const Problem& problem, Evaluator& evaluator,
                       const PlannerOptions& options)
    : evaluator_(evaluator),
      options_(options),
      problem_(problem, options.seed),
      scale_(ScaleOf(settings, problem_, evaluator)),
      imitation_(settings.Integer("imitation")),
      variations_(Random(options.seed).Fork(kVariations)),
      record_(problem, options_, settings.algorithm().name) {}

Result<std::unique_ptr<LearnedRun>> LearnedRun::Build(
    const AgentSettings& settings, const Problem& problem, Evaluator& evaluator,
    const PlannerOptions& options, const std::shared_ptr<Parameters>& parameters) {
  const LearningThread learning;
  std::unique_ptr<LearnedRun> run(new LearnedRun(settings, problem, evaluator, options));
  // Without samples the first placement is all that there is: no need to cut the graph.
  const bool whole = options.budget.iterations == 0 && PlacesAtOnce(settings);
  PW_ASSIGN(run->agent_, MakeAgent(settings, run->problem_, parameters,
                                   whole ? AgentUnits::kGroups : AgentUnits::kOfSettings));
  return run;
}

void LearnedRun::Begin(std::shared_ptr<PolicyOptimizer> optimizer, bool pretrained) {
  const LearningThread learning;
  Random random = Random(options_.seed).Fork(kFirstDraw);
  const GroupPlacement first =
      PlacementOf(agent_.policy->Sample(1, random, {.greedy = pretrained}).cpu()[0]);
  BeginFrom(first, Evaluate(first), std::move(optimizer), pretrained);
}

void LearnedRun::BeginFrom(const GroupPlacement& first, const Evaluation& evaluation,
                           std::shared_ptr<PolicyOptimizer> optimizer, bool pretrained) {
  const LearningThread learning;
  optimizer_ = std::move(optimizer);
  if (pretrained) NotePretrained();
  trainer_ = std::make_unique<Trainer>(*agent_.policy, optimizer_, agent_.trainer,
                                       Random(options_.seed).Fork(kTrainer));
  Consider(evaluation, first, true);
  if (const auto start = InitialGroups(problem_.problem, options_)) {
    Consider(Evaluate(*start), *start, false);
  }
  NoteSamples();
}

Result<std::unique_ptr<LearnedRun>> LearnedRun::Start(const AgentSettings& settings,
                                                      const Problem& problem, Evaluator& evaluator,
                                                      const PlannerOptions& options,
                                                      const StoredPolicy* stored) {
  const Clock::time_point start = Clock::now();
  PW_ASSIGN(const std::shared_ptr<Parameters> parameters,
            MakeParameters(settings, options.seed, stored));
  PW_ASSIGN(std::unique_ptr<LearnedRun> run,
            Build(settings, problem, evaluator, options, parameters));
  run->restart_ = settings.Integer("restart");
  run->varies_repeats_ = settings.Is("repeats", "varied");
  const std::shared_ptr<PolicyOptimizer> optimizer = MakeOptimizer(settings, parameters);
  if (stored == nullptr) {
    run->Begin(optimizer, false);
    return run;
  }
  run->stored_ = true;
  PW_ASSIGN(const MemoryRepair first, run->ZeroShot(settings, parameters));
  run->BeginFrom(first.devices, first.evaluation, optimizer, true);
  const std::chrono::duration<double, std::milli> took = Clock::now() - start;
  run->notes_.push_back(fmt::format("{}: the policy's placement took {:.0f} ms",
                                    settings.algorithm().name, took.count()));
  if (settings.Has("plans") && settings.Is("plans", "followed")) run->NoteFasterPlan(first);
  run->NoteSamples();
  return run;
}

Result<MemoryRepair> LearnedRun::ZeroShot(const AgentSettings& settings,
                                          const std::shared_ptr<Parameters>& parameters) {
  const LearningThread learning;
  Random random = Random(options_.seed).Fork(kFirstDraw);
  const auto likeliest = [&](const Agent& agent) {
    const at::Tensor row = agent.policy->Sample(1, random, {.greedy = true}).cpu()[0];
    return PlaceUnits(agent.units, problem_.candidates, agent.policy->DevicesOf(row));
  };
  GroupPlacement wanted;
  if (PlacesAtOnce(settings) && agent_.units.groups.size() != problem_.groups.size()) {
    PW_ASSIGN(const Agent whole, MakeAgent(settings, problem_, parameters, AgentUnits::kGroups));
    wanted = likeliest(whole);
  } else {
    wanted = likeliest(agent_);
  }
  if (settings.Is("repair", "off")) return MemoryRepair{wanted, Evaluate(wanted), 0};
  MemoryRepair repaired = RepairMemory(problem_.problem, problem_.candidates, problem_.groups,
                                       evaluator_, wanted, options_.budget);
  if (repaired.moved > 0) {
    notes_.push_back(fmt::format("{}: the policy's placement did not fit; {} of {} groups moved",
                                 record_.result.algorithm, repaired.moved, wanted.size()));
  }
  return repaired;
}

// Of the plans that the policy may follow: it chose among them without simulating any.
void LearnedRun::NoteFasterPlan(const MemoryRepair& chosen) {
  const FollowablePlans& plans = problem_.plans();
  std::optional<std::pair<Score, size_t>> best;
  for (size_t i = 0; i < plans.size(); ++i) {
    const Score score = Evaluate(plans[i]).score();
    if (!best || score < best->first) best = {score, i};
  }
  if (!(best->first < chosen.evaluation.score())) return;
  const auto words = [](const Score& score) {
    return FormatNanos(Nanos(score.step_time)) + (score.feasible ? "" : " (does not fit)");
  };
  notes_.push_back(fmt::format("{}: simulated, the plan of {} takes {}, the policy's {}",
                               record_.result.algorithm, kConstructivePlanNames[best->second],
                               words(best->first), words(chosen.evaluation.score())));
}

void LearnedRun::LearnTogether(std::span<const std::unique_ptr<LearnedRun>> runs,
                               const Budget& budget) {
  const LearningThread learning;
  std::vector<Trainer*> trainers;
  for (const auto& run : runs) trainers.push_back(run->trainer_.get());
  Trainer::LearnTogether(trainers, budget);
  for (Trainer* const trainer : trainers) trainer->Learn(budget);  // from elites
}

bool LearnedRun::Advance(int64_t max_moves) {
  const LearningThread learning;
  int64_t left = max_moves;
  if (options_.budget.iterations) {
    left = std::min(left, *options_.budget.iterations - record_.result.iterations);
  }
  if (left <= 0) return false;
  // Here rather than in Begin: pre-training takes its time, and slices end where budgets do.
  if (!pretrained_) {
    if (agent_.pretrain) agent_.pretrain(options_.budget);
    if (options_.budget.Expired()) return false;
    NotePretrained();
  }
  if (drawn_ == nullptr) {
    drawn_ = std::make_unique<Drawn>(Drawn{trainer_->Draw().cpu(), {}});
    if (varies_repeats_) VaryRepeats();
  }
  const auto evaluated = static_cast<int64_t>(drawn_->rewards.size());
  EvaluateDrawn(std::min(left, drawn_->decisions.size(0) - evaluated));
  NoteSamples();
  if (static_cast<int64_t>(drawn_->rewards.size()) < drawn_->decisions.size(0)) return true;
  trainer_->Observe(drawn_->decisions, drawn_->rewards);
  drawn_.reset();
  // LearnTogether takes it from here, once all runs have come so far.
  if (learns_together_ && trainer_->UpdateIsDue()) return true;
  trainer_->Learn(options_.budget);
  if (restart_ > 0 && life_.since >= restart_ && trainer_->AtUpdate()) BeginAnew();
  return true;
}

void LearnedRun::BeginAnew() {
  const at::NoGradGuard no_gradients;
  const std::vector<at::Tensor> parameters = agent_.policy->parameters().tensors();
  for (size_t i = 0; i < parameters.size(); ++i) parameters[i].copy_(first_values_[i]);
  optimizer_->Reset();
  life_ = {life_.number + 1};
  trainer_ = std::make_unique<Trainer>(*agent_.policy, optimizer_, agent_.trainer,
                                       Random(options_.seed).Fork(kTrainer).Fork(life_.number));
}

void LearnedRun::NotePretrained() {
  pretrained_ = true;
  if (agent_.begin) agent_.begin();
  const auto initial = InitialGroups(problem_.problem, options_);
  if (initial && options_.budget.iterations != 0) Imitate(*initial);
  if (restart_ == 0) return;
  for (const at::Tensor& tensor : agent_.policy->parameters().tensors()) {
    first_values_.push_back(tensor.detach().clone());
  }
}

void LearnedRun::Imitate(const GroupPlacement& start) {
  const at::Tensor decisions = DecisionsFor(start);
  for (int64_t step = 0; step < imitation_ && !options_.budget.Expired(); ++step) Climb(decisions);
  optimizer_->Reset();
}

at::Tensor LearnedRun::DecisionsFor(const GroupPlacement& placement) const {
  const std::vector<DeviceId> devices = DevicesOfUnits(problem_.problem, agent_.units, placement);
  return agent_.policy->DecisionsFor(devices).unsqueeze(0).to(
      agent_.policy->parameters().options().device());
}

void LearnedRun::Climb(const at::Tensor& decisions) {
  optimizer_->Climb(
      EliteObjective(agent_.policy->Evaluate(decisions).log_probability, agent_.policy->parts()));
}

Status LearnedRun::FindTeachersPlans(int64_t moves) {
  PW_ASSIGN(const std::vector<TaughtPlan> plans,
            TeachersPlans(problem_, evaluator_, options_, moves));
  std::vector<at::Tensor> decisions;
  std::vector<double> weights;
  for (const TaughtPlan& plan : plans) {
    decisions.push_back(DecisionsFor(plan.devices));
    weights.push_back(plan.weight);
  }
  taught_ = at::cat(decisions);
  taught_weights_ = at::tensor(weights).to(agent_.policy->parameters().options());
  return Ok();
}

at::Tensor LearnedRun::LikelihoodOfTaught() const {
  const at::Tensor log_probability = agent_.policy->Evaluate(taught_).log_probability;
  at::Tensor objective = at::zeros({}, log_probability.options());
  int64_t first = 0;
  for (const int64_t part : agent_.policy->parts()) {
    objective =
        objective + (log_probability.narrow(1, first, part).mean(1) * taught_weights_).sum();
    first += part;
  }
  return objective;
}

void LearnedRun::LearnFromTeachers(std::span<const std::unique_ptr<LearnedRun>> runs) {
  const LearningThread learning;
  std::vector<PolicyOptimizer::Objective> objectives;
  for (const auto& run : runs) {
    objectives.emplace_back([&run = *run] { return run.LikelihoodOfTaught(); });
  }
  runs.front()->optimizer_->Climb(objectives);
}

GroupPlacement LearnedRun::PlacementOf(const at::Tensor& row) const {
  return PlaceUnits(agent_.units, problem_.candidates, agent_.policy->DevicesOf(row));
}

Evaluation LearnedRun::Evaluate(const GroupPlacement& devices) {
  return evaluator_.EvaluateOne(ExpandGroups(problem_.problem, devices));
}

// A policy that has settled draws the same again and again, from which nothing is learned.
void LearnedRun::VaryRepeats() {
  constexpr int kTries = 64, kTriesOfOneDistance = 8;
  for (int64_t row = 0; row < drawn_->decisions.size(0); ++row) {
    at::Tensor decisions = drawn_->decisions[row].clone();
    for (int attempt = 0; !sampled_.insert(HashOf(PlacementOf(decisions))).second; ++attempt) {
      decisions = drawn_->decisions[row].clone();
      if (attempt == kTries || options_.budget.Expired()) break;  // few placements are left
      for (int change = 0; change <= attempt / kTriesOfOneDistance; ++change) {
        decisions = agent_.policy->Varied(decisions, variations_);
      }
    }
    drawn_->decisions[row].copy_(decisions);
  }
}

void LearnedRun::EvaluateDrawn(int64_t count) {
  const auto first = static_cast<int64_t>(drawn_->rewards.size());
  std::vector<GroupPlacement> devices;
  std::vector<Placement> placements;
  for (int64_t row = first; row < first + count; ++row) {
    devices.push_back(PlacementOf(drawn_->decisions[row]));
    placements.push_back(ExpandGroups(problem_.problem, devices.back()));
  }
  const Clock::time_point start = Clock::now();
  const std::vector<Evaluation> evaluations = evaluator_.Evaluate(placements);
  total_.evaluating += std::chrono::duration<double>(Clock::now() - start).count();
  for (size_t i = 0; i < evaluations.size(); ++i) {
    const Evaluation& evaluation = evaluations[i];
    ++record_.result.iterations;
    ++total_.samples;
    total_.invalid += evaluation.feasible ? 0 : 1;
    if (evaluation.feasible) total_.seconds += Seconds(evaluation.step_time);
    const double reward = RewardOf(evaluation, scale_);
    drawn_->rewards.push_back(reward);
    ++life_.since;
    if (reward > life_.best) life_ = {life_.number, reward, 0};
    Consider(evaluation, devices[i], false);
  }
}

void LearnedRun::Consider(const Evaluation& evaluation, const GroupPlacement& devices, bool first) {
  const bool better = first || evaluation.score() < best_.score;
  if (better) best_ = {evaluation.score(), devices};
  record_.Update(best_, better);
}

void LearnedRun::NoteSamples() {
  record_.result.notes = notes_;
  record_.result.notes.push_back(fmt::format("{}: {} placements sampled, {} of them did not fit",
                                             record_.result.algorithm, total_.samples,
                                             total_.invalid));
  if (total_.samples == 0 && !stored_) {
    record_.result.notes.push_back(
        fmt::format("{}: the plan is the first draw of an untrained policy; more time (--time 2m) "
                    "or fewer parts (--set parts=64) leave some for training",
                    record_.result.algorithm));
  }
}

void LearnedRun::Store(StateWriter& state) const {
  trainer_->Store(state);
  state.Integer("pretrained", pretrained_ ? 1 : 0);
  state.Integer("iterations", record_.result.iterations);
  state.Integer("counted", total_.samples);
  state.Integer("invalid", total_.invalid);
  state.Number("step_seconds", total_.seconds);
  std::vector<int64_t> devices, iterations, times;
  std::vector<double> seconds;
  for (const DeviceId device : best_.devices) devices.push_back(device.value());
  for (const HistoryPoint& point : record_.result.history) {
    iterations.push_back(point.iterations);
    times.push_back(point.step_time.count);
    seconds.push_back(point.seconds);
  }
  state.Tensor("best", at::tensor(devices, at::kLong));
  state.Tensor("history_iterations", at::tensor(iterations, at::kLong));
  state.Tensor("history_step_times", at::tensor(times, at::kLong));
  state.Tensor("history_seconds", at::tensor(seconds, at::kDouble));
}

Status LearnedRun::Restore(const StateReader& state) {
  PW_RETURN_IF_ERROR(trainer_->Restore(state));
  PW_ASSIGN(const int64_t pretrained, state.Integer("pretrained"));
  if (pretrained != 0) {
    const LearningThread learning;
    NotePretrained();
  }
  PW_ASSIGN(record_.result.iterations, state.Integer("iterations"));
  PW_ASSIGN(total_.samples, state.Integer("counted"));
  PW_ASSIGN(total_.invalid, state.Integer("invalid"));
  PW_ASSIGN(total_.seconds, state.Number("step_seconds"));
  PW_ASSIGN(const at::Tensor best, state.Tensor("best", at::kLong, 1));
  PW_ASSIGN(const at::Tensor iterations, state.Tensor("history_iterations", at::kLong, 1));
  PW_ASSIGN(const at::Tensor times, state.Tensor("history_step_times", at::kLong, 1));
  PW_ASSIGN(const at::Tensor seconds, state.Tensor("history_seconds", at::kDouble, 1));
  const auto other = [] {
    return MakeError(ErrorCode::kPlanMismatch, "the training is of another graph or cluster", "",
                     "Give the graphs and the cluster that it began with.");
  };
  if (best.size(0) != static_cast<int64_t>(problem_.problem.groups.size())) return other();
  GroupPlacement devices;
  for (ColocationGroupId group : problem_.problem.group_ids()) {
    const DeviceId device(static_cast<int32_t>(best[group.value()].item<int64_t>()));
    const std::vector<DeviceId>& allowed = problem_.problem.groups[group].allowed;
    if (!std::binary_search(allowed.begin(), allowed.end(), device)) return other();
    devices.push_back(device);
  }
  // Devices and groups may agree by chance: the best placement must take as long as it did.
  const Evaluation evaluation = Evaluate(devices);
  const int64_t points = times.size(0);
  if (iterations.size(0) != points || seconds.size(0) != points ||
      (evaluation.feasible && points > 0 &&
       times[points - 1].item<int64_t>() != evaluation.step_time.count)) {
    return other();
  }
  record_.result.history.clear();
  best_ = {evaluation.score(), devices};
  for (int64_t i = 0; i < points; ++i) {
    record_.result.history.push_back({iterations[i].item<int64_t>(), seconds[i].item<double>(),
                                      Nanos(times[i].item<int64_t>()), record_.result.algorithm});
  }
  if (points > 0) record_.result.first_feasible_seconds = seconds[0].item<double>();
  record_.Update(best_, true);
  NoteSamples();
  return Ok();
}

Result<std::shared_ptr<Parameters>> MakeParameters(const AgentSettings& settings, uint64_t seed,
                                                   const StoredPolicy* stored) {
  PW_ASSIGN(const at::TensorOptions numbers, PolicyTensors(settings));
  std::map<std::string, at::Tensor> values;
  if (stored != nullptr) {
    if (stored->vocabulary != vocabulary::kVersion) {
      return MakeError(ErrorCode::kPlanMismatch,
                       fmt::format("the policy knows version {} of the op types, this program has "
                                   "version {}",
                                   stored->vocabulary, vocabulary::kVersion),
                       "", "Train it again with this version.");
    }
    for (const auto& [name, tensor] : stored->parameters) values[name] = FromStored(tensor);
  }
  return std::make_shared<Parameters>(FirstValues(seed), numbers, std::move(values));
}

}  // namespace placewright
