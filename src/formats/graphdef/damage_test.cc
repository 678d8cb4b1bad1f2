// Damaged and hostile GraphDefs: an error with a place, never more.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/graphdef/format.h"
#include "formats/graphdef/reader.h"
#include "formats/graphdef/test_graphs.h"
#include "formats/input.h"

namespace placewright {
namespace {

using namespace graphdef_test;
using testing::HasSubstr;

Error Refused(const std::string& file) {
  auto graph = ReadGraphDef(file, {});
  EXPECT_FALSE(graph.ok());
  return graph.ok() ? Error() : graph.error();
}

Error RejectedNodes(const std::vector<NodeSpec>& nodes) {
  const Error binary = Refused(Binary(nodes)), text = Refused(Text(nodes));
  EXPECT_EQ(binary.code, text.code);
  EXPECT_EQ(binary.message, text.message);
  return binary;
}

TEST(GraphDefDamage, Inputs) {
  const NodeSpec x{"x", "Placeholder", {}, {ShapeAttr("shape", {2})}, ""};
  Error error = RejectedNodes({x, {"y", "Relu", {"X"}, {}, ""}});
  EXPECT_EQ(error.code, ErrorCode::kUnknownName);
  EXPECT_THAT(error.message, HasSubstr("\"X\""));
  EXPECT_THAT(error.place, HasSubstr("nodes[1] (y).input[0]"));
  EXPECT_EQ(RejectedNodes({x, x}).code, ErrorCode::kDuplicateName);
  error = RejectedNodes({x, {"a", "Relu", {"b"}, {}, ""}, {"b", "Add", {"x", "a"}, {}, ""}});
  EXPECT_EQ(error.code, ErrorCode::kGraphCycle);
  EXPECT_THAT(error.message, HasSubstr("a -> b -> a"));
  EXPECT_EQ(RejectedNodes({{"a", "NoOp", {"^a"}, {}, ""}}).code, ErrorCode::kGraphCycle);
  const NodeSpec listed{"l", "Relu", {"x"}, {OutputShapes({{2}})}, ""};
  error = RejectedNodes({x, listed, {"y", "Relu", {"l:1"}, {}, ""}});
  EXPECT_EQ(error.code, ErrorCode::kUnknownName);
  EXPECT_THAT(error.message, HasSubstr("_output_shapes lists 1"));
  EXPECT_EQ(RejectedNodes({x, {"y", "Relu", {"x:4000000000"}, {}, ""}}).code,
            ErrorCode::kUnknownName);
  EXPECT_EQ(RejectedNodes({x, {"y", "Relu", {"x:99999999999999999999999"}, {}, ""}}).code,
            ErrorCode::kField);
  EXPECT_EQ(RejectedNodes({x, {"y", "Relu", {"x:one"}, {}, ""}}).code, ErrorCode::kField);
}

// A few bytes that would make many tensors.
TEST(GraphDefDamage, OutputsThatNoNodeHas) {
  const NodeSpec x{"x", "Placeholder", {}, {ShapeAttr("shape", {2})}, ""};
  const Error error = RejectedNodes(
      {x, {"read", "Identity", {"x"}, {}, ""}, {"y", "Relu", {"read:60000"}, {}, ""}});
  EXPECT_EQ(error.code, ErrorCode::kUnknownName);
  EXPECT_THAT(error.message, HasSubstr("\"read\" has no output 60000: Identity has one"));
  EXPECT_EQ(RejectedNodes({x, {"y", "Relu", {"x:1"}, {}, ""}}).code, ErrorCode::kUnknownName);
  // Types whose outputs are not known: two nodes of 40,000 are more than a file may leave unread.
  EXPECT_EQ(RejectedNodes({x,
                           {"a", "Odd", {"x"}, {}, ""},
                           {"b", "Odd", {"x"}, {}, ""},
                           {"y", "Relu", {"a:40000"}, {}, ""},
                           {"z", "Relu", {"b:40000"}, {}, ""}})
                .code,
            ErrorCode::kFileTooLarge);
}

TEST(GraphDefDamage, Fields) {
  EXPECT_EQ(RejectedNodes({{"", "Relu", {}, {}, ""}}).code, ErrorCode::kField);
  EXPECT_EQ(RejectedNodes({{"x", "", {}, {}, ""}}).code, ErrorCode::kField);
  EXPECT_EQ(RejectedNodes({{"x:0", "Relu", {}, {}, ""}}).code, ErrorCode::kField);
  EXPECT_EQ(RejectedNodes({{"x\xff", "Relu", {}, {}, ""}}).code, ErrorCode::kField);
  EXPECT_EQ(RejectedNodes({}).code, ErrorCode::kField);
  EXPECT_EQ(RejectedNodes({{"x", "Placeholder", {}, {ShapeAttr("shape", {-2})}, ""}}).code,
            ErrorCode::kField);
  // 2^40 * 2^40 elements: more bytes than are counted.
  const int64_t huge = int64_t{1} << 40;
  EXPECT_EQ(RejectedNodes({{"x", "Placeholder", {}, {ShapeAttr("shape", {huge, huge})}, ""}}).code,
            ErrorCode::kField);
}

TEST(GraphDefDamage, EveryPrefixAndEveryBit) {
  const std::string good = Binary(TrainingStep());
  for (size_t length = 0; length < good.size(); ++length) {
    const auto cut = ReadGraphDef(good.substr(0, length), {});
    EXPECT_TRUE(cut.ok() || !cut.error().message.empty());
  }
  for (size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << bit % 8));
    (void)SniffGraph(bad);
    (void)ReadGraphDef(bad, {});
  }
  // Within a node nothing can be cut unseen.
  EXPECT_EQ(Refused(good.substr(0, good.size() - 8)).code, ErrorCode::kFileCorrupt);
}

