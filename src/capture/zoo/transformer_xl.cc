// Transformer-XL (Dai et al. 2019): a text is read in segments, and every layer sees what it was
// given for the segment before, without sending gradients there. A step here is several segments
// of a text, one after the other; the memory of the first is an input.
#include <cmath>

#include "capture/zoo/blocks/basic.h"
#include "capture/zoo/zoo.h"

namespace placewright {
namespace {

struct TransformerXlSizes {
  explicit TransformerXlSizes(const Settings& settings)
      : batch(settings.Whole("batch")),
        segments(settings.Whole("segments")),
        segment(settings.Whole("segment")),
        memory(settings.Whole("memory")),
        layers(settings.Whole("layers")),
        width(settings.Whole("hidden")),
        heads(settings.Whole("heads")),
        head_width(settings.Whole("head_width")),
        inner(settings.Whole("inner")),
        words(settings.Whole("vocabulary")),
        dropout(settings.Real("dropout")),
        share_dropout(settings.Real("attention_dropout")) {}
  int64_t keys() const { return memory + segment; }
  int64_t batch, segments, segment, memory, layers, width, heads, head_width, inner, words;
  double dropout, share_dropout;
};

// The biases u and v of appendix A, shared by the layers: [heads, 1, head_width].
struct QueryBiases {
  at::Tensor content, position;
};

// Scores (q + u) k^T + shift((q + v) r^T) over memory and segment, r the distance's projection.
class RelativeAttention : public Module {
 public:
  explicit RelativeAttention(const TransformerXlSizes& sizes) : sizes_(sizes) {
    const int64_t all = sizes.heads * sizes.head_width;
    qkv_ = Add<Linear>("qkv", sizes.width, 3 * all, false);
    distance_ = Add<Linear>("distance", sizes.width, all, false);
    output_ = Add<Linear>("output", all, sizes.width, false);
    share_dropout_ = Add<Dropout>("share_dropout", sizes.share_dropout);
    dropout_ = Add<Dropout>("dropout", sizes.dropout);
    norm_ = Add<LayerNorm>("norm", sizes.width);
  }

  // `x` [segment, batch, width], `memory` [memory, batch, width], `distances` [keys, width].
  at::Tensor Forward(const at::Tensor& x, const at::Tensor& memory, const at::Tensor& distances,
                     const QueryBiases& biases, const at::Tensor& unseen) {
    const ModuleScope scope = Enter();
    const std::vector<at::Tensor> parts = qkv_->Forward(at::cat({memory, x})).chunk(3, -1);
    const at::Tensor query = ByHeads(parts[0].slice(0, sizes_.memory));
    const at::Tensor key = ByHeads(parts[1]), value = ByHeads(parts[2]);
    const at::Tensor r = distance_->Forward(distances)
                             .view({sizes_.keys(), sizes_.heads, sizes_.head_width})
                             .permute({1, 2, 0});
    const at::Tensor content = at::matmul(query + biases.content, key.transpose(-1, -2));
    const at::Tensor position = Shifted(at::matmul(query + biases.position, r));
    at::Tensor scores =
        (content + position) * (1 / std::sqrt(static_cast<double>(sizes_.head_width)));
    scores = scores.masked_fill(unseen, -1e30);
    const at::Tensor shares = share_dropout_->Forward(at::softmax(scores, -1));
    const at::Tensor mixed =
        at::matmul(shares, value)
            .permute({2, 0, 1, 3})
            .contiguous()
            .view({sizes_.segment, sizes_.batch, sizes_.heads * sizes_.head_width});
    return norm_->Forward(x + dropout_->Forward(output_->Forward(mixed)));
  }

 private:
  // [time, batch, heads * head_width] -> [batch, heads, time, head_width]
  at::Tensor ByHeads(const at::Tensor& x) const {
    return x.reshape({x.size(0), sizes_.batch, sizes_.heads, sizes_.head_width})
        .permute({1, 2, 0, 3});
  }
  // Row i of the scores is by distance from the text's beginning: moves it i places to the left, by
  // reading rows of one more column as rows of one less (appendix B).
  at::Tensor Shifted(const at::Tensor& scores) const {
    const int64_t batch = sizes_.batch, heads = sizes_.heads, rows = sizes_.segment;
    const at::Tensor padded = at::cat({at::zeros({batch, heads, rows, 1}), scores}, -1);
    return padded.view({batch, heads, sizes_.keys() + 1, rows})
        .slice(2, 1)
        .reshape({batch, heads, rows, sizes_.keys()});
  }

