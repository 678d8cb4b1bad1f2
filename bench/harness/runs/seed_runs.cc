#include "bench/harness/runs/seed_runs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "bench/harness/runs/strategy_runs.h"
#include "cli/request/learned_planners.h"
#include "formats/policy/policy_file.h"
#include "formats/text/file.h"
#include "planning/algorithms.h"
#include "search/evaluation/group_placement.h"
#include "search/local/initial_placements.h"
#include "search/proof/bound.h"
#include "study/file_lock.h"

namespace placewright {
namespace {

namespace fs = std::filesystem;

constexpr double kStepsOfASample = 15, kRestartSeconds = 10;
constexpr const char* kEveryGroup = "1000000";  // parts
constexpr std::chrono::seconds kKeepEvery(120);

bool IsLearned(const StudyMethod& method) { return method.kind == StudyMethod::Kind::kLearned; }
bool IsOfStrategies(const StudyMethod& method) { return method.IsSeeded() && !IsLearned(method); }

std::map<std::string, std::string> ValuesOf(const AgentSettings& settings) {
  return {settings.values().begin(), settings.values().end()};
}

Result<AgentSettings> SettingsOf(const RunKey& key) {
  std::vector<std::string> changes;
  for (const auto& [name, value] : key.settings) changes.push_back(name + "=" + value);
  return AgentSettings::Parse(*FindLearnedAlgorithm(key.algorithm), changes);
}

// Of an update, which is whole: the last samples of a budget that are fewer are never drawn. An
// episode of Placeto draws one for each part at most.
int64_t SamplesOfUpdate(const AgentSettings& settings) {
  if (settings.Has("update")) return settings.Integer("update");
  if (settings.algorithm().name == "placeto")
    return std::max<int64_t>(1, settings.Integer("parts"));
  return 1;
}

std::string DigitsOf(const Problem& problem, const Placement& placement) {
  std::string digits;
  for (const DeviceId device : GroupsOf(problem, placement)) {
    digits += static_cast<char>('0' + device.value());
  }
  return digits;
}

Result<Placement> PlanOf(const Planning& planning, std::string_view algorithm, double seconds) {
  const Algorithms algorithms;
  PW_ASSIGN(const Planner* planner, algorithms.Find(algorithm));
  PlannerOptions options;
  options.started = Clock::now();
  if (seconds > 0) {
    options.budget.deadline = options.started + std::chrono::duration_cast<Clock::duration>(
                                                    std::chrono::duration<double>(seconds));
  }
  PW_ASSIGN(const PlannerResult planned,
            planner->Plan(planning.problem(), planning.prepared().evaluator(), options));
  return PlacementOf(planning.problem(), planned.plan);
}

Placement OnOneGpu(const Problem& problem) {
  const CandidateDevices candidates = FindCandidateDevices(problem, BuildOpGraph(problem));
  return ExpandGroups(problem, AllOnFastest(candidates));
}

Result<Placement> PlacementByHand(const Planning& planning, bool recurrent) {
  if (recurrent) return PlanOf(planning, "expert", 0);
  PW_ASSIGN(Placement layered, PlanOf(planning, "layered", 0));
  Placement one = OnOneGpu(planning.problem());
  Evaluator& evaluator = planning.prepared().evaluator();
  const bool better = evaluator.EvaluateOne(one).score() < evaluator.EvaluateOne(layered).score();
  return better ? std::move(one) : std::move(layered);
}

// One that plans at once: a curve of one point.
Result<StudyRun> PlanAtOnce(const WantedRun& wanted) {
  using enum StudyMethod::Kind;
  PW_ASSIGN(const std::unique_ptr<Planning> planning, PrepareRun(wanted.key));
  const Problem& problem = planning->problem();
  StudyRun run;
  run.key = wanted.key;
  CurvePoint point;
  if (wanted.method->kind == kBound) {
    point.best = Seconds(LowerBound(problem).value);
    run.curve.push_back(point);
    return run;
  }
  const auto plan = [&]() -> Result<Placement> {
    if (wanted.method->kind == kOneGpu) return OnOneGpu(problem);
    if (wanted.method->kind == kHuman) return PlacementByHand(*planning, wanted.recurrent);
    if (wanted.method->kind == kExpert) return PlanOf(*planning, "expert", 0);
    return PlanOf(*planning, wanted.method->algorithm, wanted.method->seconds);
  };
  const Clock::time_point start = Clock::now();
  PW_ASSIGN(const Placement placement, plan());
  run.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  const Evaluation evaluation = planning->prepared().evaluator().EvaluateOne(placement);
  if (evaluation.feasible) point.best = point.mean = Seconds(evaluation.step_time);
  run.curve.push_back(point);
  run.placement = DigitsOf(problem, placement);
  return run;
}

// A training on one or several graphs with what it has come to, kept in two files between processes.
class KeptTraining {
 public:
  // `samples`, and those that the table compares, of each graph; `label`: of progress.
  KeptTraining(std::vector<RunKey> keys, int64_t samples, int64_t judged, std::string label,
               const std::string& base)
      : keys_(std::move(keys)),
        samples_(samples),
        judged_(judged),
        label_(std::move(label)),
        policy_path_(base + ".policy"),
        run_path_(base + ".json") {}

