#include "cli/bench/seed_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "base/text.h"
#include "cli/torch_library.h"
#include "formats/policy/policy_file.h"
#include "formats/text/file.h"
#include "planning/algorithms.h"
#include "search/evaluation/group_placement.h"
#include "search/local/initial_placements.h"
#include "study/file_lock.h"
#include "torch_api/planner_service.h"

namespace placewright {
namespace {

namespace fs = std::filesystem;

constexpr double kStepsOfASample = 15, kRestartSeconds = 10;
constexpr std::chrono::seconds kKeepEvery(120);

bool IsLearned(const StudyMethod& method) { return method.kind == StudyMethod::Kind::kLearned; }

std::map<std::string, std::string> ValuesOf(const AgentSettings& settings) {
  return {settings.values().begin(), settings.values().end()};
}

std::string DigitsOf(const Problem& problem, const Placement& placement) {
  std::string digits;
  for (const DeviceId device : GroupsOf(problem, placement)) {
    digits += static_cast<char>('0' + device.value());
  }
  return digits;
}

// One that plans at once: a curve of one point.
Result<StudyRun> PlanAtOnce(const WantedRun& wanted) {
  PW_ASSIGN(const std::unique_ptr<Planning> planning, PrepareRun(wanted.key));
  const Problem& problem = planning->problem();
  Evaluator& evaluator = planning->prepared->evaluator();
  Placement placement;
  if (wanted.method->kind == StudyMethod::Kind::kOneGpu) {
    const CandidateDevices candidates = FindCandidateDevices(problem, BuildOpGraph(problem));
    placement = ExpandGroups(problem, AllOnFastest(candidates));
  } else {
    const Algorithms algorithms;
    PW_ASSIGN(const Planner* expert, algorithms.Find("expert"));
    PW_ASSIGN(const PlannerResult planned, expert->Plan(problem, evaluator, {}));
    placement = planned.placement;
  }
  const Evaluation evaluation = evaluator.EvaluateOne(placement);
  StudyRun run;
  run.key = wanted.key;
  CurvePoint point;
  if (evaluation.feasible) point.best = point.mean = Seconds(evaluation.step_time);
  run.curve.push_back(point);
  run.placement = DigitsOf(problem, placement);
  return run;
}

// A training with what it has come to, kept in two files between processes.
class KeptTraining {
 public:
  KeptTraining(const WantedRun& wanted, const std::string& base)
      : wanted_(wanted), policy_path_(base + ".policy"), run_path_(base + ".json") {}

  // False where the budget ended it.
  Result<bool> Train(const Budget& budget, Console& console) {
    run_ = StudyRun();
    run_.key = wanted_.key;
    PW_ASSIGN(const std::unique_ptr<Planning> planning, PrepareRun(wanted_.key));
    PW_ASSIGN(const TorchLibrary library, TorchLibrary::Open(TorchLibrary::Part::kLearn));
    const PlannerService* const service = library.api().planners();
    if (service == nullptr) {
      return MakeError(ErrorCode::kMissingRuntime, library.path() + " trains no planners");
    }
    const LearnedAlgorithm& algorithm = *FindLearnedAlgorithm(wanted_.key.algorithm);
    std::vector<std::string> changes;
    for (const auto& [name, value] : wanted_.key.settings) changes.push_back(name + "=" + value);
    PW_ASSIGN(const AgentSettings settings, AgentSettings::Parse(algorithm, changes));
    PW_ASSIGN(const std::optional<StoredPolicy> kept, LoadKept());
    std::optional<StoredPolicy> start;
    if (!kept && !wanted_.key.source.empty()) {
      PW_ASSIGN(start, TrainOnSource(*service, settings, budget, console));
      if (!start) return false;
    }
    TrainingRequest request = RequestFor(*planning, budget, wanted_.samples);
    request.start = kept ? &*kept : start ? &*start : nullptr;
    request.resume = kept.has_value();
    Result<std::unique_ptr<PolicyTraining>> begun = service->StartTraining(settings, request);
    if (!begun.ok() && request.resume && begun.error().code == ErrorCode::kPlanMismatch) {
      // What another version of the program has kept is begun anew.
      Forget();
      return Train(budget, console);
    }
    PW_ASSIGN(const std::unique_ptr<PolicyTraining> training, std::move(begun));
    const double before = run_.seconds, evaluating = run_.evaluating;
    Clock::time_point written = Clock::now();
    while (training->Advance()) {
      Note(*training, planning->problem());
      run_.seconds = before + training->progress().seconds;
      run_.evaluating = evaluating + training->progress().evaluating;
      console.Progress(fmt::format("{} {} seed {}: {} of {} samples, best {}", wanted_.key.graph,
                                   wanted_.method->label, wanted_.key.seed,
                                   training->progress().samples, wanted_.samples,
                                   FormatNanos(training->result(0).step_time)));
      if (Clock::now() - written < kKeepEvery) continue;
      PW_RETURN_IF_ERROR(Keep(*training));
      written = Clock::now();
    }
    run_.samples = training->progress().samples;
    if (run_.samples + settings.Integer("update") <= wanted_.samples) {
      PW_RETURN_IF_ERROR(Keep(*training));
      return false;
    }
    return true;
  }

