#include "formats/engines/training_configuration.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <utility>

#include "base/text.h"
#include "formats/text/toml.h"
#include "formats/text/yaml.h"

namespace placewright {
namespace {

constexpr int64_t kLargestDegree = 1 << 20;

// A stated value with its place, by the name of its key.
struct StatedValue {
  std::string text, place;
};
using StatedValues = std::map<std::string, StatedValue>;

class Taker {
 public:
  Taker(const StatedValues& stated, TrainingConfiguration& into) : stated_(stated), into_(into) {}

  const StatedValue* Find(const std::string& key) {
    const auto at = stated_.find(key);
    if (at == stated_.end()) return nullptr;
    into_.read.push_back(fmt::format("{} = {}", key, Printable(at->second.text, 40)));
    return &at->second;
  }
  Error Fail(const std::string& key, const std::string& why) const {
    const StatedValue& value = stated_.at(key);
    return MakeError(ErrorCode::kField,
                     fmt::format("{} = {}: {}", key, Printable(value.text, 40), why), value.place);
  }
  // `all`: what stands for what is left (-1, "auto"); `value` then stays.
  Status Int(const std::string& key, int64_t& value, std::string_view all = "") {
    const StatedValue* const found = Find(key);
    if (found == nullptr || (!all.empty() && found->text == all)) return Ok();
    int64_t number = 0;
    const char* const end = found->text.data() + found->text.size();
    const auto [read, error] = std::from_chars(found->text.data(), end, number);
    if (error != std::errc() || read != end || number < 0 || number > kLargestDegree) {
      return Fail(key, fmt::format("it is no integer from 0 to {}", kLargestDegree));
    }
    value = number;
    return Ok();
  }
  Result<bool> Flag(const std::string& key) {
    const StatedValue* const found = Find(key);
    if (found == nullptr) return false;
    if (found->text == "true" || found->text == "True" || found->text.empty()) return true;
    if (found->text == "false" || found->text == "False") return false;
    return Fail(key, "it is true or false");
  }
  // What of these is stated, though nothing comes of it.
  void Ignore(std::initializer_list<const char*> keys) {
    for (const char* const key : keys) {
      const auto at = stated_.find(key);
      if (at == stated_.end()) continue;
      into_.ignored.push_back(fmt::format("{} = {}", key, Printable(at->second.text, 40)));
    }
  }

