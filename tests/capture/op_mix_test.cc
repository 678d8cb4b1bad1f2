// The ops of a recorded model against those of the graph that PyTorch recorded of the same model,
// phase by phase and type by type. Every difference is listed, with its reason.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>

#include "capture/step/model_step.h"
#include "formats/input.h"

namespace placewright {
namespace {

using Mix = std::map<std::string, int64_t>;  // "forward aten.mm.default" -> ops

Mix MixOf(const Graph& graph) {
  Mix mix;
  for (const OpId id : graph.ops()) {
    const Op& op = graph.op(id);
    ++mix[std::string(ToString(op.phase)) + " " + std::string(op.type)];
  }
  return mix;
}

// Ours minus theirs, where they differ.
Mix Differences(const Mix& ours, const Mix& theirs) {
  Mix differences = ours;
  for (const auto& [type, count] : theirs) differences[type] -= count;
  std::erase_if(differences, [](const auto& item) { return item.second == 0; });
  return differences;
}

void ExpectDifferences(const std::string& model, Training training, const std::string& file,
                       const Mix& expected) {
  const std::string path = std::string(PLACEWRIGHT_SHARED_DATA) + "/fx/" + file;
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not there";
  const Result<LoadedGraph> theirs = LoadGraph(path);
  ASSERT_TRUE(theirs.ok()) << theirs.error().ToString();
  CaptureRequest request;
  request.model = model;
  request.training = training;
  const Result<Capture> ours = CaptureModel(request);
  ASSERT_TRUE(ours.ok()) << ours.error().ToString();
  EXPECT_EQ(Differences(MixOf(ours.value().graph), MixOf(theirs.value().graph)), expected);
}

// C++ keeps the overloads with a number, where Python calls those with a tensor. Adam reads its
// bias corrections from state: seven ops on single numbers, once; the recorded files have them
// baked in.
Mix AdamDifferences(int64_t parameters) {
  return {{"optimizer aten.mul_.Scalar", 2 * parameters + 2},
          {"optimizer aten.mul_.Tensor", -2 * parameters},
          {"optimizer aten.rsub.Scalar", 2},
          {"optimizer aten.sqrt.default", 1},
          {"optimizer aten.div.Tensor", 1},
          {"optimizer aten.mul.Scalar", 1}};
}

Mix Together(Mix a, const Mix& b) {
  a.insert(b.begin(), b.end());
  return a;
}

// The file's model clamps both targets, which are in range here, and slices whole dimensions of the
// mask twice and of the positions once.
TEST(OpMix, BertBase) {
  ExpectDifferences("bert-base", Training::kAdam, "bert_base_qa_b24_s384_adam.json.gz",
                    Together(AdamDifferences(199), {{"forward aten.clamp_.default", -2},
                                                    {"forward aten.slice.Tensor", -3},
                                                    {"forward aten.div.Scalar", 13},
                                                    {"forward aten.div.Tensor", -13},
                                                    {"forward aten.mul.Scalar", 1},
                                                    {"forward aten.mul.Tensor", -1}}));
}

// The file's model keeps its mask as bytes and converts it in every layer (_to_copy), and the
// masked score as a buffer, which is made in every layer here (full); it views ids, positions and
// the last layer's result in their own shape, and slices a whole dimension of the scores, so that
// their gradient is sliced back and reshaped once more.
TEST(OpMix, Gpt2) {
  ExpectDifferences("gpt-2", Training::kAdam, "gpt2_small_b4_s1024_adam.json.gz",
                    Together(AdamDifferences(148), {{"forward aten._to_copy.default", -12},
                                                    {"forward aten.full.default", 12},
                                                    {"forward aten.view.default", -3},
                                                    {"forward aten.slice.Tensor", -1},
                                                    {"backward aten.slice_backward.default", -1},
                                                    {"backward aten._reshape_alias.default", -1},
                                                    {"forward aten.arange.default", 1},
                                                    {"forward aten.arange.start", -1},
                                                    {"forward aten.add.Scalar", 12},
                                                    {"forward aten.add.Tensor", -12},
                                                    {"forward aten.div.Scalar", 12},
                                                    {"forward aten.div.Tensor", -12},
                                                    {"forward aten.mul.Scalar", 36},
                                                    {"forward aten.mul.Tensor", -36}}));
}

// The file's batch normalisations count their batches.
TEST(OpMix, ResNet50) {
  ExpectDifferences("resnet-50", Training::kAdam, "resnet50_b32_adam.json.gz",
                    Together(AdamDifferences(161), {{"forward aten.add_.Tensor", -53}}));
}

// The file's update decays weights (add).
TEST(OpMix, Vgg19) {
  ExpectDifferences("vgg-19", Training::kSgd, "vgg19_b96_sgd.json.gz",
                    {{"optimizer aten.add.Tensor", -38},
                     {"optimizer aten.mul_.Scalar", 38},
                     {"optimizer aten.mul_.Tensor", -38}});
}

// The file's update decays weights (add).
TEST(OpMix, Rnnlm) {
  ExpectDifferences("rnnlm-2@pytorch", Training::kSgd, "rnnlm_2x650_b20_t35_sgd.json.gz",
                    {{"optimizer aten.add.Tensor", -10},
                     {"optimizer aten.mul_.Scalar", 10},
                     {"optimizer aten.mul_.Tensor", -10}});
}

// The file's layers start from states of their own module, one tensor for both directions, that
// each is unbound from (`modules` have two each); both sides of the attention's sum and its mask
// are expanded before LibTorch would do so by itself.
Mix GnmtDifferences(int64_t parameters, int64_t modules) {
  return Together(AdamDifferences(parameters), {{"forward aten.zeros.default", 2},
                                                {"forward aten.unbind.int", -2 * modules},
                                                {"forward aten.expand.default", -3},
                                                {"forward aten.arange.default", 1},
                                                {"forward aten.arange.start", -1},
                                                {"forward aten.norm.Scalar", 1},
                                                {"forward aten.norm.ScalarOpt_dim", -1}});
}
TEST(OpMix, Gnmt2) {
  ExpectDifferences("gnmt-2@nvidia", Training::kAdam, "gnmt_l2_b128_s40_adam.json.gz",
                    GnmtDifferences(28, 4));
}
TEST(OpMix, Gnmt8) {
  ExpectDifferences("gnmt-8@nvidia", Training::kAdam, "gnmt_l8_b128_s40_adam.json.gz",
                    GnmtDifferences(76, 16));
}

}  // namespace
}  // namespace placewright
