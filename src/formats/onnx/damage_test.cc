// Damaged and hostile models: errors, never a crash, a hang or memory by claimed sizes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <functional>

#include "base/random.h"
#include "formats/onnx/test_models.h"
#include "formats/onnx/wire.h"
#include "formats/text/file.h"

namespace placewright::onnx_import {
namespace {

using testing::HasSubstr;

// A model that touches every part of the reader: weightless parameter, initializers, shape
// arithmetic, a sub-graph, a view, an attribute of each kind.
std::string Specimen() {
  auto model = MakeModel({2, 3, 8, 8});
  auto* graph = model.mutable_graph();
  AddInts(graph, "w__shape", {4, 3, 3, 3});
  AddInts(graph, "zero", {0});
  AddInts(graph, "rest", {-1});
  AddNode(graph, "ConstantOfShape", {"w__shape"}, {"w"}, "param/w");
  auto* conv = AddNode(graph, "Conv", {"x", "w"}, {"c"}, "/features/conv/Conv");
  SetInts(conv, "strides", {2, 2});
  SetInts(conv, "pads", {1, 1, 1, 1});
  AddNode(graph, "Shape", {"c"}, {"s"});
  SetInt(AddNode(graph, "Gather", {"s", "zero"}, {"rows"}), "axis", 0);
  SetInt(AddNode(graph, "Concat", {"rows", "rest"}, {"target"}), "axis", 0);
  AddNode(graph, "Reshape", {"c", "target"}, {"flat"}, "/Reshape");
  SetType(graph->add_input(), "condition", {}, onnx::TensorProto::BOOL);
  auto* branch = AddNode(graph, "If", {"condition"}, {"y"}, "if");
  for (const std::string name : {"then_branch", "else_branch"}) {
    auto* sub = SetGraph(branch, name);
    AddNode(sub, "Exp", {"flat"}, {name + "_y"});
    sub->add_output()->set_name(name + "_y");
  }
  SetType(graph->add_value_info(), "c", {2, 4, 4, 4});
  SetType(graph->add_output(), "y", {2, 64});
  return model.SerializeAsString();
}

TEST(OnnxDamage, TruncationAtEveryByte) {
  const std::string bytes = Specimen();
  ASSERT_TRUE(ReadOnnx(bytes, {}).ok());
  size_t errors = 0;
  for (size_t length = 0; length < bytes.size(); ++length) {
    errors += ReadOnnx(std::string_view(bytes).substr(0, length), {}).ok() ? 0 : 1;
  }
  // The graph is the last field of the file that matters: cut anywhere, it is not whole.
  EXPECT_GT(errors, bytes.size() - 10);
}

TEST(OnnxDamage, EveryBitFlipped) {
  std::string bytes = Specimen();
  size_t errors = 0;
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
    OnnxOptions options;
    if (bit % 2 == 1) options.batch = 3;
    const auto read = ReadOnnx(bytes, options);
    if (!read.ok()) {
      ++errors;
      EXPECT_NE(read.error().code, ErrorCode::kInternal);
      EXPECT_FALSE(read.error().message.empty());
    }
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
  }
  EXPECT_GT(errors, bytes.size());  // most flips of structure are noticed
}

TEST(OnnxDamage, RealFilesFlippedAndCut) {
  const std::string folder = PLACEWRIGHT_SHARED_DATA;
  if (!std::filesystem::exists(folder + "/onnx")) {
    GTEST_SKIP() << "no folder of real graphs at " << folder << " (PLACEWRIGHT_SHARED_DATA)";
  }
  Random random(20240501);
  for (const char* file : {"/onnx/squeezenet1_0_b64.onnx", "/onnx/gnmt_l2_b128_s40_lstm.onnx",
                           "/public/onnxruntime/scan_1.onnx"}) {
    const std::string whole = ReadFile(folder + file).Take();
    for (int round = 0; round < 150; ++round) {
      std::string bytes = whole;
      for (int flips = 0; flips < 1 + round % 3; ++flips) {
        char& byte = bytes[random.Below(bytes.size())];
        byte = static_cast<char>(byte ^ (1 << random.Below(8)));
      }
      if (round % 10 == 0) bytes.resize(random.Below(bytes.size()));
      OnnxOptions options;
      if (round % 2 == 1) options.batch = 2;
      const auto read = ReadOnnx(bytes, options);
      EXPECT_TRUE(read.ok() || read.error().code != ErrorCode::kInternal);
    }
  }
}

TEST(OnnxDamage, NoModelAtAll) {
  for (const std::string bytes : {"", "\n", "hello world", "{\"a\": 1}", "\x3a\x00"}) {
    EXPECT_FALSE(ReadOnnx(bytes, {}).ok());
  }
}

// ModelProto.graph (field 7, bytes 0x3a) that claims 2^31 - 1 bytes and has two.
TEST(OnnxDamage, ALengthOfTwoGigabytesInATinyFile) {
  const auto read = ReadOnnx(std::string("\x3a\xff\xff\xff\xff\x07\x0a\x00", 8), {});
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code, ErrorCode::kFileCorrupt);
  EXPECT_EQ(read.error().place, "byte 6");  // behind tag and length
}