  // From `start`, which may be nullptr. False where the budget ended it.
  Result<bool> Train(const StoredPolicy* start, const Budget& budget, Console& console) {
    PW_ASSIGN(const AgentSettings settings, SettingsOf(keys_.front()));
    PW_ASSIGN(std::optional<StoredPolicy> kept, LoadKept());
    if (!kept) {
      runs_.assign(keys_.size(), StudyRun());
      for (size_t i = 0; i < keys_.size(); ++i) runs_[i].key = keys_[i];
    }
    const int64_t total = samples_ * static_cast<int64_t>(keys_.size());
    const auto complete = [&](int64_t samples) {
      // An update is whole, of all graphs at once where they learn together.
      const bool together = settings.Has("graphs") && settings.Is("graphs", "together");
      return samples +
                 SamplesOfUpdate(settings) * (together ? static_cast<int64_t>(keys_.size()) : 1) >
             total;
    };
    if (kept && complete(SamplesSoFar())) {
      policy_ = std::move(*kept);
      return true;
    }
    std::vector<std::unique_ptr<Planning>> plannings;
    TrainingRequest request;
    for (const RunKey& key : keys_) {
      PW_ASSIGN(std::unique_ptr<Planning> planning, PrepareRun(key));
      request.problems.push_back({&planning->problem(), &planning->prepared().evaluator()});
      plannings.push_back(std::move(planning));
    }
    request.options.seed = keys_.front().seed;
    request.options.threads = 1;
    request.options.started = Clock::now();
    request.options.budget = budget;
    request.options.budget.iterations = total;
    request.start = kept ? &*kept : start;
    request.resume = kept.has_value();
    PW_ASSIGN(const TrainingStarter starter,
              TrainingStarter::Make(*FindLearnedAlgorithm(settings.algorithm().name)));
    Result<OpenTraining> begun = starter.Start(settings, request);
    if (!begun.ok() && request.resume && begun.error().code == ErrorCode::kPlanMismatch) {
      // What another version of the program has kept is begun anew.
      Forget();
      return Train(start, budget, console);
    }
    PW_ASSIGN(const OpenTraining open, std::move(begun));
    PolicyTraining& training = *open.training;
    const double before = runs_.front().seconds, evaluating = runs_.front().evaluating;
    Clock::time_point written = Clock::now();
    while (training.Advance()) {
      for (const TrainingUpdate& update : training.progress().last) {
        Note(training, update, *request.problems[update.problem].problem);
      }
      // No one can say what of the time a graph had: equal shares.
      const auto share = static_cast<double>(runs_.size());
      for (StudyRun& run : runs_) {
        run.seconds = before + training.progress().seconds / share;
        run.evaluating = evaluating + training.progress().evaluating / share;
      }
      console.Progress(fmt::format("{}: {} of {} samples, best {}", label_,
                                   training.progress().samples, total,
                                   FormatNanos(training.result(0).step_time)));
      if (Clock::now() - written < kKeepEvery) continue;
      PW_RETURN_IF_ERROR(Keep(training));
      written = Clock::now();
    }
    // Complete ones, too: others may begin from the policy.
    PW_RETURN_IF_ERROR(Keep(training));
    policy_ = training.stored();
    return complete(training.progress().samples);
  }

  void Forget() const {
    std::error_code ignored;
    fs::remove(policy_path_, ignored);
    fs::remove(run_path_, ignored);
  }

  const StoredPolicy& policy() const { return policy_; }
  std::vector<StudyRun> TakeRuns() { return std::move(runs_); }

 private:
  int64_t SamplesSoFar() const {
    int64_t samples = 0;
    for (const StudyRun& run : runs_) samples += run.samples;
    return samples;
  }

