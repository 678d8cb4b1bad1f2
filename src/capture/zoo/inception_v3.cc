// Inception-V3 (Szegedy et al. 2015): a stem of five convolutions, eleven blocks of parallel
// branches whose results are concatenated, and in training a second classifier in the middle.
#include <algorithm>

#include "capture/zoo/blocks/basic.h"
#include "capture/zoo/blocks/convolution.h"
#include "capture/zoo/zoo.h"

namespace placewright {
namespace {

constexpr double kEpsilon = 1e-3;      // of batch norms
constexpr double kSecondWeight = 0.3;  // of the second classifier's loss

// How it differs from the published network.
struct Variation {
  double width = 1;        // channels relative to the published ones
  bool batch_norm = true;  // false: convolutions have biases instead
  int64_t Channels(int64_t published) const {
    return std::max<int64_t>(1, static_cast<int64_t>(static_cast<double>(published) * width));
  }
};

// One convolution of a branch: channels out (as published), and how.
struct Stage {
  int64_t out;
  ConvolutionShape shape = {};
};
// A kernel as high as `height` and as wide as `width` that keeps the size of its input.
ConvolutionShape Keep(int64_t height, int64_t width) {
  return {{height, width}, {1, 1}, {height / 2, width / 2}, 1, false};
}

at::Tensor Average(const at::Tensor& x) { return at::avg_pool2d(x, {3, 3}, {1, 1}, {1, 1}); }
at::Tensor Strided(const at::Tensor& x) { return at::max_pool2d(x, {3, 3}, {2, 2}); }

// Convolutions in a row; a fork runs several on one tensor and concatenates what they give.
class Branch : public Module {
 public:
  using Pool = at::Tensor (*)(const at::Tensor&);
  Branch(const Variation& variation, int64_t in, const std::vector<Stage>& stages,
         const std::vector<Stage>& fork = {}, Pool pool = nullptr)
      : pool_(pool), out_(in) {
    for (const Stage& stage : stages) {
      row_.push_back(Append(variation, stage));
      out_ = variation.Channels(stage.out);
    }
    int64_t forked = 0;
    for (const Stage& stage : fork) {
      fork_.push_back(Append(variation, stage));
      forked += variation.Channels(stage.out);
    }
    if (!fork.empty()) out_ = forked;
  }

  at::Tensor Forward(at::Tensor x) {
    const ModuleScope scope = Enter();
    if (pool_ != nullptr) x = pool_(x);
    for (const auto& convolution : row_) x = convolution->Forward(x);
    if (fork_.empty()) return x;
    std::vector<at::Tensor> results;
    for (const auto& convolution : fork_) results.push_back(convolution->Forward(x));
    return at::cat(results, 1);
  }
  int64_t out() const { return out_; }

 private:
  std::shared_ptr<ConvBnRelu> Append(const Variation& variation, const Stage& stage) {
    const std::string name = "conv" + std::to_string(row_.size() + fork_.size() + 1);
    return Add<ConvBnRelu>(name, out_, variation.Channels(stage.out), stage.shape, kEpsilon,
                           variation.batch_norm);
  }

  Pool pool_;
  int64_t out_;
  std::vector<std::shared_ptr<ConvBnRelu>> row_, fork_;
};

class InceptionBlock : public Module {
 public:
  InceptionBlock(const Variation& variation, int64_t in) : variation_(variation), in_(in) {}

  InceptionBlock& With(const std::string& name, const std::vector<Stage>& stages,
                       const std::vector<Stage>& fork = {}, Branch::Pool pool = nullptr) {
    branches_.push_back(Add<Branch>(name, variation_, in_, stages, fork, pool));
    return *this;
  }
  at::Tensor Forward(const at::Tensor& x) {
    const ModuleScope scope = Enter();
    std::vector<at::Tensor> results;
    for (const auto& branch : branches_) results.push_back(branch->Forward(x));
    return at::cat(results, 1);
  }
  int64_t out() const {
    int64_t channels = 0;
    for (const auto& branch : branches_) channels += branch->out();
    return channels;
  }

