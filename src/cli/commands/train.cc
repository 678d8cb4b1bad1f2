#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>

#include "base/text.h"
#include "cli/commands/command.h"
#include "cli/request/algorithm_text.h"
#include "cli/request/inputs.h"
#include "cli/request/learned_planners.h"
#include "cli/request/planning.h"
#include "cli/request/policies.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/output_path.h"
#include "formats/input.h"
#include "formats/policy/policy_file.h"
#include "formats/tensorboard/event_file.h"
#include "formats/text/file.h"
#include "search/tag/tag_planner.h"

namespace placewright {
namespace {

void PrintSettings(const LearnedAlgorithm& algorithm, Console& console) {
  if (!console.json) return console.Print(RenderSettings(algorithm, console.style()));
  Json object;
  object["schema"] = "placewright.agent-settings/1";
  object["algorithm"] = algorithm.name;
  object["settings"] = SettingsToJson(algorithm);
  console.PrintJson(object);
}

constexpr const char* kTrainExamples =
    "Without --time and --iterations it trains until Ctrl-C. The policy is written now and then\n"
    "(--every) and at the end, with all that --resume goes on from.\n"
    "Examples:\n"
    "  placewright train mars --settings\n"
    "  placewright train mars vgg-16 -c 4xP100 --set parts=64 --iterations 40 -o vgg.policy\n"
    "  placewright train mars vgg-16 -c 4xP100 --resume vgg.policy --iterations 80\n"
    "  placewright train mars vgg-16 vgg-19 -c 4xP100 --set parts=64 --iterations 40\n"
    "  placewright plan vgg-16 -c 4xP100 --algo mars --policy vgg.policy --iterations 20";

class TrainCommand : public Command {
 public:
  CommandLine Register(CommandLine program) override {
    CommandLine app = program.AddCommand("train", "Train the policy of a learned planner");
    std::string names;
    for (const LearnedAlgorithm& algorithm : LearnedAlgorithms()) {
      names += (names.empty() ? "" : ", ") + algorithm.name;
    }
    app.AddOption("ALGO", algorithm_, "Learned planner: " + names).Required();
    app.AddOption("GRAPH", graphs_, "Graphs of any readable format, or models of the zoo");
    AddRepeated(app, "-c,--cluster", clusters_, "CLUSTER",
                "Preset or file; once for all graphs, or once for each in their order", "Input");
    app.AddOption("--clusters", topologies_,
                  "Every graph on each topology that `cluster random` draws from these seeds")
        .TypeName("random:A-B")
        .Group("Input");
    AddInputOptionsBesideCluster(app, &input_);
    AddSearchOptions(app, &search_,
                     {"Time from when the graphs are read, such as 500ms or 2h (default: none)",
                      "Placements to sample in all, those before --resume included"});
    app.AddFlag("--settings", lists_settings_, "List the settings of ALGO and do nothing else");
    AddRepeated(app, "--set", changes_, "NAME=VALUE", "Setting of the planner; may be repeated");
    app.AddOption("--policy", policy_, "Policy to start from, with a new optimizer")
        .TypeName("FILE")
        .Group("Search");
    app.AddOption("--resume", resume_, "Training to go on with, as if it had not ended")
        .TypeName("FILE")
        .Group("Search");
    app.AddOption("--games", games_,
                  "tag: training whose first games are learned from, in the place of own ones")
        .TypeName("FILE")
        .Group("Search");
    app.AddOption("-o,--output", output_,
                  "Policy file (default: that of --resume, else ALGO.policy)")
        .TypeName("FILE")
        .Group("Output");
    app.AddFlag(
           "--no-state", no_state_,
           "Leave out of the policy at the end what --resume goes on from: a third of the size")
        .Group("Output");
    app.AddOption("--events", events_, "Folder for TensorBoard's event files")
        .TypeName("FOLDER")
        .Group("Output");
    app.AddOption("--every", every_, "Time between two writes of the policy (default 60s)")
        .TypeName("TIME")
        .Group("Output");
    app.Footer(kTrainExamples);
    return app;
  }

