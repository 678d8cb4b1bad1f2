#include "aten/failure.h"

#include <string>

#include "base/text.h"

namespace placewright {
namespace {

constexpr size_t kLongestMessage = 400, kLongestName = 120;
constexpr const char* kOnlyWithMemory =
    "LibTorch cannot run this operator on tensors without memory";

// The first line: the rest is where in LibTorch's own sources it happened.
std::string FirstLine(std::string text) {
  text.resize(std::min(text.find('\n'), text.size()));
  return Printable(text, kLongestMessage);
}

}  // namespace

TorchFailure::TorchFailure(Error error)
    : std::runtime_error(error.ToString()), error_(std::move(error)) {}

Error ErrorFromLibTorch(const std::string& message) {
  static const std::string kNoKernel = "Could not run '";
  if (message.starts_with(kNoKernel)) {
    const std::string op =
        message.substr(kNoKernel.size(), message.find('\'', kNoKernel.size()) - kNoKernel.size());
    return MakeError(ErrorCode::kNoShapeFunction, kOnlyWithMemory,
                     "op " + Printable(op, kLongestName));
  }
  if (message.starts_with("CUDA out of memory") ||
      message.find("DefaultCPUAllocator: can't allocate memory") != std::string::npos ||
      message.find("DefaultCPUAllocator: not enough memory") != std::string::npos) {
    return MakeError(ErrorCode::kDeviceMemory, "LibTorch says: " + FirstLine(message));
  }
  if (message.starts_with("DispatchStub: unsupported device type")) {
    return MakeError(ErrorCode::kNoShapeFunction, kOnlyWithMemory);
  }
  return MakeError(ErrorCode::kNotRecordable, "LibTorch says: " + FirstLine(message));
}

Error ErrorFromLibTorch(const c10::Error& error) {
  return ErrorFromLibTorch(std::string(error.what_without_backtrace()));
}

Status CatchFailure(const std::function<void()>& body) {
  try {
    body();
    return Ok();
  } catch (const TorchFailure& failure) {
    return failure.error();
  } catch (const c10::Error& error) {
    return ErrorFromLibTorch(error);
  } catch (const std::bad_alloc&) {
    throw;  // the program's own handler says so
  } catch (const std::exception& error) {
    return ErrorFromLibTorch(std::string(error.what()));
  }
}

Status CatchAllFailures(const std::function<void()>& body) {
  try {
    return CatchFailure(body);
  } catch (const std::bad_alloc&) {
    return MakeError(ErrorCode::kDeviceMemory, "the machine has no more memory");
  }
}

}  // namespace placewright
