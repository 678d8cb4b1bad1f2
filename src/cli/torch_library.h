// Opens the shared library of the modules that include LibTorch, when a command needs it: an idle
// program linked to LibTorch would cost 150 MB and 0.6 s. Its one exported function
// `placewright_torch_api` returns a pointer to a TorchApi that lives as long as the library is
// open.
#ifndef PLACEWRIGHT_CLI_TORCH_LIBRARY_H_
#define PLACEWRIGHT_CLI_TORCH_LIBRARY_H_

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "torch_api/torch_api.h"

namespace placewright {

// The opened library; the interface is valid while it lives.
class TorchLibrary {
 public:
  // Opens `path`, or where it is empty what PLACEWRIGHT_TORCH_LIBRARY names (the environment), or
  // without that the first that exists of the program's folder and ../lib/placewright beside it.
  // Errors: kMissingRuntime, saying where it was looked for and what the loader said.
  static Result<TorchLibrary> Open(const std::string& path = "");
  // The places that Open("") tries, in order.
  static std::vector<std::string> SearchPlaces();

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

#endif  // PLACEWRIGHT_CLI_TORCH_LIBRARY_H_
