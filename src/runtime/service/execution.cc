#include "runtime/service/execution.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>

#include "aten/dtype_names.h"
#include "aten/failure.h"
#include "base/stop.h"
#include "runtime/executor/executor.h"
#include "runtime/inputs/piece_values.h"
#include "runtime/inputs/seeded_inputs.h"
#include "runtime/process/nccl_links.h"
#include "runtime/service/long_turns.h"
#include "runtime/service/step_exchange.h"

namespace placewright {
namespace {

// What leads from GPU to GPU of several ranks, and how it is called.
struct GpuLinks {
  std::unique_ptr<DeviceLinks> links;  // or none
  GpuTransfers transfers;
};

bool IsHere(const ExecutionRequest& request, DeviceId device) {
  return request.processes == nullptr || request.rank_of[device] == request.processes->rank();
}

std::vector<DeviceId> GpusHere(const ExecutionRequest& request) {
  std::vector<DeviceId> gpus;
  for (size_t i = 0; i < request.devices.size(); ++i) {
    const bool gpu = request.devices[i].kind == ExecutionDevice::Kind::kCuda;
    if (gpu && IsHere(request, DeviceId(i))) gpus.emplace_back(i);
  }
  return gpus;
}

// GPUs are counted machine by machine. A launcher may show each rank its own alone (srun --gpus-per-task): where
// LibTorch has as many as the rank, they are these.
void CountShownGpus(ExecutionRequest& request) {
  const std::vector<DeviceId> gpus = GpusHere(request);
  const bool shown = request.processes != nullptr && std::getenv("CUDA_VISIBLE_DEVICES") != nullptr;
  if (gpus.empty() || !shown) return;
  const int count = CudaDeviceCount();
  const bool all_here = request.devices[gpus.back().index()].cuda_index < count;
  if (all_here || gpus.size() != static_cast<size_t>(count)) return;
  for (size_t i = 0; i < gpus.size(); ++i) {
    request.devices[gpus[i].index()].cuda_index = static_cast<int>(i);
  }
}

// Called by all ranks.
Result<GpuLinks> MakeGpuLinks(const ExecutionRequest& request) {
  Processes& processes = *request.processes;
  std::vector<std::pair<DeviceId, c10::DeviceIndex>> own;
  for (const DeviceId gpu : GpusHere(request)) {
    own.emplace_back(gpu, static_cast<c10::DeviceIndex>(request.devices[gpu.index()].cuda_index));
  }
  // LibTorch has loaded it where it has a GPU.
  const Result<NcclLibrary> library = NcclLibrary::Find();
  const bool used = library.ok() && !processes.no_nccl();
  PW_ASSIGN(const auto gpus,
            ExchangeGpus(processes.channel(), GpusOfRank(own, used ? &library.value() : nullptr)));
  GpuLinks made;
  if (used) made.links = MakeNcclLinks(library.value(), processes.channel(), gpus);
  made.transfers = {CrossByNccl(gpus), GpuTransfersText(gpus)};
  if (!made.transfers.ways.empty() && processes.no_nccl()) {
    made.transfers.ways = "by the host's memory";
  }
  return made;
}

class ExecutionHere : public Execution {
 public:
  ExecutionHere(const ExecutionRequest& request, GpuLinks links, std::unique_ptr<Executor> executor)
      : graph_(*request.graph),
        links_(std::move(links)),
        executor_(std::move(executor)),
        devices_(request.devices.size()),
        seed_(request.seed),
        batches_(request.batches),
        original_(request.original),
        pieces_(request.pieces),
        processes_(request.processes),
        channel_(request.processes == nullptr ? nullptr : &request.processes->channel()),
        rank_of_(request.rank_of),
        interrupted_(request.interrupted) {
    if (channel_ != nullptr) turns_.emplace();
  }