  void Forget() const {
    std::error_code ignored;
    fs::remove(policy_path_, ignored);
    fs::remove(run_path_, ignored);
  }

  StudyRun TakeRun() { return std::move(run_); }

 private:
  TrainingRequest RequestFor(const Planning& planning, const Budget& budget,
                             int64_t samples) const {
    TrainingRequest request;
    request.problems = {{&planning.problem(), &planning.prepared->evaluator()}};
    request.options.seed = wanted_.key.seed;
    request.options.threads = 1;
    request.options.started = Clock::now();
    request.options.budget = budget;
    request.options.budget.iterations = samples;
    return request;
  }

  // The policy trained on the key's source; none where the budget ended it: it is begun anew then.
  Result<std::optional<StoredPolicy>> TrainOnSource(const PlannerService& service,
                                                    const AgentSettings& settings,
                                                    const Budget& budget, Console& console) {
    RunKey source = wanted_.key;
    source.graph = wanted_.key.source;
    PW_ASSIGN(const std::unique_ptr<Planning> planning, PrepareRun(source));
    const TrainingRequest request = RequestFor(*planning, budget, wanted_.source_samples);
    PW_ASSIGN(const std::unique_ptr<PolicyTraining> training,
              service.StartTraining(settings, request));
    while (training->Advance()) {
      console.Progress(fmt::format("{} {} seed {}: {} of {} samples on {}", wanted_.key.graph,
                                   wanted_.method->label, wanted_.key.seed,
                                   training->progress().samples, wanted_.source_samples,
                                   wanted_.key.source));
    }
    if (budget.Expired()) return std::optional<StoredPolicy>();
    run_.seconds = training->progress().seconds;
    run_.evaluating = training->progress().evaluating;
    return std::optional<StoredPolicy>(training->stored());
  }

  // The training up to here, and run_ with it; none where there is none. The two files are written
  // one after the other: what does not agree is begun anew.
  Result<std::optional<StoredPolicy>> LoadKept() {
    std::error_code ignored;
    if (!fs::exists(policy_path_, ignored) || !fs::exists(run_path_, ignored)) {
      return std::optional<StoredPolicy>();
    }
    PW_ASSIGN(StoredPolicy policy, LoadPolicy(policy_path_));
    PW_ASSIGN(const std::string text, ReadFile(run_path_));
    PW_ASSIGN(const Json json, ParseJson(text));
    PW_ASSIGN(StudyRun run, StudyRunOf(json, "run"));
    const auto counted = policy.state.find("problem0.counted");
    if (counted == policy.state.end() || counted->second != fmt::to_string(run.samples)) {
      return std::optional<StoredPolicy>();
    }
    run_ = std::move(run);
    run_.key = wanted_.key;
    return std::optional<StoredPolicy>(std::move(policy));
  }

  Status Keep(const PolicyTraining& training) {
    if (training.progress().updates == 0) return Ok();
    run_.samples = training.progress().samples;
    PW_RETURN_IF_ERROR(WriteFileAtomically(policy_path_, FormatPolicy(training.stored())));
    return WriteFileAtomically(run_path_, ToJson(run_).dump());
  }

  void Note(const PolicyTraining& training, const Problem& problem) {
    const TrainingProgress now = training.progress();
    const PlannerResult& result = training.result(0);
    CurvePoint point;
    point.samples = now.samples;
    if (result.feasible) point.best = Seconds(result.step_time);
    const auto fitting = static_cast<double>(now.update_samples - now.update_invalid);
    if (fitting > 0) point.mean = now.mean_seconds;
    point.invalid = now.update_invalid;
    run_.curve.push_back(point);
    if (now.samples <= wanted_.judged) run_.placement = DigitsOf(problem, result.placement);
    run_.environment_seconds += kStepsOfASample * now.mean_seconds * fitting +
                                kRestartSeconds * static_cast<double>(now.update_samples);
  }

