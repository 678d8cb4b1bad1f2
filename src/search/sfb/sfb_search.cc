#include "search/sfb/sfb_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <utility>

#include "graph/partition/tag_groups.h"
#include "search/sfb/embedding_rows.h"
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
  SfbSearch(const LayoutProblem& problem, const StepPlan& plan) : problem_(problem), plan_(plan) {}

  Result<SfbResult> Search(Evaluator& evaluator, SfbMode mode) {
    evaluator_ = &evaluator;
    PW_ASSIGN(result_.before, evaluator.EvaluatePlan(plan_, {.feedback = true}));
    FindSteps(result_.before.feedback->instances);
    result_.before.feedback.reset();
    result_.after = result_.before;
    result_.plan = plan_;
    for (const ReplicatedStep& step : steps_) {
      result_.gradients += static_cast<int64_t>(step.gradients.size());
    }
    if (mode == SfbMode::kEmbeddings) PW_RETURN_IF_ERROR(GatherRows());
    if (mode == SfbMode::kPaper) PW_RETURN_IF_ERROR(ApplyAll());
    if (mode == SfbMode::kCut) PW_RETURN_IF_ERROR(TryPieces());
    return std::move(result_);
  }

  Result<std::vector<StepPlan>> Candidates(std::span<const Feedback::Instance> instances) {
    FindSteps(instances);
    std::vector<StepPlan> plans;
    PW_ASSIGN(const std::vector<SfbPieces> sets, SetsInQuestion());
    for (const SfbPieces& pieces : sets) {
      pieces_ = pieces;
      plans.push_back(PlanWith(pieces_.size()));
    }
    return plans;
  }

 private:
  using SfbPieces = std::vector<SfbPiece>;

  void FindSteps(std::span<const Feedback::Instance> instances) {
    steps_ =
        FindReplicatedSteps(problem_, plan_.layouts, plan_.switches.local_batch_norm, instances);
  }

  Status GatherRows() {
    result_.of_embeddings = true;
    EmbeddingRows rows = GatherEmbeddingRows(problem_.graph, problem_.axes, plan_.layouts);
    if (rows.gradients == 0) return Ok();
    result_.plan.layouts = std::move(rows.layouts);
    result_.from_factors = rows.gradients;
    for (const OpId op : problem_.graph.ops()) {
      const GroupId group = problem_.graph.group(op);
      const bool moved = std::find(rows.moved.begin(), rows.moved.end(), group) != rows.moved.end();
      if (moved) result_.duplicated.push_back(op);
    }
    ++result_.tries;
    PW_ASSIGN(result_.after, evaluator_->EvaluatePlan(result_.plan));
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
      if (!between || result_.tries >= kSfbTries) break;
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
    if (result_.tries >= kSfbTries || !tried_.insert(count).second) return Ok();
    PW_ASSIGN(const Evaluation evaluation, Evaluate(count));
    if (!(evaluation.score() < result_.after.score())) return Ok();
    best_count_ = count;
    Take(count, evaluation);
    return Ok();
  }

  Result<Evaluation> Evaluate(size_t count) {
    ++result_.tries;
    return evaluator_->EvaluatePlan(PlanWith(count));
  }

  void Take(size_t count, const Evaluation& evaluation) {
    result_.plan = PlanWith(count);
    result_.after = evaluation;
    result_.duplicated.clear();
    result_.from_factors = 0;
    const IdVector<GroupId, bool> duplicated = GroupsOf(count);
    for (const OpId op : problem_.graph.ops()) {
      if (duplicated[problem_.graph.group(op)]) result_.duplicated.push_back(op);
    }
    for (const ReplicatedStep& step : steps_) {
      for (const size_t gradient : step.gradients) {
        const int32_t from = step.tensors[gradient].from;
        if (duplicated[step.nodes[static_cast<size_t>(from)].group]) ++result_.from_factors;
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

  // With the first `count` pieces duplicated.
  StepPlan PlanWith(size_t count) const {
    StepPlan plan = plan_;
    const IdVector<GroupId, bool> duplicated = GroupsOf(count);
    for (const ReplicatedStep& step : steps_) {
      const LayoutId copies(plan.layouts.layouts.size());
      plan.layouts.layouts.push_back(CopiesOn(step.devices));
      for (const ReplicatedStep::Node& node : step.nodes) {
        if (duplicated[node.group]) plan.layouts.of_group[node.group] = copies;
      }
      for (const size_t i : step.gradients) {
        const ReplicatedStep::Tensor& gradient = step.tensors[i];
        const bool has = duplicated[step.nodes[static_cast<size_t>(gradient.from)].group];
        if (has && step.servers) plan.layouts.of_group[gradient.updates] = copies;
      }
    }
    return plan;
  }

  const LayoutProblem& problem_;
  const StepPlan& plan_;
  Evaluator* evaluator_ = nullptr;
  std::vector<ReplicatedStep> steps_;
  SfbPieces pieces_;        // the greatest gain first
  std::set<size_t> tried_;  // numbers of pieces
  size_t best_count_ = 0;
  SfbResult result_;
};

}  // namespace

std::string SfbResult::Note() const {
  if (duplicated.empty() && gradients == 0) {
    return "no gradient is synchronised over replicas: nothing to recompute";
  }
  if (duplicated.empty() && of_embeddings) {
    return fmt::format(
        "none of {} gradients is one of embeddings alone whose rows are fewer bytes than the table",
        gradients);
  }
  if (duplicated.empty()) {
    return fmt::format("none of {} gradients is made of gathered factors: {}", gradients,
                       pieces == 0 ? "each costs less to synchronise"
                                   : "no step with fewer synchronised ones is faster");
  }
  const std::string ops =
      fmt::format("{} op{}", duplicated.size(), duplicated.size() == 1 ? "" : "s");
  if (of_embeddings) {
    return fmt::format(
        "{} of {} gradients are made of gathered rows of embeddings ({} where their tables are "
        "updated): {} instead of {}",
        from_factors, gradients, ops, FormatNanos(after.step_time), FormatNanos(before.step_time));
  }
  const std::string what =
      from_factors == 0
          ? fmt::format("{} computed by every device, not in parts, and no gradient", ops)
          : fmt::format("{} of {} gradients are made of gathered factors ({} duplicated)",
                        from_factors, gradients, ops);
  return fmt::format("{}: {} instead of {}", what, FormatNanos(after.step_time),
                     FormatNanos(before.step_time));
}

Result<std::vector<StepPlan>> SfbCandidates(const LayoutProblem& problem, const StepPlan& plan,
                                            std::span<const Feedback::Instance> instances) {
  return SfbSearch(problem, plan).Candidates(instances);
}

Result<SfbResult> ApplySfb(const LayoutProblem& problem, Evaluator& evaluator, const StepPlan& plan,
                           SfbMode mode) {
  return SfbSearch(problem, plan).Search(evaluator, mode);
}

}  // namespace placewright
