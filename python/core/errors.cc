#include "errors.h"

#include <nanobind/stl/string.h>

namespace nb = nanobind;

namespace placewright::python {
namespace {

// Messages quote what files hold, which need not be UTF-8.
nb::object TextOf(std::string_view text) {
  return nb::steal(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
}

nb::list ErrorTable() {
  nb::list table;
  for (const ErrorInfo& info : AllErrors()) {
    table.append(nb::make_tuple(TextOf(info.name), info.exit_status, TextOf(info.meaning),
                                TextOf(info.remedy)));
  }
  return table;
}

}  // namespace

void Raise(const Error& error) {
  const ErrorInfo& info = InfoOf(error.code);
  const nb::object exception =
      nb::module_::import_("placewright.errors")
          .attr("error_of")(info.exit_status, TextOf(info.name), TextOf(error.message),
                            TextOf(error.file), TextOf(error.place), TextOf(error.Remedy()));
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.ptr())), exception.ptr());
  throw nb::python_error();
}

void BindErrors(nb::module_& module) {
  module.def("error_table", &ErrorTable,
             "Every error: (code, exit status of the program, meaning, remedy).");
}

}  // namespace placewright::python
