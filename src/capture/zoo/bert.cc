// BERT (Devlin et al. 2018) with the head for question answering: for every token the scores of
// being the first and the last one of the answer. Small is that of Turc et al. 2019.
#include <cmath>

#include "capture/zoo/blocks/basic.h"
#include "capture/zoo/zoo.h"

namespace placewright {
namespace {

constexpr double kEpsilon = 1e-12;  // of layer norms, as in the published models
constexpr int64_t kTokenTypes = 2;  // first and second sentence

struct BertSizes {
  explicit BertSizes(const Settings& settings)
      : batch(settings.Whole("batch")),
        sequence(settings.Whole("sequence")),
        layers(settings.Whole("layers")),
        hidden(settings.Whole("hidden")),
        heads(settings.Whole("heads")),
        inner(settings.Whole("inner")),
        vocabulary(settings.Whole("vocabulary")),
        positions(settings.Whole("positions")),
        dropout(settings.Real("dropout")) {
    settings.RequireMultiple("hidden", "heads");
    settings.RequireAtMost("sequence", "positions");
  }
  int64_t batch, sequence, layers, hidden, heads, inner, vocabulary, positions;
  double dropout;
};

class Embeddings : public Module {
 public:
  explicit Embeddings(const BertSizes& sizes) : sequence_(sizes.sequence) {
    words_ = Add<Embedding>("word_embeddings", sizes.vocabulary, sizes.hidden);
    positions_ = Add<Embedding>("position_embeddings", sizes.positions, sizes.hidden);
    types_ = Add<Embedding>("token_type_embeddings", kTokenTypes, sizes.hidden);
    norm_ = Add<LayerNorm>("LayerNorm", sizes.hidden, kEpsilon);
    dropout_ = Add<Dropout>("dropout", sizes.dropout);
    position_ids_ = register_buffer(
        "position_ids", at::arange(sizes.positions, at::kLong).expand({1, -1}).contiguous());
  }

  at::Tensor Forward(const at::Tensor& ids, const at::Tensor& types) {
    const ModuleScope scope = Enter();
    at::Tensor x = words_->Forward(ids) + types_->Forward(types);
    x.add_(positions_->Forward(position_ids_.slice(1, 0, sequence_)));
    return dropout_->Forward(norm_->Forward(x));
  }

 private:
  int64_t sequence_;
  std::shared_ptr<Embedding> words_, positions_, types_;
  std::shared_ptr<LayerNorm> norm_;
  std::shared_ptr<Dropout> dropout_;
  at::Tensor position_ids_;
};

// softmax(Q K^T / sqrt(d) + mask) V, by heads.
class SelfAttention : public Module {
 public:
  explicit SelfAttention(const BertSizes& sizes) : sizes_(sizes) {
    query_ = Add<Linear>("query", sizes.hidden, sizes.hidden);
    key_ = Add<Linear>("key", sizes.hidden, sizes.hidden);
    value_ = Add<Linear>("value", sizes.hidden, sizes.hidden);
    dropout_ = Add<Dropout>("dropout", sizes.dropout);
  }

  at::Tensor Forward(const at::Tensor& x, const at::Tensor& mask) {
    const ModuleScope scope = Enter();
    const at::Tensor query = query_->Forward(x);
    const at::Tensor key = ByHeads(key_->Forward(x)), value = ByHeads(value_->Forward(x));
    at::Tensor scores = at::matmul(ByHeads(query), key.transpose(-1, -2));
    scores = scores / std::sqrt(static_cast<double>(sizes_.hidden / sizes_.heads)) + mask;
    const at::Tensor shares = dropout_->Forward(at::softmax(scores, -1));
    return at::matmul(shares, value)
        .permute({0, 2, 1, 3})
        .contiguous()
        .view({sizes_.batch, sizes_.sequence, sizes_.hidden});
  }

