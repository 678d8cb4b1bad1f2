#include "planning/algorithms.h"

#include "base/text.h"

namespace placewright {

Algorithms::Algorithms(const PlannerSettings& settings, PlannerTable more)
    : table_(MakeSearchPlanners(settings)) {
  PlannerTable layouts = MakeLayoutPlanners(settings);
  for (std::shared_ptr<const Planner>& planner : layouts) table_.push_back(std::move(planner));
  for (std::shared_ptr<const Planner>& planner : more) table_.push_back(std::move(planner));
  auto_ = MakeAuto(table_);
  all_.push_back(auto_.get());
  for (const std::shared_ptr<const Planner>& planner : table_) all_.push_back(planner.get());
}

Result<const Planner*> Algorithms::Find(std::string_view name) const {
  std::vector<std::string> names;
  for (const Planner* planner : all_) {
    if (planner->name() == name) return planner;
    names.emplace_back(planner->name());
  }
  return MakeError(ErrorCode::kUsage,
                   "--algo \"" + Printable(name) + "\" is unknown" + DidYouMean(name, names), "",
                   "auto keeps the best plan of all; the algorithms are " + Names() + ".");
}

Status Algorithms::CheckTakesInit(const Planner& planner) const {
  if (planner.iterative()) return Ok();
  std::string names;
  for (const Planner* other : all_) {
    if (other->iterative()) names += (names.empty() ? "" : ", ") + std::string(other->name());
  }
  return MakeError(ErrorCode::kUsage,
                   "--init cannot be used with --algo " + std::string(planner.name()) +
                       ", which takes no starting plan",
                   "", "Leave --init out, or choose an algorithm that takes one: " + names + ".");
}

std::string Algorithms::Names() const {
  std::string text;
  for (const Planner* planner : all_) {
    text += (text.empty() ? "" : ", ") + std::string(planner->name());
  }
  return text;
}

}  // namespace placewright
