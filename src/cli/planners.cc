#include "cli/planners.h"

#include "base/text.h"

namespace placewright {

PlannerTable::PlannerTable() {
  const auto planners = SearchPlanners();
  auto_ = MakeAuto({planners.begin(), planners.end()});
  all_.push_back(auto_.get());
  all_.insert(all_.end(), planners.begin(), planners.end());
}

Result<const Planner*> PlannerTable::Find(std::string_view name) const {
  std::vector<std::string> names;
  for (const Planner* planner : all_) {
    if (planner->name() == name) return planner;
    names.emplace_back(planner->name());
  }
  return MakeError(ErrorCode::kUsage,
                   "--algo \"" + Printable(name) + "\" is unknown" + DidYouMean(name, names), "",
                   "The algorithms are " + Names() + ".");
}

std::string PlannerTable::Names() const {
  std::string text;
  for (const Planner* planner : all_) {
    text += (text.empty() ? "" : ", ") + std::string(planner->name());
  }
  return text;
}

}  // namespace placewright
