// Every model of the zoo at sizes at which a test can afford to run it: for tests.
#ifndef PLACEWRIGHT_CAPTURE_STEP_TINY_MODELS_H_
#define PLACEWRIGHT_CAPTURE_STEP_TINY_MODELS_H_

#include <algorithm>
#include <cctype>
#include <map>
#include <ostream>
#include <sstream>
#include <string>
#include <vector>

#include "torch_api/capture_service.h"

namespace placewright {

struct TinyModel {
  const char* model;
  Training training;
  std::map<std::string, double> values;
  CapturePrecision precision = CapturePrecision::kAsIs;

  CaptureRequest Request() const {
    CaptureRequest request{model, training, values};
    request.precision = precision;
    return request;
  }
  friend std::ostream& operator<<(std::ostream& out, const TinyModel& c) {
    return out << c.model << "_" << ToString(c.training)
               << (c.precision == CapturePrecision::kAsIs ? "" : "_bf16");
  }
};

// As part of a test's name.
inline std::string NameOf(const TinyModel& model) {
  std::ostringstream text;
  text << model;
  std::string name = text.str();
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

inline const std::map<std::string, double> kTinyMlp = {
    {"batch", 4}, {"features", 6}, {"hidden", 8}, {"classes", 3}, {"dropout", 0.5}};
inline const std::map<std::string, double> kTinyBert = {
    {"batch", 2},  {"sequence", 8},   {"layers", 2},      {"hidden", 16},  {"heads", 2},
    {"inner", 32}, {"positions", 12}, {"vocabulary", 50}, {"dropout", 0.3}};
inline const std::map<std::string, double> kTinyGpt2 = {
    {"batch", 2}, {"sequence", 6},   {"layers", 2},      {"hidden", 16},
    {"heads", 2}, {"positions", 12}, {"vocabulary", 50}, {"dropout", 0.3}};
inline const std::map<std::string, double> kTinyVgg = {
    {"batch", 2}, {"size", 32}, {"hidden", 16}, {"classes", 5}};
inline const std::map<std::string, double> kTinyResNet = {
    {"batch", 2}, {"size", 32}, {"width", 4}, {"classes", 5}};
inline const std::map<std::string, double> kTinyRnnlm = {
    {"batch", 2}, {"steps", 3}, {"hidden", 6}, {"vocabulary", 11}, {"dropout", 0.3}};
inline const std::map<std::string, double> kTinyTiedRnnlm = {
    {"batch", 2},     {"steps", 3}, {"hidden", 6}, {"vocabulary", 11},
    {"dropout", 0.3}, {"tied", 1},  {"by_step", 0}};
inline const std::map<std::string, double> kTinyGnmt = {
    {"batch", 2},  {"source_steps", 4}, {"target_steps", 3}, {"layers", 3},
    {"hidden", 6}, {"vocabulary", 11},  {"dropout", 0.3}};
inline const std::map<std::string, double> kTinyGnmtAtOnce = {
    {"batch", 2},     {"source_steps", 4}, {"target_steps", 3},
    {"layers", 3},    {"hidden", 6},       {"vocabulary", 11},
    {"dropout", 0.3}, {"by_step", 0},      {"shared_embedding", 1}};
inline const std::map<std::string, double> kTinySeq2Seq = {
    {"batch", 2},  {"source_steps", 4},       {"target_steps", 3},       {"layers", 2},
    {"hidden", 6}, {"source_vocabulary", 11}, {"target_vocabulary", 13}, {"dropout", 0.3}};
inline const std::map<std::string, double> kTinyTransformerXl = {{"batch", 2},
                                                                 {"segments", 3},
                                                                 {"segment", 3},
                                                                 {"memory", 4},
                                                                 {"hidden", 6},
                                                                 {"heads", 2},
                                                                 {"head_width", 4},
                                                                 {"inner", 10},
                                                                 {"vocabulary", 11},
                                                                 {"dropout", 0.3},
                                                                 {"attention_dropout", 0.2}};
// The second classifier needs 17 x 17 pixels in the middle, so 299 x 299 in front.
inline const std::map<std::string, double> kTinyInception = {
    {"batch", 2}, {"size", 299}, {"width", 0.05}, {"classes", 5}};
inline const std::map<std::string, double> kTinyTransformer = {
    {"batch", 2}, {"source", 5}, {"target", 6},      {"layers", 2},   {"hidden", 16},
    {"heads", 2}, {"inner", 32}, {"vocabulary", 50}, {"dropout", 0.3}};
// Room for 0.5 x 5 tokens x 2 / 3 experts = 1.7, so 2 choices an expert: 4 of 10 find none.
inline const std::map<std::string, double> kTinyMoe = {
    {"batch", 2}, {"sequence", 5}, {"layers", 2},      {"hidden", 16},    {"heads", 2},
    {"inner", 8}, {"experts", 3},  {"vocabulary", 50}, {"capacity", 0.5}, {"dropout", 0.3}};
inline const std::map<std::string, double> kTinyWaveNet = {
    {"batch", 2}, {"samples", 5},  {"stacks", 2}, {"layers", 3}, {"residual", 4},
    {"skip", 6},  {"dilation", 3}, {"head", 7},   {"levels", 8}};
inline const std::map<std::string, double> kTinyAmoebaNet = {
    {"batch", 2}, {"size", 64}, {"layers", 3}, {"filters", 16}, {"classes", 5}, {"dropout", 0.3}};
inline const std::map<std::string, double> kTinyLlama = {
    {"batch", 2},     {"sequence", 6},   {"layers", 2}, {"hidden", 16},    {"heads", 4},
    {"key_heads", 2}, {"head_width", 4}, {"inner", 24}, {"vocabulary", 50}};
inline const std::map<std::string, double> kTinyVit = {{"batch", 2},  {"size", 8},   {"patch", 4},
                                                       {"layers", 2}, {"hidden", 8}, {"heads", 2},
                                                       {"inner", 12}, {"classes", 5}};
inline std::map<std::string, double> With(std::map<std::string, double> values,
                                          const std::string& name, double value) {
  values[name] = value;
  return values;
}
inline std::vector<TinyModel> TinyModels() {
  return {
      {"mlp", Training::kAdam, kTinyMlp},
      {"mlp", Training::kSgd, kTinyMlp},
      {"mlp", Training::kNone, kTinyMlp},
      {"bert-base", Training::kAdam, kTinyBert},
      {"bert-base", Training::kNone, kTinyBert},
      {"bert-small", Training::kSgd, With(kTinyBert, "layers", 4)},
      {"bert-large", Training::kAdam, With(kTinyBert, "layers", 6)},
      {"gpt-2", Training::kAdam, kTinyGpt2},
      {"rnnlm-2", Training::kAdam, kTinyRnnlm},
      {"rnnlm-4", Training::kSgd, kTinyTiedRnnlm},
      {"rnnlm-8", Training::kSgd, kTinyRnnlm},
      {"gnmt-2", Training::kAdam, kTinyGnmt},
      {"gnmt-2", Training::kNone, kTinyGnmt},
      {"gnmt-4", Training::kSgd, kTinyGnmtAtOnce},
      {"gnmt-8", Training::kSgd, With(kTinyGnmt, "layers", 8)},
      {"seq2seq", Training::kAdam, kTinySeq2Seq},
      {"transformer-xl-2", Training::kAdam, kTinyTransformerXl},
      {"transformer-xl-2", Training::kNone, kTinyTransformerXl},
      {"transformer-xl-4", Training::kSgd, kTinyTransformerXl},
      {"transformer-xl-8", Training::kSgd, kTinyTransformerXl},
      {"transformer-xl-12", Training::kSgd, kTinyTransformerXl},
      {"vgg-16", Training::kSgd, kTinyVgg},
      {"vgg-19", Training::kAdam, kTinyVgg},
      {"resnet-50", Training::kSgd, kTinyResNet},
      {"resnet-50", Training::kNone, kTinyResNet},
      {"resnet-101", Training::kSgd, kTinyResNet},
      {"inception-v3", Training::kSgd, kTinyInception},
      {"inception-v3", Training::kNone, With(kTinyInception, "size", 75)},
      {"transformer", Training::kAdam, kTinyTransformer},
      {"transformer", Training::kSgd, With(kTinyTransformer, "tied", 0)},
      {"moe-transformer", Training::kAdam, kTinyMoe},
      {"moe-transformer", Training::kSgd, With(kTinyMoe, "chosen", 1)},
      {"wavenet-2x18", Training::kAdam, kTinyWaveNet},
      {"wavenet-4x36", Training::kSgd, With(With(kTinyWaveNet, "stacks", 4), "layers", 9)},
      {"amoebanet-d", Training::kSgd, kTinyAmoebaNet},
      {"llama-3-8b", Training::kAdam, kTinyLlama},
      {"llama-3-70b", Training::kNone, kTinyLlama},
      {"qwen3-0.6b", Training::kSgd, kTinyLlama},
      {"qwen3-8b", Training::kSgd, kTinyLlama},
      {"mixtral-8x7b", Training::kAdam, With(kTinyLlama, "experts", 4)},
      {"vit-b-16", Training::kAdam, kTinyVit},
      {"vit-l-16", Training::kSgd, kTinyVit},
      {"dit-xl-2", Training::kAdam, kTinyVit},
      {"mlp", Training::kAdam, kTinyMlp, CapturePrecision::kBf16},
      {"bert-base", Training::kAdam, kTinyBert, CapturePrecision::kBf16},
      {"bert-base", Training::kNone, kTinyBert, CapturePrecision::kBf16},
      {"gpt-2", Training::kAdam, kTinyGpt2, CapturePrecision::kBf16},
      {"gnmt-2", Training::kSgd, kTinyGnmt, CapturePrecision::kBf16},
      {"transformer-xl-2", Training::kAdam, kTinyTransformerXl, CapturePrecision::kBf16},
      {"resnet-50", Training::kSgd, kTinyResNet, CapturePrecision::kBf16},
      {"moe-transformer", Training::kAdam, kTinyMoe, CapturePrecision::kBf16},
      {"wavenet-2x18", Training::kAdam, kTinyWaveNet, CapturePrecision::kBf16},
      {"llama-3-8b", Training::kAdam, kTinyLlama, CapturePrecision::kBf16},
      {"dit-xl-2", Training::kAdam, kTinyVit, CapturePrecision::kBf16},
  };
}

}  // namespace placewright

#endif  // PLACEWRIGHT_CAPTURE_STEP_TINY_MODELS_H_
