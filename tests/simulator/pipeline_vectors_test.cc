// Every public vector of the two objectives of dnn-partitioning workloads.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <string>

#include "formats/dnn_partitioning/workload_reader.h"
#include "formats/text/file.h"
#include "sim/pipeline/max_load.h"
#include "sim/pipeline/sample_latency.h"

namespace placewright {
namespace {

namespace fs = std::filesystem;

constexpr double kTolerance = 1e-9;

void ExpectClose(double actual, double expected) {
  EXPECT_LE(std::abs(actual - expected), kTolerance * std::max(1.0, std::abs(expected)))
      << actual << " is not " << expected;
}

Json Workload(const Json& vector) {
  Json document;
  if (vector.contains("graph")) {
    document = vector["graph"];
  } else {
    const fs::path path = fs::path(PLACEWRIGHT_SHARED_DATA) / "public/dnn-partitioning" /
                          vector["workload"].get<std::string>();
    document = ParseJson(ReadFile(path.string()).Take()).Take();
  }
  if (vector.contains("override")) document.update(vector["override"]);
  return document;
}

// The vectors' names of what is wrong; ours say with what.
std::string OurName(const std::string& theirs) {
  static const std::map<std::string, std::string> kNames = {
      {"missing", "split-incomplete"},    {"ambiguous", "split-ambiguous"},
      {"devices", "split-devices"},       {"colocation", "split-colocation"},
      {"cyclic", "split-cyclic"},         {"cost", "workload-cost"},
      {"direction", "workload-direction"}};
  const auto it = kNames.find(theirs);
  return it == kNames.end() ? theirs : it->second;
}

template <class T>
void ExpectValue(const Result<T>& result, const Json& vector) {
  if (!vector["error"].is_null()) {
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(InfoOf(result.error().code).name, OurName(vector["error"].get<std::string>()));
    return;
  }
  ASSERT_TRUE(result.ok()) << result.error().ToString();
  const double expected = vector["value"].get<double>();
  EXPECT_LE(std::abs(result.value().value - expected), kTolerance * std::abs(expected));
  EXPECT_EQ(result.value().memory_ok, vector["memory_ok"].get<bool>());
}

void ExpectMaxLoad(const PipelineWorkload& workload, const Split& split, const Json& vector) {
  const auto result = MaxLoad(workload, split);
  ExpectValue(result, vector);
  if (!result.ok() || !vector.contains("loads")) return;
  size_t used = 0;
  for (size_t i = 0; i < result.value().devices.size(); ++i) {
    const DeviceLoad& load = result.value().devices[i];
    if (load.nodes == 0) continue;
    ++used;
    ExpectClose(load.Load(), vector["loads"][std::to_string(i)].get<double>());
  }
  EXPECT_EQ(used, vector["loads"].size());
}

void ExpectLatency(const PipelineWorkload& workload, const Split& split, const Json& vector) {
  const auto result = SampleLatency(workload, split);
  ExpectValue(result, vector);
  if (!result.ok() || !vector.contains("node_finish")) return;
  ASSERT_EQ(result.value().finish.size(), vector["node_finish"].size());
  for (size_t i = 0; i < result.value().finish.size(); ++i) {
    ExpectClose(result.value().finish[i], vector["node_finish"][i].get<double>());
  }
}

TEST(PipelineVectors, AllAgree) {
  const fs::path folder = fs::path(PLACEWRIGHT_SHARED_DATA) / "dnn-partitioning-vectors";
  if (!fs::exists(folder)) GTEST_SKIP() << "no folder of real data: " << folder;
  size_t vectors = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const Json file = ParseJson(ReadFile(entry.path().string()).Take()).Take();
    for (const Json& vector : file) {
      SCOPED_TRACE(entry.path().filename().string() + ": " + vector["kind"].get<std::string>());
      ++vectors;
      const auto workload = ReadWorkload(Workload(vector));
      ASSERT_TRUE(workload.ok()) << workload.error().ToString();
      const auto split = ReadSplit(vector["split"]);
      ASSERT_TRUE(split.ok()) << split.error().ToString();
      const bool latency = vector["objective"] == "latency";
      (latency ? ExpectLatency : ExpectMaxLoad)(workload.value(), split.value(), vector);
    }
  }
  EXPECT_EQ(vectors, 166u);
}

}  // namespace
}  // namespace placewright