 private:
  Variation variation_;
  int64_t in_;
  std::vector<std::shared_ptr<Branch>> branches_;
};

// Figure 5 of the paper, on 35 x 35, with two 3x3 for a 5x5 in one branch.
void FillA(InceptionBlock& block, int64_t pooled) {
  block.With("branch1x1", {{64, Keep(1, 1)}})
      .With("branch5x5", {{48, Keep(1, 1)}, {64, Keep(5, 5)}})
      .With("branch3x3dbl", {{64, Keep(1, 1)}, {96, Keep(3, 3)}, {96, Keep(3, 3)}})
      .With("branch_pool", {{pooled, Keep(1, 1)}}, {}, Average);
}
// Figure 10: from 35 x 35 to 17 x 17.
void FillB(InceptionBlock& block) {
  block.With("branch3x3", {{384, Square(3, 2)}})
      .With("branch3x3dbl", {{64, Keep(1, 1)}, {96, Keep(3, 3)}, {96, Square(3, 2)}})
      .With("branch_pool", {}, {}, Strided);
}
// Figure 6, on 17 x 17: a 7x7 as 1x7 and 7x1, `inner` channels in between.
void FillC(InceptionBlock& block, int64_t inner) {
  const ConvolutionShape row = Keep(1, 7), column = Keep(7, 1);
  block.With("branch1x1", {{192, Keep(1, 1)}})
      .With("branch7x7", {{inner, Keep(1, 1)}, {inner, row}, {192, column}})
      .With("branch7x7dbl",
            {{inner, Keep(1, 1)}, {inner, column}, {inner, row}, {inner, column}, {192, row}})
      .With("branch_pool", {{192, Keep(1, 1)}}, {}, Average);
}
// From 17 x 17 to 8 x 8.
void FillD(InceptionBlock& block) {
  block.With("branch3x3", {{192, Keep(1, 1)}, {320, Square(3, 2)}})
      .With("branch7x7x3",
            {{192, Keep(1, 1)}, {192, Keep(1, 7)}, {192, Keep(7, 1)}, {192, Square(3, 2)}})
      .With("branch_pool", {}, {}, Strided);
}
// Figure 7, on 8 x 8: 1x3 and 3x1 side by side.
void FillE(InceptionBlock& block) {
  const std::vector<Stage> fork = {{384, Keep(1, 3)}, {384, Keep(3, 1)}};
  block.With("branch1x1", {{320, Keep(1, 1)}})
      .With("branch3x3", {{384, Keep(1, 1)}}, fork)
      .With("branch3x3dbl", {{448, Keep(1, 1)}, {384, Keep(3, 3)}}, fork)
      .With("branch_pool", {{192, Keep(1, 1)}}, {}, Average);
}

// The second classifier, on the last 17 x 17: pooled to 5 x 5, a 1x1 and a 5x5.
class SecondClassifier : public Module {
 public:
  SecondClassifier(const Variation& variation, int64_t in, int64_t classes) {
    const int64_t inner = variation.Channels(128), out = variation.Channels(768);
    first_ = Add<ConvBnRelu>("conv0", in, inner, Square(1), kEpsilon, variation.batch_norm);
    second_ = Add<ConvBnRelu>("conv1", inner, out, Square(5), kEpsilon, variation.batch_norm);
    dense_ = Add<Linear>("fc", out, classes);
  }
  at::Tensor Forward(const at::Tensor& x) {
    const ModuleScope scope = Enter();
    const at::Tensor pooled = at::avg_pool2d(x, {5, 5}, {3, 3});
    const at::Tensor y = second_->Forward(first_->Forward(pooled));
    return dense_->Forward(at::adaptive_avg_pool2d(y, {1, 1}).flatten(1));
  }

 private:
  std::shared_ptr<ConvBnRelu> first_, second_;
  std::shared_ptr<Linear> dense_;
};

class InceptionV3 : public Model {
 public:
  explicit InceptionV3(const Settings& settings)
      : batch_(settings.Whole("batch")),
        size_(settings.Whole("size")),
        classes_(settings.Whole("classes")),
        variation_{settings.Real("width"), settings.Whole("batch_norm") != 0} {
    AddStem();
    AddBlocks(settings.Whole("auxiliary") != 0);
    dropout_ = Add<Dropout>("dropout", settings.Real("dropout"));
    dense_ = Add<Linear>("fc", channels_, classes_);
  }

  std::vector<NamedTensor> MakeInputs() const override {
    return {{"images", RandomImages(batch_, size_)}, {"targets", RandomClasses(batch_, classes_)}};
  }

