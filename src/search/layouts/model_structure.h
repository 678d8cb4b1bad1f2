// What kind of model a step is of: from its ops, their rules and the named axes alone, so that a model without
// a known name is recognised by what it computes.
#ifndef PLACEWRIGHT_SEARCH_LAYOUTS_MODEL_STRUCTURE_H_
#define PLACEWRIGHT_SEARCH_LAYOUTS_MODEL_STRUCTURE_H_

#include <cstdint>
#include <vector>

#include "graph/graph.h"
#include "sharding/named_axes.h"

namespace placewright {

enum class ModelKind : uint8_t {
  kExperts,         // parts of one tensor are routed to weights of their own
  kAttention,       // products of activations have heads beside the batch
  kRecurrent,       // a layer multiplies with a weight what came of the same product before
  kFullyConnected,  // half of the parameters and more are matrices of products
  kConvolutional,   // others with convolutions
  kOther
};

struct ModelStructure {
  ModelKind kind = ModelKind::kOther;
  // Axes that a layer is split by, in the order of the layers. Of kExperts: experts that are one dimension of
  // a weight. Of kAttention: heads, inner widths between two products, and words. Of kFullyConnected: outputs.
  std::vector<AxisId> experts, heads, widths, words, outputs;
  // Experts that are modules: the mixtures, their experts, the modules of each.
  std::vector<std::vector<std::vector<ModuleId>>> mixtures;
  std::vector<ModuleId> recurrent;  // the layers, as modules
  double matrices = 0;              // share of the parameters' bytes that products read

  // It has attention by heads, beside experts, too, unless these are modules.
  bool attends() const { return !heads.empty() && mixtures.empty(); }
};

// The first kind of the list that the step is of.
//
//   kExperts         a product's weight and both other tensors share an axis that no attention has; or a tensor
//                    is cut into parts, and at least two go to products with weights of their own, of
//                    equal shapes, where the tensor follows from a router: a product with a weight that has as
//                    many outputs as there are such parts. What an expert is ends where parts come together.
//   kAttention       an axis other than the batch is in both operands and the output of a product of
//                    activations, or in queries, keys, values and output of an attention that is one operator,
//                    and in the weight of a product, and in no input of the step. An inner
//                    width is an axis of outputs that products with one weight alone sum over, and that nothing
//                    between the two needs whole. Words are outputs that no product sums over, of a product
//                    that no other one follows from, more than its weight has inputs.
//   kRecurrent       within one module, a product reads what follows from an earlier one with the same weight;
//                    or the op is a recurrent layer.
//   kFullyConnected  an output axis of a weight that one product alone reads
//
// Complexity: O(ops + edges) for every mixture, and for every weight within its module.
ModelStructure StructureOf(const Graph& graph, const NamedAxes& axes);

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_LAYOUTS_MODEL_STRUCTURE_H_
