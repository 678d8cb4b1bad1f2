// Modules of the zoo: LibTorch modules that notify the recorder of which of them is running.
#ifndef PLACEWRIGHT_CAPTURE_ZOO_MODULE_H_
#define PLACEWRIGHT_CAPTURE_ZOO_MODULE_H_

#include <torch/nn/module.h>

#include <memory>
#include <string>
#include <utility>

#include "capture/recorder/dispatch.h"

namespace placewright {

class Module : public torch::nn::Module {
 public:
  // Where it lies in the model, as named_modules() says it ("encoder.layer.0"); the root is "".
  // Known once NameModules has been called on the model.
  const std::string& path() const { return path_; }

 protected:
  // Makes and registers a module below this one.
  template <class M, class... Arguments>
  std::shared_ptr<M> Add(const std::string& name, Arguments&&... arguments) {
    return register_module(name, std::make_shared<M>(std::forward<Arguments>(arguments)...));
  }
  // To be opened at the beginning of every forward function: its ops belong to this module.
  [[nodiscard]] ModuleScope Enter() const { return ModuleScope(path_); }

 private:
  friend void NameModules(Module& model);
  std::string path_;
};

// Gives every module of `model` its path. The model must be held by a shared_ptr.
void NameModules(Module& model);

}  // namespace placewright

#endif  // PLACEWRIGHT_CAPTURE_ZOO_MODULE_H_
