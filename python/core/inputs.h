// What is planned: a step and a cluster, with the files that they were read from.
#ifndef PLACEWRIGHT_PYTHON_CORE_INPUTS_H_
#define PLACEWRIGHT_PYTHON_CORE_INPUTS_H_

#include <nanobind/nanobind.h>
#include <placewright/planning/plan_files.h>

#include <memory>

namespace placewright::python {

// Shared by the Python object and the plans that were made of it.
struct StepHandle {
  std::shared_ptr<const StepFile> step;
};
struct ClusterHandle {
  std::shared_ptr<const ClusterFile> cluster;
};

// Of a step's options, which placewright/_rewriting.py has checked.
Rewriting RewritingOf(const nanobind::dict& options);

// `Step` and `Cluster`.
void BindInputs(nanobind::module_& module);

}  // namespace placewright::python

#endif  // PLACEWRIGHT_PYTHON_CORE_INPUTS_H_
