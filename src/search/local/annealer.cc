#include "search/local/annealer.h"

#include <algorithm>

namespace placewright {

LocalContext MakeLocalContext(const Problem& problem, const OpGraph& graph, const Domain& domain,
                              const Clusters& clusters) {
  LocalContext context{problem, graph, domain, clusters, {}, {}};
  std::vector<std::pair<int32_t, int32_t>> pairs;
  for (int32_t op = 0; op < graph.ops; ++op) {
    for (const OpInput& input : graph.Inputs(op)) {
      const int32_t from = input.producer >= 0 ? graph.unit_of[input.producer] : input.home_unit;
      if (from < 0 || from == graph.unit_of[op]) continue;
      pairs.emplace_back(from, graph.unit_of[op]);
      pairs.emplace_back(graph.unit_of[op], from);
    }
  }
  std::sort(pairs.begin(), pairs.end());
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  context.neighbour_offset.assign(problem.units.size() + 1, 0);
  for (const auto& [unit, neighbour] : pairs) {
    ++context.neighbour_offset[unit + 1];
    context.neighbours.push_back(neighbour);
  }
  for (size_t u = 0; u < problem.units.size(); ++u) {
    context.neighbour_offset[u + 1] += context.neighbour_offset[u];
  }
  return context;
}

Annealer::Annealer(const LocalContext& context, std::vector<int32_t> start, Random random,
                   AnnealerOptions options)
    : context_(context),
      random_(random),
      options_(options),
      simulator_(context.problem.program, context.problem.order, options.memory_limit),
      scheduler_(context.problem.program),
      current_(std::move(start)),
      best_(current_),
      epoch_length_(options.first_epoch),
      stamp_(context.problem.units.size(), -1) {
  const SimResult& result = simulator_.SetIncumbent(ExpandUnits(context.problem, current_));
  penalty_ = std::max<int64_t>(1, SaturatingMultiply(result.step_time.count, kStepsPerDevice));
  cost_ = CostOf(result);
  best_score_ = {result.feasible, result.TotalOver().count, result.step_time.count};
}

int64_t Annealer::CostOf(const SimResult& result) const {
  if (result.feasible) return result.step_time.count;
  return SaturatingAdd(result.step_time.count,
                       SaturatingAdd(Penalty(result), best_score_.step_time / 50));
}

// Rounded up, so that no overflow is free.
int64_t Annealer::Penalty(const SimResult& result) const {
  int64_t sum = 0;
  for (size_t d = 0; d < result.devices.size(); ++d) {
    const int64_t over = result.devices[d].over.count;
    if (over <= 0) continue;
    const int64_t capacity = std::max<int64_t>(1, context_.problem.program.capacity[d]);
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
  if (current_.empty() || context_.domain.work.size() < 2) return;
  for (int64_t i = 0; i < moves; ++i) Move();
}

void Annealer::Restart(const std::vector<int32_t>& devices) {
  current_ = devices;
  const SimResult& result = simulator_.SetIncumbent(ExpandUnits(context_.problem, current_));
  cost_ = CostOf(result);
  const Score score{result.feasible, result.TotalOver().count, result.step_time.count};
  if (score < best_score_) best_score_ = score, best_ = current_;
  hot_stale_ = true;
}

void Annealer::Offer(const Score& score, const std::vector<int32_t>& devices) {
  if (!(score < offered_score_)) return;
  offered_score_ = score;
  offered_ = devices;
}

std::vector<int32_t> Annealer::RandomPlan() {
  std::vector<int32_t> devices;
  for (const auto& allowed : context_.domain.preferred) {
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
    const bool fresh = epochs_ % 2 == 1 && !context_.domain.connections;
    return Restart(fresh ? RandomPlan() : best_);
  }
  epoch_length_ *= 2;
  const bool take_offer = offered_score_ < best_score_;
  const std::vector<int32_t>& from = take_offer ? offered_ : best_;
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
  ++moves_;
  Propose();
  if (changes_.empty() || !StaysConnected()) return;
  const double heat = static_cast<double>(cost_) * options_.heat_per_mille / 1000;
  const double allowance = heat * cooled * Exponential();
  const int64_t limit = SaturatingAdd(cost_, static_cast<int64_t>(allowance));
  op_moves_.clear();
  for (const Change& change : changes_) {
    for (OpId op : context_.problem.units[change.unit].ops) {
      op_moves_.push_back({op, DeviceId(change.device)});
    }
  }
  const SimResult& result = simulator_.Try(op_moves_, Nanos(limit));
  if (result.abandoned) return;
  const int64_t cost = CostOf(result);
  if (cost <= limit) Accept(result, cost);
}

void Annealer::Accept(const SimResult& result, int64_t cost) {
  const Score score{result.feasible, result.TotalOver().count, result.step_time.count};
  simulator_.Accept();
  for (const Change& change : changes_) current_[change.unit] = change.device;
  cost_ = cost;
  hot_stale_ = true;
  if (score < best_score_) best_score_ = score, best_ = current_;
}

void Annealer::RefreshCriticalChain() {
  if (!hot_stale_ || (!hot_.empty() && ++hot_age_ < 64)) return;
  hot_age_ = 0;
  hot_stale_ = false;
  hot_.clear();
  SimOptions options;
  options.order = context_.problem.order;
  options.schedule = true;
  const SimResult& result = scheduler_.Run(simulator_.incumbent(), options);
  if (!result.schedule) return;
  const CriticalView view =
      CriticalChain(context_.problem, context_.graph, current_, *result.schedule);
  blockers_.clear();
  for (int32_t op : view.blockers) blockers_.push_back(context_.graph.unit_of[op]);
  for (const CriticalLink& link : view.chain) {
    hot_.push_back(context_.graph.unit_of[link.op]);
    if (link.transfer && link.producer >= 0) hot_.push_back(context_.graph.unit_of[link.producer]);
    if (link.transfer && link.home_unit >= 0) hot_.push_back(link.home_unit);
  }
}

int32_t Annealer::PickUnit() {
  const uint64_t kind = random_.Below(8);
  if (kind < 4) {
    RefreshCriticalChain();
    const std::vector<int32_t>& units = kind == 0 && !blockers_.empty() ? blockers_ : hot_;
    if (!units.empty()) return units[random_.Below(units.size())];
  }
  return static_cast<int32_t>(random_.Below(current_.size()));
}

void Annealer::AddChange(int32_t unit, int32_t device) {
  if (current_[unit] == device || stamp_[unit] == proposal_) return;
  const std::vector<int32_t>& allowed = context_.domain.any[unit];
  if (std::find(allowed.begin(), allowed.end(), device) == allowed.end()) return;
  stamp_[unit] = proposal_;
  changes_.push_back({unit, device});
}

bool Annealer::StaysConnected() {
  if (!context_.domain.connections) return true;
  const auto exchange = [&] {
    for (Change& change : changes_) std::swap(change.device, current_[change.unit]);
  };
  exchange();
  const bool legal = std::all_of(changes_.begin(), changes_.end(), [&](const Change& change) {
    return context_.domain.connections->Legal(change.unit, current_);
  });
  exchange();
  return legal;
}

void Annealer::MoveUnits(std::span<const int32_t> units, int32_t device) {
  for (int32_t unit : units) AddChange(unit, device);
}

// The device of a neighbour of one of the units, or any accelerator; now and then any device.
int32_t Annealer::PickDevice(std::span<const int32_t> units) {
  const int32_t unit = units[random_.Below(units.size())];
  if (random_.Below(2) == 0) {
    const int32_t first = context_.neighbour_offset[unit];
    const int32_t count = context_.neighbour_offset[unit + 1] - first;
    for (int tries = 0; count > 0 && tries < 4; ++tries) {
      const int32_t device = current_[context_.neighbours[first + random_.Below(count)]];
      if (device != current_[unit]) return device;
    }
  }
  const std::vector<int32_t>& devices =
      random_.Below(32) == 0 ? context_.domain.any[unit] : context_.domain.preferred[unit];
  return devices[random_.Below(devices.size())];
}

void Annealer::Propose() {
  changes_.clear();
  ++proposal_;
  if (options_.moves != AnnealerOptions::Moves::kAll) return ProposeOne();
  const uint64_t kind = random_.Below(100);
  if (kind < 25) {
    const int32_t unit = PickUnit();
    AddChange(unit, PickDevice({&unit, 1}));
  } else if (kind < 65) {
    ProposeCluster();
  } else if (kind < 75) {
    ProposeSwap();
  } else if (kind < 83) {
    ProposeGathering();
  } else if (kind < 99) {
    ProposeRegion();
  } else {
    ProposeDeviceSwap();
  }
}

void Annealer::ProposeOne() {
  const auto unit = static_cast<int32_t>(random_.Below(current_.size()));
  if (options_.moves == AnnealerOptions::Moves::kOneOrTwo && random_.Below(2) == 0) {
    const auto other = static_cast<int32_t>(random_.Below(current_.size()));
    const int32_t device = current_[unit];
    AddChange(unit, current_[other]);
    AddChange(other, device);
    return;
  }
  const bool any = options_.moves != AnnealerOptions::Moves::kOne && random_.Below(32) == 0;
  const std::vector<int32_t>& devices =
      any ? context_.domain.any[unit] : context_.domain.preferred[unit];
  AddChange(unit, devices[random_.Below(devices.size())]);
}

void Annealer::ProposeCluster() {
  const auto clusters = context_.clusters.Of(PickUnit());
  if (clusters.empty()) return;
  const auto members = context_.clusters.members(clusters[random_.Below(clusters.size())]);
  MoveUnits(members, PickDevice(members));
}

// Two clusters or units trade places.
void Annealer::ProposeSwap() {
  const int32_t a = PickUnit();
  const int32_t b = static_cast<int32_t>(random_.Below(current_.size()));
  const int32_t device_a = current_[a], device_b = current_[b];
  if (device_a == device_b) return;
  const auto of_a = context_.clusters.Of(a), of_b = context_.clusters.Of(b);
  if (random_.Below(2) == 0 || of_a.empty() || of_b.empty()) {
    AddChange(a, device_b);
    AddChange(b, device_a);
    return;
  }
  MoveUnits(context_.clusters.members(of_a[random_.Below(of_a.size())]), device_b);
  MoveUnits(context_.clusters.members(of_b[random_.Below(of_b.size())]), device_a);
}

// A unit's neighbours come to it.
void Annealer::ProposeGathering() {
  const int32_t unit = PickUnit();
  const int32_t first = context_.neighbour_offset[unit];
  const int32_t count = context_.neighbour_offset[unit + 1] - first;
  MoveUnits({context_.neighbours.data() + first, static_cast<size_t>(std::min(count, 16))},
            current_[unit]);
}

// A connected region of the units that share a device, grown from one of them.
void Annealer::ProposeRegion() {
  const int32_t seed = PickUnit();
  const size_t size = size_t{2} << random_.Below(6);
  std::vector<int32_t> region{seed};
  const int32_t device = PickDevice(region);
  if (device == current_[seed]) return;
  AddChange(seed, device);
  for (size_t i = 0; i < region.size() && region.size() < size; ++i) {
    const int32_t begin = context_.neighbour_offset[region[i]];
    const int32_t end = context_.neighbour_offset[region[i] + 1];
    for (int32_t n = begin; n < end && region.size() < size; ++n) {
      const int32_t next = context_.neighbours[n];
      if (current_[next] != current_[seed] || stamp_[next] == proposal_) continue;
      if (random_.Below(4) == 0) continue;
      const size_t before = changes_.size();
      AddChange(next, device);
      if (changes_.size() > before) region.push_back(next);
    }
  }
}

void Annealer::ProposeDeviceSwap() {
  const std::vector<int32_t>& devices = context_.domain.accelerators;
  const int32_t a = devices[random_.Below(devices.size())];
  const int32_t b = devices[random_.Below(devices.size())];
  if (a == b) return;
  for (size_t u = 0; u < current_.size(); ++u) {
    if (current_[u] == a) AddChange(static_cast<int32_t>(u), b);
    if (current_[u] == b) AddChange(static_cast<int32_t>(u), a);
  }
}

}  // namespace placewright
