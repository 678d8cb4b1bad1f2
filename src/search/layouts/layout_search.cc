#include "search/layouts/layout_search.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/elementary.h"
#include "base/thread_pool.h"
#include "search/evaluation/plan_result.h"
#include "search/evaluation/simulated.h"
#include "search/layouts/expert_hybrid.h"
#include "search/layouts/feeders.h"
#include "search/layouts/gradient_sums.h"
#include "search/layouts/layout_moves.h"
#include "search/layouts/layout_trials.h"
#include "search/sfb/sfb_search.h"

namespace placewright {
namespace {

constexpr int64_t kReturnAfter = 100, kCoolingMoves = 1000;
// Moves without a better plan after which local search perturbs the best one: some, and so many for each group.
constexpr int64_t kStaleAfter = 100, kStalePerGroup = 20;

class LayoutRun : public PlannerRun {
 public:
  LayoutRun(const Problem& problem, const PlannerOptions& options, LayoutRule rule,
            std::string_view name)
      : problem_(*problem.layouts),
        options_(options),
        rule_(rule),
        name_(name),
        trials_(TrialsOf(options_, *problem.layouts)),
        book_(trials_->book()),
        pool_(static_cast<int>(std::clamp<int64_t>(options.threads, 1, kAhead))),
        chances_(ChancesOf(rule)),
        random_(options.seed) {
    slots_.emplace_back(trials_->evaluator());
    for (int i = 1; i < pool_.threads(); ++i) {
      slots_.emplace_back(further_.emplace_back(problem_));
    }
    result_.algorithm = name;
    result_.space = PlanSpace::kReplicated;
  }

  Status Start(const Problem& problem, const Placement& placed) {
    PW_ASSIGN(LayoutMoves moves, LayoutMoves::Make(problem, book_));
    moves_.emplace(std::move(moves));
    PW_RETURN_IF_ERROR(TryStarts(placed));
    GoBack();
    return Ok();
  }

  // Up to kAhead moves.
  bool Advance(int64_t max_moves) override {
    const int64_t done = result_.iterations;
    const int64_t left = options_.budget.iterations.value_or(kMaxQuantity) - done;
    const int64_t in_period = done % Period();
    const int64_t count = std::min({kAhead, max_moves, left, Period() - in_period});
    if (count <= 0) return false;
    if (rule_ != LayoutRule::kMcmc && done > 0 && in_period == 0) GoBack();
    const bool stale = rule_ == LayoutRule::kLocalSearch && done > 0 && in_period == 0 && IsStale();
    std::vector<Proposal> proposals;
    if (stale) proposals = Perturb();
    if (proposals.empty()) proposals = DrawAhead(done, count);
    TryInTurn(proposals);
    return !proposals.empty();  // else there is nothing to choose
  }

  // As it is, and with what the best plan splits or copies.
  void Offer(const Score& score, const Placement& placement) override {
    const LayoutState before = *best_;
    const Score score_before = best_score_;
    LayoutState placed = StateOfPlacement(placement), mixed = before;
    for (const GroupId group : IdRange<GroupId>(mixed.of_group.size())) {
      const bool placed_there = book_[before.of_group[group]].shares.size() == 1;
      if (placed_there) mixed.of_group[group] = placed.of_group[group];
    }
    const bool splits = mixed.of_group != placed.of_group && mixed.of_group != before.of_group;
    if (score < best_score_) Evaluate(std::move(placed));
    if (splits) EvaluateWithin(std::move(mixed));
    if (best_score_ < score_before) GoBack();
  }

  const PlannerResult& result() const override { return result_; }

  // The best plan that compiles, in the words of a layout file: what that resolves to is what counts.
  Status Finish() override {
    std::optional<Error> failure;
    for (; !bests_.empty(); bests_.pop_back()) {
      Status taken = TakePlan(bests_.back());
      if (taken.ok()) {
        EndHistory();
        return taken;
      }
      if (!failure) failure = taken.error();
    }
    return *std::move(failure);
  }

