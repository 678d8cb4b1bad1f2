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

// A layer of LSTM from `in` to h: 4 h (in + h + 2) parameters, 4 h (in + h) products a row. In its
// first step the state has no gradient: one product of 4 h^2 a text less.
constexpr Figure Lstm(int64_t in, int64_t h, int64_t batch, int64_t steps) {
  return {4 * h * (in + h + 2), steps * batch * 4 * h * (in + h), batch * 4 * h * h};
}
constexpr Figure& operator+=(Figure& a, const Figure& b) {
  a.parameters += b.parameters;
  a.forward_macs += b.forward_macs;
  a.first_layer_macs += b.first_layer_macs;
  return a;
}

// RNNLM: embedding, layers, scores h V with a bias for each word; tied, the embedding counts once.
constexpr Figure Rnnlm(int64_t layers, int64_t h, int64_t batch, int64_t words, bool tied) {
  Figure figure = {words * h * (tied ? 1 : 2) + words, 35 * batch * h * words, 0};
  for (int64_t i = 0; i < layers; ++i) figure += Lstm(h, h, batch, 35);
  return figure;
}
static_assert(Rnnlm(2, 650, 20, 33278, true).parameters == 28'434'378);            // 28.4 M
static_assert(Rnnlm(2, 650, 20, 33278, true).forward_macs / 100'000'000 == 198);   // 19.9 GMAC
static_assert(Rnnlm(2, 650, 20, 33278, true).first_layer_macs / 1'000'000 == 67);  // 39.7 back

// Sequence to sequence: two embeddings, layers of both sides of which the encoder's alone start
// from nothing, scores of the target's words.
constexpr Figure Seq2Seq(int64_t layers, int64_t h, int64_t batch, int64_t steps, int64_t source,
                         int64_t target) {
  Figure figure = {(source + target) * h + h * target + target, steps * batch * h * target, 0};
  for (int64_t i = 0; i < layers; ++i) {
    figure += Lstm(h, h, batch, 2 * steps);
    figure.parameters += Lstm(h, h, batch, steps).parameters;
  }
  return figure;
}
static_assert(Seq2Seq(4, 1000, 128, 30, 160000, 80000).parameters == 384'144'000);  // 384 M

struct Translation {
  int64_t layers, h, batch, steps, words;
  bool by_step, shared;
};
// GNMT: embeddings; an encoder of a layer in both directions, one from 2 h, and others from h; a
// decoder whose layers above the first, and step by step that one too, take h and the context h;
// attention with matrices for queries and keys, h + 1 + h parameters more, and for every pair of
// texts steps^2 h products of shares and states; scores h V with a bias for each word. The products
// with the attention's vector are matrix times vector, and not counted.
constexpr Figure Gnmt(const Translation& t) {
  const int64_t h = t.h, rows = t.batch * t.steps;
  Figure figure = {t.words * h * (t.shared ? 2 : 3) + t.words + 2 * h * h + 2 * h + 1,
                   rows * (2 * h * h + t.steps * h + h * t.words), 0};
  figure += Lstm(h, h, t.batch, t.steps);
  for (int64_t i = 0; i < t.layers; ++i) {
    figure += Lstm(i == 1 ? 2 * h : h, h, t.batch, t.steps);
    figure += Lstm(i > 0 || t.by_step ? 2 * h : h, h, t.batch, t.steps);
  }
  return figure;
}
constexpr Translation kGnmt2 = {2, 1024, 128, 40, 32320, false, true};
constexpr Translation kGnmt8 = {8, 1024, 128, 40, 32320, false, true};
constexpr int64_t Backward(const Figure& f) { return 2 * f.forward_macs - f.first_layer_macs; }
static_assert(Gnmt(kGnmt2).parameters / 10'000 == 11869);         // 118.7 M
static_assert(Gnmt(kGnmt2).forward_macs / 100'000'000 == 4380);   // 438.1 GMAC
static_assert(Backward(Gnmt(kGnmt2)) / 100'000'000 == 8735);      // 873.5 GMAC
static_assert(Gnmt(kGnmt8).parameters / 100'000 == 2446);         // 244.6 M
static_assert(Gnmt(kGnmt8).forward_macs / 100'000'000 == 10823);  // 1082.3 GMAC
static_assert(Backward(Gnmt(kGnmt8)) / 100'000'000 == 21555);     // 2155.6 GMAC

struct Segments {
  int64_t layers, batch, segments, segment, memory, d, a, inner, words;  // a: width of all heads
};
// Transformer-XL with K = memory + segment. Parameters: V d + V (scores by the embedding) + 2 a
// (biases of the queries) + layers (5 d a + 2 d inner + inner + d + 2 * 2 d). Products of a layer
// and segment: queries, keys and values of K tokens, the K distances, which have no gradient; two
// scores and the mix for segment * K pairs; output and two dense layers for the segment's tokens.
constexpr Figure TransformerXl(const Segments& s) {
  const int64_t k = s.memory + s.segment, tokens = s.batch * s.segment;
  const int64_t distances = k * s.d * s.a;
  const int64_t layer = k * s.batch * s.d * 3 * s.a + distances + 3 * tokens * k * s.a +
                        tokens * (s.a * s.d + 2 * s.d * s.inner);
  return {s.words * s.d + s.words + 2 * s.a +
              s.layers * (5 * s.d * s.a + 2 * s.d * s.inner + s.inner + s.d + 4 * s.d),
          s.segments * (s.layers * layer + tokens * s.d * s.words),
          s.segments * s.layers * distances};
}
constexpr Segments Gdp(int64_t layers) { return {layers, 64, 4, 64, 64, 500, 500, 1000, 32000}; }
constexpr Segments kEnwik8 = {12, 4, 1, 512, 512, 512, 512, 2048, 204};
// The exported file's 41.6 M hold the 1024 x 512 distances, too.
static_assert((TransformerXl(kEnwik8).parameters + 1024 * 512) / 10'000 == 4157);
static_assert(TransformerXl(kEnwik8).forward_macs / 100'000'000 == 1387);  // 138.7 GMAC

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
    {"gnmt-2@nvidia", Gnmt(kGnmt2)},
    {"gnmt-8@nvidia", Gnmt(kGnmt8)},
    {"gnmt-2", Gnmt({2, 1024, 64, 50, 36549, true, false})},
    {"gnmt-4", Gnmt({4, 1024, 64, 50, 36549, true, false})},
    {"gnmt-8", Gnmt({8, 1024, 64, 50, 36549, true, false})},
    {"gnmt-4@mars", Gnmt({4, 256, 256, 50, 36549, true, false})},
    {"gnmt-4@eagle", Gnmt({4, 256, 256, 50, 36549, true, false})},
    {"rnnlm-2@pytorch", Rnnlm(2, 650, 20, 33278, true)},
    {"rnnlm-2@zaremba-medium", Rnnlm(2, 650, 20, 10000, false)},
    {"rnnlm-2@gdp", Rnnlm(2, 2048, 64, 10000, false)},
    {"rnnlm-4", Rnnlm(4, 2048, 64, 10000, false)},
    {"rnnlm-8", Rnnlm(8, 2048, 64, 10000, false)},
    {"seq2seq", Seq2Seq(4, 1000, 128, 30, 160000, 80000)},
    {"seq2seq@mars", Seq2Seq(2, 256, 256, 50, 36549, 36549)},
    {"transformer-xl-2", TransformerXl(Gdp(2))},
    {"transformer-xl-4", TransformerXl(Gdp(4))},
    {"transformer-xl-8", TransformerXl(Gdp(8))},
    {"transformer-xl-12@enwik8", TransformerXl(kEnwik8)},
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
