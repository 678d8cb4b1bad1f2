// The entry of libplacewright_torch_run.so: plans executed.
#include "aten/torch_version.h"
#include "runtime/service/execution.h"
#include "torch_api/torch_api.h"

namespace placewright {
namespace {

class Executions : public ExecutionService {
 public:
  Result<std::unique_ptr<Execution>> Start(ExecutionRequest request) const override {
    return StartExecution(std::move(request));
  }
};

class RunLibraryApi : public TorchApi {
 public:
  int version() const override { return kVersion; }
  std::string libtorch_version() const override { return kTorchVersion; }
  int cuda_devices() const override { return 0; }
  const ExecutionService* executions() const override { return &executions_; }

 private:
  Executions executions_;
};

}  // namespace
}  // namespace placewright

extern "C" const placewright::TorchApi* placewright_torch_api() {
  static const placewright::RunLibraryApi api;
  return &api;
}
