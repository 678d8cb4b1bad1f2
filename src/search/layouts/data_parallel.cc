#include "search/layouts/data_parallel.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "base/text.h"
#include "plan/sharing_out.h"
#include "search/evaluation/plan_result.h"
#include "search/layouts/layout_devices.h"
#include "search/layouts/layout_scorer.h"
#include "search/layouts/layout_state.h"

namespace placewright {
namespace {

constexpr Bytes kHorovodFusion(int64_t{64} << 20);
constexpr size_t kMaxGroups = 12;  // of devices: 4,095 subsets
constexpr size_t kMaxParts = 64;   // of machines: those that seem the fastest

struct Candidate {
  std::vector<DeviceId> devices;
  std::vector<int64_t> shares;  // of the batch, for each device
  bool servers = false, proportional = false;
  double at_least = 0;  // ns: no device is done with its own ops earlier
  double expected = 0;  // ns: roughly, with what gradients take; in this order candidates are tried
  std::string note;     // what a user should know of it, or empty
};

// What groups of devices are to one another, as numbers: equal ones are alike in kinds, memory and routes, so
// that subsets with the same numbers give the same step.
class GroupClasses {
 public:
  GroupClasses(const Cluster& cluster, const std::vector<std::vector<DeviceId>>& groups)
      : cluster_(cluster), groups_(groups.size()) {
    for (const auto& group : groups) {
      std::string text = fmt::format("{}", group.size());
      for (const DeviceId device : group) {
        text +=
            fmt::format(" {}/{}", cluster.kind(device).name, cluster.device(device).capacity.count);
      }
      own_.push_back(NumberOf(text + RoutesBetween(group, group)));
    }
    for (const auto& from : groups) {
      for (const auto& to : groups) between_.push_back(NumberOf(RoutesBetween(from, to)));
    }
  }

  // Of the groups whose bits are set.
  std::vector<std::vector<int>> SignatureOf(uint32_t subset) const {
    std::vector<std::vector<int>> rows;
    for (size_t g = 0; g < groups_; ++g) {
      if ((subset >> g & 1U) == 0) continue;
      std::vector<int> row;
      for (size_t h = 0; h < groups_; ++h) {
        if (h == g || (subset >> h & 1U) == 0) continue;
        row.push_back(between_[g * groups_ + h]);
        row.push_back(between_[h * groups_ + g]);
      }
      std::sort(row.begin(), row.end());
      row.push_back(own_[g]);
      rows.push_back(std::move(row));
    }
    std::sort(rows.begin(), rows.end());
    return rows;
  }

 private:
  int NumberOf(const std::string& text) {
    return numbers_.emplace(text, static_cast<int>(numbers_.size())).first->second;
  }

  std::string RoutesBetween(const std::vector<DeviceId>& from,
                            const std::vector<DeviceId>& to) const {
    std::vector<std::string> routes;
    for (const DeviceId a : from) {
      for (const DeviceId b : to) {
        std::string links;
        if (a != b) {
          for (const LinkId id : cluster_.route(a, b).links) {
            links += fmt::format("{}/{},", cluster_.link(id).bandwidth.count,
                                 cluster_.link(id).latency.count);
          }
        }
        routes.push_back(std::move(links));
      }
    }
    std::sort(routes.begin(), routes.end());
    return fmt::format(" {}", fmt::join(routes, ";"));
  }

  const Cluster& cluster_;
  const size_t groups_;
  std::map<std::string, int> numbers_;
  std::vector<int> own_, between_;
};

double Sum(const IdVector<GroupId, double>& bytes) {
  return std::accumulate(bytes.begin(), bytes.end(), 0.0);
}

class DataParallel {
 public:
  DataParallel(const LayoutProblem& problem, Evaluator& evaluator, const PlannerOptions& options,
               std::string_view name, int64_t many_instances)
      : problem_(problem),
        evaluator_(evaluator),
        options_(options),
        name_(name),
        many_instances_(many_instances),
        times_(TimesOf(problem)),
        gradients_(Sum(GradientBytes(problem.graph))) {
    result_.algorithm = name;
    result_.space = PlanSpace::kReplicated;
  }

