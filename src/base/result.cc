#include "base/result.h"

#include <array>

namespace placewright {
namespace {

constexpr std::array kErrors = {
#define PW_ERROR(name, text, status, meaning, remedy) \
  ErrorInfo{ErrorCode::name, text, status, meaning, remedy},
#include "base/error_codes.def"
#undef PW_ERROR
};

}  // namespace

const ErrorInfo& InfoOf(ErrorCode code) { return kErrors[static_cast<size_t>(code)]; }

std::span<const ErrorInfo> AllErrors() { return kErrors; }

std::string Error::ToString() const {
  std::string text;
  if (!file.empty()) text += (file == "-" ? "standard input" : file) + ": ";
  if (!place.empty()) text += place + ": ";
  text += message;
  text += " [";
  text += InfoOf(code).name;
  text += "]";
  return text;
}

}  // namespace placewright
