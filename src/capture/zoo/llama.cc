// Decoders of today: Llama 3 (Grattafiori et al. 2024), Qwen3 (Yang et al. 2025) and Mixtral (Jiang et al. 2024), which
// learn the next token. RMS norms, rotary positions, fewer heads of keys and values than of queries, gated dense layers.
//
// Attention is recorded by its definition, with scores of every pair of tokens: fused kernels are operators of newer
// LibTorch alone, and steps of transformers are recorded with them (docs/formats/pytorch.md). Mixtral drops no token;
// here an expert has room for `capacity` times its fair share of a text's tokens.
#include <cmath>

#include "capture/zoo/blocks/next_token.h"
#include "capture/zoo/blocks/router.h"
#include "capture/zoo/blocks/transformer.h"
#include "capture/zoo/zoo.h"

namespace placewright {
namespace {

struct DecoderSizes {
  explicit DecoderSizes(const Settings& settings)
      : batch(settings.Whole("batch")),
        sequence(settings.Whole("sequence")),
        layers(settings.Whole("layers")),
        hidden(settings.Whole("hidden")),
        heads(settings.Whole("heads")),
        key_heads(settings.Whole("key_heads")),
        head_width(settings.Whole("head_width")),
        inner(settings.Whole("inner")),
        vocabulary(settings.Whole("vocabulary")),
        experts(settings.Whole("experts")),
        chosen(settings.Whole("chosen")),
        theta(settings.Real("theta")),
        capacity(settings.Real("capacity")),
        tied(settings.Whole("tied") != 0),
        query_norm(settings.Whole("query_norm") != 0) {
    settings.RequireMultiple("heads", "key_heads");
    settings.RequireMultiple("head_width", 2);
    settings.RequireAtMost("chosen", "experts");
  }
  RoutingSizes Routing() const {
    return {batch, sequence, hidden, experts, chosen, RoomFor(chosen, sequence, experts, capacity)};
  }
  int64_t batch, sequence, layers, hidden, heads, key_heads, head_width, inner, vocabulary, experts,
      chosen;
  double theta, capacity;
  bool tied, query_norm;
};

// x / sqrt(mean of x^2) w over the last dimension (Zhang, Sennrich 2019).
class RmsNorm : public Module {
 public:
  explicit RmsNorm(int64_t width) { weight_ = register_parameter("weight", at::ones({width})); }
  at::Tensor Forward(const at::Tensor& x) {
    const ModuleScope scope = Enter();
    const std::vector<int64_t> last = {-1};
    return x * at::rsqrt(at::pow(x, 2.0).mean(last, true) + 1e-5) * weight_;
  }

 private:
  at::Tensor weight_;
};

// Cosines and sines of every position, [tokens, head width] each (Su et al. 2021).
struct Rotation {
  at::Tensor cosines, sines;
  // Of x [batch, heads, tokens, head width]; the halves of a head are the pairs' two sides.
  at::Tensor Of(const at::Tensor& x) const {
    const std::vector<at::Tensor> halves = x.split(x.size(-1) / 2, -1);
    const std::vector<at::Tensor> turned = {-halves[1], halves[0]};
    return x * cosines + at::cat(turned, -1) * sines;
  }
};

class GroupedAttention : public Module {
 public:
  explicit GroupedAttention(const DecoderSizes& sizes) : sizes_(sizes) {
    const int64_t queries = sizes.heads * sizes.head_width,
                  keys = sizes.key_heads * sizes.head_width;
    query_ = Add<Linear>("q_proj", sizes.hidden, queries, false);
    key_ = Add<Linear>("k_proj", sizes.hidden, keys, false);
    value_ = Add<Linear>("v_proj", sizes.hidden, keys, false);
    output_ = Add<Linear>("o_proj", queries, sizes.hidden, false);
    if (sizes.query_norm) {
      query_norm_ = Add<RmsNorm>("q_norm", sizes.head_width);
      key_norm_ = Add<RmsNorm>("k_norm", sizes.head_width);
    }
  }