  Result<int> Run(Context& context) override {
    const std::atomic<bool>& interrupted = CatchInterrupts();
    const LearnedAlgorithm* const algorithm = FindLearnedAlgorithm(algorithm_);
    if (algorithm == nullptr) return UnknownAlgorithm();
    if (lists_settings_) {
      PrintSettings(*algorithm, context.console);
      return 0;
    }
    if (output_.empty()) output_ = resume_.empty() ? algorithm_ + ".policy" : resume_;
    PW_RETURN_IF_ERROR(CheckOptions());
    PW_RETURN_IF_ERROR(ProbeWritable(output_));
    PW_ASSIGN(const std::chrono::nanoseconds every, ParseTimeLimit(every_));
    TrainingRequest request;
    NamedPolicy start;
    const std::string& start_name = resume_.empty() ? policy_ : resume_;
    if (!start_name.empty()) {
      PW_ASSIGN(start, LoadNamedPolicy(start_name));
      request.start = start.policy.get();
      request.resume = !resume_.empty();
    }
    NamedPolicy games;
    if (!games_.empty()) {
      PW_ASSIGN(games, LoadNamedPolicy(games_));
      request.games = games.policy.get();
    }
    PW_ASSIGN(const AgentSettings settings, MakeSettings(*algorithm, request));
    PW_ASSIGN(const TrainingStarter starter, TrainingStarter::Make(*algorithm));
    PW_RETURN_IF_ERROR(PrepareAll(settings, interrupted, request));
    PW_ASSIGN(Budget budget, MakeTrainingBudget());
    budget.stop = StopToken(&interrupted);
    request.options = MakePlannerOptions(search_, budget, context);
    request.options.progress = nullptr;  // the updates are reported instead
    Result<OpenTraining> opened = starter.Start(settings, request);
    const bool of_file = !opened.ok() && opened.error().code != ErrorCode::kUsage;
    PW_ASSIGN(const OpenTraining open,
              of_file ? std::move(opened).InFile(games.path.empty() ? start.path : games.path)
                      : std::move(opened));
    PolicyTraining* const training = open.training.get();
    std::optional<EventFile> events;
    if (!events_.empty()) {
      PW_ASSIGN(EventFile file, EventFile::Create(events_));
      events.emplace(std::move(file));
    }
    PW_RETURN_IF_ERROR(Train(*training, every, events ? &*events : nullptr, context.console));
    context.console.Progress("");
    // What nothing was learned from does not take the place of an earlier policy.
    const TrainingProgress now = training->progress();
    if (now.updates == 0 && now.lessons == 0 && now.games == 0) {
      return NothingLearned(interrupted, settings);
    }
    StoredPolicy stored = training->stored();
    if (no_state_ && !interrupted) {
      stored.state.clear();
      stored.state_tensors.clear();
    }
    PW_RETURN_IF_ERROR(WriteFileAtomically(output_, FormatPolicy(stored)));
    Report(*training, interrupted, context.console);
    return interrupted ? InfoOf(ErrorCode::kInterrupted).exit_status : 0;
  }

 private:
  static Error NothingLearned(bool interrupted, const AgentSettings& settings) {
    const std::string what = "before the first update; no policy was written";
    if (interrupted) return MakeError(ErrorCode::kInterrupted, "interrupted " + what);
    return MakeError(
        ErrorCode::kUsage, "the budget ended " + what, "",
        (settings.Has("update") ? fmt::format("An update takes {} placements (--set update=N)",
                                              settings.Integer("update"))
         : settings.Has("games")
             ? std::string("It begins with games on the graphs")
             : std::string("An update takes a placement for each unit of the graph")) +
            ": give more --iterations, or more --time.");
  }

  Error UnknownAlgorithm() const {
    std::vector<std::string> names;
    for (const LearnedAlgorithm& one : LearnedAlgorithms()) names.push_back(one.name);
    return MakeError(ErrorCode::kUsage,
                     fmt::format("\"{}\" is no learned planner{}", Printable(algorithm_),
                                 DidYouMean(algorithm_, names)),
                     "", fmt::format("Learned planners are {}.", fmt::join(names, ", ")));
  }

