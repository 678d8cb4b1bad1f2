// How many devices, and of which kind, a training step needs: the best strategy on clusters of each kind and count.
#ifndef PLACEWRIGHT_PLANNING_SIZING_H_
#define PLACEWRIGHT_PLANNING_SIZING_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cluster/memory_reserve.h"
#include "planning/strategy_trials.h"

namespace placewright {

struct SizeTarget {
  enum class Kind : uint8_t { kFits, kTokenRate, kSampleRate, kStepTime } kind = Kind::kFits;
  double per_second = 0;  // tokens or samples, at least
  Nanos step;             // at most
};
std::string DescribeTarget(
    const SizeTarget& target);  // "100,000 tokens/s", "250 ms a step", "fits"

// GPUs of a host where there are more.
inline constexpr int64_t kGpusOfHost = 8;
// "4xH100", "4x 8xH100": up to kGpusOfHost GPUs are on one host, more on whole hosts of so many. Errors: kUsage for other
// numbers.
Result<std::string> SizedCluster(const std::string& kind, int64_t count);

// One kind and count.
struct SizeRow {
  std::string kind, cluster;
  int64_t count = 0, batch = 0;
  std::optional<StrategyResult> best;
  std::string why_not;  // where nothing fits: the strategy that comes nearest, and what it lacks
  double samples_per_second = 0;
  double tokens_per_second = 0;  // 0: the step has no tokens
  bool meets = false;            // the target
  bool neighbour = false;        // beside the answer alone: not among the counts asked for
  std::optional<double> price_per_hour, price_per_million_tokens;
};

struct SizeTable {
  std::vector<SizeRow> rows;  // by kind, then by count
  std::optional<size_t>
      answer;  // the cheapest row that meets the target, without prices that of the fewest devices
  std::vector<size_t>
      neighbours;            // of its kind: the next smaller row, and that with one device fewer
  bool interrupted = false;  // what there is until then
};

struct SizeRequest {
  std::vector<std::string> kinds;  // of GPUs, by the catalogue's names
  std::vector<int64_t> counts;     // ascending
  SizeTarget target;
  std::map<std::string, double> price_per_hour{};  // of a GPU; empty: none
  std::optional<MemoryReserve> reserve{};
  int64_t tokens_of_sample = 0;
  // The step on so many devices; batches may differ.
  std::function<Result<StrategyTrier*>(int64_t devices)> step;
  StrategyTrialOptions trials{};
  std::function<void(const SizeRow&)> planned{};  // as rows are made
};
// Fewer devices come first, so that what there is when it is stopped is of use. Errors: those of `step`, of SizedCluster
// and StrategyTrier::On.
Result<SizeTable> FindSize(const SizeRequest& request);

}  // namespace placewright

#endif  // PLACEWRIGHT_PLANNING_SIZING_H_