  // The training up to here, and runs_ with it; none where there is none. The two files are written
  // one after the other: what does not agree is begun anew.
  Result<std::optional<StoredPolicy>> LoadKept() {
    std::error_code ignored;
    if (!fs::exists(policy_path_, ignored) || !fs::exists(run_path_, ignored)) {
      return std::optional<StoredPolicy>();
    }
    PW_ASSIGN(StoredPolicy policy, LoadPolicy(policy_path_));
    PW_ASSIGN(const std::string text, ReadFile(run_path_));
    PW_ASSIGN(const Json json, ParseJson(text));
    if (!json.is_array() || json.size() != keys_.size()) return std::optional<StoredPolicy>();
    std::vector<StudyRun> runs;
    for (size_t i = 0; i < keys_.size(); ++i) {
      PW_ASSIGN(StudyRun run, StudyRunOf(json[i], "run"));
      run.key = keys_[i];
      const auto counted = policy.state.find(fmt::format("problem{}.counted", i));
      if (counted == policy.state.end() || counted->second != fmt::to_string(run.samples)) {
        return std::optional<StoredPolicy>();
      }
      runs.push_back(std::move(run));
    }
    runs_ = std::move(runs);
    return std::optional<StoredPolicy>(std::move(policy));
  }

  Status Keep(const PolicyTraining& training) {
    if (training.progress().updates == 0 && training.progress().lessons == 0) return Ok();
    Json runs = Json::array();
    for (const StudyRun& run : runs_) runs.push_back(ToJson(run));
    PW_RETURN_IF_ERROR(WriteFileAtomically(policy_path_, FormatPolicy(training.stored())));
    return WriteFileAtomically(run_path_, runs.dump());
  }

  void Note(const PolicyTraining& training, const TrainingUpdate& update, const Problem& problem) {
    const PlannerResult& result = training.result(update.problem);
    StudyRun& run = runs_[update.problem];
    CurvePoint point;
    point.samples = run.samples = result.iterations;
    if (result.feasible) point.best = Seconds(result.step_time);
    const auto fitting = static_cast<double>(update.samples - update.invalid);
    if (fitting > 0) point.mean = update.mean_seconds;
    point.invalid = update.invalid;
    run.curve.push_back(point);
    if (point.samples <= judged_) {
      run.placement = DigitsOf(problem, PlacementOf(problem, result.plan));
    }
    run.environment_seconds += kStepsOfASample * update.mean_seconds * fitting +
                               kRestartSeconds * static_cast<double>(update.samples);
  }