  Status CheckOptions() const {
    if (graphs_.empty()) {
      return MakeError(ErrorCode::kUsage, "GRAPH is missing", "",
                       "Name what to train on: a graph's file, or a model of the zoo.");
    }
    if (!policy_.empty() && !resume_.empty()) {
      return MakeError(ErrorCode::kUsage, "--policy cannot be used with --resume", "",
                       "--resume goes on with a training, --policy begins a new one.");
    }
    if (!games_.empty() && algorithm_ != TagAlgorithm().name) {
      return MakeError(ErrorCode::kUsage,
                       fmt::format("--games cannot be used with {}, which plays none", algorithm_),
                       "", "Leave it out.");
    }
    if (!games_.empty() && !resume_.empty()) {
      return MakeError(ErrorCode::kUsage, "--games cannot be used with --resume", "",
                       "The training that goes on has its games.");
    }
    if (!topologies_.empty() && !clusters_.empty()) {
      return MakeError(ErrorCode::kUsage, "--clusters cannot be used with -c", "",
                       "Leave one of the two out.");
    }
    if (clusters_.size() > 1 && clusters_.size() != graphs_.size()) {
      return MakeError(ErrorCode::kUsage,
                       fmt::format("{} clusters for {} graphs", clusters_.size(), graphs_.size()),
                       "", "Give -c once, or once for each graph.");
    }
    std::vector<NamedFile> inputs;
    for (const std::string& graph : graphs_) inputs.push_back({"the graph", graph});
    for (const std::string& cluster : clusters_) inputs.push_back({"the cluster", cluster});
    for (const auto& [option, name] : {std::pair{"--policy", &policy_}, {"--games", &games_}}) {
      if (name->empty()) continue;
      PW_ASSIGN(const std::string path, FindPolicy(*name));
      inputs.push_back({option, path});
    }
    return RejectOverwriting({{"the policy", output_}}, inputs);
  }

  // A training goes on with the settings that it has; a policy is what its settings say.
  Result<AgentSettings> MakeSettings(const LearnedAlgorithm& algorithm,
                                     const TrainingRequest& request) const {
    if (request.start == nullptr) return AgentSettings::Parse(algorithm, changes_);
    auto settings =
        AgentSettings::OfPolicy(algorithm, *request.start, changes_,
                                request.resume ? PolicyUse::kGoesOn : PolicyUse::kStartsFrom);
    if (settings.ok() || settings.error().code != ErrorCode::kPlanMismatch) return settings;
    return std::move(settings).InFile(resume_.empty() ? policy_ : resume_);
  }

  // What is trained on: each graph on its cluster, or every graph on every topology, the graphs one behind the other.
  Result<std::vector<InputOptions>> ListInputs() const {
    std::vector<InputOptions> inputs;
    uint64_t first = 0, last = 0;
    if (!topologies_.empty()) {
      PW_RETURN_IF_ERROR(ParseSeeds(&first, &last));
    }
    for (uint64_t seed = first; seed <= last; ++seed) {
      for (size_t i = 0; i < graphs_.size(); ++i) {
        InputOptions& input = inputs.emplace_back(input_);
        input.graph = graphs_[i];
        if (!topologies_.empty()) input.cluster = fmt::format("random:{}", seed);
        if (!clusters_.empty()) input.cluster = clusters_[clusters_.size() == 1 ? 0 : i];
      }
    }
    return inputs;
  }

  // "random:3" or "random:0-99", at most 10,000 of them.
  Status ParseSeeds(uint64_t* first, uint64_t* last) const {
    constexpr std::string_view kPrefix = "random:";
    constexpr uint64_t kMost = 10'000;
    const std::string_view text = topologies_;
    const std::string_view seeds = text.substr(std::min(kPrefix.size(), text.size()));
    const char* const end = seeds.data() + seeds.size();
    const auto [rest, error] = std::from_chars(seeds.data(), end, *first);
    *last = *first;
    bool good = text.starts_with(kPrefix) && error == std::errc();
    if (good && rest != end) {
      const auto [behind, wrong] = std::from_chars(rest + 1, end, *last);
      good = *rest == '-' && behind == end && wrong == std::errc();
    }
    if (good && *first <= *last && *last - *first < kMost && *last < UINT64_MAX) return Ok();
    return MakeError(ErrorCode::kUsage,
                     fmt::format("--clusters \"{}\" states no seeds", Printable(text, 80)), "",
                     "Give random:N, or random:FIRST-LAST, such as random:0-99.");
  }

