#include "formats/engines/training_configuration.h"

#include <gmock/gmock.h>

namespace placewright {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

ConfiguredStrategy On(std::string_view text, int64_t gpus, int64_t hosts) {
  const TrainingConfiguration read = ReadTrainingConfiguration(text).Take();
  return StrategyOfConfiguration(read, gpus, hosts).Take();
}

Error Refused(std::string_view text, int64_t gpus, int64_t hosts) {
  const auto read = ReadTrainingConfiguration(text);
  if (!read.ok()) return read.error();
  const auto made = StrategyOfConfiguration(read.value(), gpus, hosts);
  EXPECT_FALSE(made.ok()) << text;
  return made.ok() ? Error() : made.error();
}

constexpr std::string_view kTitan = R"(
[training]
local_batch_size = 2
global_batch_size = 64
seq_len = 8192

[parallelism]
data_parallel_replicate_degree = 1
data_parallel_shard_degree = -1
tensor_parallel_degree = 1

[activation_checkpoint]
mode = "selective"
)";

// 64 samples on 8 ranks of 2 are 4 micro-batches.
TEST(TrainingConfiguration, TorchtitansTomlIsAStrategy) {
  const ConfiguredStrategy made = On(kTitan, 8, 1);
  EXPECT_EQ(Describe(made.strategy), "fsdp, 4 micro-batches, recompute selective");
  EXPECT_EQ(made.batch, 64);
  const TrainingConfiguration read = ReadTrainingConfiguration(kTitan).Take();
  EXPECT_THAT(read.read, Contains("parallelism.data_parallel_shard_degree = -1"));
  EXPECT_THAT(read.ignored, ElementsAre("training.seq_len = 8192"));
}

TEST(TrainingConfiguration, TorchtitansPythonIsTheSame) {
  const std::string_view python =
      "def llama3_8b():\n"
      "    return Trainer.Config(\n"
      "        training=TrainingConfig(local_batch_size=2, global_batch_size=64),\n"
      "        parallelism=ParallelismConfig(\n"
      "            data_parallel_shard_degree=-1,\n"
      "            tensor_parallel_degree=1,\n"
      "        ),\n"
      "        activation_checkpoint=ActivationCheckpointConfig(mode=\"selective\"),\n"
      "    )\n";
  EXPECT_EQ(Describe(On(python, 8, 1).strategy), Describe(On(kTitan, 8, 1).strategy));
}

TEST(TrainingConfiguration, TorchtitansReplicasOfHostsAreHsdp) {
  const std::string_view toml =
      "[parallelism]\ndata_parallel_replicate_degree = 4\ndata_parallel_shard_degree = 8\n";
  EXPECT_EQ(On(toml, 32, 4).strategy.algorithm, "hsdp");
  EXPECT_EQ(Refused(toml, 32, 8).code, ErrorCode::kNotExpressible);
  EXPECT_EQ(Refused(toml, 16, 2).code, ErrorCode::kField);
}

// 4 stages, 2 ranks in each; a rank's batch of 8 in micro-batches of 1.
TEST(TrainingConfiguration, TorchtitansPipelineHasItsSchedule) {
  const std::string_view toml =
      "[training]\nlocal_batch_size = 8\n[parallelism]\npipeline_parallel_degree = 4\n"
      "pipeline_parallel_schedule = \"1F1B\"\ndata_parallel_shard_degree = 1\n"
      "data_parallel_replicate_degree = 2\n";
  const ConfiguredStrategy made = On(toml, 8, 1);
  EXPECT_EQ(Describe(made.strategy), "1f1b, 4 stages, 8 micro-batches");
  EXPECT_EQ(made.batch, 16);
}

TEST(TrainingConfiguration, MegatronsArgumentsAreAStrategy) {
  const std::string_view script =
      "torchrun --nproc_per_node 8 pretrain_gpt.py \\\n"
      "  --tensor-model-parallel-size 8 --sequence-parallel \\\n"
      "  --micro-batch-size 1 --global-batch-size 16  # a comment --context-parallel-size 7\n"
      "  --recompute-granularity selective --use-distributed-optimizer\n";
  const ConfiguredStrategy made = On(script, 32, 4);
  EXPECT_EQ(Describe(made.strategy),
            "tensor tensor=8 optimizer=shards, 4 micro-batches, recompute megatron");
  EXPECT_EQ(made.batch, 16);
  const TrainingConfiguration read = ReadTrainingConfiguration(script).Take();
  EXPECT_TRUE(read.sequence);
  EXPECT_TRUE(read.ignored.empty());
  const std::string_view yaml =
      "model_parallel:\n  tensor_model_parallel_size: 8\nmicro_batch_size: 1\nglobal_batch_size: "
      "16\n"
      "recompute_granularity: selective\n";
  const ConfiguredStrategy whole = On(yaml, 32, 4);  // no optimizer that is distributed
  EXPECT_EQ(Describe(whole.strategy), "tensor tensor=8, 4 micro-batches, recompute megatron");
  EXPECT_THAT(whole.notes, Contains(HasSubstr("--sequence-parallel")));
}