  Result<PlannerResult> Plan(DataParallelKind kind, std::string_view gpus) {
    if (batch() == 0) return problem_.axes.WhyNoBatch();
    PW_ASSIGN(std::vector<DeviceId> devices, DevicesToSplitOver(problem_, times_, gpus));
    if (batch() > 1 && devices.size() > 1) PW_RETURN_IF_ERROR(CheckSplitsSomething());
    if (kind == DataParallelKind::kBest) return PlanBest(devices);
    Candidate candidate = MakeCandidate(std::move(devices), kind == DataParallelKind::kProportional,
                                        kind == DataParallelKind::kServers);
    Expect(UsableGroups(problem_.cluster.host_groups(), candidate.devices), candidate);
    if (IsInVain(candidate)) {
      return MakeError(
          ErrorCode::kNothingFound,
          fmt::format("servers on {} devices would take about {}, and to simulate them "
                      "takes long",
                      candidate.devices.size(), FormatNanos(ExpectedTime(candidate))));
    }
    StepPlan plan = PlanOf(candidate);
    if (kind == DataParallelKind::kHorovod) plan.switches.fusion = kHorovodFusion;
    if (kind == DataParallelKind::kLate) {
      plan.switches.fusion = kAllTogether;
      plan.switches.broadcasts = false;
    }
    PW_RETURN_IF_ERROR(Try(candidate, std::move(plan)));
    PW_RETURN_IF_ERROR(TryTransfers());
    return Take();
  }

 private:
  int64_t batch() const { return problem_.axes.samples(); }

  Status CheckSplitsSomething() const {
    const NamedAxes& axes = problem_.axes;
    for (const OpId op : problem_.graph.ops()) {
      if (axes.batch().valid() && axes.SplitBy(op, axes.batch()).valid()) return Ok();
    }
    return MakeError(ErrorCode::kBatchScaling, "none of the step's ops can be split by its batch");
  }

  // `devices` ascending. No more of them than samples.
  Candidate MakeCandidate(std::vector<DeviceId> devices, bool proportional, bool servers) {
    Candidate candidate;
    candidate.proportional = proportional;
    candidate.servers = servers;
    if (static_cast<int64_t>(devices.size()) > batch()) {
      candidate.note =
          fmt::format("{} has a batch of {} for {} devices: the fastest have one sample each",
                      name_, batch(), devices.size());
      SortFastestFirst(times_, devices);
      devices.resize(static_cast<size_t>(batch()));
      std::sort(devices.begin(), devices.end());
    }
    std::vector<double> weights;
    for (const DeviceId device : devices) {
      weights.push_back(proportional ? 1 / std::max(1.0, times_.Total(device)) : 1);
    }
    candidate.devices = std::move(devices);
    candidate.shares = SharesInProportion(batch(), weights);
    for (size_t i = 0; i < candidate.devices.size(); ++i) {
      const DeviceId device = candidate.devices[i];
      const double share = static_cast<double>(candidate.shares[i]) / static_cast<double>(batch());
      candidate.at_least =
          std::max(candidate.at_least,
                   times_.split[device] * share +
                       (servers ? times_.whole_forward_backward[device] : times_.whole[device]));
    }
    return candidate;
  }

  // `groups`: its devices.
  void Expect(const std::vector<std::vector<DeviceId>>& groups, Candidate& candidate) const {
    // Gradients come in the backward pass, two thirds of what there is to compute.
    candidate.expected =
        candidate.at_least / 3 +
        std::max(candidate.at_least * 2 / 3, Synchronising(groups, candidate.servers));
  }

  static Nanos ExpectedTime(const Candidate& candidate) {
    return Nanos(
        static_cast<int64_t>(std::min(candidate.expected, static_cast<double>(kMaxQuantity))));
  }

  // Servers that take long to simulate, and are expected to be behind what was found.
  bool IsInVain(const Candidate& candidate) const {
    const size_t instances = candidate.devices.size() * problem_.graph.op_count();
    if (!candidate.servers || static_cast<int64_t>(instances) < many_instances_) return false;
    const PlannerResult* const found = options_.found;
    const Nanos known =
        found != nullptr && found->feasible ? std::min(found->step_time, Longest()) : Longest();
    return ExpectedTime(candidate) >= known;
  }

