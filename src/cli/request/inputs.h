// From options to a graph, a cluster and costs: what planning, simulating and comparing start from.
#ifndef PLACEWRIGHT_CLI_REQUEST_INPUTS_H_
#define PLACEWRIGHT_CLI_REQUEST_INPUTS_H_

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/terminal/options.h"
#include "cost/cost_model.h"
#include "formats/input.h"

namespace placewright {

struct Inputs {
  LoadedGraph graph;
  LoadedCluster cluster;  // for a cost graph or a workload, its own devices
  CostTable costs;
  CostModelReport cost_report;
  std::string cost_store;     // that measured times came from; empty: none
  std::vector<LinkId> links;  // of the cluster, whose figures come from it
  size_t plan_links = 0;      // of the cluster, whose figures a plan has kept
  SchedulingPolicy policy = SchedulingPolicy::kFifo;
  Sequences sequences;  // of the placement that is looked at, if one was given with them
  FloatPrecision precision = FloatPrecision::kPyTorch;  // of modelled costs
  std::map<std::string, int64_t> dimensions;            // --dim
};

// Errors: kUsage (no -c where the file carries no devices; options that a cost graph cannot take),
// those of the readers and of the cost model.
Result<Inputs> LoadInputs(const InputOptions& options);

// Sets `batch` where `batch_text` states one, of the whole step: for N/gpu N times the GPUs of the cluster.
// Returns a sentence that says so, "" where there is nothing to say. Errors: kUsage (no number, no cluster to count
// GPUs of, a cluster without GPUs, more than 2^31 - 1), those of reading the cluster.
Result<std::string> ResolveBatch(InputOptions* options);

// True if the file is a plan rather than a graph, by its content. Errors: those of reading it.
Result<bool> IsPlan(const std::string& path);

// kUsage if --batch, --dim, --micro-batches, --recompute, --offload, --pipeline or --memory-reserve is given: for plans, which have them.
Status RejectOptionsOfPlan(const InputOptions& options);

// What the options say of costs: profile, precision, overrides, what was measured. Errors: kUsage, those of
// the readers.
Result<CostOptions> CostOptionsOf(const InputOptions& options, const Cluster& cluster);

// Costs of a graph on a cluster under the options' profile and override file.
Result<CostTable> LoadCosts(const InputOptions& options, const Graph& graph, const Cluster& cluster,
                            CostModelReport* report);

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_REQUEST_INPUTS_H_