  TransformerXlSizes sizes_;
  std::shared_ptr<Linear> qkv_, distance_, output_;
  std::shared_ptr<Dropout> share_dropout_, dropout_;
  std::shared_ptr<LayerNorm> norm_;
};

class TransformerXlFeedForward : public Module {
 public:
  explicit TransformerXlFeedForward(const TransformerXlSizes& sizes) {
    in_ = Add<Linear>("in", sizes.width, sizes.inner);
    out_ = Add<Linear>("out", sizes.inner, sizes.width);
    dropout_ = Add<Dropout>("dropout", sizes.dropout);
    norm_ = Add<LayerNorm>("norm", sizes.width);
  }
  at::Tensor Forward(const at::Tensor& x) {
    const ModuleScope scope = Enter();
    const at::Tensor inner = dropout_->Forward(at::relu(in_->Forward(x)));
    return norm_->Forward(x + dropout_->Forward(out_->Forward(inner)));
  }

 private:
  std::shared_ptr<Linear> in_, out_;
  std::shared_ptr<Dropout> dropout_;
  std::shared_ptr<LayerNorm> norm_;
};

class TransformerXlLayer : public Module {
 public:
  explicit TransformerXlLayer(const TransformerXlSizes& sizes) {
    attention_ = Add<RelativeAttention>("attention", sizes);
    inner_ = Add<TransformerXlFeedForward>("inner", sizes);
  }
  at::Tensor Forward(const at::Tensor& x, const at::Tensor& memory, const at::Tensor& distances,
                     const QueryBiases& biases, const at::Tensor& unseen) {
    const ModuleScope scope = Enter();
    return inner_->Forward(attention_->Forward(x, memory, distances, biases, unseen));
  }

 private:
  std::shared_ptr<RelativeAttention> attention_;
  std::shared_ptr<TransformerXlFeedForward> inner_;
};

class TransformerXl : public Model {
 public:
  explicit TransformerXl(const Settings& settings) : sizes_(settings) {
    words_ = Add<Embedding>("embedding", sizes_.words, sizes_.width);
    for (int64_t i = 0; i < sizes_.layers; ++i) {
      layers_.push_back(Add<TransformerXlLayer>("layer" + std::to_string(i), sizes_));
    }
    dropout_ = Add<Dropout>("dropout", sizes_.dropout);
    const std::vector<int64_t> bias = {sizes_.heads, 1, sizes_.head_width};
    biases_ = {register_parameter("content_bias", SmallRandom(bias)),
               register_parameter("position_bias", SmallRandom(bias))};
    score_bias_ = register_parameter("score_bias", at::zeros({sizes_.words}));
    frequencies_ = register_buffer(
        "frequencies",
        at::pow(10000.0, at::arange(0, sizes_.width, 2, at::kFloat) / (-1.0 * sizes_.width)));
    unseen_ = register_buffer(
        "unseen", at::ones({sizes_.segment, sizes_.keys()}, at::kBool).triu(sizes_.memory + 1));
  }

  // The memory is what every layer was given for the text before.
  std::vector<NamedTensor> MakeInputs() const override {
    const int64_t steps = sizes_.segments * sizes_.segment;
    return {{"ids", at::randint(sizes_.words, {steps, sizes_.batch}, at::kLong)},
            {"memory", at::randn({sizes_.layers, sizes_.memory, sizes_.batch, sizes_.width})},
            {"next", at::randint(sizes_.words, {steps * sizes_.batch}, at::kLong)}};
  }

