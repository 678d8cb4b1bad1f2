#include "bench/harness/traversal/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include "bench/harness/traversal/guidelines.h"
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

std::string FormatP(double p) { return p < 0.001 ? "<0.001" : fmt::format("{:.3f}", p); }

std::string WinsOf(const TraversalFinding& finding, size_t order) {
  const std::string wins = fmt::format("{:.4g}", std::round(10 * finding.wins[order]) / 10);
  if (!finding.published) return wins;
  return fmt::format("{} ({})", wins, (*finding.published)[order]);
}

// The first cells of a row.
std::vector<std::string> WhereOf(const TraversalFinding& finding) {
  return {std::string(ToString(finding.family)), fmt::format("{}", finding.devices),
          fmt::format("{}", finding.episodes)};
}

// A table as text and as Markdown shows it.
struct Rows {
  std::vector<std::string> headings;
  std::vector<std::vector<std::string>> rows;
};

std::vector<std::string> WithOrders(std::vector<std::string> headings) {
  for (const TraversalOrder order : AllTraversalOrders()) headings.emplace_back(ToString(order));
  return headings;
}

Rows WinRows(const std::vector<TraversalFinding>& findings) {
  Rows table{WithOrders({"family", "devices", "episodes", "graphs x repeats"}), {}};
  table.headings.insert(table.headings.end(), {"p of all alike", "worst / best"});
  for (const TraversalFinding& finding : findings) {
    std::vector<std::string> row = WhereOf(finding);
    row.push_back(fmt::format("{} x {}", finding.graphs, finding.repeats));
    for (size_t order = 0; order < kTraversalOrders; ++order) row.push_back(WinsOf(finding, order));
    row.push_back(FormatP(finding.friedman_p));
    row.push_back(fmt::format("{:.3f}", finding.worst_to_best));
    table.rows.push_back(std::move(row));
  }
  return table;
}

// Ratios of mean steps with their p, of learned policies.
Rows ControlRows(const std::vector<TraversalFinding>& findings) {
  Rows table{WithOrders({"family", "devices", "episodes", "against", "graphs"}), {}};
  for (const TraversalFinding& finding : findings) {
    for (const ControlFinding& control : finding.controls) {
      if (control.graphs == 0) continue;
      std::vector<std::string> row = WhereOf(finding);
      row.emplace_back(ToString(control.control));
      row.push_back(fmt::format("{}", control.graphs));
      for (size_t order = 0; order < kTraversalOrders; ++order) {
        row.push_back(
            fmt::format("{:.3f} (p {})", control.ratio[order], FormatP(control.p[order])));
      }
      table.rows.push_back(std::move(row));
    }
  }
  return table;
}

constexpr std::array kLearned{TraversalPolicy::kPublished, TraversalPolicy::kImprovement};

// "0.987 of 10 graphs (p 0.012), holds".
std::string GuidelineText(const GuidelineFinding& finding) {
  if (finding.graphs == 0) return "to come";
  return fmt::format("{:.3f} of {} graphs (p {}), {}", finding.ratio, finding.graphs,
                     FormatP(finding.p), ToString(finding.verdict));
}

Rows GuidelineRows(const TraversalStore& store) {
  Rows table{{"guideline of the study: its orders' mean step over the others'"}, {}};
  for (const Guideline& guideline : Guidelines())
    table.rows.push_back({std::string(guideline.text)});
  for (const TraversalPolicy policy : kLearned) {
    table.headings.emplace_back(ToString(policy));
    const std::vector<GuidelineFinding> findings = JudgeGuidelines(store, policy);
    for (size_t i = 0; i < findings.size(); ++i) {
      table.rows[i].push_back(GuidelineText(findings[i]));
    }
  }
  return table;
}

Rows AdviceRows(const TraversalStore& store) {
  Rows table{{"advice for graphs like", "devices", "order", "mean step / best order",
              "of the worst", "graphs", "p"},
             {}};
  for (const FamilyAdvice& one : AdviseFamilies(store)) {
    const auto& of_orders = one.advice.to_best;
    table.rows.push_back(
        {std::string(ToString(one.family)), fmt::format("{}", one.devices),
         std::string(ToString(one.advice.order)),
         fmt::format("{:.3f}", *std::min_element(of_orders.begin(), of_orders.end())),
         fmt::format("{:.3f}", *std::max_element(of_orders.begin(), of_orders.end())),
         fmt::format("{}", one.advice.nearest.size()), FormatP(one.chance)});
  }
  return table;
}

