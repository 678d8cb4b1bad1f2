// ONNX models: shapes inferred, constants and parameters folded, sub-graphs kept as one op.
// docs/formats/onnx.md.
//
// Every node is one op except Constant nodes and weightless parameters (ConstantOfShape called
// "param/..."), which become tensors. Op names are node names (made unique; "Conv_12" for the
// unnamed node 12), types "Conv" or "com.microsoft.FusedConv", module paths the node name's folders
// ("layer1/conv1" for "/layer1/conv1/Conv"). Op::args has one item per ONNX input: a reference, or
// null for an absent optional one. Tensors that sub-graphs capture follow as further inputs.
// Reshape, Flatten, Squeeze, Unsqueeze, Identity and Dropout in inference mode are views.
// Op::attributes are the node's, and some inputs of known values (settings.h).
#ifndef PLACEWRIGHT_FORMATS_ONNX_READER_H_
#define PLACEWRIGHT_FORMATS_ONNX_READER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "graph/graph.h"
#include "program/imported_model.h"

namespace placewright {

struct OnnxOptions {
  // The value of every batch dimension; stored shapes of non-constants are then dropped and
  // inferred again. Batch dimensions of graph inputs (parameters apart) are: first dimensions
  // without a value and every other dimension of the same symbol; or, if no first dimension is
  // symbolic, of each input the first dimension that equals metadata_props.batch; without that
  // record, the first dimension of every input in which it equals that of the first input.
  std::optional<int64_t> batch;
  // Values of open dimensions of graph inputs (parameters apart), by their symbol, or "x[1]" for
  // dimension 1 of input x where it has none. They are given before the batch.
  std::map<std::string, int64_t> dimensions;
  // Folder of the model file (empty: the current one): external data is looked for there and
  // nowhere else.
  std::string folder;
  // Open dimensions that neither `dimensions` nor `batch` gives a value become 1 (OnnxReport says
  // which): for looking at the structure of a model, not for plans.
  bool assume_dimensions = false;
  // ImportOnnx: the program carries the contents of all tensors that the file stores, external ones
  // among them, whatever their size.
  bool contents = false;
  // Sizes of graph inputs by name, with or without "input:" before it, of tensors that are given for
  // them: dimensions that are still open behind `dimensions` and `batch` get theirs. Of an input with
  // another number of dimensions nothing is taken; nothing contradicts here.
  std::map<std::string, std::vector<int64_t>> input_sizes;
  // ReadOnnx: the graph says how its sizes follow the batch, as reading the model at further sizes proves
  // (batch_proof.h); its batch is then stated if there is a fixed one that `batch` could replace. It takes
  // as long as three to five readings.
  bool prove_batch = false;
};

// What the reader could not know.
struct OnnxReport {
  // "op (type)" of ops whose output shapes nothing states (unknown operators, other domains),
  // in topological order: their outputs were taken to be as large as their largest input that is no
  // constant. Ops that follow from these are listed only if they, too, had to be assumed.
  std::vector<std::string> assumed_shapes;
  // Names as in OnnxOptions::dimensions, with the assumed value.
  std::map<std::string, int64_t> assumed_dimensions;
  std::vector<std::string> missing_files;  // external data that was not there and not needed
};

// `bytes` is the serialized ModelProto. Errors: kFileCorrupt, kFileTooLarge, kField, kGraphCycle,
// kDuplicateName (a tensor with two producers), kUnknownName (of options.dimensions, too),
// kUsage (both options set the batch), kGraphShape (naming the op and the tensor). Memory stays
// proportional to the file, whatever sizes it claims.
Result<Graph> ReadOnnx(std::string_view bytes, const OnnxOptions& options,
                       OnnxReport* report = nullptr);

// The same model as a program that can be run. Errors: those of ReadOnnx, but a node whose output
// has no known shape is none: running the program finds it.
Result<ImportedModel> ImportOnnx(std::string_view bytes, const OnnxOptions& options);

}  // namespace placewright

#endif  // PLACEWRIGHT_FORMATS_ONNX_READER_H_
