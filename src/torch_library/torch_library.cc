// The one entry of libplacewright_torch.so: the interface of torch_api, answered by the modules
// that include LibTorch.
#include <torch/cuda.h>

#include "capture/step/model_step.h"
#include "capture/torch_version.h"
#include "capture/zoo/zoo.h"
#include "torch_api/torch_api.h"

namespace placewright {
namespace {

class TorchLibraryApi : public TorchApi {
 public:
  int version() const override { return kVersion; }
  std::string libtorch_version() const override { return kTorchVersion; }
  int cuda_devices() const override { return static_cast<int>(torch::cuda::device_count()); }
  std::vector<ZooModel> Zoo() const override {
    std::vector<ZooModel> models;
    for (ZooEntry& entry : ZooEntries()) models.push_back(std::move(entry.facts));
    return models;
  }
  Result<Capture> CaptureModel(const CaptureRequest& request) const override {
    return placewright::CaptureModel(request);
  }
};

}  // namespace
}  // namespace placewright

extern "C" __attribute__((visibility("default"))) const placewright::TorchApi*
placewright_torch_api() {
  static const placewright::TorchLibraryApi api;
  return &api;
}
