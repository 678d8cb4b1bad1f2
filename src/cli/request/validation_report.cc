#include "cli/request/validation_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace placewright {

Json ValidationJson(const std::vector<ValidatedPair>& pairs, const std::vector<Error>& errors,
                    bool interrupted) {
  const ValidationSummary summary = Summarise(pairs);
  Json object;
  object["schema"] = "placewright.validate/1";
  Json& list = object["pairs"] = Json::array();
  for (const ValidatedPair& pair : pairs) {
    Json devices = Json::array();
    for (const ValidatedPair::Device& device : pair.devices) {
      devices.push_back({{"name", device.name},
                         {"predicted_peak_bytes", device.predicted_peak.count},
                         {"measured_peak_bytes", device.measured_peak.count},
                         {"predicted_busy_ns", device.predicted_busy.count},
                         {"measured_busy_ns", device.measured_busy.count}});
    }
    Json classes = Json::object();
    for (const auto& [op_class, times] : pair.classes) {
      classes[std::string(ToString(op_class))] = {{"predicted_ns", times.predicted.count},
                                                  {"measured_ns", times.measured.count}};
    }
    list.push_back({{"graph", pair.graph},
                    {"plan", pair.plan},
                    {"workers", pair.workers},
                    {"predicted_ns", pair.predicted.count},
                    {"predicted_as_profiled_ns", pair.as_profiled.count},
                    {"measured_ns", pair.measured.count},
                    {"measured_p10_ns", pair.low.count},
                    {"measured_p90_ns", pair.high.count},
                    {"error", pair.Error()},
                    {"predicted_peak_bytes", pair.Fullest().predicted_peak.count},
                    {"measured_peak_bytes", pair.Fullest().measured_peak.count},
                    {"modelled", pair.share_modelled},
                    {"devices", std::move(devices)},
                    {"classes", std::move(classes)}});
  }
  object["median_error"] = summary.median;
  object["p90_error"] = summary.p90;
  object["as_profiled"] = {{"median_error", summary.profiled_median},
                           {"p90_error", summary.profiled_p90}};
  object["peak_error"] = {{"median", summary.peak_median}, {"max", summary.peak_max}};
  Json& ranks = object["rank_correlation"] = Json::array();
  Json& narrow = object["not_ranked"] = Json::array();
  for (const ValidationSummary::Rank& rank : summary.ranks) {
    (rank.judged() ? ranks : narrow)
        .push_back({{"graph", rank.graph},
                    {"value", rank.value},
                    {"pairs", rank.pairs},
                    {"span", rank.span}});
  }
  Json& failed = object["failed"] = Json::array();
  for (const Error& error : errors) failed.push_back(error.ToString());
  object["interrupted"] = interrupted;
  return object;
}

std::string ValidationText(const std::vector<ValidatedPair>& pairs, const Style& style) {
  using Align = Table::Align;
  if (pairs.empty()) return "Nothing was executed.\n";
  Table table({{"graph", Align::kLeft},
               {"plan", Align::kLeft},
               {"workers", Align::kRight},
               {"predicted", Align::kRight},
               {"measured", Align::kRight},
               {"error", Align::kRight},
               {"peak predicted", Align::kRight},
               {"measured", Align::kRight}});
  for (const ValidatedPair& pair : pairs) {
    const ValidatedPair::Device& fullest = pair.Fullest();
    table.AddRow({Printable(pair.graph, 40), Printable(pair.plan, 60),
                  fmt::format("{}", pair.workers), FormatNanosLike(pair.predicted, pair.measured),
                  FormatNanos(pair.measured),
                  fmt::format("{:+.1f}%", pair.predicted < pair.measured ? -100 * pair.Error()
                                                                         : 100 * pair.Error()),
                  FormatBytes(fullest.predicted_peak), FormatBytes(fullest.measured_peak)});
  }
  const ValidationSummary summary = Summarise(pairs);
  std::string text = table.Render(style);
  Table devices({{"graph", Align::kLeft},
                 {"plan", Align::kLeft},
                 {"device", Align::kLeft},
                 {"busy predicted", Align::kRight},
                 {"measured", Align::kRight},
                 {"peak predicted", Align::kRight},
                 {"measured", Align::kRight}});
  for (const ValidatedPair& pair : pairs) {
    for (const ValidatedPair::Device& device : pair.devices) {
      devices.AddRow({Printable(pair.graph, 40), Printable(pair.plan, 60),
                      Printable(device.name, 40),
                      FormatNanosLike(device.predicted_busy, device.measured_busy),
                      FormatNanos(device.measured_busy), FormatBytes(device.predicted_peak),
                      FormatBytes(device.measured_peak)});
    }
  }
  text += "\n" + devices.Render(style);
  const bool scaled = std::any_of(pairs.begin(), pairs.end(), [](const ValidatedPair& pair) {
    return pair.as_profiled != pair.predicted;
  });
  const std::string unscaled =
      scaled ? fmt::format(" ({} and {} unscaled, or as the plan says)",
                           FormatShare(summary.profiled_median), FormatShare(summary.profiled_p90))
             : "";
  text += fmt::format(
      "\nstep time    median error {}, a tenth above {}{}\npeak memory  median error {}, largest "
      "{} (the fullest device of each plan)\n",
      FormatShare(summary.median), FormatShare(summary.p90), unscaled,
      FormatShare(summary.peak_median), FormatShare(summary.peak_max));
  for (const ValidationSummary::Rank& rank : summary.ranks) {
    text += fmt::format("rank         {:.2f} over {} plans of {} (slowest over fastest {:.2f}{})\n",
                        rank.value, rank.pairs, Printable(rank.graph), rank.span,
                        rank.judged() ? "" : ": too alike to be judged");
  }
  Table classes({{"op class", Align::kLeft},
                 {"predicted", Align::kRight},
                 {"measured", Align::kRight},
                 {"measured / predicted", Align::kRight}});
  std::vector<std::pair<Nanos, OpClass>> order;
  for (const auto& [op_class, times] : summary.classes)
    order.emplace_back(times.measured, op_class);
  std::sort(order.rbegin(), order.rend());
  for (const auto& [time, op_class] : order) {
    const Nanos predicted = summary.classes.at(op_class).predicted;
    if (time.count == 0) continue;
    classes.AddRow(
        {std::string(ToString(op_class)), FormatNanos(predicted), FormatNanos(time),
         predicted.count > 0 ? fmt::format("{:.2f}", Seconds(time) / Seconds(predicted)) : ""});
  }
  return text + "\n" + classes.Render(style);
}

}  // namespace placewright