  const std::vector<RunKey> keys_;
  const int64_t samples_, judged_;
  const std::string label_, policy_path_, run_path_;
  std::vector<StudyRun> runs_;
  StoredPolicy policy_;
};

// What a policy does first with a graph that it was not trained on, as it is, with every colocation
// group by itself.
Result<StudyRun> LikeliestOf(const WantedRun& wanted, const StoredPolicy& policy) {
  PW_ASSIGN(const std::unique_ptr<Planning> planning, PrepareRun(wanted.key));
  RunKey whole = wanted.key;
  if (whole.algorithm == "gdp") whole.settings["parts"] = kEveryGroup;
  PW_ASSIGN(const AgentSettings settings, SettingsOf(whole));
  PW_ASSIGN(const TrainingStarter starter,
            TrainingStarter::Make(*FindLearnedAlgorithm(settings.algorithm().name)));
  TrainingRequest request;
  request.problems = {{&planning->problem(), &planning->prepared().evaluator()}};
  request.options.seed = wanted.key.seed;
  request.options.started = Clock::now();
  request.start = &policy;
  const Clock::time_point start = Clock::now();
  PW_ASSIGN(const OpenTraining open, starter.Start(settings, request));
  const PlannerResult& result = open.training->result(0);
  StudyRun run;
  run.key = wanted.key;
  run.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  CurvePoint point;
  if (result.feasible) point.best = point.mean = Seconds(result.step_time);
  run.curve.push_back(point);
  run.placement = DigitsOf(planning->problem(), PlacementOf(planning->problem(), result.plan));
  return run;
}

// `run`, with what the policy that it began from does first.
void BeginWith(const StudyRun& likeliest, StudyRun& run) {
  const std::optional<double> first = likeliest.BestWithin(0);
  run.seconds += likeliest.seconds;
  if (!first) return;
  const std::optional<double> sampled = run.BestWithin(run.samples);
  if (!sampled || *first <= *sampled) run.placement = likeliest.placement;
  for (CurvePoint& point : run.curve) point.best = std::min(point.best.value_or(*first), *first);
  run.curve.insert(run.curve.begin(), likeliest.curve.front());
}

std::string LabelOf(const WantedRun& wanted) {
  return fmt::format("{} {} seed {}", wanted.key.graph, wanted.method->label, wanted.key.seed);
}

Status AddRun(StudyRun run, RunStore& store) {
  run.program = PLACEWRIGHT_VERSION;
  return store.Add(std::move(run));
}

// Behind its lock: by another process, since the store was read.
Result<bool> IsMadeByNow(const WantedRun& wanted, RunStore& store) {
  PW_RETURN_IF_ERROR(store.Reload());
  return FindRun(store, wanted) != nullptr;
}

// The keys of the graphs that a policy is trained on before: settings and seed of the run.
std::vector<RunKey> KeysBefore(const WantedRun& wanted) {
  std::vector<RunKey> keys;
  for (const StudyGraph& graph : wanted.before) {
    RunKey& key = keys.emplace_back(wanted.key);
    key.graph = graph.graph;
    key.cluster = graph.cluster;
    key.source = wanted.source_before;
  }
  return keys;
}

// Of the training before: one file for all runs that begin from its policy.
std::string BaseBefore(const WantedRun& wanted, const std::string& kept) {
  RunKey key = wanted.key;
  key.graph = key.cluster = "";
  key.source = wanted.source_before;
  return (fs::path(kept) / NameOf(key)).string();
}

// So slow that it has fewer samples than others.
bool IsShort(const StudyMethod& method) { return method.before.empty() && method.own_samples > 0; }

Result<WantedRun> RunOfCell(const StudyTable& table, size_t model, size_t method, uint64_t seed) {
  const StudyModel& of_model = table.models[model];
  const StudyMethod& of_method = table.methods[method];
  WantedRun wanted;
  wanted.method = &of_method;
  if (IsOfStrategies(of_method)) {
    wanted.key = StrategyKeyOf(table, model, of_method, seed);
    return wanted;
  }
  wanted.key.graph = of_model.graph;
  wanted.key.cluster = table.ClusterOf(model, seed);
  wanted.key.seed = seed;
  wanted.recurrent = of_model.recurrent;
  using enum StudyMethod::Kind;
  switch (of_method.kind) {
    case kOneGpu: wanted.key.algorithm = "one-gpu"; return wanted;
    case kExpert: wanted.key.algorithm = "expert"; return wanted;
    case kHuman: wanted.key.algorithm = "human"; return wanted;
    case kBound: wanted.key.algorithm = "bound"; return wanted;
    case kPlanner:
      wanted.key.algorithm = of_method.algorithm;
      if (of_method.seconds > 0) wanted.key.settings["seconds"] = fmt::to_string(of_method.seconds);
      return wanted;
    case kStrategies:
    case kFit:
    case kLearned: break;
  }
  wanted.key.algorithm = of_method.algorithm;
  wanted.samples = seed == 0 ? of_model.first_samples : of_model.samples;
  wanted.judged = of_model.samples;
  if (IsShort(of_method)) wanted.samples = wanted.judged = of_method.own_samples;
  std::vector<std::string> changes = of_method.settings;
  changes.insert(changes.end(), of_model.settings.begin(), of_model.settings.end());
  PW_ASSIGN(const AgentSettings settings,
            AgentSettings::Parse(*FindLearnedAlgorithm(of_method.algorithm), changes));
  wanted.key.settings = ValuesOf(settings);
  if (of_method.before.empty()) return wanted;
  wanted.before = of_method.before[model];
  wanted.samples_before = of_method.samples_before;
  std::vector<std::string> graphs;
  for (const StudyGraph& graph : wanted.before) {
    graphs.push_back(graph.graph + " on " + graph.cluster);
  }
  wanted.source_before = wanted.key.source =
      fmt::format("{}: {} samples each", fmt::join(graphs, ", "), wanted.samples_before);
  switch (of_method.shows) {
    case StudyMethod::Shows::kBefore: wanted.samples = wanted.judged = wanted.samples_before; break;
    case StudyMethod::Shows::kLikeliest:
      wanted.samples = 0;
      wanted.key.source += ", likeliest";
      break;
    case StudyMethod::Shows::kBest:
      if (of_method.own_samples > 0) wanted.samples = of_method.own_samples;
      wanted.judged = std::min(wanted.judged, wanted.samples);
      if (of_method.likeliest_first) wanted.key.source += ", likeliest";
      wanted.key.source += fmt::format(", then {} here", wanted.samples);
      break;
  }
  return wanted;
}

}  // namespace

Result<WantedRun> WantedRunOf(const StudyTable& table, size_t model, size_t method, uint64_t seed) {
  PW_ASSIGN(WantedRun wanted, RunOfCell(table, model, method, seed));
  wanted.cell = wanted.key;
  wanted.cell.seed = 0;
  if (table.models[model].first_topology >= 0) wanted.cell.cluster = "random";
  if (IsOfStrategies(*wanted.method)) {
    wanted.cell.source = StrategyPolicyOf(table.models[model], *wanted.method);
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
        if (!table.methods[method].HasCell(model)) continue;
        PW_ASSIGN(WantedRun wanted, WantedRunOf(table, model, method, seed));
        runs.push_back(std::move(wanted));
      }
    }
    return Ok();
  };
  PW_RETURN_IF_ERROR(
      add(0, [](const StudyModel&, const StudyMethod& method) { return !IsLearned(method); }));
  // Cheap ones, and first of all what the program's own policy is judged by.
  PW_RETURN_IF_ERROR(add(0, [](const StudyModel&, const StudyMethod& method) {
    return IsLearned(method) && method.seeds == 1 && !IsShort(method);
  }));
  int most = 1;
  for (const StudyModel& model : table.models) most = std::max(most, model.seeds);
  for (int seed = 1; seed < most; ++seed) {
    PW_RETURN_IF_ERROR(
        add(static_cast<uint64_t>(seed), [&](const StudyModel& model, const StudyMethod& method) {
          return method.IsSeeded() && seed < (method.seeds > 0 ? method.seeds : model.seeds);
        }));
  }
  for (const bool alone : {true, false}) {
    PW_RETURN_IF_ERROR(add(0, [&](const StudyModel& model, const StudyMethod& method) {
      const bool last = IsShort(method);
      return IsLearned(method) && (method.seeds != 1 || last) &&
             alone == (model.seeds == 1 && !last);
    }));
  }
  return runs;
}

