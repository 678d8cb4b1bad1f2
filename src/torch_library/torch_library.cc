// The entry of libplacewright_torch.so: the services of the modules that include LibTorch, but for
// models from files.
#include <torch/cuda.h>

#include "aten/blas.h"
#include "aten/torch_version.h"
#include "capture/step/model_step.h"
#include "capture/zoo/zoo.h"
#include "torch_api/blas.h"
#include "torch_api/capture_service.h"
#include "torch_api/torch_api.h"

namespace placewright {
namespace {

class ZooCapture : public CaptureService {
 public:
  std::vector<ZooModel> Zoo() const override {
    std::vector<ZooModel> models;
    for (ZooEntry& entry : ZooEntries()) models.push_back(std::move(entry.facts));
    return models;
  }
  Result<Capture> CaptureModel(const CaptureRequest& request) const override {
    if (request.source != ModelSource::kZoo) {
      return MakeError(ErrorCode::kUsage, "this library records models of the zoo alone");
    }
    return CaptureZooModel(request);
  }
};

class TorchLibraryApi : public TorchApi {
 public:
  int version() const override { return kVersion; }
  std::string libtorch_version() const override { return kTorchVersion; }
  int cuda_devices() const override { return static_cast<int>(torch::cuda::device_count()); }
  std::string blas() const override { return WithBlasKernels(BlasLibrary()); }
  const CaptureService* capture() const override { return &capture_; }

 private:
  ZooCapture capture_;
};

}  // namespace
}  // namespace placewright

extern "C" const placewright::TorchApi* placewright_torch_api() {
  static const placewright::TorchLibraryApi api;
  return &api;
}
