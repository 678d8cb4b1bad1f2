// Layouts of several axes: what devices have, and which of them exchange what.
#include <gtest/gtest.h>

#include "compile/test_step_forms.h"
#include "compile/test_steps.h"

namespace placewright {
namespace {

// Two products with a sum between them, as in a perceptron whose inner width is split: y is split by samples and width,
// z a sum over the width.
const TestStep& Products() {
  static const TestStep* const step = new TestStep(R"(
    input x batch:8 in:4
    input v in width:6
    input w width out:4
    y = mm x v
    z = mm y w
    r = relu z
    -> r)");
  return *step;
}

constexpr std::string_view kMesh =
    "batch width a:0-4,0-3 b:0-4,3-6 c:4-8,0-3 d:4-8,3-6";

TEST(Boxes, ReadAndMakePartsOfTwoAxes) {
  EXPECT_EQ(Products().Compiled("*: " + std::string(kMesh)), "");
}

}  // namespace
}  // namespace placewright
