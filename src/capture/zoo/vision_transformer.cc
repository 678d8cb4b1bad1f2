// Transformers over patches of images: ViT (Dosovitskiy et al. 2020), which names what an image shows, and DiT (Peebles,
// Xie 2022), which learns the noise in a latent image, from its time and class. Attention is recorded by its definition.
#include <cmath>

#include "capture/zoo/blocks/convolution.h"
#include "capture/zoo/blocks/transformer.h"
#include "capture/zoo/zoo.h"

namespace placewright {
namespace {

struct PatchSizes {
  explicit PatchSizes(const Settings& settings)
      : batch(settings.Whole("batch")),
        size(settings.Whole("size")),
        patch(settings.Whole("patch")),
        layers(settings.Whole("layers")),
        hidden(settings.Whole("hidden")),
        heads(settings.Whole("heads")),
        inner(settings.Whole("inner")),
        classes(settings.Whole("classes")) {
    settings.RequireMultiple("size", "patch");
    settings.RequireMultiple("hidden", "heads");
  }
  int64_t Places() const { return (size / patch) * (size / patch); }
  int64_t batch, size, patch, layers, hidden, heads, inner, classes;
};

// gelu(x W1 + b1) W2 + b2
class GeluLayers : public Module {
 public:
  explicit GeluLayers(const PatchSizes& sizes) {
    first_ = Add<Linear>("fc1", sizes.hidden, sizes.inner);
    second_ = Add<Linear>("fc2", sizes.inner, sizes.hidden);
  }
  at::Tensor Forward(const at::Tensor& x) {
    const ModuleScope scope = Enter();
    return second_->Forward(at::gelu(first_->Forward(x)));
  }

 private:
  std::shared_ptr<Linear> first_, second_;
};

// [batch, channels, size, size] -> [batch, places, hidden]
class PatchEmbedding : public Module {
 public:
  PatchEmbedding(int64_t channels, const PatchSizes& sizes) {
    convolution_ = Add<Conv2d>("proj", channels, sizes.hidden, Square(sizes.patch, sizes.patch));
  }
  at::Tensor Forward(const at::Tensor& x) {
    const ModuleScope scope = Enter();
    return convolution_->Forward(x).flatten(2).transpose(1, 2);
  }

 private:
  std::shared_ptr<Conv2d> convolution_;
};

class VitBlock : public Module {
 public:
  explicit VitBlock(const PatchSizes& sizes) {
    norm1_ = Add<LayerNorm>("norm1", sizes.hidden, 1e-6);
    attention_ = Add<MultiHeadAttention>("attn", sizes.hidden, sizes.heads);
    norm2_ = Add<LayerNorm>("norm2", sizes.hidden, 1e-6);
    dense_ = Add<GeluLayers>("mlp", sizes);
  }
  at::Tensor Forward(const at::Tensor& x) {
    const ModuleScope scope = Enter();
    const at::Tensor seen = norm1_->Forward(x).contiguous();
    const at::Tensor y = x + attention_->Forward(seen, seen);
    return y + dense_->Forward(norm2_->Forward(y));
  }

 private:
  std::shared_ptr<LayerNorm> norm1_, norm2_;
  std::shared_ptr<MultiHeadAttention> attention_;
  std::shared_ptr<GeluLayers> dense_;
};

class Vit : public Model {
 public:
  explicit Vit(const Settings& settings) : sizes_(settings) {
    patches_ = Add<PatchEmbedding>("patch_embed", int64_t{3}, sizes_);
    class_ = register_parameter("cls_token", SmallRandom({1, 1, sizes_.hidden}));
    places_ = register_parameter("pos_embed", SmallRandom({1, sizes_.Places() + 1, sizes_.hidden}));
    for (int64_t i = 0; i < sizes_.layers; ++i) {
      blocks_.push_back(Add<VitBlock>("block" + std::to_string(i), sizes_));
    }
    norm_ = Add<LayerNorm>("norm", sizes_.hidden, 1e-6);
    head_ = Add<Linear>("head", sizes_.hidden, sizes_.classes);
  }

  std::vector<NamedTensor> MakeInputs() const override {
    return {{"images", RandomImages(sizes_.batch, sizes_.size)},
            {"targets", RandomClasses(sizes_.batch, sizes_.classes)}};
  }

