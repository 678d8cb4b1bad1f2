// A multi-layer perceptron with dropout: the smallest model that has everything a step has.
#include "capture/zoo/blocks/basic.h"
#include "capture/zoo/zoo.h"

namespace placewright {
namespace {

class Mlp : public Model {
 public:
  explicit Mlp(const Settings& settings)
      : batch_(settings.Whole("batch")),
        features_(settings.Whole("features")),
        classes_(settings.Whole("classes")) {
    const int64_t hidden = settings.Whole("hidden");
    for (int64_t i = 0; i < settings.Whole("layers"); ++i) {
      hidden_.push_back(
          Add<Linear>("hidden" + std::to_string(i), i == 0 ? features_ : hidden, hidden));
    }
    dropout_ = Add<Dropout>("dropout", settings.Real("dropout"));
    output_ = Add<Linear>("output", hidden, classes_);
  }

  std::vector<NamedTensor> MakeInputs() const override {
    return {{"x", at::randn({batch_, features_})},
            {"targets", at::randint(classes_, {batch_}, at::kLong)}};
  }

  Tensors Forward(const Tensors& inputs) override {
    const ModuleScope scope = Enter();
    at::Tensor x = inputs[0];
    for (const auto& layer : hidden_) x = at::relu(layer->Forward(x));
    return {output_->Forward(dropout_->Forward(x))};
  }

  at::Tensor Loss(const Tensors& outputs, const Tensors& inputs) override {
    return CrossEntropy(outputs[0], inputs[1]);
  }

 private:
  int64_t batch_, features_, classes_;
  std::vector<std::shared_ptr<Linear>> hidden_;
  std::shared_ptr<Dropout> dropout_;
  std::shared_ptr<Linear> output_;
};

}  // namespace

std::vector<ZooEntry> MlpModels() {
  ZooEntry entry;
  entry.facts = {"mlp",
                 "Multi-layer perceptron",
                 "a small model to try things with",
                 {WholeParameter("batch", 32, 1 << 20, "examples in a step"),
                  WholeParameter("layers", 2, 10000, "hidden layers"),
                  WholeParameter("features", 784, 1 << 20, "numbers in an example"),
                  WholeParameter("hidden", 512, 1 << 20, "width of the hidden layers"),
                  WholeParameter("classes", 10, 1 << 20, "number of classes"),
                  ShareParameter("dropout", 0.2, "share of activations that dropout zeroes")},
                 {}};
  entry.build = Build<Mlp>;
  return {entry};
}

}  // namespace placewright
