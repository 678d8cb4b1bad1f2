#include "study/traversal/runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/check.h"
#include "placeto/planner/placeto_run.h"
#include "study/line_store.h"

namespace placewright {
namespace {

constexpr std::array<TraversalPolicy, 4> kPolicies{
    TraversalPolicy::kPublished, TraversalPolicy::kImprovement, TraversalPolicy::kUniform,
    TraversalPolicy::kUntrained};
constexpr std::array<std::string_view, 4> kPolicyNames{"published", "improvement", "uniform",
                                                       "untrained"};
constexpr std::array<int, 3> kDevices{3, 5, 8};

// What the agent sees of a family's graph: Placeto's simulator alone.
class FamilyEnvironment : public PlacetoEnvironment {
 public:
  FamilyEnvironment(const Problem& problem, const PlacementUnits& units)
      : problem_(problem), units_(units), simulation_(problem, units) {}

  PlacetoOutcome Evaluate(std::span<const int32_t> device_of,
                          std::vector<double>& starts) override {
    placement_.resize(problem_.graph->op_count());
    for (size_t unit = 0; unit < units_.ops.size(); ++unit) {
      for (const OpId op : units_.ops[unit]) placement_[op] = DeviceId(device_of[unit]);
    }
    return {simulation_.Run(placement_, starts), 0};
  }