  // Scores of the next word, [segment * batch, words] for every segment.
  Tensors Forward(const Tensors& inputs) override {
    const ModuleScope scope = Enter();
    const at::Tensor distances = dropout_->Forward(Distances());
    std::vector<at::Tensor> memory = inputs[1].unbind(0);
    Tensors scores;
    for (const at::Tensor& ids : inputs[0].split(sizes_.segment)) {
      const bool last = static_cast<int64_t>(scores.size()) + 1 == sizes_.segments;
      at::Tensor x = words_->Forward(ids) * std::sqrt(static_cast<double>(sizes_.width));
      x = dropout_->Forward(x);
      for (size_t i = 0; i < layers_.size(); ++i) {
        const at::Tensor before = memory[i];
        if (!last) memory[i] = at::cat({before, x.detach()}).slice(0, sizes_.segment);
        x = layers_[i]->Forward(x, before, distances, biases_, unseen_);
      }
      x = at::linear(dropout_->Forward(x), words_->weight(), score_bias_);
      scores.push_back(x.view({-1, sizes_.words}));
    }
    return scores;
  }

  at::Tensor Loss(const Tensors& outputs, const Tensors& inputs) override {
    const std::vector<at::Tensor> next = inputs[2].split(sizes_.segment * sizes_.batch);
    at::Tensor loss = CrossEntropy(outputs[0], next[0]);
    for (size_t i = 1; i < outputs.size(); ++i) loss = loss + CrossEntropy(outputs[i], next[i]);
    return loss / static_cast<double>(outputs.size());
  }

 private:
  // Sines and cosines of the distances keys - 1, ..., 0: [keys, width].
  at::Tensor Distances() const {
    const at::Tensor places = at::arange(sizes_.keys() - 1, -1, -1, at::kFloat);
    const at::Tensor angles = places.unsqueeze(1) * frequencies_.unsqueeze(0);
    return at::cat({at::sin(angles), at::cos(angles)}, -1);
  }

  TransformerXlSizes sizes_;
  std::shared_ptr<Embedding> words_;
  std::vector<std::shared_ptr<TransformerXlLayer>> layers_;
  std::shared_ptr<Dropout> dropout_;
  QueryBiases biases_;
  at::Tensor score_bias_, frequencies_, unseen_;
};

std::vector<ZooPreset> Presets(int64_t layers) {
  if (layers == 12) {
    return {{"enwik8",
             "Dai et al. 2019, the base model of enwik8",
             {{"batch", 4},
              {"segments", 1},
              {"segment", 512},
              {"memory", 512},
              {"hidden", 512},
              {"heads", 8},
              {"head_width", 64},
              {"inner", 2048},
              {"vocabulary", 204}}}};
  }
  return {{"gdp", "GDP sec. 6.3.5; the defaults", {}, "8xP100", layers == 2 ? 2618 : 0}};
}

ZooEntry MakeEntry(int64_t layers) {
  ZooEntry entry;
  entry.facts = {
      "transformer-xl-" + std::to_string(layers),
      "Transformer-XL, " + std::to_string(layers) + " layers, segments of a text one after another",
      "Dai et al. 2019; sizes of GDP sec. 6.3.5, which names no vocabulary",
      {WholeParameter("batch", 64, 1 << 20, "texts in a step"),
       WholeParameter("segments", 4, 10000, "segments of a text in a step"),
       WholeParameter("segment", 64, 1 << 20, "tokens of a segment"),
       WholeParameter("memory", 64, 1 << 20, "tokens seen before a segment"),
       WholeParameter("layers", layers, 10000, "layers"),
       WholeParameter("hidden", 500, 1 << 20, "width; even"),
       WholeParameter("heads", 10, 1 << 16, "attention heads of a layer"),
       WholeParameter("head_width", 50, 1 << 20, "width of a head"),
       WholeParameter("inner", 1000, 1 << 22, "width between the two dense layers"),
       WholeParameter("vocabulary", 32000, 1 << 26, "tokens known"),
       ShareParameter("dropout", 0.1, "share of activations that dropout zeroes"),
       ShareParameter("attention_dropout", 0, "the same of the attention's shares")},
      Presets(layers)};
  entry.build = Build<TransformerXl>;
  return entry;
}

}  // namespace

std::vector<ZooEntry> TransformerXlModels() {
  return {MakeEntry(2), MakeEntry(4), MakeEntry(8), MakeEntry(12)};
}

}  // namespace placewright