 private:
  // [batch, sequence, hidden] -> [batch, heads, sequence, hidden / heads]
  at::Tensor ByHeads(const at::Tensor& x) const {
    return x.view({sizes_.batch, sizes_.sequence, sizes_.heads, sizes_.hidden / sizes_.heads})
        .permute({0, 2, 1, 3});
  }

  BertSizes sizes_;
  std::shared_ptr<Linear> query_, key_, value_;
  std::shared_ptr<Dropout> dropout_;
};

// LayerNorm(residual + dropout(dense(x)))
class ResidualOutput : public Module {
 public:
  ResidualOutput(int64_t in, const BertSizes& sizes) {
    dense_ = Add<Linear>("dense", in, sizes.hidden);
    norm_ = Add<LayerNorm>("LayerNorm", sizes.hidden, kEpsilon);
    dropout_ = Add<Dropout>("dropout", sizes.dropout);
  }

  at::Tensor Forward(const at::Tensor& x, const at::Tensor& residual) {
    const ModuleScope scope = Enter();
    return norm_->Forward(dropout_->Forward(dense_->Forward(x)) + residual);
  }

 private:
  std::shared_ptr<Linear> dense_;
  std::shared_ptr<LayerNorm> norm_;
  std::shared_ptr<Dropout> dropout_;
};

class Attention : public Module {
 public:
  explicit Attention(const BertSizes& sizes) {
    self_ = Add<SelfAttention>("self", sizes);
    output_ = Add<ResidualOutput>("output", sizes.hidden, sizes);
  }
  at::Tensor Forward(const at::Tensor& x, const at::Tensor& mask) {
    const ModuleScope scope = Enter();
    return output_->Forward(self_->Forward(x, mask), x);
  }

 private:
  std::shared_ptr<SelfAttention> self_;
  std::shared_ptr<ResidualOutput> output_;
};

class Intermediate : public Module {
 public:
  explicit Intermediate(const BertSizes& sizes) {
    dense_ = Add<Linear>("dense", sizes.hidden, sizes.inner);
  }
  at::Tensor Forward(const at::Tensor& x) {
    const ModuleScope scope = Enter();
    return at::gelu(dense_->Forward(x));
  }

 private:
  std::shared_ptr<Linear> dense_;
};

class BertLayer : public Module {
 public:
  explicit BertLayer(const BertSizes& sizes) {
    attention_ = Add<Attention>("attention", sizes);
    intermediate_ = Add<Intermediate>("intermediate", sizes);
    output_ = Add<ResidualOutput>("output", sizes.inner, sizes);
  }
  at::Tensor Forward(const at::Tensor& x, const at::Tensor& mask) {
    const ModuleScope scope = Enter();
    const at::Tensor attended = attention_->Forward(x, mask);
    return output_->Forward(intermediate_->Forward(attended), attended);
  }

 private:
  std::shared_ptr<Attention> attention_;
  std::shared_ptr<Intermediate> intermediate_;
  std::shared_ptr<ResidualOutput> output_;
};

class Bert : public Model {
 public:
  explicit Bert(const Settings& settings) : sizes_(settings) {
    embeddings_ = Add<Embeddings>("embeddings", sizes_);
    for (int64_t i = 0; i < sizes_.layers; ++i) {
      layers_.push_back(Add<BertLayer>("layer" + std::to_string(i), sizes_));
    }
    head_ = Add<Linear>("qa_outputs", sizes_.hidden, int64_t{2});
  }

  std::vector<NamedTensor> MakeInputs() const override {
    const std::vector<int64_t> tokens = {sizes_.batch, sizes_.sequence};
    const std::vector<int64_t> answers = {sizes_.batch};
    return {{"ids", at::randint(sizes_.vocabulary, tokens, at::kLong)},
            {"mask", at::ones(tokens, at::kLong)},
            {"types", at::randint(kTokenTypes, tokens, at::kLong)},
            {"starts", at::randint(sizes_.sequence, answers, at::kLong)},
            {"ends", at::randint(sizes_.sequence, answers, at::kLong)}};
  }

