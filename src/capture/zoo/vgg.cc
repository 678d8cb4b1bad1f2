// VGG (Simonyan, Zisserman 2014): configurations D (16 layers) and E (19 layers).
#include "capture/zoo/blocks/basic.h"
#include "capture/zoo/blocks/convolution.h"
#include "capture/zoo/zoo.h"

namespace placewright {
namespace {

constexpr int64_t kPooled = 7;  // height and width that the dense layers see
constexpr int64_t kWidths[] = {64, 128, 256, 512, 512};

// Convolutions at each of the five sizes.
struct VggDepths {
  int64_t at[5];
};
constexpr VggDepths kSixteen = {{2, 2, 3, 3, 3}};
constexpr VggDepths kNineteen = {{2, 2, 4, 4, 4}};

class Vgg : public Model {
 public:
  Vgg(const Settings& settings, const VggDepths& depths)
      : batch_(settings.Whole("batch")),
        size_(settings.Whole("size")),
        classes_(settings.Whole("classes")) {
    int64_t channels = 3;
    for (size_t stage = 0; stage < 5; ++stage) {
      stages_.emplace_back();
      for (int64_t i = 0; i < depths.at[stage]; ++i) {
        const std::string name = "conv" + std::to_string(stage + 1) + "_" + std::to_string(i + 1);
        stages_.back().push_back(Add<Conv2d>(name, channels, kWidths[stage], Square(3, 1, 1)));
        channels = kWidths[stage];
      }
    }
    const int64_t hidden = settings.Whole("hidden");
    dense1_ = Add<Linear>("dense1", channels * kPooled * kPooled, hidden);
    dropout1_ = Add<Dropout>("dropout1", settings.Real("dropout"));
    dense2_ = Add<Linear>("dense2", hidden, hidden);
    dropout2_ = Add<Dropout>("dropout2", settings.Real("dropout"));
    dense3_ = Add<Linear>("dense3", hidden, classes_);
  }

  std::vector<NamedTensor> MakeInputs() const override {
    return {{"images", RandomImages(batch_, size_)}, {"targets", RandomClasses(batch_, classes_)}};
  }

  Tensors Forward(const Tensors& inputs) override {
    const ModuleScope scope = Enter();
    at::Tensor x = inputs[0];
    for (const auto& stage : stages_) {
      for (const auto& convolution : stage) {
        x = convolution->Forward(x);
        at::relu_(x);
      }
      x = at::max_pool2d(x, {2, 2}, {2, 2});
    }
    x = at::adaptive_avg_pool2d(x, {kPooled, kPooled}).flatten(1);
    x = Rectified(dense1_->Forward(x));
    x = Rectified(dense2_->Forward(dropout1_->Forward(x)));
    return {dense3_->Forward(dropout2_->Forward(x))};
  }

  at::Tensor Loss(const Tensors& outputs, const Tensors& inputs) override {
    return CrossEntropy(outputs[0], inputs[1]);
  }

 private:
  static at::Tensor Rectified(at::Tensor x) { return at::relu_(x); }

  int64_t batch_, size_, classes_;
  std::vector<std::vector<std::shared_ptr<Conv2d>>> stages_;
  std::shared_ptr<Linear> dense1_, dense2_, dense3_;
  std::shared_ptr<Dropout> dropout1_, dropout2_;
};

ZooEntry MakeEntry(const char* name, const char* description, ZooPreset preset) {
  ZooEntry entry;
  entry.facts = {name,
                 description,
                 "Simonyan, Zisserman 2014",
                 {WholeParameter("batch", 96, 1 << 20, "images in a step"),
                  WholeParameter("size", 224, 1 << 14, "height and width of an image, at least 32"),
                  WholeParameter("hidden", 4096, 1 << 20, "width of the dense layers"),
                  WholeParameter("classes", 1000, 1 << 24, "number of classes"),
                  ShareParameter("dropout", 0.5, "share of activations that dropout zeroes")},
                 {std::move(preset)}};
  entry.facts.parameters[1].min = 32;
  return entry;
}

}  // namespace

std::vector<ZooEntry> VggModels() {
  ZooEntry sixteen =
      MakeEntry("vgg-16", "VGG, 13 convolutions and 3 dense layers",
                {"mars", "Mars sec. 4.3 names no sizes: the defaults", {}, "4xP100"});
  sixteen.build = [](const Settings& settings) -> std::shared_ptr<Model> {
    return std::make_shared<Vgg>(settings, kSixteen);
  };
  ZooEntry nineteen = MakeEntry("vgg-19", "VGG, 16 convolutions and 3 dense layers",
                                {"tag", "TAG table 3; the defaults", {}, "tag-testbed", 1169});
  nineteen.build = [](const Settings& settings) -> std::shared_ptr<Model> {
    return std::make_shared<Vgg>(settings, kNineteen);
  };
  return {sixteen, nineteen};
}

}  // namespace placewright
