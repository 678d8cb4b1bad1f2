// WaveNet (van den Oord et al. 2016): stacks of causal convolutions whose reach doubles from layer
// to layer. The step predicts `samples` samples, each from the whole receptive field before it, so
// that no position is padded; every layer is as much shorter than the one before as it reaches.
#include "capture/zoo/blocks/basic.h"
#include "capture/zoo/zoo.h"

namespace placewright {
namespace {

constexpr int64_t kTaps = 2;  // of every dilated convolution

struct WaveNetSizes {
  explicit WaveNetSizes(const Settings& settings)
      : batch(settings.Whole("batch")),
        samples(settings.Whole("samples")),
        stacks(settings.Whole("stacks")),
        layers(settings.Whole("layers")),
        residual(settings.Whole("residual")),
        dilation(settings.Whole("dilation")),
        skip(settings.Whole("skip")),
        head(settings.Whole("head")),
        levels(settings.Whole("levels")) {}
  // Samples before the predicted one that it depends on.
  int64_t CandidateScope() const { return stacks * (kTaps - 1) * ((int64_t{1} << layers) - 1); }
  int64_t batch, samples, stacks, layers, residual, dilation, skip, head, levels;
};

class Conv1d : public Module {
 public:
  Conv1d(int64_t in, int64_t out, int64_t taps, int64_t dilation, bool bias) : dilation_(dilation) {
    weight_ = register_parameter("weight", SmallRandom({out, in, taps}));
    if (bias) bias_ = register_parameter("bias", SmallRandom({out}));
  }
  at::Tensor Forward(const at::Tensor& x) {
    const ModuleScope scope = Enter();
    return at::conv1d(x, weight_, bias_, at::IntArrayRef(1), at::IntArrayRef(0), dilation_);
  }

 private:
  int64_t dilation_;
  at::Tensor weight_, bias_;
};

// z = tanh(filter * x) sigmoid(gate * x); on to the next layer goes x + residual * z, to the head
// skip * z (section 2.3 and 2.4 of the paper).
class WaveNetLayer : public Module {
 public:
  WaveNetLayer(const WaveNetSizes& sizes, int64_t dilation, bool is_last)
      : samples_(sizes.samples) {
    filter_ = Add<Conv1d>("filter", sizes.residual, sizes.dilation, kTaps, dilation, false);
    gate_ = Add<Conv1d>("gate", sizes.residual, sizes.dilation, kTaps, dilation, false);
    skip_ = Add<Conv1d>("skip", sizes.dilation, sizes.skip, int64_t{1}, int64_t{1}, false);
    if (is_last) return;
    residual_ =
        Add<Conv1d>("residual", sizes.dilation, sizes.residual, int64_t{1}, int64_t{1}, false);
  }

  // Adds to `skipped`, and returns what the next layer sees; nothing from the last layer.
  at::Tensor Forward(const at::Tensor& x, at::Tensor& skipped) {
    const ModuleScope scope = Enter();
    const at::Tensor z = at::tanh(filter_->Forward(x)) * at::sigmoid(gate_->Forward(x));
    const at::Tensor skip = skip_->Forward(Last(z, samples_));
    skipped = skipped.defined() ? skipped + skip : skip;
    return residual_ ? residual_->Forward(z) + Last(x, z.size(2)) : at::Tensor();
  }

 private:
  static at::Tensor Last(const at::Tensor& x, int64_t count) {
    return x.slice(2, x.size(2) - count, x.size(2));
  }

  int64_t samples_;
  std::shared_ptr<Conv1d> filter_, gate_, skip_, residual_;
};

class WaveNet : public Model {
 public:
  explicit WaveNet(const Settings& settings) : sizes_(settings) {
    const auto pointwise = [&](const char* name, int64_t in, int64_t out, bool bias) {
      return Add<Conv1d>(name, in, out, int64_t{1}, int64_t{1}, bias);
    };
    start_ = pointwise("start", sizes_.levels, sizes_.residual, false);
    for (int64_t stack = 0; stack < sizes_.stacks; ++stack) {
      for (int64_t i = 0; i < sizes_.layers; ++i) {
        const bool is_last = stack + 1 == sizes_.stacks && i + 1 == sizes_.layers;
        layers_.push_back(
            Add<WaveNetLayer>("stack" + std::to_string(stack) + "_" + std::to_string(i), sizes_,
                              int64_t{1} << i, is_last));
      }
    }
    head_ = pointwise("head", sizes_.skip, sizes_.head, true);
    output_ = pointwise("output", sizes_.head, sizes_.levels, true);
  }

  // The signal as one-hot vectors, and the sample that follows each of the last `samples`.
  std::vector<NamedTensor> MakeInputs() const override {
    const std::vector<int64_t> signal = {sizes_.batch, 1, sizes_.samples + sizes_.CandidateScope()},
                               spread = {sizes_.batch, sizes_.levels, signal[2]},
                               targets = {sizes_.batch, sizes_.samples};
    const at::Tensor levels = at::randint(sizes_.levels, signal, at::kLong);
    return {{"signal", at::zeros(spread).scatter_(1, levels, 1)},
            {"targets", at::randint(sizes_.levels, targets, at::kLong)}};
  }

  // The scores of every level of every next sample, [batch, levels, samples].
  Tensors Forward(const Tensors& inputs) override {
    const ModuleScope scope = Enter();
    at::Tensor x = start_->Forward(inputs[0]), skipped;
    for (const auto& layer : layers_) x = layer->Forward(x, skipped);
    return {output_->Forward(at::relu(head_->Forward(at::relu(skipped))))};
  }

  at::Tensor Loss(const Tensors& outputs, const Tensors& inputs) override {
    const at::Tensor scores = outputs[0].transpose(1, 2).contiguous();
    return CrossEntropy(scores.view({-1, sizes_.levels}), inputs[1].view({-1}));
  }

 private:
  WaveNetSizes sizes_;
  std::shared_ptr<Conv1d> start_, head_, output_;
  std::vector<std::shared_ptr<WaveNetLayer>> layers_;
};

ZooEntry MakeEntry(const char* name, const char* description, int64_t stacks) {
  ZooEntry entry;
  entry.facts = {name,
                 description,
                 "van den Oord et al. 2016",
                 {WholeParameter("batch", 64, 1 << 20, "signals in a step"),
                  WholeParameter("samples", 2048, 1 << 20, "samples predicted of a signal"),
                  WholeParameter("stacks", stacks, 1000, "stacks of layers"),
                  WholeParameter("layers", 9, 24, "layers of a stack; their reach doubles"),
                  WholeParameter("residual", 32, 1 << 14, "channels between layers"),
                  WholeParameter("dilation", 32, 1 << 14, "channels within a layer"),
                  WholeParameter("skip", 256, 1 << 14, "channels from every layer to the head"),
                  WholeParameter("head", 256, 1 << 14, "channels within the head"),
                  WholeParameter("levels", 256, 1 << 16, "values of a sample")},
                 // GDP says no more: four stacks of 9 layers reach 2044 samples back, its 2048.
                 // Channels and samples are unpublished.
                 {{"gdp", "GDP appendix 6.3.6: batch 64, 9 layers a stack", {}, "8xP100"}}};
  entry.build = Build<WaveNet>;
  return entry;
}

}  // namespace

std::vector<ZooEntry> WaveNetModels() {
  return {MakeEntry("wavenet-2x18", "WaveNet, 2 stacks, 18 layers in all", 2),
          MakeEntry("wavenet-4x36", "WaveNet, 4 stacks, 36 layers in all", 4)};
}

}  // namespace placewright