 private:
  static constexpr int64_t kDrawsInVain = 1000;
  static constexpr int64_t kDrawsAnew = 100;  // of what was tried
  static constexpr size_t kMaxSummands = 64, kMaxSummandTries = 8, kMaxFeeders = 8;
  static constexpr size_t kMaxUpdates = 64;
  static constexpr int64_t kNearPart = 7;  // a step that is a seventh longer is near

  Status TryStarts(const Placement& placed) {
    for (const DistributionSpec& spec : options_.layout_starts) TrySpec(spec);
    if (!placed.empty()) Try(StateOfPlacement(placed));
    if (options_.layout_starts.empty()) {
      for (LayoutState& state : moves_->PlainStates()) Try(std::move(state));
      const Result<HybridLayouts> hybrid = LayOutAsExperts(problem_);
      if (hybrid.ok()) TrySpec(hybrid.value().spec);
    }
    if (best_) {
      // Where it splits nothing, the best of those that do may come to less.
      const LayoutState best = *best_;
      const bool other =
          IsPlaced(best) && split_start_ && split_score_.over <= best_score_.over &&
          split_score_.step_time <= best_score_.step_time / kNearPart * (kNearPart + 1);
      Improve(best, best_score_);
      if (other) Improve(*split_start_, split_score_);
      split_start_.reset();
      return Ok();
    }
    if (error_) return *std::move(error_);
    return MakeError(ErrorCode::kUnreachable, "no start keeps to all constraints", "",
                     "Loosen --pin, --forbid or --colocate.");
  }

  // A start with what moves would come to late, most of it on top of what helped before.
  void Improve(LayoutState start, Score score) {
    base_ = std::move(start);
    base_score_ = score;
    TryAxes();
    TryShares();
    TryFactors();
    TrySummands();
    TryFeeders();
    TryUpdates();
    for (LayoutState& state : LayoutMoves::OtherWaysOf(*base_)) Try(std::move(state));
    base_.reset();
  }

  // With layers split by their axis, one choice after the other, where it splits nothing itself:
  // of one that does, moves make more than of what these choices lead to.
  void TryAxes() {
    if (!IsPlaced(*base_)) return;
    for (size_t choice = 0; choice < moves_->axis_choices(); ++choice) {
      Try(moves_->WithAxisChoice(*base_, choice));
    }
  }

  bool IsPlaced(const LayoutState& state) const {
    return std::all_of(state.of_group.begin(), state.of_group.end(),
                       [&](LayoutId id) { return book_[id].shares.size() == 1; });
  }

  bool SplitsSamples(LayoutId id) const {
    const NamedAxes& axes = problem_.axes;
    const Layout& layout = book_[id];
    return axes.batch().valid() && layout.shares.size() > 1 &&
           layout.axis == axes.axis(axes.batch()).name;
  }

  // With its parts shared out otherwise.
  void TryShares() {
    for (const LayoutId id : std::set<LayoutId>(base_->of_group.begin(), base_->of_group.end())) {
      for (LayoutState& state : moves_->OtherSharesOf(*base_, id)) Try(std::move(state));
    }
  }

  // With gradients recomputed from factors: what moves would come to one gradient at a time.
  void TryFactors() {
    if (NoTimeForStarts()) return;
    const auto splits = [this](LayoutId id) { return SplitsSamples(id); };
    if (std::none_of(base_->of_group.begin(), base_->of_group.end(), splits)) return;
    const auto instances = InstancesOfState(*base_);
    if (!instances.ok()) return;  // a start that does not compile
    const auto specs = SfbCandidates(problem_, SpecOf(problem_, book_, *base_), instances.value());
    if (!specs.ok()) return;
    for (const DistributionSpec& spec : specs.value()) TrySpec(spec);
  }

  // With parameters that are alike on one device each, or with their updates split.
  void TryUpdates() {
    for (size_t choice = 0; choice < std::min(kMaxUpdates, moves_->update_choices()); ++choice) {
      for (const bool served : {true, false}) {
        if (NoTimeForStarts()) return;
        LayoutState other =
            served ? moves_->WithServers(*base_, choice) : moves_->WithSplitUpdates(*base_, choice);
        if (!(other == *base_)) EvaluateWithin(std::move(other));
      }
    }
  }

