#include "formats/aten/reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/random.h"
#include "formats/text/file.h"
#include "graph/text_form.h"

namespace placewright {
namespace {

using ::testing::HasSubstr;

const char kInputs[] = R"({"name":"param:m.fc.weight","kind":"param","shape":[4,4],"dtype":"f32"},
  {"name":"input:x","kind":"input","shape":[2,4],"dtype":"f32"})";

// A file with the given ops, inputs and further fields.
std::string File(const std::string& ops, const std::string& outputs = "[]",
                 const std::string& more = "", const std::string& inputs = kInputs) {
  return "{\"name\":\"g\",\"batch\":2," + more + "\"inputs\":[" + inputs + "],\"ops\":[" + ops +
         "],\"outputs\":" + outputs + "}";
}

std::string OpText(const std::string& name, const std::string& target, const std::string& inputs,
                   const std::string& more = "",
                   const std::string& outputs = R"({"shape":[2,4],"dtype":"f32"})") {
  return "{\"name\":\"" + name + "\",\"target\":\"" + target + "\",\"phase\":\"fwd\",\"inputs\":[" +
         inputs + "],\"args\":[" + (inputs.empty() ? "" : "\"%0\"") + "]" + more +
         ",\"outputs\":[" + outputs + "]}";
}

Graph MustRead(const std::string& text) {
  Result<Graph> graph = ReadAtenGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.error().ToString();
  return graph.ok() ? std::move(graph).Take() : Graph();
}

void ExpectError(const std::string& text, ErrorCode code, const std::string& part) {
  const Result<Graph> graph = ReadAtenGraph(text);
  ASSERT_FALSE(graph.ok()) << part;
  EXPECT_EQ(graph.error().code, code) << graph.error().ToString();
  EXPECT_THAT(graph.error().ToString(), HasSubstr(part));
}

// A tensor stays until the op that holds it has ended. What is there before the step stays anyway.
TEST(AtenReader, ReadsWhatOpsHold) {
  const std::string ops =
      OpText("a", "aten.relu.default", "\"input:x\"") + "," +
      OpText("b", "aten.relu.default", "\"a\"") + "," +
      OpText("c", "aten.relu.default", "\"b\"", ",\"holds\":[\"a\",\"input:x\"]");
  const Graph graph = MustRead(File(ops));
  EXPECT_EQ(graph.tensor(graph.FindTensor("a")).held_until, graph.FindOp("c"));
  EXPECT_FALSE(graph.tensor(graph.FindTensor("b")).held_until.valid());
  EXPECT_FALSE(graph.tensor(graph.FindTensor("input:x")).held_until.valid());
  EXPECT_THAT(ToText(graph), HasSubstr("  holds a\n"));
  const std::string before = OpText("a", "aten.relu.default", "\"input:x\"", ",\"holds\":[\"b\"]");
  ExpectError(File(before + "," + OpText("b", "aten.relu.default", "\"a\"")),
              ErrorCode::kGraphCycle, "ops[0] (a).holds[0]");
  ExpectError(File(OpText("a", "aten.relu.default", "\"input:x\"", ",\"holds\":[\"ghost\"]")),
              ErrorCode::kUnknownName, "ops[0] (a).holds[0]");
}

TEST(AtenReader, ReadsEveryField) {
  const Graph graph = MustRead(R"({"name":"step","batch":2,"n_ops":3,"n_edges":2,
    "parameters":["param:m.fc.weight"],"inputs":[)" +
                               std::string(kInputs) + R"(],
    "ops":[
     {"name":"t","target":"aten.t.default","phase":"fwd","scope":"m.fc","alias":"view",
      "inputs":["param:m.fc.weight"],"args":["%0"],"outputs":[{"shape":[4,4],"dtype":"f32"}]},
     {"name":"mm","target":"aten.mm.default","phase":"fwd","scope":"m.fc",
      "inputs":["input:x","t"],"args":["%0","%1",[1,[null,true],-2.5,"torch.float32"]],
      "kwargs":{"alpha":0.5,"other":"%1"},"outputs":[{"shape":[2,4],"dtype":"f32"}]},
     {"name":"add_","target":"aten.add_.Tensor","phase":"opt","alias":"inplace","after":["mm"],
      "inputs":["param:m.fc.weight"],"args":["%0",1],"outputs":[{"shape":[4,4],"dtype":"f32"}]}],
    "outputs":["mm","add_"]})");
  EXPECT_EQ(ToText(graph), R"(graph step (aten), batch 2: 3 ops, 2 edges, 2 groups
input param:m.fc.weight parameter f32[4,4] s0.0 [0,64)
input input:x input f32[2,4] s1.0 [0,32)
op t = aten.t.default(param:m.fc.weight) forward @m.fc g0 view
  t f32[4,4] s0.0 [0,64) strides [1,4]
op mm = aten.mm.default(input:x, t) forward @m.fc g1
  mm f32[2,4] s2.0 [0,32)
op add_ = aten.add_.Tensor(param:m.fc.weight) optimizer @m.fc g0
  writes param:m.fc.weight
  after mm
  add_ f32[4,4] s0.1 [0,64)
storage s0 param:m.fc.weight parameter 64 B, written by: start, add_
storage s1 input:x input 32 B, written by: start
storage s2 mm activation 32 B, written by: mm
group g0: t, add_
group g1: mm
)");
  const Op& mm = graph.op(graph.FindOp("mm"));
  ASSERT_EQ(mm.args.size(), 3u);
  EXPECT_EQ(ToString(mm.args[2]), "[1, [null, true], -2.5, \"torch.float32\"]");
  ASSERT_EQ(mm.attributes.size(), 2u);
  EXPECT_EQ(mm.attributes[0].name, "alpha");
  EXPECT_EQ(ToString(mm.attributes[1].value), "%1");
  EXPECT_EQ(graph.outputs().size(), 2u);
}

