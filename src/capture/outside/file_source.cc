#include "capture/outside/file_source.h"

#include "base/check.h"
#include "capture/onnx/onnx_source.h"
#include "capture/script/script_source.h"

namespace placewright {
namespace {

template <class Source>
Result<std::unique_ptr<StepSource>> Make(const CaptureRequest& request) {
  PW_ASSIGN(Source source, Source::Create(request));
  source.Follow(request);
  return std::unique_ptr<StepSource>(std::make_unique<Source>(std::move(source)));
}

}  // namespace

Result<std::unique_ptr<StepSource>> MakeFileSource(const CaptureRequest& request) {
  if (request.source == ModelSource::kTorchScript) return Make<ScriptSource>(request);
  return Make<OnnxSource>(request);
}

}  // namespace placewright
