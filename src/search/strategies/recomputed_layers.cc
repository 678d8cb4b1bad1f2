#include "search/strategies/recomputed_layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "search/strategies/layer_program.h"

namespace placewright {
namespace {

constexpr int64_t kGrains = 1000;  // of the memory that may be filled

double NanosOf(const ChunkTable::Chunk& chunk) {
  double longest = 0;  // of a kind; where kinds differ all grow alike
  for (size_t kind = 0; kind < chunk.backward.size(); ++kind) {
    longest = std::max(longest, chunk.forward[kind] + chunk.backward[kind]);
  }
  return longest;
}

}  // namespace

RecomputedLayers::RecomputedLayers(std::vector<std::string> names, const ChunkTable& kept,
                                   const ChunkTable& again)
    : names_(std::move(names)), weights_(names_.size()) {
  Weight all;
  for (size_t i = 0; i < names_.size(); ++i) {
    const ChunkTable::Chunk &before = kept.chunks[i], &then = again.chunks[i];
    weights_[i] = {std::max(0.0, NanosOf(then) - NanosOf(before)),
                   std::max(0.0, before.kept - then.kept)};
    all.time += weights_[i].time;
    all.memory += weights_[i].memory;
  }
  for (Weight& weight : weights_) {
    weight.time /= std::max(1.0, all.time);
    weight.memory /= std::max(1.0, all.memory);
  }
}

std::optional<StrategyEstimate> RecomputedLayers::Choose(const StrategyEstimate& kept,
                                                         const StrategyEstimate& again,
                                                         double share) const {
  const auto room = static_cast<int64_t>(share * static_cast<double>(again.capacity.count));
  const int64_t saved = kept.memory.count - again.memory.count;
  const int64_t costs = again.time.count - kept.time.count;
  if (kept.memory.count <= room || again.memory.count >= room || costs <= 0) return std::nullopt;
  const auto part = [](double weight, int64_t of) {
    return static_cast<int64_t>(weight * static_cast<double>(of));
  };
  LayerProgram program;
  program.capacity = {room - again.memory.count};
  program.grain = std::max<int64_t>(1, program.capacity.front() / kGrains);
  program.choices.resize(1);
  for (const Weight& weight : weights_) {
    program.choices[0].push_back(
        {{.memory = part(weight.memory, saved)}, {.time = part(weight.time, costs)}});
  }
  const std::optional<LayerSolution> solution = SolveLayers(program);
  if (!solution) return std::nullopt;
  StrategyEstimate chosen = again;
  chosen.time = kept.time;
  chosen.layer_optimum = kept.time + Nanos(solution->time);
  std::vector<std::string> modules;
  for (size_t i = 0; i < names_.size(); ++i) {
    if (solution->choice[i] == 0) {
      chosen.memory += Bytes(part(weights_[i].memory, saved));
    } else {
      chosen.time += Nanos(part(weights_[i].time, costs));
      modules.push_back(names_[i]);
    }
  }
  if (modules.empty() || modules.size() == names_.size()) return std::nullopt;
  // Every layer takes part in the floor as it does in time.
  const double again_share =
      static_cast<double>((chosen.time - kept.time).count) / static_cast<double>(costs);
  chosen.floor = kept.floor + Nanos(part(again_share, (again.floor - kept.floor).count));
  chosen.strategy.rewriting.recompute = GlobsOfLayers(modules);
  return chosen;
}

std::vector<std::string> GlobsOfLayers(const std::vector<std::string>& names) {
  std::vector<std::string> globs;
  // By what stands before the last digit: the digits there are.
  std::map<std::pair<size_t, std::string>, std::set<char>> digits;
  for (const std::string& name : names) {
    const char last = name.empty() ? 'x' : name.back();
    if (last < '0' || last > '9') {
      globs.push_back(name);
    } else {
      digits[{name.size(), name.substr(0, name.size() - 1)}].insert(last);
    }
  }
  for (const auto& [key, of] : digits) {
    const std::string& start = key.second;
    for (auto it = of.begin(); it != of.end();) {
      char end = *it;
      const char begin = *it++;
      while (it != of.end() && *it == end + 1) end = *it++;
      globs.push_back(begin == end ? start + begin : fmt::format("{}[{}-{}]", start, begin, end));
    }
  }
  return globs;
}

}  // namespace placewright
