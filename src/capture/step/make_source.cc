#include "capture/onnx/program_source.h"
#include "capture/script/script_source.h"
#include "capture/step/step_source.h"

namespace placewright {
namespace {

template <class Source>
Result<std::unique_ptr<StepSource>> Make(const CaptureRequest& request) {
  PW_ASSIGN(Source source, Source::Create(request));
  source.StopAt(request.interrupted);
  return std::unique_ptr<StepSource>(std::make_unique<Source>(std::move(source)));
}

}  // namespace

Result<std::unique_ptr<StepSource>> MakeSource(const CaptureRequest& request) {
  switch (request.source) {
    case ModelSource::kTorchScript: return Make<ScriptSource>(request);
    case ModelSource::kOnnx: return Make<ProgramSource>(request);
    case ModelSource::kZoo: break;
  }
  return Make<ZooSource>(request);
}

}  // namespace placewright