TEST(AtenReader, FieldsMayComeInAnyOrder) {
  const Graph graph =
      MustRead(R"({"outputs":["a"],"ops":[)" + OpText("a", "aten.relu.default", "\"input:x\"") +
               R"(],"inputs":[)" + kInputs + R"(],"name":"g"})");
  EXPECT_EQ(graph.op_count(), 1u);
  EXPECT_EQ(graph.batch(), 0);  // not stated
}

TEST(AtenReader, PathsOutsideOfTheStatedWrapperAreNoted) {
  const auto notes = [](const std::string& wrapped, const std::string& scope,
                        const std::string& parameter = "m.w") {
    const std::string op = OpText("a", "aten.relu.default", "\"input:x\"", scope);
    const std::string inputs =
        R"({"name":"input:x","kind":"input","shape":[2,4],"dtype":"f32"},)"
        R"({"name":"opt_state:step","kind":"opt_state","shape":[],"dtype":"f32"},)"
        R"({"name":"param:)" +
        parameter + R"(","kind":"param","shape":[4],"dtype":"f32"})";
    return ReadAtenFile(File(op, "[]", wrapped, inputs)).Take().notes;
  };
  const std::string wrapped = R"("wrapped":true,)";
  for (const char* inside : {"", R"(,"scope":"")", R"(,"scope":"m")", R"(,"scope":"m.fc")"}) {
    EXPECT_TRUE(notes(wrapped, inside).empty()) << inside;
  }
  EXPECT_THAT(notes(wrapped, "", "mlp.w"),
              testing::ElementsAre(
                  R"(the file states "wrapped": true, but the tensor "param:mlp.w" is not within )"
                  R"(the wrapper "m"; all paths are taken for the model's own)"));
  EXPECT_THAT(notes(wrapped, R"(,"scope":"loss")"),
              testing::ElementsAre(
                  R"(the file states "wrapped": true, but the module "loss" is not within )"
                  R"(the wrapper "m"; what lies outside is no part of the model)"));
  EXPECT_TRUE(notes(R"("wrapped":false,)", R"(,"scope":"loss")", "mlp.w").empty());
  EXPECT_TRUE(notes("", R"(,"scope":"loss")", "mlp.w").empty());
}

