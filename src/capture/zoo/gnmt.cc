// Google's neural machine translation (Wu et al. 2016): an encoder whose first layer reads both
// ways, a decoder whose first layer asks the attention, and whose other layers see its answer.
//
// Step by step it is the variant gnmt_v2 of TensorFlow's NMT, which the placement papers run: the
// first decoder layer also takes the last step's context. All steps of a layer at once it is
// NVIDIA's, whose first decoder layer takes words only, so that attention needs no step before.
#include "capture/zoo/blocks/additive_attention.h"
#include "capture/zoo/blocks/lstm.h"
#include "capture/zoo/zoo.h"

namespace placewright {
namespace {

constexpr int64_t kFirstResidual = 2;  // from this layer on, a layer adds to its input

struct GnmtSizes {
  explicit GnmtSizes(const Settings& settings)
      : batch(settings.Whole("batch")),
        source_steps(settings.Whole("source_steps")),
        target_steps(settings.Whole("target_steps")),
        layers(settings.Whole("layers")),
        width(settings.Whole("hidden")),
        words(settings.Whole("vocabulary")),
        dropout(settings.Real("dropout")),
        by_step(settings.Whole("by_step") != 0),
        shared(settings.Whole("shared_embedding") != 0) {}
  int64_t batch, source_steps, target_steps, layers, width, words;
  double dropout;
  bool by_step, shared;
};

std::string LayerName(int64_t i) { return "lstm" + std::to_string(i); }

// A layer in both directions, each with weights of its own: [.., 2 width].
class BothWays : public Module {
 public:
  explicit BothWays(const GnmtSizes& sizes) : sizes_(sizes) {
    forward_ = Add<Lstm>("forward", sizes.width, sizes.width);
    backward_ = Add<Lstm>("backward", sizes.width, sizes.width);
  }
  Sequence Forward(const Sequence& x) {
    const ModuleScope scope = Enter();
    LstmCellState first = ZeroState(sizes_.batch, sizes_.width);
    LstmCellState last = ZeroState(sizes_.batch, sizes_.width);
    const Sequence y = forward_->Forward(x, first);
    return Joined(y, backward_->Forward(x, last, Direction::kBackward));
  }

 private:
  GnmtSizes sizes_;
  std::shared_ptr<Lstm> forward_, backward_;
};

class Encoder : public Module {
 public:
  explicit Encoder(const GnmtSizes& sizes) : sizes_(sizes) {
    const int64_t width = sizes.width;
    both_ways_ = Add<BothWays>(LayerName(0), sizes);
    for (int64_t i = 1; i < sizes.layers; ++i) {
      layers_.push_back(Add<Lstm>(LayerName(i), i == 1 ? 2 * width : width, width));
    }
    dropout_ = Add<Dropout>("dropout", sizes.dropout);
  }

  Sequence Forward(const Sequence& words) {
    const ModuleScope scope = Enter();
    Sequence x = both_ways_->Forward(Dropped(*dropout_, words));
    for (int64_t i = 1; i < sizes_.layers; ++i) {
      LstmCellState state = ZeroState(sizes_.batch, sizes_.width);
      const Sequence y = layers_[i - 1]->Forward(Dropped(*dropout_, x), state);
      x = i >= kFirstResidual ? Sum(y, x) : y;
    }
    return x;
  }

 private:
  GnmtSizes sizes_;
  std::shared_ptr<BothWays> both_ways_;
  std::vector<std::shared_ptr<Lstm>> layers_;  // above the first
  std::shared_ptr<Dropout> dropout_;
};

class Decoder : public Module {
 public:
  explicit Decoder(const GnmtSizes& sizes) : sizes_(sizes) {
    const int64_t width = sizes.width;
    for (int64_t i = 0; i < sizes.layers; ++i) {
      layers_.push_back(Add<Lstm>(LayerName(i), i > 0 || sizes.by_step ? 2 * width : width, width));
    }
    attention_ = Add<AdditiveAttention>("attention", width);
    dropout_ = Add<Dropout>("dropout", sizes.dropout);
  }

  // `words` as a sequence, `states` of the encoder [time, batch, width].
  Sequence Forward(const Sequence& words, const at::Tensor& states, const at::Tensor& lengths) {
    const ModuleScope scope = Enter();
    const AdditiveAttention::Keys keys = attention_->Prepare(states, lengths);
    auto [x, contexts] = sizes_.by_step ? FirstByStep(words, keys) : FirstAtOnce(words, keys);
    for (int64_t i = 1; i < sizes_.layers; ++i) {
      LstmCellState state = ZeroState(sizes_.batch, sizes_.width);
      const Sequence y = layers_[i]->Forward(Dropped(*dropout_, Joined(x, contexts)), state);
      x = i >= kFirstResidual ? Sum(y, x) : y;
    }
    return x;
  }

 private:
  // The first layer's states and their contexts.
  struct First {
    Sequence states, contexts;
  };
  First FirstByStep(const Sequence& words, const AdditiveAttention::Keys& keys) {
    First first;
    LstmCellState state = ZeroState(sizes_.batch, sizes_.width);
    at::Tensor context = at::zeros({sizes_.batch, sizes_.width});
    for (const at::Tensor& word : words) {
      state = layers_[0]->Step(dropout_->Forward(at::cat({word, context}, -1)), state);
      context = attention_->Forward(state.hidden.unsqueeze(1), keys).squeeze(1);
      first.states.push_back(state.hidden);
      first.contexts.push_back(context);
    }
    return first;
  }
  First FirstAtOnce(const Sequence& words, const AdditiveAttention::Keys& keys) {
    LstmCellState state = ZeroState(sizes_.batch, sizes_.width);
    const Sequence states = layers_[0]->Forward(Dropped(*dropout_, words), state);
    const at::Tensor contexts = attention_->Forward(states[0].transpose(0, 1), keys);
    return {states, {contexts.transpose(0, 1)}};
  }