std::string RenderRows(const Rows& rows, const Style& style) {
  std::vector<Table::Column> columns;
  for (const std::string& heading : rows.headings) {
    const bool word = columns.empty() || heading == "against" || heading == "order" ||
                      heading == ToString(TraversalPolicy::kPublished) ||
                      heading == ToString(TraversalPolicy::kImprovement);
    columns.push_back({heading, word ? Table::Align::kLeft : Table::Align::kRight});
  }
  Table table(columns);
  for (const std::vector<std::string>& row : rows.rows) table.AddRow({row.begin(), row.end()});
  return table.Render(style);
}

std::string MarkdownRows(const Rows& rows) {
  std::string text, line = "|";
  for (const std::string& heading : rows.headings) {
    text += "| " + heading + " ";
    line += "---|";
  }
  text += "|\n" + line + "\n";
  for (const std::vector<std::string>& row : rows.rows) {
    for (const std::string& cell : row) text += "| " + cell + " ";
    text += "|\n";
  }
  return text;
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
  for (const TraversalFinding& finding : FindTraversalResults(store, policy)) {
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
  const std::vector<TraversalFinding> findings = FindTraversalResults(store, policy);
  std::string text =
      Paint(fmt::format("{} ({})", ToString(policy), TitleOf(policy)), Tone::kStrong, style) + "\n";
  if (findings.empty()) return text + "no runs\n";
  text += RenderRows(WinRows(findings), style);
  const Rows controls = ControlRows(findings);
  return controls.rows.empty() ? text : text + "\n" + RenderRows(controls, style);
}

std::string TraversalMarkdown(const TraversalStore& store, TraversalPolicy policy) {
  const std::vector<TraversalFinding> findings = FindTraversalResults(store, policy);
  std::string text = fmt::format("**{}**: {}\n\n", ToString(policy), TitleOf(policy));
  text += MarkdownRows(WinRows(findings));
  const Rows controls = ControlRows(findings);
  return controls.rows.empty() ? text : text + "\n" + MarkdownRows(controls);
}

std::string RenderGuidelines(const TraversalStore& store, const Style& style) {
  if (store.chunks().empty()) return "";
  const Rows advice = AdviceRows(store);
  return RenderRows(GuidelineRows(store), style) +
         (advice.rows.empty() ? "" : "\n" + RenderRows(advice, style));
}

std::string GuidelinesMarkdown(const TraversalStore& store) {
  if (store.chunks().empty()) return "";
  const Rows advice = AdviceRows(store);
  return MarkdownRows(GuidelineRows(store)) +
         (advice.rows.empty() ? "" : "\n" + MarkdownRows(advice));
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
    for (const TraversalFinding& finding : FindTraversalResults(store, policy)) {
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
      Json& controls = object["controls"] = Json::array();
      for (const ControlFinding& control : finding.controls) {
        controls.push_back({{"control", std::string(ToString(control.control))},
                            {"graphs", control.graphs},
                            {"ratio", control.ratio},
                            {"p", control.p}});
      }
    }
  }
  Json& guidelines = json["guidelines"] = Json::array();
  for (const TraversalPolicy policy : kLearned) {
    const std::vector<GuidelineFinding> judged = JudgeGuidelines(store, policy);
    for (size_t i = 0; i < judged.size(); ++i) {
      guidelines.push_back({{"guideline", std::string(Guidelines()[i].text)},
                            {"policy", std::string(ToString(policy))},
                            {"graphs", judged[i].graphs},
                            {"ratio", judged[i].ratio},
                            {"p", judged[i].p},
                            {"verdict", std::string(ToString(judged[i].verdict))}});
    }
  }
  Json& advice = json["advice"] = Json::array();
  for (const FamilyAdvice& one : AdviseFamilies(store)) {
    advice.push_back({{"family", std::string(ToString(one.family))},
                      {"devices", one.devices},
                      {"order", std::string(ToString(one.advice.order))},
                      {"to_best", one.advice.to_best},
                      {"graphs", one.advice.nearest.size()},
                      {"p", one.chance}});
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
