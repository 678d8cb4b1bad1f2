#include "search/strategies/pipeline_stages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace placewright {
namespace {

// A layer that keeps so many bytes and has 10 more at its highest.
ChunkTable::Chunk LayerThatKeeps(double bytes, double time) {
  ChunkTable::Chunk layer;
  layer.forward = {time};
  layer.backward = {2 * time};
  layer.weights = {time};
  layer.forward_fixed = {3};
  layer.kept = bytes;
  layer.peak = bytes + 10;
  layer.parameters = layer.gradients = 7;
  layer.tensors = 1;
  layer.sent_forward.samples = bytes;
  layer.sent_backward.samples = 2 * bytes;
  return layer;
}

// Chunks of one layer and of two, of which the second is computed again: 4 bytes, not 40. At the highest 10 beside all that
// is kept; a chunk sends what its ends send.
TEST(PipelineStages, ChunksAreTheSumsOfTheirLayers) {
  ChunkTable kept, again;
  kept.chunks = {LayerThatKeeps(20, 1), LayerThatKeeps(30, 2), LayerThatKeeps(40, 3)};
  again.chunks = {LayerThatKeeps(2, 2), LayerThatKeeps(3, 3), LayerThatKeeps(4, 4)};
  const PipelineStages stages(kept, &again);
  const ChunkTable joined =
      stages.Joined({.layers = {1, 2}, .again = {false, false, true}, .optimum = {}});
  ASSERT_EQ(joined.chunks.size(), 2U);
  EXPECT_EQ(joined.chunks[0].kept, 20);
  EXPECT_EQ(joined.chunks[0].again, 0);
  const ChunkTable::Chunk& second = joined.chunks[1];
  EXPECT_EQ(second.forward[0], 2 + 4);
  EXPECT_EQ(second.backward[0], 2 * (2 + 4));
  EXPECT_EQ(second.forward_fixed[0], 6);
  EXPECT_EQ(second.kept, 30 + 4);
  EXPECT_EQ(second.peak, 30 + 4 + 10);
  EXPECT_EQ(second.again, 0.5);
  EXPECT_EQ(second.parameters, 14);
  EXPECT_EQ(second.tensors, 2);
  EXPECT_EQ(second.sent_backward.samples, 2 * 30);
  EXPECT_EQ(second.sent_forward.samples, 40);
}

}  // namespace
}  // namespace placewright
