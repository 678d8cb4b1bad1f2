// Parameters and arithmetic of convolutional models of the zoo, by hand.
#ifndef PLACEWRIGHT_TESTS_CAPTURE_CONVOLUTION_FIGURES_H_
#define PLACEWRIGHT_TESTS_CAPTURE_CONVOLUTION_FIGURES_H_

#include <initializer_list>

#include "figure.h"

namespace placewright {

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

struct InceptionSizes {
  int64_t batch, size = 299;
  bool second = true, batch_norm = true;
};
// Inception-V3, at 299 pixels: stem at 149 to 71 pixels, three blocks A at 35, B, four C at 17, D, two E at 8 pixels,
// the second classifier at 5 and 1 pixels. Two parameters a channel for every norm, or one for its bias.
constexpr Figure Inception(const InceptionSizes& sizes) {
  const int64_t batch = sizes.batch;
  Figure f;
  const auto add = [&](int64_t size, int64_t in, int64_t out, int64_t taps) {
    f.AddNormalized(batch * size * size, in, out, taps);
    if (!sizes.batch_norm) f.parameters -= out;
  };
  const auto strided = [](int64_t size) { return (size - 3) / 2 + 1; };
  const int64_t first = strided(sizes.size), stem = first - 2, pooled_stem = strided(stem);
  const int64_t a = strided(pooled_stem - 2), c = strided(a), e = strided(c);
  add(first, 3, 32, 9);
  f.first_layer_macs = f.forward_macs;
  add(stem, 32, 32, 9);
  add(stem, 32, 64, 9);
  add(pooled_stem, 64, 80, 1);
  add(pooled_stem - 2, 80, 192, 9);
  int64_t in = 192;
  for (const int64_t pooled : {32, 64, 64}) {  // A: 64 + 64 + 96 + pooled channels
    add(a, in, 64 + 48 + 64 + pooled, 1);
    add(a, 48, 64, 25);
    add(a, 64, 96, 9);
    add(a, 96, 96, 9);
    in = 224 + pooled;
  }
  add(c, 288, 384, 9);  // B: 384 + 96 + 288 channels
  add(a, 288, 64, 1);
  add(a, 64, 96, 9);
  add(c, 96, 96, 9);
  for (const int64_t inner : {128, 160, 160, 192}) {  // C: 4 * 192 channels
    add(c, 768, 192 + inner + inner + 192, 1);
    for (int i = 0; i < 4; ++i) add(c, inner, inner, 7);  // one and three
    for (int i = 0; i < 2; ++i) add(c, inner, 192, 7);
  }
  if (sizes.second) {
    add(5, 768, 128, 1);
    add(1, 128, 768, 25);
    f.AddConvolution(batch, 768, 1000, 1);
    f.parameters += 1000;
  }
  add(c, 768, 192 + 192, 1);  // D: 320 + 192 + 768 channels
  add(e, 192, 320, 9);
  for (int i = 0; i < 2; ++i) add(c, 192, 192, 7);
  add(e, 192, 192, 9);
  for (const int64_t before : {1280, 2048}) {  // E: 320 + 768 + 768 + 192 channels
    add(e, before, 320 + 384 + 448 + 192, 1);
    add(e, 448, 384, 9);
    for (int i = 0; i < 4; ++i) add(e, 384, 384, 3);
  }
  f.AddConvolution(batch, 2048, 1000, 1);
  f.parameters += 1000;
  return f;
}
static_assert(Inception({64}).parameters == 27'161'264);            // as published
static_assert(Inception({64}).forward_macs / 100'000'000 == 3660);  // 366.0 GMAC
static_assert(Inception({96, 299, false}).parameters == 23'834'568);
// TAG table 3: 90 MB
static_assert(Inception({96, 224, false, false}).parameters * 4 / (1 << 20) == 90);
static_assert(ResNet(kHundredOne, 96).parameters * 4 / (1 << 20) == 169);  // 169 MB
static_assert(Vgg(kNineteen, 96).parameters * 4 / (1 << 20) == 548);       // 548 MB

// WaveNet: L = samples + reach positions go in; every layer takes as many away as it reaches, runs
// filter and gate (two taps each) and the residual layer on what is left (the last layer has none),
// the skip layer on the predicted samples.
struct WaveNetSizes {
  int64_t batch, samples, stacks, layers;
  // The file's model folds positions into the batch instead of dilating: it pads them to a multiple
  // of the dilation, and runs skip layers and head on all that are left.
  bool folds = false;
};
constexpr Figure WaveNet(const WaveNetSizes& sizes) {
  constexpr int64_t kResidual = 32, kDilation = 32, kSkip = 256, kLevels = 256;
  const auto [batch, samples, stacks, layers, folds] = sizes;
  int64_t left = samples + stacks * ((int64_t{1} << layers) - 1);
  Figure f;
  f.AddConvolution(batch * left, kLevels, kResidual, 1);
  f.first_layer_macs = f.forward_macs;
  for (int64_t i = 0; i < stacks * layers; ++i) {
    const int64_t reach = int64_t{1} << (i % layers);
    if (folds) left = (left + reach - 1) / reach * reach;
    left -= reach;
    f.AddConvolution(batch * left, kResidual, 2 * kDilation, 2);
    if (i + 1 < stacks * layers) f.AddConvolution(batch * left, kDilation, kResidual, 1);
    f.AddConvolution(batch * (folds ? left : samples), kDilation, kSkip, 1);
  }
  f.AddConvolution(batch * (folds ? left : samples), kSkip, kLevels, 1);
  f.AddConvolution(batch * (folds ? left : samples), kLevels, kLevels, 1);
  f.parameters += 2 * kLevels;
  return f;
}
// The file has a residual layer of 32 x 32 without use, too.
static_assert(WaveNet({8, 512, 4, 10, true}).parameters + 32 * 32 == 672'256);
static_assert(WaveNet({8, 512, 4, 10, true}).forward_macs == 16'609'181'696);  // 16.6 GMAC
static_assert(WaveNet({8, 512, 4, 10}).forward_macs == 6'872'072'192);         // of the same sizes

// AmoebaNet-D. `size` is that of the last cell, c the channels within the cell.
struct AmoebaNetBuilder {
  int64_t batch, c, before_last, last, size;
  bool last_reduced = false;
  Figure f = {};

  constexpr void Add(int64_t height, int64_t width, int64_t in, int64_t out, int64_t taps) {
    f.AddNormalized(batch * height * width, in, out, taps);
  }
  // 1x1 to a quarter, 1x7, 7x1, 1x1 back; at stride 1.
  constexpr void AddConv7(int64_t s) {
    Add(s, s, c, c / 4, 1);
    Add(s, s, c / 4, c / 4, 7);
    Add(s, s, c / 4, c / 4, 7);
    Add(s, s, c / 4, c, 1);
  }
  constexpr void AddInputs() {
    Add(size, size, last, c, 1);
    // Behind a reduction two halves of a 1x1, else a 1x1 unless there are c channels already.
    if (last_reduced || before_last != c) Add(size, size, before_last, c, 1);
  }
  constexpr void End(int64_t concatenated, bool reduced) {
    before_last = last;
    last = concatenated * c;
    last_reduced = reduced;
  }
  constexpr void AddNormal() {
    AddInputs();
    for (int i = 0; i < 3; ++i) Add(size, size, c, c, 1);
    for (int i = 0; i < 2; ++i) AddConv7(size);
    End(4, false);
  }
  constexpr void AddReduction() {
    c *= 2;
    AddInputs();
    const int64_t half = size / 2;
    Add(size, size, c, c / 4, 1);  // conv 3x3 of stride 2 between 1x1
    Add(half, half, c / 4, c / 4, 9);
    Add(half, half, c / 4, c, 1);
    AddConv7(half);
    Add(half, half, c, c, 1);
    size = half;
    End(3, true);
  }
};
constexpr Figure AmoebaNet(int64_t batch, int64_t layers, int64_t filters) {
  const int64_t c = filters / 4;
  AmoebaNetBuilder b = {batch, c, c, c, 112};
  b.Add(112, 112, 3, c, 9);
  b.f.first_layer_macs = b.f.forward_macs;
  for (int i = 0; i < 2; ++i) b.AddReduction();
  for (int stage = 0; stage < 3; ++stage) {
    if (stage > 0) b.AddReduction();
    for (int64_t i = 0; i < layers / 3; ++i) b.AddNormal();
  }
  b.f.AddConvolution(batch, b.last, 1000, 1);
  b.f.parameters += 1000;
  return b.f;
}
// GPipe (Huang et al. 2019) table 1 has 82 M, 318 M (0.3 % less) and 1.05 B.
static_assert(AmoebaNet(64, 18, 208).parameters == 81'505'540);
static_assert(AmoebaNet(64, 18, 416).parameters == 319'024'120);
static_assert(AmoebaNet(64, 36, 544).parameters == 1'055'832'376);

}  // namespace placewright

#endif  // PLACEWRIGHT_TESTS_CAPTURE_CONVOLUTION_FIGURES_H_
