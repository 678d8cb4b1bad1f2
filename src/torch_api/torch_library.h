// Opens the shared libraries of the modules that include LibTorch, when a command needs them: an
// idle program linked to LibTorch would cost 150 MB and 0.6 s. Each exports one function,
// `placewright_torch_api`, that returns a pointer to a TorchApi that lives as long as the library
// is open.
#ifndef PLACEWRIGHT_TORCH_API_TORCH_LIBRARY_H_
#define PLACEWRIGHT_TORCH_API_TORCH_LIBRARY_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

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
  // Opens what PLACEWRIGHT_TORCH_LIBRARY names (the environment), or without that the first that
  // exists of the program's folder, ../lib/placewright beside it, and what lies beside
  // libplacewright.so. Where none does, BuildOnDemand is asked for the library's target, and the
  // places are looked at once more. Errors: kMissingRuntime, saying where it was looked for and what
  // the loader said.
  static Result<TorchLibrary> Open(Part part = Part::kMain);
  // The places that Open tries, in order.
  static std::vector<std::string> SearchPlaces(Part part = Part::kMain);

  const TorchApi& api() const { return *api_; }
  const std::string& path() const { return path_; }

 private:
  struct Closer {
    void operator()(void* handle) const;
  };
  TorchLibrary() = default;

  std::unique_ptr<void, Closer> handle_;
  const TorchApi* api_ = nullptr;
  std::string path_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_TORCH_API_TORCH_LIBRARY_H_