TEST(TrainingConfiguration, ADistributedOptimizerBesideTensorsIsASetting) {
  const std::string_view script =
      "--tensor-model-parallel-size 8 --sequence-parallel --use-distributed-optimizer "
      "--micro-batch-size 1 --global-batch-size 16";
  const ConfiguredStrategy made = On(script, 32, 4);
  EXPECT_TRUE(made.notes.empty());
  EXPECT_EQ(LinesOf(TrainingConfiguration::Program::kMegatron, made.strategy, 32, 4, 16).sharding,
            "--tensor-model-parallel-size 8 --sequence-parallel --use-distributed-optimizer");
  EXPECT_EQ(Describe(On(script, 8, 1).strategy), "tensor tensor=8, 16 micro-batches");
  const std::string with_fsdp =
      LinesOf(TrainingConfiguration::Program::kMegatron, {.algorithm = "2d"}, 32, 4, 16).sharding;
  EXPECT_EQ(On(with_fsdp + " --micro-batch-size 4", 32, 4).strategy.algorithm, "2d");
}

// Groups of four of a host's eight GPUs are stated, and written again.
TEST(TrainingConfiguration, DegreesAreSettings) {
  const ConfiguredStrategy made = On(
      "pretrain_gpt.py --tensor-model-parallel-size 4 --micro-batch-size 1 --global-batch-size 16",
      32, 4);
  EXPECT_EQ(Describe(made.strategy), "tensor tensor=4, 2 micro-batches");
  const ConfigurationLines lines =
      LinesOf(TrainingConfiguration::Program::kMegatron, made.strategy, 32, 4, 16);
  EXPECT_THAT(lines.sharding, HasSubstr("--tensor-model-parallel-size 4"));
  EXPECT_EQ(lines.micro_batches, "--micro-batch-size 1");
  // Slow GPUs left out, or shares by speed, are in no configuration.
  const Strategy uneven{.algorithm = "fsdp", .settings = {"shares=speed"}};
  EXPECT_EQ(LinesOf(TrainingConfiguration::Program::kTorchtitan, uneven, 32, 4, 64).sharding, "");
}

// What ends an array of a shell script is no value of the flag before it.
TEST(TrainingConfiguration, FlagsTakeNoWordBehindThem) {
  const TrainingConfiguration read =
      ReadTrainingConfiguration(
          "ARGS=(\n  --micro-batch-size 1\n  --use-distributed-optimizer\n)\nMORE=(\n"
          "  --global-batch-size 16\n)\n")
          .Take();
  EXPECT_EQ(read.zero_stage, 1);
  EXPECT_EQ(read.global_batch, 16);
}

TEST(TrainingConfiguration, PythonHasBlanksAndComments) {
  const TrainingConfiguration read = ReadTrainingConfiguration(
                                         "ParallelismConfig(\n    # tensor_parallel_degree=4,\n"
                                         "    data_parallel_shard_degree = 8,\n)\n")
                                         .Take();
  EXPECT_EQ(read.shard, 8);
  EXPECT_EQ(read.tensor, 1);
}

// Every strategy that has lines of torchtitan is read as it was written.
TEST(TrainingConfiguration, LinesAreReadAsTheyWereWritten) {
  for (const char* const algorithm : {"data-parallel", "fsdp", "hsdp", "zero-2", "hybrid-zero-2"}) {
    const ConfigurationLines lines =
        LinesOf(TrainingConfiguration::Program::kTorchtitan, {.algorithm = algorithm}, 32, 4, 64);
    std::string toml = "[parallelism]\n";
    for (const char c : lines.sharding) toml += c == ',' ? '\n' : c;
    EXPECT_EQ(On(toml + "\n", 32, 4).strategy.algorithm, algorithm);
  }
}

// Of 32 GPUs, eight to a group, four have samples of their own: 16 in 4 micro-batches are one at a time.
TEST(TrainingConfiguration, LinesCountGroupsAsOneRank) {
  const Strategy strategy{.algorithm = "2d", .rewriting = {.micro_batches = 4}};
  EXPECT_EQ(LinesOf(TrainingConfiguration::Program::kMegatron, strategy, 32, 4, 16).micro_batches,
            "--micro-batch-size 1");
}

