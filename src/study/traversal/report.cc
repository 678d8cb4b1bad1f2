#include "study/traversal/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "report/chart.h"

namespace placewright {
namespace {

std::string TitleOf(TraversalPolicy policy) {
  switch (policy) {
    case TraversalPolicy::kPublished: return "as published: rewarded for slower steps";
    case TraversalPolicy::kImprovement: return "rewarded for faster steps, as Placeto is";
    case TraversalPolicy::kUniform: return "a control: devices drawn uniformly";
    case TraversalPolicy::kUntrained: return "a control: the first network, which learns nothing";
  }
  return "";
}

bool IsLearned(TraversalPolicy policy) {
  return policy == TraversalPolicy::kPublished || policy == TraversalPolicy::kImprovement;
}

std::string FormatP(double p) { return p < 0.001 ? "<0.001" : fmt::format("{:.3f}", p); }

std::string WinsOf(const TraversalFinding& finding, size_t order) {
  const std::string wins = fmt::format("{:.4g}", std::round(10 * finding.wins[order]) / 10);
  if (!finding.published) return wins;
  return fmt::format("{} ({})", wins, (*finding.published)[order]);
}

std::vector<std::string> RowOf(const TraversalFinding& finding, bool controlled) {
  std::vector<std::string> row = {
      std::string(ToString(finding.family)), fmt::format("{}", finding.devices),
      fmt::format("{}", finding.episodes), fmt::format("{} x {}", finding.graphs, finding.repeats)};
  for (size_t order = 0; order < kTraversalOrders; ++order) row.push_back(WinsOf(finding, order));
  row.push_back(FormatP(finding.friedman_p));
  row.push_back(fmt::format("{:.3f}", finding.worst_to_best));
  if (controlled) {
    const auto best = std::min_element(finding.to_control.begin(), finding.to_control.end());
    const auto order = static_cast<size_t>(best - finding.to_control.begin());
    row.push_back(finding.controlled == 0 ? "-"
                                          : fmt::format("{:.3f} {} (p {})", *best,
                                                        ToString(AllTraversalOrders()[order]),
                                                        FormatP(finding.control_p[order])));
  }
  return row;
}

std::vector<std::string> Headings(bool controlled) {
  std::vector<std::string> headings = {"family", "devices", "episodes", "graphs x repeats"};
  for (const TraversalOrder order : AllTraversalOrders()) headings.emplace_back(ToString(order));
  headings.emplace_back("p of all alike");
  headings.emplace_back("worst / best");
  if (controlled) headings.emplace_back("best to untrained");
  return headings;
}

// Percent of all wins of the family after so many episodes, by order; nothing without any.
struct WinShares {
  std::optional<PerOrder> ours, published;
};

std::optional<PerOrder> SharesOf(PerOrder wins) {
  const double all = std::accumulate(wins.begin(), wins.end(), 0.0);
  if (all <= 0) return std::nullopt;
  for (double& share : wins) share *= 100 / all;
  return wins;
}

WinShares WinSharesOf(const TraversalStore& store, TraversalPolicy policy, GraphFamily family,
                      int64_t episodes) {
  PerOrder ours{}, published{};
  for (const TraversalFinding& finding :
       FindTraversalResults(store, policy, TraversalPolicy::kUntrained)) {
    if (finding.family != family || finding.episodes != episodes) continue;
    for (size_t order = 0; order < kTraversalOrders; ++order) {
      ours[order] += finding.wins[order];
      if (finding.published) published[order] += (*finding.published)[order];
    }
  }
  return {SharesOf(ours), SharesOf(published)};
}

}  // namespace

std::string RenderTraversal(const TraversalStore& store, TraversalPolicy policy,
                            const Style& style) {
  const bool controlled = IsLearned(policy);
  const std::vector<TraversalFinding> findings =
      FindTraversalResults(store, policy, TraversalPolicy::kUntrained);
  std::string text =
      Paint(fmt::format("{} ({})", ToString(policy), TitleOf(policy)), Tone::kStrong, style) + "\n";
  if (findings.empty()) return text + "no runs\n";
  std::vector<Table::Column> columns;
  for (std::string& heading : Headings(controlled)) {
    columns.push_back(
        {std::move(heading), columns.empty() ? Table::Align::kLeft : Table::Align::kRight});
  }
  Table table(columns);
  for (const TraversalFinding& finding : findings) {
    std::vector<Table::Cell> row;
    for (std::string& cell : RowOf(finding, controlled)) row.emplace_back(std::move(cell));
    table.AddRow(std::move(row));
  }
  return text + table.Render(style);
}

std::string TraversalMarkdown(const TraversalStore& store, TraversalPolicy policy) {
  const bool controlled = IsLearned(policy);
  std::string text = fmt::format("**{}**: {}\n\n", ToString(policy), TitleOf(policy)), line = "|";
  for (const std::string& heading : Headings(controlled)) {
    text += "| " + heading + " ";
    line += "---|";
  }
  text += "|\n" + line + "\n";
  for (const TraversalFinding& finding :
       FindTraversalResults(store, policy, TraversalPolicy::kUntrained)) {
    for (const std::string& cell : RowOf(finding, controlled)) text += "| " + cell + " ";
    text += "|\n";
  }
  return text;
}

Json TraversalJson(const TraversalStore& store) {
  Json json;
  json["schema"] = "placewright.bench-traversal/1";
  Json& orders = json["orders"] = Json::array();
  for (const TraversalOrder order : AllTraversalOrders()) {
    orders.push_back(std::string(ToString(order)));
  }
  Json& findings = json["findings"] = Json::array();
  for (const TraversalPolicy policy : AllTraversalPolicies()) {
    for (const TraversalFinding& finding :
         FindTraversalResults(store, policy, TraversalPolicy::kUntrained)) {
      Json& object = findings.emplace_back();
      object["policy"] = std::string(ToString(policy));
      object["family"] = std::string(ToString(finding.family));
      object["devices"] = finding.devices;
      object["episodes"] = finding.episodes;
      object["graphs"] = finding.graphs;
      object["repeats"] = finding.repeats;
      object["wins"] = finding.wins;
      object["published_wins"] = finding.published ? Json(*finding.published) : Json();
      object["friedman_p"] = finding.friedman_p;
      object["worst_to_best"] = finding.worst_to_best;
      object["controlled_graphs"] = finding.controlled;
      object["to_control"] = finding.to_control;
      object["control_p"] = finding.control_p;
    }
  }
  return json;
}

std::string DrawTraversal(const TraversalStore& store, GraphFamily family, int64_t episodes) {
  std::vector<std::pair<std::string, PerOrder>> series;
  for (const TraversalPolicy policy : AllTraversalPolicies()) {
    const WinShares shares = WinSharesOf(store, policy, family, episodes);
    if (series.empty() && shares.published) series.emplace_back("in the paper", *shares.published);
    if (shares.ours) series.emplace_back(ToString(policy), *shares.ours);
  }
  const bool any = std::any_of(series.begin(), series.end(),
                               [](const auto& one) { return one.first != "in the paper"; });
  if (!any) return "";
  double highest = 0;
  for (const auto& [name, shares] : series) {
    highest = std::max(highest, *std::max_element(shares.begin(), shares.end()));
  }
  Chart chart({fmt::format("{}: orders that win after {} episodes", ToString(family), episodes),
               "order of visits", "wins, %", static_cast<double>(kTraversalOrders), highest});
  for (size_t order = 0; order < kTraversalOrders; ++order) {
    chart.NameX(static_cast<double>(order) + 0.5, ToString(AllTraversalOrders()[order]));
  }
  const double width = 0.8 / static_cast<double>(series.size());
  for (size_t i = 0; i < series.size(); ++i) {
    const size_t number = chart.AddSeries(series[i].first);
    for (size_t order = 0; order < kTraversalOrders; ++order) {
      const double from = static_cast<double>(order) + 0.1 + static_cast<double>(i) * width;
      chart.AddBar(number, from, from + width, series[i].second[order]);
    }
  }
  return std::move(chart).Finish();
}

}  // namespace placewright
