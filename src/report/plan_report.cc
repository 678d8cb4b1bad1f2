#include "report/plan_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "base/text.h"
#include "plan/space_words.h"

namespace placewright {
namespace {

constexpr int kBarWidth = 12;
constexpr auto kRight = Table::Align::kRight;

Table::Cell MemoryCell(const DeviceUse& device, const Style& style) {
  const double share = device.capacity.count > 0
                           ? ShareOf(device.peak_memory.count, device.capacity.count)
                           : (device.peak_memory.count > 0 ? 2 : 0);
  const Tone tone = share > 1 ? Tone::kBad : share > 0.95 ? Tone::kWarning : Tone::kGood;
  return {Bar(share, kBarWidth, style), tone};
}

// As far as the table shows them.
bool HasEqualFigures(const DeviceUse& a, const DeviceUse& b) {
  return a.kind == b.kind && a.ops == b.ops && FormatShare(a.busy) == FormatShare(b.busy) &&
         FormatBytes(a.capacity) == FormatBytes(b.capacity) &&
         FormatBytesLike(a.peak_memory, a.capacity) == FormatBytesLike(b.peak_memory, b.capacity) &&
         (a.peak_memory > a.capacity) == (b.peak_memory > b.capacity);
}

}  // namespace

std::string BoundVerdict(const Plan& plan) {
  if (!plan.lower_bound) return fmt::format("none for {}", WordsOf(plan.space).plans);
  if (plan.bound_space != plan.space) {
    return fmt::format("a bound for {} alone", WordsOf(plan.bound_space).plans);
  }
  if (plan.ProvenOptimal()) return fmt::format("optimal for {}", WordsOf(plan.space).plans);
  // Another rewriting has another bound.
  const auto& transforms = plan.distribution.transforms;
  const bool rewritten = transforms && !RewriteAlike(*transforms, {});
  return fmt::format("at most {} below this is possible for {}{}", FormatShare(plan.Gap()),
                     WordsOf(plan.space).plans, rewritten ? " of the step so rewritten" : "");
}

BestBaseline FindBestBaseline(const Plan& plan) {
  const auto is_gpu = [&](const std::string& name) {
    return std::any_of(plan.devices.begin(), plan.devices.end(), [&](const DeviceUse& use) {
      return use.name == name && use.device_class == DeviceClass::kGpu;
    });
  };
  BestBaseline best;
  for (const Baseline& baseline : plan.baselines) {
    if (!baseline.feasible || baseline.search) continue;
    const bool on_gpus = !baseline.devices.empty() &&
                         std::all_of(baseline.devices.begin(), baseline.devices.end(), is_gpu);
    const bool better = best.baseline == nullptr || (on_gpus && !best.on_gpus) ||
                        (on_gpus == best.on_gpus && baseline.step_time < best.baseline->step_time);
    if (better) best = {&baseline, on_gpus};
  }
  if (best.baseline != nullptr) {
    best.speedup = ShareOf(best.baseline->step_time.count, plan.step_time.count);
  }
  return best;
}

std::string DescribeBestBaseline(const Plan& plan) {
  const BestBaseline best = FindBestBaseline(plan);
  if (best.baseline == nullptr) return "";
  const bool equal = best.baseline->step_time == plan.step_time;
  return fmt::format("{} the best baseline{} ({}, {})",
                     equal ? "equal to" : fmt::format("{:.2f} times as fast as", best.speedup),
                     best.on_gpus ? " on GPUs" : "", Printable(best.baseline->algorithm),
                     FormatNanosLike(best.baseline->step_time, plan.step_time));
}

std::string DescribeLayerOptimum(const Plan& plan) {
  if (plan.strategies.empty() || !plan.distribution.transforms) return "";
  const Nanos optimum = plan.strategies.front().layer_optimum;
  if (optimum == Nanos() || MayBeRewritten(*plan.distribution.transforms)) return "";
  return fmt::format(
      "{} is the optimum of stages and recomputed layers in the model of estimates, no bound",
      FormatNanosLike(optimum, plan.step_time));
}

std::string DescribeThroughput(const Plan& plan) {
  if (plan.SamplesPerSecond() <= 0) return "";
  return fmt::format("{:.4g} samples/s (batch {})", plan.SamplesPerSecond(), plan.samples);
}

namespace {

std::string Verdict(const Plan& plan, const Style& style) {
  return Paint(plan.graph_name, Tone::kStrong, style) + " on " +
         Paint(plan.cluster_name, Tone::kStrong, style) + ": " +
         (plan.feasible ? Paint("fits", Tone::kGood, style)
                        : Paint("does not fit", Tone::kBad, style)) +
         "\n";
}

std::string HeadLine(std::string_view label, const std::string& what, const Style& style) {
  return Wrap(fmt::format("  {:<10} {}\n", label, what), style, 13);
}

}  // namespace

const StrategyResult* NearestStrategy(const Plan& plan) {
  if (plan.feasible || plan.strategies.empty()) return nullptr;
  const StrategyResult& nearest = plan.strategies.front();
  if (nearest.fits || nearest.capacity.count == 0) return nullptr;
  Bytes over;
  for (const DeviceUse& use : plan.devices) over = std::max(over, use.peak_memory - use.capacity);
  return nearest.Over() < over ? &nearest : nullptr;
}

std::string RenderNearest(const Plan& plan, const StrategyResult& nearest, const Style& style) {
  const char* const source = nearest.evaluated ? "simulated" : "estimated";
  return Verdict(plan, style) +
         HeadLine("nearest", Paint(Describe(nearest.strategy), Tone::kStrong, style), style) +
         HeadLine("needs",
                  fmt::format("{} on the fullest device, which has {}: {} more ({})",
                              FormatBytes(nearest.memory), FormatBytes(nearest.capacity),
                              FormatBytes(nearest.Over()), source),
                  style) +
         HeadLine("step time", fmt::format("{} ({})", FormatNanos(nearest.BestTime()), source),
                  style);
}

std::string RenderHeadline(const Plan& plan, const Style& style) {
  std::string text = Verdict(plan, style);
  const auto line = [&](std::string_view label, const std::string& what) {
    text += HeadLine(label, what, style);
  };
  line("step time", Paint(FormatNanos(plan.step_time), Tone::kStrong, style));
  if (const std::string throughput = DescribeThroughput(plan); !throughput.empty()) {
    line("throughput", throughput);
  }
  if (plan.lower_bound) {
    const std::string bound = FormatNanosLike(*plan.lower_bound, plan.step_time);
    line("bound", plan.feasible ? fmt::format("{} ({})", BoundVerdict(plan), bound) : bound);
  } else {
    line("bound", BoundVerdict(plan));
  }
  if (const std::string optimum = DescribeLayerOptimum(plan); !optimum.empty()) {
    line("layers", optimum);
  }
  if (plan.feasible) {
    const std::string against = DescribeBestBaseline(plan);
    if (!against.empty()) line("baselines", against);
  }
  std::string found = fmt::format("{}, {} in {:.1f} s, seed {}", Printable(plan.algorithm),
                                  CountOf(plan.iterations, "move"), plan.seconds, plan.seed);
  if (plan.first_feasible_seconds) {
    found += fmt::format("; the first that fits after {:.2f} s", *plan.first_feasible_seconds);
  }
  line("found by", found);
  line("costs", RenderCostSources({plan.share_given, plan.share_measured, plan.share_modelled}));
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
  std::vector<std::pair<const DeviceUse*, std::vector<std::string>>> rows;  // of equal figures
  std::vector<std::pair<std::string, std::vector<std::string>>> overflows;  // by how much
  std::vector<std::string> idle;
  const auto name_beside = [](auto& named, const auto& alike, auto key, const std::string& name) {
    const auto same = std::find_if(named.begin(), named.end(),
                                   [&](const auto& other) { return alike(other.first); });
    if (same == named.end()) {
      named.emplace_back(key, std::vector{name});
    } else {
      same->second.push_back(name);
    }
  };
  for (const DeviceUse& d : devices) {
    const std::string name = Printable(d.name);
    name_beside(
        rows, [&](const DeviceUse* other) { return HasEqualFigures(*other, d); }, &d, name);
    if (d.ops == 0) idle.push_back(name);
    if (d.peak_memory <= d.capacity) continue;
    const std::string over = FormatBytes(d.peak_memory - d.capacity);
    name_beside(
        overflows, [&](const std::string& other) { return other == over; }, over, name);
  }
  const bool folded = rows.size() < devices.size();
  Table table({{folded ? "devices" : "device"},
               {"kind"},
               {"ops", kRight},
               {"busy", kRight},
               {"", Table::Align::kLeft, true},
               {"memory", kRight},
               {"of", kRight},
               {"", Table::Align::kLeft, true}});
  for (const auto& [use, names] : rows) {
    table.AddRow({FoldNames(names), use->kind, FormatCount(use->ops), FormatShare(use->busy),
                  Bar(use->busy, kBarWidth, style),
                  FormatBytesLike(use->peak_memory, use->capacity), FormatBytes(use->capacity),
                  MemoryCell(*use, style)});
  }
  std::string remarks;
  for (const auto& [over, names] : overflows) {
    remarks +=
        Paint(fmt::format("{} overflow{} by {}{}", FoldNames(names), names.size() == 1 ? "s" : "",
                          over, names.size() == 1 ? "" : " each"),
              Tone::kBad, style) +
        "\n";
  }
  if (!idle.empty()) {
    remarks += Wrap(fmt::format("{} {} (no op runs there)\n", Paint("idle:", Tone::kWarning, style),
                                FoldNames(idle)),
                    style);
  }
  const std::string reserve = DescribeReserve(devices);
  if (!reserve.empty()) remarks = Wrap(reserve + "\n", style) + remarks;
  return table.Render(style) + remarks;
}

std::vector<BaselineRow> FoldBaselines(std::span<const Baseline> baselines) {
  std::vector<BaselineRow> rows;
  for (const Baseline& baseline : baselines) {
    const auto row = std::find_if(rows.begin(), rows.end(), [&](const BaselineRow& other) {
      return other.first->feasible == baseline.feasible &&
             other.first->step_time == baseline.step_time &&
             other.first->devices == baseline.devices;
    });
    if (row == rows.end()) {
      rows.push_back({{baseline.algorithm}, &baseline});
    } else {
      row->algorithms.push_back(baseline.algorithm);
    }
  }
  return rows;
}

std::string DescribeDevices(std::span<const std::string> names,
                            std::span<const DeviceUse> all_devices) {
  bool gpus = false, used = false;
  for (const DeviceUse& use : all_devices) {
    if (use.device_class != DeviceClass::kGpu) continue;
    gpus = true;
    used |= std::find(names.begin(), names.end(), use.name) != names.end();
  }
  return FoldNames(names) + (gpus && !used && !names.empty() ? ", no GPU" : "");
}

std::string DescribeAgainst(Nanos beside, Nanos time, bool fits, Nanos tie_within) {
  if (!fits) return "does not fit";
  if (time == beside) return "equal";
  const bool tie = std::abs(time.count - beside.count) <= tie_within.count;
  return fmt::format("{:.2f} times{}", ShareOf(time.count, beside.count),
                     tie ? ", a tie" : " as long");
}

namespace {

// Below a table that has ties.
std::string ExplainTies(const std::string& table, Nanos tie_within, const Style& style) {
  if (table.find(", a tie") == std::string::npos) return table;
  return table + Wrap(fmt::format("a tie: within {}, which modelled times may be wrong by (10% of "
                                  "computing, 20% of communication that is not hidden)\n",
                                  FormatNanos(tie_within)),
                      style);
}

}  // namespace

std::string RenderBaselines(const Plan& plan, Nanos tie_within, const Style& style) {
  if (plan.baselines.empty()) return "";
  constexpr size_t kMaxNames = 3;
  Table table({{"baseline"}, {"step time", kRight}, {"against this plan"}, {"runs on"}});
  for (const BaselineRow& row : FoldBaselines(plan.baselines)) {
    const Baseline& baseline = *row.first;
    table.AddRow(
        {FirstNames(row.algorithms, kMaxNames),
         FormatNanosLike(baseline.step_time, plan.step_time),
         {DescribeAgainst(plan.step_time, baseline.step_time, baseline.feasible, tie_within),
          baseline.feasible ? Tone::kPlain : Tone::kFaint},
         DescribeDevices(baseline.devices, plan.devices)});
  }
  return ExplainTies(table.Render(style), tie_within, style);
}

std::vector<std::array<std::string, 5>> StrategyRows(std::span<const StrategyResult> strategies,
                                                     Nanos beside, Nanos tie_within) {
  const bool simulated = std::any_of(strategies.begin(), strategies.end(),
                                     [](const StrategyResult& one) { return one.evaluated; });
  if (!simulated) return {};  // estimates decided that the step stays as it is
  std::vector<std::array<std::string, 5>> rows;
  for (const StrategyResult& one : strategies) {
    const bool possible = one.capacity.count > 0;
    std::string verdict = possible && !one.fits ? "does not fit" : one.why_not;
    if (possible && !one.evaluated) verdict += verdict.empty() ? "estimated" : ", estimated";
    if (verdict.empty() && one.step_time == beside) verdict = "this plan";
    if (verdict.empty()) verdict = DescribeAgainst(beside, one.step_time, one.fits, tie_within);
    rows.push_back({Describe(one.strategy),
                    possible ? FormatNanosLike(one.BestTime(), beside) : std::string(),
                    possible ? FormatBytesLike(one.memory, one.capacity) : std::string(),
                    possible ? FormatBytes(one.capacity) : std::string(), std::move(verdict)});
  }
  return rows;
}

std::string RenderStrategies(std::span<const StrategyResult> strategies, Nanos beside,
                             Nanos tie_within, const Style& style) {
  const std::vector<std::array<std::string, 5>> rows = StrategyRows(strategies, beside, tie_within);
  if (rows.empty()) return "";
  Table table({{"strategy"}, {"step time", kRight}, {"memory", kRight}, {"of", kRight}, {""}});
  for (size_t i = 0; i < rows.size(); ++i) {
    const StrategyResult& one = strategies[i];
    const auto& [name, time, memory, capacity, verdict] = rows[i];
    table.AddRow({name,
                  time,
                  memory,
                  capacity,
                  {verdict, one.fits && one.evaluated ? Tone::kPlain : Tone::kFaint}});
  }
  return ExplainTies(table.Render(style), tie_within, style);
}

}  // namespace placewright
