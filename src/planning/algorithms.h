// The one table of algorithms, `auto` first.
#ifndef PLACEWRIGHT_PLANNING_ALGORITHMS_H_
#define PLACEWRIGHT_PLANNING_ALGORITHMS_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "search/planner_table.h"

namespace placewright {

class Algorithms {
 public:
  // `more`: planners of other libraries, behind those of `search`; `auto` runs them, too.
  explicit Algorithms(const PlannerSettings& settings = {}, PlannerTable more = {});
  Algorithms(const Algorithms&) = delete;
  Algorithms& operator=(const Algorithms&) = delete;

  // `auto`, then every planner in the order of the table.
  const std::vector<const Planner*>& all() const { return all_; }
  // Errors: kUsage with near names.
  Result<const Planner*> Find(std::string_view name) const;
  // Errors: kUsage where `planner` would ignore a plan to start from (--init).
  Status CheckTakesInit(const Planner& planner) const;
  // "auto, single, random, ...": for help texts.
  std::string Names() const;

 private:
  PlannerTable table_;
  std::unique_ptr<Planner> auto_;
  std::vector<const Planner*> all_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_PLANNING_ALGORITHMS_H_
