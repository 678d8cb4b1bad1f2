// Steps compiled by layouts, for checking one against the other.
#ifndef TESTS_CHECKER_COMPILED_STEP_H_
#define TESTS_CHECKER_COMPILED_STEP_H_

#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "cluster/cluster.h"
#include "compile/drawn_layouts.h"
#include "graph/graph.h"
#include "plan/distributed_step.h"
#include "plan/layout.h"
#include "plan/layout_spec.h"
#include "sharding/named_axes.h"

namespace placewright::tests {

// A recorded step with its axes.
struct RecordedStep {
  std::string name;
  std::unique_ptr<Graph> graph;
  std::unique_ptr<NamedAxes> axes;
};

// The example of the repository, the small steps of the data folder where it is there, and one with a
// mean, a loss with weights, a sum whose bias enters once, and updates, made by hand, as are one with batch norms
// and one of two convolutions.
std::vector<RecordedStep> RecordedSteps();

// Layouts, and as a plan states them.
struct StatedLayouts {
  Layouts layouts;
  DistributionSpec spec;
};
StatedLayouts State(const RecordedStep& step, Layouts layouts, size_t devices);
// The same layout for all groups: parts of an axis ("": everything everywhere), each of the given length.
StatedLayouts ForAll(const RecordedStep& step, const std::string& axis,
                     const std::vector<int64_t>& lengths);
// The same, but every parameter with its update on one device, in turn.
StatedLayouts ParameterServer(const RecordedStep& step, const std::string& axis,
                              const std::vector<int64_t>& lengths);
// The same, but every parameter with its update in parts of an axis of its own, where it has one that is long
// enough: sums are wanted in parts.
StatedLayouts SplitUpdates(const RecordedStep& step, const std::string& axis,
                           const std::vector<int64_t>& lengths);
// Another one for every group.
StatedLayouts AtRandom(const RecordedStep& step, size_t devices, Random& random);
// Likewise, mostly boxes of up to three axes, with replicas.
StatedLayouts BoxesAtRandom(const RecordedStep& step, size_t devices, Random& random);

// "holds", or the violation's name; with `message` also what it says.
std::string VerdictOn(const RecordedStep& original, const DistributedStep& step,
                      const Cluster& cluster, const DistributionSpec& spec,
                      std::string* message = nullptr);

}  // namespace placewright::tests

#endif  // TESTS_CHECKER_COMPILED_STEP_H_
