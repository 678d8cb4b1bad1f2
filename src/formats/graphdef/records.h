// The nodes of a GraphDef as the file has them, each attribute that matters in a typed place.
#ifndef PLACEWRIGHT_FORMATS_GRAPHDEF_RECORDS_H_
#define PLACEWRIGHT_FORMATS_GRAPHDEF_RECORDS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "formats/graphdef/message.h"
#include "graph/value.h"

namespace placewright::graphdef {

// A few bytes of a file make a node or an item, and later steps keep hundreds for each.
inline constexpr int64_t kMaxNodes = 1'000'000;
inline constexpr int64_t kMaxItems = 8'000'000;  // inputs, attributes, shapes, dimensions, numbers

// -1: a dimension of unknown size. Nothing: not even the number of dimensions is known.
using Shape = std::optional<std::vector<int64_t>>;

struct Node {
  std::string name, op, device;
  std::vector<std::string> inputs;                  // "node", "node:k", "^node"
  std::vector<std::string> colocated_with;          // `_class`, each as "loc:@node"
  std::optional<std::vector<Shape>> output_shapes;  // `_output_shapes`
  std::optional<Shape> shape;                       // `shape`
  int64_t type = 0;                                 // `T`, DataType
  int64_t made_type = 0;            // of outputs: `dtype`, `DstT`, `out_type`, `output_type`
  std::vector<int64_t> list_types;  // of outputs: `component_types`, `dtypes`, `Tout`
  // Of `value`: a constant's type, shape and, if it has at most 64 integers, these.
  std::optional<Shape> value_shape;
  int64_t value_type = 0;
  std::vector<int64_t> value;
  std::vector<NamedValue> attributes;  // numbers, texts, bools, and lists of them
  Range whole;                         // of the file: the field `node`
};

// `file` is expanded. Errors: those of FieldCursor; kField (a node without a name or an op, names
// that are no UTF-8, no nodes), kFileTooLarge (the limits above).
Result<std::vector<Node>> ReadNodes(std::string_view file, Form form);

// "nodes[3] (conv1)".
std::string PlaceOfNode(size_t index, std::string_view name);

}  // namespace placewright::graphdef

#endif  // PLACEWRIGHT_FORMATS_GRAPHDEF_RECORDS_H_