// Ten million empty initializers: 20 MB on the wire, more than 3 GiB as objects.
TEST(OnnxDamage, ManyTinyMessages) {
  std::string tensors;
  for (int i = 0; i < 10'000'000; ++i) tensors += std::string("\x2a\x00", 2);
  std::string bytes = "\x3a";
  for (size_t left = tensors.size(); left > 0; left >>= 7) {
    bytes += static_cast<char>((left & 0x7f) | (left > 0x7f ? 0x80 : 0));
  }
  const auto read = ReadOnnx(bytes + tensors, {});
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code, ErrorCode::kFileTooLarge);
}

TEST(OnnxDamage, DimensionsThatClaimMoreThanThereIs) {
  const auto with = [](const std::function<void(onnx::GraphProto*)>& change) {
    auto model = MakeModel({2, 3});
    change(model.mutable_graph());
    AddNode(model.mutable_graph(), "Add", {"x", "w"}, {"y"}, "add");
    const auto read = ReadModel(model);
    EXPECT_FALSE(read.ok());
    return read.ok() ? Error() : read.error();
  };
  const auto claims = [](std::vector<int64_t> dims, bool raw) {
    return [dims, raw](onnx::GraphProto* graph) {
      auto* tensor = AddFloats(graph, "w", {2});
      tensor->clear_dims();
      for (const int64_t dim : dims) tensor->add_dims(dim);
      if (raw) tensor->set_raw_data("abcdefgh");
    };
  };
  // 2^29 floats, 2 GiB, of which eight bytes are there.
  Error error = with(claims({int64_t{1} << 29}, true));
  EXPECT_EQ(error.code, ErrorCode::kFileCorrupt);
  EXPECT_THAT(error.message, HasSubstr("ask for 2147483648 bytes, the file holds 8"));
  EXPECT_EQ(error.place, "initializer w");
  EXPECT_EQ(with(claims({int64_t{1} << 29}, false)).code, ErrorCode::kFileCorrupt);
  EXPECT_EQ(with(claims({int64_t{1} << 40, int64_t{1} << 40}, true)).code, ErrorCode::kFileCorrupt);
  EXPECT_EQ(with(claims({-2}, true)).code, ErrorCode::kField);
  EXPECT_EQ(with([](onnx::GraphProto* graph) {
              AddInts(graph, "shape", {int64_t{1} << 40, int64_t{1} << 40});
              AddNode(graph, "ConstantOfShape", {"shape"}, {"w"}, "param/w");
            }).code,
            ErrorCode::kField);
  // An input of 2^62 elements: its sum has no size that could be computed with.
  EXPECT_EQ(with([](onnx::GraphProto* graph) {
              SetType(graph->add_input(), "w", {int64_t{1} << 31, int64_t{1} << 31});
            }).code,
            ErrorCode::kGraphShape);
}

TEST(OnnxDamage, SparseInitializersTakeTheBytesTheyHave) {
  auto model = MakeModel({2, 3});
  auto* sparse = model.mutable_graph()->add_sparse_initializer();
  *sparse->mutable_values() = *AddFloats(model.mutable_graph(), "w", {5});
  *sparse->mutable_indices() = *AddInts(model.mutable_graph(), "w_at", {0, 1, 2, 3, 4});
  model.mutable_graph()->clear_initializer();
  sparse->add_dims(int64_t{1} << 40);
  AddNode(model.mutable_graph(), "Odd", {"x", "w"}, {"y"})->set_domain("org.example");
  const auto read = ReadModel(model);
  ASSERT_TRUE(read.ok()) << read.error().ToString();
  const TensorId id = read.value().FindTensor("w");
  ASSERT_TRUE(id.valid());
  EXPECT_EQ(read.value().tensor(id).bytes, Bytes(5 * 4 + 5 * 8));  // values and indices
}

