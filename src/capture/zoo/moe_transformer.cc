// A decoder of transformer layers, every second one with a mixture of experts for its dense layers
// (Lepikhin et al. 2020, GShard; with one expert a token Fedus et al. 2021, Switch). Every expert
// has room for the same number of tokens of a text; a token that finds none takes the residual path
// alone. So all shapes follow from the sizes, whatever the routing.
#include <c10/util/Exception.h>

#include "capture/zoo/blocks/next_token.h"
#include "capture/zoo/blocks/router.h"
#include "capture/zoo/blocks/transformer.h"
#include "capture/zoo/zoo.h"

namespace placewright {
namespace {

struct MoeSizes {
  explicit MoeSizes(const Settings& settings)
      : batch(settings.Whole("batch")),
        sequence(settings.Whole("sequence")),
        layers(settings.Whole("layers")),
        hidden(settings.Whole("hidden")),
        heads(settings.Whole("heads")),
        inner(settings.Whole("inner")),
        experts(settings.Whole("experts")),
        chosen(settings.Whole("chosen")),
        vocabulary(settings.Whole("vocabulary")),
        capacity(settings.Real("capacity")),
        dropout(settings.Real("dropout")) {
    settings.RequireMultiple("hidden", "heads");
    settings.RequireAtMost("chosen", "experts");
  }
  RoutingSizes Routing() const {
    return {batch, sequence, hidden, experts, chosen, RoomFor(chosen, sequence, experts, capacity)};
  }
  int64_t batch, sequence, layers, hidden, heads, inner, experts, chosen, vocabulary;
  double capacity, dropout;
};

// The dense layers of a transformer layer, several times over.
class Mixture : public Module {
 public:
  explicit Mixture(const MoeSizes& sizes) : sizes_(sizes) {
    router_ = Add<Router>("router", sizes.Routing());
    for (int64_t i = 0; i < sizes.experts; ++i) {
      experts_.push_back(Add<FeedForward>("expert" + std::to_string(i), sizes.hidden, sizes.inner));
    }
  }

  // `balance` collects what the routers say of themselves.
  at::Tensor Forward(const at::Tensor& x, std::vector<at::Tensor>& balance) {
    const ModuleScope scope = Enter();
    const Routes routes = router_->Forward(x);
    balance.push_back(routes.balance);
    const int64_t room = sizes_.Routing().room;
    // [batch, experts, room, hidden], then expert by expert.
    const std::vector<int64_t> rooms = {sizes_.batch, sizes_.experts, room, sizes_.hidden},
                               rows = {sizes_.batch, sizes_.experts * room, sizes_.hidden};
    const at::Tensor sent = at::matmul(routes.places.transpose(1, 2), x).view(rooms);
    std::vector<at::Tensor> results = sent.transpose(0, 1).contiguous().unbind(0);
    for (size_t i = 0; i < experts_.size(); ++i) results[i] = experts_[i]->Forward(results[i]);
    return at::matmul(routes.weights, at::stack(results, 1).view(rows));
  }

 private:
  MoeSizes sizes_;
  std::shared_ptr<Router> router_;
  std::vector<std::shared_ptr<FeedForward>> experts_;
};

class MoeLayer : public Module {
 public:
  MoeLayer(const MoeSizes& sizes, bool mixes) {
    attention_norm_ = Add<LayerNorm>("attention_norm", sizes.hidden);
    attention_ = Add<MultiHeadAttention>("attention", sizes.hidden, sizes.heads);
    dense_norm_ = Add<LayerNorm>("dense_norm", sizes.hidden);
    if (mixes) {
      mixture_ = Add<Mixture>("mixture", sizes);
    } else {
      dense_ = Add<FeedForward>("feed_forward", sizes.hidden, sizes.inner);
    }
    dropout_ = Add<Dropout>("dropout", sizes.dropout);
  }

