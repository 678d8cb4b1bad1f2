// Layer norms, norms and maxima in parts that are broken in one place: the checker names what is wrong.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "compile/compiler.h"
#include "compiled_step.h"
#include "graph/graph_builder.h"
#include "step_by_hand.h"
#include "step_editor.h"

namespace placewright::tests {
namespace {

constexpr int64_t kRowsOfStep = 4, kColumnsOfStep = 6;

// y: a layer norm of x, with its backward of the gradient g; the norm of g; the maxima of its rows.
Graph StatisticsStep() {
  GraphBuilder builder("statistics", "aten");
  const std::vector<int64_t> whole = {kRowsOfStep, kColumnsOfStep}, rows = {kRowsOfStep, 1},
                             columns = {kColumnsOfStep};
  Phase phase = Phase::kForward;
  const auto add = [&](const std::string& name, const std::string& type,
                       std::vector<TensorId> inputs, std::vector<Value> args,
                       std::vector<std::vector<int64_t>> shapes) {
    OpSpec op{.name = name, .type = type, .phase = phase};
    op.args = std::move(args);
    op.inputs = std::move(inputs);
    for (size_t i = 0; i < shapes.size(); ++i) {
      op.outputs.push_back({.name = shapes.size() > 1 ? name + ":" + std::to_string(i) : name,
                            .shape = shapes[i],
                            .output_index = static_cast<int32_t>(i)});
    }
    return builder.AddOp(std::move(op)).Take();
  };
  const auto in = [](int32_t input) { return Value(InputRef{input}); };
  const auto input = [&](const char* name, TensorKind kind, const std::vector<int64_t>& shape) {
    return builder.AddInput(name, kind, DType::kF32, shape).Take();
  };
  const TensorId x = input("input:x", TensorKind::kInput, whole);
  const TensorId g = input("input:g", TensorKind::kInput, whole);
  const TensorId w = input("param:w", TensorKind::kParameter, columns);
  const TensorId b = input("param:b", TensorKind::kParameter, columns);
  const Value hidden = ListOf({kColumnsOfStep});
  const auto norm = add("ln", "aten.native_layer_norm.default", {x, w, b},
                        {in(0), hidden, in(1), in(2), Value(1e-5)}, {whole, rows, rows});
  const auto apart = add("apart", "aten.add.Tensor", {norm[0], g}, {in(0), in(1)}, {whole});
  phase = Phase::kBackward;
  const Value all(Value::List{Value(true), Value(true), Value(true)});
  const auto back =
      add("back", "aten.native_layer_norm_backward.default", {g, x, norm[1], norm[2], w, b},
          {in(0), in(1), hidden, in(2), in(3), in(4), in(5), all}, {whole, columns, columns});
  phase = Phase::kOptimizer;
  const auto size = add("size", "aten.linalg_vector_norm.default", {g}, {in(0), Value(2.0)}, {{}});
  const auto most =
      add("most", "aten.amax.default", {g}, {in(0), ListOf({1}), Value(false)}, {{kRowsOfStep}});
  builder.SetOutputs({apart[0], back[0], back[1], back[2], size[0], most[0]});
  return std::move(builder).Build().Take();
}

class CorruptedStatistics : public ::testing::Test {
 protected:
  void Compile(bool collectives) {
    original_.graph = std::make_unique<Graph>(StatisticsStep());
    original_.axes = std::make_unique<NamedAxes>(*original_.graph);
    const StatedLayouts stated = ForAll(original_, "input:x[1]", {3, 2, 1});
    spec_ = stated.spec;
    step_ = placewright::Compile(*original_.graph, *original_.axes, stated.layouts, cluster_,
                                 {.collectives = collectives})
                .Take();
    std::string message;
    ASSERT_EQ(VerdictOn(original_, step_, cluster_, spec_, &message), "holds") << message;
  }

  OpId OpNamed(const std::string& name) const {
    const OpId op = step_.graph.FindOp(name);
    EXPECT_TRUE(op.valid()) << name;
    return op;
  }
  TensorId MadeBy(const std::string& name) const {
    return step_.graph.op(OpNamed(name)).outputs.front();
  }
  void Reads(StepEditor& editor, const std::string& op, TensorId right, TensorId wrong) const {
    std::vector<TensorId>& inputs = editor.op(OpNamed(op)).spec.inputs;
    ASSERT_NE(std::find(inputs.begin(), inputs.end(), right), inputs.end()) << op;
    std::replace(inputs.begin(), inputs.end(), right, wrong);
  }

