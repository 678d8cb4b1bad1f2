// What every device of a plan computes anew: forward and backward ops of which several devices have an instance,
// each of everything. Ops on shares of a sum over devices are not meant: each has shares of its own. A few are meant (what is too small to be split); many mean that an operator has no rule.
#ifndef PLACEWRIGHT_CLI_REQUEST_COPIED_OPS_H_
#define PLACEWRIGHT_CLI_REQUEST_COPIED_OPS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "formats/text/json.h"
#include "report/strategy/step_strategy.h"

namespace placewright {

// From which share of a device's time on people are warned of copies.
inline constexpr double kCopiesWorthAWarning = 0.02;

struct CopiedOps {
  struct Row {
    std::string type;
    int64_t ops = 0;
    Nanos time;        // on `device`, in one step
    double share = 0;  // of the time that `device` computes
    std::string
        reason;  // as in WhyWholeOnBatch; where the batch could split it, which layout does not
  };
  DeviceId device;        // whose share is the largest; none: nothing is copied
  std::vector<Row> rows;  // most time first, then by type
  double share = 0;       // of all rows
};

CopiedOps FindCopiedOps(const StrategyInputs& step, const StepStrategy& strategy);

// A warning in words, one line for each of the first types; "" below kCopiesWorthAWarning.
std::string DescribeCopies(const CopiedOps& copied, const Cluster& cluster);
// {device, time_share, types[{type, ops, time_ns, time_share, reason}]}, or null.
Json ToJson(const CopiedOps& copied, const Cluster& cluster);

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_REQUEST_COPIED_OPS_H_
