// What ONNX models and their inputs hold: `capture --inputs`, `--weights`, `run --load`.
#include <gmock/gmock.h>

#include <cstring>

#include "recorded_mlp.h"

namespace placewright {
namespace {

using testing::HasSubstr;

// Protobuf, as far as a small model needs it.
std::string Number(int field, uint64_t value) {
  std::string bytes(1, static_cast<char>(field << 3));
  for (; value >= 128; value >>= 7) bytes += static_cast<char>(128 | (value & 127));
  return bytes + static_cast<char>(value);
}
std::string Field(int field, const std::string& content) {
  std::string length = Number(0, content.size()).substr(1);
  return std::string(1, static_cast<char>(field << 3 | 2)) + length + content;
}
template <class T>
std::string Raw(const std::vector<T>& values) {
  std::string bytes(values.size() * sizeof(T), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}
constexpr int kFloat = 1, kInt64 = 7;
// A size of 0 is open, with the symbol n.
std::string Value(const std::string& name, int type, const std::vector<int64_t>& shape) {
  std::string dims;
  for (const int64_t dim : shape) {
    dims += Field(1, dim == 0 ? Field(2, "n") : Number(1, static_cast<uint64_t>(dim)));
  }
  const std::string tensor = Number(1, static_cast<uint64_t>(type)) + Field(2, dims);
  return Field(1, name) + Field(2, Field(1, tensor));
}
std::string Node(const std::string& type, const std::vector<std::string>& inputs,
                 const std::string& output) {
  std::string node;
  for (const std::string& input : inputs) node += Field(1, input);
  return node + Field(2, output) + Field(4, type);
}

// The sum over reshape(x, shape) w + c, with w = (1, 10, 100) and a constant c = (1, 2).
std::string Model(int64_t size_of_x = 6) {
  const std::string w = Number(1, 3) + Number(1, 1) + Number(2, kFloat) + Field(8, "w") +
                        Field(9, Raw<float>({1, 10, 100}));
  const std::string c = Number(1, 2) + Number(1, 1) + Number(2, kFloat) + Field(8, "c") +
                        Field(9, Raw<float>({1, 2}));
  const std::string graph =
      Field(1, Node("Reshape", {"x", "shape"}, "rows")) +
      Field(1, Node("MatMul", {"rows", "w"}, "m")) + Field(1, Node("Add", {"m", "c"}, "s")) +
      Field(1, Node("ReduceSum", {"s"}, "y")) + Field(2, "rows") + Field(5, w) + Field(5, c) +
      Field(11, Value("x", kFloat, {size_of_x})) + Field(11, Value("shape", kInt64, {2})) +
      Field(12, Value("y", kFloat, {1, 1}));
  return Number(1, 8) + Field(7, graph) + Field(8, Number(2, 13));
}

struct Given {
  std::string name, dtype, shape, bytes;
};
std::string Safetensors(const std::vector<Given>& tensors) {
  std::string header = "{", content;
  for (const Given& tensor : tensors) {
    header += (content.empty() ? "" : ",") + std::string("\"") + tensor.name + "\":{\"dtype\":\"" +
              tensor.dtype + "\",\"shape\":" + tensor.shape + ",\"data_offsets\":[" +
              std::to_string(content.size()) + "," +
              std::to_string(content.size() + tensor.bytes.size()) + "]}";
    content += tensor.bytes;
  }
  header += "}";
  return Raw<uint64_t>({header.size()}) + header + content;
}

class OnnxContent : public RecordedMlp {
 protected:
  void SetUp() override {
    RecordedMlp::SetUp();
    if (IsSkipped()) return;
    Write("m.onnx", Model());
    Write("in.safetensors", Safetensors({{"x", "F32", "[6]", Raw<float>({1, 2, 3, 4, 5, 6})},
                                         {"shape", "I64", "[2]", Raw<int64_t>({2, 3})}}));
  }
  std::vector<std::string> Capture(const std::string& file) const {
    return {"capture", "m.onnx", "--train", "none", "--inputs", file, "-o", "m.json"};
  }
};

TEST_F(OnnxContent, GivenInputsAndStoredWeightsAreComputedWith) {
  const Outcome unknown = Run({"capture", "m.onnx", "--train", "none", "-o", "m.json"});
  EXPECT_EQ(unknown.status, 3);
  EXPECT_THAT(unknown.err, HasSubstr("input 1 ('shape') of Reshape must be known"));
  EXPECT_THAT(unknown.err, HasSubstr("--inputs FILE.safetensors"));

  std::vector<std::string> words = Capture("in.safetensors");
  words.insert(words.end(), {"--weights", "w.safetensors"});
  const Outcome captured = RunJson(words);
  ASSERT_EQ(captured.status, 0) << captured.err;
  EXPECT_THAT(captured.json()["notes"].dump(), HasSubstr("what --inputs says of shape"));
  EXPECT_EQ(captured.json()["weights"], "w.safetensors");
  // x stays an input: the numbers of the run's file count, not those of the recording.
  Write("other.safetensors", Safetensors({{"x", "F32", "[6]", Raw<float>({2, 0, 0, 0, 0, 1})}}));
  ASSERT_EQ(
      Run({"plan", "m.json", "-c", "two.yaml", "--algo", "single", "-o", "m.plan.json"}).status, 0);
  const auto result = [&](const std::string& inputs) {
    const Outcome run = RunJson(
        {"run", "m.plan.json", "--steps", "1", "--load", "w.safetensors", "--inputs", inputs});
    EXPECT_EQ(run.status, 0) << run.err;
    return run.json()["loss"][0].get<double>();
  };
  EXPECT_EQ(result("in.safetensors"), 321 + 654 + 3);
  EXPECT_EQ(result("other.safetensors"), 2 + 100 + 3);
}

TEST_F(OnnxContent, GivenInputsCloseOpenDimensions) {
  Write("m.onnx", Model(0));
  Write("shape.safetensors", Safetensors({{"shape", "I64", "[2]", Raw<int64_t>({2, 3})}}));
  const Outcome open = Run(Capture("shape.safetensors"));
  EXPECT_EQ(open.status, 3);
  EXPECT_THAT(open.err, HasSubstr("--dim n=N"));
  ASSERT_EQ(Run(Capture("in.safetensors")).status, 0);
  // What --dim says goes first; then the file is the one that contradicts.
  std::vector<std::string> words = Capture("in.safetensors");
  words.insert(words.end(), {"--dim", "n=12"});
  EXPECT_THAT(Run(words).err, HasSubstr("it is F32[6] in the file and f32[12] in the model"));
}

TEST_F(OnnxContent, OpenDimensionsOfTwoSizesAreNoBatch) {
  // sum(x) + sum(y), with first dimensions n and m.
  const auto open = [](const std::string& name, const std::string& symbol) {
    const std::string dims = Field(1, Field(2, symbol));
    return Field(1, name) + Field(2, Field(1, Number(1, kFloat) + Field(2, dims)));
  };
  const std::string graph =
      Field(1, Node("ReduceSum", {"x"}, "a")) + Field(1, Node("ReduceSum", {"y"}, "b")) +
      Field(1, Node("Add", {"a", "b"}, "z")) + Field(2, "sums") + Field(11, open("x", "n")) +
      Field(11, open("y", "m")) + Field(12, Value("z", kFloat, {1}));
  Write("m.onnx", Number(1, 8) + Field(7, graph) + Field(8, Number(2, 13)));
  Write("two.safetensors", Safetensors({{"x", "F32", "[6]", Raw<float>({1, 2, 3, 4, 5, 6})},
                                        {"input:y", "F32", "[2]", Raw<float>({7, 8})}}));
  const Outcome captured = RunJson(Capture("two.safetensors"));
  ASSERT_EQ(captured.status, 0) << captured.err;
  EXPECT_EQ(captured.json()["batch"], 0);
  std::map<std::string, Json> shapes;
  const Json recorded = Json::parse(Read("m.json"));
  for (const Json& input : recorded["inputs"]) shapes[input["name"]] = input["shape"];
  EXPECT_EQ(shapes["input:x"], Json::parse("[6]"));
  EXPECT_EQ(shapes["input:y"], Json::parse("[2]"));
}

TEST_F(OnnxContent, WrongFilesAreNamed) {
  Write("none.safetensors", Safetensors({{"y", "F32", "[1]", Raw<float>({1})}}));
  Write("long.safetensors", Safetensors({{"shape", "I64", "[3]", Raw<int64_t>({1, 2, 3})}}));
  Write("odd.safetensors", Safetensors({{"shape", "I64", "[2]", Raw<int64_t>({4, 5})}}));
  EXPECT_THAT(Run(Capture("none.safetensors")).err, HasSubstr("They are called x, shape."));
  EXPECT_THAT(Run(Capture("long.safetensors")).err,
              HasSubstr("it is I64[3] in the file and i64[2] in the model"));
  EXPECT_EQ(Run(Capture("odd.safetensors")).status, 3);
  EXPECT_THAT(Run(Capture("m.onnx")).err, HasSubstr("format-unknown"));
  EXPECT_THAT(Run(Capture("absent.safetensors")).err, HasSubstr("absent.safetensors"));
  const Outcome zoo = Run({"capture", "mlp", "--inputs", "in.safetensors", "-o", "m.json"});
  EXPECT_EQ(zoo.status, 2);
  EXPECT_EQ(Run({"capture", "mlp", "--weights", "w.safetensors", "-o", "m.json"}).status, 2);
  EXPECT_FALSE(Exists("m.json"));
}

}  // namespace
}  // namespace placewright
