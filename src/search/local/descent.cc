#include "search/local/descent.h"

#include <algorithm>
#include <map>
#include <new>
#include <optional>
#include <utility>

#include "search/evaluation/run_record.h"
#include "search/local/first_plans.h"
#include "search/local/local_run.h"
#include "search/proof/bound.h"
#include "search/proof/enumeration.h"

namespace placewright {
namespace {

// Evaluated ops in a slice: some ten milliseconds.
int64_t MovesPerSlice(const Problem& problem) {
  return std::clamp<int64_t>(160'000 / std::max(1, problem.sim_graph.ops), 8, 1600);
}

// That local-search has before. Where searches over layouts take their share of the time, it has its first ones alone.
constexpr int64_t kMovesBefore = 2000;

using GroupSet = std::vector<ColocationGroupId>;

// Whole modules of every depth, forward, backward and update, the longest time first; none whose
// time is below a five-hundredth of the step's.
std::vector<GroupSet> ModuleSets(const LocalProblem& local) {
  std::map<std::string_view, GroupSet> below;
  int64_t all = 0;
  for (ColocationGroupId group : IdsOf(local.groups)) {
    all = SaturatingAdd(all, local.groups[group].time);
    const std::string& path = local.problem.graph->module_path(local.groups[group].module);
    for (size_t end = path.size(); end > 0; --end) {
      if (end < path.size() && path[end] != '.' && path[end] != '/') continue;
      below[std::string_view(path).substr(0, end)].push_back(group);
    }
  }
  std::vector<std::pair<int64_t, GroupSet>> timed;  // negative
  for (auto& [path, groups] : below) {
    int64_t time = 0;
    for (ColocationGroupId group : groups) time = SaturatingAdd(time, local.groups[group].time);
    if (time >= all / 500) timed.emplace_back(-time, std::move(groups));
  }
  std::sort(timed.begin(), timed.end());
  timed.erase(std::unique(timed.begin(), timed.end()), timed.end());
  std::vector<GroupSet> sets;
  for (auto& [time, groups] : timed) sets.push_back(std::move(groups));
  return sets;
}

class DescentRun : public PlannerRun {
 public:
  DescentRun(std::unique_ptr<LocalProblem> local, Evaluator& evaluator,
             const PlannerOptions& options, std::vector<ScoredPlacement> starts)
      : local_(std::move(local)),
        evaluator_(evaluator),
        options_(options),
        bound_(options.bound ? *options.bound : LowerBound(local_->problem)),
        modules_(ModuleSets(*local_)),
        record_(local_->problem, options_, "descent"),
        incumbent_(std::move(starts.front())) {
    for (size_t i = starts.size(); i > 1; --i) further_.push_back(std::move(starts[i - 1]));
    record_.Update(Best(), true);
  }

  bool Advance(int64_t max_moves) override {
    const int64_t moves = std::min(max_moves, MovesLeft());
    const int64_t slice = std::min(moves, MovesPerSlice(local_->problem));
    changed_plan_ = false;
    bool goes_on = !Optimal();
    try {
      for (int64_t done = 0; goes_on && done < slice;) {
        const int64_t tried = TrySet(moves - done);
        done += tried;
        record_.result.iterations += tried;
        goes_on = NextSet() && !Optimal();
      }
    } catch (const std::bad_alloc&) {  // the best so far is worth more than an error
      record_.result.out_of_memory = true;
      goes_on = false;
    }
    record_.Update(Best(), changed_plan_);
    return goes_on && MovesLeft() > 0;
  }

  void Offer(const Score& score, const StepPlan& plan) override {
    if (score < Best().score) incumbent_ = {score, GroupsOf(local_->problem, plan)};
  }

  const PlannerResult& result() const override { return record_.result; }

 private:
  int64_t MovesLeft() const {
    if (!options_.budget.iterations) return kMaxQuantity;
    return *options_.budget.iterations - record_.result.iterations;
  }
  bool Optimal() const {
    const Score& best = Best().score;
    return best.feasible && ProvesOptimal(bound_, PlanSpace::kPlaced, Nanos(best.step_time));
  }
  const ScoredPlacement& Best() const {
    return rival_ && !(incumbent_.score < rival_->plan.score) ? rival_->plan : incumbent_;
  }

  size_t Sets() const {
    return coarse_ ? modules_.size()
                   : std::min(DescentPlanner::kSets, local_->context->largest.size());
  }
  std::span<const ColocationGroupId> Members(size_t set) const {
    if (coarse_) return modules_[set];
    return local_->context->move_sets.members(local_->context->largest[set]);
  }

  // Evaluates at most `max` plans, at least one if the set has any. Returns how many.
  int64_t TrySet(int64_t max) {
    if (set_ >= Sets()) return 0;
    candidates_.clear();
    plans_.clear();
    for (DeviceId device : local_->candidates.accelerators) {
      if (static_cast<int64_t>(plans_.size()) == max) break;
      GroupPlacement devices = incumbent_.devices;
      changed_.clear();
      for (ColocationGroupId group : Members(set_)) {
        const std::vector<DeviceId>& allowed = local_->candidates.any[group];
        if (devices[group] == device || !std::binary_search(allowed.begin(), allowed.end(), device))
          continue;
        devices[group] = device;
        changed_.push_back(group);
      }
      if (changed_.empty() || !Connected(devices)) continue;
      plans_.push_back(ExpandGroups(local_->problem, devices));
      candidates_.push_back(std::move(devices));
    }
    if (plans_.empty()) return 0;
    EvaluationOptions options;  // a plan that does not fit is left for one that does, however slow
    if (incumbent_.score.feasible) options.abandon_above = Nanos(incumbent_.score.step_time);
    const std::vector<Evaluation> evaluations = evaluator_.Evaluate(plans_, options);
    for (size_t i = 0; i < evaluations.size(); ++i) {
      if (evaluations[i].abandoned || !(evaluations[i].score() < incumbent_.score)) continue;
      incumbent_ = {evaluations[i].score(), std::move(candidates_[i])};
      improved_ = changed_plan_ = true;
    }
    return static_cast<int64_t>(plans_.size());
  }

  bool Connected(const GroupPlacement& devices) const {
    if (!local_->candidates.connections) return true;
    return std::all_of(changed_.begin(), changed_.end(), [&](ColocationGroupId group) {
      return local_->candidates.connections->Legal(group, devices);
    });
  }

  // To the next set, the next pass, from modules to all sets. False: nothing is left to try.
  bool NextSet() {
    if (++set_ < Sets()) return true;
    set_ = 0;
    if (NextStart()) return true;
    if (std::exchange(improved_, false)) return true;
    return std::exchange(coarse_, false);
  }

  // To the next start, and behind the last to the best of what one pass over modules made of them. False: that is done.
  bool NextStart() {
    if (further_.empty() && !rival_) return false;
    const bool improved = std::exchange(improved_, false);
    if (!rival_ || incumbent_.score < rival_->plan.score) {
      rival_ = {std::move(incumbent_), improved};
    }
    if (!further_.empty()) {
      incumbent_ = std::move(further_.back());
      further_.pop_back();
      return true;
    }
    incumbent_ = std::move(rival_->plan);
    improved_ = rival_->improved;
    rival_.reset();
    return false;
  }

  const std::unique_ptr<LocalProblem> local_;
  Evaluator& evaluator_;
  const PlannerOptions options_;
  const Bound bound_;
  const std::vector<GroupSet> modules_;
  RunRecord record_;
  ScoredPlacement incumbent_;             // the best plan so far of its start
  std::vector<ScoredPlacement> further_;  // starts that have not been tried, the best last
  struct Rival {
    ScoredPlacement plan;
    bool improved = false;  // by its pass
  };
  std::optional<Rival> rival_;  // the best of the starts before
  size_t set_ = 0;
  bool coarse_ = true;         // modules first
  bool improved_ = false;      // in this pass
  bool changed_plan_ = false;  // in this slice
  // Of TrySet.
  std::vector<GroupPlacement> candidates_;
  std::vector<Placement> plans_;
  std::vector<ColocationGroupId> changed_;
};

}  // namespace

int64_t DescentPlanner::joins_after(const Problem& problem) const {
  if (problem.layouts == nullptr) return kMovesBefore;
  return std::min(FirstPlacedMoves(problem), kMovesBefore);
}

size_t DescentPlanner::StartsFor(const Problem& problem) const {
  const bool early = joins_after(problem) < kMovesBefore;
  return starts_.value_or(early ? 2 : 1);
}

Result<std::unique_ptr<PlannerRun>> DescentPlanner::Start(const Problem& problem,
                                                          Evaluator& evaluator,
                                                          const PlannerOptions& options) const {
  auto local = std::make_unique<LocalProblem>(problem, CandidateScope::kAll);
  CandidateDevices mutual;
  std::optional<Enumeration> all;
  if (enumerates_) all = EnumeratePlacements(problem, evaluator);
  const GroupPlacement* known = all && all->legal ? &all->best_device : nullptr;
  PW_ASSIGN(std::vector<ScoredPlacement> starts,
            FindFirstPlans(InputsOf(*local, options.seed, &mutual), evaluator, options, known));
  if (!local->HasChoice() || all || options.budget.Expired() || options.budget.iterations == 0) {
    return std::unique_ptr<PlannerRun>(std::make_unique<FinishedRun>(
        MakeResult(problem, name(), starts.front().devices, starts.front().score, options)));
  }
  starts.resize(std::min(starts.size(), StartsFor(problem)));
  local->MakeContext();
  return std::unique_ptr<PlannerRun>(
      std::make_unique<DescentRun>(std::move(local), evaluator, options, std::move(starts)));
}

}  // namespace placewright
