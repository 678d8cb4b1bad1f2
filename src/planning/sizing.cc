#include "planning/sizing.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cluster/catalogue.h"

namespace placewright {
namespace {

constexpr double kSecondsOfHour = 3600, kMillion = 1e6;

bool Meets(const SizeTarget& target, const SizeRow& row) {
  if (!row.best) return false;
  switch (target.kind) {
    case SizeTarget::Kind::kFits: return true;
    case SizeTarget::Kind::kTokenRate: return row.tokens_per_second >= target.per_second;
    case SizeTarget::Kind::kSampleRate: return row.samples_per_second >= target.per_second;
    case SizeTarget::Kind::kStepTime: return row.best->step_time <= target.step;
  }
  return false;
}

// Of strategies that do not fit, the one that comes nearest.
std::string WhyNothingFits(const StrategyTrials& trials) {
  if (trials.strategies.empty()) return "no strategy was tried";
  const StrategyResult& nearest = trials.strategies.front();
  return fmt::format("{}: {}", Describe(nearest.strategy), nearest.why_not);
}

class Sizer {
 public:
  explicit Sizer(const SizeRequest& request) : request_(request) {}

  Result<SizeTable> Find() {
    for (const int64_t count : request_.counts) {
      for (const std::string& kind : request_.kinds) {
        if (Stopped()) break;
        PW_RETURN_IF_ERROR(AddRow(kind, count, false));
      }
    }
    Answer();
    if (table_.answer) PW_RETURN_IF_ERROR(AddNeighbour());
    Sort();
    return std::move(table_);
  }

 private:
  bool Stopped() {
    table_.interrupted = table_.interrupted || request_.trials.stop.StopRequested();
    return table_.interrupted;
  }

  Status AddRow(const std::string& kind, int64_t count, bool neighbour) {
    SizeRow row;
    row.kind = kind;
    row.count = count;
    row.neighbour = neighbour;
    PW_ASSIGN(row.cluster, SizedCluster(kind, count));
    PW_ASSIGN(Cluster cluster, MakePreset(row.cluster));
    PW_RETURN_IF_ERROR(ApplyMemoryReserve(request_.reserve, &cluster));
    PW_ASSIGN(StrategyTrier* const trier, request_.step(count));
    row.batch = trier->step().samples();
    PW_ASSIGN(const StrategyTrials trials, trier->On(cluster, request_.trials));
    // What was cut short says nothing about what the machines can do.
    if (trials.interrupted) {
      table_.interrupted = true;
      return Ok();
    }
    if (const StrategyResult* const best = trials.Best(); best != nullptr) {
      row.best = *best;
      Rate(row);
    } else {
      row.why_not = WhyNothingFits(trials);
    }
    row.meets = Meets(request_.target, row);
    if (request_.planned) request_.planned(row);
    table_.rows.push_back(std::move(row));
    return Ok();
  }

  void Rate(SizeRow& row) const {
    const double seconds = Seconds(row.best->step_time);
    row.samples_per_second = static_cast<double>(row.batch) / seconds;
    row.tokens_per_second = row.samples_per_second * static_cast<double>(request_.tokens_of_sample);
    const auto price = request_.price_per_hour.find(row.kind);
    if (price == request_.price_per_hour.end()) return;
    row.price_per_hour = price->second * static_cast<double>(row.count);
    if (row.tokens_per_second <= 0) return;
    row.price_per_million_tokens =
        *row.price_per_hour / kSecondsOfHour / row.tokens_per_second * kMillion;
  }

  // The cheapest, then the fewest devices, then the fastest.
  static bool Better(const SizeRow& a, const SizeRow& b) {
    const double price_a = a.price_per_hour.value_or(0), price_b = b.price_per_hour.value_or(0);
    if (price_a != price_b) return price_a < price_b;
    if (a.count != b.count) return a.count < b.count;
    return a.best->step_time < b.best->step_time;
  }

  void Answer() {
    for (size_t i = 0; i < table_.rows.size(); ++i) {
      const SizeRow& row = table_.rows[i];
      if (!row.meets || row.neighbour) continue;
      if (!table_.answer || Better(row, table_.rows[*table_.answer])) table_.answer = i;
    }
  }

  // With one device fewer, where the counts do not name it and such a host can be had.
  Status AddNeighbour() {
    const SizeRow& answer = table_.rows[*table_.answer];
    const std::string kind = answer.kind;
    const int64_t fewer = answer.count - 1;
    const bool named =
        std::find(request_.counts.begin(), request_.counts.end(), fewer) != request_.counts.end();
    if (fewer < 1 || fewer >= kGpusOfHost || named || Stopped()) return Ok();
    return AddRow(kind, fewer, true);
  }

  size_t KindOrder(const SizeRow& row) const {
    return static_cast<size_t>(std::find(request_.kinds.begin(), request_.kinds.end(), row.kind) -
                               request_.kinds.begin());
  }

  void Sort() {
    std::optional<std::pair<std::string, int64_t>> answer;
    if (table_.answer) {
      answer = {table_.rows[*table_.answer].kind, table_.rows[*table_.answer].count};
    }
    std::stable_sort(table_.rows.begin(), table_.rows.end(),
                     [&](const SizeRow& a, const SizeRow& b) {
                       const size_t kind_a = KindOrder(a), kind_b = KindOrder(b);
                       return kind_a != kind_b ? kind_a < kind_b : a.count < b.count;
                     });
    if (!answer) return;
    std::optional<size_t> below;
    for (size_t i = 0; i < table_.rows.size(); ++i) {
      const SizeRow& row = table_.rows[i];
      if (row.kind != answer->first) continue;
      if (row.count == answer->second) table_.answer = i;
      if (row.count >= answer->second) continue;
      if (row.count == answer->second - 1) table_.neighbours.push_back(i);
      if (!row.neighbour && row.count != answer->second - 1) below = i;
    }
    const bool next = below && std::none_of(table_.neighbours.begin(), table_.neighbours.end(),
                                            [&](size_t i) { return !table_.rows[i].neighbour; });
    if (next) table_.neighbours.insert(table_.neighbours.begin(), *below);
  }

  const SizeRequest& request_;
  SizeTable table_;
};

}  // namespace

std::string DescribeTarget(const SizeTarget& target) {
  const auto number = [&] {
    return target.per_second >= 10 ? FormatCount(static_cast<int64_t>(target.per_second + 0.5))
                                   : fmt::format("{:g}", target.per_second);
  };
  switch (target.kind) {
    case SizeTarget::Kind::kFits: return "fits";
    case SizeTarget::Kind::kTokenRate: return number() + " tokens/s";
    case SizeTarget::Kind::kSampleRate: return number() + " samples/s";
    case SizeTarget::Kind::kStepTime: return FormatNanos(target.step) + " a step";
  }
  return "fits";
}

Result<std::string> SizedCluster(const std::string& kind, int64_t count) {
  if (count >= 1 && count <= kGpusOfHost) return fmt::format("{}x{}", count, kind);
  if (count >= 1 && count % kGpusOfHost == 0) {
    return fmt::format("{}x {}x{}", count / kGpusOfHost, kGpusOfHost, kind);
  }
  return MakeError(
      ErrorCode::kUsage, fmt::format("{} GPUs do not fill hosts of {}", count, kGpusOfHost), "",
      fmt::format("Give 1 to {} GPUs, or a multiple of {}.", kGpusOfHost, kGpusOfHost));
}

Result<SizeTable> FindSize(const SizeRequest& request) { return Sizer(request).Find(); }

}  // namespace placewright
