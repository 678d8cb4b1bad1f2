// GPT-2 (Radford et al. 2019): the next token of a text. The scores' matrix is the embedding's.
#include <cmath>
#include <numbers>

#include "capture/zoo/blocks/basic.h"
#include "capture/zoo/zoo.h"

namespace placewright {
namespace {

struct Gpt2Sizes {
  explicit Gpt2Sizes(const Settings& settings)
      : batch(settings.Whole("batch")),
        sequence(settings.Whole("sequence")),
        layers(settings.Whole("layers")),
        hidden(settings.Whole("hidden")),
        heads(settings.Whole("heads")),
        vocabulary(settings.Whole("vocabulary")),
        positions(settings.Whole("positions")),
        dropout(settings.Real("dropout")) {
    settings.RequireMultiple("hidden", "heads");
    settings.RequireAtMost("sequence", "positions");
  }
  int64_t batch, sequence, layers, hidden, heads, vocabulary, positions;
  double dropout;
};

// y = x W + b, with W as [in, out], over the last dimension.
class Projection : public Module {
 public:
  Projection(int64_t in, int64_t out) : in_(in), out_(out) {
    weight_ = register_parameter("weight", SmallRandom({in, out}));
    bias_ = register_parameter("bias", at::zeros({out}));
  }
  at::Tensor Forward(const at::Tensor& x) {
    const ModuleScope scope = Enter();
    std::vector<int64_t> sizes = x.sizes().vec();
    sizes.back() = out_;
    return at::addmm(bias_, x.view({-1, in_}), weight_).view(sizes);
  }

 private:
  int64_t in_, out_;
  at::Tensor weight_, bias_;
};

// Every token looks at itself and at those before it.
class CausalAttention : public Module {
 public:
  explicit CausalAttention(const Gpt2Sizes& sizes) : sizes_(sizes) {
    mask_ = register_buffer("mask", at::ones({sizes.positions, sizes.positions}, at::kBool)
                                        .tril()
                                        .view({1, 1, sizes.positions, sizes.positions}));
    all_ = Add<Projection>("c_attn", sizes.hidden, 3 * sizes.hidden);
    output_ = Add<Projection>("c_proj", sizes.hidden, sizes.hidden);
    share_dropout_ = Add<Dropout>("attn_dropout", sizes.dropout);
    dropout_ = Add<Dropout>("resid_dropout", sizes.dropout);
  }

  at::Tensor Forward(const at::Tensor& x) {
    const ModuleScope scope = Enter();
    const std::vector<at::Tensor> parts = all_->Forward(x).split(sizes_.hidden, 2);
    const at::Tensor key = ByHeads(parts[1]);
    at::Tensor scores = at::matmul(ByHeads(parts[0]), key.transpose(-1, -2)) /
                        std::sqrt(static_cast<double>(sizes_.hidden / sizes_.heads));
    const at::Tensor seen = mask_.slice(2, 0, sizes_.sequence).slice(3, 0, sizes_.sequence);
    scores = at::where(seen, scores, at::full({}, -1e4));
    const at::Tensor shares = share_dropout_->Forward(at::softmax(scores, -1));
    const at::Tensor mixed = at::matmul(shares, ByHeads(parts[2]))
                                 .permute({0, 2, 1, 3})
                                 .contiguous()
                                 .view({sizes_.batch, sizes_.sequence, sizes_.hidden});
    return dropout_->Forward(output_->Forward(mixed));
  }

 private:
  // [batch, sequence, hidden] -> [batch, heads, sequence, hidden / heads]
  at::Tensor ByHeads(const at::Tensor& x) const {
    return x.view({sizes_.batch, sizes_.sequence, sizes_.heads, sizes_.hidden / sizes_.heads})
        .permute({0, 2, 1, 3});
  }

  Gpt2Sizes sizes_;
  at::Tensor mask_;
  std::shared_ptr<Projection> all_, output_;
  std::shared_ptr<Dropout> share_dropout_, dropout_;
};

class Gpt2FeedForward : public Module {
 public:
  explicit Gpt2FeedForward(const Gpt2Sizes& sizes) {
    in_ = Add<Projection>("c_fc", sizes.hidden, 4 * sizes.hidden);
    out_ = Add<Projection>("c_proj", 4 * sizes.hidden, sizes.hidden);
    dropout_ = Add<Dropout>("dropout", sizes.dropout);
  }
  at::Tensor Forward(const at::Tensor& x) {
    const ModuleScope scope = Enter();
    return dropout_->Forward(out_->Forward(Gelu(in_->Forward(x))));
  }

