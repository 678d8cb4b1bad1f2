// From a layout for every colocation group to as few lines of a layout file as modules allow.
#ifndef PLACEWRIGHT_SEARCH_LAYOUTS_WANTED_LAYOUTS_H_
#define PLACEWRIGHT_SEARCH_LAYOUTS_WANTED_LAYOUTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "plan/layout_spec.h"

namespace placewright {

struct WantedLayouts {
  LayoutSpec base;  // of all groups that want nothing else
  std::vector<LayoutSpec> others;
  std::vector<bool> split_samples;      // parallel to `others`, or shorter: by samples
  IdVector<GroupId, int32_t> of_group;  // index into `others`, or -1: the base
  IdVector<GroupId, bool> alike;  // lies the same by the base and by others that split no samples

  // Every group wants the base.
  WantedLayouts(const Graph& graph, LayoutSpec base_spec);
};

// The base for "*", then each of `others` for modules whose groups all want it, or lie as they want to by it,
// and for single groups where that is not so. Resolved, every group has what it wants.
LayoutSpecs SpecsOf(const Graph& graph, const WantedLayouts& wanted);

// The modules that specs name, in the order of their first ops; groups and "*" are left out.
std::vector<std::string> ModulesNamed(const Graph& graph, const LayoutSpecs& specs);

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_LAYOUTS_WANTED_LAYOUTS_H_
