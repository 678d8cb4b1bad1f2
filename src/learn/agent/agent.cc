#include "learn/agent/agent.h"

#include <ATen/ATen.h>
#include <torch/cuda.h>

#include <algorithm>

#include "base/check.h"
#include "learn/encoder/gcn.h"
#include "learn/encoder/graph_sage.h"
#include "learn/encoder/infomax.h"
#include "learn/placer/independent.h"
#include "learn/placer/seq2seq.h"
#include "learn/placer/transformer_xl.h"
#include "learn/policy/categorical.h"
#include "learn/policy/encoder_placer.h"
#include "learn/policy/following.h"
#include "learn/policy/grouper_placer.h"
#include "learn/policy/table.h"
#include "learn/units/constructive_plans.h"
#include "learn/units/cost_features.h"
#include "learn/units/plan_features.h"
#include "learn/units/unit_tensors.h"

namespace placewright {
namespace {

// Streams of an agent's random numbers; the trainer has others (learned_run.cc).
enum AgentStream : uint64_t {
  kFirstValues = 1,
  kCorruptions = 2,
  kNeighbourDraws = 3,
  kShuffledFeatures = 4
};

TraversalOrder OrderOf(const AgentSettings& settings) {
  return ParseTraversalOrder(settings.Word("order")).value();
}

std::unique_ptr<PlacerNet> MakePlacer(const AgentSettings& settings, int64_t inputs,
                                      int64_t devices, Parameters& parameters) {
  const bool centred = settings.Is("scores", "centred");
  if (settings.Is("placer", "mlp")) {
    return std::make_unique<MlpPlacer>(inputs, devices, settings.Integer("width"), "placer",
                                       parameters, centred);
  }
  if (settings.Is("placer", "gcn")) {
    return std::make_unique<GcnPlacer>(inputs, devices, settings.Integer("width"), "placer",
                                       parameters, centred);
  }
  if (settings.Is("placer", "transformer-xl")) {
    TransformerXlOptions options;
    options.segment = settings.Integer("segment");
    options.centred = centred;
    return std::make_unique<TransformerXlPlacer>(inputs, devices, options, "placer", parameters);
  }
  Seq2SeqOptions options;
  options.attention = settings.Is("attention", "before") ? Seq2SeqOptions::Attention::kBefore
                                                         : Seq2SeqOptions::Attention::kAfter;
  options.segment = settings.Integer("segment");
  options.width = settings.Integer("width");
  options.logit_bound = settings.Number("logit-bound");
  options.switches = settings.Number("switches");
  return std::make_unique<Seq2SeqPlacer>(inputs, devices, options, "placer", parameters);
}

// nullptr: each unit draws by itself. Colocation groups are taken for a policy's likeliest placement, which nothing is
// drawn for.
std::shared_ptr<const SharedDraws> DrawsOf(const AgentSettings& settings,
                                           const AgentProblem& problem, const PlacementUnits& units,
                                           AgentUnits units_are) {
  if (!settings.Is("draws", "shared") || units_are == AgentUnits::kGroups) return nullptr;
  return std::make_shared<SharedDraws>(
      units.size(), units.edges,
      EdgeTimes(problem.problem, problem.graph, problem.candidates, units),
      static_cast<int64_t>(problem.problem.cluster->device_count()));
}

// Of groups, which exchange data with those beside them in the sequence before anything else is known of them.
std::shared_ptr<const SharedDraws> DrawsOfGroups(const AgentSettings& settings, int64_t groups,
                                                 int64_t devices) {
  if (!settings.Is("draws", "shared")) return nullptr;
  std::vector<UnitEdge> chain;
  for (int64_t group = 1; group < groups; ++group) chain.emplace_back(group - 1, group);
  return std::make_shared<SharedDraws>(groups, chain, std::vector<double>(chain.size(), 1),
                                       devices);
}

Result<Agent> MakeEagle(const AgentSettings& settings, const AgentProblem& problem,
                        const std::shared_ptr<Parameters>& parameters) {
  const at::TensorOptions& numbers = parameters->options();
  PlacementUnits units =
      UnitsOfGroups(problem.problem, problem.graph, problem.candidates, OrderOf(settings));
  GrouperPlacerOptions options;
  // The Hierarchical Planner's number where none is stated.
  const auto devices = static_cast<int64_t>(problem.problem.cluster->device_count());
  const int64_t asked = settings.Integer("parts");
  options.groups = std::min(asked > 0 ? asked : std::min<int64_t>(256, 20 * devices), units.size());
  options.hidden = settings.Integer("grouper-hidden");
  options.blocks = settings.Number("grouper-blocks");
  options.bridge = settings.Integer("bridge");
  options.uniform = settings.Number("explore");
  options.sees_adjacency = !settings.Is("placer", "gcn");
  options.shared = DrawsOfGroups(settings, options.groups, devices);
  if (!settings.Is("grouper", "learned")) {
    PW_ASSIGN(const std::vector<int32_t> parts,
              CutUnits(problem.problem, problem.groups, units, settings.Is("grouper", "fluid"),
                       options.groups, problem.seed));
    options.fixed = at::tensor(parts, at::kInt).to(numbers.device(), at::kLong);
  }
  const at::Tensor forbidden =
      ForbiddenDevices(units, problem.problem.cluster->device_count()).amax(0).to(numbers);
  GrouperPlacerInputs inputs{
      at::cat({FeaturesOfUnits(problem.problem, units), PlacesOfUnits(units)}, 1).to(numbers),
      TotalsOfUnits(problem.problem, units, numbers), forbidden};
  const auto make_placer = [&](int64_t width, Parameters& of_placer) {
    return MakePlacer(settings, width, forbidden.size(0), of_placer);
  };
  auto policy =
      std::make_unique<GrouperPlacerPolicy>(std::move(inputs), options, make_placer, parameters);
  return Agent{std::move(units), std::move(policy), MakeTrainerOptions(settings), {}, {}};
}

// The encoder, and in `graph` the form in which it sees the units.
std::unique_ptr<GraphEncoder> MakeEncoder(const AgentSettings& settings,
                                          const AgentProblem& problem, const PlacementUnits& units,
                                          UnitGraph& graph, Parameters& parameters) {
  const int layers = static_cast<int>(settings.Integer("encoder-layers"));
  const int64_t width = settings.Integer("encoder-width"), features = graph.features.size(1);
  if (settings.Is("encoder", "gcn")) {
    graph.structure = graph.adjacency;
    return std::make_unique<GcnEncoder>(features, GcnEncoder::Options{layers, width}, "encoder",
                                        parameters);
  }
  constexpr int64_t kSampled = 5;
  graph.structure = SampleNeighbours(units.size(), units.edges, kSampled,
                                     Random(problem.seed).Fork(kNeighbourDraws))
                        .to(graph.features.device());
  return std::make_unique<GraphSageEncoder>(features, GraphSageEncoder::Options{layers, width},
                                            "encoder", parameters);
}

// Rows in another order.
at::Tensor Shuffled(const at::Tensor& rows, uint64_t seed) {
  Random random = Random(seed).Fork(kShuffledFeatures);
  const at::Tensor order = at::tensor(RandomPermutation(rows.size(0), random));
  return rows.index_select(0, order.to(rows.device()));
}

Agent MakeGdp(const AgentSettings& settings, const AgentProblem& problem, AgentUnits units_are,
              PlacementUnits units, const std::shared_ptr<Parameters>& parameters) {
  const auto devices = static_cast<int64_t>(problem.problem.cluster->device_count());
  const at::TensorOptions& numbers = parameters->options();
  const int64_t neighbours = settings.Integer("neighbours");
  const at::Tensor structure = neighbours == 0
                                   ? AllNeighbours(units.size(), units.edges)
                                   : SampleNeighbours(units.size(), units.edges, neighbours,
                                                      Random(problem.seed).Fork(kNeighbourDraws));
  // Of PlacesOfUnits, the neighbours come last.
  at::Tensor places = PlacesOfUnits(units);
  if (settings.Is("places", "off")) places = places.narrow(1, 1 + 2 * kHarmonics, kNeighbours);
  std::vector<at::Tensor> features = {FeaturesOfUnits(problem.problem, units), places};
  if (settings.Is("costs", "on")) {
    features.push_back(
        CostFeatures(problem.problem, problem.graph, problem.candidates, problem.groups, units));
  }
  UnitGraph graph{at::cat(features, 1).to(numbers), structure.to(numbers.device()), at::Tensor(),
                  ForbiddenDevices(units, static_cast<size_t>(devices)).to(numbers), at::Tensor()};
  graph.shared = DrawsOf(settings, problem, units, units_are);
  if (settings.Is("features", "none")) graph.features.zero_();
  if (settings.Is("features", "shuffled")) {
    graph.features = Shuffled(graph.features, problem.seed);
  }
  GraphSageEncoder::Options of_encoder;
  of_encoder.layers = static_cast<int>(settings.Integer("encoder-layers"));
  of_encoder.width = settings.Integer("encoder-width");
  of_encoder.exact = neighbours == 0;
  // Of some four hundred features most are 0: op types that a unit does not have.
  of_encoder.embedded = true;
  auto encoder = std::make_unique<GraphSageEncoder>(graph.features.size(1), of_encoder, "encoder",
                                                    *parameters);
  TransformerXlOptions of_placer;
  of_placer.segment = settings.Integer("segment");
  of_placer.attention = settings.Is("attention", "on");
  of_placer.superposition = settings.Is("superposition", "on");
  of_placer.centred = settings.Is("scores", "centred");
  if (settings.Is("devices", "described")) {
    graph.devices = DeviceFeatures(problem.problem, problem.candidates).to(numbers);
    of_placer.device_features = kDeviceFeatureCount;
  }
  const auto make_placer = [&](int64_t width, Parameters& of) -> std::unique_ptr<PlacerNet> {
    return std::make_unique<TransformerXlPlacer>(width, devices, of_placer, "placer", of);
  };
  const double uniform = UniformShare(settings.Number("explore"), units.size());
  auto placed = std::make_unique<EncoderPlacerPolicy>(graph, std::move(encoder), make_placer,
                                                      uniform, parameters);
  std::unique_ptr<Policy> policy;
  if (settings.Is("plans", "followed")) {
    const at::Tensor plans = PlansAsFeatures(problem.problem, units, problem.plans());
    at::Tensor said = PlanFeatures(problem.problem, problem.graph, problem.candidates,
                                   problem.groups, problem.plans());
    if (settings.Is("features", "none")) said.zero_();
    if (settings.Is("features", "shuffled")) said = Shuffled(said, problem.seed);
    policy = std::make_unique<FollowingPolicy>(std::move(placed), plans.to(numbers),
                                               said.to(numbers), uniform, parameters);
  } else {
    policy = std::move(placed);
  }
  return Agent{std::move(units), std::move(policy), MakeTrainerOptions(settings), {}, {}};
}

Agent MakeMars(const AgentSettings& settings, const AgentProblem& problem, AgentUnits units_are,
               PlacementUnits units, const std::shared_ptr<Parameters>& parameters) {
  const auto devices = static_cast<int64_t>(problem.problem.cluster->device_count());
  const auto make_placer = [&](int64_t width, Parameters& of_placer) {
    return MakePlacer(settings, width, devices, of_placer);
  };
  const at::TensorOptions& numbers = parameters->options();
  UnitGraph graph{FeaturesOfUnits(problem.problem, units).to(numbers), at::Tensor(),
                  NormalizedAdjacency(units.size(), units.edges, numbers),
                  ForbiddenDevices(units, static_cast<size_t>(devices)).to(numbers), at::Tensor()};
  graph.shared = DrawsOf(settings, problem, units, units_are);
  std::unique_ptr<GraphEncoder> encoder = MakeEncoder(settings, problem, units, graph, *parameters);
  auto policy = std::make_unique<EncoderPlacerPolicy>(
      graph, std::move(encoder), make_placer,
      UniformShare(settings.Number("explore"), units.size()), parameters);
  Agent agent{std::move(units), nullptr, MakeTrainerOptions(settings), {}, {}};
  InfomaxOptions infomax;
  infomax.iterations = static_cast<int>(settings.Integer("pretraining"));
  if (infomax.iterations > 0) {
    const Random random = Random(problem.seed).Fork(kCorruptions);
    agent.pretrain = [policy = policy.get(), graph, infomax, random](const Budget& budget) {
      PretrainByInfomax(policy->encoder(), graph.structure, graph.features, random, budget,
                        infomax);
    };
  }
  if (settings.Is("representations", "frozen")) {
    agent.begin = [policy = policy.get()] { policy->FreezeEncoder(); };
  }
  agent.policy = std::move(policy);
  return agent;
}

}  // namespace

AgentProblem::AgentProblem(const Problem& of, uint64_t with_seed)
    : problem(of),
      seed(with_seed),
      graph(BuildOpGraph(of)),
      candidates(FindCandidateDevices(of, graph)),
      groups(DescribeGroups(of, graph)) {}

const FollowablePlans& AgentProblem::plans() const {
  if (!plans_) plans_ = ConstructivePlansOf(problem, graph, candidates, groups);
  return *plans_;
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
  options.noise = settings.Number("logit-noise");
  options.noise_until = settings.Integer("noise-until");
  options.greedy_from = settings.Integer("greedy-from");
  options.decay_from = settings.Integer("decay-from");
  options.first_baseline = settings.Number("first-baseline");
  options.elite_interval = settings.Integer("elite-interval");
  options.advantages = settings.Is("advantages", "raw")       ? TrainerOptions::Advantages::kRaw
                       : settings.Is("advantages", "scaled")  ? TrainerOptions::Advantages::kScaled
                       : settings.Is("advantages", "centred") ? TrainerOptions::Advantages::kCentred
                                                              : TrainerOptions::Advantages::kRanked;
  options.elites = settings.Integer("elites");
  options.replay = settings.Integer("replay");
  return options;
}

std::shared_ptr<PolicyOptimizer> MakeOptimizer(const AgentSettings& settings,
                                               const std::shared_ptr<Parameters>& parameters) {
  const bool adam = !settings.Has("optimizer") || settings.Is("optimizer", "adam");
  return std::make_shared<PolicyOptimizer>(parameters, settings.Number("learning-rate"),
                                           settings.Number("gradient-norm"), adam);
}

Random FirstValues(uint64_t seed) { return Random(seed).Fork(kFirstValues); }

Result<at::TensorOptions> PolicyTensors(const AgentSettings& settings) {
  const at::TensorOptions numbers = at::TensorOptions().dtype(at::kFloat);
  if (settings.Is("device", "cpu")) return numbers;
  if (!torch::cuda::is_available()) {
    return MakeError(ErrorCode::kMissingRuntime, "device=cuda, but LibTorch finds no GPU", "",
                     "Leave --set device=cuda out.");
  }
  return numbers.device(at::kCUDA);
}

Result<Agent> MakeAgent(const AgentSettings& settings, const AgentProblem& problem,
                        const std::shared_ptr<Parameters>& parameters, AgentUnits units_are) {
  const auto make = [&]() -> Result<Agent> {
    const std::string& name = settings.algorithm().name;
    if (name == "eagle" || name == "hdp") return MakeEagle(settings, problem, parameters);
    UnitOptions of_units;
    const bool whole = units_are == AgentUnits::kGroups;
    of_units.ops = !whole && settings.Is("unit", "op");
    of_units.order = OrderOf(settings);
    of_units.parts =
        whole ? static_cast<int64_t>(problem.groups.size()) : settings.Integer("parts");
    of_units.fluid = settings.Is("partition", "fluid");
    of_units.seed = problem.seed;
    PW_ASSIGN(PlacementUnits units, MakeUnits(problem.problem, problem.graph, problem.candidates,
                                              problem.groups, of_units));
    if (name == "mars") {
      return MakeMars(settings, problem, units_are, std::move(units), parameters);
    }
    if (name == "gdp") return MakeGdp(settings, problem, units_are, std::move(units), parameters);
    PW_CHECK(name == "post");
    auto policy = std::make_unique<TablePolicy>(
        ForbiddenDevices(units, problem.problem.cluster->device_count()).to(parameters->options()),
        UniformShare(settings.Number("explore"), units.size()), parameters,
        DrawsOf(settings, problem, units, units_are));
    return Agent{std::move(units), std::move(policy), MakeTrainerOptions(settings), {}, {}};
  };
  if (problem.groups.empty()) {
    return MakeError(ErrorCode::kUsage, "the graph has no ops: there is nothing to learn", "",
                     "Choose another algorithm, such as m-etf.");
  }
  PW_ASSIGN(Agent agent, make());
  if (parameters->mismatch().empty()) return agent;
  return MakeError(ErrorCode::kPlanMismatch,
                   "the policy is made for another number of devices, units or features: " +
                       parameters->mismatch(),
                   "", "Train a policy for this graph and cluster.");
}

}  // namespace placewright
