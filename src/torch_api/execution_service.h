// Plans executed on this machine: what the program asks of `runtime`, without LibTorch.
#ifndef PLACEWRIGHT_TORCH_API_EXECUTION_SERVICE_H_
#define PLACEWRIGHT_TORCH_API_EXECUTION_SERVICE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "graph/graph.h"
#include "plan/distributed_step.h"
#include "plan/placement.h"
#include "plan/schedule.h"
#include "plan/sequence.h"
#include "torch_api/process_service.h"

namespace placewright {

// A device of the plan, and what stands for it here.
struct ExecutionDevice {
  enum class Kind : uint8_t {
    kCpu,        // cores of this machine
    kCuda,       // a GPU of this machine, by LibTorch with CUDA
    kSimulated,  // the same, but as an accelerator: a queue, and a memory that others do not see
    kElsewhere   // on another machine of a run over several processes
  };
  std::string name;
  Kind kind = Kind::kCpu;
  int threads = 1;           // of this machine, inside an op
  int64_t memory_limit = 0;  // bytes; 0: none
  int cuda_index = 0;        // kCuda: as LibTorch counts them
  // CPUs: which of the cores that this process may use is its first; -1: behind those of the device
  // before it.
  int first_core = -1;
};

struct ExecutionRequest {
  const Graph* graph = nullptr;  // a recorded step; outlives the execution
  Placement placement;
  std::vector<ExecutionDevice> devices;  // as `placement` numbers them
  SchedulingPolicy policy = SchedulingPolicy::kFifo;
  IdVector<OpId, int64_t> paths;  // [op], for critical path
  uint64_t seed = 0;              // of inputs, parameters, and random ops
  int64_t batches = 1;            // seeded ones, that take turns
  bool measure_workspace = false;
  // The same bits in every run, on GPUs, too: kernels that LibTorch calls deterministic, no TF32, no cuDNN
  // benchmark, a fixed workspace of cuBLAS. From then on, for the whole process: LibTorch's switches are its.
  bool deterministic = false;
  // LibTorch's default type of floating point numbers is float64: of steps that were made wider. From then on,
  // for the whole process.
  bool wide = false;
  // Where `graph` is a compiled step: what it was compiled of, and what its inputs are of that one's. Seeded
  // values are then parts of those that the original has. Outlives the execution.
  const Graph* original = nullptr;
  std::vector<DistributedStep::InputPiece> pieces{};
  // Devices that run their ops in exactly this order, whatever the policy; of `placement`.
  Sequences sequences{};
  // Of a run over several processes, alike on all ranks but for `processes`, which outlives the execution: whose
  // each device is. `predicted`: the plan's schedule, which says in which order things cross; or nullptr.
  Processes* processes = nullptr;
  IdVector<DeviceId, int32_t> rank_of{};
  const Schedule* predicted = nullptr;
  const std::atomic<bool>* interrupted = nullptr;  // asked after every step
};

// How tensors cross between GPUs of several ranks.
struct GpuTransfers {
  bool by_nccl = false;  // but for those of one GPU that several ranks have
  std::string ways;      // in words; "": there are no such GPUs
};

// Views that were copies, since what they view lay otherwise in memory than the step expects.
struct CopiedViews {
  int64_t views = 0, bytes = 0;
};

// Over several processes all ranks call the functions of this class in one order. What they return of the step
// is the same on all ranks, but for the schedule and peaks, of which rank 0 has those of all devices and the
// others theirs, and workspaces, of which each has its own.
class Execution {
 public:
  struct Step {
    int64_t time_ns = 0;         // of the slowest rank
    std::optional<double> loss;  // the graph's first output, where that is one number
    bool stop = false;           // ExecutionRequest::interrupted, on any rank
    // Whether threads waited for the end of one another's turns on a core; the second to fifth step find out
    // whether that makes steps shorter. None of one process.
    std::optional<bool> long_turns;
  };
  virtual ~Execution() = default;
  virtual GpuTransfers gpu_transfers() const = 0;
  // How many steps the values have behind them: which batch is next.
  virtual void SetStep(int64_t step) = 0;
  // One training step, or forward pass. Errors: kExecution, kDeviceMemory.
  virtual Result<Step> Run() = 0;
  // An input of the graph, as elements in row-major order, little-endian; it stays from step to step,
  // with what ops write in it. Of what no op reads: nothing happens, and "" is read. Errors: kField
  // (another length than its shape and dtype have), kDeviceMemory.
  virtual Status SetInput(TensorId input, std::string_view bytes) = 0;
  // Over several processes rank 0 reads, the others get "".
  virtual Result<std::string> ReadInput(TensorId input) const = 0;
  // Of the generator that random ops draw from. Errors: kField (no such state).
  virtual std::string GeneratorState() const = 0;
  virtual Status SetGeneratorState(std::string_view state) = 0;
  // What happened in the last step, in the form of a simulated one: nanoseconds from its begin.
  virtual Schedule LastSchedule() const = 0;
  // [op], bytes: in use while it was called in the last step, beyond those in use before and after.
  // Where the request asks for it.
  virtual IdVector<OpId, int64_t> LastWorkspaces() const = 0;
  // Of the last step, on this rank: nothing predicts them.
  virtual CopiedViews LastCopiedViews() const { return {}; }
  // Bytes of tensors by device, at the most since the last call.
  virtual std::vector<int64_t> TakePeaks() = 0;
};

class ExecutionService {
 public:
  virtual ~ExecutionService() = default;
  // Sets all inputs to seeded values. Errors: kUnknownName, kPlanInvalid (sequences that make ops wait for
  // one another), kField (the graph is no recorded step that
  // this LibTorch can run), kDeviceMemory.
  virtual Result<std::unique_ptr<Execution>> Start(ExecutionRequest request) const = 0;
  // The processes that this one has been started with (torchrun, mpirun, srun), once all have come; nullptr
  // where it was started by itself. Errors: kUsage (variables of the environment that do not fit),
  // kMissingRuntime (ranks that do not come, a port in use), kPlanMismatch (facts that differ), kInterrupted, and
  // what keeps a rank from taking part, this one or another.
  virtual Result<std::unique_ptr<Processes>> Join(const JoinRequest& request) const = 0;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_TORCH_API_EXECUTION_SERVICE_H_