  StepPlan PlanOf(const Candidate& candidate) const {
    StepPlan plan;
    plan.switches.local_batch_norm = problem_.local_batch_norm;
    std::vector<Layout>& layouts = plan.layouts.layouts;
    plan.layouts.of_group = IdVector<GroupId, LayoutId>(problem_.graph.group_count(), LayoutId(0));
    if (candidate.devices.size() == 1) {
      layouts = {PlacedOn(candidate.devices.front())};
      return plan;
    }
    layouts = {SplitOver(problem_.axes.batch(), candidate.devices, candidate.shares)};
    if (!candidate.servers) return plan;
    for (const DeviceId server : candidate.devices) layouts.push_back(PlacedOn(server));
    size_t next = 0;
    for (const GroupId group : ParameterGroups(problem_.graph)) {
      plan.layouts.of_group[group] = LayoutId(1 + next++ % candidate.devices.size());
    }
    return plan;
  }

  // Broadcasts of parameters take links by turns, transfers as they come: which is faster depends on what
  // else is on the links. Of the best alone, since broadcasts seldom lose.
  Status TryTransfers() {
    const Candidate best = best_candidate_;
    if (!best.servers || best.devices.size() < 3) return Ok();
    StepPlan plan = result_.plan;
    plan.switches.broadcasts = false;
    return Try(best, std::move(plan));
  }

  Status Try(const Candidate& candidate, StepPlan plan) {
    PW_ASSIGN(const Evaluation evaluation,
              evaluator_.EvaluatePlan(plan, {.abandon_above = Longest()}));
    std::optional<Score> score;
    if (!evaluation.abandoned) score = evaluation.score();
    Keep(candidate, std::move(plan), score);
    return Ok();
  }

  Nanos Longest() const { return result_.feasible ? result_.step_time : Nanos(kMaxQuantity); }

  // None: it takes longer than the best. Whether it is the best one now.
  bool Keep(const Candidate& candidate, StepPlan plan, const std::optional<Score>& score) {
    ++result_.iterations;
    const bool better = score && (result_.plan.empty() || *score < best_);
    if (better) {
      best_ = *score;
      best_candidate_ = candidate;
      result_.plan = std::move(plan);
      result_.feasible = score->feasible;
      result_.step_time = Nanos(score->step_time);
      result_.over = Bytes(score->over);
      note_ = candidate.note;
      if (score->feasible) Found();
    }
    Report();
    return better;
  }

  void Found() {
    const double seconds = SecondsSince(options_.started);
    if (!result_.first_feasible_seconds) result_.first_feasible_seconds = seconds;
    result_.history.push_back({result_.iterations, seconds, result_.step_time, result_.algorithm});
  }

  void Report() const {
    if (!options_.progress) return;
    options_.progress({name_, result_.iterations, result_.step_time, result_.feasible});
  }

  void NoteOnce(std::string note) {
    std::vector<std::string>& notes = result_.notes;
    if (std::find(notes.begin(), notes.end(), note) == notes.end()) {
      notes.push_back(std::move(note));
    }
  }

  // Those of one kind in one machine; where there are too many, those with the fastest devices.
  std::vector<std::vector<DeviceId>> HostGroups(const std::vector<DeviceId>& devices) {
    std::vector<std::vector<DeviceId>> groups =
        UsableGroups(problem_.cluster.host_groups(), devices);
    if (groups.size() <= kMaxGroups) return groups;
    NoteOnce(fmt::format("{} looks at the {} fastest of {} device groups", name_, kMaxGroups,
                         groups.size()));
    std::stable_sort(groups.begin(), groups.end(), [&](const auto& a, const auto& b) {
      return times_.Total(a.front()) < times_.Total(b.front());
    });
    groups.resize(kMaxGroups);
    return groups;
  }

