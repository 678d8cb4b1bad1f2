#include <gtest/gtest.h>

#include "graph/graph_builder.h"
#include "learn/features/op_features.h"
#include "learn/features/vocabulary.h"

namespace placewright {
namespace {

TEST(Vocabulary, NamesOfAllFormatsAreReducedToWords) {
  EXPECT_EQ(vocabulary::Word("aten.add_.Tensor"), "add");
  EXPECT_EQ(vocabulary::Word("aten.add.Tensor"), "add");
  EXPECT_EQ(vocabulary::Word("aten._softmax.default"), "_softmax");
  EXPECT_EQ(vocabulary::Word("MatMul"), "matmul");
  EXPECT_EQ(vocabulary::Word("com.microsoft.FusedGelu"), "fusedgelu");
  EXPECT_EQ(vocabulary::Word(""), "");
}

TEST(Vocabulary, KnownTypesHaveAPlaceOfTheirOwnAndUnseenOnesShare) {
  EXPECT_EQ(vocabulary::IndexOf("aten.add.Tensor"), vocabulary::IndexOf("aten.add_.Scalar"));
  EXPECT_NE(vocabulary::IndexOf("aten.mm.default"), vocabulary::IndexOf("aten.bmm.default"));
  EXPECT_LT(vocabulary::IndexOf("aten.mm.default"), vocabulary::Size() - vocabulary::kShared);
  // FNV-1a of "mystery" modulo 32, pinned, since policies depend on it.
  const size_t unseen = vocabulary::IndexOf("org.example.Mystery");
  EXPECT_EQ(unseen, vocabulary::Size() - vocabulary::kShared + 22);
  EXPECT_EQ(unseen, vocabulary::IndexOf("org.other.mystery"));
}

// Tensors of policies have a column for each word: another list, under the same version, would give them others.
TEST(Vocabulary, ChangesWithItsVersionAlone) {
  uint64_t hash = vocabulary::kShared;
  for (const std::string_view word : vocabulary::Words()) {
    for (const char c : std::string(word) + "\n") {
      hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
    }
  }
  EXPECT_EQ(hash, 15567458306603612127u)
      << "raise kVersion with every change, and pin the new list here";
  EXPECT_EQ(vocabulary::kVersion, 1);
}

TEST(OpFeatures, ShapesAreDividedByTheLargestDimension) {
  GraphBuilder builder("g", "aten");
  // The largest dimension is 8: input [2, 8] -> (0, 0, 0.25, 1), output [4] -> (0, 0, 0, 0.5).
  const TensorId x = builder.AddInput("x", TensorKind::kInput, DType::kF32, {2, 8}).Take();
  OpSpec spec;
  spec.name = "y";
  spec.type = "aten.sum.dim_IntList";
  spec.inputs = {x};
  OutputSpec output;
  output.name = "y";
  output.dtype = DType::kF32;
  output.shape = {4};
  spec.outputs = {output};
  ASSERT_TRUE(builder.AddOp(std::move(spec)).ok());
  const Graph graph = std::move(builder).Build().Take();
  const OpFeatures features = FeaturesOfOps(graph)[OpId(0)];
  EXPECT_EQ(features.type, vocabulary::IndexOf("aten.sum.default"));
  EXPECT_EQ(features.input, (ShapeFeatures{0, 0, 0.25F, 1}));
  EXPECT_EQ(features.output, (ShapeFeatures{0, 0, 0, 0.5F}));
}

}  // namespace
}  // namespace placewright