  // The scores of every class, [batch, classes].
  Tensors Forward(const Tensors& inputs) override {
    const ModuleScope scope = Enter();
    const std::vector<int64_t> one = {sizes_.batch, 1, sizes_.hidden};
    const std::vector<at::Tensor> parts = {class_.expand(one), patches_->Forward(inputs[0])};
    at::Tensor x = at::cat(parts, 1) + places_;
    for (const auto& block : blocks_) x = block->Forward(x);
    return {head_->Forward(norm_->Forward(x).select(1, 0))};
  }

  at::Tensor Loss(const Tensors& outputs, const Tensors& inputs) override {
    return CrossEntropy(outputs[0], inputs[1]);
  }

 private:
  PatchSizes sizes_;
  std::shared_ptr<PatchEmbedding> patches_;
  at::Tensor class_, places_;
  std::vector<std::shared_ptr<VitBlock>> blocks_;
  std::shared_ptr<LayerNorm> norm_;
  std::shared_ptr<Linear> head_;
};

constexpr int64_t kLatents = 4, kWaves = 256;

// x (1 + scale) + shift, with one of each for a sample.
at::Tensor Modulate(const at::Tensor& x, const at::Tensor& shift, const at::Tensor& scale) {
  return x * (scale.unsqueeze(1) + 1.0) + shift.unsqueeze(1);
}

// What a sample's condition makes of `count` widths: silu(c) W + b, in parts.
class Modulation : public Module {
 public:
  Modulation(int64_t hidden, int64_t count) : hidden_(hidden) {
    linear_ = Add<Linear>("linear", hidden, count * hidden);
  }
  std::vector<at::Tensor> Forward(const at::Tensor& condition) {
    const ModuleScope scope = Enter();
    return linear_->Forward(at::silu(condition)).split(hidden_, 1);
  }

 private:
  int64_t hidden_;
  std::shared_ptr<Linear> linear_;
};

// "adaLN-Zero": norms without parameters, whose scale, shift and gate follow from the condition.
class DitBlock : public Module {
 public:
  explicit DitBlock(const PatchSizes& sizes) : hidden_(sizes.hidden) {
    modulation_ = Add<Modulation>("adaLN_modulation", sizes.hidden, int64_t{6});
    attention_ = Add<MultiHeadAttention>("attn", sizes.hidden, sizes.heads);
    dense_ = Add<GeluLayers>("mlp", sizes);
  }
  at::Tensor Forward(const at::Tensor& x, const at::Tensor& condition) {
    const ModuleScope scope = Enter();
    const std::vector<at::Tensor> parts = modulation_->Forward(condition);
    const at::Tensor seen = Modulate(Norm(x), parts[0], parts[1]).contiguous();
    const at::Tensor y = x + parts[2].unsqueeze(1) * attention_->Forward(seen, seen);
    return y + parts[5].unsqueeze(1) * dense_->Forward(Modulate(Norm(y), parts[3], parts[4]));
  }

 private:
  at::Tensor Norm(const at::Tensor& x) const {
    const std::vector<int64_t> width = {hidden_};
    return at::layer_norm(x, width, {}, {}, 1e-6);
  }

  int64_t hidden_;
  std::shared_ptr<Modulation> modulation_;
  std::shared_ptr<MultiHeadAttention> attention_;
  std::shared_ptr<GeluLayers> dense_;
};

class TimeEmbedding : public Module {
 public:
  explicit TimeEmbedding(int64_t hidden) {
    first_ = Add<Linear>("mlp0", kWaves, hidden);
    second_ = Add<Linear>("mlp2", hidden, hidden);
  }
  at::Tensor Forward(const at::Tensor& times) {
    const ModuleScope scope = Enter();
    const double decay = -std::log(10000.0) / static_cast<double>(kWaves / 2);
    const at::Tensor rates = (at::arange(kWaves / 2, at::kFloat) * decay).exp();
    const at::Tensor angles = times.to(at::kFloat).unsqueeze(1) * rates;
    const std::vector<at::Tensor> waves = {angles.cos(), angles.sin()};
    return second_->Forward(at::silu(first_->Forward(at::cat(waves, 1))));
  }

 private:
  std::shared_ptr<Linear> first_, second_;
};

class Dit : public Model {
 public:
  explicit Dit(const Settings& settings) : sizes_(settings) {
    patches_ = Add<PatchEmbedding>("x_embedder", kLatents, sizes_);
    times_ = Add<TimeEmbedding>("t_embedder", sizes_.hidden);
    classes_ = Add<Embedding>("y_embedder", sizes_.classes + 1, sizes_.hidden);  // the last: none
    places_ = register_buffer("pos_embed", PositionalEncoding(sizes_.Places(), sizes_.hidden));
    for (int64_t i = 0; i < sizes_.layers; ++i) {
      blocks_.push_back(Add<DitBlock>("block" + std::to_string(i), sizes_));
    }
    modulation_ = Add<Modulation>("final_modulation", sizes_.hidden, int64_t{2});
    output_ =
        Add<Linear>("final_linear", sizes_.hidden, sizes_.patch * sizes_.patch * 2 * kLatents);
  }

