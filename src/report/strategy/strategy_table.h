// How a step is distributed, by module: what people want to see of a plan (Table 4 of TAG says it in one line
// a model; here it is one a module).
//
// A row is a module, or a run of sibling modules whose names differ by consecutive numbers alone, that are
// treated alike ("encoder.layer.0-11"). The module tree is opened, from the root, where a module holds ops or
// parameters that are treated in different ways, and as long as the table keeps to its rows; a layer (one of
// several siblings with numbers, which holds no numbered ones itself) stays whole, and says in which shares of
// its time it is treated how.
#ifndef PLACEWRIGHT_REPORT_STRATEGY_STRATEGY_TABLE_H_
#define PLACEWRIGHT_REPORT_STRATEGY_STRATEGY_TABLE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "cluster/cluster.h"
#include "graph/graph.h"
#include "report/strategy/step_strategy.h"
#include "report/table.h"

namespace placewright {

// What has a smaller part of a row's time or bytes does not make it another strategy, and is not said of it.
inline constexpr double kMinorStrategy = 0.05;

// Of a row's forward and backward ops, or where it has none of these, of its update.
struct ComputePart {
  ComputeStrategy strategy;
  Nanos time;  // of the instances, summed over devices
};
struct SyncPart {
  SyncKind kind = SyncKind::kNone;
  bool in_buckets = false;
  Bytes bytes;                    // of the parameters
  std::vector<DeviceId> devices;  // that update them, ascending
};

struct StrategyRow {
  std::string name;  // "encoder.layer.0-11", "encoder (itself)", "(no module)", "9 other modules"
  std::vector<std::string> modules;  // paths; "" is the root
  std::vector<ComputePart> compute;  // most time first
  std::vector<SyncPart> sync;        // most bytes first; none: no parameters
  Bytes parameters;                  // once, however many devices have them
  Nanos time;                        // of all ops, update included
  double time_share = 0;             // of the ops of the whole step
};

// None where the graph names no modules. Times and parameters of all rows sum to those of the step. At most
// `max` rows: behind that those with most time, and the others as one.
std::vector<StrategyRow> TabulateStrategy(const Graph& original, const StepStrategy& strategy,
                                          size_t max = 20);

// "split by batch (6 each)", or with shares of the time "split by batch (8, 8, 4, 4) 88%, copied 12%".
std::string DescribeCompute(const StrategyRow& row);
// "host0/gpu0-3", or with shares of the time "host0/gpu0 70%, host0/gpu1 30%".
std::string DescribeComputeDevices(const StrategyRow& row, const Cluster& cluster);
// "all-reduce in buckets of 64.0 MiB", "parameter servers host0/gpu0-3 90%, all-reduce 10%", "-" without
// parameters. `fusion`: up to which size all-reduces are joined.
std::string DescribeSync(const StrategyRow& row, const Cluster& cluster, Bytes fusion);

// A line for each row, and what the columns mean; an empty list gives an empty text.
std::string RenderStrategy(const std::vector<StrategyRow>& rows, const Cluster& cluster,
                           Bytes fusion, const Style& style);

}  // namespace placewright

#endif  // PLACEWRIGHT_REPORT_STRATEGY_STRATEGY_TABLE_H_
