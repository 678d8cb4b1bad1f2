#include "cli/terminal/output_path.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace placewright {
namespace {

TEST(DefaultPlanPath, IsTheGraphsNameInTheCallersFolder) {
  EXPECT_EQ(DefaultPlanPath("models/bert.json.gz"), "bert.plan.json");
  EXPECT_EQ(DefaultPlanPath("/data/net.onnx"), "net.plan.json");
  EXPECT_EQ(DefaultPlanPath("net.onnx.gz"), "net.plan.json");
  EXPECT_EQ(DefaultPlanPath("net"), "net.plan.json");
  EXPECT_EQ(DefaultPlanPath("v1.2.json"), "v1.2.plan.json");
}

TEST(ProbeWritable, LeavesNothingBehind) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / "placewright-output-path-test";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  EXPECT_TRUE(ProbeWritable((folder / "plan.json").string()).ok());
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  EXPECT_EQ(ProbeWritable(folder.string()).error().code, ErrorCode::kFileUnwritable);
  EXPECT_EQ(ProbeWritable((folder / "no/plan.json").string()).error().file,
            (folder / "no/plan.json").string());
  EXPECT_EQ(ProbeWritable("-").error().code, ErrorCode::kUsage);
  EXPECT_FALSE(std::filesystem::exists("-"));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace placewright
