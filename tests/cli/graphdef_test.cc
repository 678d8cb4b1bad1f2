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

// `w` and `y` are colocated: TensorFlow refuses two processes for them.
TEST_F(GraphDefProgram, ADeviceHasOneName) {
  const auto devices_of = [&](const std::string& x, const std::string& w) {
    std::string graph = kGraph;
    const auto add = [&](const std::string& op, const std::string& device) {
      if (device.empty()) return;
      const size_t at = graph.find("op: \"" + op + "\"\n");
      graph.insert(at, "device: \"" + device + "\" ");
    };
    add("Placeholder", x);
    add("VariableV2", w);
    Write("g.pbtxt", graph);
    EXPECT_EQ(Run({"plan", "g.pbtxt", "-c", "2xV100", "--pin", "*=host0/gpu1", "--pin",
                   "x=host0/gpu1", "--iterations", "1"})
                  .status,
              0);
    const Outcome run =
        RunJson({"export", "g.plan.json", "--to", "graphdef", "-o", "placed.pbtxt"});
    EXPECT_EQ(run.status, 0) << run.out;
    const std::string placed = Read("placed.pbtxt"), mark = "device: \"";
    std::vector<std::string> devices;
    for (size_t at = 0; (at = placed.find(mark, at)) != std::string::npos;) {
      at += mark.size();
      devices.push_back(placed.substr(at, placed.find('"', at) - at));
    }
    EXPECT_EQ(
        RunJson({"simulate", "g.pbtxt", "-c", "2xV100", "--placement", "placed.pbtxt"}).status, 0);
    return std::pair(devices, run.json()["notes"]);
  };
  const auto four = [](const char* device) { return std::vector<std::string>(4, device); };
  const auto [one, no_notes] =
      devices_of("/job:worker/task:1/cpu:0", "/job:worker/replica:0/gpu:0");
  EXPECT_EQ(one, four("/job:worker/replica:0/task:1/device:GPU:1"));
  EXPECT_EQ(no_notes, Json::array());
  const auto [two, notes] = devices_of("/job:worker/task:1", "/job:ps/task:0");
  EXPECT_EQ(two, four("/device:GPU:1"));
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_THAT(notes[0].get<std::string>(), HasSubstr("/job:ps/task:0"));
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
