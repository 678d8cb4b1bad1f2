// placewright._core: the library for Python. What users call is in python/placewright, which sees
// to the types of all arguments.
#include <nanobind/nanobind.h>

#include "errors.h"
#include "inputs.h"
#include "planning.h"

NB_MODULE(_core, module) {
  placewright::python::BindErrors(module);
  placewright::python::BindInputs(module);
  placewright::python::BindPlanning(module);
}