  // With summands of gradients computed by all devices: of a thousand groups moves seldom come to these.
  void TrySummands() {
    if (NoTimeForStarts()) return;
    size_t tried = 0;
    for (const GroupId group : GroupsOfSummands(problem_, kMaxSummands)) {
      const LayoutId split = base_->of_group[group];
      if (!SplitsSamples(split)) continue;
      TryCopies(group, split);
      if (++tried == kMaxSummandTries || NoTimeForStarts()) break;
    }
  }

  // With what is read on several devices computed there.
  void TryFeeders() {
    if (NoTimeForStarts()) return;
    for (const Feeder& feeder : FeedersOf(problem_, book_, *base_, kMaxFeeders)) {
      TryCopies(feeder.group, feeder.read_by);
      if (NoTimeForStarts()) break;
    }
  }

  // With a group computed by every device of a layout.
  void TryCopies(GroupId group, LayoutId layout) {
    Layout copies = book_[layout];
    copies.axis.clear();
    for (Share& share : copies.shares) share.from = share.to = 0;
    LayoutState state = *base_;
    state.of_group[group] = book_.Add(std::move(copies));
    EvaluateWithin(std::move(state));
  }

  // Whether gradients are made apart, where that need not be compiled to be known.
  std::optional<bool> MadeApart(const LayoutState& state) {
    Slot& slot = slots_.front();
    book_.Give(state, slot.layouts);
    const auto evaluation = slot.evaluator.Evaluate(slot.layouts, OptionsOf(problem_, state));
    return evaluation.ok() ? slot.evaluator.made_apart() : std::nullopt;
  }

  Result<std::vector<TimedInstance>> InstancesOfState(const LayoutState& state) {
    const std::optional<bool> apart = MadeApart(state);
    if (apart == false) return slots_.front().evaluator.Instances();
    PW_ASSIGN(const CompiledStep compiled,
              CompileStep(problem_, book_.Of(state), OptionsOf(problem_, state), apart));
    return InstancesOf(compiled);
  }

  // What is handed out may be another plan than the last best one, which did not compile.
  void EndHistory() {
    std::vector<HistoryPoint>& points = result_.history;
    if (!result_.feasible) return points.clear();
    while (!points.empty() && points.back().step_time < result_.step_time) points.pop_back();
    if (!points.empty() && points.back().step_time == result_.step_time) return;
    points.push_back(
        {result_.iterations, SecondsSince(options_.started), result_.step_time, name_});
  }

  Status TakePlan(const LayoutState& state) {
    DistributionSpec spec = SpecOf(problem_, book_, state);
    PW_ASSIGN(const LayoutState stated, StateOf(problem_, spec, book_));
    const std::optional<bool> apart = MadeApart(stated);
    PW_ASSIGN(CompiledStep compiled,
              CompileStep(problem_, book_.Of(stated), OptionsOf(problem_, stated), apart));
    const Evaluation evaluation = EvaluateStep(compiled, problem_.policy);
    result_.compiled = std::make_shared<CompiledStep>(std::move(compiled));
    result_.feasible = evaluation.feasible;
    result_.step_time = evaluation.step_time;
    result_.over = evaluation.TotalOver();
    std::set<DeviceId> devices;
    for (const LayoutId id : state.of_group) {
      for (const Share& share : book_[id].shares) devices.insert(share.device);
    }
    for (const DeviceId device : devices) {
      result_.devices.push_back(problem_.cluster.device(device).name);
    }
    result_.layouts = std::move(spec);
    return Ok();
  }

