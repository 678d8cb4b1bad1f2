// How errors leave LibTorch: our kernels run inside its dispatcher and its autograd engine, which
// know no other way out than an exception. It starts in a kernel and stops in CatchFailure.
#ifndef PLACEWRIGHT_ATEN_FAILURE_H_
#define PLACEWRIGHT_ATEN_FAILURE_H_

#include <c10/util/Exception.h>

#include <functional>
#include <stdexcept>
#include <string>

#include "base/result.h"

namespace placewright {

class TorchFailure : public std::runtime_error {
 public:
  explicit TorchFailure(Error error);
  const Error& error() const { return error_; }

 private:
  Error error_;
};

// kNotRecordable with the first line of the message: the rest is where in LibTorch it happened.
// kNoShapeFunction, with the operator as the place, where it says that it has no kernel of one for
// tensors without memory.
Error ErrorFromLibTorch(const std::string& message);
Error ErrorFromLibTorch(const c10::Error& error);

// Runs `body`. A TorchFailure becomes its error, any other exception kNotRecordable.
Status CatchFailure(const std::function<void()>& body);
// The same on a thread of its own, where nothing above could take std::bad_alloc: it becomes kDeviceMemory.
Status CatchAllFailures(const std::function<void()>& body);

}  // namespace placewright

#endif  // PLACEWRIGHT_ATEN_FAILURE_H_
