#include "formats/onnx/reader.h"

#include <fmt/format.h>

#include <exception>
#include <new>
#include <utility>

#include "base/text.h"
#include "formats/onnx/batch_proof.h"
#include "formats/onnx/emit.h"
#include "formats/onnx/import.h"
#include "formats/onnx/scope.h"
#include "formats/onnx/shapes/infer.h"
#include "formats/onnx/sources.h"
#include "formats/onnx/wire.h"

namespace placewright {
namespace {

using namespace onnx_import;  // NOLINT: this file is the module's own front

// The model's tensors at the sizes of the options.
struct SizedModel {
  Sources sources;
  std::vector<int> ops;  // without folded nodes, topological
  TypeTable types;
  int opset = 0;
  int64_t batch = 0;
};

Result<SizedModel> SizeModel(const onnx::ModelProto& model, const std::vector<int>& order,
                             const OnnxOptions& options) {
  SizedModel sized;
  PW_ASSIGN(sized.sources, CollectSources(model, options.folder));
  PW_RETURN_IF_ERROR(ApplyDimensions(model, options, &sized.sources));
  for (const Source& source : sized.sources.sources) sized.types.Set(source.name, source.known);
  for (const int index : order) {
    if (!sized.sources.folded[static_cast<size_t>(index)]) sized.ops.push_back(index);
  }
  const bool use_stored = !options.batch && options.dimensions.empty() &&
                          sized.sources.assumed_dimensions.empty() &&
                          !sized.sources.given_dimensions;
  ShapeInference inference(model, use_stored);
  inference.Run(model.graph(), sized.ops, &sized.types);
  sized.opset = inference.OpsetVersion("");
  sized.batch = options.batch.value_or(RecordedBatch(model));
  return sized;
}

EmitInput EmitInputOf(const onnx::ModelProto& model, const SizedModel& sized) {
  return {model, sized.ops, sized.sources, sized.types, sized.opset, sized.batch};
}

// A batch of 1 broadcasts against whatever the model's constants fix: the shapes then fit together
// and mean nothing. Another batch, large and prime, shows whether the model scales at all.
Status CheckBatchOneMeaningful(const onnx::ModelProto& model, const std::vector<int>& order,
                               OnnxOptions options, int64_t fixed) {
  constexpr int64_t kProbe = 1009;
  options.batch = kProbe;
  PW_ASSIGN(const SizedModel sized, SizeModel(model, order, options));
  const Result<Graph> probe = EmitGraph(EmitInputOf(model, sized), nullptr);
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

// The fixed batch in whose place another can be put; 0 where there is none.
int64_t ReplaceableBatch(const onnx::ModelProto& model, OnnxOptions options) {
  options.batch = kProbeBatch;
  Result<Sources> sources = CollectSources(model, options.folder);
  const bool applied = sources.ok() && ApplyDimensions(model, options, &sources.value()).ok();
  return applied ? sources.value().replaced_batch : 0;
}

Result<Graph> ProveBatch(Graph graph, const onnx::ModelProto& model, const std::vector<int>& order,
                         const OnnxOptions& options) {
  return WithBatchProof(std::move(graph), [&](int64_t batch) -> Result<GraphBuilder> {
    OnnxOptions other = options;
    other.batch = batch;
    PW_ASSIGN(const SizedModel sized, SizeModel(model, order, other));
    OnnxReport report;
    PW_ASSIGN(GraphBuilder builder, EmitBuilder(EmitInputOf(model, sized), &report));
    if (report.assumed_shapes.empty()) return builder;
    return MakeError(ErrorCode::kGraphShape, fmt::format("nothing states what {} gives",
                                                         Printable(report.assumed_shapes[0])));
  });
}

Result<Graph> ReadModel(std::string_view bytes, const OnnxOptions& options, OnnxReport* report) {
  PW_ASSIGN(const onnx::ModelProto model, ParseModel(bytes));
  PW_ASSIGN(const std::vector<int> order, SortNodes(model.graph()));
  PW_ASSIGN(SizedModel sized, SizeModel(model, order, options));
  if (options.prove_batch && sized.batch == 0) sized.batch = ReplaceableBatch(model, options);
  if (report != nullptr) {
    report->missing_files = sized.sources.missing_files;
    report->assumed_dimensions = sized.sources.assumed_dimensions;
  }
  PW_ASSIGN(Graph graph, EmitGraph(EmitInputOf(model, sized), report));
  if (options.batch == 1 && sized.sources.replaced_batch > 1) {
    PW_RETURN_IF_ERROR(
        CheckBatchOneMeaningful(model, order, options, sized.sources.replaced_batch));
  }
  if (options.prove_batch) return ProveBatch(std::move(graph), model, order, options);
  return graph;
}

// An error of the graph matters to a program unless it says only that a node's result is of unknown
// shape, while the inputs are as the file wants them.
bool OnlyNodeShapesOpen(const Error& error, const Sources& sources) {
  return error.code == ErrorCode::kGraphShape && sources.open_dimensions.empty() &&
         sources.replaced_batch == 0;
}

Result<ImportedModel> ImportModel(std::string_view bytes, const OnnxOptions& options) {
  PW_ASSIGN(const onnx::ModelProto model, ParseModel(bytes));
  PW_ASSIGN(const std::vector<int> order, SortNodes(model.graph()));
  PW_ASSIGN(const SizedModel sized, SizeModel(model, order, options));
  const Result<Graph> graph = EmitGraph(EmitInputOf(model, sized), nullptr);
  if (!graph.ok() && !OnlyNodeShapesOpen(graph.error(), sized.sources)) return graph.error();
  if (options.batch == 1 && sized.sources.replaced_batch > 1) {
    PW_RETURN_IF_ERROR(
        CheckBatchOneMeaningful(model, order, options, sized.sources.replaced_batch));
  }
  OnnxOptions probe = options;
  probe.batch = kProbeBatch;
  PW_ASSIGN(Sources probed, CollectSources(model, options.folder));
  const bool has_batch = ApplyDimensions(model, probe, &probed).ok();
  return ToImportedModel(EmitInputOf(model, sized), has_batch ? &probed : nullptr, options);
}

// Exceptions of libonnx and protobuf stop here; those of one node's inference stop earlier.
template <class T, class Body>
Result<T> WithoutExceptions(const Body& body) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    throw;  // base/out_of_memory.h
  } catch (const std::exception& error) {
    return MakeError(ErrorCode::kFileCorrupt,
                     std::string("the model cannot be read: ") + error.what());
  }
}

}  // namespace

Result<Graph> ReadOnnx(std::string_view bytes, const OnnxOptions& options, OnnxReport* report) {
  return WithoutExceptions<Graph>([&] { return ReadModel(bytes, options, report); });
}

Result<ImportedModel> ImportOnnx(std::string_view bytes, const OnnxOptions& options) {
  return WithoutExceptions<ImportedModel>([&] { return ImportModel(bytes, options); });
}

}  // namespace placewright
