// A script module as a model whose step can be run and recorded.
#ifndef PLACEWRIGHT_CAPTURE_SCRIPT_SCRIPT_MODEL_H_
#define PLACEWRIGHT_CAPTURE_SCRIPT_SCRIPT_MODEL_H_

#include <torch/csrc/jit/api/module.h>

#include <string>
#include <vector>

#include "capture/outside/outside_model.h"

namespace placewright {

// What is given to one argument of the module's forward function.
struct ScriptArgument {
  std::string name;
  bool given = false;  // by MakeInputs; else `otherwise`
  std::vector<int64_t> sizes;
  c10::ScalarType type = c10::ScalarType::Float;
  int64_t below = 1;
  c10::IValue otherwise;  // its default, or None
};

// Parameters and buffers have the names that the module gives them. Its interpreter runs without
// profiling, differentiation or fusion of its own: every op of the code is run as it stands there,
// and autograd is LibTorch's. Outputs are the tensors in what forward returns, in order: those of
// lists, tuples and dicts by position; numbers and None are left out.
class ScriptModel : public OutsideModel {
 public:
  // `module` as LoadScript makes it; of `arguments` one for each of forward, self left out.
  ScriptModel(torch::jit::Module module, std::vector<ScriptArgument> arguments, LossKind loss);
  std::vector<NamedTensor> MakeInputs() const override;
  int64_t LimitOf(const std::string& input) const override;
  void train(bool on = true) override;

 protected:
  // Throws TorchFailure: that of an op, or kNotRecordable with what the code raised; its place
  // names the module and the line of code.
  Tensors RunModel(const Tensors& inputs) override;

 private:
  Error Stopped(Error error, const std::string& traceback) const;

  torch::jit::Module module_;
  std::vector<ScriptArgument> arguments_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_CAPTURE_SCRIPT_SCRIPT_MODEL_H_
