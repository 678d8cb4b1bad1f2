// The ops of a recorded model against those of the graph that PyTorch recorded of the same model,
// phase by phase and type by type. Every difference is listed, with its reason.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "aten/torch_version.h"
#include "capture/step/model_step.h"
#include "formats/input.h"

namespace placewright {
namespace {

using Mix = std::map<std::string, int64_t>;  // "forward aten.mm.default" -> ops

// Under one name what versions of LibTorch call differently: 2.x has views for _reshape_alias, adds
// gradients up in place, and keeps overloads with a number in the backward pass.
Mix Canonical(const Mix& mix) {
  Mix canonical;
  for (const auto& [type, count] : mix) {
    std::string name = type;
    const auto replace = [&name](std::string_view from, std::string_view to) {
      if (name.ends_with(from)) name.replace(name.size() - from.size(), from.size(), to);
    };
    replace("aten._reshape_alias.default", "aten.view.default");
    if (name.starts_with("backward")) replace("aten.add_.Tensor", "aten.add.Tensor");
    for (const std::string operation : {"add", "div", "div_", "mul", "mul_"}) {
      replace("aten." + operation + ".Scalar", "aten." + operation + ".Tensor");
    }
    canonical[name] += count;
  }
  std::erase_if(canonical, [](const auto& item) { return item.second == 0; });
  return canonical;
}

Mix MixOf(const Graph& graph) {
  Mix mix;
  for (const OpId id : graph.ops()) {
    const Op& op = graph.op(id);
    ++mix[std::string(ToString(op.phase)) + " " + std::string(op.type)];
  }
  return Canonical(mix);
}

// Ours minus theirs, where they differ.
Mix Differences(const Mix& ours, const Mix& theirs) {
  Mix differences = ours;
  for (const auto& [type, count] : theirs) differences[type] -= count;
  std::erase_if(differences, [](const auto& item) { return item.second == 0; });
  return differences;
}

void ExpectDifferences(const std::string& model, Training training, const std::string& file,
                       const Mix& expected, const std::map<std::string, double>& values = {}) {
  const std::string path = std::string(PLACEWRIGHT_SHARED_DATA) + "/fx/" + file;
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not there";
  const Result<LoadedGraph> theirs = LoadGraph(path);
  ASSERT_TRUE(theirs.ok()) << theirs.error().ToString();
  CaptureRequest request;
  request.model = model;
  request.training = training;
  request.values = values;
  const Result<Capture> ours = CaptureZooModel(request);
  ASSERT_TRUE(ours.ok()) << ours.error().ToString();
  EXPECT_EQ(Differences(MixOf(ours.value().graph), MixOf(theirs.value().graph)),
            Canonical(expected));
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
  for (const auto& [type, count] : b) a[type] += count;
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

// The file dilates by moving samples into the batch and back, with padding where they do not
// divide: 75 times the signal is permuted, copied, viewed and permuted back; it slices all three
// dimensions where one is meant; and its sum over the layers' skips starts from 0.
TEST(OpMix, WaveNet) {
  ExpectDifferences(
      "wavenet-4x36", Training::kAdam, "wavenet_10x4_b8_adam.json.gz",
      Together(AdamDifferences(164), {{"forward aten.permute.default", -150},
                                      {"forward aten.clone.default", -151},
                                      {"forward aten.view.default", -74},
                                      {"forward aten.constant_pad_nd.default", -29},
                                      {"forward aten.slice.Tensor", -158},
                                      {"forward aten.add.Tensor", -1},
                                      {"backward aten.permute.default", -150},
                                      {"backward aten.clone.default", -75},
                                      {"backward aten._unsafe_view.default", -75},
                                      {"backward aten.constant_pad_nd.default", -29},
                                      {"backward aten.slice_backward.default", -158}}),
      {{"batch", 8}, {"layers", 10}, {"samples", 1}});
}

// The file is torch.nn.Transformer alone, without embeddings, scores and their loss, trained on
// the mean of its squared output; 184 parameters, where ours has 253:
//   attention   the file projects queries, keys and values by one product and splits it (`addmm`,
//               `split`), and takes the batch second, where ours batches products in four
//               dimensions (`expand`, `_unsafe_view`, `view`, `clone`)
//   dropout     60 in the file, on the shares of attention and within the feed-forward layers, too;
//               32 in ours, behind every sub-layer and embedding
//   norms       one more behind the encoder and behind the decoder
TEST(OpMix, Transformer) {
  // The weights of the loss's parts: tensors of doubles, converted, where 2.x has numbers.
  const int64_t weights = TORCH_VERSION_MAJOR < 2 ? 2 : 0;
  const Mix embeddings_and_loss = {{"forward aten.embedding.default", 2},
                                   {"forward aten.slice.Tensor", 2},
                                   {"forward aten.mul.Scalar", 4},
                                   {"forward aten.mm.default", 1},
                                   {"forward aten._log_softmax.default", 1},
                                   {"forward aten.nll_loss_forward.default", 1},
                                   {"forward aten.sub.Tensor", 1},
                                   {"forward aten.pow.Tensor_Scalar", -1},
                                   {"backward aten.embedding_dense_backward.default", 2},
                                   {"backward aten._to_copy.default", weights},
                                   {"backward aten._log_softmax_backward_data.default", 1},
                                   {"backward aten.nll_loss_backward.default", 1},
                                   {"backward aten.neg.default", 1},
                                   {"backward aten.mul.Scalar", -1},
                                   {"backward aten.pow.Tensor_Scalar", -1}};
  const Mix dropout_and_norms = {{"forward aten.bernoulli_.float", -28},
                                 {"forward aten.div_.Scalar", -28},
                                 {"forward aten.empty_like.default", -28},
                                 {"forward aten.mul.Tensor", -28},
                                 {"forward aten.native_layer_norm.default", -2},
                                 {"backward aten.native_layer_norm_backward.default", -2}};
  const Mix attention = {{"forward aten.addmm.default", 30},
                         {"forward aten.split.Tensor", -18},
                         {"forward aten.split_with_sizes.default", -12},
                         {"forward aten._reshape_alias.default", 19},
                         {"forward aten._unsafe_view.default", 91},
                         {"forward aten.view.default", 80},
                         {"forward aten.expand.default", 72},
                         {"forward aten.clone.default", 6},
                         {"forward aten.t.default", 31},
                         {"forward aten.add.Tensor", 8},
                         {"forward aten.div.Scalar", 18},
                         {"forward aten.div.Tensor", -18},
                         {"backward aten.mm.default", 64},
                         {"backward aten.t.default", 126},
                         {"backward aten.cat.default", -30},
                         {"backward aten._reshape_alias.default", 155},
                         {"backward aten._unsafe_view.default", 36},
                         {"backward aten.clone.default", 36},
                         {"backward aten.add.Tensor", 35},
                         {"backward aten.mul.Tensor", -25},
                         {"backward aten.scalar_tensor.default", weights},
                         {"backward aten.sum.dim_IntList", 30},
                         {"backward aten.view.default", 30}};
  const Mix update = {{"optimizer aten.mul_.Scalar", 2 * 253 + 2},
                      {"optimizer aten.mul_.Tensor", -2 * 184},
                      {"optimizer aten.add_.Tensor", 2 * 69},
                      {"optimizer aten.addcmul_.default", 69},
                      {"optimizer aten.addcdiv_.default", 69},
                      {"optimizer aten.sqrt.default", 69 + 1},
                      {"optimizer aten.div.Tensor", 69 + 1},
                      {"optimizer aten.rsub.Scalar", 2},
                      {"optimizer aten.mul.Scalar", 1}};
  ExpectDifferences(
      "transformer", Training::kAdam, "nn_transformer_base_b32_s64_adam.json.gz",
      Together(Together(embeddings_and_loss, dropout_and_norms), Together(attention, update)),
      {{"batch", 32}});
}

}  // namespace
}  // namespace placewright
