#include "search/sfb/sfb_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <utility>

#include "compile/layout_specs.h"
#include "graph/partition/tag_groups.h"
#include "search/evaluation/simulated.h"
#include "search/sfb/group_programs.h"
#include "search/sfb/replicated_step.h"
#include "search/sfb/shared_cut.h"

namespace placewright {
namespace {

// A piece of the cut of one of the replicated steps; in paper mode all that is duplicated of one.
struct SfbPiece {
  size_t step = 0;
  CutPiece cut;
};

// What times of ops are multiplied by: links may be idle while devices are not.
constexpr std::array<int64_t, 4> kSfbPrices = {1, 2, 4, 8};

class SfbSearch {
 public:
  SfbSearch(const LayoutProblem& problem, const DistributionSpec& spec)
      : problem_(problem), spec_(spec) {}

  Result<SfbResult> Search(SfbMode mode) {
    {
      PW_ASSIGN(const CompiledStep compiled, CompileStep(problem_, spec_));
      PW_RETURN_IF_ERROR(FindSteps(InstancesOf(compiled)));
      result_.before = result_.after = EvaluateStep(compiled, problem_.policy);
    }
    result_.spec = spec_;
    for (const ReplicatedStep& step : steps_) {
      result_.gradients += static_cast<int64_t>(step.gradients.size());
    }
    if (mode == SfbMode::kPaper) PW_RETURN_IF_ERROR(ApplyAll());
    if (mode == SfbMode::kCut) PW_RETURN_IF_ERROR(TryPieces());
    return std::move(result_);
  }

  Result<std::vector<DistributionSpec>> Candidates(std::span<const TimedInstance> instances) {
    PW_RETURN_IF_ERROR(FindSteps(instances));
    std::vector<DistributionSpec> specs;
    PW_ASSIGN(const std::vector<SfbPieces> sets, SetsInQuestion());
    for (const SfbPieces& pieces : sets) {
      pieces_ = pieces;
      specs.push_back(SpecWith(pieces_.size()));
    }
    return specs;
  }

 private:
  using SfbPieces = std::vector<SfbPiece>;

  Status FindSteps(std::span<const TimedInstance> instances) {
    FindClaims();
    PW_ASSIGN(const Layouts layouts, ResolveLayouts(problem_.graph, problem_.axes, problem_.cluster,
                                                    problem_.costs, spec_.layouts));
    steps_ = FindReplicatedSteps(problem_, layouts, spec_.switches.local_batch_norm, instances);
    return Ok();
  }

  // What the programs of all gradients duplicate, one piece for each replicated step.
  Result<SfbPieces> PaperPieces() const {
    IdVector<OpId, Nanos> times;
    for (const OpId op : problem_.graph.ops()) {
      times.push_back(std::max(Nanos(0), problem_.costs.MinTime(op)));
    }
    PW_ASSIGN(const TagGrouping grouping, TagGroups(problem_.graph, times));
    SfbSolver solver;
    SfbPieces pieces;
    for (size_t s = 0; s < steps_.size(); ++s) {
      const ReplicatedStep& step = steps_[s];
      GroupPrograms programs(step, grouping.part_of, BottleneckOf(problem_.cluster, step.devices));
      std::set<int32_t> nodes;
      for (size_t i = 0; i < step.gradients.size(); ++i) {
        const GroupProgram& one = programs.Make(i);
        const SfbSolution& solution = solver.Solve(one.program);
        for (size_t k = 0; k < one.nodes.size(); ++k) {
          if (solution.duplicated[k]) nodes.insert(one.nodes[k]);
        }
      }
      if (!nodes.empty()) pieces.push_back({s, {{nodes.begin(), nodes.end()}, 0}});
    }
    return pieces;
  }

  Status ApplyAll() {
    PW_ASSIGN(pieces_, PaperPieces());
    result_.pieces = static_cast<int64_t>(pieces_.size());
    if (pieces_.empty()) return Ok();
    PW_ASSIGN(const Evaluation evaluation, Evaluate(pieces_.size()));
    Take(pieces_.size(), evaluation);
    return Ok();
  }

