#include "formats/onnx/reader.h"

#include <exception>

#include "formats/onnx/emit.h"
#include "formats/onnx/scope.h"
#include "formats/onnx/shapes/infer.h"
#include "formats/onnx/sources.h"
#include "formats/onnx/wire.h"

namespace placewright {
namespace {

using namespace onnx_import;  // NOLINT: this file is the module's own front

Result<Graph> ReadModel(std::string_view bytes, const OnnxOptions& options, OnnxReport* report) {
  PW_ASSIGN(const onnx::ModelProto model, ParseModel(bytes));
  PW_ASSIGN(const std::vector<int> order, SortNodes(model.graph()));
  PW_ASSIGN(Sources sources, CollectSources(model, options.folder));
  PW_RETURN_IF_ERROR(ApplyDimensions(model, options, &sources));

  TypeTable types;
  for (const Source& source : sources.sources) types.Set(source.name, source.known);
  std::vector<int> ops;
  for (const int index : order) {
    if (!sources.folded[static_cast<size_t>(index)]) ops.push_back(index);
  }
  const bool use_stored =
      !options.batch && options.dimensions.empty() && sources.assumed_dimensions.empty();
  ShapeInference inference(model, use_stored);
  inference.Run(model.graph(), ops, &types);

  if (report != nullptr) {
    report->missing_files = sources.missing_files;
    report->assumed_dimensions = sources.assumed_dimensions;
  }
  const int64_t batch = options.batch.value_or(RecordedBatch(model));
  return EmitGraph({model, ops, sources, types, inference.OpsetVersion(""), batch}, report);
}

}  // namespace

Result<Graph> ReadOnnx(std::string_view bytes, const OnnxOptions& options, OnnxReport* report) {
  // Exceptions of libonnx and protobuf stop here; those of one node's inference stop earlier.
  try {
    return ReadModel(bytes, options, report);
  } catch (const std::exception& error) {
    return MakeError(ErrorCode::kFileCorrupt,
                     std::string("the model cannot be read: ") + error.what());
  }
}

}  // namespace placewright
