// A model as nodes over named tensors, with the attributes and small constants that running it
// takes: what a reader of model files hands to the code that lowers it to another library's calls.
// Knows neither the file format's library nor LibTorch; operators and attributes are those of ONNX.
#ifndef PLACEWRIGHT_PROGRAM_IMPORTED_MODEL_H_
#define PLACEWRIGHT_PROGRAM_IMPORTED_MODEL_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "graph/graph.h"

namespace placewright {

// `bytes`: elements in row-major order, little endian, one byte for a boolean; nothing where the
// file does not hold them or they are too many to be carried along.
struct ImportedTensor {
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;
  std::optional<std::string> bytes;
};

struct ImportedGraph;

using ImportedAttribute =
    std::variant<int64_t, double, std::string, std::vector<int64_t>, std::vector<double>,
                 std::vector<std::string>, ImportedTensor, std::shared_ptr<const ImportedGraph>>;

struct ImportedNode {
  std::string type;                          // "Conv"
  std::string domain;                        // "" for ONNX's own
  std::string module;                        // "layer1/conv1", may be empty
  std::string place;                         // "node /layer1/conv1/Conv (Conv)", for messages
  std::vector<std::string> inputs, outputs;  // names of tensors; "": left out, or without readers
  std::map<std::string, ImportedAttribute> attributes;
};

struct NamedImportedTensor {
  std::string name;
  ImportedTensor tensor;
};

// The nodes stand in an order in which producers come first. Names that nothing here makes come
// from the graph around it.
struct ImportedGraph {
  std::vector<std::string> inputs, outputs;
  std::vector<NamedImportedTensor> constants;
  std::vector<ImportedNode> nodes;
};

struct ImportedInput {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;    // at ImportedModel::batch
  std::vector<size_t> batch_at;  // dimensions that are the batch
  // What it holds, where a size, an axis or a condition depends on it; as ImportedTensor::bytes.
  std::optional<std::string> content{};
};

struct ImportedModel {
  std::string name;
  int64_t batch = 0;                        // 0: no dimension of the inputs is known to be one
  std::map<std::string, int64_t> versions;  // of operator sets, by domain
  std::vector<ImportedInput> inputs;
  std::vector<NamedImportedTensor> parameters;  // what inspect counts as such, of any type
  ImportedGraph graph;                          // without them; its inputs are left empty
  std::vector<std::string> files;               // that hold contents of it, beside the model's own
  // Shapes at `batch` of what nodes make, as far as they are known for certain.
  std::unordered_map<std::string, std::vector<int64_t>> shapes;
};

// The attribute as T, or nullptr where it is absent or of another type.
template <class T>
const T* FindImportedAttribute(const ImportedNode& node, const std::string& name) {
  const auto it = node.attributes.find(name);
  return it == node.attributes.end() ? nullptr : std::get_if<T>(&it->second);
}

// "Conv", or "com.microsoft.FusedConv" for other domains.
std::string OperatorName(const ImportedNode& node);

}  // namespace placewright

#endif  // PLACEWRIGHT_PROGRAM_IMPORTED_MODEL_H_
