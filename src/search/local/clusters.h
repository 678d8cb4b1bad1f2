// The sets of colocation groups that local search moves together.
//
//  * branches: a parameter's group with the backward groups whose results reach nothing but that
//    parameter's update (its weight gradient), and these groups without the parameter;
//  * modules: the groups below every module path, by role: forward, backward, branches, all;
//  * patterns: the groups of a leaf module that play the same part (patterns.h), such as one
//  product
//    of every time step;
//  * windows: every leaf module's groups of one role, every pattern, and all groups, halved again
//  and
//    again by position in the step.
#ifndef PLACEWRIGHT_SEARCH_LOCAL_CLUSTERS_H_
#define PLACEWRIGHT_SEARCH_LOCAL_CLUSTERS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "search/problem/group_info.h"
#include "search/problem/op_graph.h"
#include "search/problem/problem.h"

namespace placewright {

class Clusters {
 public:
  // O(groups * depth of modules * log groups).
  Clusters(const Problem& problem, const OpGraph& graph, const std::vector<GroupInfo>& groups);

  int32_t size() const { return static_cast<int32_t>(offset_.size()) - 1; }
  // Ascending groups, at least two.
  std::span<const int32_t> members(int32_t cluster) const {
    return {member_.data() + offset_[cluster],
            static_cast<size_t>(offset_[cluster + 1] - offset_[cluster])};
  }
  // The clusters that hold a group, ascending.
  std::span<const int32_t> Of(int32_t group) const {
    return {of_group_.data() + of_offset_[group],
            static_cast<size_t>(of_offset_[group + 1] - of_offset_[group])};
  }

 private:
  void Add(std::vector<int32_t> groups);
  void AddBranches(const std::vector<int32_t>& branch_of);
  void AddModules(const Problem& problem, const std::vector<GroupInfo>& groups,
                  const std::vector<int32_t>& branch_of);
  void AddPatterns(const Problem& problem, const OpGraph& graph,
                   const std::vector<GroupInfo>& groups);
  void AddHalves(std::vector<int32_t> by_position);
  void Finish(size_t groups);

  std::vector<std::vector<int32_t>> sets_;  // while building
  std::vector<int32_t> offset_, member_, of_offset_, of_group_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_LOCAL_CLUSTERS_H_
