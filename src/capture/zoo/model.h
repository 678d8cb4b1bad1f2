// What a model of the zoo is, and what it is built with.
#ifndef PLACEWRIGHT_CAPTURE_ZOO_MODEL_H_
#define PLACEWRIGHT_CAPTURE_ZOO_MODEL_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/check.h"
#include "capture/optimizer/optimizer.h"
#include "capture/zoo/module.h"
#include "torch_api/capture_service.h"

namespace placewright {

// The values of a model's parameters; those that it declares are all there, and in range.
class Settings {
 public:
  explicit Settings(std::map<std::string, double> values) : values_(std::move(values)) {}
  int64_t Whole(const std::string& name) const { return static_cast<int64_t>(Real(name)); }
  double Real(const std::string& name) const {
    const auto it = values_.find(name);
    PW_CHECK(it != values_.end());
    return it->second;
  }
  void Set(const std::string& name, double value) { values_[name] = value; }

  // What a model's values must be beside one another. Throws TorchFailure: kField, naming both.
  void RequireMultiple(const std::string& name, const std::string& of) const;
  void RequireMultiple(const std::string& name, int64_t of) const;
  void RequireAtMost(const std::string& name, const std::string& limit) const;

 private:
  std::map<std::string, double> values_;
};

// A model with the data that it is fed. One step is
//   outputs = Forward(inputs), loss = Loss(outputs, inputs), loss.backward(), an update;
// an inference pass is Forward alone, with dropout off. All shapes follow from the settings; no op
// may depend on what a tensor holds. Tensors are made with at::full, at::arange, at::randn and
// their like, never with at::tensor({...}): they must be able to be without memory.
class Model : public Module {
 public:
  using Tensors = std::vector<at::Tensor>;
  // Fresh inputs, targets among them, named as arguments: "ids", "mask", "targets". On real tensors
  // they are random and valid (indices in range).
  virtual std::vector<NamedTensor> MakeInputs() const = 0;
  // Further inputs, of a training step, that depend on what the model gives for those inputs.
  virtual std::vector<NamedTensor> MakeTargets(const Tensors& /*inputs*/) { return {}; }
  virtual Tensors Forward(const Tensors& inputs) = 0;
  virtual at::Tensor Loss(const Tensors& outputs, const Tensors& inputs) = 0;

  // Of an input of MakeInputs: below which number its integers must lie, where it is known beyond what ops
  // ask for; else 0.
  virtual int64_t LimitOf(const std::string& /*input*/) const { return 0; }
  // Of a model that has run without memory: what a tensor that it found holds, where it is known and
  // CaptureRequest::keep_contents asked for it; else undefined.
  virtual at::Tensor ContentOf(const at::Tensor& /*found*/) const { return {}; }
  // Sentences for the user on what was taken otherwise than the model says, after it has run.
  virtual std::vector<std::string> Notes() const { return {}; }
};

// An entry of the zoo: what it says of itself, and how it is built. `facts.parameters` has "batch".
struct ZooEntry {
  ZooModel facts;
  std::shared_ptr<Model> (*build)(const Settings& settings) = nullptr;
};

template <class M>
std::shared_ptr<Model> Build(const Settings& settings) {
  return std::make_shared<M>(settings);
}

// An integer from 1 on, a share in [0, 1), and a choice (0 or 1) as parameters of a model.
ZooParameter WholeParameter(std::string name, int64_t value, int64_t max, std::string meaning);
ZooParameter ShareParameter(std::string name, double value, std::string meaning);
ZooParameter SwitchParameter(std::string name, bool value, std::string meaning);

}  // namespace placewright

#endif  // PLACEWRIGHT_CAPTURE_ZOO_MODEL_H_
