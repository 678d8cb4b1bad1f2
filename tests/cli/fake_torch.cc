// Stands in for the library of the starred modules: what the program must do when it finds one.
#include "cli/torch_library.h"

namespace {

class FakeApi : public placewright::TorchApi {
 public:
  int version() const override { return PLACEWRIGHT_FAKE_VERSION; }
  std::string libtorch_version() const override { return "9.9.9"; }
  int cuda_devices() const override { return 3; }
};

}  // namespace

extern "C" const placewright::TorchApi* placewright_torch_api() {
  static const FakeApi api;
  return &api;
}