// A tag and a zero make an empty message or text: the limits hold before anything is built.
TEST(OnnxDamage, FloodsOfEmptyParts) {
  const auto flood = [](const std::string& part, int64_t count, std::string_view node) {
    std::string graph(node);
    for (int64_t i = 0; i < count; ++i) graph += part;
    std::string bytes = "\x3a";  // ModelProto.graph, its length as a varint of five bytes
    for (int i = 0; i < 5; ++i) {
      bytes += static_cast<char>((graph.size() >> (7 * i) & 0x7f) | (i < 4 ? 0x80 : 0));
    }
    return ReadOnnx(bytes + graph, {}).error();
  };
  const Error nodes = flood(std::string("\x0a\x00", 2), 4'000'000, "");
  EXPECT_EQ(nodes.code, ErrorCode::kField);
  EXPECT_EQ(nodes.message, "a node without an operator type");
  EXPECT_EQ(nodes.place, "byte 8");  // 6 of the model, then the first node's tag and length
  const Error typed = flood("\x0a\x03\x22\x01Q", 500'001, "");
  EXPECT_EQ(typed.code, ErrorCode::kFileTooLarge);
  EXPECT_EQ(typed.message, "more than 500000 nodes");
  // Empty initializers, 376 bytes each: 3,000,000 of them are above 1 GiB.
  const Error tensors = flood(std::string("\x2a\x00", 2), 3'000'000, "\x0a\x03\x22\x01Q");
  EXPECT_EQ(tensors.code, ErrorCode::kFileTooLarge);
  EXPECT_THAT(tensors.message, HasSubstr("more than 1.0 GiB"));
}

TEST(OnnxDamage, FloodsOfDimensions) {
  for (const int dimensions : {64, 65, 1'000'000}) {
    auto model = MakeModel({2, 3});
    AddNode(model.mutable_graph(), "Relu", {"x"}, {"y"});
    auto* tensor = model.mutable_graph()->add_initializer();
    tensor->set_name("w");
    tensor->set_data_type(1);
    for (int i = 0; i < dimensions; ++i) tensor->add_dims(1);
    tensor->add_float_data(1);
    const auto read = ReadModel(model);
    if (dimensions == 64) {
      EXPECT_TRUE(read.ok()) << read.error().ToString();
      continue;
    }
    ASSERT_FALSE(read.ok());
    EXPECT_EQ(read.error().code, ErrorCode::kField);
    EXPECT_EQ(read.error().message, "a tensor of more than 64 dimensions");
  }
}

TEST(OnnxDamage, FloodsOfInputsAndAttributes) {
  for (const bool attributes : {false, true}) {
    auto model = MakeModel({2, 3});
    auto* node = AddNode(model.mutable_graph(), "Relu", {"x"}, {"y"});
    for (int i = 0; i < 4'000'000; ++i) {
      if (attributes) {
        node->add_attribute();
      } else {
        node->add_input();
      }
    }
    const auto read = ReadModel(model);
    ASSERT_FALSE(read.ok());
    EXPECT_EQ(read.error().code, ErrorCode::kFileTooLarge);
  }
}

// What no option of the command line can fix: the remedy does not name one.
TEST(OnnxDamage, ImpossibleOpsHaveARemedyOfTheirOwn) {
  auto model = MakeModel({4, 6});
  AddInts(model.mutable_graph(), "to", {-1, -1});
  AddNode(model.mutable_graph(), "Reshape", {"x", "to"}, {"y"});
  const auto reshape = ReadModel(model);
  ASSERT_FALSE(reshape.ok());
  EXPECT_EQ(reshape.error().Remedy(),
            "Fix the op's attributes and inputs, or export the model again.");

  auto negative = MakeModel({-4, 6});
  AddNode(negative.mutable_graph(), "Relu", {"x"}, {"y"});
  const auto input = ReadModel(negative);
  ASSERT_FALSE(input.ok());
  EXPECT_EQ(input.error().Remedy(), "Export the model with static shapes; none may be negative.");
}

// Settings that libonnx's inference divides by or indexes with, unchecked.
TEST(OnnxDamage, SettingsThatInferenceDoesNotSurvive) {
  const auto refused = [](const std::string& type, const std::string& attribute,
                          std::vector<int64_t> values) {
    auto model = MakeModel({1, 3, 8, 8});
    AddFloats(model.mutable_graph(), "w", {4, 3, 3, 3});
    auto* node = AddNode(model.mutable_graph(), type, {"x"}, {"y"}, "n");
    if (type == "Conv" || type == "ConvTranspose") node->add_input("w");
    if (type == "MaxPool") SetInts(node, "kernel_shape", {2, 2});
    if (values.size() == 1) {
      SetInt(node, attribute, values[0]);
    } else {
      SetInts(node, attribute, values);
    }
    const auto read = ReadModel(model);
    return !read.ok() && read.error().code == ErrorCode::kGraphShape;
  };
  EXPECT_TRUE(refused("Conv", "strides", {0, 1}));
  EXPECT_TRUE(refused("Conv", "strides", {1, 1, 1}));
  EXPECT_TRUE(refused("ConvTranspose", "output_padding", {1, 1, 1}));
  EXPECT_TRUE(refused("MaxPool", "strides", {0, 0}));
  EXPECT_TRUE(refused("DepthToSpace", "blocksize", {int64_t{1} << 32}));
  EXPECT_TRUE(refused("SpaceToDepth", "blocksize", {0}));
  EXPECT_TRUE(refused("Softmax", "axis", {9}));
  EXPECT_TRUE(refused("Transpose", "perm", {0, 1, 2, 9}));
  EXPECT_TRUE(refused("Transpose", "perm", {0, 1}));
  EXPECT_TRUE(refused("Conv", "pads", {-100, 0, 0, 0}));
}

// Each loop's inference runs its body more than once: thirty levels would never end.
TEST(OnnxDamage, NestedLoopsEnd) {
  auto model = MakeModel({2, 3});
  onnx::GraphProto* graph = model.mutable_graph();
  AddInts(graph, "trips", {4})->clear_dims();
  std::string state = "x";
  for (int level = 0; level < 30; ++level) {
    const std::string at = std::to_string(level);
    auto* node = AddNode(graph, "Loop", {"trips", "", state}, {"y" + at}, "loop" + at);
    if (level > 0) {
      graph->add_output()->set_name("go" + at);
      graph->add_output()->set_name("y" + at);
    }
    auto* body = SetGraph(node, "body");
    SetType(body->add_input(), "i" + at, {}, onnx::TensorProto::INT64);
    SetType(body->add_input(), "go" + std::to_string(level + 1), {}, onnx::TensorProto::BOOL);
    body->add_input()->set_name("s" + at);
    state = "s" + at;
    graph = body;
  }
  AddNode(graph, "Relu", {state}, {"end"});
  graph->add_output()->set_name("go30");
  graph->add_output()->set_name("end");
  const auto read = ReadModel(model);  // too deep for inference, so the shape stays unknown
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code, ErrorCode::kGraphShape);
}

