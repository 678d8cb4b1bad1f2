#include "formats/plan/strategies_json.h"

#include <algorithm>
#include <utility>

namespace placewright {
namespace {

Json RewritingToJson(const Rewriting& rewriting) {
  Json json = {{"micro_batches", std::max<int64_t>(1, rewriting.micro_batches)},
               {"recompute", rewriting.recompute}};
  if (rewriting.schedule.empty()) return json;
  json["pipeline"] = rewriting.schedule;
  json["stages"] = rewriting.stages;
  json["chunks"] = rewriting.chunks;
  if (!rewriting.layers.empty()) json["layers"] = rewriting.layers;
  return json;
}

Result<std::vector<std::string>> TextsFromJson(const Json& object, const char* name,
                                               const std::string& place) {
  PW_ASSIGN(const Json* const list, GetArray(object, name, place));
  std::vector<std::string> texts;
  for (const Json& text : *list) {
    if (!text.is_string()) {
      return MakeError(ErrorCode::kField, "must be a list of texts", place + "." + name);
    }
    texts.push_back(text.get<std::string>());
  }
  return texts;
}

Result<Rewriting> RewritingFromJson(const Json& object, const std::string& place) {
  Rewriting rewriting;
  PW_ASSIGN(rewriting.micro_batches, GetInt(object, "micro_batches", place, 1, kMaxQuantity));
  PW_ASSIGN(rewriting.recompute, TextsFromJson(object, "recompute", place));
  if (!object.contains("pipeline")) return rewriting;
  PW_ASSIGN(rewriting.schedule, GetString(object, "pipeline", place));
  PW_ASSIGN(rewriting.stages, GetInt(object, "stages", place, 1, kMaxQuantity));
  PW_ASSIGN(rewriting.chunks, GetInt(object, "chunks", place, 1, kMaxQuantity));
  if (!object.contains("layers")) return rewriting;
  PW_ASSIGN(rewriting.layers, GetInts(object, "layers", place, 1, kMaxQuantity));
  return rewriting;
}

}  // namespace

Json StrategiesToJson(const std::vector<StrategyResult>& strategies) {
  Json list = Json::array();
  for (const StrategyResult& one : strategies) {
    Json json = {{"algorithm", one.strategy.algorithm}};
    if (!one.strategy.settings.empty()) json["settings"] = one.strategy.settings;
    json.update(RewritingToJson(one.strategy.rewriting));
    json["estimated_time_ns"] = one.estimated_time.count;
    json["estimated_memory_bytes"] = one.estimated_memory.count;
    if (one.layer_optimum > Nanos()) json["layer_optimum_ns"] = one.layer_optimum.count;
    json["step_time_ns"] = nullptr;
    if (one.evaluated) json["step_time_ns"] = one.step_time.count;
    json["fits"] = one.fits;
    json["memory_bytes"] = one.memory.count;
    json["capacity_bytes"] = one.capacity.count;
    json["why_not"] = one.why_not;
    list.push_back(std::move(json));
  }
  return list;
}

Result<StrategyResult> StrategyFromJson(const Json& object, const std::string& place) {
  StrategyResult one;
  PW_ASSIGN(one.strategy.algorithm, GetString(object, "algorithm", place));
  PW_ASSIGN(one.strategy.rewriting, RewritingFromJson(object, place));
  if (object.contains("settings")) {
    PW_ASSIGN(one.strategy.settings, TextsFromJson(object, "settings", place));
  }
  PW_ASSIGN(one.estimated_time, GetNanos(object, "estimated_time_ns", place));
  PW_ASSIGN(one.estimated_memory, GetBytes(object, "estimated_memory_bytes", place));
  if (object.contains("layer_optimum_ns")) {
    PW_ASSIGN(one.layer_optimum, GetNanos(object, "layer_optimum_ns", place));
  }
  PW_ASSIGN(const Json* const time, GetField(object, "step_time_ns", place));
  one.evaluated = !time->is_null();
  if (one.evaluated) {
    PW_ASSIGN(one.step_time, GetNanos(object, "step_time_ns", place));
  }
  PW_ASSIGN(one.fits, GetBool(object, "fits", place));
  PW_ASSIGN(one.memory, GetBytes(object, "memory_bytes", place));
  PW_ASSIGN(one.capacity, GetBytes(object, "capacity_bytes", place));
  PW_ASSIGN(one.why_not, GetString(object, "why_not", place));
  return one;
}

}  // namespace placewright