  Status PrepareAll(const AgentSettings& settings, const std::atomic<bool>& interrupted,
                    TrainingRequest& request) {
    const bool splits = FindLearnedAlgorithm(settings.algorithm().name)->strategies;
    SpaceOptions space;
    if (splits) space.splitting = SpaceOptions::Splitting::kYes;
    PW_ASSIGN(const std::vector<InputOptions> inputs, ListInputs());
    // Where all games are given, nothing is played.
    const bool plays = request.games == nullptr || settings.Integer("rounds") > 0;
    for (InputOptions input : inputs) {
      input.interrupted = &interrupted;
      names_.push_back(topologies_.empty() ? input.graph : input.graph + " " + input.cluster);
      if (!plays) {
        if (!input.cluster.empty()) {
          const Result<LoadedCluster> cluster = LoadCluster(input.cluster, {});
          if (!cluster.ok()) return cluster.error();
        }
        request.problems.push_back({nullptr, nullptr, input.graph + " " + input.cluster});
        continue;
      }
      PW_ASSIGN(std::unique_ptr<Planning> planning, Prepare(input, search_, space));
      request.problems.push_back({&planning->problem(), &planning->prepared().evaluator(),
                                  input.graph + " " + input.cluster});
      plannings_.push_back(std::move(planning));
    }
    if (!plays) names_.clear();  // nothing comes of them
    if (splits) return Ok();
    const size_t devices = request.problems.front().problem->cluster->device_count();
    const bool any_number = settings.Has("devices") && settings.Is("devices", "described");
    for (size_t i = 1; i < names_.size() && !any_number; ++i) {
      const size_t here = request.problems[i].problem->cluster->device_count();
      if (here == devices) continue;
      return MakeError(ErrorCode::kUsage,
                       fmt::format("a policy has one number of devices: {} has {}, {} has {}",
                                   names_.front(), devices, names_[i], here),
                       "", "Choose clusters of as many devices.");
    }
    return Ok();
  }

  Result<Budget> MakeTrainingBudget() const {
    if (search_.time.empty() && !search_.iterations) return Budget{};
    return MakeBudget(search_, plannings_.empty() ? Clock::now() : plannings_.back()->loaded);
  }

  Status Train(PolicyTraining& training, std::chrono::nanoseconds every, EventFile* events,
               Console& console) const {
    Clock::time_point written = Clock::now();
    int64_t updates = 0;
    while (training.Advance()) {
      const TrainingProgress now = training.progress();
      console.Progress(Line(training, now));
      // Games have no curve, and passes over their lessons no samples of their own.
      if (events != nullptr && now.games > 0 && updates < now.updates) {
        PW_RETURN_IF_ERROR(events->Add(now.updates, Losses(now)));
      } else if (events != nullptr && now.games == 0 && now.updates > 0) {
        PW_RETURN_IF_ERROR(events->Add(now.samples, Scalars(training, now)));
      }
      updates = now.updates;
      if (Clock::now() - written < every) continue;
      PW_RETURN_IF_ERROR(WriteFileAtomically(output_, FormatPolicy(training.stored())));
      written = Clock::now();
    }
    return training.status();
  }

  static double ShareOf(int64_t part, int64_t whole) {
    return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
  }

  static std::string Best(const PlannerResult& result) {
    return result.feasible ? FormatNanos(result.step_time) : "none fits";
  }

  static std::string LossText(const TrainingProgress& now) {
    if (now.losses.empty()) return "";
    const TrainingProgress::Loss& loss = now.losses.back();
    return fmt::format(", {} passes over lessons, loss {:.4f}{}", now.losses.size(), loss.training,
                       loss.held_out ? fmt::format(", held out {:.4f}", *loss.held_out) : "");
  }

  static std::vector<std::pair<std::string, float>> Losses(const TrainingProgress& now) {
    const TrainingProgress::Loss& loss = now.losses.back();
    std::vector<std::pair<std::string, float>> scalars = {
        {"loss/training", static_cast<float>(loss.training)}};
    if (loss.held_out) scalars.emplace_back("loss/held_out", static_cast<float>(*loss.held_out));
    return scalars;
  }

  std::string Line(const PolicyTraining& training, const TrainingProgress& now) const {
    if (now.games > 0) {
      return fmt::format("{}: {} games, {} strategies{}, {:.0f} s", algorithm_, now.games,
                         now.samples, LossText(now), now.seconds);
    }
    if (now.updates == 0) {
      return fmt::format("{}: {} steps toward the teacher's plans, {:.0f} s", algorithm_,
                         now.lessons, now.seconds);
    }
    TrainingUpdate all;
    for (const TrainingUpdate& update : now.last) {
      all.samples += update.samples;
      all.invalid += update.invalid;
      all.mean_seconds = update.mean_seconds;
      all.entropy += update.entropy / static_cast<double>(now.last.size());
    }
    const bool one = now.last.size() == 1;
    const size_t problem = one ? now.last.front().problem : 0;
    // Steps of different graphs have no mean that says anything.
    const std::string mean =
        one && all.mean_seconds > 0 ? fmt::format(", mean {:.4g} s", all.mean_seconds) : "";
    const std::string others = one ? "" : fmt::format(" and {} more", now.last.size() - 1);
    return fmt::format(
        "{} {}{}: update {}, {} samples, best {}{}, {:.0f}% did not fit, entropy {:.3f}, "
        "{:.1f} samples/s",
        algorithm_, Printable(names_[problem]), others, now.updates, now.samples,
        Best(training.result(problem)), mean, 100 * ShareOf(all.invalid, all.samples), all.entropy,
        now.seconds > 0 ? static_cast<double>(now.samples_here) / now.seconds : 0);
  }

