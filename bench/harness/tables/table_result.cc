#include "bench/harness/tables/table_result.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace placewright {
namespace {

constexpr double kClose = 1.02;  // of the target, for kSamples

int64_t SamplesOf(const StudyModel& model, const StudyMethod& method) {
  using enum StudyMethod::Shows;
  if (method.shows == kLikeliest) return 0;
  if (method.shows == kBefore) return method.samples_before;
  return method.own_samples > 0 ? method.own_samples : model.samples;
}

// Seconds of the planner, and of real machines, that so many of a run's samples took.
double SecondsOf(const StudyRun& run, double samples) {
  if (run.samples == 0) return run.seconds;
  return samples / static_cast<double>(run.samples) *
         (run.seconds - run.evaluating + run.environment_seconds);
}

// So many samples of a run count.
int64_t JudgedSamples(const StudyModel& model, const StudyMethod& method) {
  return method.kind == StudyMethod::Kind::kStrategies ? kMaxQuantity : model.samples;
}

void TakeMean(StudyTable::Cells cells, CellResult& cell) {
  const bool geometric =
      cells != StudyTable::Cells::kFigures && cells != StudyTable::Cells::kMovesToFaster;
  cell.mean.reset();
  std::vector<double> numbers;
  for (const std::optional<double>& one : cell.best) {
    if (!one) return;
    numbers.push_back(geometric ? std::log(*one) : *one);
  }
  if (numbers.empty()) return;
  const MeanWithInterval mean = MeanOf(numbers);
  cell.mean = geometric ? std::exp(mean.mean) : mean.mean;
  cell.low = geometric ? std::exp(mean.low) : mean.low;
  cell.high = geometric ? std::exp(mean.high) : mean.high;
}

CellResult SummarizeCell(const StudyTable& table, size_t model_index, size_t method_index,
                         const RunOf& run_of) {
  const StudyModel& model = table.models[model_index];
  const StudyMethod& method = table.methods[method_index];
  CellResult cell;
  if (!method.HasCell(model_index)) return cell;
  const bool learned = method.kind == StudyMethod::Kind::kLearned;
  const int seeds = !method.IsSeeded() ? 1 : method.seeds > 0 ? method.seeds : model.seeds;
  cell.complete = true;
  std::vector<double> invalid;
  for (int seed = 0; seed < std::max(seeds, learned && method.seeds == 0 ? model.most_seeds : 0);
       ++seed) {
    const StudyRun* const run = run_of(model_index, method_index, static_cast<uint64_t>(seed));
    if (run == nullptr && seed >= seeds) break;  // more are made where a claim asks for them
    cell.runs.push_back(run);
    if (run == nullptr) {
      cell.complete = false;
      continue;
    }
    cell.best.push_back(run->BestWithin(JudgedSamples(model, method)));
    cell.samples = learned ? SamplesOf(model, method) : 0;
    if (const auto share = run->InvalidWithin(model.samples); learned && share) {
      invalid.push_back(*share);
    }
    if (learned && method.shows == StudyMethod::Shows::kBest && run->samples > model.samples) {
      cell.longer = run->BestWithin(run->samples);
      cell.longer_samples = run->samples;
    }
  }
  if (!invalid.empty()) {
    cell.invalid =
        std::accumulate(invalid.begin(), invalid.end(), 0.0) / static_cast<double>(invalid.size());
  }
  TakeMean(table.cells, cell);
  return cell;
}

// What a table shows of a run in the place of its step; `base`: of the method of that name, from the same seed.
std::optional<double> ShownOf(const StudyTable& table, const StudyMethod& method,
                              const StudyRun& run, const StudyRun* base, bool* solved) {
  using enum StudyTable::Cells;
  const std::optional<double> best = run.BestWithin(kMaxQuantity);
  const std::optional<double> of_base =
      base != nullptr ? base->BestWithin(kMaxQuantity) : std::nullopt;
  *solved = false;
  switch (table.cells) {
    case kSteps: return best;
    case kTimesFaster:
      if (!best || !of_base) return std::nullopt;
      return *of_base / *best;
    case kSecondsToPlan: return SecondsOf(run, static_cast<double>(run.samples));
    case kFigures: {
      const auto found = run.figures.find(method.figure);
      return found == run.figures.end() ? 0 : found->second;  // a plan has none of that kind
    }
    case kMovesToFaster: break;
  }
  constexpr double kFaster = 1 - 1e-6;  // beyond what rounding to nanoseconds can do
  if (!of_base) return std::nullopt;
  for (const CurvePoint& point : run.curve) {
    *solved = point.best && *point.best < kFaster * *of_base;
    if (*solved) return static_cast<double>(std::max<int64_t>(1, point.samples));
  }
  return static_cast<double>(run.samples);
}

bool ComparesWithBase(StudyTable::Cells cells) {
  return cells == StudyTable::Cells::kTimesFaster || cells == StudyTable::Cells::kMovesToFaster;
}

void ShowOtherThanSteps(const StudyTable& table, std::vector<CellResult>& row) {
  const std::vector<const StudyRun*> bases = row[table.base].runs;
  for (size_t method = 0; method < row.size(); ++method) {
    CellResult& cell = row[method];
    cell.best.clear();
    if (method == table.base && table.cells == StudyTable::Cells::kMovesToFaster) continue;
    for (size_t seed = 0; seed < cell.runs.size(); ++seed) {
      const StudyRun* const run = cell.runs[seed];
      const StudyRun* const base =
          bases.empty() ? nullptr : bases[std::min(seed, bases.size() - 1)];
      std::optional<std::optional<double>>& shown = cell.by_seed.emplace_back();
      if (run == nullptr || (base == nullptr && ComparesWithBase(table.cells))) continue;
      bool solved = false;
      shown = ShownOf(table, table.methods[method], *run, base, &solved);
      cell.solved += solved ? 1 : 0;
      cell.best.push_back(*shown);
    }
    std::vector<double> numbers;
    for (const std::optional<double>& one : cell.best) numbers.push_back(one.value_or(0));
    std::sort(numbers.begin(), numbers.end());
    if (!numbers.empty()) cell.median = numbers[(numbers.size() - 1) / 2];
    TakeMean(table.cells, cell);
  }
}

// The mean step of every kWindow samples that fit, with where they end: updates of one method have more samples than
// those of another, and means of more samples are steadier.
std::vector<std::pair<int64_t, double>> WindowMeans(const StudyRun& run, int64_t samples) {
  constexpr int64_t kWindow = 20;
  std::vector<std::pair<int64_t, double>> means;
  int64_t end = 0, points = 0;
  double sum = 0;
  const auto close = [&] {
    if (points > 0) means.emplace_back(end, sum / static_cast<double>(points));
    sum = 0;
    points = 0;
  };
  for (const CurvePoint& point : run.curve) {
    if (point.samples > samples) break;
    const int64_t of_point = (point.samples + kWindow - 1) / kWindow * kWindow;
    if (of_point != end) close();
    end = of_point;
    if (!point.mean) continue;
    sum += *point.mean;
    ++points;
  }
  close();
  return means;
}

struct MeasuredPair {
  std::optional<double> less, more;
};

MeasuredPair MeasurePair(StudyClaim::Measure measure, const StudyRun& less, const StudyRun& more,
                         int64_t samples) {
  using enum StudyClaim::Measure;
  const std::optional<double> a = less.BestWithin(samples), b = more.BestWithin(samples);
  if (!b) return {};
  if (measure == kSamplesToMore || measure == kSecondsToMore) {
    // Each run by itself: how soon it comes near to what `more` came to.
    MeasuredPair pair{Measured(less, kSamples, samples, *b * kClose),
                      Measured(more, kSamples, samples, *b * kClose)};
    // The placement that a policy finds likeliest costs one evaluation.
    if (pair.less) pair.less = std::max(1.0, *pair.less);
    if (pair.more) pair.more = std::max(1.0, *pair.more);
    if (measure == kSecondsToMore && pair.less) pair.less = SecondsOf(less, *pair.less);
    if (measure == kSecondsToMore && pair.more) pair.more = SecondsOf(more, *pair.more);
    return pair;
  }
  if (!a) return {};
  const double target = std::max(*a, *b) * kClose;
  return {Measured(less, measure, samples, target), Measured(more, measure, samples, target)};
}

// Of one model: a logarithm for each seed.
struct ModelPairs {
  std::vector<double> logarithms;
  size_t censored = 0, misfits = 0;  // ClaimResult's, in pairs
};

// By seed; what is there once is paired with every seed.
void AddShownPairs(const CellResult& less, const CellResult& more, ModelPairs& pairs) {
  const auto& a = less.by_seed;
  const auto& b = more.by_seed;
  for (size_t seed = 0; seed < std::max(a.size(), b.size()) && !a.empty() && !b.empty(); ++seed) {
    const auto& x = a[a.size() == 1 ? 0 : seed];
    const auto& y = b[b.size() == 1 ? 0 : seed];
    if (!x || !y) continue;  // still to come
    pairs.misfits += !*x || !*y ? 1 : 0;
    if (*x && *y && **x > 0 && **y > 0) pairs.logarithms.push_back(std::log(**x / **y));
  }
}

ModelPairs PairsOf(const StudyTable& table, const StudyClaim& claim, size_t model,
                   const std::vector<CellResult>& cells) {
  const int64_t samples = std::max(JudgedSamples(table.models[model], table.methods[claim.less]),
                                   JudgedSamples(table.models[model], table.methods[claim.more]));
  ModelPairs pairs;
  if (claim.measure == StudyClaim::Measure::kShown) {
    AddShownPairs(cells[claim.less], cells[claim.more], pairs);
    return pairs;
  }
  for (const auto& [a, b] : PairsOfRuns(table, claim, cells)) {
    if (!a->BestWithin(samples)) {
      pairs.misfits += b->BestWithin(samples) ? 1 : 0;
      continue;
    }
    const MeasuredPair pair = MeasurePair(claim.measure, *a, *b, samples);
    if (!pair.less && pair.more) ++pairs.censored;
    if (pair.less && pair.more && *pair.less > 0 && *pair.more > 0) {
      pairs.logarithms.push_back(std::log(*pair.less / *pair.more));
    }
  }
  return pairs;
}

ClaimResult SummarizeClaim(const StudyTable& table, const StudyClaim& claim,
                           const std::vector<std::vector<CellResult>>& cells) {
  ClaimResult result;
  std::vector<double> logarithms;
  for (const size_t model : claim.models) {
    const ModelPairs pairs = PairsOf(table, claim, model, cells[model]);
    if (claim.PairsSeeds()) {
      logarithms.insert(logarithms.end(), pairs.logarithms.begin(), pairs.logarithms.end());
      result.censored += pairs.censored;
      result.misfits += pairs.misfits;
      continue;
    }
    // A model with a seed that failed counts as one that failed.
    result.misfits += pairs.misfits > 0 ? 1 : 0;
    result.censored += pairs.misfits == 0 && pairs.censored > 0 ? 1 : 0;
    if (pairs.misfits > 0 || pairs.censored > 0 || pairs.logarithms.empty()) continue;
    logarithms.push_back(std::accumulate(pairs.logarithms.begin(), pairs.logarithms.end(), 0.0) /
                         static_cast<double>(pairs.logarithms.size()));
  }
  result.ratio = CompareRatios(logarithms);
  for (double& logarithm : logarithms) logarithm -= std::log(claim.margin);
  result.ratio.p = CompareRatios(logarithms).p;
  return result;
}

std::optional<double> BestKnown(const StudyTable& table, const std::vector<CellResult>& cells) {
  std::optional<double> best;
  const auto consider = [&](const std::optional<double>& seconds) {
    if (seconds && (!best || *seconds < *best)) best = seconds;
  };
  for (size_t method = 0; method < cells.size(); ++method) {
    if (table.methods[method].kind == StudyMethod::Kind::kBound) continue;
    for (const std::optional<double>& one : cells[method].best) consider(one);
    consider(cells[method].longer);
  }
  return best;
}

// kFarAbove, of one model.
bool AllStopFarAbove(const StudyTable& table, const StudyClaim& claim, size_t model,
                     const TableResult& result) {
  for (size_t method = 0; method < table.methods.size(); ++method) {
    const CellResult& cell = result.cells[model][method];
    const bool compared = method == claim.less || method == claim.more;
    if (!compared && !table.methods[method].IsSeeded()) continue;
    if (!cell.mean && compared) return false;
    if (cell.mean && *cell.mean <= kFarAbove * *result.best_known[model]) return false;
  }
  return true;
}

SpeedUpResult SummarizeSpeedUp(const StudyTable& table, size_t model,
                               const std::vector<CellResult>& cells) {
  SpeedUpResult result;
  const auto times_sooner = [&](StudyClaim::Measure measure) {
    const StudyClaim claim{"", {model}, table.speed_up->less, table.speed_up->more, measure};
    const ModelPairs pairs = PairsOf(table, claim, model, cells);
    result.n = pairs.logarithms.size();
    result.never = pairs.censored + pairs.misfits;
    return 1 / CompareRatios(pairs.logarithms).ratio;
  };
  result.samples = times_sooner(StudyClaim::Measure::kSamplesToMore);
  result.seconds = times_sooner(StudyClaim::Measure::kSecondsToMore);
  return result;
}

}  // namespace