// The step is the recorded one; what the file says of later steps is checked.
TEST(AtenReader, NumbersThatChangeFromStepToStep) {
  const auto file = [](const std::string& hyper, const std::string& numbers) {
    const std::string op =
        R"({"name":"mul","target":"aten.mul.Tensor","phase":"opt","inputs":["input:x"],)"
        R"("args":["%0",0.5],"outputs":[{"shape":[2,4],"dtype":"f32"}],"numbers":)" +
        numbers + "}";
    return File(op, "[]", "", std::string(kInputs) + "," + hyper);
  };
  const std::string rate =
      R"({"name":"hyper:0.lr","kind":"hyper","shape":[],"dtype":"f64","value":0.5})";
  const Graph graph = MustRead(file(rate, R"([[1,"1 - {0.lr}"]])"));
  EXPECT_EQ(ToString(graph.op(OpId(0)).args[1]), "0.5");
  EXPECT_FALSE(graph.FindTensor("hyper:0.lr").valid());
  ExpectError(file(rate, R"([[1,"1 - {1.lr}"]])"), ErrorCode::kUnknownName,
              "ops[0] (mul).numbers[0]");
  for (const char* wrong : {R"([[0,"{0.lr}"]])", R"([[2,"{0.lr}"]])", R"([["alpha","{0.lr}"]])",
                            R"([[1,0.5]])", R"(["{0.lr}"])"}) {
    ExpectError(file(rate, wrong), ErrorCode::kField, "ops[0] (mul).numbers[0]");
  }
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string changed = rate;
    return file(changed.replace(changed.find(from), from.size(), to), R"([[1,"{0.lr}"]])");
  };
  ExpectError(with("hyper:0.lr", "0.lr"), ErrorCode::kField, "inputs[2].name");
  ExpectError(with("f64", "f32"), ErrorCode::kField, "inputs[2].dtype");
  ExpectError(with("[]", "[1]"), ErrorCode::kField, "inputs[2].shape");
  ExpectError(with("0.5", "\"0.5\""), ErrorCode::kField, "inputs[2].value");
}

TEST(AtenReader, NullOutputsKeepTheirPlaces) {
  const Graph graph =
      MustRead(File(OpText("conv", "aten.convolution_backward.default", "\"input:x\"", "",
                           R"(null,{"shape":[3],"dtype":"f32"},null,{"shape":[5],"dtype":"i64"})") +
                        "," + OpText("use", "aten.relu.default", "\"conv:3\""),
                    "[\"conv:1\"]"));
  const Op& conv = graph.op(OpId(0));
  ASSERT_EQ(conv.outputs.size(), 2u);
  EXPECT_EQ(graph.tensor(conv.outputs[0]).name, "conv:1");
  EXPECT_EQ(graph.tensor(conv.outputs[1]).output_index, 3);
  EXPECT_EQ(graph.tensor(conv.outputs[1]).bytes, Bytes(40));
  ExpectError(File(OpText("conv", "aten.convolution_backward.default", "\"input:x\"", "",
                          R"(null,{"shape":[3],"dtype":"f32"})") +
                   "," + OpText("use", "aten.relu.default", "\"conv:0\"")),
              ErrorCode::kUnknownName, "ops[1] (use).inputs[0]");
}

TEST(AtenReader, ListsNameTheirOnlyOutputWithAnIndex) {
  const Graph graph = MustRead(File(
      OpText("unbind", "aten.unbind.int", "\"input:x\"", "", R"({"shape":[4],"dtype":"f32"})") +
      "," + OpText("a", "aten.relu.default", "\"unbind:0\"") + "," +
      OpText("b", "aten.relu.default", "\"unbind\"") + "," +
      OpText("c", "aten.relu.default", "\"a:0\"")));
  EXPECT_TRUE(graph.FindTensor("unbind:0").valid());
  EXPECT_EQ(graph.edge_count(), 3u);  // unbind to a and to b; a to c
}

