// AmoebaNet-D (Real et al. 2018) for ImageNet: cells of five sums of two operations each, found by
// evolution; every cell sees the two before it. Sizes (layers, filters) are counted as in GPipe
// (Huang et al. 2019). The normal cell concatenates its states 0, 3, 4 and 6, which is what the
// authors' program does and what gives GPipe's parameter counts; the paper's figure has 4, 5, 6.
#include <c10/util/Exception.h>

#include "capture/zoo/blocks/basic.h"
#include "capture/zoo/blocks/convolution.h"
#include "capture/zoo/zoo.h"

namespace placewright {
namespace {

constexpr int64_t kSqueeze = 4;  // channels of a cell over those within a bottleneck

// An operation of a cell, keeping its channels.
enum class Operation { kNone, kAverage3, kMax3, kMax2, kConv1, kConv3, kConv7 };

// One half of a sum: which state, and what is done with it. States 0 and 1 are the cell before and
// the one before that, state 2 + i is the i-th sum.
struct Half {
  size_t state;
  Operation operation;
};
struct Recipe {
  std::vector<std::array<Half, 2>> sums;
  std::vector<size_t> concatenated;
};

Recipe NormalRecipe() {
  return {{{{{1, Operation::kConv1}, {1, Operation::kMax3}}},
           {{{1, Operation::kNone}, {0, Operation::kConv7}}},
           {{{0, Operation::kConv1}, {0, Operation::kConv7}}},
           {{{2, Operation::kMax3}, {2, Operation::kNone}}},
           {{{1, Operation::kAverage3}, {5, Operation::kConv1}}}},
          {0, 3, 4, 6}};
}
Recipe ReductionRecipe() {
  return {{{{{0, Operation::kMax2}, {0, Operation::kMax3}}},
           {{{2, Operation::kNone}, {1, Operation::kConv3}}},
           {{{2, Operation::kConv7}, {2, Operation::kMax3}}},
           {{{3, Operation::kNone}, {1, Operation::kMax2}}},
           {{{2, Operation::kAverage3}, {3, Operation::kConv1}}}},
          {4, 5, 6}};
}

// ReLU, convolution and batch normalisation.
class ReluConvBn : public Module {
 public:
  ReluConvBn(int64_t in, int64_t out, ConvolutionShape shape) {
    shape.bias = false;
    convolution_ = Add<Conv2d>("conv", in, out, shape);
    norm_ = Add<BatchNorm2d>("bn", out);
  }
  at::Tensor Forward(const at::Tensor& x) {
    const ModuleScope scope = Enter();
    return norm_->Forward(convolution_->Forward(at::relu(x)));
  }

 private:
  std::shared_ptr<Conv2d> convolution_;
  std::shared_ptr<BatchNorm2d> norm_;
};

// Halves height and width: two 1x1 of stride 2, one of them a pixel further right and down.
class FactorizedReduction : public Module {
 public:
  FactorizedReduction(int64_t in, int64_t out) {
    even_ = Add<Conv2d>("even", in, out / 2, Square(1, 2, 0, false));
    odd_ = Add<Conv2d>("odd", in, out - out / 2, Square(1, 2, 0, false));
    norm_ = Add<BatchNorm2d>("bn", out);
  }
  at::Tensor Forward(const at::Tensor& x) {
    const ModuleScope scope = Enter();
    const at::Tensor y = at::relu(x);
    const at::Tensor moved =
        at::constant_pad_nd(y.slice(2, 1).slice(3, 1), std::vector<int64_t>{0, 1, 0, 1}, 0);
    return norm_->Forward(at::cat({even_->Forward(y), odd_->Forward(moved)}, 1));
  }

