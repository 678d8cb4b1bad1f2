// Every operator against what its definition gives: in the step, ahead of it where all it needs is
// known, and without memory.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "aten/failure.h"
#include "capture/meta/meta_run.h"
#include "capture/onnx/interpreter.h"
#include "capture/onnx/operators/operator_examples.h"
#include "capture/onnx/operators/table.h"

namespace placewright::lowering {
namespace {

std::vector<Example> AllExamples() {
  std::vector<Example> all;
  for (const auto& examples :
       {ElementwiseExamples(), ProductExamples(), NormalizationExamples(), ReductionExamples(),
        LayoutExamples(), SelectionExamples(), RecurrentExamples(), ControlExamples()}) {
    all.insert(all.end(), examples.begin(), examples.end());
  }
  return all;
}

enum class Way { kInStep, kAhead, kWithoutMemory, kTrained };

ImportedModel ProgramOf(const Example& example) {
  std::vector<std::string> inputs, outputs;
  for (size_t i = 0; i < example.inputs.size(); ++i) {
    inputs.push_back(example.inputs[i].absent ? "" : "x" + std::to_string(i));
  }
  for (size_t i = 0; i < example.outputs.size(); ++i) {
    outputs.push_back(example.outputs[i].absent ? "" : "y" + std::to_string(i));
  }
  ImportedModel program;
  program.graph.nodes = {NodeOf(example.type, inputs, outputs, example.attributes)};
  if (!example.nodes.empty()) program.graph.nodes = example.nodes;
  program.versions[program.graph.nodes[0].domain] = example.version;
  for (const std::string& output : outputs) {
    if (!output.empty()) program.graph.outputs.push_back(output);
  }
  return program;
}

// Gradients of the sum of all results that have one.
void Train(const std::vector<at::Tensor>& outputs) {
  at::Tensor total;
  for (const at::Tensor& output : outputs) {
    if (!output.requires_grad()) continue;
    total = total.defined() ? at::add(total, output.sum()) : output.sum();
  }
  if (total.defined()) total.backward();
}

std::vector<at::Tensor> RunExample(const Example& example, Way way) {
  const ImportedModel program = ProgramOf(example);
  std::unordered_map<std::string, Value> known;
  for (size_t i = 0; i < example.inputs.size(); ++i) {
    const Given& given = example.inputs[i];
    if (given.absent) continue;
    at::Tensor tensor = given.Tensor();
    if (way == Way::kWithoutMemory || way == Way::kTrained) {
      if (!given.known) tensor = tensor.to(at::kMeta);
      if (!given.known && way == Way::kTrained) {
        tensor.set_requires_grad(tensor.is_floating_point());
      }
    }
    const bool host = given.known || way == Way::kAhead;
    known["x" + std::to_string(i)] = host ? Value::Host(tensor) : Value(tensor);
  }
  std::vector<at::Tensor> outputs;
  const auto run = [&] {
    outputs = Interpreter(program, {}).Run(std::move(known));
    if (way == Way::kTrained) Train(outputs);
  };
  const bool on_meta = way == Way::kWithoutMemory || way == Way::kTrained;
  const Status status = on_meta ? OnMeta(run) : CatchFailure(run);
  EXPECT_TRUE(status.ok()) << status.error().ToString();
  return outputs;
}

void ExpectOutputs(const Example& example, Way way) {
  const std::vector<at::Tensor> found = RunExample(example, way);
  std::vector<Given> wanted;
  for (const Given& output : example.outputs) {
    if (!output.absent) wanted.push_back(output);
  }
  ASSERT_EQ(found.size(), wanted.size());
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].sizes(), at::IntArrayRef(wanted[i].shape)) << "output " << i;
    EXPECT_EQ(found[i].scalar_type(), wanted[i].type) << "output " << i;
    if (way == Way::kWithoutMemory || example.shapes_only) continue;
    const at::Tensor expected = wanted[i].Tensor();
    EXPECT_TRUE(found[i].sizes() == expected.sizes() &&
                at::allclose(found[i].to(at::kDouble), expected.to(at::kDouble), 1e-4, 1e-5, true))
        << "output " << i << ":\n"
        << found[i] << "\nbut by hand\n"
        << expected;
  }
}

class Operators : public testing::TestWithParam<Example> {};

TEST_P(Operators, InTheStep) { ExpectOutputs(GetParam(), Way::kInStep); }
TEST_P(Operators, Ahead) { ExpectOutputs(GetParam(), Way::kAhead); }
TEST_P(Operators, WithoutMemory) { ExpectOutputs(GetParam(), Way::kWithoutMemory); }
// What autograd runs has shapes, too.
TEST_P(Operators, TrainedWithoutMemory) { RunExample(GetParam(), Way::kTrained); }

std::string NameOf(const testing::TestParamInfo<Example>& info) {
  std::string name = info.param.type + "_" + std::to_string(info.index);
  for (char& c : name) {
    if (c == '.') c = '_';
  }
  return name;
}
INSTANTIATE_TEST_SUITE_P(All, Operators, testing::ValuesIn(AllExamples()), NameOf);

TEST(Operators, EachHasAnExample) {
  std::set<std::string> shown;
  for (const Example& example : AllExamples()) shown.insert(example.type);
  for (const std::string& name : OperatorNames()) {
    EXPECT_EQ(shown.count(name), 1u) << name << " has no example";
  }
}

// The page that the error kOnnxOperator names lists them all.
TEST(Operators, EachIsInTheManual) {
  std::ifstream file(PLACEWRIGHT_SOURCE_DIR "/docs/formats/onnx.md");
  std::set<std::string> words;
  for (std::string word; file >> word;) words.insert(word);
  for (const std::string& name : OperatorNames()) {
    EXPECT_EQ(words.count(name.substr(name.rfind('.') + 1)), 1u) << name;
  }
}

}  // namespace
}  // namespace placewright::lowering
