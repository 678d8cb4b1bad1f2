// A PipeDream profile as a training step, and stages from a placement.
//
// Every layer v is a forward op "v" and a backward op "v.backward", which share a device. Forward
// ops pass activations on, backward ops their gradients back, of the same size, one for each edge.
// The backward op of v reads v's activation, so that activations stay until then. Parameters lie on
// their layer's device. Without any backward time the profile is of inference: forward ops only.
//
// Left out, said by ProfileNotes: what PipeDream itself drops (ProfileLayer::left_out); gradients
// of parameters and the optimizer, of which the profile says nothing.
#ifndef PLACEWRIGHT_FORMATS_PIPEDREAM_PROFILE_GRAPH_H_
#define PLACEWRIGHT_FORMATS_PIPEDREAM_PROFILE_GRAPH_H_

#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "cluster/cluster.h"
#include "formats/pipedream/profile.h"
#include "graph/graph.h"
#include "plan/placement.h"

namespace placewright {

struct ProfileGraph {
  Graph graph;
  IdVector<OpId, Nanos> times;  // of every op, on whichever device the profile was taken
};

// Times are rounded to whole nanoseconds. Errors: kField (nothing is left after PipeDream's
// clean-up), kGraphCycle, kDuplicateName (a layer called as another's backward op).
Result<ProfileGraph> ProfileToGraph(const PipeDreamProfile& profile);

// What the step lacks or takes otherwise, a sentence each.
std::vector<std::string> ProfileNotes(const PipeDreamProfile& profile);

// The stage of every layer: devices numbered from 0 in the order in which the pipeline visits them,
// in the cluster's order where several could be next. A layer that was left out goes with
// the first layer that reads it, or else that it reads. Errors: kNotExpressible (the pipeline comes
// back to a device it has left, so that no order of stages exists).
Result<std::vector<int64_t>> StagesOf(const PipeDreamProfile& profile, const Graph& graph,
                                      const Placement& placement, const Cluster& cluster);

// Where the stages of `staged`, a profile of the same layers, put the ops of `graph`: stage k is
// the k-th device, from 0, CPUs beside accelerators not counted. Errors: kSplitIncomplete (a layer
// without stage), kSplitDevices (a stage beyond the devices).
Result<NamedPlacement> PlacementOfStages(const PipeDreamProfile& staged, const Graph& graph,
                                         const Cluster& cluster);

}  // namespace placewright

#endif  // PLACEWRIGHT_FORMATS_PIPEDREAM_PROFILE_GRAPH_H_
