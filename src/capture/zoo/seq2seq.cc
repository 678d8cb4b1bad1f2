// Sequence to sequence without attention (Sutskever et al. 2014): the decoder starts from the
// states in which the encoder ends.
#include "capture/zoo/blocks/lstm.h"
#include "capture/zoo/zoo.h"

namespace placewright {
namespace {

struct Seq2SeqSizes {
  explicit Seq2SeqSizes(const Settings& settings)
      : batch(settings.Whole("batch")),
        source_steps(settings.Whole("source_steps")),
        target_steps(settings.Whole("target_steps")),
        layers(settings.Whole("layers")),
        width(settings.Whole("hidden")),
        source_words(settings.Whole("source_vocabulary")),
        target_words(settings.Whole("target_vocabulary")),
        dropout(settings.Real("dropout")),
        by_step(settings.Whole("by_step") != 0) {}
  int64_t batch, source_steps, target_steps, layers, width, source_words, target_words;
  double dropout;
  bool by_step;
};

// An embedding and the layers above it.
class Stack : public Module {
 public:
  Stack(int64_t words, const Seq2SeqSizes& sizes) : by_step_(sizes.by_step) {
    words_ = Add<Embedding>("embedding", words, sizes.width);
    for (int64_t i = 0; i < sizes.layers; ++i) {
      layers_.push_back(Add<Lstm>("lstm" + std::to_string(i), sizes.width, sizes.width));
    }
    dropout_ = Add<Dropout>("dropout", sizes.dropout);
  }

  // The top layer's states; `states` has one entry a layer and is advanced.
  Sequence Forward(const at::Tensor& ids, std::vector<LstmCellState>& states) {
    const ModuleScope scope = Enter();
    Sequence x = SequenceOf(words_->Forward(ids), by_step_);
    for (size_t i = 0; i < layers_.size(); ++i) {
      x = layers_[i]->Forward(Dropped(*dropout_, x), states[i]);
    }
    return x;
  }

 private:
  bool by_step_;
  std::shared_ptr<Embedding> words_;
  std::vector<std::shared_ptr<Lstm>> layers_;
  std::shared_ptr<Dropout> dropout_;
};

class Seq2Seq : public Model {
 public:
  explicit Seq2Seq(const Settings& settings) : sizes_(settings) {
    encoder_ = Add<Stack>("encoder", sizes_.source_words, sizes_);
    decoder_ = Add<Stack>("decoder", sizes_.target_words, sizes_);
    scores_ = Add<Linear>("classifier", sizes_.width, sizes_.target_words);
  }

  std::vector<NamedTensor> MakeInputs() const override {
    const int64_t source = sizes_.source_words, target = sizes_.target_words;
    return {{"source", at::randint(source, {sizes_.source_steps, sizes_.batch}, at::kLong)},
            {"target", at::randint(target, {sizes_.target_steps, sizes_.batch}, at::kLong)},
            {"next", at::randint(target, {sizes_.target_steps * sizes_.batch}, at::kLong)}};
  }

  // Scores of the next word, [target_steps * batch, words].
  Tensors Forward(const Tensors& inputs) override {
    const ModuleScope scope = Enter();
    std::vector<LstmCellState> states;
    for (int64_t i = 0; i < sizes_.layers; ++i) {
      states.push_back(ZeroState(sizes_.batch, sizes_.width));
    }
    // The top layer's states but the last have no reader above.
    encoder_->Forward(inputs[0], states);
    const at::Tensor top = WholeOf(decoder_->Forward(inputs[1], states));
    return {scores_->Forward(top).view({-1, sizes_.target_words})};
  }

  at::Tensor Loss(const Tensors& outputs, const Tensors& inputs) override {
    return CrossEntropy(outputs[0], inputs[2]);
  }

 private:
  Seq2SeqSizes sizes_;
  std::shared_ptr<Stack> encoder_, decoder_;
  std::shared_ptr<Linear> scores_;
};

}  // namespace

std::vector<ZooEntry> Seq2SeqModels() {
  ZooEntry entry;
  entry.facts = {
      "seq2seq",
      "Sequence to sequence without attention, 4 layers of LSTM on each side, unrolled",
      "Sutskever et al. 2014; lengths are ours, the paper's sentences differ in length",
      {WholeParameter("batch", 128, 1 << 20, "pairs of texts in a step"),
       WholeParameter("source_steps", 30, 10000, "words of a source text"),
       WholeParameter("target_steps", 30, 10000, "words of a target text"),
       WholeParameter("layers", 4, 10000, "layers of encoder and of decoder"),
       WholeParameter("hidden", 1000, 1 << 20, "width of a word and of a layer"),
       WholeParameter("source_vocabulary", 160000, 1 << 26, "source words known"),
       WholeParameter("target_vocabulary", 80000, 1 << 26, "target words known"),
       SwitchParameter("by_step", true, "a layer's input products step by step, not all at once"),
       ShareParameter("dropout", 0, "share of activations that dropout zeroes")},
      {{"mars",
        "Mars sec. 4.3 names no sizes: those of its GNMT, with 2 layers",
        {{"batch", 256},
         {"source_steps", 50},
         {"target_steps", 50},
         {"layers", 2},
         {"hidden", 256},
         {"source_vocabulary", 36549},
         {"target_vocabulary", 36549},
         {"dropout", 0.2}},
        "4xP100"}}};
  entry.build = Build<Seq2Seq>;
  return {entry};
}

}  // namespace placewright
