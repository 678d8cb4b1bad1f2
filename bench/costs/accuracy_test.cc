#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "bench/costs/networks.h"
#include "bench/costs/published.h"
#include "bench/costs/recorded.h"
#include "bench/costs/rescale.h"
#include "cluster/catalogue.h"

namespace placewright::bench {
namespace {

double MacsOf(const Graph& graph) {
  double macs = 0;
  for (OpId op : graph.ops()) macs += static_cast<double>(WorkOf(graph, op).macs);
  return macs;
}

Graph Recorded(const std::string& file) {
  auto loaded = ReadRecorded(std::string(PLACEWRIGHT_SHARED_DATA) + "/fx/" + file);
  EXPECT_TRUE(loaded.ok());
  return loaded.Take();
}

#define SKIP_WITHOUT_DATA()                                                     \
  if (!std::filesystem::exists(std::string(PLACEWRIGHT_SHARED_DATA) + "/fx")) { \
    GTEST_SKIP() << "the folder of real graphs is missing";                     \
  }

// Every row within 30 %; at most half of them served to choose a constant.
TEST(CostAccuracy, PredictionsLieWithin30Percent) {
  int64_t fitted = 0;
  for (const PublishedRow& row : PublishedRows()) {
    const DeviceKind* kind = FindKind(row.kind);
    ASSERT_NE(kind, nullptr) << row.kind;
    fitted += row.fitted ? 1 : 0;
    const auto graph = BuildNetwork(row.model, row.batch);
    if (!graph) continue;
    const double predicted = static_cast<double>(row.batch) / Seconds(StepTime(*graph, *kind));
    EXPECT_NEAR(predicted / row.images_per_second, 1, 0.3)
        << row.kind << " " << row.model << " batch " << row.batch;
  }
  EXPECT_LE(2 * fitted, static_cast<int64_t>(PublishedRows().size()));
}

// The same from the files themselves, rescaled by their costs.
TEST(CostAccuracy, PredictionsFromFilesLieWithin30Percent) {
  SKIP_WITHOUT_DATA();
  for (const PublishedRow& row : PublishedRows()) {
    if (row.graph.empty()) continue;
    const auto loaded =
        ReadRecorded(std::string(PLACEWRIGHT_SHARED_DATA) + "/" + std::string(row.graph));
    ASSERT_TRUE(loaded.ok()) << loaded.error().ToString();
    const double batch = static_cast<double>(row.batch);
    const double factor = batch / static_cast<double>(row.graph_batch);
    const double time = Seconds(StepTime(loaded.value(), *FindKind(row.kind), factor));
    EXPECT_NEAR(batch / time / row.images_per_second, 1, 0.3)
        << row.kind << " " << row.model << " batch " << row.batch;
  }
}

// Multiply-accumulates of one training image: three times the published forward figure (4.09, 7.8,
// 11.5, 15.5, 19.6, 5.71, 12.25 GMAC) less the first layer's input gradient.
TEST(CostAccuracy, BuiltNetworksHaveTheirPublishedSize) {
  const std::pair<const char*, double> kForward[] = {
      {"resnet50", 4.09},    {"resnet101", 7.80}, {"resnet152", 11.51},
      {"vgg16", 15.47},      {"vgg19", 19.63},    {"inception3", 5.71},
      {"inception4", 12.25}, {"alexnet", 0.714},  {"googlenet", 1.50},
  };
  for (const auto& [name, forward] : kForward) {
    const double macs = MacsOf(*BuildNetwork(name, 2)) * 1e-9 / 2;
    EXPECT_NEAR(macs / (3 * forward), 1, 0.04) << name;
  }
}

TEST(CostAccuracy, BuiltNetworksEqualRecordedOnes) {
  SKIP_WITHOUT_DATA();
  const DeviceKind& kind = *FindKind("P100-SXM2-16GB");
  const std::tuple<const char*, const char*, int64_t> kPairs[] = {
      {"resnet50", "resnet50_b32_sgd.json.gz", 32},
      {"vgg19", "vgg19_b96_sgd.json.gz", 96},
      {"alexnet", "alexnet_b4_sgd.json.gz", 4}};
  for (const auto& [name, file, batch] : kPairs) {
    const Graph recorded = Recorded(file), built = *BuildNetwork(name, batch);
    EXPECT_EQ(MacsOf(built), MacsOf(recorded)) << name;
    EXPECT_NEAR(Seconds(StepTime(built, kind)) / Seconds(StepTime(recorded, kind)), 1, 0.02)
        << name;
  }
}

// Rescaling a recorded graph gives what the network built at the other batch takes.
TEST(CostAccuracy, RescalingEqualsBuildingAnew) {
  SKIP_WITHOUT_DATA();
  const DeviceKind& kind = *FindKind("P100-SXM2-16GB");
  const Graph resnet = Recorded("resnet50_b32_sgd.json.gz");
  for (int64_t batch : {16, 64, 128}) {
    const double rescaled = Seconds(StepTime(resnet, kind, static_cast<double>(batch) / 32));
    const double built = Seconds(StepTime(*BuildNetwork("resnet50", batch), kind));
    EXPECT_NEAR(rescaled / built, 1, 0.02) << batch;
  }
}

}  // namespace
}  // namespace placewright::bench
