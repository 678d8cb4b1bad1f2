// The tensors of an ONNX graph that no op computes: graph inputs, initializers, constants, and the
// parameters of the weight-less forms.
#ifndef PLACEWRIGHT_FORMATS_ONNX_SOURCES_H_
#define PLACEWRIGHT_FORMATS_ONNX_SOURCES_H_

#include <onnx/onnx_pb.h>

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "formats/onnx/reader.h"
#include "formats/onnx/shapes/types.h"
#include "graph/graph.h"

namespace placewright::onnx_import {

struct Source {
  std::string_view name;  // of the tensor
  TensorKind kind = TensorKind::kInput;
  KnownTensor known;
  bool always = false;  // part of the graph even if no op reads it
  Bytes opaque_bytes;   // of a sparse tensor: values and indices; otherwise 0
};

struct Sources {
  std::vector<Source> sources;  // graph inputs, initializers, then folded nodes, in file order
  std::vector<bool> folded;     // by node index: Constant and parameter nodes, which are no ops
  std::vector<std::string> missing_files;  // external data that is not there; each once
  std::set<std::string> external_files;    // external data, as the model states where
  // Set by ApplyDimensions: names of dimensions of graph inputs that have no value, each once, in
  // file order; and those that got one by assumption.
  std::vector<std::string> open_dimensions;
  std::map<std::string, int64_t> assumed_dimensions;
  bool given_dimensions = false;  // some come from OnnxOptions::input_sizes
  bool batch_is_open = false;     // a first dimension is among open_dimensions
  // Set by ApplyDimensions: the fixed batch in whose place --batch was put, 0 if there was none.
  int64_t replaced_batch = 0;
};

// Weightless form: ConstantOfShape nodes called "param/..." over a constant shape are
// parameters; in a file without such a name, those over a constant shape whose output feeds,
// perhaps through ops that only rearrange it, a weight operand (Conv 1 and 2, Gemm 1 and 2, MatMul
// 1, normalization scales, recurrent weights, Gather's table, ...).
//
// Kinds. Parameters: those, graph inputs that metadata_props.parameters lists, and float or 8-bit
// and smaller initializers with at least one dimension. Constants: other initializers, Constant
// nodes. ONNX does not distinguish running statistics and masks from parameters: they count as what
// they are stored as.
//
// Errors: those of CheckTensor and FindExternal; kField (a Constant without value, an impossible
// shape of a parameter).
Result<Sources> CollectSources(const onnx::ModelProto& model, const std::string& folder);

// Puts the values of --batch and of named dimensions into the types of graph inputs
// (OnnxOptions). Errors: kField (an option below 1), kUnknownName with near names, kUsage (named
// dimensions leave nothing to the batch).
Status ApplyDimensions(const onnx::ModelProto& model, const OnnxOptions& options, Sources* sources);

// The first few of them for a message: "batch=N or seq=N" for the suffix "=N", separator " or ".
std::string ListDimensions(const std::vector<std::string>& names, std::string_view suffix,
                           std::string_view separator);

// metadata_props.batch as a number, if it is one or has a word "b<number>"; else 0.
int64_t RecordedBatch(const onnx::ModelProto& model);
// The value of that metadata_props key, or "".
std::string Metadata(const onnx::ModelProto& model, std::string_view key);

}  // namespace placewright::onnx_import

#endif  // PLACEWRIGHT_FORMATS_ONNX_SOURCES_H_
