#include "formats/onnx/reader.h"

#include <fmt/format.h>

#include <exception>
#include <new>

#include "formats/onnx/emit.h"
#include "formats/onnx/scope.h"
#include "formats/onnx/shapes/infer.h"
#include "formats/onnx/sources.h"
#include "formats/onnx/wire.h"

namespace placewright {
namespace {

using namespace onnx_import;  // NOLINT: this file is the module's own front

// The graph at the sizes of `options`, and the fixed batch that these replaced (0: none).
struct SizedGraph {
  Graph graph;
  int64_t replaced_batch = 0;
};

Result<SizedGraph> ReadSized(const onnx::ModelProto& model, const std::vector<int>& order,
                             const OnnxOptions& options, OnnxReport* report) {
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
  PW_ASSIGN(Graph graph,
            EmitGraph({model, ops, sources, types, inference.OpsetVersion(""), batch}, report));
  return SizedGraph{std::move(graph), sources.replaced_batch};
}

// A batch of 1 broadcasts against whatever the model's constants fix: the shapes then fit together
// and mean nothing. Another batch, large and prime, shows whether the model scales at all.
Status CheckScales(const onnx::ModelProto& model, const std::vector<int>& order,
                   OnnxOptions options, int64_t fixed) {
  constexpr int64_t kProbe = 1009;
  options.batch = kProbe;
  const Result<SizedGraph> probe = ReadSized(model, order, options, nullptr);
  if (probe.ok() || probe.error().code != ErrorCode::kGraphShape) return Ok();
  return MakeError(
      ErrorCode::kGraphShape,
      fmt::format("--batch 1 cannot be applied: constants of the model fix its batch "
                  "at {}, against which 1 only broadcasts (at batch {}: {})",
                  fixed, kProbe, probe.error().message),
      probe.error().place,
      fmt::format("Leave --batch out (the model's is {}), or export the model at that batch.",
                  fixed));
}

Result<Graph> ReadModel(std::string_view bytes, const OnnxOptions& options, OnnxReport* report) {
  PW_ASSIGN(const onnx::ModelProto model, ParseModel(bytes));
  PW_ASSIGN(const std::vector<int> order, SortNodes(model.graph()));
  PW_ASSIGN(SizedGraph sized, ReadSized(model, order, options, report));
  if (options.batch == 1 && sized.replaced_batch > 1) {
    PW_RETURN_IF_ERROR(CheckScales(model, order, options, sized.replaced_batch));
  }
  return std::move(sized.graph);
}

}  // namespace

Result<Graph> ReadOnnx(std::string_view bytes, const OnnxOptions& options, OnnxReport* report) {
  // Exceptions of libonnx and protobuf stop here; those of one node's inference stop earlier.
  try {
    return ReadModel(bytes, options, report);
  } catch (const std::bad_alloc&) {
    throw;  // base/out_of_memory.h
  } catch (const std::exception& error) {
    return MakeError(ErrorCode::kFileCorrupt,
                     std::string("the model cannot be read: ") + error.what());
  }
}

}  // namespace placewright