  LayoutState StateOfPlacement(const Placement& placed) {
    LayoutState state;
    state.of_group = IdVector<GroupId, LayoutId>(problem_.graph.group_count());
    for (const OpId op : problem_.graph.ops()) {
      const DeviceId device = op.index() < placed.size() ? placed[op] : DeviceId();
      LayoutId& id = state.of_group[problem_.graph.group(op)];
      if (device.valid() && !id.valid()) id = book_.Add({"", {{device, 0, 0}}});
    }
    const LayoutId any = *std::find_if(state.of_group.begin(), state.of_group.end(),
                                       [](LayoutId id) { return id.valid(); });
    for (LayoutId& id : state.of_group) {
      if (!id.valid()) id = any;
    }
    return state;
  }

  void TrySpec(const DistributionSpec& spec) {
    Result<LayoutState> state = StateOf(problem_, spec, book_);
    if (state.ok()) {
      Try(state.Take());
    } else if (!error_) {
      error_ = std::move(state.error());
    }
  }

  void GoBack() {
    current_ = *best_;
    current_score_ = best_score_;
  }

  // One start more, as long as there is time for it.
  void Try(LayoutState state) {
    if (best_ && NoTimeForStarts()) return;
    Evaluate(std::move(state));
  }

  bool NoTimeForStarts() {
    if (!options_.budget.Expired()) return false;
    const std::string note = name_ + ": there was no time for all plans to start from";
    if (result_.notes.empty()) result_.notes.push_back(note);
    return true;
  }

  void Evaluate(LayoutState state) {
    if (!moves_->MayBe(state)) return;
    book_.Give(state, slots_.front().layouts);
    const Result<Evaluation> evaluation =
        slots_.front().evaluator.Evaluate(slots_.front().layouts, OptionsOf(problem_, state));
    if (evaluation.ok()) {
      const Score score = evaluation.value().score();
      if (!base_ && !IsPlaced(state) && (!split_start_ || score < split_score_)) {
        split_start_ = state;
        split_score_ = score;
      }
      Keep(std::move(state), score);
    } else if (!error_) {
      error_ = evaluation.error();
    }
  }

  // Of what takes longer than the start that is improved, or the best plan, no more is found out.
  void EvaluateWithin(LayoutState state) {
    if (!moves_->MayBe(state)) return;
    book_.Give(state, slots_.front().layouts);
    const Score& shortest = base_ ? base_score_ : best_score_;
    const Nanos limit(shortest.over == 0 ? shortest.step_time : kMaxQuantity);
    const std::optional<Score> score = ScoreIn(slots_.front(), state, limit);
    if (score) Keep(std::move(state), *score);
  }

  struct Slot;
  // None: it cannot be compiled, or takes longer than the limit.
  std::optional<Score> ScoreIn(Slot& slot, const LayoutState& state, Nanos limit) const {
    const Result<Evaluation> evaluation =
        slot.evaluator.Evaluate(slot.layouts, OptionsOf(problem_, state), limit);
    if (!evaluation.ok() || evaluation.value().abandoned) return std::nullopt;
    return evaluation.value().score();
  }

  // The state, if it is the best so far, or of those that come of a start.
  void Keep(LayoutState state, const Score& score) {
    if (base_ && score < base_score_) {
      base_ = state;
      base_score_ = score;
    }
    if (best_ && !(score < best_score_)) return;
    bests_.push_back(state);
    if (bests_.size() > kBests) bests_.erase(bests_.begin());
    best_ = std::move(state);
    best_score_ = score;
    best_at_ = result_.iterations;
    result_.feasible = score.feasible;
    result_.step_time = Nanos(score.step_time);
    result_.over = Bytes(score.over);
    if (score.feasible) {
      const double seconds = SecondsSince(options_.started);
      if (!result_.first_feasible_seconds) result_.first_feasible_seconds = seconds;
      result_.history.push_back(
          {result_.iterations, seconds, Nanos(score.step_time), result_.algorithm});
    }
    Report();
  }

  void Report() const {
    if (!options_.progress) return;
    options_.progress(
        {name_, result_.iterations, Nanos(best_score_.step_time), best_score_.feasible});
  }

  // A neighbour of the current plan, and how long its step may be.
  struct Proposal {
    LayoutMoves::Neighbour to;
    uint64_t hash;
    Nanos longest;
    Random after;  // the draws go on from here
  };
  // How many proposals are drawn as if none before them was taken. The draws, and so the plan, are those of one
  // after the other: what follows on one that is taken is drawn again.
  static constexpr int64_t kAhead = 4;

