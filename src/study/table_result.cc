#include "study/table_result.h"

#include <algorithm>
#include <cmath>

namespace placewright {
namespace {

constexpr double kClose = 1.02;  // of the target, for kSamples

CellResult SummarizeCell(const StudyModel& model, const StudyMethod& method, size_t model_index,
                         size_t method_index, const RunOf& run_of) {
  CellResult cell;
  const bool learned = method.kind == StudyMethod::Kind::kLearned;
  const int seeds = learned ? model.seeds : 1;
  cell.complete = true;
  bool all_fit = true;
  double logarithms = 0;
  for (int seed = 0; seed < seeds; ++seed) {
    const StudyRun* const run = run_of(model_index, method_index, static_cast<uint64_t>(seed));
    cell.runs.push_back(run);
    if (run == nullptr) {
      cell.complete = false;
      continue;
    }
    cell.best.push_back(run->BestWithin(model.samples));
    all_fit = all_fit && cell.best.back();
    if (cell.best.back()) logarithms += std::log(*cell.best.back());
    cell.samples = learned ? model.samples : 0;
  }
  if (!cell.best.empty() && all_fit) {
    cell.mean = std::exp(logarithms / static_cast<double>(cell.best.size()));
  }
  return cell;
}

ClaimResult SummarizeClaim(const StudyTable& table, const StudyClaim& claim,
                           const std::vector<std::vector<CellResult>>& cells) {
  const int64_t samples = table.models[claim.model].samples;
  const std::vector<const StudyRun*>& less = cells[claim.model][claim.less].runs;
  const std::vector<const StudyRun*>& more = cells[claim.model][claim.more].runs;
  std::vector<double> logarithms;
  for (size_t seed = 0; seed < std::min(less.size(), more.size()); ++seed) {
    if (less[seed] == nullptr || more[seed] == nullptr) continue;
    const std::optional<double> a = less[seed]->BestWithin(samples);
    const std::optional<double> b = more[seed]->BestWithin(samples);
    if (!a || !b) continue;
    const double target = std::max(*a, *b) * kClose;
    const auto first = Measured(*less[seed], claim.measure, samples, target);
    const auto second = Measured(*more[seed], claim.measure, samples, target);
    if (first && second && *first > 0 && *second > 0) {
      logarithms.push_back(std::log(*first / *second));
    }
  }
  return {CompareRatios(logarithms), Verdict::kUndecided, {}};
}

}  // namespace

std::optional<double> Measured(const StudyRun& run, StudyClaim::Measure measure, int64_t samples,
                               double target) {
  if (measure == StudyClaim::Measure::kBest) return run.BestWithin(samples);
  if (measure == StudyClaim::Measure::kSamples) {
    for (const CurvePoint& point : run.curve) {
      if (point.best && *point.best <= target) return static_cast<double>(point.samples);
    }
    return std::nullopt;
  }
  std::vector<double> changes;
  std::optional<double> before;
  for (const CurvePoint& point : run.curve) {
    if (point.samples > samples || !point.mean) continue;
    if (before && 2 * point.samples > samples) changes.push_back(std::log(*point.mean / *before));
    before = point.mean;
  }
  if (changes.empty()) return std::nullopt;
  double squares = 0;
  for (const double change : changes) squares += change * change;
  return std::sqrt(squares / static_cast<double>(changes.size()));
}

TableResult Summarize(const StudyTable& table, const RunOf& run_of) {
  TableResult result;
  for (size_t model = 0; model < table.models.size(); ++model) {
    std::vector<CellResult>& row = result.cells.emplace_back();
    for (size_t method = 0; method < table.methods.size(); ++method) {
      row.push_back(
          SummarizeCell(table.models[model], table.methods[method], model, method, run_of));
    }
  }
  std::vector<PairedRatio> ratios;
  for (const StudyClaim& claim : table.claims) {
    result.claims.push_back(SummarizeClaim(table, claim, result.cells));
    ratios.push_back(result.claims.back().ratio);
  }
  const std::vector<Verdict> verdicts = JudgeTogether(ratios);
  for (size_t i = 0; i < verdicts.size(); ++i) result.claims[i].verdict = verdicts[i];
  return result;
}

}  // namespace placewright