  // Scores of the first and of the last token, [batch, sequence] each.
  Tensors Forward(const Tensors& inputs) override {
    const ModuleScope scope = Enter();
    // 0 where a token may be looked at, -10000 where not.
    const at::Tensor seen = inputs[1].unsqueeze(1).unsqueeze(2).to(at::kFloat);
    const at::Tensor mask = at::rsub(seen, 1.0) * -10000.0;
    at::Tensor x = embeddings_->Forward(inputs[0], inputs[2]);
    for (const auto& layer : layers_) x = layer->Forward(x, mask);
    const std::vector<at::Tensor> scores = head_->Forward(x).split(1, -1);
    return {scores[0].squeeze(-1), scores[1].squeeze(-1)};
  }

  at::Tensor Loss(const Tensors& outputs, const Tensors& inputs) override {
    return (CrossEntropy(outputs[0], inputs[3]) + CrossEntropy(outputs[1], inputs[4])) / 2;
  }

 private:
  BertSizes sizes_;
  std::shared_ptr<Embeddings> embeddings_;
  std::vector<std::shared_ptr<BertLayer>> layers_;
  std::shared_ptr<Linear> head_;
};

struct Variant {
  const char* name;
  const char* description;
  int64_t batch, layers, hidden, heads;
  std::vector<ZooPreset> presets;
};

// Of TAG's models, whose Table 3 has the sizes of all parameters but those of the table of words, whose gradients are
// sparse; `values`: those of its public code that are the model's own.
std::vector<ZooPreset> TagPresets(std::map<std::string, double> values, int64_t paper_ops) {
  values.insert({{"sequence", 128}, {"vocabulary", 305220}});
  return {{"tag", "TAG table 3 and its public code", std::move(values), "tag-testbed", paper_ops},
          {"tag-table3-guess",
           "TAG table 3, its batch alone; the defaults",
           {},
           "tag-testbed",
           paper_ops}};
}

ZooEntry MakeEntry(const Variant& variant) {
  ZooEntry entry;
  entry.facts = {
      variant.name,
      variant.description,
      "Devlin et al. 2018; Turc et al. 2019 (small)",
      {WholeParameter("batch", variant.batch, 1 << 20, "texts in a step"),
       WholeParameter("sequence", 384, 1 << 20, "tokens of a text"),
       WholeParameter("layers", variant.layers, 10000, "encoder layers"),
       WholeParameter("hidden", variant.hidden, 1 << 20, "width; a multiple of heads"),
       WholeParameter("heads", variant.heads, 1 << 16, "attention heads of a layer"),
       WholeParameter("inner", 4 * variant.hidden, 1 << 22, "width between the two dense layers"),
       WholeParameter("vocabulary", 30522, 1 << 26, "tokens known"),
       WholeParameter("positions", 512, 1 << 20, "longest text"),
       ShareParameter("dropout", 0.1, "share of activations that dropout zeroes")},
      variant.presets};
  entry.build = Build<Bert>;
  return entry;
}

}  // namespace

std::vector<ZooEntry> BertModels() {
  return {MakeEntry({"bert-small", "BERT, 4 layers of width 512", 96, 4, 512, 8,
                     TagPresets({{"hidden", 1024}, {"inner", 1024}, {"heads", 16}}, 5061)}),
          MakeEntry({"bert-base",
                     "BERT, 12 layers of width 768",
                     24,
                     12,
                     768,
                     12,
                     {{"mars", "Mars sec. 4.1; the defaults", {}, "4xP100"},
                      {"eagle", "EAGLE sec. IV-A; the defaults", {}, "4xP100"}}}),
          MakeEntry({"bert-large", "BERT, 24 layers of width 1024", 16, 24, 1024, 16,
                     TagPresets({{"hidden", 2048}, {"inner", 2048}, {"positions", 1024}}, 26601)})};
}

}  // namespace placewright
