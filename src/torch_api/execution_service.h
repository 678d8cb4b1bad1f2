// Plans executed on this machine: what the program asks of `runtime`, without LibTorch.
#ifndef PLACEWRIGHT_TORCH_API_EXECUTION_SERVICE_H_
#define PLACEWRIGHT_TORCH_API_EXECUTION_SERVICE_H_

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

namespace placewright {

// A device of the plan, and what stands for it here.
struct ExecutionDevice {
  enum class Kind : uint8_t {
    kCpu,       // cores of this machine
    kCuda,      // a GPU of this machine, by LibTorch with CUDA
    kSimulated  // the same, but as an accelerator: a queue, and a memory that others do not see
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
};

class Execution {
 public:
  struct Step {
    int64_t time_ns = 0;
    std::optional<double> loss;  // the graph's first output, where that is one number
  };
  virtual ~Execution() = default;
  // How many steps the values have behind them: which batch is next.
  virtual void SetStep(int64_t step) = 0;
  // One training step, or forward pass. Errors: kExecution, kDeviceMemory.
  virtual Result<Step> Run() = 0;
  // An input of the graph, as elements in row-major order, little-endian; it stays from step to step,
  // with what ops write in it. Of what no op reads: nothing happens, and "" is read. Errors: kField
  // (another length than its shape and dtype have), kDeviceMemory.
  virtual Status SetInput(TensorId input, std::string_view bytes) = 0;
  virtual Result<std::string> ReadInput(TensorId input) const = 0;
  // Of the generator that random ops draw from. Errors: kField (no such state).
  virtual std::string GeneratorState() const = 0;
  virtual Status SetGeneratorState(std::string_view state) = 0;
  // What happened in the last step, in the form of a simulated one: nanoseconds from its begin.
  virtual Schedule LastSchedule() const = 0;
  // [op], bytes: in use while it was called in the last step, beyond those in use before and after.
  // Where the request asks for it.
  virtual IdVector<OpId, int64_t> LastWorkspaces() const = 0;
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
};

}  // namespace placewright

#endif  // PLACEWRIGHT_TORCH_API_EXECUTION_SERVICE_H_