  // The scores, and in training those of the second classifier.
  Tensors Forward(const Tensors& inputs) override {
    const ModuleScope scope = Enter();
    at::Tensor x = inputs[0], second;
    for (size_t i = 0; i < stem_.size(); ++i) {
      x = stem_[i]->Forward(x);
      if (i == 2 || i == 4) x = Strided(x);
    }
    for (const auto& block : blocks_) {
      x = block->Forward(x);
      if (block == seen_ && second_ && is_training()) second = second_->Forward(x);
    }
    x = dropout_->Forward(at::adaptive_avg_pool2d(x, {1, 1})).flatten(1);
    Tensors outputs = {dense_->Forward(x)};
    if (second.defined()) outputs.push_back(second);
    return outputs;
  }

  at::Tensor Loss(const Tensors& outputs, const Tensors& inputs) override {
    const at::Tensor loss = CrossEntropy(outputs[0], inputs[1]);
    if (outputs.size() == 1) return loss;
    return loss + CrossEntropy(outputs[1], inputs[1]) * kSecondWeight;
  }

 private:
  void AddStem() {
    const Stage stages[] = {{32, Square(3, 2)},
                            {32, Square(3)},
                            {64, Square(3, 1, 1)},
                            {80, Square(1)},
                            {192, Square(3)}};
    for (const Stage& stage : stages) {
      const std::string name = "stem" + std::to_string(stem_.size() + 1);
      const int64_t out = variation_.Channels(stage.out);
      stem_.push_back(
          Add<ConvBnRelu>(name, channels_, out, stage.shape, kEpsilon, variation_.batch_norm));
      channels_ = out;
    }
  }

  void AddBlocks(bool second) {
    for (const int64_t pooled : {32, 64, 64}) FillA(Append(), pooled);
    FillB(Append());
    for (const int64_t inner : {128, 160, 160, 192}) FillC(Append(), inner);
    if (second) {
      seen_ = blocks_.back();
      second_ = Add<SecondClassifier>("auxiliary", variation_, seen_->out(), classes_);
    }
    FillD(Append());
    FillE(Append());
    FillE(Append());
    channels_ = blocks_.back()->out();
  }
  InceptionBlock& Append() {
    if (!blocks_.empty()) channels_ = blocks_.back()->out();
    const std::string name = "mixed" + std::to_string(blocks_.size());
    blocks_.push_back(Add<InceptionBlock>(name, variation_, channels_));
    return *blocks_.back();
  }

  int64_t batch_, size_, classes_;
  Variation variation_;
  int64_t channels_ = 3;  // of what has been built so far
  std::vector<std::shared_ptr<ConvBnRelu>> stem_;
  std::vector<std::shared_ptr<InceptionBlock>> blocks_;
  std::shared_ptr<InceptionBlock> seen_;  // by the second classifier
  std::shared_ptr<SecondClassifier> second_;
  std::shared_ptr<Dropout> dropout_;
  std::shared_ptr<Linear> dense_;
};

}  // namespace

std::vector<ZooEntry> InceptionV3Models() {
  ZooEntry entry;
  entry.facts = {
      "inception-v3",
      "Inception-V3",
      "Szegedy et al. 2015",
      {WholeParameter("batch", 64, 1 << 20, "images in a step"),
       WholeParameter("size", 299, 1 << 14,
                      "height and width of an image, at least 75; with `auxiliary`, about 299"),
       WholeParameter("classes", 1000, 1 << 24, "number of classes"),
       {"width", "channels relative to the published ones", 1, 0.01, 16, false},
       SwitchParameter("auxiliary", true, "whether training has the second classifier"),
       SwitchParameter("batch_norm", true, "whether convolutions have batch norms, else biases"),
       ShareParameter("dropout", 0.5, "share of activations that dropout zeroes")},
      // TAG's 90 MB of parameters are those without the second classifier: 23.8 M of 4 bytes, with batch norms and
      // without them.
      {{"mars", "Mars sec. 4.1: batch 1", {{"batch", 1}}, "4xP100"},
       {"eagle", "EAGLE sec. IV-A: batch 1", {{"batch", 1}}, "4xP100"},
       {"gdp", "GDP appendix 6.3.1: batch 64", {}, "8xP100", 24713},
       {"tag",
        "TAG table 3 and its public code: batch 96, no batch norms, 90 MB of parameters",
        {{"batch", 96}, {"size", 224}, {"auxiliary", 0}, {"batch_norm", 0}},
        "tag-testbed",
        5312},
       {"tag-table3-guess",
        "TAG table 3 alone: batch 96, 90 MB of parameters; the other sizes are guesses",
        {{"batch", 96}, {"auxiliary", 0}},
        "tag-testbed",
        5312}}};
  entry.facts.parameters[1].min = 75;
  entry.build = Build<InceptionV3>;
  return {entry};
}

}  // namespace placewright
