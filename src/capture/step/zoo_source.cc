#include "capture/step/step_source.h"

namespace placewright {
namespace {

std::optional<at::ScalarType> AutocastOf(CapturePrecision precision) {
  switch (precision) {
    case CapturePrecision::kAsIs: return std::nullopt;
    case CapturePrecision::kF16: return at::kHalf;
    case CapturePrecision::kBf16: return at::kBFloat16;
  }
  return std::nullopt;
}

}  // namespace

void StepSource::Follow(const CaptureRequest& request) {
  interrupted_ = request.interrupted;
  keeps_contents_ = request.keep_contents;
  autocast_ = AutocastOf(request.precision);
}

Result<ZooSource> ZooSource::Create(const CaptureRequest& request) {
  PW_ASSIGN(ChosenModel chosen, ChooseModel(request.model, request.values));
  return ZooSource(request.model, std::move(chosen));
}

std::shared_ptr<Model> ZooSource::Build(int64_t batch) const {
  Settings settings = chosen_.settings;
  settings.Set("batch", static_cast<double>(batch));
  return chosen_.entry.build(settings);
}

}  // namespace placewright