  // The greatest gain first.
  Result<SfbPieces> CutAt(int64_t price) const {
    SfbPieces pieces;
    for (size_t s = 0; s < steps_.size(); ++s) {
      PW_ASSIGN(std::vector<CutPiece> cuts,
                CutForAllGradients(steps_[s], problem_.communication, price));
      for (CutPiece& cut : cuts) pieces.push_back({s, std::move(cut)});
    }
    std::stable_sort(pieces.begin(), pieces.end(),
                     [](const SfbPiece& a, const SfbPiece& b) { return a.cut.gain > b.cut.gain; });
    return pieces;
  }

  // Of no step that is replicated there are none.
  Result<std::vector<SfbPieces>> SetsInQuestion() {
    std::vector<SfbPieces> sets;
    if (steps_.empty()) return sets;
    for (const int64_t price : kSfbPrices) {
      PW_ASSIGN(SfbPieces pieces, CutAt(price));
      if (price == 1) result_.pieces = static_cast<int64_t>(pieces.size());
      if (!pieces.empty()) sets.push_back(std::move(pieces));
    }
    PW_ASSIGN(SfbPieces of_paper, PaperPieces());
    if (!of_paper.empty()) sets.push_back(std::move(of_paper));
    return sets;
  }

  Status TryPieces() {
    PW_ASSIGN(const std::vector<SfbPieces> sets, SetsInQuestion());
    if (sets.empty()) return Ok();
    size_t best = 0;
    for (size_t i = 0; i < sets.size(); ++i) {
      pieces_ = sets[i];
      tried_.clear();
      const Score before = result_.after.score();
      PW_RETURN_IF_ERROR(Try(pieces_.size()));
      if (result_.after.score() < before) best = i;
    }
    pieces_ = sets[best];
    tried_ = {pieces_.size()};
    best_count_ = best_count_ > 0 ? pieces_.size() : 0;
    for (size_t count = pieces_.size() / 2; count > 0; count /= 2) {
      PW_RETURN_IF_ERROR(Try(count));
    }
    // Between the best number and its neighbours.
    while (best_count_ > 0) {
      const std::optional<size_t> between = NextBetween();
      if (!between || result_.compilations >= kSfbTries) break;
      PW_RETURN_IF_ERROR(Try(*between));
    }
    return Ok();
  }

  // In the middle of the wider gap beside the best.
  std::optional<size_t> NextBetween() const {
    const auto at = tried_.find(best_count_);
    const size_t below = at == tried_.begin() ? 0 : *std::prev(at);
    const size_t above = std::next(at) == tried_.end() ? best_count_ : *std::next(at);
    const size_t down = best_count_ - below, up = above - best_count_;
    if (std::max(down, up) < 2) return std::nullopt;
    return up >= down ? best_count_ + up / 2 : below + down / 2;
  }

  Status Try(size_t count) {
    if (result_.compilations >= kSfbTries || !tried_.insert(count).second) return Ok();
    PW_ASSIGN(const Evaluation evaluation, Evaluate(count));
    if (!(evaluation.score() < result_.after.score())) return Ok();
    best_count_ = count;
    Take(count, evaluation);
    return Ok();
  }

  Result<Evaluation> Evaluate(size_t count) {
    ++result_.compilations;
    return EvaluateLayouts(problem_, SpecWith(count));
  }

  void Take(size_t count, const Evaluation& evaluation) {
    result_.spec = SpecWith(count);
    result_.after = evaluation;
    result_.duplicated.clear();
    result_.recomputed = 0;
    const IdVector<GroupId, bool> duplicated = GroupsOf(count);
    for (const OpId op : problem_.graph.ops()) {
      if (duplicated[problem_.graph.group(op)]) result_.duplicated.push_back(op);
    }
    for (const ReplicatedStep& step : steps_) {
      for (const size_t gradient : step.gradients) {
        const int32_t from = step.tensors[gradient].from;
        if (duplicated[step.nodes[static_cast<size_t>(from)].group]) ++result_.recomputed;
      }
    }
  }

  // Without parameters.
  IdVector<GroupId, bool> GroupsOf(size_t count) const {
    IdVector<GroupId, bool> groups(problem_.graph.group_count(), false);
    for (size_t i = 0; i < count; ++i) {
      const ReplicatedStep& step = steps_[pieces_[i].step];
      for (const int32_t node : pieces_[i].cut.nodes) {
        groups[step.nodes[static_cast<size_t>(node)].group] = true;
      }
    }
    return groups;
  }

