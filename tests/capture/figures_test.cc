// Parameters and arithmetic of the models of the zoo, derived by hand from their dimensions. Where
// a recorded graph of the same model exists, its published figure stands beside the formula.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <ostream>
#include <string>

#include "capture/step/model_step.h"
#include "capture/zoo/zoo.h"
#include "convolution_figures.h"
#include "figure.h"
#include "report/graph_summary.h"

namespace placewright {
namespace {

struct BertSizes {
  int64_t layers, h, inner, batch;
  int64_t words = 30522, positions = 512, sequence = 384;
};
// BERT. Parameters: (words + positions + 2 + 2) h (embeddings and their norm)
//   + layers (4 (h^2 + h) + 2 h inner + inner + h + 2 * 2 h) + 2 h + 2;
// arithmetic with T = batch * sequence: layers (4 h^2 T + 2 h inner T + 2 T sequence h) + 2 h T.
constexpr Figure Bert(const BertSizes& s) {
  const int64_t tokens = s.batch * s.sequence, h = s.h;
  const int64_t products = 4 * h * h + 2 * h * s.inner;
  return {(s.words + s.positions + 4) * h + s.layers * (products + s.inner + 9 * h) + 2 * h + 2,
          s.layers * (products * tokens + 2 * tokens * s.sequence * h) + 2 * h * tokens, 0};
}
constexpr BertSizes kBertBase = {12, 768, 3072, 24};
static_assert(Bert(kBertBase).parameters == 108'893'186);        // 108.9 M
static_assert(Bert(kBertBase).forward_macs == 848'001'761'280);  // 848.0 GMAC
// TAG table 3 has 98 MB and 2313 MB of parameters, tables without those whose gradients are sparse.
constexpr BertSizes kTagBertSmall = {4, 1024, 1024, 96, 305220, 512, 128};
constexpr BertSizes kTagBertLarge = {24, 2048, 2048, 16, 305220, 1024, 128};
constexpr int64_t MebibytesWithoutWords(const BertSizes& s) {
  return (Bert(s).parameters - s.words * s.h) * 4 / (1 << 20);
}
static_assert(Bert(kTagBertLarge).parameters - 305220 * 2048 == 606'580'738);
static_assert(MebibytesWithoutWords(kTagBertSmall) == 98);
static_assert(MebibytesWithoutWords(kTagBertLarge) == 2313);

// GPT-2: 50257 h + 1024 h + layers (4 h^2 + 4 h + 8 h^2 + 5 h + 4 h) + 2 h, the scores' matrix
// being the embedding's; layers (12 h^2 T + 2 T sequence h) + 50257 h T.
constexpr Figure Gpt2(int64_t layers, int64_t h, int64_t batch, int64_t sequence) {
  const int64_t tokens = batch * sequence;
  return {(50257 + 1024) * h + layers * (12 * h * h + 13 * h) + 2 * h,
          layers * (12 * h * h * tokens + 2 * tokens * sequence * h) + 50257 * h * tokens, 0};
}
static_assert(Gpt2(12, 768, 4, 1024).parameters == 124'439'808);           // 124.4 M
static_assert(Gpt2(12, 768, 4, 1024).forward_macs / 100'000'000 == 5832);  // 583.3 GMAC

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

// Transformer, with `sequence` tokens on either side, T in all: an encoder layer has 4 h^2 + 2 h inner weights, a
// decoder layer 8 h^2 + 2 h inner, each sub-layer a norm. Arithmetic: T times the weights, 2 T
// tokens h for every attention (one and two a layer), and the scores.
constexpr Figure Transformer(int64_t batch, int64_t vocabulary, int64_t matrices,
                             int64_t sequence = 64) {
  constexpr int64_t kHidden = 512, kInner = 2048, kLayers = 6;
  const int64_t tokens = batch * sequence;
  const int64_t attention = 4 * kHidden * kHidden, dense = 2 * kHidden * kInner;
  const int64_t attention_bias = 4 * kHidden, dense_bias = kInner + kHidden, norm = 2 * kHidden;
  const int64_t encoder = attention + attention_bias + dense + dense_bias + 2 * norm;
  const int64_t decoder = encoder + attention + attention_bias + norm;
  return {kLayers * (encoder + decoder) + matrices * vocabulary * kHidden,
          kLayers * (3 * attention + 2 * dense + 3 * 2 * sequence * kHidden) * tokens +
              vocabulary * kHidden * tokens,
          0};
}
// The file of torch.nn.Transformer has neither embeddings nor scores, but a norm behind the encoder
// and one behind the decoder.
static_assert(Transformer(32, 0, 0).parameters + 2 * 2 * 512 == 44'140'544);
static_assert(Transformer(32, 0, 0).forward_macs == 92'610'232'320);
static_assert(Transformer(480, 40800, 3).parameters * 4 / (1 << 20) == 407);  // TAG table 3: 407 MB

// A mixture of experts in every second of 12 layers. Room for 512 tokens * chosen / 8 experts
// * 1.25 = 160 (two chosen) or 80 tokens of a text an expert. Beside the experts' arithmetic there
// are the two products with [tokens, rooms] matrices; the first of these matrices has no gradient.
constexpr Figure Moe(int64_t chosen) {
  constexpr int64_t kLayers = 12, h = 768, kInner = 3072, kExperts = 8, kVocabulary = 32128;
  constexpr int64_t kBatch = 8, kSequence = 512, kTokens = kBatch * kSequence;
  const int64_t rooms = kExperts * 80 * chosen;  // of a text
  const int64_t dense = 2 * h * kInner, attention = 4 * h * h;
  const int64_t feed_forward = dense + kInner + h;
  Figure f;
  f.parameters = (kVocabulary + kSequence) * h + kLayers * (attention + 4 * h + 2 * 2 * h) +
                 kLayers / 2 * (feed_forward + kExperts * feed_forward + h * kExperts) + 2 * h;
  f.first_layer_macs = kLayers / 2 * kTokens * rooms * h;
  f.forward_macs =
      kLayers * (attention + 2 * kSequence * h) * kTokens +
      kLayers / 2 * (dense * kTokens + dense * kBatch * rooms + h * kExperts * kTokens) +
      2 * f.first_layer_macs + kVocabulary * h * kTokens;
  return f;
}
static_assert(Moe(2).parameters / 1'000'000 == 308);

struct Decoder {
  int64_t layers, h, heads, key_heads, inner, words;
  bool tied = false, query_norm = false;
  int64_t experts = 1;
};
// Decoders of today, heads of 128, T = 2 texts of 2048 tokens. Parameters: V h, twice unless tied; layers (2 h a + 2 h k
// + 3 h inner + 2 h, or 3 h inner for each expert and h for each expert's score; norms of heads 2 * 128), h, with a and k
// the width of all heads. Arithmetic: T times the matrices, 2 T 2048 a for attention, V h T for the scores. With experts
// room for 2048 * 2 / 8 * 1.25 = 640 tokens of a text each, and two products with [tokens, rooms] matrices, the first
// of which has no gradient.
constexpr Figure DecoderFigure(const Decoder& d) {
  constexpr int64_t kBatch = 2, kSequence = 2048, kTokens = kBatch * kSequence, kWidth = 128;
  const int64_t a = d.heads * kWidth, k = d.key_heads * kWidth, rooms = d.experts * 640;
  const int64_t attention = 2 * d.h * a + 2 * d.h * k, dense = 3 * d.h * d.inner;
  const bool routed = d.experts > 1;
  Figure f;
  f.parameters = d.words * d.h * (d.tied ? 1 : 2) + d.h +
                 d.layers * (attention + dense * d.experts + 2 * d.h +
                             (routed ? d.h * d.experts : 0) + (d.query_norm ? 2 * kWidth : 0));
  f.first_layer_macs = routed ? d.layers * kTokens * rooms * d.h : 0;
  f.forward_macs =
      d.layers * ((attention + 2 * kSequence * a) * kTokens +
                  (routed ? dense * kBatch * rooms + d.h * d.experts * kTokens : dense * kTokens)) +
      2 * f.first_layer_macs + d.words * d.h * kTokens;
  return f;
}
constexpr Decoder kLlama8 = {32, 4096, 32, 8, 14336, 128256};
constexpr Decoder kLlama70 = {80, 8192, 64, 8, 28672, 128256};
constexpr Decoder kQwenSmall = {28, 1024, 16, 8, 3072, 151936, true, true};
constexpr Decoder kQwen8 = {36, 4096, 32, 8, 12288, 151936, false, true};
constexpr Decoder kMixtral = {32, 4096, 32, 8, 14336, 32000, false, false, 8};
static_assert(DecoderFigure(kLlama8).parameters == 8'030'261'248);
static_assert(DecoderFigure(kLlama70).parameters == 70'553'706'496);
static_assert(DecoderFigure(kQwenSmall).parameters == 596'049'920);
static_assert(DecoderFigure(kQwen8).parameters == 8'190'735'360);
static_assert(DecoderFigure(kMixtral).parameters == 46'702'792'704);

// ViT at 224 x 224 with patches of 16, n = 196 places and a class token: patches 3 * 256 h + h, class h, places 197 h,
// layers (12 h^2 + 13 h), norm 2 h, scores 1000 (h + 1). The patches' convolution has no gradient of the image.
constexpr Figure Vit(int64_t layers, int64_t h, int64_t batch) {
  constexpr int64_t kPlaces = 196, kTokens = 197;
  const int64_t patches = batch * kPlaces * 3 * 256 * h;
  return {
      3 * 256 * h + h + h + kTokens * h + layers * (12 * h * h + 13 * h) + 2 * h + 1000 * (h + 1),
      patches + batch * (layers * (12 * h * h * kTokens + 2 * kTokens * kTokens * h) + 1000 * h),
      patches};
}
static_assert(Vit(12, 768, 32).parameters == 86'567'656);
static_assert(Vit(24, 1024, 32).parameters == 304'326'632);

// DiT-XL/2 of 32 x 32 x 4 latents, 256 places: patches 16 h + h, times 256 h + h + h^2 + h, 1001 classes, layers (18 h^2
// + 15 h), of which 6 h^2 + 6 h are the condition's, at the end 2 h^2 + 2 h and 32 h + 32. Neither the patches'
// convolution nor the times' first layer has a gradient of what it reads.
constexpr Figure Dit(int64_t layers, int64_t h, int64_t batch) {
  constexpr int64_t kPlaces = 256;
  const int64_t first = batch * (kPlaces * 16 * h + 256 * h);
  return {17 * h + 257 * h + h * h + h + 1001 * h + layers * (18 * h * h + 15 * h) + 2 * h * h +
              2 * h + 32 * h + 32,
          first + batch * (h * h +
                           layers * (6 * h * h + 12 * h * h * kPlaces + 2 * kPlaces * kPlaces * h) +
                           2 * h * h + 32 * h * kPlaces),
          first};
}
static_assert(Dit(28, 1152, 16).parameters + 256 * 1152 == 675'129'632);  // with the places' table

struct Row {
  const char* model;
  Figure figure;
  friend std::ostream& operator<<(std::ostream& out, const Row& row) { return out << row.model; }
};
const Row kRows[] = {
    {"amoebanet-d", AmoebaNet(64, 18, 208)},
    {"inception-v3", Inception({64})},
    {"inception-v3@mars", Inception({1})},
    {"inception-v3@tag", Inception({96, 224, false, false})},
    {"inception-v3@tag-table3-guess", Inception({96, 299, false})},
    {"moe-transformer", Moe(2)},
    {"moe-transformer@switch", Moe(1)},
    {"transformer", Transformer(48, 37000, 1)},
    {"transformer@tag", Transformer(480, 40800, 3, 10)},
    {"transformer@tag-table3-guess", Transformer(480, 40800, 3)},
    {"wavenet-2x18", WaveNet({64, 2048, 2, 9})},
    {"wavenet-4x36", WaveNet({64, 2048, 4, 9})},
    {"bert-small", Bert({4, 512, 2048, 96})},
    {"bert-small@tag", Bert(kTagBertSmall)},
    {"bert-base", Bert(kBertBase)},
    {"bert-large", Bert({24, 1024, 4096, 16})},
    {"bert-large@tag", Bert(kTagBertLarge)},
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
    {"llama-3-8b", DecoderFigure(kLlama8)},
    {"llama-3-70b", DecoderFigure(kLlama70)},
    {"qwen3-0.6b", DecoderFigure(kQwenSmall)},
    {"qwen3-8b", DecoderFigure(kQwen8)},
    {"mixtral-8x7b", DecoderFigure(kMixtral)},
    {"vit-b-16", Vit(12, 768, 32)},
    {"vit-l-16", Vit(24, 1024, 32)},
    {"dit-xl-2", Dit(28, 1152, 16)},
    {"vgg-16", Vgg(kSixteen, 96)},
    {"vgg-19", Vgg(kNineteen, 96)},
};

class Figures : public ::testing::TestWithParam<Row> {};

TEST_P(Figures, AreThoseOfTheDimensions) {
  const Figure& expected = GetParam().figure;
  const Result<Capture> capture = CaptureZooModel({GetParam().model, Training::kAdam, {}});
  ASSERT_TRUE(capture.ok()) << capture.error().ToString();
  const GraphSummary summary = Summarise(capture.value().graph);
  EXPECT_EQ(summary.parameters, expected.parameters);
  EXPECT_EQ(summary.phase_macs[0], expected.forward_macs);
  EXPECT_EQ(summary.phase_macs[1], 2 * expected.forward_macs - expected.first_layer_macs);
  EXPECT_TRUE(summary.unknown_types.empty()) << ::testing::PrintToString(summary.unknown_types);
}

TEST(FigureRows, EveryModelHasARow) {
  for (const ZooEntry& entry : ZooEntries()) {
    const auto is_its = [&](const Row& row) {
      const std::string model = row.model;
      return model.substr(0, model.find('@')) == entry.facts.name;
    };
    EXPECT_TRUE(std::any_of(std::begin(kRows), std::end(kRows), is_its)) << entry.facts.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Zoo, Figures, ::testing::ValuesIn(kRows), [](const auto& test) {
  std::string name = test.param.model;
  for (char& c : name) c = c == '-' || c == '@' || c == '.' ? '_' : c;
  return name;
});

}  // namespace
}  // namespace placewright
