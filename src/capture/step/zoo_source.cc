#include "capture/step/step_source.h"

namespace placewright {

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