  std::vector<NamedTensor> MakeInputs() const override {
    const std::vector<int64_t> latents = {sizes_.batch, kLatents, sizes_.size, sizes_.size},
                               samples = {sizes_.batch};
    return {{"noised", at::randn(latents)},
            {"times", at::randint(1000, samples, at::kLong)},
            {"labels", at::randint(sizes_.classes + 1, samples, at::kLong)},
            {"noise", at::randn(latents)}};
  }

  // The noise and its variance, [batch, 2 channels, size, size].
  Tensors Forward(const Tensors& inputs) override {
    const ModuleScope scope = Enter();
    at::Tensor x = patches_->Forward(inputs[0]) + places_;
    const at::Tensor condition = times_->Forward(inputs[1]) + classes_->Forward(inputs[2]);
    for (const auto& block : blocks_) x = block->Forward(x, condition);
    const std::vector<at::Tensor> parts = modulation_->Forward(condition);
    const std::vector<int64_t> width = {sizes_.hidden};
    x = output_->Forward(Modulate(at::layer_norm(x, width, {}, {}, 1e-6), parts[0], parts[1]));
    const int64_t side = sizes_.size / sizes_.patch;
    const std::vector<int64_t> apart = {sizes_.batch, side,         side,
                                        sizes_.patch, sizes_.patch, 2 * kLatents},
                               order = {0, 5, 1, 3, 2, 4},
                               image = {sizes_.batch, 2 * kLatents, sizes_.size, sizes_.size};
    return {x.view(apart).permute(order).reshape(image)};
  }

  at::Tensor Loss(const Tensors& outputs, const Tensors& inputs) override {
    return at::mse_loss(outputs[0].slice(1, 0, kLatents), inputs[3]);
  }

  int64_t LimitOf(const std::string& input) const override { return input == "times" ? 1000 : 0; }

 private:
  PatchSizes sizes_;
  std::shared_ptr<PatchEmbedding> patches_;
  std::shared_ptr<TimeEmbedding> times_;
  std::shared_ptr<Embedding> classes_;
  at::Tensor places_;
  std::vector<std::shared_ptr<DitBlock>> blocks_;
  std::shared_ptr<Modulation> modulation_;
  std::shared_ptr<Linear> output_;
};

struct PublishedImages {
  const char* name;
  const char* description;
  const char* source;
  int64_t batch, size, patch, layers, hidden, heads;
};

template <class M>
ZooEntry MakeEntry(const PublishedImages& of) {
  ZooEntry entry;
  entry.facts = {
      of.name,
      of.description,
      of.source,
      {WholeParameter("batch", of.batch, 1 << 20, "images in a step"),
       WholeParameter("size", of.size, 1 << 14, "height and width; a multiple of patch"),
       WholeParameter("patch", of.patch, 1 << 10, "height and width of a patch"),
       WholeParameter("layers", of.layers, 10000, "layers"),
       WholeParameter("hidden", of.hidden, 1 << 20, "width; a multiple of heads"),
       WholeParameter("heads", of.heads, 1 << 16, "attention heads of a layer"),
       WholeParameter("inner", 4 * of.hidden, 1 << 22, "width between the two dense layers"),
       WholeParameter("classes", 1000, 1 << 20, "classes known")},
      {}};
  entry.build = Build<M>;
  return entry;
}

}  // namespace

std::vector<ZooEntry> VisionTransformerModels() {
  constexpr const char* kVit = "Dosovitskiy et al. 2020, table 1";
  return {MakeEntry<Vit>({"vit-b-16", "ViT, 12 layers of width 768, patches of 16", kVit, 32, 224,
                          16, 12, 768, 12}),
          MakeEntry<Vit>({"vit-l-16", "ViT, 24 layers of width 1024, patches of 16", kVit, 32, 224,
                          16, 24, 1024, 16}),
          MakeEntry<Dit>({"dit-xl-2", "DiT, 28 layers of width 1152, latents of 32 x 32",
                          "Peebles, Xie 2022, table 1", 16, 32, 2, 28, 1152, 16})};
}

}  // namespace placewright