class ExternalData : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "/onnx_external";
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_ + "/model/sub");
    ASSERT_TRUE(WriteFileAtomically(folder_ + "/secret.bin", std::string(64, '\0')).ok());
    // int64 3 and 4 behind eight bytes of something else
    std::string bytes(24, '\0');
    bytes[8] = 3;
    bytes[16] = 4;
    ASSERT_TRUE(WriteFileAtomically(folder_ + "/model/sub/w.bin", bytes).ok());
  }

  // x (2 x 6) reshaped to what two external int64 at `location` say.
  Result<Graph> Read(const std::string& location, const std::string& offset = "8",
                     const std::string& length = "16") {
    auto model = MakeModel({2, 6});
    auto* tensor = AddInts(model.mutable_graph(), "to", {0, 0});
    tensor->clear_int64_data();
    tensor->set_data_location(onnx::TensorProto::EXTERNAL);
    const auto set = [&](const std::string& key, const std::string& value) {
      auto* entry = tensor->add_external_data();
      entry->set_key(key);
      entry->set_value(value);
    };
    set("location", location);
    if (!offset.empty()) set("offset", offset);
    if (!length.empty()) set("length", length);
    AddNode(model.mutable_graph(), "Reshape", {"x", "to"}, {"y"}, "reshape");
    OnnxOptions options;
    options.folder = folder_ + "/model";
    return ReadModel(model, options);
  }

  std::string folder_;
};

