// A TensorFlow GraphDef from end to end: plan, check, export with devices, read back.
#include <gmock/gmock.h>

#include "program_runner.h"

namespace placewright {
namespace {

using testing::HasSubstr;

using GraphDefProgram = ProgramTest;

constexpr const char* kGraph = R"(node {
  name: "x"
  op: "Placeholder"
  attr { key: "dtype" value { type: DT_FLOAT } }
  attr { key: "shape" value { shape { dim { size: 64 } dim { size: 32 } } } }
}
node {
  name: "w"
  op: "VariableV2"
  attr { key: "dtype" value { type: DT_FLOAT } }
  attr { key: "shape" value { shape { dim { size: 32 } dim { size: 16 } } } }
}
node {
  name: "y"
  op: "MatMul"
  input: "x"
  input: "w"
  attr { key: "T" value { type: DT_FLOAT } }
  attr { key: "_class" value { list { s: "loc:@w" } } }
}
node {
  name: "z"
  op: "Relu"
  input: "y"
  input: "^w"
  attr { key: "T" value { type: DT_FLOAT } }
}
)";

TEST_F(GraphDefProgram, PlanGoesBackWithDevices) {
  Write("g.pbtxt", kGraph);
  const Json inspected = RunJson({"inspect", "g.pbtxt"}).json();
  EXPECT_EQ(inspected["format"], "graphdef");
  EXPECT_EQ(inspected["ops"], 4);
  EXPECT_EQ(inspected["edges"], 4);  // x, w > y; y, ^w > z
  EXPECT_EQ(inspected["macs"]["total"], 64 * 16 * 32);
  ASSERT_EQ(Run({"plan", "g.pbtxt", "-c", "2xV100", "--pin", "y=host0/gpu1", "--pin",
                 "z=host0/gpu0", "--pin", "x=host0/gpu1", "--iterations", "1"})
                .status,
            0);
  EXPECT_EQ(Run({"check", "g.plan.json"}).status, 0);
  const Outcome written =
      RunJson({"export", "g.plan.json", "--to", "graphdef", "-o", "placed.pbtxt"});
  ASSERT_EQ(written.status, 0) << written.out;
  const std::string placed = Read("placed.pbtxt");
  EXPECT_THAT(placed, HasSubstr("  op: \"MatMul\"\n  device: \"/device:GPU:1\"\n"));
  EXPECT_THAT(placed, HasSubstr("  op: \"VariableV2\"\n  device: \"/device:GPU:1\"\n"));
  EXPECT_THAT(placed, HasSubstr("  op: \"Relu\"\n  device: \"/device:GPU:0\"\n"));
  EXPECT_THAT(placed, HasSubstr("loc:@w"));
  EXPECT_EQ(placed.size(), std::string(kGraph).size() + 4 * 26);  // a line for every node
  // As a placement it takes the time of the plan.
  const auto step = [&](const char* placement) {
    return RunJson({"simulate", "g.pbtxt", "-c", "2xV100", "--placement", placement}).json();
  };
  EXPECT_EQ(step("placed.pbtxt")["step_time_ns"], step("g.plan.json")["step_time_ns"]);
  EXPECT_EQ(step("g.pbtxt")["error"]["code"], "plan-mismatch");
  // A file that has changed since is refused.
  Write("g.pbtxt", std::string(kGraph) + "# more\n");
  EXPECT_EQ(RunJson({"export", "g.plan.json", "--to", "graphdef", "-o", "b"}).status, 3);
}

TEST_F(GraphDefProgram, OtherGraphsAreRefused) {
  Write("p.txt",
        "a -- L -- forward_compute_time=1, backward_compute_time=1, activation_size=1, "
        "parameter_size=1\n");
  ASSERT_EQ(Run({"plan", "p.txt", "-c", "2xV100", "--iterations", "1"}).status, 0);
  const Outcome refused = RunJson({"export", "p.plan.json", "--to", "graphdef", "-o", "x"});
  EXPECT_EQ(refused.status, 3);
  EXPECT_EQ(refused.json()["error"]["code"], "not-expressible");
}

}  // namespace
}  // namespace placewright
