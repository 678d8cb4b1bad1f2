// Configurations of torchtitan, Megatron and DeepSpeed as the numbers that make a strategy. docs/from-configuration.md.
//
//   torchtitan  the TOML of a job, or the Python that builds it: ParallelismConfig(tensor_parallel_degree=8), ...
//   Megatron    arguments of a command line ("--tensor-model-parallel-size 8"), as in a script, or their YAML
//   DeepSpeed   the JSON of deepspeed.initialize
#ifndef PLACEWRIGHT_FORMATS_ENGINES_TRAINING_CONFIGURATION_H_
#define PLACEWRIGHT_FORMATS_ENGINES_TRAINING_CONFIGURATION_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "plan/strategy.h"

namespace placewright {

struct TrainingConfiguration {
  enum class Program : uint8_t {
    kTorchtitan,
    kMegatron,
    kDeepSpeed
  } program = Program::kTorchtitan;
  int64_t replicate = 0, shard = 0;  // degrees of data parallelism; 0: what the others leave
  int64_t tensor = 1, pipeline = 1, context = 1, expert = 1;
  int64_t zero_stage =
      0;  // of what is sharded: 1 optimizer state, 2 gradients, too, 3 parameters, too
  int64_t samples_of_rank = 0;  // of a micro-batch; 0: not stated
  int64_t global_batch = 0;     // 0: follows from the others
  int64_t accumulation = 0;     // 0: follows from the others
  std::string schedule;         // of a pipeline, by our names; "": 1f1b
  int64_t chunks = 1;
  bool sequence = false;               // tokens in parts beside tensors
  std::vector<std::string> recompute;  // as in Rewriting
  // "tensor_parallel_degree = 8", as found; what of the file is not looked at though it says how training is distributed.
  std::vector<std::string> read, ignored;
};
std::string_view ToString(
    TrainingConfiguration::Program program);  // "torchtitan", "Megatron", "DeepSpeed"

// By content. Errors: kFormatUnknown (none of the three), kField with its place (a value that cannot be), those of the text.
Result<TrainingConfiguration> ReadTrainingConfiguration(std::string_view text);

// What such a configuration is on GPUs of hosts: an algorithm, the rewriting, the batch of the whole step.
struct ConfiguredStrategy {
  Strategy strategy;
  int64_t batch = 0;               // 0: not stated
  std::vector<std::string> notes;  // in what it differs from what the program does
};
// Errors: kField (degrees that are not the number of GPUs, a batch that they do not divide), kNotExpressible (what no
// algorithm here does).
Result<ConfiguredStrategy> StrategyOfConfiguration(const TrainingConfiguration& configuration,
                                                   int64_t gpus, int64_t hosts);

// The lines of a program's configuration that make a strategy, one for each thing that it decides; "" where the program
// has no word for it, or there is nothing to say.
struct ConfigurationLines {
  std::string sharding, recompute, micro_batches;
};
ConfigurationLines LinesOf(TrainingConfiguration::Program program, const Strategy& strategy,
                           int64_t gpus, int64_t hosts, int64_t batch);

}  // namespace placewright

#endif  // PLACEWRIGHT_FORMATS_ENGINES_TRAINING_CONFIGURATION_H_
