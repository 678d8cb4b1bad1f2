// placewright_onnx_numbers MODEL.onnx FOLDER [BATCH]: fills an ONNX model with seeded numbers, runs
// it through its lowering with LibTorch, and writes into FOLDER what another runtime needs to do
// the same: `model.onnx` with parameters as inputs, `manifest.json`, every input and every result
// as raw bytes. onnx_numbers.js compares.
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "aten/failure.h"
#include "base/random.h"
#include "capture/onnx/onnx_source.h"
#include "formats/onnx/reader.h"
#include "formats/text/file.h"

namespace placewright {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr uint64_t kSeed = 20240601;

// Between -1 and 1, or 0 and 1 for integers: valid for tokens, kinds of tokens and masks.
void Fill(at::Tensor tensor, Random random, double scale, double shift) {
  at::Tensor flat = at::empty({tensor.numel()}, at::kFloat);
  float* to = flat.data_ptr<float>();
  const bool whole = !tensor.is_floating_point();
  for (int64_t i = 0; i < flat.numel(); ++i) {
    to[i] = whole ? static_cast<float>(random.Below(2))
                  : static_cast<float>((2 * random.Unit() - 1) * scale + shift);
  }
  const at::NoGradGuard no_grad;
  tensor.detach().copy_(flat.reshape(tensor.sizes()));
}

// Weights keep the size of what they are applied to; vectors (scales, variances) are about 1 where
// they must be positive and about 0 elsewhere.
void FillParameter(const std::string& name, const at::Tensor& tensor, const Random& random,
                   const std::set<std::string>& positive) {
  if (tensor.dim() < 2) {
    const bool scale = positive.count(name) > 0;
    return Fill(tensor, random, scale ? 0.3 : 0.1, scale ? 1 : 0);
  }
  const double rows = static_cast<double>(tensor.size(0));
  const double fan_in = static_cast<double>(tensor.numel()) / rows;
  Fill(tensor, random, std::sqrt(3 / std::max(1.0, std::min(fan_in, 4096.0))), 0);
}

// Lengths of sequences lie between half of the first input's first dimension and all of it.
void FillInput(const std::string& name, const at::Tensor& tensor, Random random, int64_t steps) {
  if (name.find("len") == std::string::npos) return Fill(tensor, random, 1, 0);
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    const int64_t half = std::max<int64_t>(1, steps / 2);
    const int64_t less = static_cast<int64_t>(random.Below(static_cast<uint64_t>(half)));
    tensor.view({-1})[i] = i == 0 ? steps : steps - less;
  }
}

// Scales and variances of normalisations.
std::set<std::string> PositiveVectors(const ImportedModel& program) {
  std::set<std::string> names;
  for (const ImportedNode& node : program.graph.nodes) {
    if (node.type.find("Normalization") == std::string::npos) continue;
    for (const size_t i : {1, 4}) {
      if (i < node.inputs.size()) names.insert(node.inputs[i]);
    }
  }
  return names;
}

struct Writer {
  fs::path folder;
  Json manifest = {{"inputs", Json::array()}, {"outputs", Json::array()}};

  void Add(const char* list, const std::string& name, const at::Tensor& tensor) {
    const at::Tensor dense = tensor.detach().contiguous();
    const std::string file = fmt::format("{}{}.bin", list, manifest[list].size());
    std::ofstream(folder / file, std::ios::binary)
        .write(static_cast<const char*>(dense.data_ptr()),
               static_cast<std::streamsize>(dense.nbytes()));
    const char* type = tensor.scalar_type() == at::kFloat  ? "float32"
                       : tensor.scalar_type() == at::kLong ? "int64"
                       : tensor.scalar_type() == at::kInt  ? "int32"
                       : tensor.scalar_type() == at::kBool ? "bool"
                       : tensor.scalar_type() == at::kByte ? "uint8"
                                                           : "other";
    manifest[list].push_back(
        {{"name", name}, {"type", type}, {"shape", tensor.sizes().vec()}, {"file", file}});
  }
};

