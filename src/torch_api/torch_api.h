// What the program asks of LibTorch, in an interface that knows nothing of LibTorch: one class for
// each service. The starred modules live in shared libraries (src/torch_library) that implement it;
// the program opens one when a command needs it (torch_api/torch_library.h).
#ifndef PLACEWRIGHT_TORCH_API_TORCH_API_H_
#define PLACEWRIGHT_TORCH_API_TORCH_API_H_

#include <string>

namespace placewright {

class CaptureService;    // torch_api/capture_service.h
class EvaluatorService;  // torch_api/evaluator_service.h
class ExecutionService;  // torch_api/execution_service.h
class PlannerService;    // torch_api/planner_service.h
class ProfilingService;  // torch_api/profiling_service.h

class TorchApi {
 public:
  // Raised with every change of this class or a service: an older library is refused, never called.
  static constexpr int kVersion = 20;

  virtual ~TorchApi() = default;
  virtual int version() const = 0;
  virtual std::string libtorch_version() const = 0;  // "1.13.1"
  virtual int cuda_devices() const = 0;              // usable by LibTorch
  // The file that LibTorch's matrix products come from, and of OpenBLAS in parentheses which kernels it
  // chose; "" where they are its own.
  virtual std::string blas() const { return ""; }

  // nullptr for what the library does not offer. They live as long as the library.
  virtual const CaptureService* capture() const { return nullptr; }
  virtual const PlannerService* planners() const { return nullptr; }
  virtual const EvaluatorService* evaluators() const { return nullptr; }
  virtual const ExecutionService* executions() const { return nullptr; }
  virtual const ProfilingService* profiling() const { return nullptr; }
};

}  // namespace placewright

#endif  // PLACEWRIGHT_TORCH_API_TORCH_API_H_