std::vector<WantedRun> FirstOfCells(const std::vector<WantedRun>& runs, int seeds) {
  using Settings = std::map<std::string, std::string>;
  using Cell = std::tuple<const StudyMethod*, std::string, std::string, Settings, std::string>;
  std::map<Cell, std::set<uint64_t>> seeds_of;  // models of a table may share runs
  std::vector<WantedRun> first;
  for (const WantedRun& run : runs) {
    std::set<uint64_t>& taken = seeds_of[{run.method, run.cell.graph, run.cell.cluster,
                                          run.cell.settings, run.cell.source}];
    const bool room = taken.size() < static_cast<size_t>(seeds);
    if (room || taken.contains(run.key.seed)) first.push_back(run);
    if (room) taken.insert(run.key.seed);
  }
  return first;
}

Result<std::vector<WantedRun>> FurtherRuns(const StudyTable& table, const TableResult& result) {
  std::set<std::pair<size_t, size_t>> cells;  // of models and methods
  for (size_t i = 0; i < table.claims.size(); ++i) {
    const StudyClaim& claim = table.claims[i];
    if (result.claims[i].verdict != Verdict::kUndecided) continue;
    for (const size_t model : claim.models) {
      cells.insert({model, claim.less});
      cells.insert({model, claim.more});
    }
  }
  std::vector<WantedRun> runs;
  for (const auto& [model, method] : cells) {
    const StudyMethod& of_method = table.methods[method];
    if (!result.cells[model][method].complete) return std::vector<WantedRun>();
    if (!IsLearned(of_method) || of_method.seeds > 0 || !of_method.HasCell(model)) continue;
    for (int seed = table.models[model].seeds; seed < table.models[model].most_seeds; ++seed) {
      PW_ASSIGN(WantedRun wanted, WantedRunOf(table, model, method, static_cast<uint64_t>(seed)));
      runs.push_back(std::move(wanted));
    }
  }
  return runs;
}

