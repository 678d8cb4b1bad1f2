#include "bench/harness/tables/table_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "report/chart.h"

namespace placewright {
namespace {

// In what the table's cells show.
std::string NumberText(const StudyTable& table, double number) {
  using enum StudyTable::Cells;
  switch (table.cells) {
    case kMovesToFaster: return fmt::format("{:.1f}", number);
    case kSecondsToPlan: return fmt::format("{:.3g}", number);
    case kSteps:
    case kTimesFaster:
    case kFigures: break;
  }
  const bool small = table.cells == kSteps && number < 0.1;
  return small ? fmt::format("{:.4f}", number) : fmt::format("{:.3f}", number);
}

constexpr const char* kUnits[] = {"seconds", "moves", "times faster", "seconds to a plan",
                                  "figures"};

std::string PublishedText(const StudyTable& table, size_t model, size_t method) {
  if (model >= table.published.size()) return "";
  const std::optional<double>& seconds = table.published[model][method];
  if (!seconds) return "";
  if (*seconds < 0) return "OOM";
  return table.cells == StudyTable::Cells::kMovesToFaster ? NumberText(table, *seconds)
                                                          : fmt::format("{:.3f}", *seconds);
}

std::string OursText(const StudyTable& table, const StudyMethod& method, const CellResult& cell) {
  if (cell.runs.empty()) return "";
  const bool moves = table.cells == StudyTable::Cells::kMovesToFaster;
  if (moves && &method == &table.methods[table.base]) return "";
  if (cell.best.empty()) return "to come";
  if (moves && cell.mean) {
    return fmt::format("{}, median {:.0f}, {} of {}{}", NumberText(table, *cell.mean), cell.median,
                       cell.solved, cell.best.size(), cell.complete ? "" : " so far");
  }
  const std::string best = cell.mean ? NumberText(table, *cell.mean) : "OOM";
  if (!method.IsSeeded()) return best;
  const bool interval = cell.mean && cell.best.size() > 1;
  return fmt::format(
      "{}{} (n={}{}{})", best,
      interval ? fmt::format(" [{}, {}]", NumberText(table, cell.low), NumberText(table, cell.high))
               : "",
      cell.best.size(), cell.complete ? "" : fmt::format(" of {}", cell.runs.size()),
      method.before.empty() || method.shows == StudyMethod::Shows::kBefore
          ? ""
          : fmt::format(", {} placements", cell.samples + 1 + (method.likeliest_first ? 1 : 0)));
}

// Hours of a run of a cell on average: what its samples would take on real machines, and what its planner took here.
struct Hours {
  double modelled = 0, planner = 0;
};
std::optional<Hours> HoursOf(const CellResult& cell) {
  Hours hours;
  int runs = 0;
  for (const StudyRun* run : cell.runs) {
    if (run == nullptr || run->samples == 0) continue;
    const double part =
        std::min(1.0, static_cast<double>(cell.samples) / static_cast<double>(run->samples));
    hours.modelled += part * run->environment_seconds / 3600;
    hours.planner += part * (run->seconds - run->evaluating) / 3600;
    ++runs;
  }
  if (runs == 0) return std::nullopt;
  return Hours{hours.modelled / runs, hours.planner / runs};
}

std::string RatioText(const ClaimResult& claim) {
  const PairedRatio& ratio = claim.ratio;
  if (ratio.n == 0) return "-";
  if (ratio.n == 1) return fmt::format("{:.3f}", ratio.ratio);
  return fmt::format("{:.3f} [{:.3f}, {:.3f}]", ratio.ratio, ratio.low, ratio.high);
}

std::string CountText(const ClaimResult& claim) {
  std::string text = fmt::to_string(claim.ratio.n);
  if (claim.censored > 0) text += fmt::format(", {} never", claim.censored);
  if (claim.misfits > 0) text += fmt::format(", {} without a fit", claim.misfits);
  return text;
}

// Under perturbed costs.
std::string HoldsText(const ClaimResult& claim) {
  return claim.holds ? fmt::format("{:.0f}%", 100 * *claim.holds) : "";
}

bool IsRescored(const TableResult& result) {
  return std::any_of(result.claims.begin(), result.claims.end(),
                     [](const ClaimResult& claim) { return claim.holds.has_value(); });
}

constexpr const char* kMeasures[] = {"best step",
                                     "samples needed",
                                     "spread",
                                     "samples to the other's best",
                                     "seconds to the other's best",
                                     "what cells show"};

// Claims with their measures, ratios and verdicts, and how often their order holds where that is
// known.
std::vector<std::string> ClaimHeader(const TableResult& result) {
  std::vector<std::string> header = {"claim", "measure", "n", "ratio [95%]", "verdict"};
  if (IsRescored(result)) header.emplace_back("same order");
  return header;
}

std::vector<std::vector<std::string>> ClaimRows(const StudyTable& table,
                                                const TableResult& result) {
  std::vector<std::vector<std::string>> rows;
  for (size_t i = 0; i < table.claims.size(); ++i) {
    const ClaimResult& claim = result.claims[i];
    rows.push_back({table.claims[i].text, kMeasures[static_cast<size_t>(table.claims[i].measure)],
                    CountText(claim), RatioText(claim), std::string(ToString(claim.verdict))});
    if (IsRescored(result)) rows.back().push_back(HoldsText(claim));
  }
  return rows;
}

// "12.1 times by samples, 3.40 by seconds (n=2, 1 never)".
std::string SpeedUpText(const SpeedUpResult& speed_up) {
  const std::string never = speed_up.never > 0 ? fmt::format(", {} never", speed_up.never) : "";
  if (speed_up.n == 0) return speed_up.never > 0 ? fmt::format("(n=0{})", never) : "to come";
  return fmt::format("{:.3g} times by samples, {:.3g} by seconds (n={}{})", speed_up.samples,
                     speed_up.seconds, speed_up.n, never);
}

// Both forms of the text show the same rows.
std::vector<std::vector<std::string>> ResultRows(const StudyTable& table,
                                                 const TableResult& result) {
  std::vector<std::vector<std::string>> rows;
  for (size_t model = 0; model < table.models.size(); ++model) {
    const StudyModel& of_model = table.models[model];
    std::vector<std::string> ours = {of_model.label, "ours"}, longer = {"", ""},
                             theirs = {"", "published"}, hours = {"", "hours: modelled + planner"},
                             invalid = {"", "samples that do not fit"};
    bool any_published = false, any_hours = false, any_invalid = false;
    for (size_t method = 0; method < table.methods.size(); ++method) {
      const CellResult& cell = result.cells[model][method];
      ours.push_back(OursText(table, table.methods[method], cell));
      longer.push_back(cell.longer ? NumberText(table, *cell.longer) : "");
      if (cell.longer) longer[1] = fmt::format("ours, {} samples (n=1)", cell.longer_samples);
      theirs.push_back(PublishedText(table, model, method));
      any_published = any_published || !theirs.back().empty();
      const bool learned = table.methods[method].kind == StudyMethod::Kind::kLearned;
      const std::optional<Hours> h = learned ? HoursOf(cell) : std::nullopt;
      hours.push_back(h ? fmt::format("{:.2f} + {:.2f}", h->modelled, h->planner) : "");
      any_hours = any_hours || h;
      invalid.push_back(cell.invalid ? fmt::format("{:.0f}%", 100 * *cell.invalid) : "");
      any_invalid = any_invalid || cell.invalid;
    }
    rows.push_back(std::move(ours));
    if (!longer[1].empty()) rows.push_back(std::move(longer));
    if (!of_model.published.empty()) {
      std::vector<std::string> said = {"", "published"};
      said.resize(2 + table.methods.size());
      said[2] = of_model.published;
      rows.push_back(std::move(said));
    }
    if (any_published) rows.push_back(std::move(theirs));
    if (any_invalid) rows.push_back(std::move(invalid));
    if (any_hours) rows.push_back(std::move(hours));
    if (!table.speed_up) continue;
    const auto& [less, more, faster] = *table.speed_up;
    std::vector<std::string> sooner = {
        "", fmt::format("at {}'s best sooner", table.methods[more].label)};
    sooner.resize(2 + table.methods.size());
    sooner[2 + less] = SpeedUpText(result.speed_ups[model]);
    sooner[2 + more] = fmt::format("published: {:g} times", faster[model]);
    rows.push_back(std::move(sooner));
  }
  return rows;
}

std::vector<std::string> Header(const StudyTable& table) {
  std::vector<std::string> header = {"model", kUnits[static_cast<size_t>(table.cells)]};
  for (const StudyMethod& method : table.methods) header.push_back(method.label);
  return header;
}

std::string MarkdownLine(const std::vector<std::string>& cells) {
  std::string line = "|";
  for (const std::string& cell : cells) line += " " + cell + " |";
  return line + "\n";
}

std::string MarkdownRule(size_t columns) {
  std::string line = "|";
  for (size_t i = 0; i < columns; ++i) line += "---|";
  return line + "\n";
}

}  // namespace

std::string RenderTable(const StudyTable& table, const TableResult& result, const Style& style) {
  std::vector<Table::Column> columns;
  for (const std::string& title : Header(table)) {
    columns.push_back({title, columns.size() < 2 ? Table::Align::kLeft : Table::Align::kRight});
  }
  Table results(std::move(columns));
  for (const std::vector<std::string>& row : ResultRows(table, result)) {
    results.AddRow({row.begin(), row.end()});
  }
  std::vector<Table::Column> claim_columns;
  for (const std::string& title : ClaimHeader(result)) {
    const bool number = title == "n" || title == "ratio [95%]" || title == "same order";
    claim_columns.push_back({title, number ? Table::Align::kRight : Table::Align::kLeft});
  }
  Table claims(std::move(claim_columns));
  for (const std::vector<std::string>& row : ClaimRows(table, result)) {
    claims.AddRow({row.begin(), row.end()});
  }
  return fmt::format("{}{}\n{}{}", table.title,
                     table.cluster.empty() ? "" : fmt::format(" (on {})", table.cluster),
                     results.Render(style),
                     table.claims.empty() ? "" : "\n" + claims.Render(style));
}

std::string MarkdownOf(const StudyTable& table, const TableResult& result) {
  std::string text = fmt::format("### {}\n\n", table.title);
  const std::vector<std::string> header = Header(table);
  text += MarkdownLine(header) + MarkdownRule(header.size());
  for (const std::vector<std::string>& row : ResultRows(table, result)) text += MarkdownLine(row);
  if (table.claims.empty()) return text;
  const std::vector<std::string> of_claims = ClaimHeader(result);
  text += "\n" + MarkdownLine(of_claims) + MarkdownRule(of_claims.size());
  for (const std::vector<std::string>& row : ClaimRows(table, result)) text += MarkdownLine(row);
  return text;
}

// Of what cells show.
constexpr const char* kFields[] = {"seconds", "moves", "times_faster", "seconds_to_plan", "figure"};

Json JsonOf(const StudyTable& table, const TableResult& result) {
  const auto or_null = [](const std::optional<double>& value) {
    return value ? Json(*value) : Json();
  };
  Json object;
  object["schema"] = "placewright.bench-seeds/1";
  object["table"] = table.name;
  object["title"] = table.title;
  object["cluster"] = table.cluster;
  Json& cells = object["cells"] = Json::array();
  for (size_t model = 0; model < table.models.size(); ++model) {
    for (size_t method = 0; method < table.methods.size(); ++method) {
      const CellResult& cell = result.cells[model][method];
      Json& out = cells.emplace_back();
      out["model"] = table.models[model].label;
      out["graph"] = table.models[model].graph;
      out["cluster"] = table.ClusterOf(model);
      out["said"] = table.models[model].published;
      out["method"] = table.methods[method].label;
      out["samples"] = cell.samples;
      out["n"] = cell.best.size();
      out["complete"] = cell.complete;
      out[kFields[static_cast<size_t>(table.cells)]] = or_null(cell.mean);
      if (table.cells == StudyTable::Cells::kMovesToFaster) {
        out["median"] = cell.median;
        out["solved"] = cell.solved;
      }
      out["best_known"] = or_null(result.best_known[model]);
      Json& best = out["best"] = Json::array();
      for (const std::optional<double>& one : cell.best) best.push_back(or_null(one));
      out["low"] = cell.mean && cell.best.size() > 1 ? Json(cell.low) : Json();
      out["high"] = cell.mean && cell.best.size() > 1 ? Json(cell.high) : Json();
      out["invalid"] = or_null(cell.invalid);
      out["longer"] = or_null(cell.longer);
      out["longer_samples"] = cell.longer ? Json(cell.longer_samples) : Json();
      const std::optional<Hours> hours = HoursOf(cell);
      out["modelled_hours"] = hours ? Json(hours->modelled) : Json();
      out["planner_hours"] = hours ? Json(hours->planner) : Json();
      const bool known = model < table.published.size();
      const std::optional<double> published =
          known ? table.published[model][method] : std::optional<double>();
      out["published"] = !published       ? Json()
                         : *published < 0 ? Json("out of memory")
                                          : Json(*published);
    }
  }
  if (table.speed_up) {
    Json& speed_ups = object["speed_ups"] = Json::array();
    for (size_t model = 0; model < table.models.size(); ++model) {
      const SpeedUpResult& of_model = result.speed_ups[model];
      Json& out = speed_ups.emplace_back();
      out["model"] = table.models[model].label;
      out["method"] = table.methods[table.speed_up->less].label;
      out["against"] = table.methods[table.speed_up->more].label;
      out["n"] = of_model.n;
      out["never"] = of_model.never;
      out["samples"] = of_model.n > 0 ? Json(of_model.samples) : Json();
      out["seconds"] = of_model.n > 0 ? Json(of_model.seconds) : Json();
      out["published"] = table.speed_up->published[model];
    }
  }
  Json& claims = object["claims"] = Json::array();
  for (size_t i = 0; i < table.claims.size(); ++i) {
    const ClaimResult& claim = result.claims[i];
    Json& out = claims.emplace_back();
    out["claim"] = table.claims[i].text;
    out["measure"] = kMeasures[static_cast<size_t>(table.claims[i].measure)];
    out["n"] = claim.ratio.n;
    out["censored"] = claim.censored;
    out["misfits"] = claim.misfits;
    out["ratio"] = claim.ratio.n > 0 ? Json(claim.ratio.ratio) : Json();
    out["low"] = claim.ratio.n > 1 ? Json(claim.ratio.low) : Json();
    out["high"] = claim.ratio.n > 1 ? Json(claim.ratio.high) : Json();
    out["p"] = claim.ratio.n > 1 ? Json(claim.ratio.p) : Json();
    out["margin"] = table.claims[i].margin;
    out["verdict"] = ToString(claim.verdict);
    out["same_order"] = or_null(claim.holds);
  }
  return object;
}

namespace {

using Points = std::vector<std::pair<double, double>>;  // samples, seconds
struct Curves {
  std::string label;
  std::vector<Points> of_runs;
};

}  // namespace

std::string DrawCurves(const StudyTable& table, const TableResult& result, size_t model) {
  constexpr double kTooLong = 20;  // seconds, as the papers leave out
  std::vector<Curves> methods;
  double last = 1, highest = 0;
  for (size_t method = 0; method < table.methods.size(); ++method) {
    Curves curves{table.methods[method].label, {}};
    for (const StudyRun* const run : result.cells[model][method].runs) {
      if (run == nullptr || run->samples == 0) continue;
      Points& points = curves.of_runs.emplace_back();
      for (const CurvePoint& point : run->curve) {
        if (!point.mean || *point.mean > kTooLong) continue;
        points.emplace_back(static_cast<double>(point.samples), *point.mean);
        last = std::max(last, static_cast<double>(point.samples));
        highest = std::max(highest, *point.mean);
      }
    }
    if (!curves.of_runs.empty()) methods.push_back(std::move(curves));
  }
  if (methods.empty() || highest <= 0) return "";
  Chart chart({table.models[model].label + ": " + table.title, "placements sampled",
               "mean simulated step of a policy, s", last, highest});
  chart.NumberX();
  for (const Curves& curves : methods) {
    const size_t series = chart.AddSeries(curves.label);
    for (const Points& points : curves.of_runs) chart.AddCurve(series, points);
  }
  return std::move(chart).Finish();
}

}  // namespace placewright
