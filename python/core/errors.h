// Errors of the library as exceptions of placewright.errors.
#ifndef PLACEWRIGHT_PYTHON_CORE_ERRORS_H_
#define PLACEWRIGHT_PYTHON_CORE_ERRORS_H_

#include <nanobind/nanobind.h>
#include <placewright/base/result.h>

#include <utility>

namespace placewright::python {

// Raises placewright.errors.error_of(exit status, code, message, file, place, remedy). The GIL is
// held.
[[noreturn]] void Raise(const Error& error);

// The value, or its error raised.
template <class T>
T ValueOf(Result<T> result) {
  if (!result.ok()) Raise(result.error());
  return result.Take();
}

// `error_table`.
void BindErrors(nanobind::module_& module);

}  // namespace placewright::python

#endif  // PLACEWRIGHT_PYTHON_CORE_ERRORS_H_