 private:
  // The approximation by tanh, as the published model computes it.
  static at::Tensor Gelu(const at::Tensor& x) {
    const double scale = std::sqrt(2 / std::numbers::pi);
    const at::Tensor inner = (x + at::pow(x, 3.0) * 0.044715) * scale;
    return x * 0.5 * (at::tanh(inner) + 1.0);
  }

  std::shared_ptr<Projection> in_, out_;
  std::shared_ptr<Dropout> dropout_;
};

class Gpt2Block : public Module {
 public:
  explicit Gpt2Block(const Gpt2Sizes& sizes) {
    norm1_ = Add<LayerNorm>("ln_1", sizes.hidden);
    attention_ = Add<CausalAttention>("attn", sizes);
    norm2_ = Add<LayerNorm>("ln_2", sizes.hidden);
    inner_ = Add<Gpt2FeedForward>("mlp", sizes);
  }
  at::Tensor Forward(const at::Tensor& x) {
    const ModuleScope scope = Enter();
    const at::Tensor y = attention_->Forward(norm1_->Forward(x)) + x;
    return y + inner_->Forward(norm2_->Forward(y));
  }

 private:
  std::shared_ptr<LayerNorm> norm1_, norm2_;
  std::shared_ptr<CausalAttention> attention_;
  std::shared_ptr<Gpt2FeedForward> inner_;
};

class Gpt2 : public Model {
 public:
  explicit Gpt2(const Settings& settings) : sizes_(settings) {
    words_ = Add<Embedding>("wte", sizes_.vocabulary, sizes_.hidden);
    positions_ = Add<Embedding>("wpe", sizes_.positions, sizes_.hidden);
    dropout_ = Add<Dropout>("drop", sizes_.dropout);
    for (int64_t i = 0; i < sizes_.layers; ++i) {
      blocks_.push_back(Add<Gpt2Block>("h" + std::to_string(i), sizes_));
    }
    norm_ = Add<LayerNorm>("ln_f", sizes_.hidden);
  }

  std::vector<NamedTensor> MakeInputs() const override {
    const std::vector<int64_t> tokens = {sizes_.batch, sizes_.sequence};
    return {{"ids", at::randint(sizes_.vocabulary, tokens, at::kLong)}};
  }

  // The scores of every next token, [batch, sequence, vocabulary].
  Tensors Forward(const Tensors& inputs) override {
    const ModuleScope scope = Enter();
    const at::Tensor places = at::arange(sizes_.sequence, at::kLong).unsqueeze(0);
    at::Tensor x = words_->Forward(inputs[0]) + positions_->Forward(places);
    x = dropout_->Forward(x);
    for (const auto& block : blocks_) x = block->Forward(x);
    return {at::linear(norm_->Forward(x), words_->weight())};
  }

  // Token i + 1 is what the scores of token i are for.
  at::Tensor Loss(const Tensors& outputs, const Tensors& inputs) override {
    const at::Tensor scores = outputs[0].slice(1, 0, sizes_.sequence - 1).contiguous();
    const at::Tensor next = inputs[0].slice(1, 1, sizes_.sequence).contiguous();
    return CrossEntropy(scores.view({-1, sizes_.vocabulary}), next.view({-1}));
  }

 private:
  Gpt2Sizes sizes_;
  std::shared_ptr<Embedding> words_, positions_;
  std::shared_ptr<Dropout> dropout_;
  std::vector<std::shared_ptr<Gpt2Block>> blocks_;
  std::shared_ptr<LayerNorm> norm_;
};

}  // namespace

std::vector<ZooEntry> Gpt2Models() {
  ZooEntry entry;
  entry.facts = {"gpt-2",
                 "GPT-2 small, 12 layers of width 768",
                 "Radford et al. 2019",
                 {WholeParameter("batch", 4, 1 << 20, "texts in a step"),
                  WholeParameter("sequence", 1024, 1 << 20, "tokens of a text, at least 2"),
                  WholeParameter("layers", 12, 10000, "decoder layers"),
                  WholeParameter("hidden", 768, 1 << 20, "width; a multiple of heads"),
                  WholeParameter("heads", 12, 1 << 16, "attention heads of a layer"),
                  WholeParameter("vocabulary", 50257, 1 << 26, "tokens known"),
                  WholeParameter("positions", 1024, 1 << 20, "longest text"),
                  ShareParameter("dropout", 0.1, "share of activations that dropout zeroes")},
                 {}};
  entry.facts.parameters[1].min = 2;
  entry.build = Build<Gpt2>;
  return {entry};
}

}  // namespace placewright