  // ns that the gradients take on the links, roughly: as a ring over the groups, one behind the other, or for
  // servers by transfers, of which those of a group share its way to the others.
  double Synchronising(const std::vector<std::vector<DeviceId>>& groups, bool servers) const {
    double devices = 0, slowest = 0;
    for (const auto& group : groups) devices += static_cast<double>(group.size());
    const double all_but_own = 2 * (devices - 1) / devices;
    const auto add = [&](DeviceId from, DeviceId to, double crossing) {
      const auto rate = static_cast<double>(problem_.cluster.route(from, to).bandwidth.count);
      slowest = std::max(slowest, rate > 0 ? crossing * gradients_ / rate * 1e9
                                           : std::numeric_limits<double>::infinity());
    };
    for (size_t g = 0; g < groups.size(); ++g) {
      const std::vector<DeviceId>&group = groups[g], &next = groups[(g + 1) % groups.size()];
      if (group.size() > 1) add(group[0], group[1], all_but_own);
      const auto size = static_cast<double>(group.size());
      if (groups.size() > 1) {
        add(group[0], next[0], servers ? 2 * size * (devices - size) / devices : all_but_own);
      }
    }
    return slowest;
  }

  // Every subset of the groups but for those that machines as a whole make up, where these are given; those that
  // seem the fastest first.
  std::vector<Candidate> Candidates(const std::vector<std::vector<DeviceId>>& groups,
                                    const std::vector<std::vector<DeviceId>>& machines) {
    const GroupClasses classes(problem_.cluster, groups);
    std::vector<Candidate> candidates;
    std::set<std::vector<std::vector<int>>> seen;
    for (uint32_t subset = 1; subset < (1U << groups.size()); ++subset) {
      if (!seen.insert(classes.SignatureOf(subset)).second) continue;
      std::vector<std::vector<DeviceId>> chosen;
      std::vector<DeviceId> all;
      for (size_t g = 0; g < groups.size(); ++g) {
        if ((subset >> g & 1U) == 0) continue;
        chosen.push_back(groups[g]);
        all.insert(all.end(), groups[g].begin(), groups[g].end());
      }
      std::sort(all.begin(), all.end());
      if (!machines.empty() && IsOfWhole(machines, all)) continue;
      for (const bool proportional : {false, true}) {
        for (const bool servers : {false, true}) {
          Candidate candidate = MakeCandidate(all, proportional, servers);
          Expect(chosen, candidate);
          candidates.push_back(std::move(candidate));
        }
      }
    }
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const auto& a, const auto& b) { return a.expected < b.expected; });
    return candidates;
  }

  // Whether the devices, which are sorted, have all or none of every machine's.
  static bool IsOfWhole(const std::vector<std::vector<DeviceId>>& machines,
                        const std::vector<DeviceId>& devices) {
    return std::all_of(machines.begin(), machines.end(), [&](const auto& machine) {
      const auto taken = std::count_if(machine.begin(), machine.end(), [&](DeviceId id) {
        return std::binary_search(devices.begin(), devices.end(), id);
      });
      return taken == 0 || taken == static_cast<ptrdiff_t>(machine.size());
    });
  }

  // Machines as a whole first. Then, where these are of several groups, some parts of them.
  Result<PlannerResult> PlanBest(const std::vector<DeviceId>& devices) {
    const std::vector<std::vector<DeviceId>> machines = HostGroups(devices);
    std::vector<Candidate> candidates = Candidates(machines, {});
    const auto groups = UsableGroups(problem_.cluster.groups(), devices);
    if (groups.size() > machines.size() && groups.size() <= kMaxGroups) {
      std::vector<Candidate> parts = Candidates(groups, machines);
      parts.resize(std::min(parts.size(), kMaxParts));
      candidates.insert(candidates.end(), parts.begin(), parts.end());
    }
    PW_RETURN_IF_ERROR(TryAll(candidates));
    PW_RETURN_IF_ERROR(TryTransfers());
    return Take();
  }