  void ExpectNamed(const std::string& verdict, const std::string& what,
                   const std::function<void(StepEditor&)>& corrupt) const {
    StepEditor editor(step_);
    corrupt(editor);
    const auto broken = editor.Build();
    ASSERT_TRUE(broken) << verdict;
    std::string message;
    EXPECT_EQ(VerdictOn(original_, *broken, cluster_, spec_, &message), verdict) << message;
    EXPECT_NE(message.find(what), std::string::npos) << message;
  }

  const Cluster cluster_ = DevicesAlike(3);
  RecordedStep original_;
  DistributionSpec spec_;
  DistributedStep step_;
};

TEST_F(CorruptedStatistics, OfAPartInPlaceOfAll) {
  Compile(true);
  ExpectNamed("wrong-statistics", "\"sum(x)\" over [0, 3) of 6", [&](StepEditor& editor) {
    Reads(editor, "ln.div@d0", MadeBy("ln.sum.all_reduce@d0"), MadeBy("ln.sum@d0"));
  });
  ExpectNamed("wrong-statistics", "\"sum((x * x))\" over [3, 5) of 6", [&](StepEditor& editor) {
    Reads(editor, "size.sqrt@d1", MadeBy("size.mul.all_reduce@d1"), MadeBy("size.mul@d1"));
  });
}

TEST_F(CorruptedStatistics, AnotherFormula) {
  Compile(true);
  // Of 5 elements a row.
  ExpectNamed("wrong-input", "", [&](StepEditor& editor) {
    editor.op(OpNamed("ln.div@d0")).spec.args[1] = Value(int64_t{kColumnsOfStep - 1});
  });
  // Another epsilon.
  ExpectNamed("wrong-input", "", [&](StepEditor& editor) {
    editor.op(OpNamed("ln.add@d2")).spec.args[1] = Value(1e-6);
  });
  // Without the weight.
  ExpectNamed("wrong-input", "", [&](StepEditor& editor) {
    Reads(editor, "back.mul@d0#1", step_.graph.op(OpNamed("back.mul@d0#1")).inputs[1],
          MadeBy("back.mul@d0"));
  });
  // The largest of columns in the place of rows.
  ExpectNamed("wrong-argument", "in parts has not", [&](StepEditor& editor) {
    editor.op(OpNamed("most.amax@d0")).spec.args[1] = ListOf({0});
  });
}

TEST_F(CorruptedStatistics, WithoutCollectivesAPartIsTakenTwice) {
  Compile(false);
  ExpectNamed("doubled-sum", "over [0, 3) of 6 in dimension 1 twice", [&](StepEditor& editor) {
    Reads(editor, "size.mul.add_n@d0", MadeBy("size.mul@d1"), MadeBy("size.mul@d0"));
  });
  ExpectNamed(
      "doubled-sum", "\"amax(x)\" over [3, 5) of 6 in dimension 1 twice", [&](StepEditor& editor) {
        Reads(editor, "most.amax.concat@d0", MadeBy("most.amax@d2"), MadeBy("most.amax@d1"));
      });
}

TEST_F(CorruptedStatistics, AnotherDevicesPart) {
  Compile(true);
  ExpectNamed("wrong-device", "which another device has made", [&](StepEditor& editor) {
    Reads(editor, "size.sqrt@d1", MadeBy("size.mul.all_reduce@d1"),
          MadeBy("size.mul.all_reduce@d0"));
  });
}

TEST_F(CorruptedStatistics, WithoutTheirCollective) {
  Compile(true);
  for (const char* const member : {"ln.sum.all_reduce@d0", "most.amax.all_gather@d0"}) {
    ExpectNamed("missing-collective", "", [&](StepEditor& editor) {
      editor.collectives[step_.graph.collective_of(OpNamed(member)).index()].clear();
    });
  }
}

}  // namespace
}  // namespace placewright::tests
