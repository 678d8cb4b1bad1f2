#include "learn/agent/agent.h"

#include <ATen/ATen.h>
#include <torch/cuda.h>

#include <algorithm>

#include "base/check.h"
#include "learn/encoder/infomax.h"
#include "learn/placer/seq2seq.h"
#include "learn/policy/encoder_placer.h"
#include "learn/policy/grouper_placer.h"
#include "learn/policy/table.h"
#include "search/partition/group_graph.h"

namespace placewright {
namespace {

constexpr int64_t kManyGroups = 2048;  // beyond that units=auto joins groups

// Streams of an agent's random numbers; the trainer has others (learned_run.cc).
enum AgentStream : uint64_t { kFirstValues = 1, kCorruptions = 2 };

// The part of each of `groups`, units of one colocation group.
Result<std::vector<int32_t>> CutUnits(const AgentProblem& problem, const PlacementUnits& groups,
                                      bool fluid, int64_t parts) {
  WeightedGraph graph = MakeGroupGraph(problem.problem, problem.groups);
  graph.weights.resize(1);  // time alone
  PartitionOptions options;
  options.parts = static_cast<int>(std::min(parts, groups.size()));
  options.seed = problem.seed;
  PW_ASSIGN(const std::vector<int32_t> part_of_group,
            fluid ? Result(PartitionFluid(graph, options)) : PartitionMetis(graph, options));
  std::vector<int32_t> part_of;
  for (const std::vector<ColocationGroupId>& unit : groups.groups) {
    part_of.push_back(part_of_group[unit.front().index()]);
  }
  return part_of;
}

UnitGraph MakeUnitGraph(const AgentProblem& problem, const PlacementUnits& units,
                        const at::TensorOptions& options) {
  return {FeaturesOfUnits(problem.problem, units).to(options),
          NormalizedAdjacency(units.size(), units.edges, options),
          ForbiddenDevices(units, problem.problem.cluster->device_count()).to(options)};
}

Seq2SeqOptions MakeSeq2SeqOptions(const AgentSettings& settings) {
  Seq2SeqOptions options;
  options.attention = settings.Is("attention", "before") ? Seq2SeqOptions::Attention::kBefore
                                                         : Seq2SeqOptions::Attention::kAfter;
  options.segment = settings.Integer("segment");
  options.width = settings.Integer("width");
  return options;
}

Result<Agent> MakeEagle(const AgentSettings& settings, const AgentProblem& problem,
                        const at::TensorOptions& numbers) {
  PlacementUnits units = UnitsOfGroups(problem.problem, problem.graph, problem.candidates);
  GrouperPlacerOptions options;
  options.groups = std::min(settings.Integer("parts"), units.size());
  options.hidden = settings.Integer("grouper-hidden");
  options.bridge = settings.Integer("bridge");
  if (!settings.Is("grouper", "learned")) {
    PW_ASSIGN(const std::vector<int32_t> parts,
              CutUnits(problem, units, settings.Is("grouper", "fluid"), options.groups));
    options.fixed = at::tensor(parts, at::kInt).to(numbers.device(), at::kLong);
  }
  const at::Tensor forbidden =
      ForbiddenDevices(units, problem.problem.cluster->device_count()).amax(0).to(numbers);
  GrouperPlacerInputs inputs{
      at::cat({FeaturesOfUnits(problem.problem, units), PlacesOfUnits(units)}, 1).to(numbers),
      TotalsOfUnits(problem.problem, units, numbers), forbidden};
  const auto make_placer = [&](int64_t width, Parameters& parameters) {
    return std::make_unique<Seq2SeqPlacer>(width, forbidden.size(0), MakeSeq2SeqOptions(settings),
                                           "placer", parameters);
  };
  auto policy = std::make_unique<GrouperPlacerPolicy>(std::move(inputs), options, make_placer,
                                                      Random(problem.seed).Fork(kFirstValues));
  return Agent{std::move(units), std::move(policy), MakeTrainerOptions(settings), {}};
}

Agent MakeMars(const AgentSettings& settings, const AgentProblem& problem, PlacementUnits units,
               const at::TensorOptions& options) {
  const Seq2SeqOptions placer = MakeSeq2SeqOptions(settings);
  const auto devices = static_cast<int64_t>(problem.problem.cluster->device_count());
  const auto make_placer = [&](int64_t width, Parameters& parameters) {
    return std::make_unique<Seq2SeqPlacer>(width, devices, placer, "placer", parameters);
  };
  const UnitGraph graph = MakeUnitGraph(problem, units, options);
  const GcnEncoder::Options encoder{static_cast<int>(settings.Integer("encoder-layers")),
                                    settings.Integer("encoder-width")};
  const Random random(problem.seed);
  auto policy =
      std::make_unique<EncoderPlacerPolicy>(graph, encoder, make_placer, random.Fork(kFirstValues));
  InfomaxOptions infomax;
  infomax.iterations = static_cast<int>(settings.Integer("pretraining"));
  const auto pretrain = [policy = policy.get(), graph, infomax, random,
                         frozen = settings.Is("encoder", "frozen")](const Budget& budget) {
    if (infomax.iterations > 0) {
      PretrainByInfomax(policy->encoder(), graph.adjacency, graph.features,
                        random.Fork(kCorruptions), budget, infomax);
    }
    if (frozen) policy->FreezeEncoder();
  };
  return {std::move(units), std::move(policy), MakeTrainerOptions(settings), pretrain};
}

}  // namespace

AgentProblem::AgentProblem(const Problem& of, uint64_t with_seed)
    : problem(of),
      seed(with_seed),
      graph(BuildOpGraph(of)),
      candidates(FindCandidateDevices(of, graph)),
      groups(DescribeGroups(of, graph)) {}

Result<PlacementUnits> MakeUnits(const AgentSettings& settings, const AgentProblem& problem) {
  PlacementUnits groups = UnitsOfGroups(problem.problem, problem.graph, problem.candidates);
  const bool automatic = settings.Is("units", "auto");
  const bool join = settings.Changed("parts") || groups.size() > kManyGroups;
  if (settings.Is("units", "groups") || (automatic && !join)) return groups;
  PW_ASSIGN(const std::vector<int32_t> part_of,
            CutUnits(problem, groups, settings.Is("units", "fluid"), settings.Integer("parts")));
  return JoinUnits(groups, part_of);
}

TrainerOptions MakeTrainerOptions(const AgentSettings& settings) {
  TrainerOptions options;
  options.algorithm = settings.Is("training", "reinforce") ? TrainerOptions::Algorithm::kReinforce
                      : settings.Is("training", "ppo")
                          ? TrainerOptions::Algorithm::kPpo
                          : TrainerOptions::Algorithm::kPpoCrossEntropy;
  options.draw = settings.Integer("draw");
  options.update = settings.Integer("update");
  options.minibatches = settings.Integer("minibatches");
  options.epochs = settings.Integer("epochs");
  options.clip = {settings.Number("clip"), settings.Is("ratio", "joint")};
  options.entropy = settings.Number("entropy");
  options.learning_rate = settings.Number("learning-rate");
  options.gradient_norm = settings.Number("gradient-norm");
  options.baseline = settings.Number("baseline-decay");
  options.elite_interval = settings.Integer("elite-interval");
  options.advantages = settings.Is("advantages", "raw")      ? TrainerOptions::Advantages::kRaw
                       : settings.Is("advantages", "scaled") ? TrainerOptions::Advantages::kScaled
                                                             : TrainerOptions::Advantages::kCentred;
  options.elites = settings.Integer("elites");
  return options;
}

Result<Agent> MakeAgent(const AgentSettings& settings, const AgentProblem& problem) {
  if (settings.Is("device", "cuda") && !torch::cuda::is_available()) {
    return MakeError(ErrorCode::kMissingRuntime, "device=cuda, but LibTorch finds no GPU", "",
                     "Leave --set device=cuda out.");
  }
  const at::TensorOptions options =
      at::TensorOptions()
          .dtype(at::kFloat)
          .device(settings.Is("device", "cuda") ? at::kCUDA : at::kCPU);
  if (settings.algorithm().name == "eagle") return MakeEagle(settings, problem, options);
  PW_ASSIGN(PlacementUnits units, MakeUnits(settings, problem));
  if (settings.algorithm().name == "mars") {
    return MakeMars(settings, problem, std::move(units), options);
  }
  PW_CHECK(settings.algorithm().name == "post");
  auto policy = std::make_unique<TablePolicy>(
      ForbiddenDevices(units, problem.problem.cluster->device_count()).to(options));
  return Agent{std::move(units), std::move(policy), MakeTrainerOptions(settings), {}};
}

}  // namespace placewright