  // In turn. What cannot be faster than the best by then is left out.
  Status TryAll(const std::vector<Candidate>& candidates) {
    using Next = LayoutScorer::Next;
    // One in any case, whatever the time.
    PW_RETURN_IF_ERROR(Try(candidates.front(), PlanOf(candidates.front())));
    LayoutBook book;
    LayoutScorer scorer(problem_, evaluator_, book, options_.budget);
    const int64_t patience = options_.patience.value_or(kMaxQuantity);
    int64_t in_vain = 0;
    std::optional<Error> error;
    const auto hopeless = [&](const Candidate& candidate) {
      return IsInVain(candidate) ||
             (result_.feasible && candidate.at_least >= static_cast<double>(best_.step_time));
    };
    const auto make = [&](size_t number) -> std::optional<LayoutScorer::Made> {
      const Candidate& candidate = candidates[number + 1];
      if (hopeless(candidate)) return std::nullopt;
      return LayoutScorer::Made{StateOf(problem_, PlanOf(candidate), book), Longest()};
    };
    const auto use = [&](size_t number, const LayoutState&, const LayoutScorer::Scored& scored) {
      if (!scored.ok()) {
        error = scored.error();
        return Next::kEnd;
      }
      const Candidate& candidate = candidates[number + 1];
      const bool better = Keep(candidate, PlanOf(candidate), scored.value());
      in_vain = better ? 0 : in_vain + 1;
      return better ? Next::kAgain : in_vain < patience ? Next::kOn : Next::kEnd;
    };
    const size_t ended = scorer.TryAhead(candidates.size() - 1, make, use) + 1;
    if (error) return *std::move(error);
    const auto left = candidates.begin() + static_cast<ptrdiff_t>(ended);
    if (std::all_of(left, candidates.end(), hopeless)) return Ok();
    result_.cut_short = in_vain < patience;
    NoteOnce(fmt::format(
        "{} was ended after {} of {} candidates{}", name_, result_.iterations, candidates.size(),
        result_.cut_short ? "" : fmt::format(", {} in a row not better", in_vain)));
    return Ok();
  }

  PlannerResult Take() {
    if (!note_.empty()) NoteOnce(note_);
    return std::move(result_);
  }

  const LayoutProblem& problem_;
  Evaluator& evaluator_;
  const PlannerOptions& options_;
  const std::string_view name_;
  const int64_t many_instances_;
  const DeviceTimes times_;
  const double gradients_;  // bytes
  PlannerResult result_;
  Score best_;
  Candidate best_candidate_;
  std::string note_;  // of the best
};

}  // namespace

std::string_view DataParallelPlanner::name() const {
  switch (kind_) {
    case DataParallelKind::kEven: return "data-parallel";
    case DataParallelKind::kLate: return "data-parallel-late";
    case DataParallelKind::kProportional: return "data-parallel-p";
    case DataParallelKind::kServers: return "data-parallel-ps";
    case DataParallelKind::kHorovod: return "horovod";
    case DataParallelKind::kBest: return "data-parallel-best";
  }
  return "";
}

std::string_view DataParallelPlanner::description() const {
  switch (kind_) {
    case DataParallelKind::kEven: return "all GPUs, equal shares of the batch, AllReduce";
    case DataParallelKind::kLate:
      return "all GPUs, equal shares, gradients reduced behind the backward pass (TAG's DP-NCCL)";
    case DataParallelKind::kProportional:
      return "all GPUs, shares of the batch in proportion to speed, AllReduce";
    case DataParallelKind::kServers:
      return "all GPUs, equal shares of the batch, parameter servers";
    case DataParallelKind::kHorovod:
      return "all GPUs, equal shares, gradients reduced in buckets (Sergeev and Del Balso, 2018)";
    case DataParallelKind::kBest:
      return "data parallelism on the best subset of device groups, shares and synchronisation";
  }
  return "";
}

const SettableAlgorithm* DataParallelPlanner::settable() const {
  static const std::map<DataParallelKind, SettableAlgorithm> all = [] {
    std::map<DataParallelKind, SettableAlgorithm> made;
    for (const DataParallelKind kind :
         {DataParallelKind::kEven, DataParallelKind::kLate, DataParallelKind::kProportional,
          DataParallelKind::kServers, DataParallelKind::kHorovod, DataParallelKind::kBest}) {
      const DataParallelPlanner planner(kind);
      made[kind] = {
          std::string(planner.name()), std::string(planner.description()), {GpusSetting()}};
    }
    return made;
  }();
  return &all.at(kind_);
}

Result<PlannerResult> DataParallelPlanner::Plan(const Problem& problem, Evaluator& evaluator,
                                                const PlannerOptions& options) const {
  PW_RETURN_IF_ERROR(CheckMaySplit(problem, name(), "shares the whole step out among its devices"));
  PW_ASSIGN(const AgentSettings settings, AgentSettings::Parse(*settable(), settings_));
  return DataParallel(*problem.layouts, evaluator, options, name(), many_instances_)
      .Plan(kind_, settings.Word("gpus"));
}

}  // namespace placewright
