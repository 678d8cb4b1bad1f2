#include "graph/value.h"

#include <gtest/gtest.h>

namespace placewright {
namespace {

TEST(Value, Text) {
  EXPECT_EQ(ToString(Value()), "null");
  EXPECT_EQ(ToString(Value(true)), "true");
  EXPECT_EQ(ToString(Value(int64_t{-3})), "-3");
  EXPECT_EQ(ToString(Value(0.1)), "0.1");
  EXPECT_EQ(ToString(Value(2.0)), "2.0");  // not to be taken for an integer
  EXPECT_EQ(ToString(Value(1e-8)), "1e-08");
  EXPECT_EQ(ToString(Value(std::string("a\"b"))), "\"a\\\"b\"");
  EXPECT_EQ(ToString(Value(Value::List{Value(InputRef{0}), Value(Value::List{})})), "[%0, []]");
}

TEST(Value, TypedAccess) {
  EXPECT_EQ(*Value(int64_t{5}).AsInt(), 5);
  EXPECT_EQ(Value(true).AsInt(), nullptr);
  EXPECT_TRUE(Value().IsNone());
  EXPECT_NE(Value(int64_t{1}), Value(1.0));
}

}  // namespace
}  // namespace placewright
