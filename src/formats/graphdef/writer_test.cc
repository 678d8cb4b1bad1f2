// Devices into GraphDefs and back; all other bytes stay.
#include "formats/graphdef/writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster/catalogue.h"
#include "formats/graphdef/devices.h"
#include "formats/graphdef/reader.h"
#include "formats/graphdef/test_graphs.h"

namespace placewright {
namespace {

using namespace graphdef_test;
using testing::HasSubstr;

std::vector<NodeSpec> WithDevices(std::vector<NodeSpec> nodes,
                                  const std::vector<std::string>& devices) {
  for (size_t i = 0; i < nodes.size(); ++i) nodes[i].device = devices[i];
  return nodes;
}

std::vector<std::string> Names(size_t count) {
  std::vector<std::string> names;
  for (size_t i = 0; i < count; ++i) names.push_back("/device:GPU:" + std::to_string(i));
  return names;
}

TEST(GraphDefWriter, TextIsAsIfTheDevicesHadStoodThere) {
  std::vector<NodeSpec> nodes = TrainingStep();
  for (NodeSpec& node : nodes) {  // the device stands behind `op` where nothing is read
    if (!node.inputs.empty()) node.device = "/gpu:7";
  }
  const std::vector<std::string> devices = Names(nodes.size());
  EXPECT_EQ(SetDevices(Text(nodes), devices).Take(), Text(WithDevices(nodes, devices)));
  // Again with none: what was set is gone, with its line.
  const std::vector<std::string> none(nodes.size());
  EXPECT_EQ(SetDevices(SetDevices(Text(nodes), devices).Take(), none).Take(),
            Text(WithDevices(nodes, none)));
}

TEST(GraphDefWriter, BinaryKeepsEveryOtherField) {
  const std::vector<NodeSpec> nodes = TrainingStep();
  // Fields that no schema of ours names: in the node, beside it, and the last one again.
  const std::string odd = BytesField(77, "kept") + NumberField(78, 5);
  std::string file, expected;
  const std::vector<std::string> devices = Names(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    NodeSpec bare = nodes[i];
    bare.device.clear();
    const std::string content = BytesField(1, bare.name) + BytesField(2, bare.op) + odd;
    file += BytesField(1, content + BytesField(4, "/old") + BytesField(4, "/older")) + odd;
    expected += BytesField(1, content + BytesField(4, devices[i])) + odd;
  }
  EXPECT_EQ(SetDevices(file, devices).Take(), expected);
}

TEST(GraphDefWriter, AnyTextAroundStays) {
  const std::string file =
      "node { name: 'a' op: 'NoOp' } # one\n"
      "node <\n\tname: 'b' # two\n\tdevice: '/old'\n\top: 'NoOp'\n>\n"
      "node {\n\top: 'NoOp' # three\n\tname: 'c'\n\tunknown { x: 1 }\n}\n";
  EXPECT_EQ(SetDevices(file, {"/p", "/q", "a\"\\\n"}).Take(),
            "node { name: 'a' op: 'NoOp' device: \"/p\" } # one\n"
            "node <\n\tname: 'b' # two\n\tdevice: \"/q\"\n\top: 'NoOp'\n>\n"
            "node {\n\top: 'NoOp' device: \"a\\\"\\\\\\012\" # three\n\tname: 'c'\n"
            "\tunknown { x: 1 }\n}\n");
}

// The line that `op` stands on is looked for within its node only.
TEST(GraphDefWriter, ANodeOnOneLineKeepsItsLine) {
  const std::string file = "# first\n  node { name: 'a' op: 'NoOp'\n}\n";
  EXPECT_EQ(SetDevices(file, {"/p"}).Take(),
            "# first\n  node { name: 'a' op: 'NoOp' device: \"/p\"\n}\n");
}

TEST(GraphDefDevices, NamesAndBack) {
  const Cluster one = MakePreset("4xP100").Take();
  const DeviceNames names(one);
  const DeviceId third = one.FindDevice("host0/gpu2");
  ASSERT_TRUE(third.valid());
  EXPECT_EQ(names.Of(third, {}), "/device:GPU:2");
  EXPECT_EQ(names.Of(third, TaskOf("/job:learner/task:3/device:CPU:*")),
            "/job:learner/task:3/device:GPU:2");
  EXPECT_EQ(names.Find("/device:GPU:2").Take(), third);
  EXPECT_EQ(names.Find("/job:x/replica:0/task:0/gpu:2").Take(), third);
  EXPECT_EQ(names.Find("/device:GPU:*").Take(), one.FindDevice("host0/gpu0"));
  EXPECT_EQ(names.Find("/device:CPU:0").Take(), one.FindDevice("host0/cpu0"));
  for (const char* bad : {"/device:GPU:4", "/device:GPU:x", "/job:x", "", "/", "/device:GPU:-1",
                          "/device:TPU:0", "/device:FOO", "/device:XLA_GPU:0"}) {
    const auto found = names.Find(bad);
    ASSERT_FALSE(found.ok()) << bad;
    EXPECT_EQ(found.error().code, ErrorCode::kUnknownName) << bad;
  }
}

TEST(GraphDefDevices, EveryDeviceOfSeveralHosts) {
  const Cluster cluster = MakePreset("tag-testbed").Take();
  const DeviceNames names(cluster);
  ASSERT_TRUE(names.several_hosts());
  for (const DeviceId id : cluster.devices()) {
    EXPECT_EQ(names.Find(names.Of(id, {})).Take(), id) << names.Of(id, {});
  }
  EXPECT_EQ(names.Of(cluster.FindDevice("host1/gpu0"), {}),
            "/job:worker/replica:0/task:1/device:GPU:0");
  for (const char* bad : {"/task:99/gpu:0", "/task:-1/gpu:0", "/task:x/gpu:0",
                          "/task:4294967296/gpu:0"}) {  // 2^32 is no host 0
    EXPECT_FALSE(names.Find(bad).ok()) << bad;
  }
}

TEST(GraphDefDevices, NamesThatAgreeAreOneProcess) {
  TensorFlowTask task = TaskOf("/job:ps/gpu:0");
  EXPECT_TRUE(task.Unite(TaskOf("/task:1/device:CPU:0")));
  EXPECT_TRUE(task.Unite(TaskOf("/job:*/device:CPU:0")));
  EXPECT_FALSE(task.Unite(TaskOf("/job:worker/task:1/device:CPU:0")));
  EXPECT_EQ(task.ToString(), "/job:ps/task:1");
}

TEST(GraphDefDevices, APlacementOfWhatWasWritten) {
  const Cluster cluster = MakePreset("4xP100").Take();
  const std::vector<NodeSpec> nodes = TrainingStep();
  const Graph graph = ReadGraphDef(Binary(nodes), {}).Take();
  std::vector<std::string> devices(nodes.size(), "/device:GPU:1");
  for (const bool text : {false, true}) {
    const std::string file = SetDevices(text ? Text(nodes) : Binary(nodes), devices).Take();
    const auto named = PlacementOfGraphDef(file, graph, cluster);
    ASSERT_TRUE(named.ok()) << named.error().ToString();
    const Placement placement = ResolvePlacement(named.value(), graph, cluster).Take();
    for (const OpId op : graph.ops()) {
      EXPECT_EQ(cluster.device(placement[op]).name, "host0/gpu1");
    }
  }
  devices[4].clear();  // fc/MatMul
  const auto missing =
      PlacementOfGraphDef(SetDevices(Binary(nodes), devices).Take(), graph, cluster);
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, ErrorCode::kPlanMismatch);
  EXPECT_THAT(missing.error().place, HasSubstr("fc/MatMul"));
}

// One host is one process of TensorFlow: which GPU would /job:ps/task:7's be?
TEST(GraphDefDevices, TwoProcessesOnOneHostAreRefused) {
  const Cluster cluster = MakePreset("4xP100").Take();
  const std::vector<NodeSpec> nodes = TrainingStep();
  const Graph graph = ReadGraphDef(Binary(nodes), {}).Take();
  std::vector<std::string> devices(nodes.size(), "/job:worker/task:0/device:GPU:1");
  ASSERT_TRUE(PlacementOfGraphDef(SetDevices(Text(nodes), devices).Take(), graph, cluster).ok());
  devices[4] = "/job:ps/task:7/gpu:1";
  const auto refused = PlacementOfGraphDef(SetDevices(Text(nodes), devices).Take(), graph, cluster);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kUnknownName);
  EXPECT_THAT(refused.error().message, HasSubstr("/job:ps/task:7/gpu:1"));
  EXPECT_THAT(refused.error().message, HasSubstr("/job:worker/task:0"));
  EXPECT_THAT(refused.error().place, HasSubstr("fc/MatMul"));
}

}  // namespace
}  // namespace placewright
