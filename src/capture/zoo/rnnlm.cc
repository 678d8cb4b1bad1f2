// Recurrent language model (Zaremba et al. 2014): the next word, from layers of LSTM.
#include "capture/zoo/blocks/lstm.h"
#include "capture/zoo/zoo.h"

namespace placewright {
namespace {

class Rnnlm : public Model {
 public:
  explicit Rnnlm(const Settings& settings)
      : batch_(settings.Whole("batch")),
        steps_(settings.Whole("steps")),
        width_(settings.Whole("hidden")),
        vocabulary_(settings.Whole("vocabulary")),
        by_step_(settings.Whole("by_step") != 0) {
    words_ = Add<Embedding>("embedding", vocabulary_, width_);
    for (int64_t i = 0; i < settings.Whole("layers"); ++i) {
      layers_.push_back(Add<Lstm>("lstm" + std::to_string(i), width_, width_));
    }
    dropout_ = Add<Dropout>("dropout", settings.Real("dropout"));
    if (settings.Whole("tied") == 0)
      weight_ = register_parameter("weight", SmallRandom({vocabulary_, width_}));
    bias_ = register_parameter("bias", at::zeros({vocabulary_}));
  }

  // The states are those after the text's last part.
  std::vector<NamedTensor> MakeInputs() const override {
    const auto layers = static_cast<int64_t>(layers_.size());
    return {{"ids", at::randint(vocabulary_, {steps_, batch_}, at::kLong)},
            {"hidden", at::randn({layers, batch_, width_})},
            {"cell", at::randn({layers, batch_, width_})},
            {"targets", at::randint(vocabulary_, {steps_ * batch_}, at::kLong)}};
  }

  // Scores of the next word, [steps * batch, vocabulary].
  Tensors Forward(const Tensors& inputs) override {
    const ModuleScope scope = Enter();
    const std::vector<at::Tensor> hidden = inputs[1].unbind(0), cell = inputs[2].unbind(0);
    Sequence x = SequenceOf(words_->Forward(inputs[0]), by_step_);
    for (size_t i = 0; i < layers_.size(); ++i) {
      LstmCellState state = {hidden[i], cell[i]};
      x = layers_[i]->Forward(Dropped(*dropout_, x), state);
    }
    const at::Tensor top = WholeOf(Dropped(*dropout_, x));
    const at::Tensor weight = weight_.defined() ? weight_ : words_->weight();
    return {at::linear(top, weight, bias_).view({-1, vocabulary_})};
  }

  at::Tensor Loss(const Tensors& outputs, const Tensors& inputs) override {
    return CrossEntropy(outputs[0], inputs[3]);
  }

 private:
  int64_t batch_, steps_, width_, vocabulary_;
  bool by_step_;
  std::shared_ptr<Embedding> words_;
  std::vector<std::shared_ptr<Lstm>> layers_;
  std::shared_ptr<Dropout> dropout_;
  at::Tensor weight_, bias_;
};

ZooEntry RnnlmEntry(int64_t layers) {
  ZooEntry entry;
  entry.facts = {
      "rnnlm-" + std::to_string(layers),
      "Recurrent language model, " + std::to_string(layers) + " layers of LSTM, unrolled",
      "Zaremba et al. 2014; batch and width of GDP sec. 6.3.3, the rest of Zaremba's large model",
      {WholeParameter("batch", 64, 1 << 20, "texts in a step"),
       WholeParameter("steps", 35, 10000, "words of a text in a step"),
       WholeParameter("layers", layers, 10000, "layers of LSTM"),
       WholeParameter("hidden", 2048, 1 << 20, "width of a word and of a layer"),
       WholeParameter("vocabulary", 10000, 1 << 26, "words known"),
       SwitchParameter("by_step", true, "a layer's input products step by step, not all at once"),
       SwitchParameter("tied", false, "the scores' matrix is the embedding's"),
       ShareParameter("dropout", 0.65, "share of activations that dropout zeroes")},
      {{"gdp", "GDP sec. 6.3.3; the defaults", {}, "8xP100", layers == 2 ? 9021 : 0}}};
  if (layers == 2) {
    entry.facts.presets.push_back({"zaremba-medium",
                                   "Zaremba et al. 2014, sec. 4.1",
                                   {{"batch", 20}, {"hidden", 650}, {"dropout", 0.5}}});
    entry.facts.presets.push_back({"pytorch",
                                   "PyTorch's example word_language_model, on WikiText-2",
                                   {{"batch", 20},
                                    {"hidden", 650},
                                    {"vocabulary", 33278},
                                    {"by_step", 0},
                                    {"tied", 1},
                                    {"dropout", 0.5}}});
  }
  entry.build = Build<Rnnlm>;
  return entry;
}

}  // namespace

std::vector<ZooEntry> RnnlmModels() { return {RnnlmEntry(2), RnnlmEntry(4), RnnlmEntry(8)}; }

}  // namespace placewright
