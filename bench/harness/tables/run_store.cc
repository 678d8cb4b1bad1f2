#include "bench/harness/tables/run_store.h"

#include <fmt/format.h>

#include <algorithm>

#include "formats/text/file.h"
#include "study/line_store.h"

namespace placewright {
namespace {

Json OrNull(const std::optional<double>& seconds) { return seconds ? Json(*seconds) : Json(); }

Result<std::optional<double>> ReadSeconds(const Json& value, const std::string& place) {
  if (value.is_null()) return std::optional<double>();
  if (!value.is_number()) return MakeError(ErrorCode::kField, "must be a number or null", place);
  return std::optional<double>(value.get<double>());
}

Result<CurvePoint> ReadPoint(const Json& json, const std::string& place) {
  if (!json.is_array() || json.size() != 4) {
    return MakeError(ErrorCode::kField, "must be [samples, best, mean, invalid]", place);
  }
  CurvePoint point;
  PW_ASSIGN(point.samples, AsInt(json[0], place, 0, kMaxQuantity));
  PW_ASSIGN(point.best, ReadSeconds(json[1], place));
  PW_ASSIGN(point.mean, ReadSeconds(json[2], place));
  PW_ASSIGN(point.invalid, AsInt(json[3], place, 0, kMaxQuantity));
  return point;
}

}  // namespace

std::optional<double> StudyRun::BestWithin(int64_t within) const {
  std::optional<double> best;
  for (const CurvePoint& point : curve) {
    if (point.samples <= within && point.best) best = point.best;
  }
  return best;
}

std::optional<double> StudyRun::InvalidWithin(int64_t within) const {
  int64_t drawn = 0, invalid = 0;
  for (const CurvePoint& point : curve) {
    if (point.samples > within) break;
    drawn = point.samples;
    invalid += point.invalid;
  }
  if (drawn == 0) return std::nullopt;
  return static_cast<double>(invalid) / static_cast<double>(drawn);
}

Json ToJson(const StudyRun& run) {
  Json json;
  json["graph"] = run.key.graph;
  json["cluster"] = run.key.cluster;
  json["algorithm"] = run.key.algorithm;
  json["seed"] = run.key.seed;
  if (!run.key.source.empty()) json["source"] = run.key.source;
  json["samples"] = run.samples;
  json["seconds"] = run.seconds;
  json["evaluating_seconds"] = run.evaluating;
  json["environment_seconds"] = run.environment_seconds;
  json["placement"] = run.placement;
  if (!run.figures.empty()) json["figures"] = run.figures;
  json["program"] = run.program;
  Json& settings = json["settings"] = Json::object();
  for (const auto& [name, value] : run.key.settings) settings[name] = value;
  Json& curve = json["curve"] = Json::array();
  for (const CurvePoint& point : run.curve) {
    curve.push_back(
        Json::array({point.samples, OrNull(point.best), OrNull(point.mean), point.invalid}));
  }
  return json;
}

Result<StudyRun> StudyRunOf(const Json& json, const std::string& place) {
  if (!json.is_object()) return MakeError(ErrorCode::kField, "must be an object", place);
  StudyRun run;
  PW_ASSIGN(run.key.graph, GetString(json, "graph", place));
  PW_ASSIGN(run.key.cluster, GetString(json, "cluster", place));
  PW_ASSIGN(run.key.algorithm, GetString(json, "algorithm", place));
  PW_ASSIGN(const int64_t seed, GetInt(json, "seed", place, 0, kMaxQuantity));
  run.key.seed = static_cast<uint64_t>(seed);
  if (json.contains("source")) {
    PW_ASSIGN(run.key.source, GetString(json, "source", place));
  }
  PW_ASSIGN(run.samples, GetInt(json, "samples", place, 0, kMaxQuantity));
  PW_ASSIGN(run.seconds, GetNumber(json, "seconds", place));
  PW_ASSIGN(run.evaluating, GetNumber(json, "evaluating_seconds", place));
  PW_ASSIGN(run.environment_seconds, GetNumber(json, "environment_seconds", place));
  PW_ASSIGN(run.placement, GetString(json, "placement", place));
  if (json.contains("figures")) {
    PW_ASSIGN(const Json* figures, GetObject(json, "figures", place));
    for (const auto& [name, value] : figures->items()) {
      if (!value.is_number()) {
        return MakeError(ErrorCode::kField, "must be a number", place + ".figures." + name);
      }
      run.figures[name] = value.get<double>();
    }
  }
  PW_ASSIGN(run.program, GetString(json, "program", place));
  PW_ASSIGN(const Json* settings, GetObject(json, "settings", place));
  for (const auto& [name, value] : settings->items()) {
    PW_ASSIGN(run.key.settings[name], AsString(value, place + ".settings." + name));
  }
  PW_ASSIGN(const Json* curve, GetArray(json, "curve", place));
  for (size_t i = 0; i < curve->size(); ++i) {
    PW_ASSIGN(const CurvePoint point,
              ReadPoint((*curve)[i], fmt::format("{}.curve[{}]", place, i)));
    run.curve.push_back(point);
  }
  return run;
}

Result<RunStore> RunStore::Load(const std::string& path) {
  RunStore store;
  store.path_ = path;
  PW_RETURN_IF_ERROR(ReadLines(path, [&](const Json& json, const std::string& place) -> Status {
    PW_ASSIGN(StudyRun run, StudyRunOf(json, place));
    store.runs_.push_back(std::move(run));
    return Ok();
  }));
  return store;
}

Status RunStore::Reload() {
  PW_ASSIGN(RunStore now, Load(path_));
  *this = std::move(now);
  return Ok();
}

const StudyRun* RunStore::Find(const RunKey& key, int64_t samples,
                               const std::map<std::string, std::string>& defaults) const {
  const auto same = [&](const StudyRun& run) {
    if (run.key.graph != key.graph || run.key.cluster != key.cluster ||
        run.key.algorithm != key.algorithm || run.key.seed != key.seed ||
        run.key.source != key.source || run.samples < samples) {
      return false;
    }
    for (const auto& [name, value] : run.key.settings) {
      const auto asked = key.settings.find(name);
      if (asked == key.settings.end() || asked->second != value) return false;
    }
    return std::all_of(key.settings.begin(), key.settings.end(), [&](const auto& asked) {
      if (run.key.settings.contains(asked.first)) return true;
      const auto usual = defaults.find(asked.first);
      return usual != defaults.end() && usual->second == asked.second;
    });
  };
  const auto found = std::find_if(runs_.begin(), runs_.end(), same);
  return found == runs_.end() ? nullptr : &*found;
}

std::string NameOf(const RunKey& key) {
  Json json = Json::array({key.graph, key.cluster, key.algorithm, key.seed});
  if (!key.source.empty()) json.push_back(key.source);
  for (const auto& [name, value] : key.settings) json.push_back(name + "=" + value);
  return Sha256(json.dump()).substr(0, 16);
}

Status RunStore::Add(StudyRun run) {
  const Json json = ToJson(run);
  runs_.push_back(std::move(run));
  return AppendLine(path_, json);
}

}  // namespace placewright