TEST(AtenReader, SchemasFillInMissingMarks) {
  const std::string vector = R"({"shape":[4],"dtype":"f32"})";
  const std::string norm =
      R"({"name":"bn","target":"aten.native_batch_norm.default","phase":"fwd",
        "inputs":["input:x","w","b","mean","var"],
        "args":["%0","%1","%2","%3","%4",true,0.1,1e-05],"outputs":[)" +
      std::string(R"({"shape":[2,4],"dtype":"f32"},)") + vector + "," + vector + "]}";
  std::string inputs = kInputs;
  for (const char* name : {"w", "b", "mean", "var"}) {
    inputs += ",{\"name\":\"" + std::string(name) +
              "\",\"kind\":\"buffer\",\"shape\":[4],\"dtype\":\"f32\"}";
  }
  const std::string split =
      OpText("split", "aten.unsafe_split.Tensor", "\"bn:0\"", "",
             R"({"shape":[1,4],"dtype":"f32"},{"shape":[1,4],"dtype":"f32"})");
  const std::string ops =
      norm + "," + split + "," +
      OpText("v", "aten._unsafe_view.default", "\"bn:0\"", "", R"({"shape":[8],"dtype":"f32"})");
  const Graph graph = MustRead(File(ops, "[]", "", inputs));
  EXPECT_EQ(graph.op(OpId(0)).writes.size(), 2u);
  EXPECT_EQ(graph.storage(graph.tensor(graph.FindTensor("mean")).storage).versions.size(), 2u);
  EXPECT_EQ(graph.storage(graph.tensor(graph.FindTensor("w")).storage).versions.size(), 1u);
  EXPECT_TRUE(graph.op(OpId(1)).is_view);
  EXPECT_TRUE(graph.op(OpId(2)).is_view);
}

TEST(AtenReader, StateBelongsToItsParameter) {
  std::string inputs = kInputs;
  for (const char* name : {"m.fc.weight.exp_avg", "m.fc.weight.exp.avg.sq", "m.other.step"}) {
    inputs += ",{\"name\":\"opt_state:" + std::string(name) +
              "\",\"kind\":\"opt_state\",\"shape\":[4],\"dtype\":\"f32\"}";
  }
  std::string ops;
  for (const char* name : {"param:m.fc.weight", "opt_state:m.fc.weight.exp_avg",
                           "opt_state:m.fc.weight.exp.avg.sq", "opt_state:m.other.step"}) {
    ops += (ops.empty() ? "" : ",") + OpText("op" + std::to_string(ops.size()), "aten.mul_.Tensor",
                                             "\"" + std::string(name) + "\"", "",
                                             R"({"shape":[4],"dtype":"f32"})");
  }
  const Graph graph = MustRead(File(ops, "[]", "", inputs));
  EXPECT_EQ(graph.group(OpId(0)), graph.group(OpId(1)));
  EXPECT_EQ(graph.group(OpId(0)), graph.group(OpId(2)));  // a slot name with dots
  EXPECT_NE(graph.group(OpId(0)), graph.group(OpId(3)));  // no such parameter
}

TEST(AtenReader, EveryElementType) {
  const std::pair<const char*, int64_t> types[] = {
      {"f32", 4}, {"f64", 8}, {"f16", 2}, {"bf16", 2}, {"i64", 8}, {"i32", 4},  {"i16", 2},
      {"i8", 1},  {"u8", 1},  {"b8", 1},  {"bool", 1}, {"c64", 8}, {"c128", 16}};
  for (const auto& [dtype, size] : types) {
    const Graph graph =
        MustRead(File(OpText("a", "aten.zeros.default", "", "",
                             R"({"shape":[3],"dtype":")" + std::string(dtype) + "\"}")));
    EXPECT_EQ(graph.tensor(graph.FindTensor("a")).bytes, Bytes(3 * size)) << dtype;
  }
}

// As run draws them; kept by the writer.
TEST(AtenReader, InputsOfIntegersSayWhereTheyEnd) {
  const std::string file = R"({"name":"g","inputs":[{"name":"input:ids","kind":"input","below":50,
     "shape":[4],"dtype":"i64"}],"ops":[{"name":"a","target":"aten.neg.default","phase":"fwd",
     "inputs":["input:ids"],"args":["%0"],"outputs":[{"shape":[4],"dtype":"i64"}]}],"outputs":["a"]})";
  const Graph graph = MustRead(file);
  EXPECT_EQ(graph.tensor(graph.FindTensor("input:ids")).below, 50);
  EXPECT_THAT(ToText(graph), HasSubstr("below 50"));
  for (const char* wrong : {"0", "-3", "\"50\"", "1.5"}) {
    std::string text = file;
    text.replace(text.find("\"below\":50") + 8, 2, wrong);
    ExpectError(text, ErrorCode::kField, "below");
  }
}