  at::Tensor Forward(const at::Tensor& x, const Rotation& rotation, const at::Tensor& mask) {
    const ModuleScope scope = Enter();
    at::Tensor query = ByHeads(query_->Forward(x), sizes_.heads, query_norm_),
               key = ByHeads(key_->Forward(x), sizes_.key_heads, key_norm_);
    const at::Tensor value = ForQueries(ByHeads(value_->Forward(x), sizes_.key_heads, nullptr));
    query = rotation.Of(query);
    key = ForQueries(rotation.Of(key));
    const at::Tensor scores = at::matmul(query, key.transpose(-1, -2)) /
                                  std::sqrt(static_cast<double>(sizes_.head_width)) +
                              mask;
    const std::vector<int64_t> joined = {sizes_.batch, sizes_.sequence,
                                         sizes_.heads * sizes_.head_width};
    const at::Tensor mixed = at::matmul(at::softmax(scores, -1), value);
    return output_->Forward(mixed.transpose(1, 2).reshape(joined));
  }

 private:
  // [batch, tokens, heads * width] -> [batch, heads, tokens, width]
  at::Tensor ByHeads(const at::Tensor& x, int64_t heads, const std::shared_ptr<RmsNorm>& norm) {
    const std::vector<int64_t> sizes = {sizes_.batch, sizes_.sequence, heads, sizes_.head_width};
    const at::Tensor apart = x.view(sizes);
    return (norm ? norm->Forward(apart) : apart).transpose(1, 2);
  }
  // Every head of keys or values, for each of the queries' heads that share it.
  at::Tensor ForQueries(const at::Tensor& x) const {
    const int64_t times = sizes_.heads / sizes_.key_heads;
    if (times == 1) return x;
    const std::vector<int64_t> several = {sizes_.batch, sizes_.key_heads, times, sizes_.sequence,
                                          sizes_.head_width},
                               all = {sizes_.batch, sizes_.heads, sizes_.sequence,
                                      sizes_.head_width};
    return x.unsqueeze(2).expand(several).reshape(all);
  }

  DecoderSizes sizes_;
  std::shared_ptr<Linear> query_, key_, value_, output_;
  std::shared_ptr<RmsNorm> query_norm_, key_norm_;
};

// (silu(x G) * x U) D (Shazeer 2020).
class GatedLayers : public Module {
 public:
  explicit GatedLayers(const DecoderSizes& sizes) {
    gate_ = Add<Linear>("gate_proj", sizes.hidden, sizes.inner, false);
    up_ = Add<Linear>("up_proj", sizes.hidden, sizes.inner, false);
    down_ = Add<Linear>("down_proj", sizes.inner, sizes.hidden, false);
  }
  at::Tensor Forward(const at::Tensor& x) {
    const ModuleScope scope = Enter();
    return down_->Forward(at::silu(gate_->Forward(x)) * up_->Forward(x));
  }

 private:
  std::shared_ptr<Linear> gate_, up_, down_;
};

// The same for every expert, whose weights lie in one tensor.
class GatedExperts : public Module {
 public:
  explicit GatedExperts(const DecoderSizes& sizes) : sizes_(sizes) {
    router_ = Add<Router>("gate", sizes.Routing());
    gate_ =
        register_parameter("gate_proj", SmallRandom({sizes.experts, sizes.hidden, sizes.inner}));
    up_ = register_parameter("up_proj", SmallRandom({sizes.experts, sizes.hidden, sizes.inner}));
    down_ =
        register_parameter("down_proj", SmallRandom({sizes.experts, sizes.inner, sizes.hidden}));
  }