Result<std::unique_ptr<Planning>> PrepareRun(const RunKey& key) {
  InputOptions input;
  input.graph = key.graph;
  input.cluster = key.cluster;
  input.order = ToString(SchedulingPolicy::kFifo);  // of the papers' tables
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
  if (run.placement.size() != problem.groups.size()) {
    return MakeError(ErrorCode::kPlanMismatch,
                     fmt::format("a run places {} groups, and {} has {}", run.placement.size(),
                                 Printable(run.key.graph), problem.groups.size()),
                     "placement", "Another LibTorch records it with other ops.");
  }
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
  int64_t update = 1;
  if (IsLearned(*wanted.method)) {
    const LearnedAlgorithm& algorithm = *FindLearnedAlgorithm(wanted.key.algorithm);
    for (const AgentSetting& setting : algorithm.settings) {
      defaults[setting.name] = setting.Published();
    }
    if (const auto settings = SettingsOf(wanted.key); settings.ok()) {
      update = SamplesOfUpdate(settings.value());
    }
  }
  return store.Find(wanted.key, wanted.samples - (update - 1), defaults);
}

Result<bool> MakeRun(const WantedRun& wanted, const std::string& kept, const Budget& budget,
                     RunStore& store, Console& console) {
  std::error_code failed;
  fs::create_directories(kept, failed);
  if (failed) {
    return MakeError(ErrorCode::kFileUnwritable,
                     fmt::format("{} cannot be made: {}", Printable(kept), failed.message()));
  }
  if (IsOfStrategies(*wanted.method)) {
    const std::string base = (fs::path(kept) / NameOf(wanted.key)).string();
    PW_ASSIGN(const std::optional<FileLock> lock, FileLock::Try(base + ".lock"));
    if (!lock) return false;
    PW_ASSIGN(const bool made, IsMadeByNow(wanted, store));
    if (made) return true;
    std::string missing;
    PW_ASSIGN(std::optional<StudyRun> run,
              MakeStrategyRun(*wanted.method, wanted.key, kept, budget.stop, &missing));
    if (!run) {
      console.Note(fmt::format("{}: {} is missing (policies/README.md says how it is trained)",
                               LabelOf(wanted), Printable(missing, 4096)));
      return false;
    }
    if (budget.Stopped()) return false;
    PW_RETURN_IF_ERROR(AddRun(std::move(*run), store));
    return true;
  }
  if (!IsLearned(*wanted.method)) {
    PW_ASSIGN(StudyRun run, PlanAtOnce(wanted));
    PW_RETURN_IF_ERROR(AddRun(std::move(run), store));
    return true;
  }
  std::optional<StoredPolicy> start;
  if (!wanted.before.empty()) {
    const std::string base = BaseBefore(wanted, kept);
    PW_ASSIGN(const std::optional<FileLock> lock, FileLock::Try(base + ".lock"));
    if (!lock) return false;
    PW_ASSIGN(const bool made, IsMadeByNow(wanted, store));
    if (made) return true;
    KeptTraining training(KeysBefore(wanted), wanted.samples_before, wanted.samples_before,
                          "before " + LabelOf(wanted), base);
    PW_ASSIGN(const bool whole, training.Train(nullptr, budget, console));
    if (!whole) return false;
    if (wanted.method->shows == StudyMethod::Shows::kBefore) {
      for (StudyRun& run : training.TakeRuns()) {
        if (store.Find(run.key, run.samples, {}) != nullptr) continue;
        PW_RETURN_IF_ERROR(AddRun(std::move(run), store));
      }
      return true;
    }
    start = training.policy();
  }
  if (wanted.method->shows == StudyMethod::Shows::kLikeliest) {
    PW_ASSIGN(StudyRun run, LikeliestOf(wanted, *start));
    PW_RETURN_IF_ERROR(AddRun(std::move(run), store));
    return true;
  }
  const std::string base = (fs::path(kept) / NameOf(wanted.key)).string();
  PW_ASSIGN(const std::optional<FileLock> lock, FileLock::Try(base + ".lock"));
  if (!lock) return false;
  PW_ASSIGN(const bool made, IsMadeByNow(wanted, store));
  if (made) return true;
  KeptTraining training({wanted.key}, wanted.samples, wanted.judged, LabelOf(wanted), base);
  PW_ASSIGN(const bool whole, training.Train(start ? &*start : nullptr, budget, console));
  if (!whole) return false;
  StudyRun run = std::move(training.TakeRuns().front());
  if (start && wanted.method->likeliest_first) {
    PW_ASSIGN(const StudyRun likeliest, LikeliestOf(wanted, *start));
    BeginWith(likeliest, run);
  }
  PW_RETURN_IF_ERROR(AddRun(std::move(run), store));
  training.Forget();
  return true;
}

}  // namespace placewright