TEST(AtenReader, ErrorsNameThePlace) {
  const std::string relu = OpText("a", "aten.relu.default", "\"input:x\"");
  ExpectError("[1,2]", ErrorCode::kField, "object");
  ExpectError("{", ErrorCode::kSyntax, "line 1");
  ExpectError(R"({"name":"g","outputs":[]})", ErrorCode::kField, "ops");
  ExpectError(R"({"name":"g","ops":{},"outputs":[]})", ErrorCode::kField, "ops");
  ExpectError(R"({"name":"g","inputs":3,"ops":[],"outputs":[]})", ErrorCode::kField, "inputs");
  ExpectError(File("5"), ErrorCode::kField, "ops[0]");
  ExpectError(File("{\"name\":\"a\"}"), ErrorCode::kField, "ops[0] (a)");
  ExpectError(File(relu + "," + relu), ErrorCode::kDuplicateName, "ops[1] (a)");
  ExpectError(File(relu, "[\"b\"]"), ErrorCode::kUnknownName, "outputs[0]");
  ExpectError(File(OpText("a", "aten.relu.default", "\"input:y\"")), ErrorCode::kUnknownName,
              "did you mean input:x?");
  ExpectError(File(OpText("a", "aten.relu.default", "\"input:x\"", ",\"alias\":\"vew\"")),
              ErrorCode::kField, "did you mean view?");
  ExpectError(File(OpText("a", "aten.zeros.default", "", ",\"alias\":\"view\"")), ErrorCode::kField,
              "alias");
  ExpectError(
      File(OpText("a", "aten.relu.default", "\"input:x\"", "", R"({"shape":[2],"dtype":"f33"})")),
      ErrorCode::kField, "ops[0] (a).outputs[0].dtype");
  ExpectError(File(OpText("a", "aten.relu.default", "\"input:x\"", "",
                          R"({"shape":[2,-4],"dtype":"f32"})")),
              ErrorCode::kField, "outputs[0].shape[1]");
  ExpectError(File(OpText("a", "aten.relu.default", "\"input:x\"", "",
                          R"({"shape":["s0"],"dtype":"f32"})")),
              ErrorCode::kGraphShape, "outputs[0].shape[0]");
  ExpectError(File(OpText("a", "aten.relu.default", "\"input:x\"", "",
                          R"({"shape":[1099511627776,1099511627776],"dtype":"f32"})")),
              ErrorCode::kField, "ops[0] (a)");
  ExpectError(File(OpText("a", "aten.relu.default", "\"input:x\"", "", R"({"dtype":"f32"})")),
              ErrorCode::kField, "shape");
  ExpectError(File(OpText("a", "aten.relu.default", "\"input:x\"", ",\"after\":[\"ghost\"]")),
              ErrorCode::kUnknownName, "ghost");
  ExpectError(File(relu, "[]", "\"parameters\":[\"param:m.fc.wight\"],"), ErrorCode::kUnknownName,
              "did you mean param:m.fc.weight?");
  ExpectError(File(relu, "[]", "\"n_ops\":2,"), ErrorCode::kField, "states 2 ops, but lists 1");
  ExpectError(File(relu, "[]", "\"n_edges\":7,"), ErrorCode::kField,
              "states 7 edges, but its ops have 0");
  ExpectError(File(relu, "[]", "\"name\":\"twice\","), ErrorCode::kDuplicateName, "name");
  ExpectError(File(relu, "[]", "", std::string(kInputs) + "," + kInputs), ErrorCode::kDuplicateName,
              "inputs[2]");
}

