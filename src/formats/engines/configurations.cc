#include "formats/engines/configurations.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string_view>

#include "formats/engines/uniform_plan.h"
#include "formats/text/json.h"

namespace placewright {
namespace {

using Parameter = UniformPlan::Parameter;

Error CannotSay(std::string_view program, const std::string& module, const std::string& reason,
                std::string_view remedy) {
  return MakeError(ErrorCode::kNotExpressible,
                   fmt::format("{} {}, which {} cannot say", module, reason, program), "",
                   std::string(remedy));
}

bool IsWhole(const Parameter& one) { return !one.dimension; }

const Parameter* FirstInParts(const UniformPlan& plan) {
  const auto at = std::find_if_not(plan.parameters.begin(), plan.parameters.end(), IsWhole);
  return at == plan.parameters.end() ? nullptr : &*at;
}
const Parameter* FirstWhole(const UniformPlan& plan) {
  const auto at = std::find_if(plan.parameters.begin(), plan.parameters.end(), IsWhole);
  return at == plan.parameters.end() ? nullptr : &*at;
}

int64_t SamplesOfRank(const UniformPlan& plan) {
  return plan.by_batch ? plan.batch / plan.ranks : plan.batch;
}

void NoteMean(const UniformPlan& plan, std::vector<std::string>* notes) {
  if (plan.by_batch) {
    notes->push_back("gradients are averaged over ranks: the loss must be a mean over samples");
  }
}

// What is computed again, as far as a program can say it: "full", "selective" or "". Errors: kNotExpressible naming how
// else the step was rewritten; micro-batches share samples out in another way than ranks do.
Result<std::string> RecomputedOf(const PlanInputs& plan, std::string_view program,
                                 bool says_selective) {
  std::string recompute;
  for (const Transform& one : plan.plan.distribution.transforms.value_or(Transforms())) {
    if (one.kind == Transform::kCountedDraws) continue;
    if (one.kind == Transform::kRecompute && one.modules.size() == 1) {
      recompute = one.modules.front();
      if (recompute == "full" || (recompute == "selective" && says_selective)) continue;
    }
    return CannotSay(fmt::format("{} as it is written here", program), "the step",
                     fmt::format("is rewritten ({})", Describe({one})),
                     "Train by apply() of placewright, or plan without it.");
  }
  return recompute;
}

struct TitanDegrees {
  int64_t replicate = 1, shard = 1, tensor = 1;
};

Result<TitanDegrees> DegreesOf(const UniformPlan& plan) {
  constexpr std::string_view kName = "torchtitan";
  TitanDegrees degrees;
  const Parameter* const whole = FirstWhole(plan);
  const Parameter* const parts = FirstInParts(plan);
  if (!plan.by_batch) {
    if (parts == nullptr) {
      return CannotSay(kName, "the model itself", "is on every rank with all samples",
                       "Plan with --for ddp.");
    }
    for (const Parameter& one : plan.parameters) {
      if (one.dimensions < 2 || one.dimension) continue;
      return CannotSay(kName, OwnerOf(one.name),
                       fmt::format("has \"{}\" on every rank and others in parts", one.name),
                       "Its tensor parallelism splits every layer of its own models; take "
                       "to_parallelize_module() of placewright.");
    }
    degrees.tensor = plan.ranks;
    return degrees;
  }
  if (parts == nullptr) {
    degrees.replicate = plan.ranks;
    return degrees;
  }
  if (whole != nullptr) {
    return CannotSay(
        kName, OwnerOf(whole->name),
        fmt::format("has \"{}\" on every rank and \"{}\" is in parts", whole->name, parts->name),
        "Take to_fsdp2() of placewright.");
  }
  for (const Parameter& one : plan.parameters) {
    if (*one.dimension == 0) continue;
    return CannotSay(
        kName, OwnerOf(one.name),
        fmt::format("has \"{}\" in parts along dimension {}", one.name, *one.dimension),
        "Take to_fsdp2() of placewright.");
  }
  degrees.shard = plan.ranks;
  return degrees;
}

}  // namespace

Result<std::string> WriteTorchtitan(const PlanInputs& plan, const Placement& placement,
                                    std::vector<std::string>* notes) {
  PW_ASSIGN(const std::string recompute, RecomputedOf(plan, "torchtitan", /*says_selective=*/true));
  PW_ASSIGN(const UniformPlan found, FindUniformPlan(plan, placement));
  PW_ASSIGN(const TitanDegrees degrees, DegreesOf(found));
  NoteMean(found, notes);
  if (degrees.tensor > 1) {
    notes->push_back("torchtitan's tensor parallelism splits sequences between layers, too");
  }
  std::string text = fmt::format(
      "# {} ranks on {} host{}\n\n[parallelism]\ndata_parallel_replicate_degree = {}\n"
      "data_parallel_shard_degree = {}\n",
      found.ranks, found.hosts, found.hosts == 1 ? "" : "s", degrees.replicate, degrees.shard);
  if (degrees.shard > 1) {
    text += fmt::format("fsdp_reshard_after_forward = \"{}\"\n",
                        found.gathers_again ? "always" : "never");
  }
  text += fmt::format(
      "tensor_parallel_degree = {}\npipeline_parallel_degree = 1\ncontext_parallel_degree = 1\n",
      degrees.tensor);
  if (found.batch > 0) {
    text += fmt::format("\n[training]\nlocal_batch_size = {}\nglobal_batch_size = {}\n",
                        SamplesOfRank(found), found.batch);
  }
  text += fmt::format("\n[activation_checkpoint]\nmode = \"{}\"\n",
                      recompute.empty() ? "none" : recompute);
  return text;
}

Result<std::string> WriteDeepSpeed(const PlanInputs& plan, const Placement& placement,
                                   std::vector<std::string>* notes) {
  constexpr std::string_view kName = "a DeepSpeed configuration";
  PW_ASSIGN(const std::string recompute, RecomputedOf(plan, kName, /*says_selective=*/false));
  PW_ASSIGN(const UniformPlan found, FindUniformPlan(plan, placement));
  const Parameter* const parts = FirstInParts(found);
  if (!found.by_batch) {
    const std::string module = parts == nullptr ? "the model itself" : OwnerOf(parts->name);
    return CannotSay(kName, module, "has all samples on every rank",
                     "Plan with --for ddp or --for fsdp2, or take to_parallelize_module().");
  }
  NoteMean(found, notes);
  if (!recompute.empty()) {
    notes->push_back(
        "that layers are computed again is the model's own in DeepSpeed: "
        "model.gradient_checkpointing_enable()");
  }
  Json zero = {{"stage", parts == nullptr ? 0 : 3}};
  if (parts != nullptr) {
    int64_t smallest = std::numeric_limits<int64_t>::max(), largest = 0;
    const Parameter* whole = nullptr;
    for (const Parameter& one : found.parameters) {
      if (one.dimension) {
        smallest = std::min(smallest, one.elements);
      } else if (one.elements >= largest) {
        largest = one.elements;
        whole = &one;
      }
    }
    if (whole != nullptr && largest >= smallest) {
      return CannotSay(kName, OwnerOf(whole->name),
                       fmt::format("has \"{}\" of {} elements on every rank, and smaller ones are "
                                   "in parts",
                                   whole->name, largest),
                       "Take to_fsdp2() of placewright.");
    }
    // What has fewer elements stays on every rank.
    zero["stage3_param_persistence_threshold"] = whole == nullptr ? 0 : largest + 1;
  }
  Json config = {{"zero_optimization", std::move(zero)}, {"gradient_accumulation_steps", 1}};
  if (found.batch > 0) {
    config["train_batch_size"] = found.batch;
    config["train_micro_batch_size_per_gpu"] = SamplesOfRank(found);
  }
  return config.dump(2) + "\n";
}

Result<std::string> WriteAccelerateFsdp(const PlanInputs& plan, const Placement& placement,
                                        std::vector<std::string>* notes) {
  constexpr std::string_view kName = "Accelerate's FSDP";
  constexpr std::string_view kRemedy = "Plan with --for fsdp2, or take to_fsdp2() of placewright.";
  PW_ASSIGN(const std::string recompute, RecomputedOf(plan, kName, /*says_selective=*/false));
  PW_ASSIGN(const UniformPlan found, FindUniformPlan(plan, placement));
  const Parameter* const parts = FirstInParts(found);
  if (!found.by_batch && parts != nullptr) {
    return CannotSay(kName, OwnerOf(parts->name), "has all samples on every rank", kRemedy);
  }
  if (const Parameter* const whole = FirstWhole(found); whole != nullptr) {
    return CannotSay(kName, OwnerOf(whole->name),
                     fmt::format("has \"{}\" on every rank", whole->name), kRemedy);
  }
  NoteMean(found, notes);
  notes->push_back(
      "units are the model's _no_split_modules; name others by fsdp_transformer_layer_cls_to_wrap");
  return fmt::format(
      "compute_environment: LOCAL_MACHINE\n"
      "distributed_type: FSDP\n"
      "fsdp_config:\n"
      "  fsdp_activation_checkpointing: {}\n"
      "  fsdp_version: 2\n"
      "  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n"
      "  fsdp_reshard_after_forward: {}\n"
      "  fsdp_offload_params: false\n"
      "  fsdp_state_dict_type: SHARDED_STATE_DICT\n"
      "machine_rank: 0\n"
      "main_training_function: main\n"
      "mixed_precision: 'no'\n"
      "num_machines: {}\n"
      "num_processes: {}\n"
      "rdzv_backend: static\n"
      "same_network: true\n"
      "use_cpu: false\n",
      !recompute.empty(), found.gathers_again, found.hosts, found.ranks);
}

}  // namespace placewright
