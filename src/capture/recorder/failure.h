// How errors leave LibTorch: our kernels run inside its dispatcher and its autograd engine, which
// know no other way out than an exception. It starts in a kernel and stops in CatchFailure.
#ifndef PLACEWRIGHT_CAPTURE_RECORDER_FAILURE_H_
#define PLACEWRIGHT_CAPTURE_RECORDER_FAILURE_H_

#include <c10/util/Exception.h>

#include <functional>
#include <stdexcept>
#include <string>

#include "base/result.h"

namespace placewright {

class CaptureFailure : public std::runtime_error {
 public:
  explicit CaptureFailure(Error error);
  const Error& error() const { return error_; }

 private:
  Error error_;
};

// kNotRecordable with the first line of the message: the rest is where in LibTorch it happened.
// kNoShapeFunction, with the operator as the place, where it says that it has no kernel of one for
// tensors without memory.
Error LibTorchSays(const std::string& message);
Error LibTorchSays(const c10::Error& error);

// Runs `body`. A CaptureFailure becomes its error, any other exception kNotRecordable.
Status CatchFailure(const std::function<void()>& body);

}  // namespace placewright

#endif  // PLACEWRIGHT_CAPTURE_RECORDER_FAILURE_H_
