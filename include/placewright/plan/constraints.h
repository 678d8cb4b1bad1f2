// What a user asks of every placement.
#ifndef PLACEWRIGHT_PLAN_CONSTRAINTS_H_
#define PLACEWRIGHT_PLAN_CONSTRAINTS_H_

#include <string>
#include <vector>

namespace placewright {

// --pin GLOB=DEVICE, --forbid GLOB=DEVICE, --colocate GLOB, --colocate-each GLOB; globs over module
// paths, devices by name or glob ("host0/gpu*").
struct ConstraintSpec {
  std::string glob;
  std::string device;  // empty for colocate
};
struct Constraints {
  std::vector<ConstraintSpec> pins, forbids;
  std::vector<std::string> colocate;       // all modules that match one, together
  std::vector<std::string> colocate_each;  // each module that matches one, by itself

  bool Empty() const {
    return pins.empty() && forbids.empty() && colocate.empty() && colocate_each.empty();
  }
};

}  // namespace placewright

#endif  // PLACEWRIGHT_PLAN_CONSTRAINTS_H_
