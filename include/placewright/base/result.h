// Errors as values. Bad input becomes a Result with an Error that names file, place and remedy.
#ifndef PLACEWRIGHT_BASE_RESULT_H_
#define PLACEWRIGHT_BASE_RESULT_H_

#include <placewright/base/check.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace placewright {

enum class ErrorCode {
#define PW_ERROR(name, ...) name,
#include <placewright/base/error_codes.def>
#undef PW_ERROR
};

// The registered facts about one code; `explain` prints them.
struct ErrorInfo {
  ErrorCode code;
  std::string_view name;     // "graph-cycle"
  int exit_status;           // of the program
  std::string_view meaning;  // one sentence
  std::string_view remedy;   // one sentence, used where an Error carries none of its own
};

const ErrorInfo& InfoOf(ErrorCode code);
std::span<const ErrorInfo> AllErrors();

struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;  // what is wrong, with the offending value
  std::string file;     // the file it was found in, or empty
  std::string place;    // "line 3, column 7", "node /layer1/conv", "ops[12].inputs[0]", or empty
  std::string remedy;   // what to do; empty: the code's own remedy

  std::string_view Remedy() const { return remedy.empty() ? InfoOf(code).remedy : remedy; }
  // "graph.json: ops[3]: error-code: message. Remedy."
  std::string ToString() const;
};

inline Error MakeError(ErrorCode code, std::string message, std::string place = "",
                       std::string remedy = "") {
  return Error{code, std::move(message), "", std::move(place), std::move(remedy)};
}

// A value or an Error.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}      // NOLINT: implicit by design
  Result(Error error) : error_(std::move(error)) {}  // NOLINT: implicit by design

  bool ok() const { return value_.has_value(); }
  T& value() {
    PW_CHECK(ok());
    return *value_;
  }
  const T& value() const {
    PW_CHECK(ok());
    return *value_;
  }
  T&& Take() {
    PW_CHECK(ok());
    return std::move(*value_);
  }
  Error& error() {
    PW_CHECK(!ok());
    return *error_;
  }
  const Error& error() const {
    PW_CHECK(!ok());
    return *error_;
  }
  // The same result, its error (if any and if it names none yet) marked with `file`.
  Result&& InFile(std::string_view file) && {
    if (!ok() && error_->file.empty()) error_->file = file;
    return std::move(*this);
  }

 private:
  std::optional<T> value_;
  std::optional<Error> error_;
};

// Success or an Error.
struct Unit {};
using Status = Result<Unit>;
inline Status Ok() { return Unit{}; }

}  // namespace placewright

#define PW_CONCAT_INNER(a, b) a##b
#define PW_CONCAT(a, b) PW_CONCAT_INNER(a, b)
// PW_ASSIGN(auto graph, ReadGraph(path)): declares graph, or returns the error.
#define PW_ASSIGN(declaration, expression)                     \
  auto PW_CONCAT(pw_result_, __LINE__) = (expression);         \
  if (!PW_CONCAT(pw_result_, __LINE__).ok())                   \
    return std::move(PW_CONCAT(pw_result_, __LINE__).error()); \
  declaration = PW_CONCAT(pw_result_, __LINE__).Take()
#define PW_RETURN_IF_ERROR(expression)                        \
  do {                                                        \
    auto pw_status = (expression);                            \
    if (!pw_status.ok()) return std::move(pw_status.error()); \
  } while (false)

#endif  // PLACEWRIGHT_BASE_RESULT_H_