  std::vector<Proposal> DrawAhead(int64_t move, int64_t count) {
    std::vector<Proposal> proposals;
    Random random = random_;
    for (; count > 0; --count, ++move) {
      std::optional<Proposal> next = DrawNext(proposals, random);
      if (!next) break;
      next->longest = LongestTaken(TemperatureAt(move), random);
      next->after = random;
      proposals.push_back(*std::move(next));
    }
    return proposals;
  }

  // Local search draws again where it comes to what was tried, or is to be before it.
  std::optional<Proposal> DrawNext(const std::vector<Proposal>& before, Random& random) {
    for (int64_t vain = 0; vain < kDrawsInVain; ++vain) {
      std::optional<LayoutMoves::Neighbour> next = moves_->Draw(current_, chances_, random);
      if (!next) continue;
      const uint64_t hash = HashOf(next->state);
      const bool anew = rule_ == LayoutRule::kLocalSearch && vain < kDrawsAnew;
      const bool ahead = std::any_of(before.begin(), before.end(),
                                     [&](const Proposal& other) { return other.hash == hash; });
      if (anew && (ahead || tried_.contains(hash))) continue;
      return Proposal{*std::move(next), hash, Nanos(0), random};
    }
    return std::nullopt;
  }

  bool IsStale() const {
    const auto groups = static_cast<int64_t>(current_.of_group.size());
    return result_.iterations - best_at_ > kStaleAfter + kStalePerGroup * groups;
  }

  // Taken however long its step is; none where it may not be.
  std::vector<Proposal> Perturb() {
    LayoutState perturbed = moves_->Perturbed(*best_, random_);
    if (!moves_->MayBe(perturbed)) return {};
    const uint64_t hash = HashOf(perturbed);
    return {{{std::move(perturbed), {}}, hash, Nanos(kMaxQuantity), random_}};
  }

  int64_t Period() const { return rule_ == LayoutRule::kAnnealing ? kCoolingMoves : kReturnAfter; }

  double TemperatureAt(int64_t move) const {
    const double scale = static_cast<double>(best_score_.step_time);
    const double through = static_cast<double>(move % Period()) / static_cast<double>(Period());
    switch (rule_) {
      case LayoutRule::kLocalSearch: return scale * 0.001 * (1 - through);
      case LayoutRule::kAnnealing: return scale * 0.1 * PortableExp(through * PortableLog(0.01));
      case LayoutRule::kMcmc: return scale * 0.002;
    }
    return 0;
  }

  static MoveChances ChancesOf(LayoutRule rule) {
    switch (rule) {
      case LayoutRule::kLocalSearch: return MoveChances::Learned(LayoutMoves::kAll);
      case LayoutRule::kAnnealing: return MoveChances::Fixed(LayoutMoves::kAll);
      case LayoutRule::kMcmc: return MoveChances::OneAtATime(LayoutMoves::kOfSingleGroups);
    }
    return MoveChances::Fixed(LayoutMoves::kAll);
  }

  // A step that is t longer is taken with the chance exp(-t / temperature). What fits less badly than now may
  // take as long as it likes.
  Nanos LongestTaken(double temperature, Random& random) const {
    const double chance = random.Unit();
    if (current_score_.over > 0) return Nanos(kMaxQuantity);
    const double longer = temperature > 0 && chance > 0 ? -PortableLog(chance) * temperature : 0;
    return Nanos(std::min(kMaxQuantity, current_score_.step_time + static_cast<int64_t>(longer)));
  }

