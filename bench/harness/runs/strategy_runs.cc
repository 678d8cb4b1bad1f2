#include "bench/harness/runs/strategy_runs.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>
#include <utility>

#include "cli/request/learned_planners.h"
#include "cli/request/planning.h"
#include "cli/request/policies.h"
#include "cli/request/strategy.h"
#include "planning/algorithms.h"
#include "search/layouts/layout_devices.h"

namespace placewright {
namespace {

namespace fs = std::filesystem;

std::string Replaced(std::string text, const std::string& name, const std::string& value) {
  const size_t at = text.find(name);
  return at == std::string::npos ? text : text.replace(at, name.size(), value);
}

std::string PathOf(const std::string& policy, const std::string& kept) {
  const std::string own = (fs::path(kept) / (policy + ".policy")).string();
  std::error_code ignored;
  if (fs::exists(own, ignored)) return own;
  const Result<std::string> found = FindPolicy(policy);
  return found.ok() ? found.value() : std::string();
}

Result<std::unique_ptr<Planning>> PrepareSplitting(const RunKey& key) {
  InputOptions input;
  input.graph = key.graph;
  input.cluster = key.cluster;
  if (const auto batch = key.settings.find("batch"); batch != key.settings.end()) {
    input.batch = std::stoll(batch->second);
  }
  input.order = ToString(SchedulingPolicy::kFifo);  // of the papers' tables
  SearchOptions search;
  search.threads = 1;
  SpaceOptions space;
  space.splitting = SpaceOptions::Splitting::kYes;
  return Prepare(input, search, space);
}

// How many ops of which type several devices compute, each all of it.
std::map<std::string, double> CopiesOf(const StrategyReport& report) {
  std::map<std::string, double> copies;
  for (const CopiedOps::Row& row : report.copied.rows) {
    // Without its overload: "aten.mm" of "aten.mm.default".
    const size_t dot = row.type.rfind('.');
    const bool overload = dot != std::string::npos && row.type.find('.') != dot;
    copies[row.type.substr(0, overload ? dot : row.type.size())] += static_cast<double>(row.ops);
  }
  return copies;
}

Result<StrategyReport> ReportOf(const Planning& planning, const PlannerResult& result) {
  PW_ASSIGN(const StepInputs of, StepOf(planning, result, planning.inputs.graph.path));
  PW_ASSIGN(const SimResult replay, Replay(planning, of, result));
  return StrategyOf(of, *replay.schedule);
}

Status TakeFactors(const std::string& mode, const Planning& planning, const StopToken& stop,
                   Clock::time_point started, PlannerResult& result, StudyRun& run) {
  // Some ops are copied anyway; what factors add is the difference.
  PW_ASSIGN(const StrategyReport before, ReportOf(planning, result));
  SpaceOptions space;
  space.sfb = mode;
  PW_ASSIGN(const SfbMode sfb, ParseSfb(space));
  PW_RETURN_IF_ERROR(planning.session->RecomputeFromFactors(sfb, stop, started, result));
  PW_ASSIGN(const StrategyReport after, ReportOf(planning, result));
  const std::map<std::string, double> copied = CopiesOf(before);
  for (const auto& [type, count] : CopiesOf(after)) {
    const auto had = copied.find(type);
    const double more = count - (had == copied.end() ? 0 : had->second);
    if (more > 0) run.figures["duplicated " + type] = more;
  }
  return Ok();
}

Result<StudyRun> PlanSplitting(const StudyMethod& method, const RunKey& key,
                               const PlannerSettings& settings, const StopToken& stop) {
  PW_ASSIGN(const std::unique_ptr<Planning> planning, PrepareSplitting(key));
  const Algorithms algorithms(settings, LearnedPlanners(settings));
  PW_ASSIGN(const Planner* planner, algorithms.Find(method.algorithm));
  PlannerOptions options;
  options.seed = key.seed;
  options.started = planning->loaded;  // as `plan` counts
  options.budget.stop = stop;
  options.bound = planning->prepared().search_bound();
  if (method.moves > 0) options.budget.iterations = method.moves;
  if (method.seconds > 0) {
    options.budget.deadline = options.started + std::chrono::duration_cast<Clock::duration>(
                                                    std::chrono::duration<double>(method.seconds));
  }
  PW_ASSIGN(PlannerResult result,
            planner->Plan(planning->problem(), planning->prepared().evaluator(), options));
  StudyRun run;
  run.key = key;
  run.seconds = std::chrono::duration<double>(Clock::now() - options.started).count();
  run.samples = result.iterations;
  for (const HistoryPoint& point : result.history) {
    run.curve.push_back({point.iterations, Seconds(point.step_time), {}, 0});
  }
  if (!method.sfb.empty()) {
    PW_RETURN_IF_ERROR(TakeFactors(method.sfb, *planning, stop, options.started, result, run));
  }
  CurvePoint end;
  end.samples = run.samples;
  if (result.feasible) end.best = Seconds(result.step_time);
  run.curve.push_back(end);
  PW_ASSIGN(const StrategyReport report, ReportOf(*planning, result));
  for (const auto& [kind, count] : report.averages.devices) run.figures["devices " + kind] = count;
  for (const auto& [kind, share] : report.averages.gradients) {
    run.figures[fmt::format("gradients {}", ToString(kind))] = share;
  }
  return run;
}

// Losses of `tag` on held-out games, pass by pass, as its training keeps them: [passes, 2], NaN where nothing is held out.
Result<StudyRun> ReadFit(const RunKey& key, const NamedPolicy& policy) {
  StudyRun run;
  run.key = key;
  const auto found = policy.policy->state_tensors.find("losses");
  if (found == policy.policy->state_tensors.end() ||
      found->second.type != StoredTensor::Type::kF64 || found->second.sizes.size() != 2) {
    return MakeError(ErrorCode::kField, "the policy has no losses of its training", "state",
                     "Train it without --no-state.");
  }
  std::vector<double> losses(found->second.bytes.size() / sizeof(double));
  std::memcpy(losses.data(), found->second.bytes.data(), losses.size() * sizeof(double));
  for (size_t pass = 0; 2 * pass + 1 < losses.size(); ++pass) {
    const double held_out = losses[2 * pass + 1];
    run.samples = static_cast<int64_t>(pass) + 1;
    if (std::isnan(held_out)) continue;
    run.curve.push_back({run.samples, {}, held_out, 0});
    run.figures["held-out loss"] = held_out;
  }
  if (run.figures.empty()) {
    return MakeError(ErrorCode::kField, "nothing was held out of the policy's training", "state",
                     "Train it with --set held-out=N.");
  }
  return run;
}

}  // namespace

RunKey StrategyKeyOf(const StudyTable& table, size_t model, const StudyMethod& method,
                     uint64_t seed) {
  const StudyModel& of = table.models[model];
  RunKey key;
  key.graph = of.graph;
  key.cluster = table.ClusterOf(model, seed);
  key.algorithm = method.kind == StudyMethod::Kind::kFit ? "fit" : method.algorithm;
  key.seed = seed;
  for (const std::string& setting : method.settings) {
    const size_t at = setting.find('=');
    key.settings[setting.substr(0, at)] = setting.substr(at + 1);
  }
  // With every setting of the search itself, so that what is kept does not pass for what other defaults would make.
  static const Algorithms algorithms({}, LearnedPlanners());
  const Result<const Planner*> planner = algorithms.Find(key.algorithm);
  const SettableAlgorithm* const settable = planner.ok() ? planner.value()->settable() : nullptr;
  if (settable != nullptr) {
    for (const AgentSetting& setting : settable->settings) {
      // Over all GPUs, as runs are that were stored before there was a choice.
      if (setting.name == "gpus" && setting.value == kEveryGpu) continue;
      if (!setting.meaning.starts_with("train:")) key.settings.emplace(setting.name, setting.value);
    }
  }
  if (method.moves > 0) key.settings["moves"] = fmt::to_string(method.moves);
  if (method.seconds > 0) key.settings["seconds"] = fmt::to_string(method.seconds);
  if (of.batch > 0) key.settings["batch"] = fmt::to_string(of.batch);
  if (!method.sfb.empty()) key.settings["sfb-of-plan"] = method.sfb;
  key.source = Replaced(StrategyPolicyOf(of, method), "{seed}", fmt::to_string(seed));
  return key;
}

std::string StrategyPolicyOf(const StudyModel& model, const StudyMethod& method) {
  return Replaced(method.policy, "{model}", model.graph.substr(0, model.graph.find('@')));
}

Result<std::optional<StudyRun>> MakeStrategyRun(const StudyMethod& method, const RunKey& key,
                                                const std::string& kept, const StopToken& stop,
                                                std::string* missing) {
  PlannerSettings settings;
  settings.agent = method.settings;
  settings.untrained = key.source == "none";
  NamedPolicy policy;
  if (!key.source.empty() && !settings.untrained) {
    const std::string path = PathOf(key.source, kept);
    if (path.empty()) {
      *missing = (fs::path(kept) / (key.source + ".policy")).string();
      return std::optional<StudyRun>();
    }
    PW_ASSIGN(policy, LoadNamedPolicy(path));
    settings.policy = policy.policy;
    settings.policy_file = policy.path;
  }
  Result<StudyRun> run = method.kind == StudyMethod::Kind::kFit
                             ? ReadFit(key, policy).InFile(policy.path)
                             : PlanSplitting(method, key, settings, stop);
  if (!run.ok()) return run.error();
  return std::optional<StudyRun>(std::move(run).Take());
}

}  // namespace placewright