// The model with the named tensors as inputs instead of nodes; sizes that the file stores for
// another batch are left out.
void WriteModel(const std::string& bytes, const std::vector<NamedTensor>& parameters,
                const std::vector<NamedTensor>& inputs, const fs::path& path) {
  onnx::ModelProto model;
  model.ParseFromString(bytes);
  onnx::GraphProto* graph = model.mutable_graph();
  graph->clear_value_info();
  std::set<std::string> known;
  for (const auto& parameter : parameters) known.insert(parameter.name);
  for (int i = graph->node_size(); i-- > 0;) {
    const auto& node = graph->node(i);
    if (node.output_size() == 1 && known.count(node.output(0)) > 0) {
      graph->mutable_node()->DeleteSubrange(i, 1);
    }
  }
  for (int i = graph->initializer_size(); i-- > 0;) {
    if (known.count(graph->initializer(i).name()) > 0) {
      graph->mutable_initializer()->DeleteSubrange(i, 1);
    }
  }
  const google::protobuf::RepeatedPtrField<onnx::ValueInfoProto> old = graph->input();
  graph->clear_input();
  const auto add = [&](const NamedTensor& item, int32_t type) {
    onnx::ValueInfoProto* info = graph->add_input();
    info->set_name(item.name);
    info->mutable_type()->mutable_tensor_type()->set_elem_type(type);
    auto* shape = info->mutable_type()->mutable_tensor_type()->mutable_shape();
    for (const int64_t size : item.tensor.sizes()) shape->add_dim()->set_dim_value(size);
  };
  for (const auto* list : {&inputs, &parameters}) {
    for (const NamedTensor& item : *list) {
      const at::ScalarType type = item.tensor.scalar_type();
      add(item, type == at::kFloat  ? 1
                : type == at::kByte ? 2
                : type == at::kInt  ? 6
                : type == at::kBool ? 9
                                    : 7);
    }
  }
  for (auto& output : *graph->mutable_output()) {
    output.mutable_type()->mutable_tensor_type()->clear_shape();
  }
  std::ofstream(path, std::ios::binary) << model.SerializeAsString();
}

Result<int> Run(const std::string& path, const fs::path& folder, std::optional<int64_t> batch) {
  PW_ASSIGN(const std::string bytes, ReadFile(path));
  OnnxOptions options;
  options.batch = batch;
  options.folder = fs::path(path).parent_path().string();
  PW_ASSIGN(ImportedModel read, ImportOnnx(bytes, options));
  const auto program = std::make_shared<const ImportedModel>(std::move(read));
  const OnnxSource source(program, LossKind::kMean);
  fs::create_directories(folder);
  Writer writer{folder};
  std::vector<at::Tensor> outputs;
  std::vector<NamedTensor> parameters, inputs;
  const Status status = CatchFailure([&] {
    const at::NoGradGuard no_grad;
    const std::shared_ptr<Model> model = source.Build(source.batch());
    model->eval();
    const std::set<std::string> positive = PositiveVectors(*program);
    std::map<std::string, at::Tensor> held;
    for (const auto& item : model->named_parameters()) held[item.key()] = item.value();
    for (const auto& item : model->named_buffers()) held[item.key()] = item.value();
    for (const NamedImportedTensor& item : program->parameters) {
      const at::Tensor tensor = held.at(item.name);
      const Random random = Random(kSeed).Fork(parameters.size());
      if (!item.tensor.bytes) FillParameter(item.name, tensor, random, positive);
      parameters.push_back({item.name, tensor});
      writer.Add("inputs", item.name, tensor);
    }
    inputs = model->MakeInputs();
    std::vector<at::Tensor> given;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const int64_t steps = inputs[0].tensor.dim() == 0 ? 1 : inputs[0].tensor.size(0);
      FillInput(inputs[i].name, inputs[i].tensor, Random(kSeed + 1).Fork(i), steps);
      given.push_back(inputs[i].tensor);
      writer.Add("inputs", inputs[i].name, inputs[i].tensor);
    }
    outputs = model->Forward(given);
  });
  PW_RETURN_IF_ERROR(status);
  for (size_t i = 0; i < outputs.size(); ++i) {
    writer.Add("outputs", program->graph.outputs[i], outputs[i]);
  }
  WriteModel(bytes, parameters, inputs, folder / "model.onnx");
  std::ofstream(folder / "manifest.json") << writer.manifest.dump(1);
  return 0;
}

}  // namespace
}  // namespace placewright

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: placewright_onnx_numbers MODEL.onnx FOLDER [BATCH]\n");
    return 2;
  }
  std::optional<int64_t> batch;
  if (argc > 3) batch = std::stoll(argv[3]);
  const auto result = placewright::Run(argv[1], argv[2], batch);
  if (result.ok()) return 0;
  std::fprintf(stderr, "%s\n", result.error().ToString().c_str());
  return 1;
}
