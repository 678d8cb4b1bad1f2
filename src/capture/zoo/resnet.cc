// ResNet (He et al. 2015) with bottlenecks. The stride of a stage lies in its first 3x3
// convolution, as in the models that everybody trains (version 1.5), not in the 1x1 before it.
#include "capture/zoo/blocks/basic.h"
#include "capture/zoo/blocks/convolution.h"
#include "capture/zoo/zoo.h"

namespace placewright {
namespace {

constexpr int64_t kExpansion = 4;  // channels out of a bottleneck over those within

struct ResNetDepths {
  int64_t at[4];
};
constexpr ResNetDepths kFifty = {{3, 4, 6, 3}};
constexpr ResNetDepths kHundredOne = {{3, 4, 23, 3}};

class Bottleneck : public Module {
 public:
  Bottleneck(int64_t in, int64_t width, int64_t stride) {
    const int64_t out = width * kExpansion;
    first_ = Add<ConvBnRelu>("first", in, width, Square(1));
    second_ = Add<ConvBnRelu>("second", width, width, Square(3, stride, 1));
    third_ = Add<Conv2d>("third", width, out, Square(1, 1, 0, false));
    norm_ = Add<BatchNorm2d>("norm", out);
    if (in == out && stride == 1) return;
    shortcut_ = Add<Conv2d>("shortcut", in, out, Square(1, stride, 0, false));
    shortcut_norm_ = Add<BatchNorm2d>("shortcut_norm", out);
  }

  at::Tensor Forward(const at::Tensor& x) {
    const ModuleScope scope = Enter();
    at::Tensor y = norm_->Forward(third_->Forward(second_->Forward(first_->Forward(x))));
    y.add_(shortcut_ ? shortcut_norm_->Forward(shortcut_->Forward(x)) : x);
    return at::relu_(y);
  }

 private:
  std::shared_ptr<ConvBnRelu> first_, second_;
  std::shared_ptr<Conv2d> third_, shortcut_;
  std::shared_ptr<BatchNorm2d> norm_, shortcut_norm_;
};

class ResNet : public Model {
 public:
  ResNet(const Settings& settings, const ResNetDepths& depths)
      : batch_(settings.Whole("batch")),
        size_(settings.Whole("size")),
        classes_(settings.Whole("classes")) {
    int64_t width = settings.Whole("width"), channels = width;
    stem_ = Add<ConvBnRelu>("stem", 3, channels, Square(7, 2, 3));
    for (size_t stage = 0; stage < 4; ++stage, width *= 2) {
      for (int64_t i = 0; i < depths.at[stage]; ++i) {
        const std::string name = "stage" + std::to_string(stage + 1) + "_" + std::to_string(i);
        const int64_t stride = i == 0 && stage > 0 ? 2 : 1;
        blocks_.push_back(Add<Bottleneck>(name, channels, width, stride));
        channels = width * kExpansion;
      }
    }
    dense_ = Add<Linear>("dense", channels, classes_);
  }

  std::vector<NamedTensor> MakeInputs() const override {
    return {{"images", RandomImages(batch_, size_)}, {"targets", RandomClasses(batch_, classes_)}};
  }

  Tensors Forward(const Tensors& inputs) override {
    const ModuleScope scope = Enter();
    at::Tensor x = at::max_pool2d(stem_->Forward(inputs[0]), {3, 3}, {2, 2}, {1, 1});
    for (const auto& block : blocks_) x = block->Forward(x);
    return {dense_->Forward(at::adaptive_avg_pool2d(x, {1, 1}).flatten(1))};
  }

  at::Tensor Loss(const Tensors& outputs, const Tensors& inputs) override {
    return CrossEntropy(outputs[0], inputs[1]);
  }

 private:
  int64_t batch_, size_, classes_;
  std::shared_ptr<ConvBnRelu> stem_;
  std::vector<std::shared_ptr<Bottleneck>> blocks_;
  std::shared_ptr<Linear> dense_;
};

ZooEntry MakeEntry(const char* name, const char* description, int64_t batch,
                   std::vector<ZooPreset> presets) {
  ZooEntry entry;
  entry.facts = {name,
                 description,
                 "He et al. 2015",
                 {WholeParameter("batch", batch, 1 << 20, "images in a step"),
                  WholeParameter("size", 224, 1 << 14, "height and width of an image"),
                  WholeParameter("width", 64, 1 << 14, "channels of the first stage"),
                  WholeParameter("classes", 1000, 1 << 24, "number of classes")},
                 std::move(presets)};
  return entry;
}

}  // namespace

std::vector<ZooEntry> ResNetModels() {
  ZooEntry fifty = MakeEntry("resnet-50", "ResNet of 16 bottlenecks", 32, {});
  fifty.build = [](const Settings& settings) -> std::shared_ptr<Model> {
    return std::make_shared<ResNet>(settings, kFifty);
  };
  ZooEntry hundred_one = MakeEntry("resnet-101", "ResNet of 33 bottlenecks", 96,
                                   {{"tag", "TAG table 3; the defaults", {}, "tag-testbed", 7951}});
  hundred_one.build = [](const Settings& settings) -> std::shared_ptr<Model> {
    return std::make_shared<ResNet>(settings, kHundredOne);
  };
  return {fifty, hundred_one};
}

}  // namespace placewright
