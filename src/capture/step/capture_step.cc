#include "capture/step/capture_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/text.h"
#include "base/thread_pool.h"
#include "capture/step/model_step.h"
#include "graph/analysis/index_limits.h"
#include "graph/batch/at_batch.h"
#include "graph/batch/proof.h"

namespace placewright {
namespace {

using Sizes = std::array<int64_t, 2>;

Result<GraphBuilder> RecordAt(const StepSource& source, int64_t batch, Training training) {
  PW_ASSIGN(ModelStep step, ModelStep::Build(source, batch, training, true));
  return step.RecordToCompare();
}

// The step at two sizes, or why there are none.
struct Others {
  Sizes sizes{};
  std::vector<GraphBuilder> recordings;
  std::string reason;  // of the first sizes tried
};

Others RecordOthers(const StepSource& source, int64_t batch, Training training) {
  Others others;
  for (const Sizes& sizes : {Sizes{batch + 1, 2 * batch + 3}, Sizes{2 * batch, 3 * batch},
                             Sizes{batch - 1, batch / 2}}) {
    if (sizes[1] < 1 || sizes[0] == sizes[1]) continue;
    if (others.sizes[0] == 0) others.sizes = sizes;
    std::vector<GraphBuilder> recordings;
    for (const int64_t size : sizes) {
      Result<GraphBuilder> recorded = RecordAt(source, size, training);
      if (recorded.ok()) {
        recordings.push_back(std::move(recorded).Take());
        continue;
      }
      if (others.reason.empty()) {
        others.reason = fmt::format("it cannot be recorded at batch {}: {}", size,
                                    Printable(recorded.error().message, 400));
      }
      break;
    }
    if (recordings.size() == 2) return {sizes, std::move(recordings), ""};
  }
  return others;
}

BatchScaling LawsOf(const Graph& graph, const Others& others) {
  if (others.recordings.size() == 2) {
    BatchScaling laws = DeriveBatchScaling(graph, others.recordings[0], others.recordings[1]);
    if (graph.batch() == 1 && !laws.reason.empty()) {
      laws.reason += "; LibTorch omits copies at batch 1: record the step at 2 or more";
    }
    return laws;
  }
  return BatchScaling{{graph.batch(), others.sizes[0], others.sizes[1]}, others.reason, {}, {}};
}

bool Agrees(const Graph& graph, const BatchScaling& laws, const Others& others,
            const Result<GraphBuilder>& smaller) {
  return smaller.ok() && FollowsLaws(laws, graph, others.recordings[0], smaller.value());
}

// The smallest size that agrees with the laws: 1, of which `one` is the recording, or about half.
int64_t ProveBelow(const StepSource& source, Training training, const Graph& graph,
                   const BatchScaling& laws, const Others& others,
                   const std::optional<Result<GraphBuilder>>& one) {
  const int64_t proven = laws.SmallestProven();
  if (!laws.reason.empty() || proven == 1) return 0;
  if (one && Agrees(graph, laws, others, *one)) return 1;
  const int64_t half = std::max<int64_t>(2, graph.batch() / 2);
  if (half >= proven) return 0;
  return Agrees(graph, laws, others, RecordAt(source, half, training)) ? half : 0;
}

std::string BytesOf(const at::Tensor& tensor) {
  const at::Tensor dense = tensor.contiguous();
  return {static_cast<const char*>(dense.data_ptr()), dense.nbytes()};
}

// What inputs of integers may hold stands in the file: what the model says, else what its ops allow.
Graph WithLimits(Graph graph, const Model& model) {
  constexpr std::string_view kInput = "input:";
  const IdVector<TensorId, int64_t> limits = IndexLimits(graph);
  IdVector<TensorId, int64_t> below(graph.tensor_count(), 0);
  for (const TensorId id : graph.tensors()) {
    const Tensor& tensor = graph.tensor(id);
    if (tensor.producer.valid() || tensor.kind != TensorKind::kInput) continue;
    const bool named = tensor.name.starts_with(kInput);
    const int64_t said = named ? model.LimitOf(tensor.name.substr(kInput.size())) : 0;
    below[id] =
        said > 0 && limits[id] > 0 ? std::min(said, limits[id]) : std::max(said, limits[id]);
  }
  return WithInputLimits(std::move(graph), below);
}

Result<Capture> RecordAsked(const StepSource& source, Training training) {
  PW_ASSIGN(ModelStep step, ModelStep::Build(source, source.batch(), training, true));
  PW_ASSIGN(ModelStep::Recording recording, step.Record());
  Capture capture{WithLimits(std::move(recording.step.graph), step.model()),
                  std::move(recording.step.module_stated), source.Notes()};
  for (std::string& note : step.model().Notes()) capture.notes.push_back(std::move(note));
  for (const auto& [id, found] : recording.step.inputs) {
    const at::Tensor content = step.model().ContentOf(found);
    if (content.defined()) capture.contents.emplace_back(id, BytesOf(content));
  }
  return capture;
}

}  // namespace

Result<Capture> CaptureStep(const StepSource& source, Training training, bool prove_batch) {
  const int64_t batch = source.batch();
  const bool prove = prove_batch && batch > 0;
  Others others;
  std::optional<Result<Capture>> capture;
  std::optional<Result<GraphBuilder>> one;
  ThreadPool(prove ? 2 : 1).ParallelFor(prove ? 2 : 1, [&](int which) {
    if (which == 0) {
      capture = RecordAsked(source, training);
      if (prove && capture->ok() && batch > 1) one = RecordAt(source, 1, training);
    } else {
      others = RecordOthers(source, batch, training);
    }
  });
  PW_ASSIGN(Capture recorded, std::move(*capture));
  if (!prove) return recorded;
  BatchScaling laws = LawsOf(recorded.graph, others);
  laws.smaller = ProveBelow(source, training, recorded.graph, laws, others, one);
  PW_ASSIGN(recorded.graph, WithBatchScaling(std::move(recorded.graph), std::move(laws)));
  return recorded;
}

}  // namespace placewright