 private:
  std::shared_ptr<Conv2d> even_, odd_;
  std::shared_ptr<BatchNorm2d> norm_;
};

// One operation of a cell with its convolutions, if it has any.
class CellOperation : public Module {
 public:
  CellOperation(Operation operation, int64_t channels, int64_t stride)
      : operation_(operation), stride_(stride) {
    const int64_t inner = channels / kSqueeze;
    switch (operation) {
      case Operation::kConv1: Append(channels, channels, Square(1, stride)); break;
      case Operation::kConv3:
        Append(channels, inner, Square(1));
        Append(inner, inner, Square(3, stride, 1));
        Append(inner, channels, Square(1));
        break;
      case Operation::kConv7:
        Append(channels, inner, Square(1));
        Append(inner, inner, {{1, 7}, {1, stride}, {0, 3}});
        Append(inner, inner, {{7, 1}, {stride, 1}, {3, 0}});
        Append(inner, channels, Square(1));
        break;
      default: break;
    }
  }

  at::Tensor Forward(at::Tensor x) {
    const ModuleScope scope = Enter();
    const std::vector<int64_t> stride = {stride_, stride_};
    switch (operation_) {
      case Operation::kNone: return x;
      case Operation::kMax2: return at::max_pool2d(x, {2, 2}, stride);
      case Operation::kMax3: return at::max_pool2d(x, {3, 3}, stride, {1, 1});
      case Operation::kAverage3:  // of the pixels that are there
        return at::avg_pool2d(x, {3, 3}, stride, {1, 1}, false, false);
      default: break;
    }
    for (const auto& convolution : row_) x = convolution->Forward(x);
    return x;
  }

 private:
  void Append(int64_t in, int64_t out, const ConvolutionShape& shape) {
    row_.push_back(Add<ReluConvBn>("part" + std::to_string(row_.size()), in, out, shape));
  }

  Operation operation_;
  int64_t stride_;
  std::vector<std::shared_ptr<ReluConvBn>> row_;
};

struct CellShape {
  int64_t before_last, last;  // channels of the two cells before
  int64_t channels;           // within the cell
  bool reduces, last_reduced;
};

class Cell : public Module {
 public:
  explicit Cell(const CellShape& shape)
      : recipe_(shape.reduces ? ReductionRecipe() : NormalRecipe()) {
    last_ = Add<ReluConvBn>("last", shape.last, shape.channels, Square(1));
    if (shape.last_reduced) {
      reduced_ = Add<FactorizedReduction>("before_last", shape.before_last, shape.channels);
    } else if (shape.before_last != shape.channels) {
      before_last_ = Add<ReluConvBn>("before_last", shape.before_last, shape.channels, Square(1));
    }
    for (size_t i = 0; i < recipe_.sums.size(); ++i) {
      for (size_t j = 0; j < 2; ++j) {
        const Half& half = recipe_.sums[i][j];
        const int64_t stride = shape.reduces && half.state < 2 ? 2 : 1;
        operations_.push_back(
            Add<CellOperation>("sum" + std::to_string(i) + (j == 0 ? "_left" : "_right"),
                               half.operation, shape.channels, stride));
      }
    }
    out_ = shape.channels * static_cast<int64_t>(recipe_.concatenated.size());
  }

  at::Tensor Forward(const at::Tensor& before_last, const at::Tensor& last) {
    const ModuleScope scope = Enter();
    std::vector<at::Tensor> states = {last_->Forward(last), before_last};
    if (reduced_) states[1] = reduced_->Forward(before_last);
    if (before_last_) states[1] = before_last_->Forward(before_last);
    for (size_t i = 0; i < recipe_.sums.size(); ++i) {
      const at::Tensor left = operations_[2 * i]->Forward(states[recipe_.sums[i][0].state]);
      states.push_back(left + operations_[2 * i + 1]->Forward(states[recipe_.sums[i][1].state]));
    }
    std::vector<at::Tensor> results;
    for (const size_t state : recipe_.concatenated) results.push_back(states[state]);
    return at::cat(results, 1);
  }
  int64_t out() const { return out_; }