  // Until one is taken; as many at a time as there are threads.
  void TryInTurn(const std::vector<Proposal>& proposals) {
    const size_t threads = static_cast<size_t>(pool_.threads());
    std::vector<std::optional<Score>> scores(threads);
    for (size_t from = 0; from < proposals.size(); from += threads) {
      if (from > 0 && options_.budget.Expired()) return;
      const size_t count = std::min(threads, proposals.size() - from);
      for (size_t i = 0; i < count; ++i) {
        book_.Give(proposals[from + i].to.state, slots_[i].layouts);
      }
      pool_.ParallelFor(static_cast<int>(count), [&](int i) {
        const Proposal& proposal = proposals[from + static_cast<size_t>(i)];
        const size_t slot = static_cast<size_t>(i);
        scores[slot] = ScoreIn(slots_[slot], proposal.to.state, proposal.longest);
      });
      for (size_t i = 0; i < count; ++i) {
        ++result_.iterations;
        random_ = proposals[from + i].after;
        if (rule_ == LayoutRule::kLocalSearch) tried_.insert(proposals[from + i].hash);
        const bool better = scores[i] && *scores[i] < current_score_;
        for (const MoveKind kind : proposals[from + i].to.kinds) chances_.Count(kind, better);
        if (scores[i] && Takes(proposals[from + i], *scores[i])) return;
      }
    }
  }

  bool Takes(const Proposal& proposal, const Score& score) {
    const bool worse = current_score_ < score;
    if (worse && score.over != current_score_.over) return false;
    if (worse && score.step_time > proposal.longest.count) return false;
    current_ = proposal.to.state;
    current_score_ = score;
    Keep(proposal.to.state, score);
    return true;
  }

  // What one thread works with.
  struct Slot {
    explicit Slot(LayoutEvaluator& of) : evaluator(of) {}
    LayoutEvaluator& evaluator;
    Layouts layouts;
  };

  const LayoutProblem& problem_;
  const PlannerOptions options_;
  const LayoutRule rule_;
  const std::string name_;
  const std::shared_ptr<LayoutTrials> trials_;
  LayoutBook& book_;
  ThreadPool pool_;
  std::deque<LayoutEvaluator> further_;  // of all threads but the first
  std::deque<Slot> slots_;               // by thread
  std::optional<LayoutMoves> moves_;
  MoveChances chances_;
  Random random_;
  LayoutState current_;
  Score current_score_;
  std::unordered_set<uint64_t> tried_;  // by local search
  // While starts are tried: the best of those that split something; the one that is improved.
  std::optional<LayoutState> split_start_, base_;
  Score split_score_, base_score_;
  std::optional<LayoutState> best_;
  static constexpr size_t kBests = 8;
  std::vector<LayoutState> bests_;  // the last ones, in case that one does not compile
  Score best_score_;
  int64_t best_at_ = 0;         // its move
  std::optional<Error> error_;  // of the first state that could not be compiled
  PlannerResult result_;
};

}  // namespace

Result<std::unique_ptr<PlannerRun>> StartLayoutSearch(const Problem& problem,
                                                      const PlannerOptions& options,
                                                      LayoutRule rule, std::string_view name,
                                                      const Placement& placed) {
  if (problem.layouts == nullptr) {
    return MakeError(ErrorCode::kUsage, "the search may not split or copy ops", "",
                     "Give --space replicated.");
  }
  auto run = std::make_unique<LayoutRun>(problem, options, rule, name);
  PW_RETURN_IF_ERROR(run->Start(problem, placed));
  return std::unique_ptr<PlannerRun>(std::move(run));
}

Result<PlannerResult> SearchLayouts(const Problem& problem, const PlannerOptions& options,
                                    LayoutRule rule, std::string_view name,
                                    const Placement& placed) {
  PW_ASSIGN(const std::unique_ptr<PlannerRun> run,
            StartLayoutSearch(problem, options, rule, name, placed));
  return RunToItsEnd(*run, options.budget);
}

Result<std::unique_ptr<PlannerRun>> LayoutSearchPlanner::Start(
    const Problem& problem, Evaluator&, const PlannerOptions& options) const {
  Placement placed;
  if (options.initial) {
    placed = *options.initial;
  } else if (!options.starts.empty()) {
    placed = options.starts.front();
  }
  return StartLayoutSearch(problem, options, LayoutRule::kLocalSearch, name(), placed);
}

}  // namespace placewright