 private:
  const StatedValues& stated_;
  TrainingConfiguration& into_;
};

// "parallelism.tensor_parallel_degree" of nested tables.
void Flatten(const YamlNode& node, const std::string& prefix, StatedValues& values) {
  for (size_t i = 0; i < node.keys.size(); ++i) {
    const std::string key = prefix + node.keys[i].text;
    const YamlNode& value = node.items[i];
    if (value.IsMap()) Flatten(value, key + ".", values);
    if (value.IsScalar()) values[key] = {value.text, value.Place()};
  }
}

std::string PlaceAt(std::string_view text, size_t at) {
  const auto line =
      std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n') + 1;
  const size_t start = text.rfind('\n', at);
  return fmt::format("line {}, column {}", line,
                     start == std::string_view::npos ? at + 1 : at - start);
}

bool IsWordChar(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// Comments of a Python file as blanks, so that places stay.
std::string WithoutComments(std::string_view text) {
  std::string code(text);
  char quote = 0;
  for (size_t at = 0; at < code.size(); ++at) {
    const char c = code[at];
    if (quote != 0) {
      if (c == quote || c == '\n') quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '#') {
      while (at < code.size() && code[at] != '\n') code[at++] = ' ';
    }
  }
  return code;
}

// Names and values of NAME=VALUE inside the calls of a Python file: ParallelismConfig(tensor_parallel_degree=8).
StatedValues KeywordsOfCalls(std::string_view file,
                             const std::map<std::string, std::string>& calls) {
  const std::string code = WithoutComments(file);
  const std::string_view text = code;
  StatedValues values;
  for (const auto& [call, table] : calls) {
    const size_t begins = text.find(call + "(");
    if (begins == std::string_view::npos) continue;
    size_t at = begins + call.size() + 1;
    for (int depth = 1; at < text.size() && depth > 0; ++at) {
      if (text[at] == '(' || text[at] == '[') ++depth;
      if (text[at] == ')' || text[at] == ']') --depth;
      if (text[at] != '=' || depth != 1) continue;
      size_t name_end = at;
      while (name_end > 0 && text[name_end - 1] == ' ') --name_end;
      size_t from = name_end;
      while (from > 0 && IsWordChar(text[from - 1])) --from;
      size_t to = at + 1;
      while (to < text.size() && std::string_view(",)\n").find(text[to]) == std::string_view::npos)
        ++to;
      std::string value(text.substr(at + 1, to - at - 1));
      std::erase_if(value, [](char c) { return c == '"' || c == '\'' || c == ' '; });
      values[table + "." + std::string(text.substr(from, name_end - from))] = {value,
                                                                               PlaceAt(text, from)};
    }
  }
  return values;
}

// Of Megatron, those that are read and take no value.
bool IsFlag(std::string_view name) {
  return name == "use-distributed-optimizer" || name == "use-torch-fsdp2" ||
         name == "sequence-parallel";
}

// "--micro-batch-size 2" and "--micro-batch-size=2"; a flag alone has an empty value. Names without dashes before them.
StatedValues ArgumentsOf(std::string_view text) {
  StatedValues values;
  std::string last;
  size_t at = 0;
  const auto is_blank = [](char c) {
    return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\\' || c == '"' || c == '\'' ||
           c == '(' || c == ')';
  };
  while (at < text.size()) {
    while (at < text.size() && is_blank(text[at])) ++at;
    if (at < text.size() && text[at] == '#') {
      while (at < text.size() && text[at] != '\n') ++at;
      continue;
    }
    const size_t from = at;
    while (at < text.size() && !is_blank(text[at])) ++at;
    const std::string word(text.substr(from, at - from));
    if (word.starts_with("--")) {
      const size_t equals = word.find('=');
      last = word.substr(2, equals == std::string::npos ? std::string::npos : equals - 2);
      std::replace(last.begin(), last.end(), '_', '-');
      values[last] = {equals == std::string::npos ? "" : word.substr(equals + 1),
                      PlaceAt(text, from)};
      if (IsFlag(last)) last.clear();
    } else if (!word.empty() && !last.empty() && values[last].text.empty()) {
      values[last].text = word;
      last.clear();
    }
  }
  return values;
}

Status TakeSchedule(const std::string& name, const std::string& key, Taker& take,
                    TrainingConfiguration& into) {
  const std::map<std::string, std::string> known = {
      {"1F1B", "1f1b"}, {"GPipe", "gpipe"}, {"Interleaved1F1B", "interleaved"}};
  const auto at = known.find(name);
  if (at == known.end())
    return take.Fail(key, "the schedules read are 1F1B, GPipe and Interleaved1F1B");
  into.schedule = at->second;
  if (into.schedule == "interleaved") into.chunks = 2;
  return Ok();
}

Result<TrainingConfiguration> TakeTorchtitan(const StatedValues& stated) {
  TrainingConfiguration into;
  into.program = TrainingConfiguration::Program::kTorchtitan;
  Taker take(stated, into);
  into.replicate = 1;
  PW_RETURN_IF_ERROR(take.Int("parallelism.data_parallel_replicate_degree", into.replicate));
  PW_RETURN_IF_ERROR(take.Int("parallelism.data_parallel_shard_degree", into.shard, "-1"));
  PW_RETURN_IF_ERROR(take.Int("parallelism.tensor_parallel_degree", into.tensor));
  PW_RETURN_IF_ERROR(take.Int("parallelism.pipeline_parallel_degree", into.pipeline));
  PW_RETURN_IF_ERROR(take.Int("parallelism.context_parallel_degree", into.context));
  PW_RETURN_IF_ERROR(take.Int("parallelism.expert_parallel_degree", into.expert));
  into.zero_stage = into.shard == 1 ? 0 : 3;
  const std::string reshard = "parallelism.fsdp_reshard_after_forward";
  if (const StatedValue* const value = take.Find(reshard); value != nullptr) {
    if (value->text == "never") {
      into.zero_stage = std::min<int64_t>(into.zero_stage, 2);
    } else if (value->text != "always" && value->text != "default") {
      return take.Fail(reshard, "it is default, always or never");
    }
  }
  const std::string schedule = "parallelism.pipeline_parallel_schedule";
  if (into.pipeline > 1) {
    if (const StatedValue* const value = take.Find(schedule); value != nullptr) {
      PW_RETURN_IF_ERROR(TakeSchedule(value->text, schedule, take, into));
    }
    PW_RETURN_IF_ERROR(
        take.Int("parallelism.pipeline_parallel_microbatch_size", into.samples_of_rank));
  }
  int64_t local = 0;
  PW_RETURN_IF_ERROR(take.Int("training.local_batch_size", local));
  if (local == 0) PW_RETURN_IF_ERROR(take.Int("training.batch_size", local));
  PW_RETURN_IF_ERROR(take.Int("training.global_batch_size", into.global_batch, "-1"));
  // Of a pipeline a rank's batch is cut into micro-batches of a size of their own, 1 where it is not stated.
  if (into.pipeline > 1 && local > 0) {
    if (into.samples_of_rank == 0) into.samples_of_rank = 1;
    into.accumulation = local / into.samples_of_rank;
  } else {
    into.samples_of_rank = local;
  }
  const std::string mode = "activation_checkpoint.mode";
  if (const StatedValue* const value = take.Find(mode); value != nullptr) {
    if (value->text == "full" || value->text == "selective") {
      into.recompute = {value->text};
    } else if (value->text != "none") {
      return take.Fail(mode, "it is none, selective or full");
    }
  }
  take.Ignore({"parallelism.enable_async_tensor_parallel", "parallelism.disable_loss_parallel",
               "parallelism.expert_tensor_parallel_degree",
               "parallelism.pipeline_parallel_layers_per_stage",
               "activation_checkpoint.selective_ac_option", "training.enable_cpu_offload",
               "training.seq_len", "training.mixed_precision_param",
               "training.mixed_precision_reduce", "compile.enable"});
  return into;
}

Result<TrainingConfiguration> TakeMegatron(const StatedValues& stated) {
  TrainingConfiguration into;
  into.program = TrainingConfiguration::Program::kMegatron;
  Taker take(stated, into);
  PW_RETURN_IF_ERROR(take.Int("tensor-model-parallel-size", into.tensor));
  PW_RETURN_IF_ERROR(take.Int("pipeline-model-parallel-size", into.pipeline));
  PW_RETURN_IF_ERROR(take.Int("context-parallel-size", into.context));
  PW_RETURN_IF_ERROR(take.Int("expert-model-parallel-size", into.expert));
  PW_RETURN_IF_ERROR(take.Int("num-virtual-stages-per-pipeline-rank", into.chunks));
  into.chunks = std::max<int64_t>(1, into.chunks);
  if (into.chunks > 1) into.schedule = "interleaved";
  PW_RETURN_IF_ERROR(take.Int("micro-batch-size", into.samples_of_rank));
  PW_RETURN_IF_ERROR(take.Int("global-batch-size", into.global_batch));
  PW_ASSIGN(const bool distributed, take.Flag("use-distributed-optimizer"));
  if (distributed) into.zero_stage = 1;
  PW_ASSIGN(const bool fsdp2, take.Flag("use-torch-fsdp2"));
  if (fsdp2) into.zero_stage = 3;
  PW_ASSIGN(into.sequence, take.Flag("sequence-parallel"));
  const std::string granularity = "recompute-granularity";
  if (const StatedValue* const value = take.Find(granularity); value != nullptr) {
    if (value->text == "selective") {
      into.recompute = {"megatron"};
    } else if (value->text == "full") {
      into.recompute = {"full"};
    } else {
      return take.Fail(granularity, "it is selective or full");
    }
  }
  take.Ignore({"num-layers-per-virtual-pipeline-stage", "recompute-method", "recompute-num-layers",
               "overlap-grad-reduce", "overlap-param-gather", "tp-comm-overlap",
               "optimizer-cpu-offload", "seq-length", "bf16", "fp16"});
  return into;
}

Result<TrainingConfiguration> TakeDeepSpeed(const StatedValues& stated) {
  TrainingConfiguration into;
  into.program = TrainingConfiguration::Program::kDeepSpeed;
  Taker take(stated, into);
  PW_RETURN_IF_ERROR(take.Int("zero_optimization.stage", into.zero_stage));
  if (into.zero_stage > 3) return take.Fail("zero_optimization.stage", "the stages are 0 to 3");
  PW_RETURN_IF_ERROR(take.Int("train_micro_batch_size_per_gpu", into.samples_of_rank, "auto"));
  PW_RETURN_IF_ERROR(take.Int("train_batch_size", into.global_batch, "auto"));
  PW_RETURN_IF_ERROR(take.Int("gradient_accumulation_steps", into.accumulation, "auto"));
  take.Ignore(
      {"zero_optimization.offload_optimizer.device", "zero_optimization.offload_param.device",
       "zero_optimization.stage3_param_persistence_threshold", "zero_optimization.overlap_comm",
       "zero_optimization.reduce_bucket_size", "activation_checkpointing.partition_activations",
       "activation_checkpointing.cpu_checkpointing", "activation_checkpointing.number_checkpoints",
       "bf16.enabled", "fp16.enabled"});
  return into;
}

bool HasAny(const StatedValues& values, std::initializer_list<std::string_view> beginnings) {
  return std::any_of(values.begin(), values.end(), [&](const auto& one) {
    return std::any_of(beginnings.begin(), beginnings.end(),
                       [&](std::string_view key) { return one.first.starts_with(key); });
  });
}

Error Inexpressible(const std::string& what, const std::string& remedy) {
  return MakeError(ErrorCode::kNotExpressible, what, "", remedy);
}

// Degrees of data parallelism over what the others leave.
Result<std::pair<int64_t, int64_t>> DataDegrees(const TrainingConfiguration& of, int64_t gpus) {
  const int64_t model = of.tensor * of.pipeline * of.context;
  if (model < 1 || gpus % model != 0) {
    return MakeError(
        ErrorCode::kField,
        fmt::format("{} GPUs are no multiple of {} (tensor {}, pipeline {}, context {})", gpus,
                    model, of.tensor, of.pipeline, of.context),
        "", "Give the cluster that the configuration is for.");
  }
  const int64_t data = gpus / model;
  int64_t replicate = of.replicate, shard = of.shard;
  if (replicate == 0 && shard == 0) {
    const bool shards = of.zero_stage > 0;
    return std::pair(shards ? int64_t{1} : data, shards ? data : int64_t{1});
  }
  if (shard == 0) shard = data / std::max<int64_t>(1, replicate);
  if (replicate == 0) replicate = data / std::max<int64_t>(1, shard);
  if (replicate * shard != data) {
    return MakeError(ErrorCode::kField,
                     fmt::format("{} replicas of {} shards are {} ranks, and there are {} GPUs for "
                                 "data parallelism",
                                 replicate, shard, replicate * shard, data),
                     "", "Give the cluster that the configuration is for.");
  }
  return std::pair(replicate, shard);
}

Result<std::string> AlgorithmOf(const TrainingConfiguration& of, int64_t replicate, int64_t shard,
                                int64_t gpus, int64_t hosts, std::vector<std::string>& notes) {
  const std::string remedy = "Plan without --from, or with --layouts.";
  const int64_t of_host = hosts > 0 ? gpus / hosts : gpus;
  if (of.expert > 1) {
    return Inexpressible(
        fmt::format("expert parallelism of {} is not planned by a configuration", of.expert),
        "Plan with --algo experts.");
  }
  if (of.pipeline > 1) {
    if (of.tensor > 1 || of.context > 1) {
      return Inexpressible(
          "a pipeline of stages with tensor or context parallelism is not planned by a "
          "configuration",
          fmt::format("Plan with --algo 3d --stages {} --set tensor={}.", of.pipeline, of.tensor));
    }
    if (of.zero_stage > 0 && replicate * shard > 1) {
      notes.emplace_back("within a stage parameters and state are whole on every GPU");
    }
    return of.schedule.empty() ? std::string("1f1b") : of.schedule;
  }
  if (of.tensor > 1) {
    if (of_host % of.tensor != 0 || of.context > 1) {
      return Inexpressible(
          fmt::format("tensor parallelism of {} on hosts of {} GPUs is not planned: a host's GPUs "
                      "are groups of as many, and have no context parallelism beside it",
                      of.tensor, of_host),
          remedy);
    }
    // A distributed optimizer is a setting of `tensor` (StrategyOfConfiguration).
    const std::string algorithm = of.zero_stage > 1 ? "2d" : "tensor";
    if (of.zero_stage == 2) {
      notes.emplace_back("2d shards parameters, too, and gathers them for each pass");
    }
    if (of.program == TrainingConfiguration::Program::kMegatron && !of.sequence) {
      notes.emplace_back("tokens are split beside tensors, as with --sequence-parallel");
    }
    return algorithm;
  }
  if (of.context > 1) {
    if (of_host % of.context != 0) {
      return Inexpressible(
          fmt::format("context parallelism of {} on hosts of {} GPUs is not planned", of.context,
                      of_host),
          remedy);
    }
    return std::string("context");
  }
  if (shard == 1 || of.zero_stage == 0) return std::string("data-parallel");
  const bool hybrid = replicate > 1;
  if (hybrid && (shard != of_host || replicate != hosts)) {
    return Inexpressible(
        fmt::format("{} replicas of {} shards on {} hosts of {} GPUs are not planned: "
                    "hsdp has a replica a host",
                    replicate, shard, hosts, of_host),
        remedy);
  }
  if (of.zero_stage == 3) return std::string(hybrid ? "hsdp" : "fsdp");
  if (of.zero_stage == 1 && !hybrid) return std::string("zero-1");
  return std::string(hybrid ? "hybrid-zero-2" : "zero-2");
}

}  // namespace

std::string_view ToString(TrainingConfiguration::Program program) {
  switch (program) {
    case TrainingConfiguration::Program::kTorchtitan: return "torchtitan";
    case TrainingConfiguration::Program::kMegatron: return "Megatron";
    case TrainingConfiguration::Program::kDeepSpeed: return "DeepSpeed";
  }
  return "torchtitan";
}

Result<TrainingConfiguration> ReadTrainingConfiguration(std::string_view text) {
  const Error unknown = MakeError(ErrorCode::kFormatUnknown,
                                  "it is no configuration of torchtitan, Megatron or DeepSpeed", "",
                                  "docs/from-configuration.md says what is read.");
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return unknown;
  StatedValues values;
  if (text[first] == '{') {
    PW_ASSIGN(const YamlNode json, ParseYaml(text));
    Flatten(json, "", values);
    if (!HasAny(values, {"zero_optimization", "train_", "gradient_accumulation_steps"}))
      return unknown;
    return TakeDeepSpeed(values);
  }
  if (text.find("ParallelismConfig(") != std::string_view::npos) {
    return TakeTorchtitan(
        KeywordsOfCalls(text, {{"ParallelismConfig", "parallelism"},
                               {"TrainingConfig", "training"},
                               {"ActivationCheckpointConfig", "activation_checkpoint"}}));
  }
  if (text.find("--") != std::string_view::npos) {
    values = ArgumentsOf(text);
    if (HasAny(values, {"tensor-model-parallel", "pipeline-model-parallel", "micro-batch-size",
                        "use-distributed-optimizer"})) {
      return TakeMegatron(values);
    }
  }
  if (text.find("[parallelism]") != std::string_view::npos ||
      text.find("[training]") != std::string_view::npos) {
    PW_ASSIGN(const YamlNode toml, ParseToml(text));
    Flatten(toml, "", values);
    return TakeTorchtitan(values);
  }
  const Result<YamlNode> yaml = ParseYaml(text);
  if (!yaml.ok() || !yaml.value().IsMap()) return unknown;
  StatedValues nested;
  Flatten(yaml.value(), "", nested);
  values.clear();
  for (const auto& [key, value] : nested) {  // sections of the file do not matter
    std::string name = key.substr(key.rfind('.') == std::string::npos ? 0 : key.rfind('.') + 1);
    std::replace(name.begin(), name.end(), '_', '-');
    values[name] = value;
  }
  if (!HasAny(values, {"tensor-model-parallel", "pipeline-model-parallel", "micro-batch-size"}))
    return unknown;
  return TakeMegatron(values);
}

Result<ConfiguredStrategy> StrategyOfConfiguration(const TrainingConfiguration& configuration,
                                                   int64_t gpus, int64_t hosts) {
  ConfiguredStrategy made;
  PW_ASSIGN(const auto degrees, DataDegrees(configuration, gpus));
  const auto [replicate, shard] = degrees;
  PW_ASSIGN(made.strategy.algorithm,
            AlgorithmOf(configuration, replicate, shard, gpus, hosts, made.notes));
  if (configuration.tensor > 1) {
    made.strategy.settings.push_back(fmt::format("tensor={}", configuration.tensor));
    const bool shared = replicate * shard > 1;  // by several groups
    if (made.strategy.algorithm == "tensor" && configuration.zero_stage == 1 && shared) {
      made.strategy.settings.emplace_back("optimizer=shards");
    }
  }
  if (configuration.context > 1) {
    made.strategy.settings.push_back(fmt::format("context={}", configuration.context));
  }
  Rewriting& rewriting = made.strategy.rewriting;
  rewriting.recompute = configuration.recompute;
  const int64_t of_all = configuration.samples_of_rank * replicate * shard;
  int64_t steps = configuration.accumulation;
  made.batch = configuration.global_batch;
  if (made.batch == 0) made.batch = of_all * std::max<int64_t>(1, steps);
  if (steps == 0 && of_all > 0) steps = made.batch / of_all;
  if (of_all > 0 && made.batch != std::max<int64_t>(1, steps) * of_all) {
    return MakeError(
        ErrorCode::kField,
        fmt::format("a batch of {} is not {} micro-batches of {} samples on {} ranks", made.batch,
                    std::max<int64_t>(1, steps), configuration.samples_of_rank, replicate * shard),
        "", "Change the batch, or give the cluster that the configuration is for.");
  }
  rewriting.micro_batches = steps > 1 ? steps : 0;
  if (configuration.pipeline > 1) {
    rewriting.schedule = made.strategy.algorithm;
    rewriting.stages = configuration.pipeline;
    rewriting.chunks = configuration.chunks;
  }
  return made;
}

namespace {

std::string TorchtitanSharding(const std::string& algorithm, int64_t gpus, int64_t hosts) {
  const auto degrees = [](int64_t replicate, int64_t shard) {
    return fmt::format("data_parallel_replicate_degree = {}, data_parallel_shard_degree = {}",
                       replicate, shard);
  };
  if (algorithm == "data-parallel" || algorithm == "horovod") return degrees(gpus, 1);
  if (algorithm == "fsdp") return degrees(1, gpus);
  if (algorithm == "hsdp") return degrees(hosts, gpus / std::max<int64_t>(1, hosts));
  const std::string never = ", fsdp_reshard_after_forward = \"never\"";
  if (algorithm == "zero-2") return degrees(1, gpus) + never;
  if (algorithm == "hybrid-zero-2") {
    return degrees(hosts, gpus / std::max<int64_t>(1, hosts)) + never;
  }
  return "";
}

// "4" of "tensor=4"; "": no such setting.
std::string SettingOf(const Strategy& strategy, std::string_view name) {
  for (const std::string& setting : strategy.settings) {
    if (setting.starts_with(std::string(name) + "=")) return setting.substr(name.size() + 1);
  }
  return "";
}

// GPUs that share samples: as stated, or as many as planners take.
int64_t GroupOf(const Strategy& strategy, int64_t gpus, int64_t hosts) {
  const std::string& algorithm = strategy.algorithm;
  for (const char* const name : {"tensor", "context"}) {
    const std::string degree = SettingOf(strategy, name);
    int64_t stated = 0;
    const auto read = std::from_chars(degree.data(), degree.data() + degree.size(), stated);
    if (read.ec == std::errc() && stated > 0) return stated;
  }
  const bool shared = algorithm == "tensor" || algorithm == "2d" || algorithm == "ulysses" ||
                      algorithm == "context";
  return shared ? std::clamp<int64_t>(gpus / std::max<int64_t>(1, hosts), 1, 8) : 1;
}

std::string MegatronSharding(const Strategy& strategy, int64_t gpus, int64_t hosts) {
  const std::string& algorithm = strategy.algorithm;
  // Gradients are whole until the last micro-batch; of one, that is ZeRO stage 2.
  const bool sharded_late = algorithm == "zero-1" || strategy.rewriting.micro_batches <= 1;
  if (sharded_late && (algorithm == "zero-1" || algorithm == "zero-2")) {
    return "--use-distributed-optimizer";
  }
  if (algorithm == "fsdp") return "--use-torch-fsdp2";
  if (algorithm != "2d" && algorithm != "tensor") return "";
  std::string text = fmt::format("--tensor-model-parallel-size {} --sequence-parallel",
                                 GroupOf(strategy, gpus, hosts));
  if (algorithm == "2d") text += " --use-torch-fsdp2";
  if (SettingOf(strategy, "optimizer") == "shards") text += " --use-distributed-optimizer";
  return text;
}

// The order of a pipeline; "": it cannot be said, as stages of stated layers.
std::string TorchtitanPipeline(const Rewriting& of) {
  if (!of.layers.empty()) return "";
  const std::map<std::string, std::string> names = {
      {"1f1b", "1F1B"}, {"gpipe", "GPipe"}, {"interleaved", "Interleaved1F1B"}};
  const auto name = names.find(of.schedule);
  if (name == names.end()) return "";
  return fmt::format("pipeline_parallel_degree = {}, pipeline_parallel_schedule = \"{}\"",
                     of.stages, name->second);
}

std::string MegatronPipeline(const Rewriting& of) {
  if (!of.layers.empty() || (of.schedule != "1f1b" && of.schedule != "interleaved")) return "";
  std::string text = fmt::format("--pipeline-model-parallel-size {}", of.stages);
  if (of.schedule == "interleaved") {
    text += fmt::format(" --num-virtual-stages-per-pipeline-rank {}", of.chunks);
  }
  return text;
}

std::string DeepSpeedSharding(const std::string& algorithm) {
  if (algorithm == "data-parallel" || algorithm == "horovod") return "zero_optimization.stage = 0";
  if (algorithm == "zero-1") return "zero_optimization.stage = 1";
  if (algorithm == "zero-2") return "zero_optimization.stage = 2";
  if (algorithm == "fsdp") return "zero_optimization.stage = 3";
  return "";
}

}  // namespace

ConfigurationLines LinesOf(TrainingConfiguration::Program program, const Strategy& strategy,
                           int64_t gpus, int64_t hosts, int64_t batch) {
  using Program = TrainingConfiguration::Program;
  const Rewriting& rewriting = strategy.rewriting;
  const std::string set = rewriting.recompute.empty() ? "none" : rewriting.recompute.front();
  const int64_t steps = std::max<int64_t>(1, rewriting.micro_batches);
  const int64_t stages = std::max<int64_t>(1, rewriting.stages);
  const int64_t ranks = gpus / stages / GroupOf(strategy, gpus, hosts);
  const int64_t of_rank = batch / std::max<int64_t>(1, ranks * steps);
  ConfigurationLines lines;
  // Engines take all GPUs in equal shares.
  for (const char* const name : {"gpus", "shares", "sequence"}) {
    if (!SettingOf(strategy, name).empty()) return lines;
  }
  switch (program) {
    case Program::kTorchtitan:
      lines.sharding = stages > 1 ? TorchtitanPipeline(rewriting)
                                  : TorchtitanSharding(strategy.algorithm, gpus, hosts);
      if (set != "megatron") {
        lines.recompute = fmt::format("activation_checkpoint.mode = \"{}\"", set);
      }
      lines.micro_batches =
          stages > 1 ? fmt::format("local_batch_size = {}, pipeline_parallel_microbatch_size = {}",
                                   of_rank * steps, of_rank)
                     : fmt::format("local_batch_size = {}, global_batch_size = {}", of_rank, batch);
      break;
    case Program::kMegatron:
      lines.sharding =
          stages > 1 ? MegatronPipeline(rewriting) : MegatronSharding(strategy, gpus, hosts);
      lines.recompute = set == "none" ? "no --recompute-granularity"
                                      : fmt::format("--recompute-granularity {}",
                                                    set == "full" ? "full" : "selective");
      lines.micro_batches = fmt::format("--micro-batch-size {}", of_rank);
      break;
    case Program::kDeepSpeed:
      if (stages == 1) lines.sharding = DeepSpeedSharding(strategy.algorithm);
      lines.recompute = set == "none"
                            ? "no activation checkpointing in the model"
                            : fmt::format("activation checkpointing in the model ({})", set);
      lines.micro_batches = fmt::format(
          "train_micro_batch_size_per_gpu = {}, gradient_accumulation_steps = {}", of_rank, steps);
      break;
  }
  // Globs are said in no flag.
  const bool in_words = set == "none" || set == "full" || set == "selective" || set == "megatron";
  if (!in_words) lines.recompute.clear();
  if (strategy.algorithm == "3d" || strategy.algorithm == "offload") lines.sharding.clear();
  return lines;
}

}  // namespace placewright