 private:
  Recipe recipe_;
  std::shared_ptr<ReluConvBn> last_, before_last_;
  std::shared_ptr<FactorizedReduction> reduced_;
  std::vector<std::shared_ptr<CellOperation>> operations_;
  int64_t out_ = 0;
};

class AmoebaNetD : public Model {
 public:
  explicit AmoebaNetD(const Settings& settings)
      : batch_(settings.Whole("batch")),
        size_(settings.Whole("size")),
        classes_(settings.Whole("classes")),
        channels_(settings.Whole("filters") / 4) {
    const int64_t layers = settings.Whole("layers");
    settings.RequireMultiple("layers", 3);
    stem_ = Add<Conv2d>("stem", int64_t{3}, channels_, Square(3, 2, 1, false));
    stem_norm_ = Add<BatchNorm2d>("stem_norm", channels_);
    last_ = before_last_ = channels_;
    Append(true);
    Append(true);
    for (int stage = 0; stage < 3; ++stage) {
      if (stage > 0) Append(true);
      for (int64_t i = 0; i < layers / 3; ++i) Append(false);
    }
    dropout_ = Add<Dropout>("dropout", settings.Real("dropout"));
    dense_ = Add<Linear>("dense", last_, classes_);
  }

  std::vector<NamedTensor> MakeInputs() const override {
    return {{"images", RandomImages(batch_, size_)}, {"targets", RandomClasses(batch_, classes_)}};
  }

  Tensors Forward(const Tensors& inputs) override {
    const ModuleScope scope = Enter();
    at::Tensor last = stem_norm_->Forward(stem_->Forward(inputs[0])), before_last = last;
    for (const auto& cell : cells_) {
      const at::Tensor next = cell->Forward(before_last, last);
      before_last = last;
      last = next;
    }
    const at::Tensor pooled = at::adaptive_avg_pool2d(last, {1, 1}).flatten(1);
    return {dense_->Forward(dropout_->Forward(pooled))};
  }

  at::Tensor Loss(const Tensors& outputs, const Tensors& inputs) override {
    return CrossEntropy(outputs[0], inputs[1]);
  }

 private:
  void Append(bool reduces) {
    if (reduces) channels_ *= 2;
    cells_.push_back(Add<Cell>("cell" + std::to_string(cells_.size()),
                               CellShape{before_last_, last_, channels_, reduces, last_reduced_}));
    before_last_ = last_;
    last_ = cells_.back()->out();
    last_reduced_ = reduces;
  }

  int64_t batch_, size_, classes_;
  int64_t channels_, last_ = 0, before_last_ = 0;  // of what has been built so far
  bool last_reduced_ = false;
  std::shared_ptr<Conv2d> stem_;
  std::shared_ptr<BatchNorm2d> stem_norm_;
  std::vector<std::shared_ptr<Cell>> cells_;
  std::shared_ptr<Dropout> dropout_;
  std::shared_ptr<Linear> dense_;
};

}  // namespace

std::vector<ZooEntry> AmoebaNetDModels() {
  ZooEntry entry;
  entry.facts = {"amoebanet-d",
                 "AmoebaNet-D, 18 normal cells",
                 "Real et al. 2018; sizes as in Huang et al. 2019",
                 {WholeParameter("batch", 64, 1 << 20, "images in a step"),
                  WholeParameter("size", 224, 1 << 14, "height and width of an image"),
                  WholeParameter("layers", 18, 3000, "normal cells; a multiple of 3"),
                  WholeParameter("filters", 208, 1 << 14, "four times the channels of the stem"),
                  WholeParameter("classes", 1000, 1 << 24, "number of classes"),
                  ShareParameter("dropout", 0, "share of activations that dropout zeroes")},
                 // GDP says no more of its size; GPipe's smallest model stands for it.
                 {{"gdp", "GDP appendix 6.3.2: batch 64", {}, "8xP100", 9430}}};
  entry.facts.parameters[3].min = 16;
  entry.build = Build<AmoebaNetD>;
  return {entry};
}

}  // namespace placewright
