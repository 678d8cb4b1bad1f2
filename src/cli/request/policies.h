// Where stored policies are looked for.
#ifndef PLACEWRIGHT_CLI_REQUEST_POLICIES_H_
#define PLACEWRIGHT_CLI_REQUEST_POLICIES_H_

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "plan/stored_policy.h"

namespace placewright {

// The path of a policy: `name` itself where that is a file, else `name` or `name`.policy in the
// folders of PLACEWRIGHT_POLICIES (separated by ':'), in share/placewright/policies of the
// installation, or in policies/ of the repository that it was built in (base/library_folder.h).
// Errors: kFileUnreadable, with the places.
Result<std::string> FindPolicy(const std::string& name);

// The policy that comes with the program for this algorithm: `algorithm`.policy in one of these
// folders; "" where there is none.
std::string ShippedPolicy(const std::string& algorithm);

struct NamedPolicy {
  std::string path;
  std::shared_ptr<const StoredPolicy> policy;
};
// Errors: those of FindPolicy and LoadPolicy.
Result<NamedPolicy> LoadNamedPolicy(const std::string& name);

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_REQUEST_POLICIES_H_
