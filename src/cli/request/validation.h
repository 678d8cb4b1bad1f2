// Predictions beside what was measured: errors and whether the order is right.
#ifndef PLACEWRIGHT_CLI_REQUEST_VALIDATION_H_
#define PLACEWRIGHT_CLI_REQUEST_VALIDATION_H_

#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/units.h"
#include "cost/work.h"

namespace placewright {

struct ValidatedPair {
  std::string graph, plan;
  int64_t workers = 0;                   // devices that run an op
  Nanos predicted, measured, low, high;  // of a step; measured: median, and tenths
  struct Device {
    std::string name;
    Bytes predicted_peak, measured_peak;
    Nanos predicted_busy, measured_busy;
  };
  std::vector<Device> devices;
  struct OfClass {
    Nanos predicted, measured;
  };
  std::map<OpClass, OfClass> classes;  // sums over ops
  double share_modelled = 0;           // of the predicted time of its ops

  Nanos as_profiled;  // predicted as the machine was when it was profiled; of a plan what it says

  double Error() const;  // |predicted - measured| / measured; 0 where nothing was measured
  double ErrorAsProfiled() const;
  // Of the device that holds the most.
  const Device& Fullest() const;
  double PeakError() const;
};

// Nearest rank; 0 without any.
double Quantile(std::vector<double> values, double share);

// Spearman's rank correlation of predicted and measured times. Predictions at most `tie` above the
// fastest of a rank share the mean of their ranks. 1 for fewer than two pairs; 0 where either side is
// one tie.
double RankCorrelation(std::span<const ValidatedPair* const> pairs, double tie = 0.03);

// Plans of a graph whose times differ by less say nothing on whether they are ranked well.
inline constexpr double kRankedSpan = 1.4;

struct ValidationSummary {
  double median = 0, p90 = 0;                    // errors of the step time
  double profiled_median = 0, profiled_p90 = 0;  // as the machine was when it was profiled
  double peak_median = 0, peak_max = 0;
  struct Rank {
    std::string graph;
    double value = 0;
    size_t pairs = 0;
    double span = 0;  // slowest over fastest, as measured
    bool judged() const { return span >= kRankedSpan; }
  };
  std::vector<Rank> ranks;
  std::map<OpClass, ValidatedPair::OfClass> classes;  // over all pairs
};
ValidationSummary Summarise(const std::vector<ValidatedPair>& pairs);

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_REQUEST_VALIDATION_H_
