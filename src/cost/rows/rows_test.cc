#include <gtest/gtest.h>

#include "cost/rows/rules.h"

namespace placewright {
namespace {

// Lookup is a binary search: each table is sorted and names no type twice.
TEST(WorkRows, EveryTableIsStrictlySorted) {
  for (auto rows : {AtenMathRows(), AtenElementwiseRows(), AtenDataRows(), OnnxMathRows(),
                    OnnxDataRows(), ContribRows(), TensorflowRows()}) {
    ASSERT_FALSE(rows.empty());
    for (size_t i = 0; i + 1 < rows.size(); ++i) EXPECT_LT(rows[i].type, rows[i + 1].type);
    for (const WorkRow& row : rows) EXPECT_NE(row.rule, nullptr) << row.type;
  }
}

TEST(WorkRows, NoAtenTypeHasTwoRows) {
  for (auto others : {AtenElementwiseRows(), AtenDataRows()}) {
    for (const WorkRow& row : AtenMathRows()) {
      for (const WorkRow& other : others) EXPECT_NE(row.type, other.type);
    }
  }
}

TEST(WorkRows, TypesAreFoundByTheirBaseName) {
  EXPECT_TRUE(HasWorkRow("aten.mm.default"));
  EXPECT_TRUE(HasWorkRow("aten.add_.Tensor"));       // as "add"
  EXPECT_TRUE(HasWorkRow("aten.bernoulli_.float"));  // a row of its own
  EXPECT_TRUE(HasWorkRow("aten.__and__.Tensor"));
  EXPECT_TRUE(HasWorkRow("Conv"));
  EXPECT_TRUE(HasWorkRow("com.microsoft.FastGelu"));
  EXPECT_TRUE(HasWorkRow("com.microsoft.LayerNormalization"));
  EXPECT_TRUE(HasWorkRow("tf.Conv2DBackpropFilter"));
  EXPECT_FALSE(HasWorkRow("tf.Conv"));
  EXPECT_FALSE(HasWorkRow("Conv2DBackpropFilter"));
  EXPECT_FALSE(HasWorkRow("aten.frobnicate.default"));
  EXPECT_FALSE(HasWorkRow("org.example.Conv"));
  EXPECT_FALSE(HasWorkRow("ai.onnx.ml.Conv"));
  EXPECT_FALSE(HasWorkRow(""));
}

}  // namespace
}  // namespace placewright