 private:
  const Problem& problem_;
  const PlacementUnits& units_;
  PlacetoSimulation simulation_;
  Placement placement_;
};

AgentSettings SettingsOf(TraversalPolicy policy) {
  std::vector<std::string> changes = {"values=published"};
  if (policy == TraversalPolicy::kImprovement) changes.emplace_back("reward=improvement");
  if (policy == TraversalPolicy::kUniform) changes.emplace_back("policy=uniform");
  if (policy == TraversalPolicy::kUntrained) changes.emplace_back("learning-rate=0");
  const LearnedAlgorithm* const placeto = FindLearnedAlgorithm("placeto");
  PW_CHECK(placeto != nullptr);
  return AgentSettings::Parse(*placeto, changes).Take();
}

// The best times at the checkpoints, of episodes that learn: greedy ones evaluate and do not count, though their number
// does. Fewer where the budget ends it.
std::vector<int64_t> RunAgent(PlacetoAgent& agent, const std::vector<int64_t>& checkpoints,
                              const Budget& budget) {
  std::vector<int64_t> times;
  while (times.size() < checkpoints.size() && !budget.Expired()) {
    if (!agent.Step()) break;
    if (agent.AtEpisodeEnd() && agent.episodes() == checkpoints[times.size()]) {
      times.push_back(std::llround(agent.best().time * 1000));
    }
  }
  return times;
}

Json ToJson(const TraversalChunk& chunk, TraversalOrder order, const TimesOfOrder& times) {
  Json json;
  json["family"] = std::string(ToString(chunk.family));
  json["graph"] = chunk.graph;
  json["devices"] = chunk.devices;
  json["policy"] = std::string(ToString(chunk.policy));
  json["first_repeat"] = chunk.first_repeat;
  json["episodes"] = chunk.episodes;
  json["rules"] = kTraversalRules;
  json["order"] = std::string(ToString(order));
  json["times_ns"] = times;
  return json;
}

template <class Enum>
Result<Enum> ValueNamed(const std::string& name, std::span<const Enum> all,
                        const std::string& place) {
  for (const Enum one : all) {
    if (ToString(one) == name) return one;
  }
  return MakeError(ErrorCode::kField, "\"" + name + "\" is unknown", place);
}

Result<TimesOfOrder> ReadTimes(const Json& json, const TraversalChunk& chunk,
                               const std::string& place) {
  const auto wrong = [&] {
    return MakeError(ErrorCode::kField, "must be lists of times, one for each repeat", place);
  };
  const size_t checkpoints = TraversalCheckpoints(chunk.episodes).size();
  TimesOfOrder times;
  if (!json.is_array() || json.size() != TraversalChunk::kRepeats) return wrong();
  for (const Json& of_repeat : json) {
    auto& values = times.emplace_back();
    if (!of_repeat.is_array() || of_repeat.size() != checkpoints) return wrong();
    for (const Json& value : of_repeat) {
      PW_ASSIGN(const int64_t time, AsInt(value, place, 1, kMaxQuantity));
      values.push_back(time);
    }
  }
  return times;
}

}  // namespace

std::span<const TraversalPolicy> AllTraversalPolicies() { return kPolicies; }

std::string_view ToString(TraversalPolicy policy) {
  return kPolicyNames[static_cast<size_t>(policy)];
}

std::vector<int64_t> TraversalCheckpoints(int64_t episodes) {
  std::vector<int64_t> checkpoints;
  for (const int64_t one : {1, 2, 5, 10, 20, 30, 40, 50, 100, 200, 350, 500}) {
    if (one <= episodes) checkpoints.push_back(one);
  }
  return checkpoints;
}

Result<TimesOfOrder> MakeRuns(const TraversalChunk& chunk, TraversalOrder order,
                              const std::string& folder, const Budget& budget) {
  PW_ASSIGN(const CostGraph made,
            chunk.family == GraphFamily::kReal
                ? LoadRealGraph(folder, chunk.graph, chunk.devices)
                : Result(MakeFamilyGraph(chunk.family, chunk.graph, chunk.devices)));
  PW_ASSIGN(const Problem problem, BuildProblem(made.graph, made.cluster, made.costs, Constraints{},
                                                SchedulingPolicy::kFifo));
  const OpGraph graph = BuildOpGraph(problem);
  const PlacementUnits units = UnitsOfGroups(problem, graph, FindCandidateDevices(problem, graph));
  const PlacetoGraph placeto = MakePlacetoGraph(graph, DescribeGroups(problem, graph), units);
  const AgentSettings settings = SettingsOf(chunk.policy);
  const std::vector<int64_t> checkpoints = TraversalCheckpoints(chunk.episodes);
  std::vector<int32_t> devices;
  for (int32_t device = 0; device < chunk.devices; ++device) devices.push_back(device);
  TimesOfOrder times;
  for (int repeat = 0; repeat < TraversalChunk::kRepeats; ++repeat) {
    // The same first network and draws for every order and policy, others for every graph.
    const Random random = Random(static_cast<uint64_t>(chunk.first_repeat + repeat))
                              .Fork(static_cast<uint64_t>(chunk.family))
                              .Fork(static_cast<uint64_t>(chunk.graph))
                              .Fork(static_cast<uint64_t>(chunk.devices));
    const uint64_t seed = Random(random).Next();
    FamilyEnvironment environment(problem, units);
    PlacetoTask task{&placeto, &environment, {}, UnitsInOrder(problem, units, order)};
    // The study's agents may put any group anywhere: it has no constraints.
    task.allowed.assign(units.groups.size(), devices);
    PW_ASSIGN(std::shared_ptr<PlacetoLearner> learner,
              MakePlacetoLearner(settings, devices.size(), seed, nullptr));
    PlacetoAgent agent(task, PlacetoOptionsOf(settings), std::move(learner), random.Fork(1),
                       std::vector<int32_t>(units.groups.size(), 0));
    times.push_back(RunAgent(agent, checkpoints, budget));
    if (times.back().size() < checkpoints.size()) {
      return MakeError(ErrorCode::kCancelled, "the budget ended before the runs were done");
    }
  }
  return times;
}

std::vector<TraversalChunk> ChunksOf(const TraversalDesign& design) {
  std::vector<TraversalChunk> chunks;
  for (int first_repeat = 0; first_repeat < design.repeats;
       first_repeat += TraversalChunk::kRepeats) {
    for (int graph = 0; graph < design.graphs; ++graph) {
      for (const GraphFamily family : AllGraphFamilies()) {
        for (const int count : kDevices) {
          for (const TraversalPolicy policy : kPolicies) {
            chunks.push_back({family, graph, count, policy, first_repeat, 50});
          }
        }
      }
    }
  }
  // Long runs take longest by far: what the study itself asks comes first, its controls last.
  const auto add_long = [&](TraversalPolicy policy) {
    for (int graph = 0; graph < design.long_graphs; ++graph) {
      for (const GraphFamily family : AllGraphFamilies()) {
        chunks.push_back({family, graph, kDevices.front(), policy, 0, 500});
      }
    }
  };
  add_long(TraversalPolicy::kPublished);
  for (int graph = 0; design.real && graph < static_cast<int>(RealGraphFiles().size()); ++graph) {
    for (const int count : kDevices) {
      for (const TraversalPolicy policy : kPolicies) {
        chunks.push_back({GraphFamily::kReal, graph, count, policy, 0, 50});
      }
    }
  }
  for (const TraversalPolicy policy : kPolicies) {
    if (policy != TraversalPolicy::kPublished) add_long(policy);
  }
  return chunks;
}

Result<TraversalStore> TraversalStore::Load(const std::string& path) {
  TraversalStore store;
  store.path_ = path;
  PW_RETURN_IF_ERROR(ReadLines(path, [&](const Json& json, const std::string& place) -> Status {
    if (!json.is_object()) return MakeError(ErrorCode::kField, "must be an object", place);
    if (json.value("rules", Json(1)) != kTraversalRules) {
      return MakeError(ErrorCode::kField,
                       "the run is of an earlier study: its topo went generation by generation, "
                       "and greedy episodes counted",
                       place, "Begin another file.");
    }
    TraversalChunk chunk;
    PW_ASSIGN(const std::string family, GetString(json, "family", place));
    PW_ASSIGN(const std::string policy, GetString(json, "policy", place));
    PW_ASSIGN(chunk.family, ValueNamed(family, StudiedFamilies(), place + ".family"));
    PW_ASSIGN(chunk.policy, ValueNamed(policy, AllTraversalPolicies(), place + ".policy"));
    PW_ASSIGN(const int64_t graph, GetInt(json, "graph", place, 0, kFamilySize - 1));
    PW_ASSIGN(const int64_t devices, GetInt(json, "devices", place, 1, 64));
    if (std::find(kDevices.begin(), kDevices.end(), devices) == kDevices.end()) {
      return MakeError(ErrorCode::kField, "must be 3, 5 or 8, as the study has it",
                       place + ".devices");
    }
    PW_ASSIGN(const int64_t first, GetInt(json, "first_repeat", place, 0, 1000));
    PW_ASSIGN(chunk.episodes, GetInt(json, "episodes", place, 1, 1'000'000));
    chunk.graph = static_cast<int>(graph);
    chunk.devices = static_cast<int>(devices);
    chunk.first_repeat = static_cast<int>(first);
    PW_ASSIGN(const Json* times, GetArray(json, "times_ns", place));
    PW_ASSIGN(const std::string name, GetString(json, "order", place));
    PW_ASSIGN(const TraversalOrder order, ValueNamed(name, AllTraversalOrders(), place + ".order"));
    PW_ASSIGN(TimesOfOrder of_order, ReadTimes(*times, chunk, place + ".times_ns"));
    store.Keep(chunk, order, std::move(of_order));
    return Ok();
  }));
  return store;
}

const TraversalTimes* TraversalStore::Find(const TraversalChunk& chunk) const {
  const auto found = chunks_.find(chunk);
  return found == chunks_.end() ? nullptr : &found->second;
}

bool TraversalStore::Has(const TraversalChunk& chunk, TraversalOrder order) const {
  const auto found = begun_.find(chunk);
  return Find(chunk) != nullptr || (found != begun_.end() && found->second.contains(order));
}

void TraversalStore::Keep(const TraversalChunk& chunk, TraversalOrder order, TimesOfOrder times) {
  std::map<TraversalOrder, TimesOfOrder>& orders = begun_[chunk];
  orders[order] = std::move(times);
  if (orders.size() < AllTraversalOrders().size()) return;
  TraversalTimes& all = chunks_[chunk];
  all.clear();
  for (const TraversalOrder one : AllTraversalOrders()) all.push_back(std::move(orders[one]));
  begun_.erase(chunk);
}

Status TraversalStore::Add(const TraversalChunk& chunk, TraversalOrder order, TimesOfOrder times) {
  const Json json = ToJson(chunk, order, times);
  Keep(chunk, order, std::move(times));
  return AppendLine(path_, json);
}

}  // namespace placewright
