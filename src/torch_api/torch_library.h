// Opens the shared libraries of the modules that include LibTorch, when a command needs them: an
// idle program linked to LibTorch would cost 150 MB and 0.6 s. Each exports one function,
// `placewright_torch_api`, that returns a pointer to a TorchApi that lives as long as the library
// is open.
#ifndef PLACEWRIGHT_TORCH_API_TORCH_LIBRARY_H_
#define PLACEWRIGHT_TORCH_API_TORCH_LIBRARY_H_

#include <string>
#include <utility>
#include <vector>

#include "base/on_demand_library.h"
#include "base/result.h"
#include "torch_api/torch_api.h"

namespace placewright {

// The opened library; the interface is valid while it lives.
class TorchLibrary {
 public:
  enum class Part {
    kMain,   // libplacewright_torch.so: models of the zoo
    kFiles,  // libplacewright_torch_files.so
    kLearn,  // libplacewright_torch_learn.so: learned planners
    kRun,    // libplacewright_torch_run.so: plans executed
  };
  // Opens what PLACEWRIGHT_TORCH_LIBRARY names (the environment), or without that as OnDemandLibrary does. Errors:
  // kMissingRuntime.
  static Result<TorchLibrary> Open(Part part = Part::kMain);
  // The places that Open tries, in order.
  static std::vector<std::string> SearchPlaces(Part part = Part::kMain);

  const TorchApi& api() const { return *api_; }
  const std::string& path() const { return library_.path(); }

 private:
  explicit TorchLibrary(OnDemandLibrary library) : library_(std::move(library)) {}

  OnDemandLibrary library_;
  const TorchApi* api_ = nullptr;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_TORCH_API_TORCH_LIBRARY_H_
