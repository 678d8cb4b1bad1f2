// The sets of placement units that local search moves together.
//
//  * branches: a parameter's unit with the backward units whose results reach nothing but that
//    parameter's update (its weight gradient), and these units without the parameter;
//  * modules: the units below every module path, by role: forward, backward, branches, all;
//  * patterns: the units of a leaf module that play the same part (patterns.h), such as one product
//    of every time step;
//  * windows: every leaf module's units of one role, every pattern, and all units, halved again and
//    again by position in the step.
#ifndef PLACEWRIGHT_SEARCH_LOCAL_CLUSTERS_H_
#define PLACEWRIGHT_SEARCH_LOCAL_CLUSTERS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "search/problem/op_graph.h"
#include "search/problem/problem.h"
#include "search/problem/unit_info.h"

namespace placewright {

class Clusters {
 public:
  // O(units * depth of modules * log units).
  Clusters(const Problem& problem, const OpGraph& graph, const std::vector<UnitInfo>& units);

  int32_t size() const { return static_cast<int32_t>(offset_.size()) - 1; }
  // Ascending units, at least two.
  std::span<const int32_t> members(int32_t cluster) const {
    return {member_.data() + offset_[cluster],
            static_cast<size_t>(offset_[cluster + 1] - offset_[cluster])};
  }
  // The clusters that hold a unit, ascending.
  std::span<const int32_t> Of(int32_t unit) const {
    return {of_unit_.data() + of_offset_[unit],
            static_cast<size_t>(of_offset_[unit + 1] - of_offset_[unit])};
  }

 private:
  void Add(std::vector<int32_t> units);
  void AddBranches(const std::vector<int32_t>& branch_of);
  void AddModules(const Problem& problem, const std::vector<UnitInfo>& units,
                  const std::vector<int32_t>& branch_of);
  void AddPatterns(const Problem& problem, const OpGraph& graph,
                   const std::vector<UnitInfo>& units);
  void AddHalves(std::vector<int32_t> by_position);
  void Finish(size_t units);

  std::vector<std::vector<int32_t>> sets_;  // while building
  std::vector<int32_t> offset_, member_, of_offset_, of_unit_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_LOCAL_CLUSTERS_H_
