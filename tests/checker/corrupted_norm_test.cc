// Batch norms in parts that are broken in one place: the checker names what is wrong.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "compile/compiler.h"
#include "compiled_step.h"
#include "norm_step.h"
#include "step_editor.h"

namespace placewright::tests {
namespace {

// The step of three norms in three uneven parts of its batch, by collectives or without.
class CorruptedNorms : public ::testing::Test {
 protected:
  void Compile(bool collectives, bool local = false) {
    original_.graph = std::make_unique<Graph>(NormStep());
    original_.axes = std::make_unique<NamedAxes>(*original_.graph);
    const StatedLayouts stated = ForAll(original_, "input:x[0]", {3, 2, 2});
    spec_ = stated.spec;
    spec_.switches.local_batch_norm = local;
    const CompileOptions options{.collectives = collectives,
                                 .switches = {.local_batch_norm = local}};
    step_ =
        placewright::Compile(*original_.graph, *original_.axes, stated.layouts, cluster_, options)
            .Take();
  }

  OpId OpCalled(const std::string& name) const {
    const OpId op = step_.graph.FindOp(name);
    EXPECT_TRUE(op.valid()) << name;
    return op;
  }
  TensorId MadeBy(const std::string& name, size_t output = 0) const {
    return step_.graph.op(OpCalled(name)).outputs[output];
  }

  // Another input of one op.
  void Reads(StepEditor& editor, const std::string& op, TensorId right, TensorId wrong) const {
    std::vector<TensorId>& inputs = editor.op(OpCalled(op)).spec.inputs;
    ASSERT_NE(std::find(inputs.begin(), inputs.end(), right), inputs.end()) << op;
    std::replace(inputs.begin(), inputs.end(), right, wrong);
  }

  void ExpectNamed(const std::string& verdict, const std::string& where,
                   const std::function<void(StepEditor&)>& corrupt) const {
    StepEditor editor(step_);
    corrupt(editor);
    const auto broken = editor.Build();
    ASSERT_TRUE(broken) << verdict;
    std::string message;
    EXPECT_EQ(VerdictOn(original_, *broken, cluster_, spec_, &message), verdict) << message;
    EXPECT_NE(message.find(where), std::string::npos) << message;
  }

