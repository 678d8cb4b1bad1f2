// Which measured times of a cost store hold for a cluster.
#ifndef PLACEWRIGHT_FORMATS_COST_STORE_MEASURED_READER_H_
#define PLACEWRIGHT_FORMATS_COST_STORE_MEASURED_READER_H_

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cluster/cluster.h"
#include "cost/communication/measured_collectives.h"
#include "cost/cost_model.h"
#include "cost/measured_costs.h"

namespace placewright {

// What was measured on the cluster's kinds of devices: of each what is wanted, then what fills in for what
// that lacks: measured in the other state, then imported. `loaded`: with the
// machine's other devices at work, or alone; left open, by whether the cluster has several devices of
// the measured kinds. What was not measured so is taken as measured the other way. Errors: those of
// CostStore.
Result<std::vector<MeasuredDevice>> ReadMeasured(const std::string& path, const Cluster& cluster,
                                                 std::optional<bool> loaded = std::nullopt);

// Collectives that were measured, those of NCCL before those of Gloo. Errors: those of CostStore.
Result<std::vector<MeasuredCollectives>> ReadMeasuredCollectives(const std::string& path);

// Both, as the cost model takes them. Errors: those of CostStore.
Status UseMeasuredTimes(const std::string& path, const Cluster& cluster, CostOptions& options);

// Gives the cluster's links the figures of the transfers that were measured between its devices, and
// returns which (SetMeasuredLinks). Errors: those of CostStore.
Result<std::vector<LinkId>> UseMeasuredLinks(const std::string& path, Cluster& cluster);

}  // namespace placewright

#endif  // PLACEWRIGHT_FORMATS_COST_STORE_MEASURED_READER_H_
