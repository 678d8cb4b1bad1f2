// ONNX's own backend suite (Debian's libonnx-testdata): models of one or a few nodes, with inputs and the
// outputs that they must give. Each is recorded as `capture --train none --inputs` does it, written, read
// back and executed. A tenth of it; all of it with PLACEWRIGHT_ONNX_SUITE=all.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <onnx/onnx-data_pb.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>

#include "aten/failure.h"
#include "capture/onnx/onnx_source.h"
#include "capture/onnx/value.h"
#include "capture/step/capture_step.h"
#include "formats/aten/reader.h"
#include "formats/aten/writer.h"
#include "formats/onnx/reader.h"
#include "formats/onnx/tensor_bytes.h"
#include "formats/text/file.h"
#include "runtime/executor/executor.h"
#include "runtime/inputs/seeded_inputs.h"
#include "simulated_devices.h"

namespace placewright {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFolder = "/usr/share/libonnx-testdata/data";
// Of the suite's runner.
constexpr double kRelative = 1e-3, kAbsolute = 1e-7;
// The files' numbers of type bfloat16 were cut off behind 8 bits, LibTorch rounds.
constexpr double kCut = 1.0 / 128;

// What it computes is drawn: the file has other numbers than another generator.
const std::set<std::string> kRandom = {"RandomNormal",      "RandomNormalLike", "RandomUniform",
                                       "RandomUniformLike", "Bernoulli",        "Multinomial"};

std::vector<fs::path> Models() {
  std::vector<fs::path> models;
  for (const auto& group : fs::directory_iterator(kFolder)) {
    if (!group.is_directory()) continue;
    for (const auto& model : fs::directory_iterator(group)) {
      if (fs::exists(model.path() / "model.onnx")) models.push_back(model.path());
    }
  }
  std::sort(models.begin(), models.end());
  return models;
}

template <class Proto>
std::optional<Proto> Parse(const fs::path& path) {
  Proto proto;
  const Result<std::string> bytes = ReadFileRaw(path.string());
  if (!bytes.ok() || !proto.ParseFromString(bytes.value())) return std::nullopt;
  return proto;
}

// Undefined for texts. The suite's files have numbers of type bfloat16 as their bits, in uint16.
at::Tensor TensorOf(const onnx::TensorProto& proto, at::ScalarType wanted) {
  static const std::map<int, DType> kTypes = {
      {1, DType::kF32},  {2, DType::kU8},    {3, DType::kI8},   {4, DType::kU16},
      {5, DType::kI16},  {6, DType::kI32},   {7, DType::kI64},  {9, DType::kBool},
      {10, DType::kF16}, {11, DType::kF64},  {12, DType::kU32}, {13, DType::kU64},
      {14, DType::kC64}, {15, DType::kC128}, {16, DType::kBF16}};
  const auto type = kTypes.find(proto.data_type());
  if (type == kTypes.end()) return {};
  const bool bits = type->second == DType::kU16 && wanted == at::kBFloat16;
  return lowering::HostTensor({bits ? DType::kBF16 : type->second,
                               {proto.dims().begin(), proto.dims().end()},
                               onnx_import::TensorBytes(proto)});
}

// The files NAME_0.pb, NAME_1.pb, ... of a data set.
std::vector<fs::path> Files(const fs::path& folder, const std::string& name) {
  std::vector<fs::path> files;
  while (fs::exists(folder / (name + "_" + std::to_string(files.size()) + ".pb"))) {
    files.push_back(folder / (name + "_" + std::to_string(files.size()) + ".pb"));
  }
  return files;
}

class SuiteModel {
 public:
  static Result<SuiteModel> Read(const fs::path& folder) {
    SuiteModel model;
    PW_ASSIGN(model.bytes_, ReadFile((folder / "model.onnx").string()));
    if (!model.proto_.ParseFromString(model.bytes_)) {
      return MakeError(ErrorCode::kFileCorrupt, "no model");
    }
    return model;
  }

  bool Draws() const {
    return std::any_of(proto_.graph().node().begin(), proto_.graph().node().end(),
                       [](const auto& node) {
                         return kRandom.count(node.op_type()) > 0 ||
                                (node.op_type() == "Dropout" && node.input_size() > 2);
                       });
  }

