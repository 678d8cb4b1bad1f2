// The catalogue of hardware and the preset clusters. Every figure carries its source.
#ifndef PLACEWRIGHT_CLUSTER_CATALOGUE_H_
#define PLACEWRIGHT_CLUSTER_CATALOGUE_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/cluster.h"

namespace placewright {

std::span<const DeviceKind> Catalogue();
// By catalogue name, case-insensitive; nullptr if absent.
const DeviceKind* FindKind(std::string_view name);

struct Preset {
  std::string_view name;         // "4xP100"
  std::string_view description;  // one line, with the paper or product it comes from
};
std::span<const Preset> Presets();
// Errors: kUnknownName with near names.
Result<Cluster> MakePreset(std::string_view name);

}  // namespace placewright

#endif  // PLACEWRIGHT_CLUSTER_CATALOGUE_H_
