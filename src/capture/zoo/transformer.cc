// The transformer with encoder and decoder (Vaswani et al. 2017), base size.
#include "capture/zoo/blocks/transformer.h"

#include <algorithm>
#include <cmath>

#include "capture/zoo/zoo.h"

namespace placewright {
namespace {

struct TransformerSizes {
  explicit TransformerSizes(const Settings& settings)
      : batch(settings.Whole("batch")),
        source(settings.Whole("source")),
        target(settings.Whole("target")),
        layers(settings.Whole("layers")),
        hidden(settings.Whole("hidden")),
        heads(settings.Whole("heads")),
        inner(settings.Whole("inner")),
        vocabulary(settings.Whole("vocabulary")),
        tied(settings.Whole("tied") != 0),
        dropout(settings.Real("dropout")),
        smoothing(settings.Real("smoothing")) {
    settings.RequireMultiple("hidden", "heads");
  }
  int64_t batch, source, target, layers, hidden, heads, inner, vocabulary;
  bool tied;
  double dropout, smoothing;
};

// LayerNorm(x + dropout(sub-layer of x)).
class Residual : public Module {
 public:
  explicit Residual(const TransformerSizes& sizes) {
    dropout_ = Add<Dropout>("dropout", sizes.dropout);
    norm_ = Add<LayerNorm>("norm", sizes.hidden);
  }
  at::Tensor Forward(const at::Tensor& x, const at::Tensor& change) {
    const ModuleScope scope = Enter();
    return norm_->Forward(x + dropout_->Forward(change));
  }

 private:
  std::shared_ptr<Dropout> dropout_;
  std::shared_ptr<LayerNorm> norm_;
};

class EncoderLayer : public Module {
 public:
  explicit EncoderLayer(const TransformerSizes& sizes) {
    attention_ = Add<MultiHeadAttention>("attention", sizes.hidden, sizes.heads);
    attended_ = Add<Residual>("attended", sizes);
    dense_ = Add<FeedForward>("feed_forward", sizes.hidden, sizes.inner);
    fed_ = Add<Residual>("fed", sizes);
  }
  at::Tensor Forward(const at::Tensor& x) {
    const ModuleScope scope = Enter();
    const at::Tensor y = attended_->Forward(x, attention_->Forward(x, x));
    return fed_->Forward(y, dense_->Forward(y));
  }

 private:
  std::shared_ptr<MultiHeadAttention> attention_;
  std::shared_ptr<FeedForward> dense_;
  std::shared_ptr<Residual> attended_, fed_;
};

class DecoderLayer : public Module {
 public:
  explicit DecoderLayer(const TransformerSizes& sizes) {
    own_ = Add<MultiHeadAttention>("self_attention", sizes.hidden, sizes.heads);
    attended_ = Add<Residual>("attended", sizes);
    cross_ = Add<MultiHeadAttention>("cross_attention", sizes.hidden, sizes.heads);
    crossed_ = Add<Residual>("crossed", sizes);
    dense_ = Add<FeedForward>("feed_forward", sizes.hidden, sizes.inner);
    fed_ = Add<Residual>("fed", sizes);
  }
  at::Tensor Forward(const at::Tensor& x, const at::Tensor& encoded, const at::Tensor& mask) {
    const ModuleScope scope = Enter();
    const at::Tensor y = attended_->Forward(x, own_->Forward(x, x, mask));
    const at::Tensor z = crossed_->Forward(y, cross_->Forward(y, encoded));
    return fed_->Forward(z, dense_->Forward(z));
  }

 private:
  std::shared_ptr<MultiHeadAttention> own_, cross_;
  std::shared_ptr<FeedForward> dense_;
  std::shared_ptr<Residual> attended_, crossed_, fed_;
};

class Transformer : public Model {
 public:
  explicit Transformer(const Settings& settings) : sizes_(settings) {
    source_ = Add<Embedding>("embedding", sizes_.vocabulary, sizes_.hidden);
    target_ = source_;
    if (!sizes_.tied) {
      target_ = Add<Embedding>("target_embedding", sizes_.vocabulary, sizes_.hidden);
      output_ = Add<Linear>("output", sizes_.hidden, sizes_.vocabulary, false);
    }
    dropout_ = Add<Dropout>("dropout", sizes_.dropout);
    for (int64_t i = 0; i < sizes_.layers; ++i) {
      encoder_.push_back(Add<EncoderLayer>("encoder" + std::to_string(i), sizes_));
    }
    for (int64_t i = 0; i < sizes_.layers; ++i) {
      decoder_.push_back(Add<DecoderLayer>("decoder" + std::to_string(i), sizes_));
    }
    const int64_t longest = std::max(sizes_.source, sizes_.target);
    positions_ = register_buffer("positions", PositionalEncoding(longest, sizes_.hidden));
    mask_ = register_buffer("mask", CausalMask(sizes_.target));
  }