  // By name; those that are no tensors are left out.
  std::map<std::string, onnx::TensorProto> Inputs(const fs::path& data) const {
    std::set<std::string> stored;
    for (const auto& tensor : proto_.graph().initializer()) stored.insert(tensor.name());
    const std::vector<fs::path> files = Files(data, "input");
    std::map<std::string, onnx::TensorProto> inputs;
    size_t next = 0;
    for (const auto& input : proto_.graph().input()) {
      if (stored.count(input.name()) > 0 || next == files.size()) continue;
      const fs::path& file = files[next++];
      if (!input.type().has_tensor_type()) continue;
      if (auto tensor = Parse<onnx::TensorProto>(file)) inputs[input.name()] = std::move(*tensor);
    }
    return inputs;
  }

  // Lists one tensor after the other; undefined ones for what is not compared.
  std::vector<at::Tensor> Outputs(const fs::path& data) const {
    const auto type_of = [](const auto& type) {
      return type.elem_type() == onnx::TensorProto::BFLOAT16 ? at::kBFloat16 : at::kFloat;
    };
    std::vector<at::Tensor> outputs;
    const std::vector<fs::path> files = Files(data, "output");
    for (size_t i = 0; i < files.size(); ++i) {
      const auto& type = proto_.graph().output(static_cast<int>(i)).type();
      if (type.has_sequence_type()) {
        const auto list = Parse<onnx::SequenceProto>(files[i]);
        for (const auto& item : list.value().tensor_values()) {
          outputs.push_back(TensorOf(item, at::kFloat));
        }
      } else if (type.has_optional_type()) {
        outputs.push_back(
            TensorOf(Parse<onnx::OptionalProto>(files[i]).value().tensor_value(), at::kFloat));
      } else {
        outputs.push_back(
            TensorOf(Parse<onnx::TensorProto>(files[i]).value(), type_of(type.tensor_type())));
      }
    }
    return outputs;
  }

  // What the program makes of it, by the file of the step.
  Result<Capture> Record(const std::map<std::string, onnx::TensorProto>& inputs) const {
    OnnxOptions options;
    options.contents = true;
    for (const auto& [name, tensor] : inputs) {
      options.input_sizes[name].assign(tensor.dims().begin(), tensor.dims().end());
    }
    PW_ASSIGN(ImportedModel imported, ImportOnnx(bytes_, options));
    for (ImportedInput& input : imported.inputs) {
      const auto given = inputs.find(input.name);
      if (given == inputs.end()) continue;
      const auto& dims = given->second.dims();
      if (std::vector<int64_t>(dims.begin(), dims.end()) != input.shape) continue;
      input.content = onnx_import::TensorBytes(given->second);
    }
    CaptureRequest request;
    request.imported = std::make_shared<const ImportedModel>(std::move(imported));
    request.keep_contents = true;
    PW_ASSIGN(OnnxSource source, OnnxSource::Create(request));
    source.Follow(request);
    PW_ASSIGN(Capture capture, CaptureStep(source, Training::kNone, /*prove_batch=*/false));
    PW_ASSIGN(const std::string text,
              FormatAtenGraph(capture.graph, capture.module_stated, nullptr, false));
    PW_RETURN_IF_ERROR(CheckReadsBack(text, capture.graph));
    return capture;
  }