std::vector<RunPair> PairsOfRuns(const StudyTable& table, const StudyClaim& claim,
                                 const std::vector<CellResult>& cells) {
  const auto run_of = [&](size_t method, size_t seed) -> const StudyRun* {
    const std::vector<const StudyRun*>& runs = cells[method].runs;
    if (runs.empty()) return nullptr;
    // A plan that no seed changes; a training from one seed is none.
    const bool once = table.methods[method].kind != StudyMethod::Kind::kLearned;
    if (once && runs.size() == 1) return runs[0];
    return seed < runs.size() ? runs[seed] : nullptr;
  };
  std::vector<RunPair> pairs;
  const size_t seeds = std::max(cells[claim.less].runs.size(), cells[claim.more].runs.size());
  for (size_t seed = 0; seed < seeds; ++seed) {
    const StudyRun* const less = run_of(claim.less, seed);
    const StudyRun* const more = run_of(claim.more, seed);
    if (less != nullptr && more != nullptr) pairs.emplace_back(less, more);
  }
  return pairs;
}

std::optional<double> Measured(const StudyRun& run, StudyClaim::Measure measure, int64_t samples,
                               double target) {
  if (measure == StudyClaim::Measure::kBest) return run.BestWithin(samples);
  if (measure == StudyClaim::Measure::kSamples) {
    for (const CurvePoint& point : run.curve) {
      if (point.samples > samples) break;
      if (point.best && *point.best <= target) return static_cast<double>(point.samples);
    }
    return std::nullopt;
  }
  std::vector<double> changes;
  std::optional<double> before;
  for (const auto& [end, mean] : WindowMeans(run, samples)) {
    if (before && 2 * end > samples) changes.push_back(std::log(mean / *before));
    before = mean;
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
      row.push_back(SummarizeCell(table, model, method, run_of));
    }
    result.best_known.push_back(BestKnown(table, row));
    if (table.cells != StudyTable::Cells::kSteps) ShowOtherThanSteps(table, row);
  }
  for (size_t model = 0; table.speed_up && model < table.models.size(); ++model) {
    result.speed_ups.push_back(SummarizeSpeedUp(table, model, result.cells[model]));
  }
  std::vector<PairedRatio> ratios;
  for (const StudyClaim& claim : table.claims) {
    result.claims.push_back(SummarizeClaim(table, claim, result.cells));
    ratios.push_back(result.claims.back().ratio);
    ratios.back().ratio /= claim.margin;
  }
  const std::vector<Verdict> verdicts = JudgeTogether(ratios);
  for (size_t i = 0; i < verdicts.size(); ++i) {
    ClaimResult& claim = result.claims[i];
    const bool failed = claim.censored > 0 || claim.misfits > 0;
    claim.verdict = failed && verdicts[i] == Verdict::kHolds ? Verdict::kUndecided : verdicts[i];
    const std::vector<size_t>& models = table.claims[i].models;
    if (table.cells == StudyTable::Cells::kSteps &&
        std::all_of(models.begin(), models.end(), [&](size_t model) {
          return AllStopFarAbove(table, table.claims[i], model, result);
        })) {
      claim.verdict = Verdict::kIndistinct;
    }
  }
  return result;
}

}  // namespace placewright