  // Which line of the layouts each group has: the last that names it.
  void FindClaims() {
    line_of_ = IdVector<GroupId, int32_t>(problem_.graph.group_count(), -1);
    for (size_t i = 0; i < spec_.layouts.size(); ++i) {
      const LayoutSpec& line = spec_.layouts[i];
      const auto number = static_cast<int32_t>(i);
      if (line.group.valid()) line_of_[line.group] = number;
      if (line.group.valid()) continue;
      for (const GroupId group : GroupsNamed(problem_.graph, line.groups)) line_of_[group] = number;
    }
  }

  // With the first `count` pieces duplicated.
  DistributionSpec SpecWith(size_t count) const {
    DistributionSpec spec = spec_;
    const IdVector<GroupId, bool> duplicated = GroupsOf(count);
    for (const ReplicatedStep& step : steps_) {
      std::set<GroupId> groups;
      for (const ReplicatedStep::Node& node : step.nodes) {
        if (duplicated[node.group]) groups.insert(node.group);
      }
      for (const size_t i : step.gradients) {
        const ReplicatedStep::Tensor& gradient = step.tensors[i];
        const bool has = duplicated[step.nodes[static_cast<size_t>(gradient.from)].group];
        if (has && step.servers) groups.insert(gradient.updates);
      }
      AddEmptiedLines(step, groups);
      LayoutSpec one;
      one.option = LayoutOption::kDuplicate;
      for (const DeviceId device : step.devices) {
        one.devices.push_back({problem_.cluster.device(device).name, std::nullopt, std::nullopt});
      }
      for (const GroupId group : groups) {
        one.group = group;
        spec.layouts.push_back(one);
      }
    }
    return spec;
  }

  // A line that has nothing left to split is refused: what else it names has all of everything as well.
  void AddEmptiedLines(const ReplicatedStep& step, std::set<GroupId>& groups) const {
    std::vector<bool> splits(spec_.layouts.size(), false), emptied = splits;
    for (const ReplicatedStep::Node& node : step.nodes) {
      if (line_of_[node.group] < 0) continue;
      const auto line = static_cast<size_t>(line_of_[node.group]);
      if (groups.contains(node.group)) {
        emptied[line] = true;
      } else {
        splits[line] = true;
      }
    }
    for (const GroupId group : IdRange<GroupId>(problem_.graph.group_count())) {
      if (line_of_[group] < 0) continue;
      const auto line = static_cast<size_t>(line_of_[group]);
      if (emptied[line] && !splits[line]) groups.insert(group);
    }
  }

  const LayoutProblem& problem_;
  const DistributionSpec& spec_;
  std::vector<ReplicatedStep> steps_;
  SfbPieces pieces_;        // the greatest gain first
  std::set<size_t> tried_;  // numbers of pieces
  size_t best_count_ = 0;
  IdVector<GroupId, int32_t> line_of_;  // -1: none, the step's own counter
  SfbResult result_;
};

}  // namespace

std::optional<SfbMode> ParseSfbMode(std::string_view name) {
  if (name == "none") return SfbMode::kNone;
  if (name == "paper") return SfbMode::kPaper;
  if (name == "cut") return SfbMode::kCut;
  return std::nullopt;
}

std::string SfbResult::Note() const {
  if (duplicated.empty() && gradients == 0) {
    return "no gradient is synchronised over replicas: nothing to recompute";
  }
  if (duplicated.empty()) {
    return fmt::format("none of {} gradients is recomputed from factors: {}", gradients,
                       pieces == 0 ? "each costs less to synchronise"
                                   : "no step with fewer synchronised ones is faster");
  }
  const std::string ops =
      fmt::format("{} op{}", duplicated.size(), duplicated.size() == 1 ? "" : "s");
  const std::string what =
      recomputed == 0
          ? fmt::format("{} computed by every device, not in parts, and no gradient", ops)
          : fmt::format("{} of {} gradients are recomputed from factors ({} duplicated)",
                        recomputed, gradients, ops);
  return fmt::format("{}: {} instead of {}", what, FormatNanos(after.step_time),
                     FormatNanos(before.step_time));
}

Result<std::vector<DistributionSpec>> SfbCandidates(const LayoutProblem& problem,
                                                    const DistributionSpec& spec,
                                                    std::span<const TimedInstance> instances) {
  return SfbSearch(problem, spec).Candidates(instances);
}

Result<SfbResult> ApplySfb(const LayoutProblem& problem, const DistributionSpec& spec,
                           SfbMode mode) {
  return SfbSearch(problem, spec).Search(mode);
}

}  // namespace placewright