  // `balance` collects what the routers say of themselves.
  at::Tensor Forward(const at::Tensor& x, std::vector<at::Tensor>& balance) {
    const ModuleScope scope = Enter();
    const Routes routes = router_->Forward(x);
    balance.push_back(routes.balance);
    const int64_t room = sizes_.Routing().room;
    const std::vector<int64_t> rooms = {sizes_.batch, sizes_.experts, room, sizes_.hidden},
                               by_expert = {sizes_.experts, sizes_.batch, room, sizes_.hidden},
                               flat = {sizes_.experts, sizes_.batch * room, sizes_.hidden},
                               rows = {sizes_.batch, sizes_.experts * room, sizes_.hidden};
    const at::Tensor sent = at::matmul(routes.places.transpose(1, 2), x).view(rooms);
    const at::Tensor taken = sent.transpose(0, 1).reshape(flat);
    const at::Tensor made = at::bmm(at::silu(at::bmm(taken, gate_)) * at::bmm(taken, up_), down_);
    return at::matmul(routes.weights, made.view(by_expert).transpose(0, 1).reshape(rows));
  }

 private:
  DecoderSizes sizes_;
  std::shared_ptr<Router> router_;
  at::Tensor gate_, up_, down_;
};

class LlamaLayer : public Module {
 public:
  explicit LlamaLayer(const DecoderSizes& sizes) {
    attention_norm_ = Add<RmsNorm>("input_layernorm", sizes.hidden);
    attention_ = Add<GroupedAttention>("self_attn", sizes);
    dense_norm_ = Add<RmsNorm>("post_attention_layernorm", sizes.hidden);
    if (sizes.experts > 1) {
      experts_ = Add<GatedExperts>("experts", sizes);
    } else {
      dense_ = Add<GatedLayers>("mlp", sizes);
    }
  }
  at::Tensor Forward(const at::Tensor& x, const Rotation& rotation, const at::Tensor& mask,
                     std::vector<at::Tensor>& balance) {
    const ModuleScope scope = Enter();
    const at::Tensor y = x + attention_->Forward(attention_norm_->Forward(x), rotation, mask);
    const at::Tensor z = dense_norm_->Forward(y);
    return y + (experts_ ? experts_->Forward(z, balance) : dense_->Forward(z));
  }

 private:
  std::shared_ptr<RmsNorm> attention_norm_, dense_norm_;
  std::shared_ptr<GroupedAttention> attention_;
  std::shared_ptr<GatedLayers> dense_;
  std::shared_ptr<GatedExperts> experts_;
};

constexpr double kBalance = 0.02;  // of the routers in the loss, as Mixtral's configuration has it

class Decoder : public NextTokenModel {
 public:
  explicit Decoder(const Settings& settings)
      : NextTokenModel(settings.Whole("batch"), settings.Whole("sequence"),
                       settings.Whole("vocabulary"), kBalance),
        sizes_(settings) {
    words_ = Add<Embedding>("embed_tokens", sizes_.vocabulary, sizes_.hidden);
    for (int64_t i = 0; i < sizes_.layers; ++i) {
      layers_.push_back(Add<LlamaLayer>("layer" + std::to_string(i), sizes_));
    }
    norm_ = Add<RmsNorm>("norm", sizes_.hidden);
    if (!sizes_.tied) scores_ = Add<Linear>("lm_head", sizes_.hidden, sizes_.vocabulary, false);
    const int64_t pairs = sizes_.head_width / 2;
    const double decay = -std::log(sizes_.theta) / static_cast<double>(pairs);
    const at::Tensor rates = (at::arange(pairs, at::kFloat) * decay).exp();
    const at::Tensor half = at::arange(sizes_.sequence, at::kFloat).unsqueeze(1) * rates;
    const std::vector<at::Tensor> both = {half, half};
    const at::Tensor angles = at::cat(both, 1);
    rotation_.cosines = register_buffer("cosines", angles.cos());
    rotation_.sines = register_buffer("sines", angles.sin());
    mask_ = register_buffer("mask", CausalMask(sizes_.sequence));
  }