  const Cluster cluster_ = DevicesAlike(3);
  RecordedStep original_;
  DistributionSpec spec_;
  DistributedStep step_;
};

TEST_F(CorruptedNorms, OwnStatisticsInPlaceOfGatheredOnes) {
  Compile(true);
  const TensorId mean = MadeBy("bn1.addmv@d1"), variance = MadeBy("bn1.mv@d1");
  const TensorId own_mean = MadeBy("bn1.batch_norm_update_stats@d1");
  const TensorId own_variance = MadeBy("bn1.batch_norm_update_stats@d1", 1);
  ExpectNamed("wrong-statistics", "it is \"bn1:0\" of a part alone", [&](StepEditor& editor) {
    Reads(editor, "bn1@d1", mean, own_mean);
    Reads(editor, "bn1@d1", variance, own_variance);
  });
  ExpectNamed("wrong-statistics", "relu@d1",
              [&](StepEditor& editor) { Reads(editor, "bn1@d1", variance, own_variance); });
  ExpectNamed("wrong-statistics", "it is \"bn1:1\" of a part alone",
              [&](StepEditor& editor) { Reads(editor, "back1@d1", mean, own_mean); });
}

TEST_F(CorruptedNorms, WeightsOfParts) {
  for (const bool collectives : {true, false}) {
    Compile(collectives);
    ExpectNamed("wrong-statistics", "bn1", [&](StepEditor& editor) {
      editor.op(OpCalled("bn1.new_full@d0")).spec.args[2] = Value(1.0 / 3);
    });
    // One element of all those of the batch more.
    ExpectNamed("wrong-statistics", "bn1", [&](StepEditor& editor) {
      editor.op(OpCalled("bn1.new_full@d0")).spec.args[2] = Value(10.0 / 21);
    });
  }
}

TEST_F(CorruptedNorms, DivisorsOfParts) {
  Compile(true);
  // 9 of the 21 elements of a channel are on d0.
  for (const char* const op : {"back1.mul@d0#4", "back2.mul@d0#3"}) {
    const OpId scaled = OpCalled(op);
    if (step_.graph.op(scaled).type != "aten.mul.Scalar") continue;
    ExpectNamed("wrong-statistics", "none of the results of",
                [&](StepEditor& editor) { editor.op(scaled).spec.args[1] = Value(-1.0 / 9); });
  }
  ExpectNamed("wrong-statistics", "none of the results of \"back1\"", [&](StepEditor& editor) {
    editor.op(OpCalled("back1.addcmul@d0")).spec.attributes[0].value = Value(-1.0 / 9);
  });
}

TEST_F(CorruptedNorms, PartsThatAreLeftOut) {
  Compile(false);
  const TensorId first = MadeBy("bn1.cat@d0"), second = MadeBy("bn1.cat@d1");
  ExpectNamed("wrong-statistics", "buffer:m1",
              [&](StepEditor& editor) { Reads(editor, "bn1.cat.concat@d0", second, first); });
  // The others have all of the weight.
  ExpectNamed("wrong-statistics", "buffer:m1", [&](StepEditor& editor) {
    const double weights[] = {0.6, 0, 0.4};
    for (size_t part = 0; part < 3; ++part) {
      const OpId weight = OpCalled("bn1.new_full@d" + std::to_string(part));
      editor.op(weight).spec.args[2] = Value(weights[part]);
    }
  });
}

TEST_F(CorruptedNorms, RunningStatistics) {
  Compile(true);
  const TensorId unbiased = MadeBy("bn1.mul@d0"), biased = MadeBy("bn1.mv@d0");
  ExpectNamed("wrong-statistics", "buffer:v1",
              [&](StepEditor& editor) { Reads(editor, "bn1.lerp_@d0#1", unbiased, biased); });
  ExpectNamed("wrong-statistics", "buffer:m1", [&](StepEditor& editor) {
    editor.op(OpCalled("bn1.lerp_@d0")).spec.args[2] = Value(0.11);
  });
  ExpectNamed("stale-parameter", "buffer:m1", [&](StepEditor& editor) {
    const OpId update = OpCalled("bn1.lerp_@d0");
    editor.op(update).removed = true;
    editor.Replace(step_.graph.op(update).outputs[0], step_.graph.op(update).inputs[0]);
  });
}

TEST_F(CorruptedNorms, ABackwardWithoutItsAllReduce) {
  Compile(true);
  const OpId reduced = OpCalled("back1.cat.all_reduce@d2");
  ExpectNamed("wrong-statistics", "none of the results of \"back1\"", [&](StepEditor& editor) {
    editor.Replace(step_.graph.op(reduced).outputs[0], step_.graph.op(reduced).inputs[0]);
  });
  ExpectNamed("missing-collective", "all_",
              [&](StepEditor& editor) { editor.collectives[0].clear(); });
}

TEST_F(CorruptedNorms, MembersThatAreExchanged) {
  Compile(true);
  const auto with = [&](const char* name) {
    const OpId member = OpCalled(name);
    for (size_t i = 0; i < step_.graph.collective_count(); ++i) {
      const auto& members = step_.graph.collective(CollectiveId(i)).members;
      if (std::find(members.begin(), members.end(), member) != members.end()) return i;
    }
    return step_.graph.collective_count();
  };
  const size_t first = with("bn1.cat.all_gather@d0"), other = with("bn3.cat.all_gather@d0");
  ExpectNamed("reordered-collective", "all_gather", [&](StepEditor& editor) {
    std::swap(editor.collectives[first][0], editor.collectives[other][0]);
  });
  // Two members that both say that they have the first row.
  ExpectNamed("wrong-argument", "all_gather", [&](StepEditor& editor) {
    editor.op(OpCalled("bn1.cat.all_gather@d1")).spec.args =
        editor.op(OpCalled("bn1.cat.all_gather@d0")).spec.args;
  });
}

TEST_F(CorruptedNorms, AnotherDeviceThanThatOfThePart) {
  Compile(true);
  ExpectNamed("wrong-device", "bn1.mv",
              [&](StepEditor& editor) { editor.op(OpCalled("bn1.mv@d0")).device = DeviceId(1); });
}

TEST_F(CorruptedNorms, OtherParameters) {
  Compile(true);
  const OpId eps = OpCalled("bn1.add@d1"), main = OpCalled("bn1@d1");
  ExpectNamed("wrong-statistics", "bn1.rsqrt@d1",
              [&](StepEditor& editor) { editor.op(eps).spec.args[1] = Value(1e-4); });
  ExpectNamed("wrong-statistics", "bn1@d1",
              [&](StepEditor& editor) { editor.op(main).spec.args[7] = Value(1e-4); });
  const TensorId weight = step_.graph.op(main).inputs[1], bias = step_.graph.op(main).inputs[2];
  ExpectNamed("wrong-statistics", "bn1@d1",
              [&](StepEditor& editor) { Reads(editor, "bn1@d1", weight, bias); });
}

TEST_F(CorruptedNorms, StatisticsOfEachPartAreAnotherStep) {
  Compile(true, /*local=*/true);
  std::string message;
  EXPECT_EQ(VerdictOn(original_, step_, cluster_, spec_, &message), "not-proven");
  EXPECT_NE(message.find("statistics of its part alone"), std::string::npos) << message;
  spec_.switches.local_batch_norm = false;
  EXPECT_EQ(VerdictOn(original_, step_, cluster_, spec_, &message), "wrong-statistics");
}

// What is proven is many ops, and not the norm whole.
TEST_F(CorruptedNorms, HoldWithoutCorruption) {
  for (const bool collectives : {true, false}) {
    Compile(collectives);
    EXPECT_TRUE(step_.graph.FindOp("bn2.batch_norm_update_stats@d2").valid());
    EXPECT_EQ(VerdictOn(original_, step_, cluster_, spec_), "holds");
  }
}

}  // namespace
}  // namespace placewright::tests
