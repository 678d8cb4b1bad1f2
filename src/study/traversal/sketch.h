// Graphs of the study's families before their ops have times: what each op is, reads and computes.
#ifndef PLACEWRIGHT_STUDY_TRAVERSAL_SKETCH_H_
#define PLACEWRIGHT_STUDY_TRAVERSAL_SKETCH_H_

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "study/traversal/families.h"

namespace placewright {

// A forward op to be.
struct SketchNode {
  std::string name, type;
  double flops = 0;   // forward
  int64_t bytes = 0;  // of its output
  std::vector<int32_t> inputs;
};

class Sketch {
 public:
  int32_t Add(SketchNode node) {
    std::sort(node.inputs.begin(), node.inputs.end());
    node.inputs.erase(std::unique(node.inputs.begin(), node.inputs.end()), node.inputs.end());
    nodes_.push_back(std::move(node));
    return static_cast<int32_t>(nodes_.size()) - 1;
  }
  const std::vector<SketchNode>& nodes() const { return nodes_; }

 private:
  std::vector<SketchNode> nodes_;
};

// Not kReal. Draws until nodes, degree and diameter are as the family's are.
Sketch SketchOf(GraphFamily family, int index);

}  // namespace placewright

#endif  // PLACEWRIGHT_STUDY_TRAVERSAL_SKETCH_H_