  // The scores of every next token, [batch, sequence, vocabulary], and the routers' balance.
  Tensors Forward(const Tensors& inputs) override {
    const ModuleScope scope = Enter();
    at::Tensor x = words_->Forward(inputs[0]);
    std::vector<at::Tensor> balance;
    for (const auto& layer : layers_) x = layer->Forward(x, rotation_, mask_, balance);
    x = norm_->Forward(x);
    Tensors outputs = {scores_ ? scores_->Forward(x) : at::linear(x, words_->weight())};
    outputs.insert(outputs.end(), balance.begin(), balance.end());
    return outputs;
  }

 private:
  DecoderSizes sizes_;
  std::shared_ptr<Embedding> words_;
  std::vector<std::shared_ptr<LlamaLayer>> layers_;
  std::shared_ptr<RmsNorm> norm_;
  std::shared_ptr<Linear> scores_;
  Rotation rotation_;
  at::Tensor mask_;
};

struct Published {
  const char* name;
  const char* description;
  const char* source;
  int64_t layers, hidden, heads, key_heads, head_width, inner, vocabulary;
  double theta;
  bool tied = false, query_norm = false;
  int64_t experts = 1, chosen = 1;
};

ZooEntry MakeEntry(const Published& of) {
  ZooEntry entry;
  entry.facts = {
      of.name,
      of.description,
      of.source,
      {WholeParameter("batch", 2, 1 << 20, "texts in a step"),
       WholeParameter("sequence", 2048, 1 << 20, "tokens of a text"),
       WholeParameter("layers", of.layers, 10000, "decoder layers"),
       WholeParameter("hidden", of.hidden, 1 << 20, "width"),
       WholeParameter("heads", of.heads, 1 << 16, "heads of queries; a multiple of key_heads"),
       WholeParameter("key_heads", of.key_heads, 1 << 16, "heads of keys and values"),
       WholeParameter("head_width", of.head_width, 1 << 16, "width of a head, even"),
       WholeParameter("inner", of.inner, 1 << 22, "width between the dense layers"),
       WholeParameter("vocabulary", of.vocabulary, 1 << 26, "tokens known"),
       {"theta", "base of the rotary positions' wave lengths", of.theta, 2, 1e12, false},
       SwitchParameter("tied", of.tied, "the scores' matrix is the embedding's"),
       SwitchParameter("query_norm", of.query_norm, "queries and keys are normed by heads"),
       WholeParameter("experts", of.experts, 1 << 14, "experts of a layer; 1: one dense layer"),
       WholeParameter("chosen", of.chosen, 1 << 14, "experts that a token goes to"),
       {"capacity", "room of an expert over its fair share of tokens", 1.25, 0.01, 1024, false}},
      {}};
  entry.build = Build<Decoder>;
  return entry;
}

}  // namespace

std::vector<ZooEntry> LlamaModels() {
  std::vector<ZooEntry> entries;
  for (const Published& of : std::initializer_list<Published>{
           {"llama-3-8b", "Llama 3, 32 layers of width 4096", "Grattafiori et al. 2024, table 3",
            32, 4096, 32, 8, 128, 14336, 128256, 500000},
           {"llama-3-70b", "Llama 3, 80 layers of width 8192", "Grattafiori et al. 2024, table 3",
            80, 8192, 64, 8, 128, 28672, 128256, 500000},
           {"qwen3-0.6b", "Qwen3, 28 layers of width 1024", "Yang et al. 2025, table 1", 28, 1024,
            16, 8, 128, 3072, 151936, 1000000, true, true},
           {"qwen3-8b", "Qwen3, 36 layers of width 4096", "Yang et al. 2025, table 1", 36, 4096, 32,
            8, 128, 12288, 151936, 1000000, false, true},
           {"mixtral-8x7b", "Mixtral, 32 layers of width 4096 with 8 experts",
            "Jiang et al. 2024, table 1", 32, 4096, 32, 8, 128, 14336, 32000, 1000000, false, false,
            8, 2}}) {
    entries.push_back(MakeEntry(of));
  }
  return entries;
}

}  // namespace placewright
