// The entry of libplacewright_torch_learn.so: the learned planners.
#include "aten/torch_version.h"
#include "torch_api/torch_api.h"

namespace placewright {
namespace {

class LearnLibraryApi : public TorchApi {
 public:
  int version() const override { return kVersion; }
  std::string libtorch_version() const override { return kTorchVersion; }
  int cuda_devices() const override { return 0; }
};

}  // namespace
}  // namespace placewright

extern "C" const placewright::TorchApi* placewright_torch_api() {
  static const placewright::LearnLibraryApi api;
  return &api;
}