  const WantedRun& wanted_;
  const std::string policy_path_, run_path_;
  StudyRun run_;
};

}  // namespace

Result<WantedRun> WantedRunOf(const StudyTable& table, size_t model, size_t method, uint64_t seed) {
  const StudyModel& of_model = table.models[model];
  const StudyMethod& of_method = table.methods[method];
  WantedRun wanted;
  wanted.method = &of_method;
  wanted.key.graph = of_model.graph;
  wanted.key.cluster = table.cluster;
  wanted.key.seed = seed;
  if (!IsLearned(of_method)) {
    wanted.key.algorithm = of_method.kind == StudyMethod::Kind::kOneGpu ? "one-gpu" : "expert";
    return wanted;
  }
  wanted.key.algorithm = of_method.algorithm;
  wanted.samples = seed == 0 ? of_model.first_samples : of_model.samples;
  wanted.judged = of_model.samples;
  std::vector<std::string> changes = of_method.settings;
  changes.insert(changes.end(), of_model.settings.begin(), of_model.settings.end());
  PW_ASSIGN(const AgentSettings settings,
            AgentSettings::Parse(*FindLearnedAlgorithm(of_method.algorithm), changes));
  wanted.key.settings = ValuesOf(settings);
  if (!of_method.sources.empty()) {
    wanted.key.source = of_method.sources[model];
    wanted.source_samples = of_model.samples - StudyMethod::kFineTuning;
    wanted.samples = StudyMethod::kFineTuning;
  }
  return wanted;
}

Result<std::vector<WantedRun>> WantedRuns(const StudyTable& table) {
  std::vector<WantedRun> runs;
  // Those of one seed at the place that `wants` gives it.
  const auto add = [&](uint64_t seed, const auto& wants) -> Status {
    for (size_t model = 0; model < table.models.size(); ++model) {
      for (size_t method = 0; method < table.methods.size(); ++method) {
        if (!wants(table.models[model], table.methods[method])) continue;
        PW_ASSIGN(WantedRun wanted, WantedRunOf(table, model, method, seed));
        runs.push_back(std::move(wanted));
      }
    }
    return Ok();
  };
  PW_RETURN_IF_ERROR(
      add(0, [](const StudyModel&, const StudyMethod& method) { return !IsLearned(method); }));
  int most = 1;
  for (const StudyModel& model : table.models) most = std::max(most, model.seeds);
  for (int seed = 1; seed < most; ++seed) {
    PW_RETURN_IF_ERROR(
        add(static_cast<uint64_t>(seed), [&](const StudyModel& model, const StudyMethod& method) {
          return IsLearned(method) && seed < model.seeds;
        }));
  }
  for (const bool alone : {true, false}) {
    PW_RETURN_IF_ERROR(add(0, [&](const StudyModel& model, const StudyMethod& method) {
      return IsLearned(method) && alone == (model.seeds == 1);
    }));
  }
  return runs;
}

Result<std::unique_ptr<Planning>> PrepareRun(const RunKey& key) {
  InputOptions input;
  input.graph = key.graph;
  input.cluster = key.cluster;
  SearchOptions search;
  search.threads = 1;
  return Prepare(input, search);
}

Result<Placement> PlacementOfRun(const Problem& problem, const StudyRun& run) {
  const auto other = [&] {
    return MakeError(ErrorCode::kField,
                     fmt::format("a run's placement is of another {}", Printable(run.key.graph)),
                     "placement", "Leave that line out of the store.");
  };
  if (run.placement.size() != problem.groups.size()) return other();
  GroupPlacement devices;
  for (const ColocationGroupId group : problem.group_ids()) {
    const DeviceId device(run.placement[group.index()] - '0');
    const std::vector<DeviceId>& allowed = problem.groups[group].allowed;
    if (!std::binary_search(allowed.begin(), allowed.end(), device)) return other();
    devices.push_back(device);
  }
  return ExpandGroups(problem, devices);
}

const StudyRun* FindRun(const RunStore& store, const WantedRun& wanted) {
  // A setting that a kept run does not name is newer than the run: its published value, which has to
  // be what was done before there was the setting.
  std::map<std::string, std::string> defaults;
  if (IsLearned(*wanted.method)) {
    const LearnedAlgorithm& algorithm = *FindLearnedAlgorithm(wanted.key.algorithm);
    for (const AgentSetting& setting : algorithm.settings) {
      defaults[setting.name] = setting.published.empty() ? setting.value : setting.published;
    }
  }
  // An update is whole: the last samples of a budget that is no multiple are never drawn.
  const auto update = wanted.key.settings.find("update");
  const int64_t whole = update == wanted.key.settings.end() ? 1 : std::stoll(update->second);
  return store.Find(wanted.key, wanted.samples / whole * whole, defaults);
}

Result<bool> MakeRun(const WantedRun& wanted, const std::string& kept, const Budget& budget,
                     RunStore& store, Console& console) {
  if (!IsLearned(*wanted.method)) {
    PW_ASSIGN(StudyRun run, PlanAtOnce(wanted));
    run.program = PLACEWRIGHT_VERSION;
    PW_RETURN_IF_ERROR(store.Add(std::move(run)));
    return true;
  }
  std::error_code failed;
  fs::create_directories(kept, failed);
  if (failed) {
    return MakeError(ErrorCode::kFileUnwritable,
                     fmt::format("{} cannot be made: {}", Printable(kept), failed.message()));
  }
  const std::string base = (fs::path(kept) / NameOf(wanted.key)).string();
  PW_ASSIGN(const std::optional<FileLock> lock, FileLock::Try(base + ".lock"));
  if (!lock) return false;
  KeptTraining training(wanted, base);
  PW_ASSIGN(const bool whole, training.Train(budget, console));
  if (!whole) return false;
  StudyRun run = training.TakeRun();
  run.program = PLACEWRIGHT_VERSION;
  PW_RETURN_IF_ERROR(store.Add(std::move(run)));
  training.Forget();
  return true;
}

}  // namespace placewright
