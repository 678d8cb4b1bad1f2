#include "capture/zoo/module.h"

namespace placewright {

void NameModules(Module& model) {
  for (const auto& item : model.named_modules()) {
    if (auto* module = dynamic_cast<Module*>(item.value().get())) module->path_ = item.key();
  }
}

}  // namespace placewright
