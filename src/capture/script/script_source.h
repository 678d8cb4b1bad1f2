// Steps of script modules: files that torch.jit.save wrote.
#ifndef PLACEWRIGHT_CAPTURE_SCRIPT_SCRIPT_SOURCE_H_
#define PLACEWRIGHT_CAPTURE_SCRIPT_SCRIPT_SOURCE_H_

#include <set>
#include <string>
#include <vector>

#include "capture/script/load.h"
#include "capture/script/script_model.h"
#include "capture/step/step_source.h"

namespace placewright {

class ScriptSource : public StepSource {
 public:
  // Reads the module, and finds an input for every argument of its forward function: by name, those
  // without one by order. An argument with a default, or that may be None, needs none. Errors:
  // those of LoadScript; kUsage listing the arguments, with the option to give.
  static Result<ScriptSource> Create(const CaptureRequest& request);
  const std::string& name() const override { return name_; }
  int64_t batch() const override { return batch_; }
  std::shared_ptr<Model> Build(int64_t batch) const override;
  // Names the devices of code and weights that are not here.
  std::vector<std::string> Notes() const override;

 private:
  ScriptSource() = default;

  std::string name_;
  int64_t batch_ = 0;
  ScriptFile file_;
  std::set<std::string> devices_;
  LossKind loss_ = LossKind::kCrossEntropy;
  struct Given {
    ScriptArgument argument;
    ModelInput input;  // where argument.given
  };
  std::vector<Given> given_;
  bool any_has_batch_ = false;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_CAPTURE_SCRIPT_SCRIPT_SOURCE_H_