TEST(GraphDefDamage, TextIsRefusedByItsLine) {
  const std::string good = Text(TrainingStep());
  for (size_t length = 0; length < good.size(); length += 3) {
    (void)ReadGraphDef(good.substr(0, length), {});
    std::string bad = good;
    bad[length] = '"';
    (void)ReadGraphDef(bad, {});
    bad[length] = '}';
    (void)ReadGraphDef(bad, {});
  }
  Error error = Refused("node {\n  name: \"x\"\n  op \"Relu\"\n}\n");
  EXPECT_EQ(error.code, ErrorCode::kSyntax);
  EXPECT_EQ(error.place, "line 3");
  error = Refused("node {\n  name: \"x\n\"\n}\n");
  EXPECT_EQ(error.place, "line 2");
  EXPECT_EQ(Refused("node {\n  name: 3 op: \"Relu\" }").code, ErrorCode::kSyntax);
  EXPECT_EQ(Refused("node { attr { key: \"a\" value { i: x } } }").code, ErrorCode::kSyntax);
}

TEST(GraphDefDamage, ClaimsAndNesting) {
  // A node of 2 GiB in a file of a few bytes.
  const std::string claims = "\x0a" + Varint(uint64_t{2} << 30) + "\x0a\x01x\x12\x01y";
  EXPECT_EQ(Refused(claims).code, ErrorCode::kFileCorrupt);
  EXPECT_THAT(Refused(claims).message, HasSubstr("2147483648 bytes"));
  std::string deep = "node { name: \"x\" ";
  for (int i = 0; i < 200'000; ++i) deep += "a {";
  EXPECT_EQ(Refused(deep).code, ErrorCode::kSyntax);
  EXPECT_THAT(Refused(deep).message, HasSubstr("100 levels"));
  // On the wire only the levels that the schema names are entered.
  std::string inner;
  for (int i = 0; i < 2'000; ++i) inner = BytesField(10, inner);
  const Attr func{"f", inner, ""};
  EXPECT_TRUE(
      ReadGraphDef(Binary(std::vector<NodeSpec>{{"x", "Placeholder", {}, {func}, ""}}), {}).ok());
}

// 123 bytes: the first node's length is '{'.
TEST(GraphDefDamage, ABraceThatIsALength) {
  NodeSpec node{"x", "Placeholder", {}, {ShapeAttr("shape", {2})}, ""};
  const size_t bare = Binary(node).size() - 2;
  node.device = std::string(123 - bare - 2, 'd');
  const std::string file = Binary(std::vector<NodeSpec>{node});
  ASSERT_EQ(file[1], '{');
  EXPECT_EQ(SniffGraph(file).Take(), &kGraphDefFormat);
}

}  // namespace
}  // namespace placewright
