// A step on one device, of graphs whose files keep tensors on devices of their own.
#include "sim/one_device.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "formats/costs/costgraph_reader.h"
#include "formats/text/file.h"

namespace placewright {
namespace {

OneDeviceStep StepOf(const Json& document) {
  const CostGraph read = ReadCostGraph(document).Take();
  return SimulateOnOneDevice(read.graph, &read.costs).value();
}

// Where the homes were does not matter once there is one device: the step is that of the same
// graph with all homes on the first.
TEST(OneDevice, AllHomesAreOnIt) {
  const std::string path = std::string(PLACEWRIGHT_SHARED_DATA) + "/simulator/vectors.json.gz";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no simulator vectors at " << path;
  const Json vectors = ParseJson(ReadFile(path).Take()).Take();
  ASSERT_EQ(vectors.size(), 86u);
  int elsewhere = 0;
  for (const Json& vector : vectors) {
    Json first = vector;
    const std::string device = vector["devices"][0]["name"];
    if (first.contains("homes")) {
      for (Json& home : first["homes"]) {
        elsewhere += home != device ? 1 : 0;
        home = device;
      }
    }
    const OneDeviceStep step = StepOf(vector), expected = StepOf(first);
    EXPECT_EQ(step.peak, expected.peak) << vector["name"];
    EXPECT_EQ(step.peak_time, expected.peak_time) << vector["name"];
    EXPECT_EQ(step.step_time, expected.step_time) << vector["name"];
  }
  EXPECT_GT(elsewhere, 0);
}

}  // namespace
}  // namespace placewright
