// Softmaxes and losses in parts of their classes that are broken in one place: the checker names what is wrong.
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

constexpr int64_t kSamples = 4, kClasses = 6;

// y = log softmax of x, its loss at the targets, and the gradient of x; s is a softmax of x, with the gradient of its
// own.
Graph CrossEntropyStep() {
  GraphBuilder builder("cross-entropy", "aten");
  const std::vector<int64_t> scores = {kSamples, kClasses};
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
  const Value one(int64_t{1}), ignored(int64_t{-100}), no(false),
      type(std::string("torch.float32"));
  const TensorId x = builder.AddInput("input:x", TensorKind::kInput, DType::kF32, scores).Take();
  const TensorId t =
      builder.AddInput("input:t", TensorKind::kInput, DType::kI64, {kSamples}).Take();
  const TensorId y = add("y", "aten._log_softmax.default", {x}, {in(0), one, no}, {scores})[0];
  const auto loss = add("loss", "aten.nll_loss_forward.default", {y, t},
                        {in(0), in(1), Value(), one, ignored}, {{}, {}});
  const TensorId s = add("s", "aten._softmax.default", {x}, {in(0), one, no}, {scores})[0];
  phase = Phase::kBackward;
  const TensorId g = add("g", "aten.ones.default", {}, {ListOf({})}, {{}})[0];
  const TensorId dy = add("dy", "aten.nll_loss_backward.default", {g, y, t, loss[1]},
                          {in(0), in(1), in(2), Value(), one, ignored, in(3)}, {scores})[0];
  const TensorId dx = add("dx", "aten._log_softmax_backward_data.default", {dy, y},
                          {in(0), in(1), one, type}, {scores})[0];
  const TensorId ds = add("ds", "aten._softmax_backward_data.default", {y, s},
                          {in(0), in(1), one, type}, {scores})[0];
  builder.SetOutputs({loss[0], dx, ds});
  return std::move(builder).Build().Take();
}

// In uneven parts of the classes on three devices, by collectives or without.
class CorruptedSoftmaxes : public ::testing::Test {
 protected:
  void Compile(bool collectives) {
    original_.graph = std::make_unique<Graph>(CrossEntropyStep());
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

TEST_F(CorruptedSoftmaxes, SumsOfAPartInPlaceOfAll) {
  Compile(true);
  ExpectNamed("wrong-statistics", "\"logsumexp(x)\" over [0, 3) of 6", [&](StepEditor& editor) {
    Reads(editor, "y.sub@d0", MadeBy("y.logsumexp@d0#1"), MadeBy("y.logsumexp@d0"));
  });
  ExpectNamed("wrong-statistics", "\"sum(g)\" over [3, 5) of 6", [&](StepEditor& editor) {
    Reads(editor, "dx.addcmul@d1", MadeBy("dx.sum.all_reduce@d1"), MadeBy("dx.sum@d1"));
  });
  ExpectNamed("wrong-statistics", "\"sum((g * y))\" over [5, 6) of 6", [&](StepEditor& editor) {
    Reads(editor, "ds.sub@d2", MadeBy("ds.sum.all_reduce@d2"), MadeBy("ds.sum@d2"));
  });
}

TEST_F(CorruptedSoftmaxes, OfOnePartAlone) {
  Compile(true);
  ExpectNamed("wrong-statistics", "of its part alone", [&](StepEditor& editor) {
    StepEditor::EditedOp& last = editor.op(OpNamed("y.sub@d0"));
    const Op& original = original_.graph->op(original_.graph->FindOp("y"));
    last.spec.type = original.type;
    last.spec.args = original.args;
    last.spec.inputs = {last.spec.inputs[0]};
  });
}

TEST_F(CorruptedSoftmaxes, WithoutCollectivesAPartIsTakenTwice) {
  Compile(false);
  ExpectNamed("doubled-sum", "\"sum(g)\" over [0, 3) of 6 in dimension 1 twice",
              [&](StepEditor& editor) {
                Reads(editor, "dx.sum.add_n@d0", MadeBy("dx.sum@d1"), MadeBy("dx.sum@d0"));
              });
  ExpectNamed("doubled-sum", "\"logsumexp(x)\" over [3, 5) of 6 in dimension 1 twice",
              [&](StepEditor& editor) {
                Reads(editor, "y.logsumexp.concat@d0", MadeBy("y.logsumexp@d2"),
                      MadeBy("y.logsumexp@d1"));
              });
}

TEST_F(CorruptedSoftmaxes, AnotherFormula) {
  Compile(true);
  // g + exp(y) sum(g)
  ExpectNamed("wrong-argument", "in parts has not", [&](StepEditor& editor) {
    editor.op(OpNamed("dx.addcmul@d0")).spec.attributes[0].value = Value(1.0);
  });
  // x - l in the place of exp(x - l): no result is made.
  ExpectNamed("wrong-input", "no input of ds", [&](StepEditor& editor) {
    Reads(editor, "ds.mul@d0", MadeBy("s.exp@d0"), MadeBy("s.sub@d0"));
  });
  // Along the samples.
  ExpectNamed("wrong-argument", "in parts has not", [&](StepEditor& editor) {
    editor.op(OpNamed("y.logsumexp@d0")).spec.args[1] = ListOf({0});
  });
}

TEST_F(CorruptedSoftmaxes, AnotherDevicesPart) {
  Compile(true);
  ExpectNamed("wrong-device", "which another device has made", [&](StepEditor& editor) {
    Reads(editor, "y.sub@d1", MadeBy("y.logsumexp@d1#1"), MadeBy("y.logsumexp@d0#1"));
  });
}

TEST_F(CorruptedSoftmaxes, WithoutTheirCollective) {
  Compile(true);
  for (const char* const member : {"y.logsumexp.all_gather@d0", "dx.sum.all_reduce@d0"}) {
    ExpectNamed("missing-collective", "", [&](StepEditor& editor) {
      editor.collectives[step_.graph.collective_of(OpNamed(member)).index()].clear();
    });
  }
}

// A loss of a part says of which classes.
TEST_F(CorruptedSoftmaxes, ClassesOfAnotherPart) {
  Compile(true);
  for (const char* const op : {"loss@d1", "dy@d1"}) {
    ExpectNamed("wrong-argument", "says that it is of another part", [&](StepEditor& editor) {
      (*editor.op(OpNamed(op)).spec.args.back().AsList()) = *ListOf({1, 1, 6, 2, 4}).AsList();
    });
  }
  ExpectNamed("lost-sum", "loss:1", [&](StepEditor& editor) {
    Reads(editor, "dy@d1", MadeBy("loss.all_reduce@d1"),
          step_.graph.op(OpNamed("loss@d1")).outputs[1]);
  });
}

}  // namespace
}  // namespace placewright::tests
