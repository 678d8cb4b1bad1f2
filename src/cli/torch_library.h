// The seam to the modules that include LibTorch. They live in one shared library which the program
// opens only when a command needs it: an idle program linked to LibTorch would cost 150 MB and
// 0.6 s. This header knows nothing of LibTorch.
#ifndef PLACEWRIGHT_CLI_TORCH_LIBRARY_H_
#define PLACEWRIGHT_CLI_TORCH_LIBRARY_H_

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"

namespace placewright {

// What the library offers. Its one exported function `placewright_torch_api` returns a pointer to
// an object of this type that lives as long as the library is open.
class TorchApi {
 public:
  // Raised with every change of this class: an older library is refused, never called.
  static constexpr int kVersion = 1;

  virtual ~TorchApi() = default;
  virtual int version() const = 0;
  virtual std::string libtorch_version() const = 0;  // "1.13.1"
  virtual int cuda_devices() const = 0;              // usable by LibTorch
};

// The opened library; the interface is valid while it lives.
class TorchLibrary {
 public:
  // Opens `path`, or where it is empty the first that exists of PLACEWRIGHT_TORCH_LIBRARY (the
  // environment), the folder of the program, and ../lib/placewright beside it.
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