  std::vector<std::pair<std::string, float>> Scalars(const PolicyTraining& training,
                                                     const TrainingProgress& now) const {
    std::vector<std::pair<std::string, float>> scalars;
    for (const TrainingUpdate& update : now.last) {
      const std::string graph = names_.size() > 1 ? "/" + names_[update.problem] : "";
      const auto add = [&](const char* name, double value) {
        scalars.emplace_back(name + graph, static_cast<float>(value));
      };
      const PlannerResult& result = training.result(update.problem);
      if (result.feasible) add("step_seconds/best", Seconds(result.step_time));
      if (update.mean_seconds > 0) add("step_seconds/mean", update.mean_seconds);
      add("invalid", ShareOf(update.invalid, update.samples));
      add("entropy", update.entropy);
    }
    return scalars;
  }

  void Report(const PolicyTraining& training, bool interrupted, Console& console) const {
    const TrainingProgress now = training.progress();
    if (console.json) {
      Json object;
      object["schema"] = "placewright.train/1";
      object["algorithm"] = algorithm_;
      object["policy_file"] = output_;
      object["samples"] = now.samples;
      object["invalid"] = now.invalid;
      object["updates"] = now.updates;
      object["seconds"] = now.seconds;
      object["evaluating_seconds"] = now.evaluating;
      object["interrupted"] = interrupted;
      if (now.games > 0) {
        object["games"] = now.games;
        Json& losses = object["losses"] = Json::array();
        for (const TrainingProgress::Loss& loss : now.losses) {
          losses.push_back({{"training", loss.training},
                            {"held_out", loss.held_out ? Json(*loss.held_out) : Json()}});
        }
      }
      Json& graphs = object["graphs"] = Json::array();
      for (size_t i = 0; i < names_.size(); ++i) {
        const PlannerResult& result = training.result(i);
        Json& graph = graphs.emplace_back();
        graph["graph"] = names_[i];
        graph["feasible"] = result.feasible;
        graph["step_time_ns"] = result.step_time.count;
        graph["samples"] = result.iterations;
        Json& history = graph["history"] = Json::array();
        for (const HistoryPoint& point : result.history) {
          history.push_back(
              {{"samples", point.iterations}, {"step_time_ns", point.step_time.count}});
        }
      }
      console.PrintJson(object);
      return;
    }
    Table table(
        {{"graph"}, {"samples", Table::Align::kRight}, {"best step", Table::Align::kRight}});
    for (size_t i = 0; i < names_.size(); ++i) {
      const PlannerResult& result = training.result(i);
      table.AddRow({Printable(names_[i]), fmt::to_string(result.iterations), Best(result)});
    }
    console.Print(table.Render(console.style()));
    const std::string learned =
        now.games > 0 ? fmt::format("{} games{}, {:.1f} s of which {:.1f} s in games", now.games,
                                    LossText(now), now.seconds, now.evaluating)
                      : fmt::format(
                            "{} updates, {} of the {} samples that they learned from did not fit, "
                            "{:.1f} s of which {:.1f} s in the simulator",
                            now.updates, now.invalid, now.samples, now.seconds, now.evaluating);
    console.Print(learned + "\npolicy written to " + Printable(output_, 4096) + "\n");
  }

  std::string algorithm_, policy_, resume_, games_, output_, events_, topologies_, every_ = "60s";
  bool lists_settings_ = false, no_state_ = false;
  std::vector<std::string> graphs_, clusters_, changes_;
  std::vector<std::string> names_;  // of what is trained on
  InputOptions input_;
  SearchOptions search_;
  std::vector<std::unique_ptr<Planning>> plannings_;
};

}  // namespace

std::unique_ptr<Command> MakeTrainCommand() { return std::make_unique<TrainCommand>(); }

}  // namespace placewright
