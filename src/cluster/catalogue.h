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
// By catalogue name or another name of the same hardware, whatever the case, dashes, blanks, makers'
// names before it and a final "GB"; nullptr if absent.
const DeviceKind* FindKind(std::string_view name);
// What FindKind takes a name for that leaves something open ("RTX 3080"), as a sentence; else empty.
std::string_view NoteOfKindName(std::string_view name);

// Why hardware of that name is left out on purpose ("apple-m3"); empty: nothing is known of it.
std::string_view WhyNotInCatalogue(std::string_view name);
inline constexpr std::string_view kNotInCatalogueRemedy =
    "Describe the machine that will train. For its CPU alone: a kind of class cpu of your own "
    "under "
    "\"kinds\", such as {like: Ryzen-7-7700X, peak: {f32: 1.6 TFLOP/s}, memory_bandwidth: 100 "
    "GB/s}.";

struct Preset {
  std::string_view name;         // "4xP100"
  std::string_view description;  // one line, with the paper or product it comes from
};
std::span<const Preset> Presets();
// With all memory to use: the loader applies the reserve (ApplyMemoryReserve). Errors: kUnknownName
// with near names.
Result<Cluster> MakePreset(std::string_view name);

}  // namespace placewright

#endif  // PLACEWRIGHT_CLUSTER_CATALOGUE_H_
