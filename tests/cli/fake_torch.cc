// Stands in for the library of the starred modules: what the program must do when it finds one.
#include <csignal>
#include <string>

#include "torch_api/capture_service.h"
#include "torch_api/torch_api.h"

namespace {

using namespace placewright;

class FakeCapture : public CaptureService {
 public:
  std::vector<ZooModel> Zoo() const override { return {}; }
  Result<Capture> CaptureModel(const CaptureRequest& request) const override {
    if (request.model.find("crash") != std::string::npos) std::raise(SIGSEGV);
    return MakeError(ErrorCode::kUnknownName, "there is no model \"" + request.model + "\"");
  }
};

class FakeApi : public TorchApi {
 public:
  int version() const override { return kVersion - PLACEWRIGHT_FAKE_AGE; }
  std::string libtorch_version() const override { return "9.9.9"; }
  int cuda_devices() const override { return 3; }
  const CaptureService* capture() const override { return &capture_; }

 private:
  FakeCapture capture_;
};

}  // namespace

extern "C" const placewright::TorchApi* placewright_torch_api() {
  static const FakeApi api;
  return &api;
}
