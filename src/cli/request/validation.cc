#include "cli/request/validation.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace placewright {
namespace {

double RelativeError(double predicted, double measured) {
  return measured > 0 ? std::abs(predicted - measured) / measured : 0;
}

// From 0, ascending with the times; what is at most `tie` above the fastest of its rank shares it.
std::vector<double> RanksOf(const std::vector<double>& times, double tie) {
  std::vector<size_t> order(times.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return times[a] < times[b]; });
  std::vector<double> ranks(times.size(), 0);
  for (size_t begin = 0; begin < order.size();) {
    size_t end = begin + 1;
    while (end < order.size() && times[order[end]] <= times[order[begin]] * (1 + tie)) ++end;
    for (size_t i = begin; i < end; ++i) {
      ranks[order[i]] = static_cast<double>(begin + end - 1) / 2;
    }
    begin = end;
  }
  return ranks;
}

}  // namespace

double ValidatedPair::Error() const {
  return RelativeError(static_cast<double>(predicted.count), static_cast<double>(measured.count));
}

double ValidatedPair::ErrorAsProfiled() const {
  return RelativeError(static_cast<double>(as_profiled.count), static_cast<double>(measured.count));
}

const ValidatedPair::Device& ValidatedPair::Fullest() const {
  return *std::max_element(devices.begin(), devices.end(), [](const Device& a, const Device& b) {
    return a.measured_peak < b.measured_peak;
  });
}

double ValidatedPair::PeakError() const {
  const Device& fullest = Fullest();
  return RelativeError(static_cast<double>(fullest.predicted_peak.count),
                       static_cast<double>(fullest.measured_peak.count));
}

double Quantile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(share * static_cast<double>(values.size() - 1) + 0.5)];
}

double RankCorrelation(std::span<const ValidatedPair* const> pairs, double tie) {
  if (pairs.size() < 2) return 1;
  std::vector<double> predicted, measured;
  for (const ValidatedPair* pair : pairs) {
    predicted.push_back(static_cast<double>(pair->predicted.count));
    measured.push_back(static_cast<double>(pair->measured.count));
  }
  const std::vector<double> a = RanksOf(predicted, tie), b = RanksOf(measured, 0);
  const double mean = static_cast<double>(a.size() - 1) / 2;
  double ab = 0, aa = 0, bb = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    ab += (a[i] - mean) * (b[i] - mean);
    aa += (a[i] - mean) * (a[i] - mean);
    bb += (b[i] - mean) * (b[i] - mean);
  }
  return aa > 0 && bb > 0 ? ab / std::sqrt(aa * bb) : 0;
}

ValidationSummary Summarise(const std::vector<ValidatedPair>& pairs) {
  ValidationSummary summary;
  std::vector<double> errors, profiled, peaks;
  std::map<std::string, std::vector<const ValidatedPair*>> by_graph;
  for (const ValidatedPair& pair : pairs) {
    errors.push_back(pair.Error());
    profiled.push_back(pair.ErrorAsProfiled());
    peaks.push_back(pair.PeakError());
    by_graph[pair.graph].push_back(&pair);
    for (const auto& [op_class, times] : pair.classes) {
      summary.classes[op_class].predicted += times.predicted;
      summary.classes[op_class].measured += times.measured;
    }
  }
  summary.median = Quantile(errors, 0.5);
  summary.p90 = Quantile(errors, 0.9);
  summary.profiled_median = Quantile(profiled, 0.5);
  summary.profiled_p90 = Quantile(profiled, 0.9);
  summary.peak_median = Quantile(peaks, 0.5);
  summary.peak_max = Quantile(peaks, 1);
  for (const auto& [graph, of_graph] : by_graph) {
    const auto [fastest, slowest] =
        std::minmax_element(of_graph.begin(), of_graph.end(),
                            [](const auto* a, const auto* b) { return a->measured < b->measured; });
    summary.ranks.push_back(
        {graph, RankCorrelation(of_graph), of_graph.size(),
         static_cast<double>((*slowest)->measured.count) /
             static_cast<double>(std::max<int64_t>(1, (*fastest)->measured.count))});
  }
  return summary;
}

}  // namespace placewright
