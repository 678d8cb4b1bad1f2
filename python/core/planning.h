// PlanStep for Python, and the plans that it makes.
#ifndef PLACEWRIGHT_PYTHON_CORE_PLANNING_H_
#define PLACEWRIGHT_PYTHON_CORE_PLANNING_H_

#include <nanobind/nanobind.h>

namespace placewright::python {

// `plan` and `Planned`.
void BindPlanning(nanobind::module_& module);

}  // namespace placewright::python

#endif  // PLACEWRIGHT_PYTHON_CORE_PLANNING_H_