TEST(TrainingConfiguration, DeepSpeedsStagesAreAlgorithms) {
  const auto at_stage = [](int stage) {
    return On("{\"zero_optimization\": {\"stage\": " + std::to_string(stage) +
                  "}, \"train_micro_batch_size_per_gpu\": 4, \"gradient_accumulation_steps\": 2}",
              8, 1);
  };
  EXPECT_EQ(Describe(at_stage(0).strategy), "data-parallel, 2 micro-batches");
  EXPECT_EQ(Describe(at_stage(2).strategy), "zero-2, 2 micro-batches");
  EXPECT_EQ(Describe(at_stage(3).strategy), "fsdp, 2 micro-batches");
  EXPECT_EQ(at_stage(3).batch, 64);
  EXPECT_EQ(Describe(at_stage(1).strategy), "zero-1, 2 micro-batches");
}

TEST(TrainingConfiguration, OffloadIsSaidToBeIgnored) {
  const TrainingConfiguration read =
      ReadTrainingConfiguration(
          "{\"zero_optimization\": {\"stage\": 3, \"offload_optimizer\": {\"device\": \"cpu\"}},"
          " \"train_batch_size\": \"auto\"}")
          .Take();
  EXPECT_THAT(read.ignored, Contains("zero_optimization.offload_optimizer.device = cpu"));
  EXPECT_EQ(read.global_batch, 0);
}

TEST(TrainingConfiguration, RefusesWhatCannotBe) {
  EXPECT_EQ(Refused("hello", 8, 1).code, ErrorCode::kFormatUnknown);
  EXPECT_EQ(Refused("", 8, 1).code, ErrorCode::kFormatUnknown);
  EXPECT_EQ(Refused("{\"a\": 1}", 8, 1).code, ErrorCode::kFormatUnknown);
  const Error stage = Refused("{\"zero_optimization\": {\"stage\": 4}}", 8, 1);
  EXPECT_EQ(stage.code, ErrorCode::kField);
  EXPECT_EQ(stage.place, "line 1, column 33");
  EXPECT_EQ(Refused("[parallelism]\ntensor_parallel_degree = \"x\"\n", 8, 1).place,
            "line 2, column 26");
  EXPECT_EQ(Refused("--micro-batch-size 3 --global-batch-size 16", 8, 1).code, ErrorCode::kField);
  EXPECT_EQ(Refused("--tensor-model-parallel-size 3 --micro-batch-size 1", 8, 1).code,
            ErrorCode::kField);
  EXPECT_EQ(Refused("--tensor-model-parallel-size 16 --micro-batch-size 1", 16, 2).code,
            ErrorCode::kNotExpressible);
  EXPECT_EQ(Refused("--expert-model-parallel-size 4 --micro-batch-size 1", 8, 1).code,
            ErrorCode::kNotExpressible);
}

// Megatron's distributed optimizer shards gradients behind the last micro-batch: of several it is no ZeRO stage 2.
TEST(TrainingConfiguration, TheDistributedOptimizerIsZeroOne) {
  using Program = TrainingConfiguration::Program;
  EXPECT_EQ(
      Describe(On("--use-distributed-optimizer --micro-batch-size 1 --global-batch-size 16", 8, 1)
                   .strategy),
      "zero-1, 2 micro-batches");
  const auto flag_of = [](const char* algorithm, int64_t micro_batches) {
    const Strategy strategy{.algorithm = algorithm, .rewriting = {.micro_batches = micro_batches}};
    return LinesOf(Program::kMegatron, strategy, 8, 1, 16).sharding;
  };
  EXPECT_EQ(flag_of("zero-1", 4), "--use-distributed-optimizer");
  EXPECT_EQ(flag_of("zero-2", 1), "--use-distributed-optimizer");
  EXPECT_EQ(flag_of("zero-2", 4), "");
  EXPECT_EQ(LinesOf(Program::kDeepSpeed, {.algorithm = "zero-1"}, 8, 1, 16).sharding,
            "zero_optimization.stage = 1");
}

// What LinesOf writes for a strategy is read as that strategy.
TEST(TrainingConfiguration, LinesOfAStrategyAreReadAsIt) {
  const Strategy strategy{"fsdp", {.micro_batches = 4, .recompute = {"full"}}};
  const ConfigurationLines lines =
      LinesOf(TrainingConfiguration::Program::kMegatron, strategy, 8, 1, 64);
  const std::string text = lines.sharding + " " + lines.recompute + " " + lines.micro_batches +
                           " --global-batch-size 64";
  EXPECT_EQ(Describe(On(text, 8, 1).strategy), Describe(strategy));
}

}  // namespace
}  // namespace placewright
