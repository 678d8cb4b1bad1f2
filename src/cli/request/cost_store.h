// --cost-store and --no-store: where measured times lie, and which of them hold for a cluster.
#ifndef PLACEWRIGHT_CLI_REQUEST_COST_STORE_H_
#define PLACEWRIGHT_CLI_REQUEST_COST_STORE_H_

#include <optional>
#include <string>
#include <vector>

#include "cli/terminal/options.h"
#include "cluster/cluster.h"
#include "cost/communication/measured_collectives.h"
#include "cost/measured_costs.h"

namespace placewright {

// What PLACEWRIGHT_COST_STORE names (the environment), or placewright/costs.sqlite in
// XDG_DATA_HOME, or in ~/.local/share. "" where there is no such folder.
std::string DefaultCostStore();

// The store that the options name, or the default one where it exists; "" for none.
std::string CostStorePath(const InputOptions& options);

// What was measured on the cluster's kinds of devices: of each what is wanted, then what fills in for what
// that lacks: measured in the other state, then imported. `loaded`: with the
// machine's other devices at work, or alone; left open, by whether the cluster has several devices of
// the measured kinds. What was not measured so is taken as measured the other way. Errors: those of
// CostStore.
Result<std::vector<MeasuredDevice>> ReadMeasured(const std::string& path, const Cluster& cluster,
                                                 std::optional<bool> loaded = std::nullopt);

// Collectives that were measured, those of NCCL before those of Gloo. Errors: those of CostStore.
Result<std::vector<MeasuredCollectives>> ReadMeasuredCollectives(const std::string& path);

// Gives the cluster's links the figures of the transfers that were measured between its devices, and
// returns which (SetMeasuredLinks). Errors: those of CostStore.
Result<std::vector<LinkId>> UseMeasuredLinks(const std::string& path, Cluster& cluster);

// "EPYC (1 core), LibTorch 1.13.0, libopenblas.so.0 (Haswell), others at work"
std::string Describe(const MeasuredOn& on);
// Which times came from where, and which ops were not measured; "" without any.
std::string DescribeMeasured(const MeasuredUse& use, size_t links, const std::string& path);
// That so many links have the figures of a plan instead of the cluster's; "" for 0.
std::string DescribePlanLinks(size_t links);

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_REQUEST_COST_STORE_H_