  GpuTransfers gpu_transfers() const override { return links_.transfers; }
  void SetStep(int64_t step) override { step_ = step; }
  Result<Step> Run() override {
    Result<Step> ran = RunHere();
    // At once: what else is asked of this execution shall find the messages ended.
    if (!ran.ok() && processes_ != nullptr) return processes_->Fail(ran.error());
    return ran;
  }
  Status SetInput(TensorId input, std::string_view bytes) override {
    const Tensor& tensor = graph_.tensor(input);
    const at::Tensor held = executor_->Input(input);
    if (held.defined()) {
      return CatchFailure([&] {
        at::Tensor value = at::empty(tensor.shape, *ScalarTypeOf(tensor.dtype));
        if (value.nbytes() != bytes.size()) {
          throw TorchFailure(MakeError(
              ErrorCode::kField,
              fmt::format("{} bytes where its shape has {}", bytes.size(), value.nbytes())));
        }
        if (!bytes.empty()) std::memcpy(value.data_ptr(), bytes.data(), bytes.size());
        // As it lies in memory: what views it expects that.
        if (held.strides() != value.strides()) {
          value = at::empty_strided(held.sizes(), held.strides(), value.options()).copy_(value);
        }
        const Status set = executor_->SetInput(input, value);
        if (!set.ok()) throw TorchFailure(set.error());
      });
    }
    return Ok();
  }
  Result<std::string> ReadInput(TensorId input) const override {
    const at::Tensor held = executor_->Input(input);
    std::string bytes;
    if (held.defined()) {
      PW_RETURN_IF_ERROR(CatchFailure([&] {
        const at::Tensor value = held.to(at::kCPU).contiguous();
        bytes.assign(static_cast<const char*>(value.data_ptr()), value.nbytes());
      }));
    }
    if (channel_ == nullptr || executor_->input_rank(input) < 0) return bytes;
    return BringToRankZero(*channel_, executor_->input_rank(input), std::move(bytes));
  }
  std::string GeneratorState() const override {
    const at::Tensor state = at::detail::getDefaultCPUGenerator().get_state();
    return std::string(static_cast<const char*>(state.data_ptr()), state.nbytes());
  }
  Status SetGeneratorState(std::string_view state) override {
    const Status set = CatchFailure([&] {
      at::Tensor bytes = at::empty({static_cast<int64_t>(state.size())}, at::kByte);
      if (!state.empty()) std::memcpy(bytes.data_ptr(), state.data(), state.size());
      at::Generator generator = at::detail::getDefaultCPUGenerator();
      generator.set_state(bytes);
    });
    if (set.ok()) return Ok();
    return MakeError(ErrorCode::kField,
                     "it is no state of LibTorch's generator: " + set.error().message);
  }
  Schedule LastSchedule() const override {
    if (channel_ == nullptr) return executor_->LastSchedule();
    Result<Schedule> all = GatherSchedule(*channel_, executor_->LastSchedule());
    // A channel that has failed does so again in the next step, which says so.
    return all.ok() ? all.Take() : executor_->LastSchedule();
  }
  CopiedViews LastCopiedViews() const override { return executor_->LastCopiedViews(); }
  IdVector<OpId, int64_t> LastWorkspaces() const override { return executor_->LastWorkspaces(); }

  std::vector<int64_t> TakePeaks() override {
    std::vector<int64_t> peaks;
    for (const DeviceId device : IdRange<DeviceId>(devices_)) {
      if (channel_ != nullptr && rank_of_[device] != channel_->rank()) {
        peaks.push_back(0);
        continue;
      }
      DeviceMemory& memory = executor_->device(device).memory();
      peaks.push_back(memory.peak());
      memory.ResetPeak();
    }
    if (channel_ == nullptr) return peaks;
    Result<std::vector<int64_t>> all = GatherByDevice(*channel_, peaks, rank_of_);
    return all.ok() ? all.Take() : peaks;
  }

 private:
  Result<Step> RunHere() {
    if (batches_ > 1) {
      PW_ASSIGN(auto batch,
                SeededBatch(original_ == nullptr ? graph_ : *original_, seed_, step_ % batches_));
      if (original_ != nullptr) batch = PieceValues(batch, pieces_);
      for (const auto& [id, tensor] : batch) {
        if (executor_->Input(id).defined()) PW_RETURN_IF_ERROR(executor_->SetInput(id, tensor));
      }
    }
    ++step_;
    const bool long_turns = way_.second();
    if (turns_) turns_->Set(long_turns);
    const Clock::time_point begin = Clock::now();
    PW_RETURN_IF_ERROR(executor_->Step());
    Step step;
    step.time_ns =
        std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin).count();
    if (!graph_.outputs().empty()) {
      const at::Tensor loss = executor_->Output(0);
      if (loss.defined() && loss.numel() == 1) step.loss = loss.to(at::kDouble).item<double>();
    }
    step.stop = interrupted_ != nullptr && *interrupted_;
    if (channel_ == nullptr) return step;
    Result<Step> all = ExchangeStep(*channel_, step, executor_->random_rank());
    if (all.ok()) {
      all.value().long_turns = long_turns;
      way_.Took(all.value().time_ns);
    } else if (all.error().place.empty()) {
      all.error().place = "the end of a step";
    }
    return all;
  }

  const Graph& graph_;
  const GpuLinks links_;  // outlive the executor
  std::unique_ptr<Executor> executor_;
  const size_t devices_;
  const uint64_t seed_;
  const int64_t batches_;
  const Graph* const original_;  // or nullptr
  const std::vector<DistributedStep::InputPiece> pieces_;
  Processes* const processes_;  // nullptr: one
  Channel* const channel_;      // to the other ranks; nullptr without any
  const IdVector<DeviceId, int32_t> rank_of_;
  const std::atomic<bool>* const interrupted_;  // or nullptr
  int64_t step_ = 0;
  // Of several processes: threads take long turns where steps are shorter by it.
  std::optional<LongTurns> turns_;
  WayOfSteps way_;
};

std::vector<int> CoresOfThisProcess() {
  std::vector<int> cores;
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &allowed)) cores.push_back(core);
  }
  return cores;
}

