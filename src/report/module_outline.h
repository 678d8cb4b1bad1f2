// The modules of a graph as a tree, for tables whose rows are modules or runs of them: "encoder.layer.0-11".
#ifndef PLACEWRIGHT_REPORT_MODULE_OUTLINE_H_
#define PLACEWRIGHT_REPORT_MODULE_OUTLINE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace placewright {

struct ModuleNode {
  std::string path, stem;  // stem and number: "encoder.layer." and 3; no number: -1
  int64_t number = -1;
  int32_t parent = -1, depth = 0;
  std::vector<int32_t> children;

  // Its own name is a number, "3" but not "norm3".
  bool is_number() const {
    return number >= 0 && (stem.empty() || stem.back() == '.' || stem.back() == '/');
  }
};

class ModuleOutline {
 public:
  explicit ModuleOutline(const Graph& graph);

  // No module but the root, which is node 0 and has no path. Parents stand before children.
  bool empty() const { return nodes_.size() == 1; }
  size_t size() const { return nodes_.size(); }
  const ModuleNode& operator[](int32_t node) const { return nodes_[static_cast<size_t>(node)]; }
  int32_t NodeOf(ModuleId module) const { return node_of_[module.index()]; }

  // Whether they are siblings that differ by number alone; and whether `b` is the next one.
  bool InOneSeries(int32_t a, int32_t b) const;
  bool Follows(int32_t a, int32_t b) const;

 private:
  void AddNode(const std::string& path, int32_t parent);

  std::vector<ModuleNode> nodes_;
  std::vector<int32_t> node_of_;  // by module
};

// A module with all that is below it, or what of it no child has.
struct ModulePart {
  int32_t node = 0;
  bool itself = false;
};

// A row for the parts [begin, end): its name, "encoder.layer.0-11", "encoder (itself)" or "(no module)".
std::string NameOfRow(const ModuleOutline& tree, const ModulePart& first, const ModulePart& last);

}  // namespace placewright

#endif  // PLACEWRIGHT_REPORT_MODULE_OUTLINE_H_
