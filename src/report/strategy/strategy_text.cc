// The strategy table in words.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "report/strategy/strategy_table.h"

namespace placewright {
namespace {

constexpr size_t kMaxNamed = 3;        // of what a cell names
constexpr size_t kMaxListedParts = 8;  // parts of an axis that are listed one by one
constexpr std::string_view kStrategyColumns =
    "computed: forward and backward, with the parts of the axis; synchronised: how a parameter's "
    "gradients come "
    "together; parameters: without copies and optimizer state; time: of the ops of all devices, "
    "update included; "
    "what has less than 5% of a cell is left out";

using Weighted = std::vector<std::pair<std::string, int64_t>>;

// Equal texts are one, the heaviest first, without what is minor: "a 80%, b 20%", "a" alone.
std::string WithShares(const Weighted& items) {
  Weighted merged;
  int64_t total = 0;
  for (const auto& [text, weight] : items) {
    const auto same =
        std::find_if(merged.begin(), merged.end(),
                     [&, &name = text](const auto& one) { return one.first == name; });
    if (same != merged.end()) {
      same->second = SaturatingAdd(same->second, weight);
    } else {
      merged.emplace_back(text, weight);
    }
    total = SaturatingAdd(total, weight);
  }
  std::stable_sort(merged.begin(), merged.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  const auto share_of = [&](int64_t weight) {
    return total > 0 ? static_cast<double>(weight) / static_cast<double>(total) : 0;
  };
  while (merged.size() > 1 && share_of(merged.back().second) < kMinorStrategy) merged.pop_back();
  if (merged.empty()) return "-";
  if (merged.size() == 1) return merged.front().first;
  const size_t shown = merged.size() > kMaxNamed ? kMaxNamed - 1 : merged.size();
  std::vector<std::string> texts;
  for (size_t i = 0; i < shown; ++i) {
    texts.push_back(fmt::format("{} {:.0f}%", merged[i].first, 100 * share_of(merged[i].second)));
  }
  if (shown < merged.size()) texts.push_back(fmt::format("{} more", merged.size() - shown));
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::string NamesOf(const std::vector<DeviceId>& devices, const Cluster& cluster) {
  std::vector<std::string> names;
  for (const DeviceId device : devices) names.push_back(cluster.device(device).name);
  return FoldNames(names);
}

// "6 each", "7,630-7,631 each", "8, 8, 4, 4", "8 each on 4, 4 each on 12".
std::string SharesText(const std::vector<int64_t>& shares) {
  const auto [min, max] = std::minmax_element(shares.begin(), shares.end());
  if (*min == *max) return FormatCount(*min) + " each";
  if (*max - *min == 1) return fmt::format("{}-{} each", FormatCount(*min), FormatCount(*max));
  std::vector<std::string> each, runs;
  for (size_t i = 0; i < shares.size();) {
    size_t end = i + 1;
    while (end < shares.size() && shares[end] == shares[i]) ++end;
    each.insert(each.end(), end - i, FormatCount(shares[i]));
    runs.push_back(fmt::format("{} each on {}", FormatCount(shares[i]), end - i));
    i = end;
  }
  return each.size() <= kMaxListedParts ? fmt::format("{}", fmt::join(each, ", "))
                                        : FirstNames(runs, kMaxNamed);
}

std::string ComputeText(const ComputeStrategy& strategy) {
  switch (strategy.kind) {
    case ComputeKind::kPlaced: return "placed";
    case ComputeKind::kCopied: return "copied";
    case ComputeKind::kSplit: break;
  }
  std::string text = "split";
  if (!strategy.axis.empty()) text += " by " + Printable(strategy.axis, 60);
  if (!strategy.shares.empty()) text += fmt::format(" ({})", SharesText(strategy.shares));
  return text;
}

std::string SyncText(const SyncPart& part, const Cluster& cluster, Bytes fusion) {
  switch (part.kind) {
    case SyncKind::kNone: return "none";
    case SyncKind::kAllReduce:
      if (!part.in_buckets || fusion.count <= 0) return "all-reduce";
      if (fusion == kAllTogether) return "all-reduce of all together";
      return "all-reduce in buckets of " + FormatBytes(fusion);
    case SyncKind::kServer:
      return fmt::format("parameter server{} {}", part.devices.size() > 1 ? "s" : "",
                         NamesOf(part.devices, cluster));
    case SyncKind::kReduceScatter: return "reduce-scatter";
    case SyncKind::kReduceScatterAllReduce: return "reduce-scatter, then all-reduce";
    case SyncKind::kSummed: return "summed by each device";
    case SyncKind::kGathered: return "gathered parts";
    case SyncKind::kParts: return "none (each its part)";
    case SyncKind::kEverywhere: return "none (each computes it)";
  }
  return "none";
}

}  // namespace

std::string DescribeCompute(const StrategyRow& row) {
  Weighted items;
  for (const ComputePart& part : row.compute) {
    items.emplace_back(ComputeText(part.strategy), part.time.count);
  }
  return WithShares(items);
}

std::string DescribeComputeDevices(const StrategyRow& row, const Cluster& cluster) {
  Weighted items;
  for (const ComputePart& part : row.compute) {
    items.emplace_back(NamesOf(part.strategy.devices, cluster), part.time.count);
  }
  return WithShares(items);
}

std::string DescribeSync(const StrategyRow& row, const Cluster& cluster, Bytes fusion) {
  Weighted items;
  for (const SyncPart& part : row.sync) {
    items.emplace_back(SyncText(part, cluster, fusion), part.bytes.count);
  }
  return WithShares(items);
}

std::string RenderStrategy(const std::vector<StrategyRow>& rows, const Cluster& cluster,
                           Bytes fusion, const Style& style) {
  if (rows.empty()) return "";
  Bytes largest;
  for (const StrategyRow& row : rows) largest = std::max(largest, row.parameters);
  const auto right = Table::Align::kRight;
  Table table({{"module"},
               {"computed"},
               {"devices"},
               {"synchronised"},
               {"parameters", right},
               {"time", right}});
  for (const StrategyRow& row : rows) {
    table.AddRow({row.name, DescribeCompute(row), DescribeComputeDevices(row, cluster),
                  DescribeSync(row, cluster, fusion), FormatBytesLike(row.parameters, largest),
                  FormatShare(row.time_share)});
  }
  return table.Render(style) + Wrap(Paint(kStrategyColumns, Tone::kFaint, style) + "\n", style);
}

}  // namespace placewright
