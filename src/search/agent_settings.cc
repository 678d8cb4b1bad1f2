#include "search/agent_settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "base/text.h"

namespace placewright {

AgentSetting WordSetting(std::string name, std::vector<std::string> words, std::string meaning) {
  return {std::move(name), std::move(meaning), words.front(), 0, 0, false, words};
}

AgentSetting IntegerSetting(std::string name, int64_t value, int64_t min, int64_t max,
                            std::string meaning) {
  return {std::move(name),
          std::move(meaning),
          fmt::to_string(value),
          static_cast<double>(min),
          static_cast<double>(max),
          true,
          {}};
}

AgentSetting RealSetting(std::string name, double value, double min, double max,
                         std::string meaning) {
  return {std::move(name), std::move(meaning), fmt::format("{}", value), min, max, false, {}};
}

AgentSetting TextSetting(std::string name, std::vector<std::string> words, std::string meaning) {
  AgentSetting setting = WordSetting(std::move(name), std::move(words), std::move(meaning));
  setting.is_text = true;
  return setting;
}

namespace {

Error BadSetting(const SettableAlgorithm& algorithm, std::string message, std::string remedy) {
  return MakeError(ErrorCode::kUsage, std::move(message), "",
                   std::move(remedy) + " `placewright explain " + algorithm.name + "` lists them.");
}

// Why the value cannot be; "" where it can.
std::string Refusal(const AgentSetting& setting, const std::string& value) {
  if (setting.is_text) return value.empty() ? "must not be empty" : "";
  if (!setting.words.empty()) {
    const bool known = std::count(setting.words.begin(), setting.words.end(), value) > 0;
    return known ? "" : fmt::format("must be one of {}", fmt::join(setting.words, ", "));
  }
  double number = 0;
  const char* const end = value.data() + value.size();
  const auto [rest, error] = std::from_chars(value.data(), end, number);
  const bool read = error == std::errc() && rest == end && std::isfinite(number) &&
                    (!setting.integer || number == std::floor(number));
  if (read && number >= setting.min && number <= setting.max) return "";
  return fmt::format("must be {} from {} to {}", setting.integer ? "an integer" : "a number",
                     setting.min, setting.max);
}

}  // namespace

Result<AgentSettings> AgentSettings::Parse(const SettableAlgorithm& algorithm,
                                           std::span<const std::string> changes) {
  AgentSettings settings(algorithm);
  std::vector<std::string> names;
  const bool code = std::count(changes.begin(), changes.end(), "values=code") > 0;
  const bool published = code || std::count(changes.begin(), changes.end(), "values=published") > 0;
  for (const AgentSetting& setting : algorithm.settings) {
    const bool other = published && !setting.published.empty();
    settings.values_[setting.name] = code && !setting.code.empty() ? setting.code
                                     : other                       ? setting.published
                                                                   : setting.value;
    names.push_back(setting.name);
  }
  for (const std::string& change : changes) {
    const size_t equals = change.find('=');
    const std::string name = change.substr(0, equals);
    if (equals == std::string::npos) {
      return BadSetting(algorithm, fmt::format("--set \"{}\" has no \"=\"", Printable(change)),
                        "Write NAME=VALUE.");
    }
    const auto found = std::find_if(algorithm.settings.begin(), algorithm.settings.end(),
                                    [&](const AgentSetting& one) { return one.name == name; });
    if (found == algorithm.settings.end()) {
      return BadSetting(algorithm,
                        fmt::format("{} has no setting \"{}\"{}", algorithm.name, Printable(name),
                                    DidYouMean(name, names)),
                        "Leave it out.");
    }
    if (settings.Changed(name)) {
      return BadSetting(algorithm, fmt::format("--set {} stands twice", name), "Keep one.");
    }
    const std::string value = change.substr(equals + 1), refusal = Refusal(*found, value);
    if (!refusal.empty()) {
      return BadSetting(algorithm,
                        fmt::format("--set {}=\"{}\" {}", name, Printable(value), refusal),
                        "Choose such a value.");
    }
    settings.values_[name] = value;
    settings.changed_.push_back(name);
  }
  PW_RETURN_IF_ERROR(settings.CheckTogether());
  return settings;
}

Status AgentSettings::CheckTogether() const {
  if (Has("draw") && Integer("update") % Integer("draw") != 0) {
    return BadSetting(
        *algorithm_,
        fmt::format("update={} is no multiple of draw={}", Word("update"), Word("draw")),
        "Change one of the two.");
  }
  // Both directions of its encoder have half of it.
  if (Has("placer") && Is("placer", "seq2seq") && Integer("width") % 2 != 0) {
    return BadSetting(*algorithm_, fmt::format("width={} is odd", Word("width")),
                      "Take an even one, or another placer.");
  }
  return Ok();
}

Result<AgentSettings> AgentSettings::OfPolicy(const SettableAlgorithm& algorithm,
                                              const StoredPolicy& policy,
                                              std::span<const std::string> changes, PolicyUse use) {
  const auto mismatch = [](std::string message, std::string remedy) {
    return MakeError(ErrorCode::kPlanMismatch, std::move(message), "", std::move(remedy));
  };
  if (policy.algorithm != algorithm.name) {
    return mismatch(fmt::format("the policy is one of {}, not of {}",
                                Printable(policy.algorithm, 40), algorithm.name),
                    "Give that algorithm, or another policy.");
  }
  PW_ASSIGN(AgentSettings settings, Parse(algorithm, changes));
  for (const AgentSetting& setting : algorithm.settings) {
    const std::string stored = setting.ValueIn(policy.settings);
    const bool missing = setting.structural && !policy.settings.contains(setting.name);
    const std::string refusal = missing ? "is missing" : Refusal(setting, stored);
    if (!refusal.empty()) {
      return mismatch(fmt::format("of the policy's settings, {} {}", setting.name, refusal),
                      "Train it again with this version.");
    }
    const std::string& own = settings.values_[setting.name];
    if (settings.Changed(setting.name) && setting.structural && own != stored) {
      return mismatch(
          fmt::format("--set {}={}, but the policy is made with {}", setting.name, own, stored),
          "Leave it out, or train another policy.");
    }
    const bool kept = setting.structural || use == PolicyUse::kGoesOn;
    if (kept && !settings.Changed(setting.name)) settings.values_[setting.name] = stored;
  }
  for (const auto& [name, value] : policy.settings) {
    const auto known = [&name = name](const AgentSetting& setting) { return setting.name == name; };
    if (std::any_of(algorithm.settings.begin(), algorithm.settings.end(), known)) continue;
    return mismatch(fmt::format("the policy has a setting {}, which this version does not know",
                                Printable(name, 40)),
                    "Train it again with this version.");
  }
  const Status together = settings.CheckTogether();
  if (!together.ok() && changes.empty()) {
    return mismatch("of the policy's settings, " + together.error().message,
                    "Train it again with this version.");
  }
  PW_RETURN_IF_ERROR(together);
  return settings;
}

const std::string& AgentSettings::Word(std::string_view name) const {
  const auto found = values_.find(name);
  PW_CHECK(found != values_.end());
  return found->second;
}

double AgentSettings::Number(std::string_view name) const {
  const std::string& text = Word(name);
  double number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  PW_CHECK(error == std::errc());
  return number;
}

int64_t AgentSettings::Integer(std::string_view name) const {
  return static_cast<int64_t>(Number(name));
}

bool AgentSettings::Changed(std::string_view name) const {
  return std::count(changed_.begin(), changed_.end(), name) > 0;
}

}  // namespace placewright
