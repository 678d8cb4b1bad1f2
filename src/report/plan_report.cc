#include "report/plan_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace placewright {
namespace {

constexpr int kBarWidth = 12;
constexpr auto kRight = Table::Align::kRight;

double ShareOf(int64_t part, int64_t whole) {
  return whole <= 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

Table::Cell MemoryCell(const DeviceUse& device, const Style& style) {
  const double share = device.capacity.count > 0
                           ? ShareOf(device.peak_memory.count, device.capacity.count)
                           : (device.peak_memory.count > 0 ? 2 : 0);
  const Tone tone = share > 1 ? Tone::kBad : share > 0.95 ? Tone::kWarning : Tone::kGood;
  return {Bar(share, kBarWidth, style), tone};
}

}  // namespace

std::vector<DeviceUse> UseOfDevices(const SimResult& result, const Cluster& cluster) {
  std::vector<DeviceUse> uses;
  for (DeviceId id : cluster.devices()) {
    const DeviceResult& device = result.devices[id.index()];
    DeviceUse use;
    use.name = cluster.device(id).name;
    use.kind = cluster.kind(id).name;
    use.busy = ShareOf(device.busy.count, result.step_time.count);
    use.peak_memory = device.peak;
    use.tensor_peak = device.tensor_peak;
    use.workspace = device.workspace;
    use.runtime_context = device.runtime_context;
    use.capacity = cluster.device(id).capacity;
    use.reserve = cluster.device(id).reserve;
    use.ops = device.ops;
    uses.push_back(std::move(use));
  }
  return uses;
}

std::string BoundVerdict(const Plan& plan) {
  if (plan.Gap() <= 0) return "optimal: no plan takes less";
  return fmt::format("no plan takes more than {} less time", FormatShare(plan.Gap()));
}

std::string RenderHeadline(const Plan& plan, const Style& style) {
  std::string text = Paint(plan.graph_name, Tone::kStrong, style) + " on " +
                     Paint(plan.cluster_name, Tone::kStrong, style) + ": " +
                     (plan.feasible ? Paint("fits", Tone::kGood, style)
                                    : Paint("does not fit", Tone::kBad, style)) +
                     "\n";
  text +=
      fmt::format("  step time  {}\n", Paint(FormatNanos(plan.step_time), Tone::kStrong, style));
  text += fmt::format("  bound      {}", FormatNanos(plan.lower_bound));
  if (plan.feasible)
    text += plan.Gap() > 0 ? ", so " + BoundVerdict(plan) : ": " + BoundVerdict(plan);
  text += "\n";
  text += fmt::format("  found by   {}, {} in {:.1f} s, seed {}", Printable(plan.algorithm),
                      CountOf(plan.iterations, "move"), plan.seconds, plan.seed);
  if (plan.first_feasible_seconds) {
    text += fmt::format("; the first that fits after {:.2f} s", *plan.first_feasible_seconds);
  }
  text += "\n  costs      " +
          RenderCostSources({plan.share_given, plan.share_measured, plan.share_modelled}) + "\n";
  return text;
}

std::string RenderCostSources(const CostShares& shares) {
  std::string text;
  const auto add = [&](double share, const char* name) {
    if (share <= 0) return;
    text += (text.empty() ? "" : ", ") + fmt::format("{} {}", FormatShare(share), name);
  };
  add(shares.given, "given");
  add(shares.measured, "measured");
  add(shares.modelled, "modelled");
  return text.empty() ? "none" : text;
}

std::string RenderUnknownTypes(std::span<const std::string> types) {
  if (types.empty()) return "";
  return fmt::format("op types costed by their bytes alone: {}\n",
                     Printable(fmt::format("{}", fmt::join(types, ", ")), 10000));
}

std::string DescribeReserve(std::span<const DeviceUse> devices) {
  constexpr size_t kNamed = 4;
  std::vector<std::string> parts;
  for (const DeviceUse& use : devices) {
    if (use.reserve.value_or(Bytes()) <= Bytes(0)) continue;
    std::string part =
        fmt::format("{} of each {}", FormatBytes(*use.reserve), Printable(use.kind, 80));
    if (std::find(parts.begin(), parts.end(), part) == parts.end()) parts.push_back(part);
  }
  if (parts.empty()) return "";
  const bool more = parts.size() > kNamed;
  if (more) parts.resize(kNamed);
  return fmt::format("memory reserve: {}{} are kept free (--memory-reserve)",
                     fmt::join(parts, ", "), more ? ", ..." : "");
}

std::string RenderDevices(std::span<const DeviceUse> devices, const Style& style) {
  Table table({{"device"},
               {"kind"},
               {"ops", kRight},
               {"busy", kRight},
               {""},
               {"memory", kRight},
               {"of", kRight},
               {""}});
  std::string remarks;
  std::string idle;
  for (const DeviceUse& d : devices) {
    table.AddRow({d.name, d.kind, FormatCount(d.ops), FormatShare(d.busy),
                  Bar(d.busy, kBarWidth, style), FormatBytes(d.peak_memory),
                  FormatBytes(d.capacity), MemoryCell(d, style)});
    if (d.ops == 0) idle += (idle.empty() ? "" : ", ") + Printable(d.name);
    if (d.peak_memory > d.capacity) {
      remarks +=
          Paint(fmt::format("{} overflows by {}", d.name, FormatBytes(d.peak_memory - d.capacity)),
                Tone::kBad, style) +
          "\n";
    }
  }
  if (!idle.empty())
    remarks += Paint("idle: ", Tone::kWarning, style) + idle + " (no op runs there)\n";
  const std::string reserve = DescribeReserve(devices);
  if (!reserve.empty()) remarks = reserve + "\n" + remarks;
  return table.Render(style) + remarks;
}

std::string RenderBaselines(std::span<const Baseline> baselines, Nanos step_time,
                            const Style& style) {
  if (baselines.empty()) return "";
  Table table({{"baseline"}, {"step time", kRight}, {"against this plan"}});
  for (const Baseline& baseline : baselines) {
    const double ratio = ShareOf(baseline.step_time.count, step_time.count);
    std::string verdict = "does not fit";
    if (baseline.feasible) {
      verdict =
          baseline.step_time == step_time ? "equal" : fmt::format("{:.2f} times as long", ratio);
    }
    table.AddRow({baseline.algorithm,
                  FormatNanos(baseline.step_time),
                  {verdict, baseline.feasible ? Tone::kPlain : Tone::kFaint}});
  }
  return table.Render(style);
}

}  // namespace placewright
