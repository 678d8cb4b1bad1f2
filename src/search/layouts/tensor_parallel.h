// Tensor parallelism as Megatron-LM has it, for planners of meshes: which axis of each colocation group is split over the
// GPUs of a tensor group, and which over the groups (data parallelism).
//
//   attention       by heads, of queries and of the fewer heads of keys and values alike; perceptrons by inner width
//                   (Shoeybi et al. 2019, sec. 3)
//   experts         that are one dimension of their weights by this, with the rows that are sorted for them
//                   (routed_experts.h), where there are as many as GPUs of a group; else by inner width
//   words           the embedding by its rows, the last product and all that is done with its scores by words: the loss is
//                   that in parts (compile/rewrites/softmax.h)
//   tokens          all else that is computed with parameters or what follows from them: norms, residuals, dropout, where
//                   sequence parallelism is asked for (Korthikanti et al. 2022, sec. 4.2.2); else by every GPU of a group
//   nothing         sums that are still to be completed, as gradients of what several products read, are added up as they
//                   are, so that they are completed once; masks, positions and targets are on every GPU of a group
//
// From these cuts the compiler finds what crosses: tokens are gathered before attention and perceptrons, and what these
// give is reduce-scattered to tokens.
#ifndef PLACEWRIGHT_SEARCH_LAYOUTS_TENSOR_PARALLEL_H_
#define PLACEWRIGHT_SEARCH_LAYOUTS_TENSOR_PARALLEL_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "graph/graph.h"
#include "plan/layout.h"
#include "search/layouts/model_structure.h"
#include "sharding/named_axes.h"

namespace placewright {

// Of a colocation group; an axis that is none: that many devices have the same.
struct TensorCut {
  AxisId over_group;   // over the GPUs of a tensor group
  AxisId over_groups;  // over the tensor groups: the batch, or of a parameter an axis of its shards
  friend auto operator<=>(const TensorCut&, const TensorCut&) = default;
};

// The axis of a step's tokens: of those that no parameter has but some that are added to samples (learned positions),
// beside the batch, the one that the largest number of tensors has; none where there is none.
AxisId TokensOf(const Graph& graph, const NamedAxes& axes);
// That one first, and those of streams beside it, as the encoder's beside the decoder's or the text's beside the image's:
// axes that hardly any tensor has together with another one of them. None where few of the tensors with samples have tokens
// (images that convolutions need whole). Complexity: O(tensors * axes of streams).
std::vector<AxisId> TokenAxes(const Graph& graph, const NamedAxes& axes);
// The first by which the op can be split; or none.
AxisId FirstSplit(const NamedAxes& axes, OpId op, const std::vector<AxisId>& among);

// `degree`: GPUs of a tensor group; axes that are shorter are not split. `sequence`: tokens are, where there are some.
// Precondition: the batch is proven. Complexity: O(axes of the structure * ops + edges).
IdVector<GroupId, TensorCut> TensorCuts(const Graph& graph, const NamedAxes& axes,
                                        const ModelStructure& structure, int64_t degree,
                                        bool sequence);

// Of these devices, of which `degree` that follow one another are a tensor group. What is no batch is in parts over as many
// groups that follow one another as `shards` says, and the same on the next ones; 0: over all groups.
Layout LayoutOfCut(const NamedAxes& axes, const TensorCut& cut,
                   const std::vector<DeviceId>& devices, int64_t degree, int64_t shards = 0);

Interval EqualPart(int64_t part, int64_t parts, Interval of);
// The greatest common divisor of their sizes; 0 where there are none.
int64_t CommonSize(const NamedAxes& axes, const std::vector<AxisId>& of);
// "layers.*" of "layers.3": the modules with parameters that repeat, or all where none does.
std::vector<std::string> LayerGlobs(const Graph& graph);

// Numbers of a host's GPUs, two and more, that divide them and `size`; ascending.
std::vector<int64_t> PossibleDegrees(int64_t size, int64_t of_host);

// How many GPUs of a host share something out: as asked for, or as many as divide `size` and the host's GPUs, 8 at most.
struct DegreeChoice {
  std::string_view planner, setting, what;  // `what`: plural
  int64_t size = 0;                         // 0: the step has none
  int64_t of_host = 1;
  int64_t asked = 0;  // 0: nothing
};
// Errors: kUsage (the step has none that they divide; the number that is asked for does not divide: with those that do).
Result<int64_t> ChooseDegree(const DegreeChoice& choice);

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_LAYOUTS_TENSOR_PARALLEL_H_