  // "targets" are the decoder's tokens, one further.
  std::vector<NamedTensor> MakeInputs() const override {
    const std::vector<int64_t> source = {sizes_.batch, sizes_.source},
                               target = {sizes_.batch, sizes_.target};
    return {{"source", at::randint(sizes_.vocabulary, source, at::kLong)},
            {"target", at::randint(sizes_.vocabulary, target, at::kLong)},
            {"targets", at::randint(sizes_.vocabulary, target, at::kLong)}};
  }

  // The scores of every next token, [batch, target, vocabulary].
  Tensors Forward(const Tensors& inputs) override {
    const ModuleScope scope = Enter();
    at::Tensor encoded = Embedded(*source_, inputs[0]);
    for (const auto& layer : encoder_) encoded = layer->Forward(encoded);
    at::Tensor x = Embedded(*target_, inputs[1]);
    for (const auto& layer : decoder_) x = layer->Forward(x, encoded, mask_);
    return {output_ ? output_->Forward(x) : at::linear(x, source_->weight())};
  }

  at::Tensor Loss(const Tensors& outputs, const Tensors& inputs) override {
    return CrossEntropy(outputs[0].view({-1, sizes_.vocabulary}), inputs[2].view({-1}),
                        sizes_.smoothing);
  }

 private:
  at::Tensor Embedded(Embedding& embedding, const at::Tensor& tokens) {
    const at::Tensor x = embedding.Forward(tokens) * std::sqrt(static_cast<double>(sizes_.hidden));
    return dropout_->Forward(x + positions_.slice(0, 0, tokens.size(1)));
  }

  TransformerSizes sizes_;
  std::shared_ptr<Embedding> source_, target_;
  std::shared_ptr<Linear> output_;  // of its own where weights are not tied
  std::shared_ptr<Dropout> dropout_;
  std::vector<std::shared_ptr<EncoderLayer>> encoder_;
  std::vector<std::shared_ptr<DecoderLayer>> decoder_;
  at::Tensor positions_, mask_;
};

}  // namespace

std::vector<ZooEntry> TransformerModels() {
  ZooEntry entry;
  entry.facts = {
      "transformer",
      "Transformer base, encoder and decoder of 6 layers",
      "Vaswani et al. 2017",
      {WholeParameter("batch", 48, 1 << 20, "pairs of sentences in a step"),
       WholeParameter("source", 64, 1 << 20, "tokens of a sentence"),
       WholeParameter("target", 64, 1 << 20, "tokens of its translation"),
       WholeParameter("layers", 6, 10000, "layers of encoder and of decoder"),
       WholeParameter("hidden", 512, 1 << 20, "width; a multiple of heads"),
       WholeParameter("heads", 8, 1 << 16, "attention heads of a layer"),
       WholeParameter("inner", 2048, 1 << 22, "width between the two dense layers"),
       WholeParameter("vocabulary", 37000, 1 << 26, "tokens known"),
       SwitchParameter("tied", true, "whether both embeddings and the output are one matrix"),
       ShareParameter("dropout", 0.1, "share of activations that dropout zeroes"),
       ShareParameter("smoothing", 0.1, "share of the loss spread over all tokens")},
      // TAG publishes batch, parameters (407 MB) and lengths, no vocabulary: they are three matrices of 40,800 tokens.
      {{"paper", "Vaswani et al. sec. 5.1: 25,000 tokens a batch", {{"batch", 390}}},
       {"tag",
        "TAG table 3 and its public code: batch 480, 10 tokens a sentence, 407 MB of parameters",
        {{"batch", 480}, {"source", 10}, {"target", 10}, {"tied", 0}, {"vocabulary", 40800}},
        "tag-testbed",
        16859},
       {"tag-table3-guess",
        "TAG table 3 alone: batch 480, 407 MB of parameters; the lengths are guesses",
        {{"batch", 480}, {"tied", 0}, {"vocabulary", 40800}},
        "tag-testbed",
        16859},
       {"mars", "Mars sec. 4.3 names no sizes: the defaults", {}, "4xP100"}}};
  entry.build = Build<Transformer>;
  return {entry};
}

}  // namespace placewright