TEST(AtenReader, ReferencesInArguments) {
  const auto with = [&](const std::string& argument) {
    return File(
        OpText("a", "aten.relu.default", "\"input:x\"", ",\"kwargs\":{\"k\":" + argument + "}"));
  };
  MustRead(with("\"%0\""));
  MustRead(with("[[\"%0\"],9223372036854775807]"));
  for (const char* bad : {"\"%1\"", "\"%-1\"", "\"%\"", "\"%0x\"", "\"%99999999999999\"",
                          "[\"%5\"]", "{}", "18446744073709551615"}) {
    ExpectError(with(bad), ErrorCode::kField, "ops[0] (a).kwargs.k");
  }
}

TEST(AtenReader, NumbersThatAreNotFinite) {
  const Graph graph = MustRead(File(
      OpText("a", "aten.masked_fill.Scalar", "\"input:x\"",
             R"(,"kwargs":{"a":-Infinity,"b":[NaN,Infinity],"c":"-inf","NaN":"\"NaN Infinity"})")));
  const std::vector<NamedValue>& values = graph.op(OpId(0)).attributes;
  ASSERT_EQ(values.size(), 4u);
  EXPECT_EQ(ToString(values[0].value), "-inf");
  EXPECT_EQ(ToString(values[1].value), "[nan, inf]");
  EXPECT_NE(values[2].value.AsDouble(), nullptr);
  EXPECT_EQ(*values[3].value.AsString(), "\"NaN Infinity");  // inside a text it stays
  EXPECT_EQ(values[3].name, "NaN");
  ExpectError(File(OpText("a", "aten.relu.default", "\"input:x\"", ",\"x\":Infinit")),
              ErrorCode::kSyntax, "line 2");
}

TEST(AtenReader, OutputsOfSeveralNeedAnIndex) {
  const std::string two = R"({"shape":[2],"dtype":"f32"},{"shape":[2],"dtype":"f32"})";
  ExpectError(File(OpText("a", "aten.split.Tensor", "\"input:x\"", "", two) + "," +
                   OpText("b", "aten.relu.default", "\"a\"")),
              ErrorCode::kUnknownName, "say which, as in \"a:0\"");
  ExpectError(File(OpText("a", "aten.split.Tensor", "\"input:x\"", "", two) + "," +
                   OpText("b", "aten.relu.default", "\"a:2\"")),
              ErrorCode::kUnknownName, "ops[1] (b).inputs[0]");
}

TEST(AtenReader, ForwardReferencesAreOrderOrCycle) {
  ExpectError(File(OpText("a", "aten.relu.default", "\"b\"") + "," +
                   OpText("b", "aten.relu.default", "\"input:x\"")),
              ErrorCode::kGraphOrder, "\"a\" needs \"b\", which is listed later (ops[1])");
  ExpectError(File(OpText("a", "aten.relu.default", "\"c\"") + "," +
                   OpText("b", "aten.relu.default", "\"a\"") + "," +
                   OpText("c", "aten.relu.default", "\"b\"")),
              ErrorCode::kGraphCycle, "\"a\" and \"c\" need each other");
  ExpectError(File(OpText("a", "aten.relu.default", "\"a\"")), ErrorCode::kGraphCycle,
              "needs its own result");
  ExpectError(File(OpText("a", "aten.relu.default", "\"input:x\"", ",\"after\":[\"b\"]") + "," +
                   OpText("b", "aten.relu.default", "\"input:x\"")),
              ErrorCode::kGraphOrder, "ops[0] (a).after[0]");
}

// Nesting beyond the limit, and far too long names, end in an error.
TEST(AtenReader, HostileFilesEndInErrors) {
  ExpectError(File(std::string(100000, '[')), ErrorCode::kSyntax, "nested deeper");
  // A million zeros and more in one op: 48 bytes each are over 64 MiB.
  std::string zeros = "0";
  for (int i = 0; i < 1'500'000; ++i) zeros += ",0";
  ExpectError(
      File(OpText("a", "aten.neg.default", "\"input:x\"", ",\"kwargs\":{\"z\":[" + zeros + "]}")),
      ErrorCode::kFileTooLarge, "one element takes more than 64.0 MiB");
  ExpectError(File(OpText(std::string(20000, 'a'), "aten.relu.default", "\"input:x\"")),
              ErrorCode::kField, "more than the limit");
  ExpectError(File(OpText("a", "", "\"input:x\"")), ErrorCode::kField, "no type");
  ExpectError(std::string("{\"name\":\"\xff\"}"), ErrorCode::kSyntax, "");
}

const std::string& SampleFile() {
  static const std::string text =
      File(OpText("t", "aten.t.default", "\"param:m.fc.weight\"", ",\"alias\":\"view\"",
                  R"({"shape":[4,4],"dtype":"f32"})") +
               "," + OpText("mm", "aten.mm.default", "\"input:x\",\"t\"") + "," +
               OpText("split", "aten.split.Tensor", "\"mm\"", ",\"kwargs\":{\"dim\":1}",
                      R"({"shape":[2,2],"dtype":"f32"},null)") +
               "," +
               OpText("add_", "aten.add_.Tensor", "\"param:m.fc.weight\",\"split:0\"",
                      ",\"alias\":\"inplace\",\"after\":[\"mm\"],\"scope\":\"m.fc\"",
                      R"({"shape":[4,4],"dtype":"f32"})"),
           "[\"add_\"]", "\"n_ops\":4,");
  return text;
}

TEST(AtenReader, EveryTruncationIsAnError) {
  const std::string& text = SampleFile();
  MustRead(text);
  for (size_t length = 0; length < text.size(); ++length) {
    EXPECT_FALSE(ReadAtenGraph(std::string_view(text).substr(0, length)).ok()) << length;
  }
}

// Flipped bits give another valid file or an error, never a crash.
TEST(AtenReader, FlippedBitsNeverCrash) {
  int errors = 0;
  for (uint64_t seed = 0; seed < 20000; ++seed) {
    Random random(seed);
    std::string text = SampleFile();
    for (uint64_t flips = 1 + random.Below(3); flips > 0; --flips) {
      text[random.Below(text.size())] ^= static_cast<char>(1 << random.Below(8));
    }
    const Result<Graph> graph = ReadAtenGraph(text);
    if (!graph.ok()) {
      ++errors;
      EXPECT_NE(graph.error().code, ErrorCode::kInternal) << text;
      EXPECT_NE(graph.error().code, ErrorCode::kGraphInconsistent) << text;
    }
  }
  EXPECT_GT(errors, 10000);
}

std::string ReadSource(const std::string& path) {
  Result<std::string> text = ReadFile(std::string(PLACEWRIGHT_SOURCE_DIR) + "/" + path);
  EXPECT_TRUE(text.ok()) << text.error().ToString();
  return text.ok() ? text.value() : "";
}

TEST(AtenReader, TheDocumentedExampleIsValid) {
  const std::string page = ReadSource("docs/formats/aten-graph.md");
  const size_t begin = page.find("```json\n") + 8;
  const Graph graph = MustRead(page.substr(begin, page.find("```", begin) - begin));
  EXPECT_EQ(graph.op_count(), 7u);
  // {t, add__1, mul_, add_} share the weight and its momentum; mm, {t_1}, mm_1 stand alone.
  EXPECT_EQ(graph.group_count(), 4u);
  // The update waits for mm by `after`; mm reads the weight through t before it is written.
  EXPECT_EQ(graph.tensor(graph.FindTensor("mm_1")).kind, TensorKind::kGradient);
  EXPECT_EQ(graph.module_path(graph.op(graph.FindOp("mm_1")).module), "m.fc");
}

// The graph that ships with the repository: 46 trained parameters, 8 ops of Adam for each.
TEST(AtenReader, TheExampleGraph) {
  const Graph graph = MustRead(ReadSource("examples/tiny_transformer_adam.json.gz"));
  EXPECT_EQ(graph.op_count(), 837u);
  EXPECT_EQ(graph.edge_count(), 995u);
  size_t parameters = 0, optimizer = 0;
  for (StorageId id : graph.storages()) {
    parameters += graph.storage(id).kind == TensorKind::kParameter ? 1 : 0;
  }
  for (OpId id : graph.ops()) optimizer += graph.op(id).phase == Phase::kOptimizer ? 1 : 0;
  EXPECT_EQ(parameters, 46u);
  EXPECT_EQ(optimizer, 46u * 8);
}

}  // namespace
}  // namespace placewright
