// Parameters and arithmetic of the models of the zoo, derived by hand from their dimensions. Where
// a recorded graph of the same model exists, its published figure stands beside the formula.
#include <gtest/gtest.h>

#include <ostream>

#include "capture/step/model_step.h"
#include "report/graph_summary.h"

namespace placewright {
namespace {

struct Figure {
  int64_t parameters = 0, forward_macs = 0;
  // Every product of the forward pass has two in the backward pass, one for each factor; but the
  // input of the first layer has no gradient.
  int64_t first_layer_macs = 0;
};

// BERT. Parameters: 30522 h + 512 h + 2 h + 2 h (embeddings and their norm)
//   + layers (4 (h^2 + h) + 2 * 4 h^2 + 5 h + 2 * 2 h) + 2 h + 2;
// arithmetic with T = batch * sequence: layers (12 h^2 T + 2 T sequence h) + 2 h T.
constexpr Figure Bert(int64_t layers, int64_t h, int64_t batch) {
  const int64_t tokens = batch * 384;
  return {(30522 + 512 + 2 + 2) * h + layers * (12 * h * h + 13 * h) + 2 * h + 2,
          layers * (12 * h * h * tokens + 2 * tokens * 384 * h) + 2 * h * tokens, 0};
}
static_assert(Bert(12, 768, 24).parameters == 108'893'186);        // 108.9 M
static_assert(Bert(12, 768, 24).forward_macs == 848'001'761'280);  // 848.0 GMAC

// GPT-2: 50257 h + 1024 h + layers (4 h^2 + 4 h + 8 h^2 + 5 h + 4 h) + 2 h, the scores' matrix
// being the embedding's; layers (12 h^2 T + 2 T sequence h) + 50257 h T.
constexpr Figure Gpt2(int64_t layers, int64_t h, int64_t batch, int64_t sequence) {
  const int64_t tokens = batch * sequence;
  return {(50257 + 1024) * h + layers * (12 * h * h + 13 * h) + 2 * h,
          layers * (12 * h * h * tokens + 2 * tokens * sequence * h) + 50257 * h * tokens, 0};
}
static_assert(Gpt2(12, 768, 4, 1024).parameters == 124'439'808);           // 124.4 M
static_assert(Gpt2(12, 768, 4, 1024).forward_macs / 100'000'000 == 5832);  // 583.3 GMAC

// VGG: 3x3 convolutions of widths 64 to 512 at 224 to 14 pixels, then 25088-4096-4096-1000.
constexpr Figure Vgg(const int64_t (&depths)[5], int64_t batch) {
  constexpr int64_t kWidths[] = {64, 128, 256, 512, 512};
  Figure figure;
  int64_t channels = 3, size = 224;
  for (int stage = 0; stage < 5; ++stage, size /= 2) {
    for (int64_t i = 0; i < depths[stage]; ++i) {
      figure.parameters += (9 * channels + 1) * kWidths[stage];
      figure.forward_macs += batch * size * size * 9 * channels * kWidths[stage];
      channels = kWidths[stage];
    }
  }
  const int64_t dense = 25088 * 4096 + 4096 * 4096 + 4096 * 1000;
  figure.parameters += dense + 4096 + 4096 + 1000;
  figure.forward_macs += batch * dense;
  figure.first_layer_macs = batch * 224 * 224 * 9 * 3 * 64;
  return figure;
}
constexpr int64_t kSixteen[] = {2, 2, 3, 3, 3}, kNineteen[] = {2, 2, 4, 4, 4};
static_assert(Vgg(kNineteen, 96).parameters == 143'667'240);            // 143.7 M
static_assert(Vgg(kNineteen, 96).forward_macs / 100'000'000 == 18846);  // 1884.7 GMAC
static_assert(Vgg(kSixteen, 1).parameters == 138'357'544);              // as published

// ResNet: a 7x7 stem at 112 pixels, then stages of bottlenecks (1x1 to w, 3x3, 1x1 to 4 w) at 56 to
// 7 pixels, the first with a 1x1 shortcut and from the second stage on with stride 2 in its 3x3;
// two parameters a channel for every norm; 2048-1000.
constexpr Figure ResNet(const int64_t (&depths)[4], int64_t batch) {
  Figure figure;
  figure.first_layer_macs = batch * 112 * 112 * 49 * 3 * 64;
  figure.forward_macs = figure.first_layer_macs + batch * 2048 * 1000;
  figure.parameters = 49 * 3 * 64 + 2 * 64 + 2048 * 1000 + 1000;
  int64_t in = 64, before = 56;
  for (int stage = 0; stage < 4; ++stage) {
    const int64_t w = int64_t{64} << stage, size = 56 >> stage;
    for (int64_t i = 0; i < depths[stage]; ++i) {
      const int64_t inner = 9 * w * w + w * 4 * w, shortcut = i == 0 ? in * 4 * w : 0;
      figure.parameters += in * w + inner + shortcut + 2 * (w + w + 4 * w);
      if (i == 0) figure.parameters += 2 * 4 * w;
      figure.forward_macs += batch * (before * before * in * w + size * size * (inner + shortcut));
      in = 4 * w;
      before = size;
    }
  }
  return figure;
}
constexpr int64_t kFifty[] = {3, 4, 6, 3}, kHundredOne[] = {3, 4, 23, 3};
static_assert(ResNet(kFifty, 32).parameters == 25'557'032);                 // 25.6 M
static_assert(ResNet(kFifty, 32).forward_macs / 100'000'000 == 1308);       // 130.9 GMAC
static_assert(ResNet(kHundredOne, 96).forward_macs / 100'000'000 == 7489);  // 748.9 GMAC

struct Row {
  const char* model;
  Figure figure;
  friend std::ostream& operator<<(std::ostream& out, const Row& row) { return out << row.model; }
};
const Row kRows[] = {
    {"bert-small", Bert(4, 512, 96)},
    {"bert-base", Bert(12, 768, 24)},
    {"bert-large", Bert(24, 1024, 16)},
    {"gpt-2", Gpt2(12, 768, 4, 1024)},
    // 784 * 512 + 512 + 512 * 512 + 512 + 512 * 10 + 10.
    {"mlp", {669'706, 32 * 668'672, 32 * 401'408}},
    {"resnet-50", ResNet(kFifty, 32)},
    {"resnet-101", ResNet(kHundredOne, 96)},
    {"vgg-16", Vgg(kSixteen, 96)},
    {"vgg-19", Vgg(kNineteen, 96)},
};

class Figures : public ::testing::TestWithParam<Row> {};

TEST_P(Figures, AreThoseOfTheDimensions) {
  const Figure& expected = GetParam().figure;
  const Result<Capture> capture = CaptureModel({GetParam().model, Training::kAdam, {}});
  ASSERT_TRUE(capture.ok()) << capture.error().ToString();
  const GraphSummary summary = Summarise(capture.value().graph);
  EXPECT_EQ(summary.parameters, expected.parameters);
  EXPECT_EQ(summary.phase_macs[0], expected.forward_macs);
  EXPECT_EQ(summary.phase_macs[1], 2 * expected.forward_macs - expected.first_layer_macs);
  EXPECT_TRUE(summary.unknown_types.empty()) << ::testing::PrintToString(summary.unknown_types);
}

INSTANTIATE_TEST_SUITE_P(Zoo, Figures, ::testing::ValuesIn(kRows), [](const auto& test) {
  std::string name = test.param.model;
  for (char& c : name) c = c == '-' || c == '@' ? '_' : c;
  return name;
});

}  // namespace
}  // namespace placewright