// The cores of each device, one device after the other; none for any where they do not suffice for all.
std::vector<std::vector<int>> ShareCores(const std::vector<ExecutionDevice>& devices) {
  const std::vector<int> cores = CoresOfThisProcess();
  std::vector<std::vector<int>> shares(devices.size());
  size_t next = 0;
  for (size_t i = 0; i < devices.size(); ++i) {
    const bool cpu = devices[i].kind != ExecutionDevice::Kind::kCuda &&
                     devices[i].kind != ExecutionDevice::Kind::kElsewhere;
    if (!cpu) continue;
    const auto threads = static_cast<size_t>(std::max(1, devices[i].threads));
    const size_t first =
        devices[i].first_core >= 0 ? static_cast<size_t>(devices[i].first_core) : next;
    if (first + threads > cores.size()) return std::vector<std::vector<int>>(devices.size());
    shares[i].assign(cores.begin() + static_cast<int64_t>(first),
                     cores.begin() + static_cast<int64_t>(first + threads));
    next = first + threads;
  }
  return shares;
}

}  // namespace

// LibTorch's switches are the process's: from here on. An op that has no such kernel then fails by name.
static void ComputeDeterministically() {
  at::Context& context = at::globalContext();
  context.setDeterministicAlgorithms(true, /*warn_only=*/false);
  context.setDeterministicCuDNN(true);
  context.setBenchmarkCuDNN(false);
  context.setAllowTF32CuDNN(false);
  context.setAllowTF32CuBLAS(false);
}

Result<std::unique_ptr<Execution>> StartExecution(ExecutionRequest request) {
  if (request.deterministic) ComputeDeterministically();
  if (request.wide) c10::set_default_dtype(caffe2::TypeMeta::Make<double>());
  CountShownGpus(request);
  const std::vector<std::vector<int>> cores = ShareCores(request.devices);
  std::vector<std::unique_ptr<RuntimeDevice>> devices;
  for (size_t i = 0; i < request.devices.size(); ++i) {
    const ExecutionDevice& device = request.devices[i];
    CpuDeviceOptions options{device.name, device.threads, device.memory_limit};
    if (device.kind == ExecutionDevice::Kind::kCpu) options.cores = cores[i];
    if (!IsHere(request, DeviceId(i))) {
      devices.push_back(nullptr);
      continue;
    }
    switch (device.kind) {
      case ExecutionDevice::Kind::kCpu: devices.push_back(MakeCpuDevice(options)); break;
      case ExecutionDevice::Kind::kSimulated:
        devices.push_back(MakeSimulatedDevice(options));
        break;
      case ExecutionDevice::Kind::kCuda:
        if (device.cuda_index >= CudaDeviceCount()) {
          return MakeError(
              ErrorCode::kMissingRuntime,
              fmt::format("{} is a GPU, CUDA device {} of this LibTorch, which has {}", device.name,
                          device.cuda_index, CudaDeviceCount()),
              "",
              "`placewright doctor` says what is here. `run --simulate-devices` lets this "
              "machine's cores stand for the plan's devices; times are then theirs.");
        }
        devices.push_back(MakeCudaDevice(device.name, device.cuda_index, device.memory_limit));
        break;
      case ExecutionDevice::Kind::kElsewhere:
        return MakeError(ErrorCode::kMissingRuntime,
                         fmt::format("{} is on another machine than its rank", device.name));
    }
  }
  GpuLinks links;
  ExecutorOptions options;
  options.policy = request.policy;
  options.paths = std::move(request.paths);
  options.sequences = request.sequences;
  options.measure_workspace = request.measure_workspace;
  if (request.processes != nullptr) {
    PW_ASSIGN(links, MakeGpuLinks(request));
    options.channel = &request.processes->channel();
    options.links = links.links.get();
    options.rank_of = request.rank_of;
    options.predicted = request.predicted;
  }
  PW_ASSIGN(auto executor, Executor::Create(*request.graph, request.placement, std::move(devices),
                                            std::move(options)));
  const Graph* const original = request.original;
  PW_ASSIGN(auto inputs,
            SeededInputs(original == nullptr ? *request.graph : *original, request.seed));
  if (original != nullptr) inputs = PieceValues(inputs, request.pieces);
  for (const auto& [id, tensor] : inputs) PW_RETURN_IF_ERROR(executor->SetInput(id, tensor));
  at::manual_seed(request.seed);
  return std::unique_ptr<Execution>(
      std::make_unique<ExecutionHere>(request, std::move(links), std::move(executor)));
}

}  // namespace placewright
