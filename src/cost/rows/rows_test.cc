#include <gtest/gtest.h>

#include "cost/rows/rules.h"

namespace placewright {
namespace {

// A type that a table names twice stops the first lookup.
TEST(WorkRows, EveryTableNamesTypesWithRules) {
  for (auto rows :
       {AtenRows(), OnnxRows(), ContribRows(), TensorflowRows(), PlacewrightRows(), StoredRows()}) {
    ASSERT_FALSE(rows.empty());
    for (const WorkRow& row : rows) {
      EXPECT_FALSE(row.types.empty());
      EXPECT_NE(row.rule, nullptr) << row.types;
    }
  }
}

TEST(WorkRows, TypesAreFoundByTheirBaseName) {
  EXPECT_NE(FindWorkRow("aten.mm.default"), nullptr);
  EXPECT_NE(FindWorkRow("aten.add_.Tensor"), nullptr);       // as "add"
  EXPECT_NE(FindWorkRow("aten.bernoulli_.float"), nullptr);  // a row of its own
  EXPECT_NE(FindWorkRow("aten.__and__.Tensor"), nullptr);
  EXPECT_NE(FindWorkRow("Conv"), nullptr);
  EXPECT_NE(FindWorkRow("com.microsoft.FastGelu"), nullptr);
  EXPECT_NE(FindWorkRow("com.microsoft.LayerNormalization"), nullptr);
  EXPECT_NE(FindWorkRow("tf.Conv2DBackpropFilter"), nullptr);
  EXPECT_NE(FindWorkRow("placewright.add_n.default"), nullptr);
  EXPECT_EQ(FindWorkRow("placewright.add"), nullptr);
  EXPECT_NE(FindWorkRow("stored.dequantize.default"), nullptr);
  EXPECT_EQ(FindWorkRow("stored.other.default"), nullptr);
  EXPECT_EQ(FindWorkRow("tf.Conv"), nullptr);
  EXPECT_EQ(FindWorkRow("Conv2DBackpropFilter"), nullptr);
  EXPECT_EQ(FindWorkRow("aten.frobnicate.default"), nullptr);
  EXPECT_EQ(FindWorkRow("org.example.Conv"), nullptr);
  EXPECT_EQ(FindWorkRow("ai.onnx.ml.Conv"), nullptr);
  EXPECT_EQ(FindWorkRow(""), nullptr);
}

}  // namespace
}  // namespace placewright
