// The entry of libplacewright_torch_files.so: recording models from files.
#include "aten/torch_version.h"
#include "capture/outside/file_source.h"
#include "capture/step/capture_step.h"
#include "torch_api/capture_service.h"
#include "torch_api/torch_api.h"

namespace placewright {
namespace {

class FileCapture : public CaptureService {
 public:
  std::vector<ZooModel> Zoo() const override { return {}; }
  Result<Capture> CaptureModel(const CaptureRequest& request) const override {
    if (request.source == ModelSource::kZoo) {
      return MakeError(ErrorCode::kUsage, "this library records models of files alone");
    }
    PW_ASSIGN(const std::unique_ptr<StepSource> source, MakeFileSource(request));
    return CaptureStep(*source, request.training, request.prove_batch);
  }
};

class FilesLibraryApi : public TorchApi {
 public:
  int version() const override { return kVersion; }
  std::string libtorch_version() const override { return kTorchVersion; }
  int cuda_devices() const override { return 0; }
  const CaptureService* capture() const override { return &capture_; }

 private:
  FileCapture capture_;
};

}  // namespace
}  // namespace placewright

extern "C" const placewright::TorchApi* placewright_torch_api() {
  static const placewright::FilesLibraryApi api;
  return &api;
}
