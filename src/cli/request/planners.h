// The one table of algorithms that the program knows, `auto` first.
#ifndef PLACEWRIGHT_CLI_REQUEST_PLANNERS_H_
#define PLACEWRIGHT_CLI_REQUEST_PLANNERS_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "search/planner.h"

namespace placewright {

class PlannerTable {
 public:
  PlannerTable();
  // `auto`, then every planner in the order of the table.
  const std::vector<const Planner*>& all() const { return all_; }
  // Errors: kUsage with near names.
  Result<const Planner*> Find(std::string_view name) const;
  // Errors: kUsage where `planner` would ignore a plan to start from (--init).
  Status TakesStart(const Planner& planner) const;
  // "auto, single, random, ...": for help texts.
  std::string Names() const;

 private:
  std::unique_ptr<Planner> auto_;
  std::vector<const Planner*> all_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_REQUEST_PLANNERS_H_
