// The table of models, and how one is found in it by name, preset and values.
#ifndef PLACEWRIGHT_CAPTURE_ZOO_ZOO_H_
#define PLACEWRIGHT_CAPTURE_ZOO_ZOO_H_

#include <memory>
#include <vector>

#include "base/result.h"
#include "capture/zoo/model.h"

namespace placewright {

// All models, by name.
std::vector<ZooEntry> ZooEntries();

struct ChosenModel {
  ZooEntry entry;
  Settings settings;
};

// "NAME" or "NAME@PRESET" with values of its own; later ones win: defaults, preset, `values`.
// Errors: kUnknownName with near names (model, preset, parameter), kField (a value out of range).
Result<ChosenModel> ChooseModel(const std::string& model,
                                const std::map<std::string, double>& values);

// The models, one file each.
std::vector<ZooEntry> AmoebaNetDModels();
std::vector<ZooEntry> BertModels();
std::vector<ZooEntry> GnmtModels();
std::vector<ZooEntry> Gpt2Models();
std::vector<ZooEntry> InceptionV3Models();
std::vector<ZooEntry> LlamaModels();
std::vector<ZooEntry> MlpModels();
std::vector<ZooEntry> MoeTransformerModels();
std::vector<ZooEntry> ResNetModels();
std::vector<ZooEntry> RnnlmModels();
std::vector<ZooEntry> Seq2SeqModels();
std::vector<ZooEntry> TransformerModels();
std::vector<ZooEntry> TransformerXlModels();
std::vector<ZooEntry> VggModels();
std::vector<ZooEntry> VisionTransformerModels();
std::vector<ZooEntry> WaveNetModels();

}  // namespace placewright

#endif  // PLACEWRIGHT_CAPTURE_ZOO_ZOO_H_