 private:
  onnx::ModelProto proto_;
  std::string bytes_;
};

Result<std::vector<at::Tensor>> RunStep(const Capture& capture,
                                        const std::map<std::string, onnx::TensorProto>& inputs) {
  const Graph& graph = capture.graph;
  PW_ASSIGN(const auto executor,
            Executor::Create(graph, Placement(graph.op_count(), DeviceId(0)), SimulatedDevices(1)));
  PW_ASSIGN(const auto seeded, SeededInputs(graph, 1));
  for (const auto& [id, tensor] : seeded) PW_RETURN_IF_ERROR(executor->SetInput(id, tensor));
  for (const auto& [id, bytes] : capture.contents) {
    const Tensor& tensor = graph.tensor(id);
    const at::Tensor value = lowering::HostTensor({tensor.dtype, tensor.shape, bytes});
    PW_RETURN_IF_ERROR(executor->SetInput(id, value));
  }
  for (const TensorId id : graph.tensors()) {
    const Tensor& tensor = graph.tensor(id);
    if (tensor.producer.valid() || tensor.kind != TensorKind::kInput) continue;
    const auto given = inputs.find(tensor.name.substr(std::string("input:").size()));
    if (given == inputs.end()) continue;
    const at::Tensor value = TensorOf(given->second, *lowering::TorchType(tensor.dtype));
    // The files of CastLike's second input, of which the type alone matters, have another shape than
    // their models say.
    if (value.sizes() != tensor.shape && value.numel() == 1) continue;
    PW_RETURN_IF_ERROR(executor->SetInput(id, value));
  }
  PW_RETURN_IF_ERROR(executor->Step());
  std::vector<at::Tensor> outputs;
  for (size_t i = 0; i < graph.outputs().size(); ++i)
    outputs.push_back(executor->Output(i).clone());
  return outputs;
}

std::string Describe(const at::Tensor& tensor) {
  std::ostringstream text;
  text << tensor.scalar_type() << " " << tensor.sizes();
  return text.str();
}

// "" if they agree.
std::string Compare(const std::vector<at::Tensor>& given, const std::vector<at::Tensor>& wanted,
                    bool drawn) {
  if (given.size() != wanted.size()) return "another number of outputs";
  for (size_t i = 0; i < given.size(); ++i) {
    if (!wanted[i].defined()) continue;
    const std::string where = "output " + std::to_string(i) + ": ";
    if (given[i].sizes() != wanted[i].sizes() ||
        given[i].scalar_type() != wanted[i].scalar_type()) {
      return where + Describe(given[i]) + " where " + Describe(wanted[i]) + " is wanted";
    }
    if (drawn) continue;
    const auto type = at::isComplexType(wanted[i].scalar_type()) ? at::kComplexDouble : at::kDouble;
    const double relative = wanted[i].scalar_type() == at::kBFloat16 ? kCut : kRelative;
    if (!at::allclose(given[i].to(type), wanted[i].to(type), relative, kAbsolute, true)) {
      const at::Tensor off = at::abs(given[i].to(type) - wanted[i].to(type)).max();
      return where + "off by " + std::to_string(off.item<double>());
    }
  }
  return "";
}

TEST(OnnxSuite, RecordedModelsGiveWhatTheyMust) {
  if (!fs::exists(kFolder)) GTEST_SKIP() << kFolder << " is not there: install libonnx-testdata";
  at::set_num_threads(1);
  const char* const which = std::getenv("PLACEWRIGHT_ONNX_SUITE");
  const bool all = which != nullptr && std::string(which) == "all";
  const std::vector<fs::path> models = Models();
  ASSERT_GE(models.size(), 1000u);
  std::map<std::string, int> refused;
  int asked = 0, recorded = 0, unknown = 0;
  for (size_t i = 0; i < models.size(); i += all ? 1 : 10) {
    ++asked;
    const std::string name = models[i].parent_path().filename() / models[i].filename();
    const Result<SuiteModel> model = SuiteModel::Read(models[i]);
    ASSERT_TRUE(model.ok()) << name;
    for (int set = 0; fs::exists(models[i] / ("test_data_set_" + std::to_string(set))); ++set) {
      const fs::path data = models[i] / ("test_data_set_" + std::to_string(set));
      const auto inputs = model.value().Inputs(data);
      const Result<Capture> capture = model.value().Record(inputs);
      if (!capture.ok()) {
        const Error& error = capture.error();
        if (which != nullptr) std::cout << "refused " << name << ": " << error.ToString() << "\n";
        ++refused[std::string(InfoOf(error.code).name)];
        unknown += error.code == ErrorCode::kDataDependent ? 1 : 0;
        break;
      }
      recorded += set == 0 ? 1 : 0;
      const Result<std::vector<at::Tensor>> outputs = RunStep(capture.value(), inputs);
      if (!outputs.ok()) {
        ADD_FAILURE() << name << ": " << outputs.error().ToString();
        continue;
      }
      EXPECT_EQ(Compare(outputs.value(), model.value().Outputs(data), model.value().Draws()), "")
          << name;
    }
  }
  std::cout << asked << " models, " << recorded << " recorded";
  for (const auto& [code, count] : refused) std::cout << ", " << count << " " << code;
  std::cout << "\n";
  EXPECT_EQ(unknown, 0) << "what a model needs to know was given";
  EXPECT_GT(recorded, asked * 8 / 10);
  // Of the suite of ONNX 1.12, as docs/formats/onnx.md says.
  constexpr int kModels = 1072, kRecorded = 943;
  if (asked == kModels) {
    EXPECT_EQ(recorded, kRecorded);
  }
}

}  // namespace
}  // namespace placewright
