#include "layouts_over_ranks.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "capture/step/model_step.h"
#include "capture/step/tiny_models.h"
#include "compile/compiler.h"
#include "compile/drawn_layouts.h"
#include "runtime/executor/executor.h"
#include "runtime/executor/made_step.h"
#include "runtime/inputs/piece_values.h"
#include "runtime/inputs/seeded_inputs.h"
#include "simulated_devices.h"
#include "transforms/counter_draws.h"

namespace placewright {
namespace {

constexpr uint64_t kSeed = 5;
constexpr int64_t kBatch = 5;
constexpr int kSteps = 2;
constexpr size_t kMost = 4;  // devices

// Products, convolutions with batch norms, LSTMs, attention, experts; both optimizers.
std::vector<TinyModel> Models() {
  const std::set<std::string> names = {"bert-base",       "gnmt-2",    "gpt-2",  "mlp",
                                       "moe-transformer", "resnet-50", "rnnlm-2"};
  std::vector<TinyModel> models;
  for (const TinyModel& model : TinyModels()) {
    const bool trained = model.training != Training::kNone;
    const bool once = models.empty() || models.back().model != std::string(model.model);
    if (model.precision == CapturePrecision::kAsIs && trained && once &&
        names.contains(model.model)) {
      models.push_back(model);
    }
  }
  return models;
}

struct Recorded {
  Graph graph;
  std::vector<std::pair<TensorId, at::Tensor>> inputs;
};

Result<Recorded> Record(const TinyModel& model) {
  CaptureRequest request = model.Request();
  request.values["batch"] = static_cast<double>(kBatch);
  PW_ASSIGN(Capture capture, CaptureZooModel(request));
  PW_ASSIGN(Graph graph, UseCounterBasedDraws(std::move(capture.graph), kSeed));
  PW_ASSIGN(auto inputs, SeededInputs(graph, kSeed));
  return Recorded{std::move(graph), std::move(inputs)};
}

Status RunSteps(Executor& executor, const std::vector<std::pair<TensorId, at::Tensor>>& pieces) {
  for (const auto& [id, tensor] : pieces) PW_RETURN_IF_ERROR(executor.SetInput(id, tensor));
  at::manual_seed(kSeed);
  for (int step = 0; step < kSteps; ++step) PW_RETURN_IF_ERROR(executor.Step());
  return Ok();
}

// Adds to `compared`. What lies on other ranks is undefined here.
bool SameWhereDefined(const at::Tensor& found, const at::Tensor& alone, int64_t& compared) {
  if (!found.defined()) return true;
  ++compared;
  return alone.defined() && SameBits(found, alone);
}

// Adds to `compared` what this rank has compared.
Status RunLayouts(const Recorded& recorded, const DistributedStep& step, size_t devices,
                  const IdVector<DeviceId, int32_t>& rank_of, Rendezvous& ranks,
                  int64_t& compared) {
  const auto pieces = PieceValues(recorded.inputs, step.inputs);
  PW_ASSIGN(const auto alone,
            Executor::Create(step.graph, step.placement, SimulatedDevices(devices)));
  PW_RETURN_IF_ERROR(RunSteps(*alone, pieces));
  std::vector<std::unique_ptr<RuntimeDevice>> own = SimulatedDevices(devices);
  for (size_t d = 0; d < devices; ++d) {
    if (rank_of[DeviceId(d)] != ranks.rank()) own[d] = nullptr;
  }
  ExecutorOptions options;
  options.channel = &ranks.channel();
  options.rank_of = rank_of;
  PW_ASSIGN(const auto together,
            Executor::Create(step.graph, step.placement, std::move(own), options));
  PW_RETURN_IF_ERROR(RunSteps(*together, pieces));
  bool same = SameWhereDefined(together->Output(0), alone->Output(0), compared);
  for (const auto& [id, tensor] : pieces) {
    same = same && SameWhereDefined(together->Input(id), alone->Input(id), compared);
  }
  return same ? Ok() : Status(MakeError(ErrorCode::kInternal, "other bits"));
}

}  // namespace

Status RunDrawnLayouts(Rendezvous& ranks, int of_each) {
  Random random(3);
  const auto count = static_cast<size_t>(ranks.size());
  int layouts_compared = 0;
  for (const TinyModel& model : Models()) {
    PW_ASSIGN(const Recorded recorded, Record(model));
    const NamedAxes axes(recorded.graph);
    int64_t compared = 0;
    for (int i = 0; i < of_each; ++i) {
      const size_t devices = count + random.Below(kMost - count + 1);
      IdVector<DeviceId, int32_t> rank_of;
      for (size_t d = 0; d < devices; ++d) {
        rank_of.push_back(static_cast<int32_t>(d < count ? d : random.Below(count)));
      }
      const Layouts layouts =
          i == 0 ? DataParallelLayouts(recorded.graph, axes, RandomLengths(random, devices, kBatch))
                 : RandomLayouts(random, recorded.graph, axes, devices);
      PW_ASSIGN(const DistributedStep step,
                Compile(recorded.graph, axes, layouts, DevicesAlike(devices)));
      const Status ran = RunLayouts(recorded, step, devices, rank_of, ranks, compared);
      if (!ran.ok()) {
        Error error = ran.error();
        error.message += fmt::format(", {}, layouts {}", NameOf(model), i);
        return error;
      }
      ++layouts_compared;
    }
    if (compared == 0) return MakeError(ErrorCode::kInternal, "nothing was compared");
  }
  printf("layouts compared: %d\n", layouts_compared);
  return Ok();
}

}  // namespace placewright
