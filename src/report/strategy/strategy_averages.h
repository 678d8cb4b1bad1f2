// The whole of a strategy in two lines, as Table 4 of TAG (Zhang et al.) has it.
#ifndef PLACEWRIGHT_REPORT_STRATEGY_STRATEGY_AVERAGES_H_
#define PLACEWRIGHT_REPORT_STRATEGY_STRATEGY_AVERAGES_H_

#include <string>
#include <utility>
#include <vector>

#include "cluster/cluster.h"
#include "graph/graph.h"
#include "report/strategy/step_strategy.h"

namespace placewright {

struct StrategyAverages {
  // On how many devices of a kind a forward or backward op is, on average over those that take time; in the order
  // of the cluster's devices, kinds without any left out.
  std::vector<std::pair<std::string, double>> devices;
  // Of the number of parameters with an update, how many have their gradients brought together how; largest first.
  std::vector<std::pair<SyncKind, double>> gradients;
};

StrategyAverages AverageStrategy(const Graph& original, const StepStrategy& strategy,
                                 const Cluster& cluster);

// "on average an op runs on 3.9 V100-32GB, 0.1 P100-12GB; gradients: all-reduce 85.0%, parameter-server 15.0%"
std::string DescribeAverages(const StrategyAverages& averages);

}  // namespace placewright

#endif  // PLACEWRIGHT_REPORT_STRATEGY_STRATEGY_AVERAGES_H_
