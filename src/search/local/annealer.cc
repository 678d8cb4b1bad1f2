#include "search/local/annealer.h"

#include <algorithm>

namespace placewright {

Annealer::Annealer(const LocalContext& context, Evaluator& evaluator, GroupPlacement start,
                   Random random, AnnealerOptions options)
    : context_(context),
      random_(random),
      options_(options),
      evaluator_(evaluator.StartMoves(options.memory_limit)),
      current_(std::move(start)),
      best_(current_),
      epoch_length_(options.first_epoch),
      stamp_(context.problem.groups.size(), -1) {
  const Evaluation& result = evaluator_->SetIncumbent(ExpandGroups(context.problem, current_));
  penalty_ = std::max<int64_t>(1, SaturatingMultiply(result.step_time.count, kStepsPerDevice));
  cost_ = CostOf(result);
  best_score_ = result.score();
}

int64_t Annealer::CostOf(const Evaluation& result) const {
  if (result.feasible) return result.step_time.count;
  return SaturatingAdd(result.step_time.count,
                       SaturatingAdd(Penalty(result), best_score_.step_time / 50));
}

// Rounded up, so that no overflow is free.
int64_t Annealer::Penalty(const Evaluation& result) const {
  int64_t sum = 0;
  for (size_t d = 0; d < result.devices.size(); ++d) {
    const int64_t over = result.devices[d].over.count;
    if (over <= 0) continue;
    const int64_t capacity = std::max<int64_t>(1, context_.problem.sim_graph.capacity[DeviceId(d)]);
    const __int128 share = (static_cast<__int128>(penalty_) * over + capacity - 1) / capacity;
    sum = SaturatingAdd(sum, share < kMaxQuantity ? static_cast<int64_t>(share) : kMaxQuantity);
  }
  return sum;
}

// -ln(u) for u uniform in (0, 1], by halving and a series: no library function, so that every
// machine draws the same. Mean 1 within a part in a thousand.
double Annealer::Exponential() {
  constexpr double kLn2 = 0.6931471805599453;
  double u = random_.Unit() + 0x1.0p-54;
  double result = 0;
  while (u < 0.5) u *= 2, result += kLn2;
  const double x = (1 - u) / (1 + u);  // -ln(u) = 2 artanh(x), x <= 1/3
  const double x2 = x * x;
  return result + 2 * x * (1 + x2 * (1.0 / 3 + x2 * (1.0 / 5 + x2 * (1.0 / 7))));
}

void Annealer::Run(int64_t moves) {
  if (current_.empty() || context_.candidates.work.size() < 2) return;
  for (int64_t i = 0; i < moves; ++i) Move();
}

void Annealer::Restart(const GroupPlacement& devices) {
  current_ = devices;
  const Evaluation& result = evaluator_->SetIncumbent(ExpandGroups(context_.problem, current_));
  cost_ = CostOf(result);
  const Score score = result.score();
  if (score < best_score_) best_score_ = score, best_ = current_;
  hot_stale_ = true;
}

void Annealer::Offer(const Score& score, const GroupPlacement& devices) {
  if (!(score < offered_score_)) return;
  offered_score_ = score;
  offered_ = devices;
}

GroupPlacement Annealer::RandomPlan() {
  GroupPlacement devices;
  for (const auto& allowed : context_.candidates.preferred) {
    devices.push_back(allowed[random_.Below(allowed.size())]);
  }
  return devices;
}

void Annealer::StartEpoch() {
  epoch_move_ = 0;
  ++epochs_;
  temperature_ = 1;
  if (options_.cooling == AnnealerOptions::Cooling::kConstant) return;
  if (options_.cooling == AnnealerOptions::Cooling::kRestarts) {
    const bool fresh = epochs_ % 2 == 1 && !context_.candidates.connections;
    return Restart(fresh ? RandomPlan() : best_);
  }
  epoch_length_ *= 2;
  const bool take_offer = offered_score_ < best_score_;
  const GroupPlacement& from = take_offer ? offered_ : best_;
  if (current_ != from) Restart(from);
}

// The share of the starting T that is left at this move.
double Annealer::Cooled() {
  if (options_.cooling == AnnealerOptions::Cooling::kConstant) return 1;
  if (options_.cooling == AnnealerOptions::Cooling::kRestarts) {
    // Sixty-four steps to 0.9^64, a little over a thousandth.
    const int64_t step = std::max<int64_t>(1, epoch_length_ / 64);
    if (epoch_move_ > 0 && epoch_move_ % step == 0) temperature_ *= 0.9;
    return temperature_;
  }
  const double left = 1 - static_cast<double>(epoch_move_) / static_cast<double>(epoch_length_);
  return left * left;
}

void Annealer::Move() {
  if (epoch_move_ == epoch_length_) StartEpoch();
  const double cooled = Cooled();
  ++epoch_move_;
  Propose();
  if (changes_.empty() || !StaysConnected()) return;
  const double initial_temperature =
      static_cast<double>(cost_) * options_.temperature_per_mille / 1000;
  const double allowance = initial_temperature * cooled * Exponential();
  const int64_t limit = SaturatingAdd(cost_, static_cast<int64_t>(allowance));
  op_moves_.clear();
  for (const Change& change : changes_) {
    for (OpId op : context_.problem.groups[change.group].ops) {
      op_moves_.push_back({op, change.device});
    }
  }
  const Evaluation& result = evaluator_->Try(op_moves_, Nanos(limit));
  if (result.abandoned) return;
  const int64_t cost = CostOf(result);
  if (cost <= limit) Accept(result, cost);
}

void Annealer::Accept(const Evaluation& result, int64_t cost) {
  const Score score = result.score();
  evaluator_->Accept();
  for (const Change& change : changes_) current_[change.group] = change.device;
  cost_ = cost;
  hot_stale_ = true;
  if (score < best_score_) best_score_ = score, best_ = current_;
}

void Annealer::RefreshCriticalChain() {
  if (!hot_stale_ || (!hot_.empty() && ++hot_age_ < 64)) return;
  hot_age_ = 0;
  hot_stale_ = false;
  hot_.clear();
  const CriticalView view =
      CriticalChain(context_.problem, context_.graph, current_, evaluator_->IncumbentSchedule());
  blockers_.clear();
  for (ExecOpId op : view.blockers) blockers_.push_back(context_.graph.group_of[op]);
  for (const CriticalLink& link : view.chain) {
    hot_.push_back(context_.graph.group_of[link.op]);
    if (!link.transfer) continue;
    if (link.producer.valid()) hot_.push_back(context_.graph.group_of[link.producer]);
    if (link.home_group.valid()) hot_.push_back(link.home_group);
  }
}

}  // namespace placewright
