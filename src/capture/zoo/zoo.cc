#include "capture/zoo/zoo.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/text.h"

namespace placewright {
namespace {

template <class Items>
std::vector<std::string> NamesOf(const Items& items) {
  std::vector<std::string> names;
  for (const auto& item : items) names.push_back(item.name);
  return names;
}

Error Unknown(std::string_view what, const std::string& name, const std::vector<std::string>& known,
              std::string remedy) {
  return MakeError(
      ErrorCode::kUnknownName,
      fmt::format("there is no {} \"{}\"{}", what, Printable(name, 80), DidYouMean(name, known)),
      "", std::move(remedy));
}

Status SetValue(const ZooModel& model, const std::string& name, double value,
                std::map<std::string, double>& values) {
  const auto it = std::find_if(model.parameters.begin(), model.parameters.end(),
                               [&](const ZooParameter& p) { return p.name == name; });
  if (it == model.parameters.end()) {
    const std::vector<std::string> names = NamesOf(model.parameters);
    return Unknown("parameter of " + model.name, name, names,
                   fmt::format("Its parameters are {}.", fmt::join(names, ", ")));
  }
  const bool in_range = value >= it->min && value <= it->max;  // false for a NaN, too
  if (!in_range || (it->whole && value != std::floor(value))) {
    return MakeError(ErrorCode::kField,
                     fmt::format("{} = {} is not {} within [{}, {}]", name, value,
                                 it->whole ? "an integer" : "a number", it->min, it->max),
                     "model " + model.name);
  }
  values[name] = value;
  return Ok();
}

}  // namespace

ZooParameter WholeParameter(std::string name, int64_t value, int64_t max, std::string meaning) {
  return {std::move(name),
          std::move(meaning),
          static_cast<double>(value),
          1,
          static_cast<double>(max),
          true};
}

ZooParameter ShareParameter(std::string name, double value, std::string meaning) {
  return {std::move(name), std::move(meaning), value, 0, 0.99, false};
}

ZooParameter SwitchParameter(std::string name, bool value, std::string meaning) {
  return {std::move(name), std::move(meaning), value ? 1.0 : 0.0, 0, 1, true};
}

std::vector<ZooEntry> ZooEntries() {
  std::vector<ZooEntry> entries;
  for (const auto models : {AmoebaNetDModels, BertModels, GnmtModels, Gpt2Models, InceptionV3Models,
                            LlamaModels, MlpModels, MoeTransformerModels, ResNetModels, RnnlmModels,
                            Seq2SeqModels, TransformerModels, TransformerXlModels, VggModels,
                            VisionTransformerModels, WaveNetModels}) {
    std::vector<ZooEntry> some = models();
    std::move(some.begin(), some.end(), std::back_inserter(entries));
  }
  std::sort(entries.begin(), entries.end(),
            [](const ZooEntry& a, const ZooEntry& b) { return a.facts.name < b.facts.name; });
  return entries;
}

Result<ChosenModel> ChooseModel(const std::string& model,
                                const std::map<std::string, double>& overrides) {
  const size_t at = model.find('@');
  const std::string name = model.substr(0, at);
  const std::vector<ZooEntry> entries = ZooEntries();
  const auto entry = std::find_if(entries.begin(), entries.end(),
                                  [&](const ZooEntry& e) { return e.facts.name == name; });
  if (entry == entries.end()) {
    std::vector<std::string> names;
    for (const ZooEntry& e : entries) names.push_back(e.facts.name);
    return Unknown("model", name, names, "`placewright zoo` lists the models.");
  }
  std::map<std::string, double> values;
  for (const ZooParameter& parameter : entry->facts.parameters) {
    values[parameter.name] = parameter.value;
  }
  if (at != std::string::npos) {
    const std::string preset = model.substr(at + 1);
    const std::vector<ZooPreset>& presets = entry->facts.presets;
    const auto it = std::find_if(presets.begin(), presets.end(),
                                 [&](const ZooPreset& p) { return p.name == preset; });
    if (it == presets.end()) {
      return Unknown("preset of " + name, preset, NamesOf(presets),
                     presets.empty()
                         ? "It has none."
                         : fmt::format("Its presets are {}.", fmt::join(NamesOf(presets), ", ")));
    }
    for (const auto& [key, value] : it->values) {
      PW_RETURN_IF_ERROR(SetValue(entry->facts, key, value, values));
    }
  }
  for (const auto& [key, value] : overrides) {
    PW_RETURN_IF_ERROR(SetValue(entry->facts, key, value, values));
  }
  return ChosenModel{*entry, Settings(std::move(values))};
}

}  // namespace placewright