TEST_F(ExternalData, IsReadBelowTheModelsFolder) {
  const auto read = Read("sub/w.bin");
  ASSERT_TRUE(read.ok()) << read.error().ToString();
  EXPECT_THAT(ShapeOf(read.value(), "y"), testing::ElementsAre(3, 4));
}

TEST_F(ExternalData, MayNotLeaveTheFolder) {
  std::filesystem::create_symlink(folder_ + "/secret.bin", folder_ + "/model/link.bin");
  std::filesystem::create_directory_symlink(folder_, folder_ + "/model/up");
  for (const std::string& location :
       {folder_ + "/secret.bin", std::string("../secret.bin"), std::string("sub/../../secret.bin"),
        std::string("link.bin"), std::string("up/secret.bin"), std::string("")}) {
    const auto read = Read(location, "0", "16");
    ASSERT_FALSE(read.ok()) << location;
    EXPECT_EQ(read.error().code, ErrorCode::kField) << location;
    EXPECT_EQ(read.error().place, "initializer to");
  }
}

TEST_F(ExternalData, MustHaveTheSizeThatTheDimensionsAsk) {
  EXPECT_EQ(Read("sub/w.bin", "16", "16").error().code, ErrorCode::kFileCorrupt);  // 8 bytes left
  EXPECT_EQ(Read("sub/w.bin", "8", "8").error().code, ErrorCode::kFileCorrupt);
  EXPECT_EQ(Read("sub/w.bin", "-8", "16").error().code, ErrorCode::kField);
  EXPECT_EQ(Read("sub/w.bin", "8", "sixteen").error().code, ErrorCode::kField);
  EXPECT_EQ(Read("sub/w.bin", "9223372036854775807", "16").error().code, ErrorCode::kField);
  EXPECT_TRUE(Read("sub/w.bin", "8", "").ok());
}

TEST_F(ExternalData, MustBeARegularFile) {
  ASSERT_EQ(mkfifo((folder_ + "/model/pipe").c_str(), 0600), 0);
  for (const std::string location : {"sub", "pipe"}) {
    const auto read = Read(location, "0", "16");
    ASSERT_FALSE(read.ok()) << location;
    EXPECT_EQ(read.error().code, ErrorCode::kFileUnreadable);
    EXPECT_EQ(read.error().message, "external data '" + location + "' is not a regular file");
  }
}

// Whether the file or the size of N is what lacks cannot be known: both are named.
TEST_F(ExternalData, MissingBesideAnOpenDimension) {
  auto model = MakeModel({2, 6});
  auto* dims = model.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type();
  dims->mutable_shape()->mutable_dim(0)->set_dim_param("N");
  auto* weight = AddFloats(model.mutable_graph(), "w", {6, 5});
  weight->clear_float_data();
  weight->set_data_location(onnx::TensorProto::EXTERNAL);
  weight->add_external_data()->set_key("location");
  weight->mutable_external_data(0)->set_value("gone.bin");
  AddNode(model.mutable_graph(), "MatMul", {"x", "w"}, {"y"});
  OnnxOptions options;
  options.folder = folder_ + "/model";
  const auto read = ReadModel(model, options);
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().Remedy(),
            "Give the open dimensions values: --batch N, or --dim N=N. If that is not enough, put "
            "'gone.bin' beside the model.");
}

TEST_F(ExternalData, MayBeMissingUnlessAShapeNeedsIt) {
  const auto needed = Read("gone.bin");
  ASSERT_FALSE(needed.ok());
  EXPECT_EQ(needed.error().code, ErrorCode::kGraphShape);
  EXPECT_EQ(needed.error().Remedy(), "Put 'gone.bin' beside the model.");

  auto model = MakeModel({2, 6});
  auto* weight = AddFloats(model.mutable_graph(), "w", {6, 5});
  weight->clear_float_data();
  weight->set_data_location(onnx::TensorProto::EXTERNAL);
  weight->add_external_data()->set_key("location");
  weight->mutable_external_data(0)->set_value("gone.bin");
  AddNode(model.mutable_graph(), "MatMul", {"x", "w"}, {"y"});
  OnnxReport report;
  OnnxOptions options;
  options.folder = folder_ + "/model";
  const auto read = ReadModel(model, options, &report);
  ASSERT_TRUE(read.ok()) << read.error().ToString();
  EXPECT_THAT(report.missing_files, testing::ElementsAre("gone.bin"));
}

}  // namespace
}  // namespace placewright::onnx_import
