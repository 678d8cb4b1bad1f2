// Every ONNX file of the shared data, lowered: the same arithmetic and parameters as `inspect`
// counts in the file; and a training step of each.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <ostream>

#include "capture/onnx/onnx_source.h"
#include "capture/step/model_step.h"
#include "formats/onnx/reader.h"
#include "formats/text/file.h"
#include "report/graph_summary.h"

namespace placewright {
namespace {

namespace fs = std::filesystem;

struct File {
  std::string path;
  friend std::ostream& operator<<(std::ostream& out, const File& file) {
    return out << fs::path(file.path).filename().string();
  }
};

std::vector<File> Files() {
  std::vector<File> files;
  for (const char* folder :
       {"onnx", "onnx/variants", "public/onnx-light/onnx/backend/test/data/light"}) {
    std::error_code missing;
    const fs::path path = fs::path(PLACEWRIGHT_SHARED_DATA) / folder;
    for (const auto& entry : fs::directory_iterator(path, missing)) {
      if (entry.path().extension() == ".onnx") files.push_back({entry.path().string()});
    }
  }
  std::sort(files.begin(), files.end(),
            [](const File& a, const File& b) { return a.path < b.path; });
  return files;
}

// Of a model whose batch is open, 2.
OnnxOptions OptionsFor(const std::string& path) {
  OnnxOptions options;
  if (path.find("dynbatch") != std::string::npos) options.batch = 2;
  return options;
}

int64_t ElementsOf(const Graph& graph, TensorKind kind) {
  int64_t count = 0;
  for (const TensorId id : graph.tensors()) {
    const Tensor& tensor = graph.tensor(id);
    if (tensor.kind != kind || tensor.producer.valid()) continue;
    int64_t elements = 1;
    for (const int64_t size : tensor.shape) elements *= size;
    count += elements;
  }
  return count;
}

class OnnxFiles : public testing::TestWithParam<File> {
 protected:
  void SetUp() override {
    if (GetParam().path.empty()) GTEST_SKIP() << "the shared data is not here";
    Result<std::string> bytes = ReadFile(GetParam().path);
    ASSERT_TRUE(bytes.ok());
    bytes_ = std::move(bytes.value());
    Result<ImportedModel> program = ImportOnnx(bytes_, OptionsFor(GetParam().path));
    ASSERT_TRUE(program.ok()) << program.error().ToString();
    program_ = std::make_shared<const ImportedModel>(std::move(program.value()));
  }

  Result<Graph> Record(Training training, LossKind loss) const {
    const OnnxSource source(program_, loss);
    PW_ASSIGN(ModelStep step, ModelStep::Build(source, source.batch(), training, true));
    PW_ASSIGN(ModelStep::Recording recording, step.Record());
    return std::move(recording.step.graph);
  }

  std::string bytes_;
  std::shared_ptr<const ImportedModel> program_;
};

TEST_P(OnnxFiles, InferenceHasTheFilesArithmetic) {
  const Result<Graph> file = ReadOnnx(bytes_, OptionsFor(GetParam().path));
  ASSERT_TRUE(file.ok()) << file.error().ToString();
  const Result<Graph> step = Record(Training::kNone, LossKind::kMean);
  ASSERT_TRUE(step.ok()) << step.error().ToString();
  const GraphSummary wanted = Summarise(file.value()), found = Summarise(step.value());
  EXPECT_EQ(found.TotalMacs(), wanted.TotalMacs());
  EXPECT_GT(found.TotalMacs(), 0);
  // ONNX does not distinguish running statistics and masks from weights; here they are buffers.
  EXPECT_EQ(ElementsOf(step.value(), TensorKind::kParameter) +
                ElementsOf(step.value(), TensorKind::kBuffer),
            ElementsOf(file.value(), TensorKind::kParameter));
}

// Every product of the forward pass has two in the backward pass, one for each factor, but for
// factors without a gradient: the model's inputs, masks.
TEST_P(OnnxFiles, TrainsWithAdam) {
  const Result<Graph> step = Record(Training::kAdam, LossKind::kMean);
  ASSERT_TRUE(step.ok()) << step.error().ToString();
  const GraphSummary found = Summarise(step.value());
  EXPECT_GT(found.phase_macs[1], found.phase_macs[0]);
  EXPECT_LE(found.phase_macs[1], 2 * found.phase_macs[0]);
}

std::vector<File> FilesOrNone() {
  std::vector<File> files = Files();
  if (files.empty()) files.push_back({});
  return files;
}
std::string NameOf(const testing::TestParamInfo<File>& info) {
  std::string name = fs::path(info.param.path).stem().string();
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return name.empty() ? "none" : name;
}
INSTANTIATE_TEST_SUITE_P(Files, OnnxFiles, testing::ValuesIn(FilesOrNone()), NameOf);

}  // namespace
}  // namespace placewright
