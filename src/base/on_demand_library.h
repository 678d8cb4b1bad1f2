// Shared libraries that a command opens when it needs them, and that ./run leaves unbuilt until then.
#ifndef PLACEWRIGHT_BASE_ON_DEMAND_LIBRARY_H_
#define PLACEWRIGHT_BASE_ON_DEMAND_LIBRARY_H_

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"

namespace placewright {

// Where the environment's PLACEWRIGHT_BUILD_LIBRARY names a command (./run does), runs it with the target
// of the build as its argument, and waits. Whether it succeeded; false without such a command.
bool BuildOnDemand(std::string target);

class OnDemandLibrary {
 public:
  // Where libTARGET.so is looked for, in order: in the program's folder, in ../lib/placewright beside it, and beside
  // libplacewright.so.
  static std::vector<std::string> SearchPlaces(const std::string& target);
  // Opens the first of `places` that can be read, for as long as the process lives. Where there is none, BuildOnDemand is
  // asked for `target`, and they are looked at once more. Errors: kMissingRuntime with `remedy`, saying where it was
  // looked for and what the loader said.
  static Result<OnDemandLibrary> Open(const std::string& target,
                                      const std::vector<std::string>& places,
                                      const std::string& remedy);

  const std::string& path() const { return path_; }
  // nullptr: it has no such function.
  void* Find(const char* function) const;
  // kMissingRuntime: what it is not.
  Error Missing(std::string message) const;

 private:
  struct Closer {
    void operator()(void* handle) const;
  };
  std::unique_ptr<void, Closer> handle_;
  std::string path_, remedy_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_BASE_ON_DEMAND_LIBRARY_H_
