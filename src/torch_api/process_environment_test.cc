// What launchers say in the environment, as ranks.
#include "torch_api/process_environment.h"

#include <gtest/gtest.h>

#include <map>

namespace placewright {
namespace {

using Variables = std::map<std::string, std::string>;

Result<std::optional<ProcessEnvironment>> Read(const Variables& variables) {
  return ReadProcessEnvironment([&](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  });
}

ProcessEnvironment Found(const Variables& variables) {
  const auto read = Read(variables);
  EXPECT_TRUE(read.ok()) << read.error().ToString();
  EXPECT_TRUE(read.value().has_value());
  return *read.value();
}

void ExpectError(const Variables& variables, const std::string& place, const std::string& part) {
  const auto read = Read(variables);
  ASSERT_FALSE(read.ok()) << place;
  EXPECT_EQ(read.error().code, ErrorCode::kUsage);
  EXPECT_EQ(read.error().place, place);
  EXPECT_NE(read.error().message.find(part), std::string::npos) << read.error().ToString();
}

const Variables kTorchrun = {{"RANK", "2"},
                             {"WORLD_SIZE", "4"},
                             {"LOCAL_RANK", "1"},
                             {"MASTER_ADDR", "node7"},
                             {"MASTER_PORT", "29501"}};

Variables With(Variables variables, const std::string& name, const std::string& value) {
  variables[name] = value;
  return variables;
}
Variables Without(Variables variables, const std::string& name) {
  variables.erase(name);
  return variables;
}

TEST(ProcessEnvironment, ReadsTorchrun) {
  const ProcessEnvironment found = Found(kTorchrun);
  EXPECT_EQ(found.rank, 2);
  EXPECT_EQ(found.size, 4);
  EXPECT_EQ(found.local_rank, 1);
  EXPECT_EQ(found.address, "node7");
  EXPECT_EQ(found.port, 29501);
}

TEST(ProcessEnvironment, ReadsMpirunOnOneMachineAndOnSeveral) {
  const Variables one = {{"OMPI_COMM_WORLD_RANK", "1"},
                         {"OMPI_COMM_WORLD_SIZE", "2"},
                         {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                         {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}};
  EXPECT_EQ(Found(one).address, "127.0.0.1");
  EXPECT_EQ(Found(one).port, 29500);
  const Variables several = With(one, "OMPI_COMM_WORLD_LOCAL_SIZE", "1");
  ExpectError(several, "MASTER_ADDR", "not set");
  EXPECT_EQ(Found(With(several, "MASTER_ADDR", "node1")).address, "node1");
}

TEST(ProcessEnvironment, ReadsTasksOfSlurmStepsAlone) {
  const Variables step = {
      {"SLURM_PROCID", "3"},         {"SLURM_NTASKS", "8"},
      {"SLURM_LOCALID", "1"},        {"SLURM_STEP_ID", "0"},
      {"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_STEP_NODELIST", "gpu[03-05,9],cpu1"}};
  EXPECT_EQ(Found(step).rank, 3);
  EXPECT_EQ(Found(step).size, 4);
  EXPECT_EQ(Found(step).address, "gpu03");
  EXPECT_EQ(Found(With(step, "SLURM_STEP_NODELIST", "cpu1,gpu[3-5]")).address, "cpu1");
  // A batch script has a number, too, and is started once.
  const auto batch = Read(Without(step, "SLURM_STEP_ID"));
  ASSERT_TRUE(batch.ok());
  EXPECT_FALSE(batch.value().has_value());
}

TEST(ProcessEnvironment, IsNoneOfAProcessByItself) {
  EXPECT_FALSE(Read({}).value().has_value());
  EXPECT_FALSE(Read(With(With(kTorchrun, "WORLD_SIZE", "1"), "RANK", "0")).value().has_value());
}

TEST(ProcessEnvironment, NamesWhatIsWrong) {
  ExpectError(Without(kTorchrun, "RANK"), "RANK", "not set");
  ExpectError(Without(kTorchrun, "WORLD_SIZE"), "WORLD_SIZE", "not set");
  ExpectError(Without(kTorchrun, "MASTER_ADDR"), "MASTER_ADDR", "not set");
  ExpectError(Without(kTorchrun, "MASTER_PORT"), "MASTER_PORT", "not set");
  ExpectError(With(kTorchrun, "RANK", "two"), "RANK", "\"two\" is no integer");
  ExpectError(With(kTorchrun, "RANK", "-1"), "RANK", "no integer from 0");
  ExpectError(With(kTorchrun, "RANK", "4"), "RANK", "rank 4 is not below the number of ranks, 4");
  ExpectError(With(kTorchrun, "WORLD_SIZE", "0"), "WORLD_SIZE", "no integer from 1");
  ExpectError(With(kTorchrun, "MASTER_PORT", "65536"), "MASTER_PORT", "no integer from 1 to 65535");
}

}  // namespace
}  // namespace placewright