  GnmtSizes sizes_;
  std::vector<std::shared_ptr<Lstm>> layers_;
  std::shared_ptr<AdditiveAttention> attention_;
  std::shared_ptr<Dropout> dropout_;
};

class Gnmt : public Model {
 public:
  explicit Gnmt(const Settings& settings) : sizes_(settings) {
    source_ = Add<Embedding>("source_embedding", sizes_.words, sizes_.width);
    target_ =
        sizes_.shared ? source_ : Add<Embedding>("target_embedding", sizes_.words, sizes_.width);
    encoder_ = Add<Encoder>("encoder", sizes_);
    decoder_ = Add<Decoder>("decoder", sizes_);
    scores_ = Add<Linear>("classifier", sizes_.width, sizes_.words);
  }

  std::vector<NamedTensor> MakeInputs() const override {
    const int64_t words = sizes_.words, batch = sizes_.batch;
    return {{"source", at::randint(words, {sizes_.source_steps, batch}, at::kLong)},
            {"lengths", at::randint(1, sizes_.source_steps + 1, {batch}, at::kLong)},
            {"target", at::randint(words, {sizes_.target_steps, batch}, at::kLong)},
            {"next", at::randint(words, {sizes_.target_steps * batch}, at::kLong)}};
  }

  // Scores of the next word, [target_steps * batch, vocabulary].
  Tensors Forward(const Tensors& inputs) override {
    const ModuleScope scope = Enter();
    const Sequence source = SequenceOf(source_->Forward(inputs[0]), sizes_.by_step);
    const at::Tensor states = WholeOf(encoder_->Forward(source));
    const Sequence target = SequenceOf(target_->Forward(inputs[2]), sizes_.by_step);
    const at::Tensor top = WholeOf(decoder_->Forward(target, states, inputs[1]));
    return {scores_->Forward(top).view({-1, sizes_.words})};
  }

  at::Tensor Loss(const Tensors& outputs, const Tensors& inputs) override {
    return CrossEntropy(outputs[0], inputs[3]);
  }

 private:
  GnmtSizes sizes_;
  std::shared_ptr<Embedding> source_, target_;
  std::shared_ptr<Encoder> encoder_;
  std::shared_ptr<Decoder> decoder_;
  std::shared_ptr<Linear> scores_;
};

// Sizes that the papers leave open are those of TensorFlow's NMT: 50 words at most, 36549 word
// pieces for German and English, dropout 0.2.
std::vector<ZooPreset> Presets(int64_t layers) {
  const int64_t ops = layers == 2 ? 28044 : layers == 4 ? 46600 : 83712;
  std::vector<ZooPreset> presets = {{"gdp", "GDP sec. 6.3.4; the defaults", {}, "8xP100", ops},
                                    {"nvidia",
                                     "NVIDIA's PyTorch translation example, at 40 words",
                                     {{"batch", 128},
                                      {"source_steps", 40},
                                      {"target_steps", 40},
                                      {"vocabulary", 32320},
                                      {"by_step", 0},
                                      {"shared_embedding", 1}}}};
  const std::map<std::string, double> narrow = {{"batch", 256}, {"hidden", 256}};
  if (layers == 4) {
    presets.push_back({"mars", "Mars sec. 4.1", narrow, "4xP100"});
    presets.push_back({"mars-wide",
                       "Mars sec. 4.1 at the model's own width, too large for one GPU of 12 GB",
                       {{"batch", 256}},
                       "4xP100"});
    presets.push_back({"eagle", "EAGLE sec. IV-A", narrow, "4xP100"});
  }
  return presets;
}

ZooEntry MakeEntry(int64_t layers) {
  ZooEntry entry;
  entry.facts = {
      "gnmt-" + std::to_string(layers),
      "Translation with attention, " + std::to_string(layers) +
          " layers of LSTM on each side, unrolled",
      "Wu et al. 2016; batch of GDP sec. 6.3.4",
      {WholeParameter("batch", 64, 1 << 20, "pairs of texts in a step"),
       WholeParameter("source_steps", 50, 10000, "words of a source text"),
       WholeParameter("target_steps", 50, 10000, "words of a target text"),
       WholeParameter("layers", layers, 10000, "layers of encoder and of decoder, at least 2"),
       WholeParameter("hidden", 1024, 1 << 20, "width of a word and of a layer"),
       WholeParameter("vocabulary", 36549, 1 << 26, "word pieces of either language"),
       SwitchParameter("by_step", true,
                       "step by step, the context fed to the next; else a layer at once"),
       SwitchParameter("shared_embedding", false, "one embedding for both languages"),
       ShareParameter("dropout", 0.2, "share of activations that dropout zeroes")},
      Presets(layers)};
  entry.facts.parameters[3].min = 2;  // the one in both directions gives two widths
  entry.build = Build<Gnmt>;
  return entry;
}

}  // namespace

std::vector<ZooEntry> GnmtModels() { return {MakeEntry(2), MakeEntry(4), MakeEntry(8)}; }

}  // namespace placewright
