#include "cli/request/profile_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace placewright {

namespace {

Json TimesJson(const std::vector<TransferSample>& times) {
  Json sizes = Json::array();
  for (const TransferSample& time : times) {
    sizes.push_back(
        {{"bytes", time.bytes.count}, {"time_ns", time.median.count}, {"runs", time.runs}});
  }
  return sizes;
}

Json SegmentsJson(const std::vector<TransferSegment>& lines) {
  Json segments = Json::array();
  for (const TransferSegment& segment : lines) {
    segments.push_back({{"from_bytes", segment.from.count},
                        {"latency_ns", segment.latency.count},
                        {"bandwidth", segment.bandwidth.count}});
  }
  return segments;
}

std::string NameOf(const ProfiledExchange& exchange) {
  return std::string(exchange.collective ? ToString(*exchange.collective) : "transfer");
}

std::string ExchangesText(const ProfileOutcome& outcome, const Style& style) {
  using Align = Table::Align;
  Table table({{"between ranks", Align::kLeft},
               {"devices", Align::kRight},
               {"from size", Align::kRight},
               {"latency", Align::kRight},
               {"bandwidth", Align::kRight}});
  for (const ProfiledExchange& exchange : outcome.exchanges) {
    for (const TransferSegment& segment : exchange.segments) {
      table.AddRow({NameOf(exchange), fmt::format("{}", exchange.devices.size()),
                    FormatBytes(segment.from), FormatNanos(segment.latency),
                    FormatBandwidth(segment.bandwidth)});
    }
  }
  std::string text =
      outcome.from_logs
          ? fmt::format("{} read, stored in {}\n\n",
                        CountOf(static_cast<int64_t>(outcome.exchanges.size()), "log"),
                        Printable(outcome.store, 400))
          : fmt::format("{} exchanges between {} ranks measured in {:.1f} s, stored in {}\n\n",
                        outcome.exchanges.size(), outcome.ranks, outcome.seconds,
                        Printable(outcome.store, 400));
  text += table.Render(style);
  text += "Bandwidths of collectives are of the whole tensor.\n";
  if (outcome.interrupted) text += "Interrupted: this is what was measured until then.\n";
  return text;
}

}  // namespace

double ProfileOutcome::Covered() const {
  double covered = profiled.empty() ? 0 : 1;
  for (const ProfiledStep& one : profiled) covered = std::min(covered, one.covered);
  return covered;
}

Json ProfileJson(const ProfileOutcome& outcome) {
  Json object;
  object["schema"] = "placewright.profile/1";
  object["graph"] = outcome.graph;
  object["signatures"] = outcome.wanted.size();
  object["measured"] = outcome.signatures.size();
  object["rows"] = outcome.measured;
  object["coverage"] = outcome.Covered();
  object["seconds"] = outcome.seconds;
  object["store"] = outcome.store;
  object["libtorch"] = outcome.libtorch;
  object["blas"] = outcome.blas;
  Json& steps = object["steps"] = Json::array();
  for (const ProfiledStep& one : outcome.profiled) {
    Json classes = Json::object();
    for (const auto& [op_class, share] : one.share)
      classes[std::string(ToString(op_class))] = share;
    steps.push_back({{"kind", one.kind},
                     {"cores", one.cores},
                     {"loaded", one.loaded},
                     {"batch", one.batch},
                     {"steps", one.steps},
                     {"step_time_ns", one.step.count},
                     {"coverage", one.covered},
                     {"stable", one.stable},
                     {"classes", std::move(classes)}});
  }
  Json& transfers = object["transfers"] = Json::array();
  for (const ProfiledPair& pair : outcome.pairs) {
    transfers.push_back({{"from", pair.from},
                         {"to", pair.to},
                         {"sizes", TimesJson(pair.times)},
                         {"segments", SegmentsJson(pair.segments)}});
  }
  object["ranks"] = outcome.ranks;
  Json& collectives = object["collectives"] = Json::array();
  for (const ProfiledExchange& exchange : outcome.exchanges) {
    collectives.push_back({{"collective", NameOf(exchange)},
                           {"devices", exchange.devices},
                           {"key", exchange.key},
                           {"sizes", TimesJson(exchange.times)},
                           {"segments", SegmentsJson(exchange.segments)}});
  }
  object["not_measured"] = outcome.left_out;
  object["interrupted"] = outcome.interrupted;
  return object;
}

std::string ProfileText(const ProfileOutcome& outcome, const Style& style) {
  using Align = Table::Align;
  if (outcome.ranks > 1 || outcome.from_logs) return ExchangesText(outcome, style);
  std::string text = fmt::format("{}: {} op signatures measured in {:.1f} s, stored in {}\n",
                                 Printable(outcome.graph), outcome.signatures.size(),
                                 outcome.seconds, Printable(outcome.store, 400));
  Table steps({{"device kind", Align::kLeft},
               {"batch", Align::kRight},
               {"steps", Align::kRight},
               {"step", Align::kRight},
               {"in ops", Align::kRight},
               {"most time in", Align::kLeft}});
  for (const ProfiledStep& one : outcome.profiled) {
    std::vector<std::pair<double, OpClass>> classes;
    for (const auto& [op_class, share] : one.share) classes.emplace_back(share, op_class);
    std::sort(classes.rbegin(), classes.rend());
    std::string most;
    for (size_t i = 0; i < std::min<size_t>(3, classes.size()); ++i) {
      most += fmt::format("{}{} {}", i > 0 ? ", " : "", ToString(classes[i].second),
                          FormatShare(classes[i].first));
    }
    steps.AddRow({Printable(one.kind) + (one.loaded ? ", others at work" : ""),
                  fmt::format("{}", one.batch), fmt::format("{}", one.steps), FormatNanos(one.step),
                  FormatShare(one.covered), most});
  }
  text += "\n" + steps.Render(style);
  if (!outcome.profiled.empty()) {
    text += "The rest of a step is the executor's, between its ops.\n";
  }
  constexpr double kEnough = 0.98;
  if (!outcome.profiled.empty() && outcome.Covered() < kEnough) {
    text += "Of such small ops the executor's share is large, and no plan's time has it.\n";
  }
  const bool stable = std::all_of(outcome.profiled.begin(), outcome.profiled.end(),
                                  [](const ProfiledStep& one) { return one.stable; });
  if (!stable) {
    text += "Medians still changed when --steps or --time ended it: give more of both.\n";
  }
  if (!outcome.pairs.empty()) {
    Table pairs({{"from", Align::kLeft},
                 {"to", Align::kLeft},
                 {"from size", Align::kRight},
                 {"latency", Align::kRight},
                 {"bandwidth", Align::kRight}});
    for (const ProfiledPair& pair : outcome.pairs) {
      for (const TransferSegment& segment : pair.segments) {
        pairs.AddRow({Printable(pair.from), Printable(pair.to), FormatBytes(segment.from),
                      FormatNanos(segment.latency), FormatBandwidth(segment.bandwidth)});
      }
    }
    text += "\n" + pairs.Render(style);
  }
  if (!outcome.left_out.empty()) {
    text += fmt::format("Not on this machine, and not measured: {}\n",
                        fmt::join(outcome.left_out, ", "));
  }
  if (outcome.interrupted) text += "Interrupted: this is what was measured until then.\n";
  return text;
}

}  // namespace placewright
