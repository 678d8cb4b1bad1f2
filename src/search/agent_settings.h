// Settings of algorithms: what `--set NAME=VALUE` changes, `explain ALGO` lists and policies are stored with.
#ifndef PLACEWRIGHT_SEARCH_AGENT_SETTINGS_H_
#define PLACEWRIGHT_SEARCH_AGENT_SETTINGS_H_

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "plan/stored_policy.h"

namespace placewright {

// A number in [min, max], one of a few words, or any text.
struct AgentSetting {
  std::string name, meaning, value;  // value: the default
  double min = 0, max = 0;
  bool integer = false;
  std::vector<std::string> words;  // empty: a number
  bool structural = false;         // of what a policy is made of: it cannot change later
  std::string published;           // the value of the source; empty: the default
  std::string code;                // that of its authors' program; empty: the published one
  bool is_text = false;            // whatever its planner reads

  const std::string& Published() const { return published.empty() ? value : published; }
  // Its value among those of a policy or a run, which may be older than the setting: what was done then is the published
  // value.
  std::string ValueIn(const std::map<std::string, std::string>& values) const {
    const auto found = values.find(name);
    return found == values.end() ? Published() : found->second;
  }
};

AgentSetting WordSetting(std::string name, std::vector<std::string> words, std::string meaning);
AgentSetting IntegerSetting(std::string name, int64_t value, int64_t min, int64_t max,
                            std::string meaning);
AgentSetting RealSetting(std::string name, double value, double min, double max,
                         std::string meaning);
// `words`: the default, and what others look like.
AgentSetting TextSetting(std::string name, std::vector<std::string> words, std::string meaning);

struct SettableAlgorithm {
  std::string name, description;  // those of the planner
  std::vector<AgentSetting> settings;
};

// What a stored policy is for: a start, or its own training that goes on.
enum class PolicyUse : uint8_t { kStartsFrom, kGoesOn };

// A value for every setting of an algorithm.
class AgentSettings {
 public:
  // The defaults, or with values=published among `changes` those of the sources, or with values=code those of their
  // programs; and over them `changes`, each "NAME=VALUE". Errors: kUsage (a name that is unknown, with near ones, or stands
  // twice; a value out of range).
  static Result<AgentSettings> Parse(const SettableAlgorithm& algorithm,
                                     std::span<const std::string> changes);

  // What a stored policy is made of, or where its training goes on all of its settings; else the
  // defaults, and over these `changes`. Errors: those of Parse; kPlanMismatch (a
  // policy of another algorithm, or without a setting or with others; a change of what the policy
  // is made of).
  static Result<AgentSettings> OfPolicy(const SettableAlgorithm& algorithm,
                                        const StoredPolicy& policy,
                                        std::span<const std::string> changes,
                                        PolicyUse use = PolicyUse::kStartsFrom);

  // But for Has, the algorithm has the setting, of that type.
  bool Has(std::string_view name) const { return values_.contains(name); }
  double Number(std::string_view name) const;
  int64_t Integer(std::string_view name) const;
  const std::string& Word(std::string_view name) const;
  bool Is(std::string_view name, std::string_view word) const { return Word(name) == word; }
  bool Changed(std::string_view name) const;  // whether `changes` had it

  const SettableAlgorithm& algorithm() const { return *algorithm_; }
  // Every setting as text: what policies are stored with.
  const std::map<std::string, std::string, std::less<>>& values() const { return values_; }

 private:
  explicit AgentSettings(const SettableAlgorithm& algorithm) : algorithm_(&algorithm) {}
  Status CheckTogether() const;  // of values that each are in range

  const SettableAlgorithm* algorithm_;
  std::map<std::string, std::string, std::less<>> values_;
  std::vector<std::string> changed_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_AGENT_SETTINGS_H_
