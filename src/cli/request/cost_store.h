// --cost-store and --no-store: where measured times lie.
#ifndef PLACEWRIGHT_CLI_REQUEST_COST_STORE_H_
#define PLACEWRIGHT_CLI_REQUEST_COST_STORE_H_

#include <optional>
#include <string>
#include <vector>

#include "cli/terminal/options.h"
#include "formats/cost_store/measured_reader.h"

namespace placewright {

// What PLACEWRIGHT_COST_STORE names (the environment), or placewright/costs.sqlite in
// XDG_DATA_HOME, or in ~/.local/share. "" where there is no such folder.
std::string DefaultCostStore();

// The store that the options name, or the default one where it exists; "" for none.
std::string CostStorePath(const InputOptions& options);

// "EPYC (1 core), LibTorch 1.13.0, libopenblas.so.0 (Haswell), others at work"
std::string Describe(const MeasuredOn& on);
// Which times came from where, and which ops were not measured; "" without any.
std::string DescribeMeasured(const MeasuredUse& use, size_t links, const std::string& path);
// That so many links have the figures of a plan instead of the cluster's; "" for 0.
std::string DescribePlanLinks(size_t links);

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_REQUEST_COST_STORE_H_
