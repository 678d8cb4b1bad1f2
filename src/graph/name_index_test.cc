#include "graph/name_index.h"

#include <gtest/gtest.h>

#include <string>

namespace placewright {
namespace {

TEST(NameIndex, FindsWhatWasAdded) {
  std::vector<std::string> names;
  const auto name_of = [&](int32_t i) { return std::string_view(names[static_cast<size_t>(i)]); };
  NameIndex index;
  EXPECT_EQ(index.Find("op", name_of), NameIndex::kNone);
  for (int32_t i = 0; i < 1000; ++i) {
    names.push_back("op_" + std::to_string(i));
    EXPECT_EQ(index.Find(names.back(), name_of), NameIndex::kNone);
    index.Add(names.back(), i);
  }
  for (int32_t i = 0; i < 1000; ++i) EXPECT_EQ(index.Find("op_" + std::to_string(i), name_of), i);
  EXPECT_EQ(index.Find("op_1000", name_of), NameIndex::kNone);
  EXPECT_EQ(index.Find("", name_of), NameIndex::kNone);
}

}  // namespace
}  // namespace placewright
