// Plans as files, and their picture, by the public interface: what the readers of files make of
// them.
#include "formats/plan/plan_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <placewright/planning/plan_files.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "cost/measured_links.h"
#include "formats/cost_store/cost_store.h"

namespace placewright {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

const std::string kExample =
    std::string(PLACEWRIGHT_SOURCE_DIR) + "/examples/tiny_transformer_adam.json.gz";

// With a folder of its own.
class PlanFilesTest : public testing::Test {
 protected:
  PlanFilesTest() : folder_(testing::TempDir() + "plan_files_test") {
    fs::create_directory(folder_);
  }
  ~PlanFilesTest() override { fs::remove_all(folder_); }

  PlannedStep PlanBy(const std::string& algorithm, bool keep_files = true) const {
    PlanRequest request;
    request.algorithm = algorithm;
    request.iterations = 0;
    request.keep_files = keep_files;
    PlannedStep planned = PlanStep(step_.graph, cluster_.cluster, request).Take();
    NameFiles(step_, cluster_, planned.plan);
    return planned;
  }
  Status Write(const PlannedStep& planned, const std::string& path) const {
    return WritePlan(planned, step_.graph, cluster_.cluster, path);
  }

  const std::string folder_;
  const StepFile step_ = ReadStepFile(kExample).Take();
  const ClusterFile cluster_ = ReadClusterFile("4xP100").Take();
};

TEST_F(PlanFilesTest, SaysWhatWasRead) {
  EXPECT_EQ(step_.file.path, kExample);
  EXPECT_EQ(step_.file.sha256.size(), 64u);
  EXPECT_EQ(cluster_.file.path, "preset:4xP100");
  EXPECT_EQ(ReadStepFile("/missing").error().code, ErrorCode::kFileUnreadable);
}

TEST_F(PlanFilesTest, PlansOfWholeOpsAreReadAgain) {
  const PlannedStep planned = PlanBy("layered");
  ASSERT_TRUE(Write(planned, folder_ + "/a.plan.json").ok());
  const PlanInputs read = LoadPlanInputs(folder_ + "/a.plan.json").Take();
  EXPECT_EQ(read.plan.step_time, planned.plan.step_time);
  EXPECT_EQ(read.plan.graph.path, kExample);
  EXPECT_EQ(read.schedule.placement, planned.placement);
  EXPECT_EQ(read.costs.op_count(), step_.graph.op_count());
}

TEST_F(PlanFilesTest, PlansThatSplitOpsHaveTheirStepBesideThem) {
  const PlannedStep planned = PlanBy("data-parallel");
  ASSERT_TRUE(planned.compiled);
  ASSERT_TRUE(Write(planned, folder_ + "/a.plan.json").ok());
  EXPECT_TRUE(fs::exists(folder_ + "/a.plan.compiled.json.gz"));
  const PlanInputs read = LoadPlanInputs(folder_ + "/a.plan.json").Take();
  EXPECT_EQ(read.graph.graph.op_count(), planned.compiled->op_count());
  EXPECT_EQ(read.costs.op_count(), planned.compiled->op_count());
  EXPECT_EQ(read.schedule.placement, planned.placement);
}

TEST_F(PlanFilesTest, AnotherBatchIsNamed) {
  const StepFile twice = ReadStepFile(kExample, {.batch = 64}).Take();
  PlanRequest request;
  request.algorithm = "single";
  request.keep_files = true;
  PlannedStep planned = PlanStep(twice.graph, cluster_.cluster, request).Take();
  NameFiles(twice, cluster_, planned.plan);
  EXPECT_EQ(planned.plan.batch_option, 64);
  const std::string path = folder_ + "/a.plan.json";
  ASSERT_TRUE(WritePlan(planned, twice.graph, cluster_.cluster, path).ok());
  EXPECT_EQ(LoadPlanInputs(path).Take().graph.graph.batch(), 64);
}

// Links of two workers, of which a store knows that a KiB takes 1 ms.
TEST_F(PlanFilesTest, LinksAreThoseThatWereMeasured) {
  std::ofstream(folder_ + "/two.yaml")
      << "kinds: {worker: {like: Xeon-E5-2650v4, cores: 1}}\n"
         "devices: [{name: host0/cpu, kind: worker, memory: 16 GiB, count: 2}]\n"
         "links: [{between: [host0/cpu0, host0/cpu1], bandwidth: 20 GB/s, latency: 100 ns}]\n";
  const ClusterFile two = ReadClusterFile(folder_ + "/two.yaml").Take();
  const DeviceKind& kind = two.cluster.kind(DeviceId(0));
  PlanRequest request;
  request.algorithm = "data-parallel";
  request.keep_files = true;
  request.cost_store = folder_ + "/slow.sqlite";
  const MeasuredOn on{kind.name, kind.cores, false, "2.0.0", "blas"};
  const std::vector<MeasuredTransfers> slow = {
      {on, on, {{Bytes(1024), Nanos(1'000'000), 5}, {Bytes(2048), Nanos(2'000'000), 5}}}};
  ASSERT_TRUE(CostStore::Open(request.cost_store, true).Take().Put({}, slow).ok());
  Result<PlannedStep> planned = PlanStep(step_.graph, two.cluster, request);
  ASSERT_TRUE(planned.ok()) << planned.error().ToString();
  NameFiles(step_, two, planned.value().plan);
  ASSERT_FALSE(planned.value().plan.links.empty());
  const std::string path = folder_ + "/a.plan.json";
  ASSERT_TRUE(WritePlan(planned.value(), step_.graph, two.cluster, path).ok());
  const Result<PlanInputs> read = LoadPlanInputs(path);
  ASSERT_TRUE(read.ok()) << read.error().ToString();
  EXPECT_EQ(read.value().plan.links, planned.value().plan.links);
  EXPECT_EQ(read.value().plan.cost_store->path, "slow.sqlite");
}

TEST_F(PlanFilesTest, SaysWhyItCannotBeWritten) {
  const Status bare = Write(PlanBy("single", false), folder_ + "/a.plan.json");
  EXPECT_EQ(bare.error().code, ErrorCode::kUsage);
  EXPECT_THAT(bare.error().remedy, HasSubstr("keep_files"));
  const PlannedStep planned = PlanBy("single");
  EXPECT_EQ(Write(planned, folder_ + "/no/a.plan.json").error().code, ErrorCode::kFileUnwritable);
  EXPECT_EQ(Write(planned, folder_ + "/\xff.json").error().code, ErrorCode::kUsage);
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(PlanFilesTest, TheTextIsThatOfTheFile) {
  const std::string text = PlanToText(PlanBy("single").plan);
  EXPECT_THAT(text, HasSubstr("\"algorithm\":\"single\""));
  EXPECT_THAT(text, HasSubstr(step_.file.sha256));
  EXPECT_EQ(text.find('\n'), std::string::npos);
}

}  // namespace
}  // namespace placewright