  at::Tensor Forward(at::Tensor x, const at::Tensor& mask, std::vector<at::Tensor>& balance) {
    const ModuleScope scope = Enter();
    at::Tensor y = attention_norm_->Forward(x);
    x = x + dropout_->Forward(attention_->Forward(y, y, mask));
    y = dense_norm_->Forward(x);
    y = mixture_ ? mixture_->Forward(y, balance) : dense_->Forward(y);
    return x + dropout_->Forward(y);
  }

 private:
  std::shared_ptr<LayerNorm> attention_norm_, dense_norm_;
  std::shared_ptr<MultiHeadAttention> attention_;
  std::shared_ptr<FeedForward> dense_;
  std::shared_ptr<Mixture> mixture_;
  std::shared_ptr<Dropout> dropout_;
};

class MoeTransformer : public NextTokenModel {
 public:
  explicit MoeTransformer(const Settings& settings)
      : NextTokenModel(settings.Whole("batch"), settings.Whole("sequence"),
                       settings.Whole("vocabulary"), settings.Real("balance")),
        sizes_(settings) {
    words_ = Add<Embedding>("words", sizes_.vocabulary, sizes_.hidden);
    places_ = Add<Embedding>("positions", sizes_.sequence, sizes_.hidden);
    dropout_ = Add<Dropout>("dropout", sizes_.dropout);
    for (int64_t i = 0; i < sizes_.layers; ++i) {
      layers_.push_back(Add<MoeLayer>("layer" + std::to_string(i), sizes_, i % 2 == 1));
    }
    norm_ = Add<LayerNorm>("norm", sizes_.hidden);
    mask_ = register_buffer("mask", CausalMask(sizes_.sequence));
  }

  // The scores of every next token, [batch, sequence, vocabulary], and the routers' balance.
  Tensors Forward(const Tensors& inputs) override {
    const ModuleScope scope = Enter();
    const at::Tensor places = at::arange(sizes_.sequence, at::kLong);
    at::Tensor x = dropout_->Forward(words_->Forward(inputs[0]) + places_->Forward(places));
    std::vector<at::Tensor> balance;
    for (const auto& layer : layers_) x = layer->Forward(x, mask_, balance);
    Tensors outputs = {at::linear(norm_->Forward(x), words_->weight())};
    outputs.insert(outputs.end(), balance.begin(), balance.end());
    return outputs;
  }

 private:
  MoeSizes sizes_;
  std::shared_ptr<Embedding> words_, places_;
  std::shared_ptr<Dropout> dropout_;
  std::vector<std::shared_ptr<MoeLayer>> layers_;
  std::shared_ptr<LayerNorm> norm_;
  at::Tensor mask_;
};

}  // namespace

std::vector<ZooEntry> MoeTransformerModels() {
  ZooEntry entry;
  entry.facts = {
      "moe-transformer",
      "Transformer decoder, every second layer with 8 experts",
      "Lepikhin et al. 2020; Fedus et al. 2021",
      {WholeParameter("batch", 8, 1 << 20, "texts in a step"),
       WholeParameter("sequence", 512, 1 << 20, "tokens of a text"),
       WholeParameter("layers", 12, 10000, "layers, every second one with experts"),
       WholeParameter("hidden", 768, 1 << 20, "width; a multiple of heads"),
       WholeParameter("heads", 12, 1 << 16, "attention heads of a layer"),
       WholeParameter("inner", 3072, 1 << 22, "width between the two dense layers"),
       WholeParameter("experts", 8, 1 << 14, "experts of a layer"),
       WholeParameter("chosen", 2, 1 << 14, "experts that a token goes to"),
       WholeParameter("vocabulary", 32128, 1 << 26, "tokens known"),
       {"capacity", "room of an expert over its fair share of tokens", 1.25, 0.01, 1024, false},
       ShareParameter("balance", 0.01, "weight of the routers' balance in the loss"),
       ShareParameter("dropout", 0.1, "share of activations that dropout zeroes")},
      {{"switch", "Fedus et al. 2021 sec. 2.1: one expert a token", {{"chosen", 1}}}}};
  entry.build = Build<MoeTransformer>;
  return {entry};
}

}  // namespace placewright
