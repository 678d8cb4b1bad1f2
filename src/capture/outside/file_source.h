// Steps of models from files.
#ifndef PLACEWRIGHT_CAPTURE_OUTSIDE_FILE_SOURCE_H_
#define PLACEWRIGHT_CAPTURE_OUTSIDE_FILE_SOURCE_H_

#include <memory>

#include "base/result.h"
#include "capture/step/step_source.h"
#include "torch_api/capture_service.h"

namespace placewright {

// What `request` asks for; its source is a file. Errors: those of ScriptSource and OnnxSource.
Result<std::unique_ptr<StepSource>> MakeFileSource(const CaptureRequest& request);

}  // namespace placewright

#endif  // PLACEWRIGHT_CAPTURE_OUTSIDE_FILE_SOURCE_H_
