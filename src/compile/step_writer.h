// The instances of a step's ops and what they fetch, in the order of its ops (internal to the module).
#ifndef PLACEWRIGHT_COMPILE_STEP_WRITER_H_
#define PLACEWRIGHT_COMPILE_STEP_WRITER_H_

#include <vector>

#include "base/result.h"
#include "compile/compiler.h"
#include "compile/emitter.h"

namespace placewright {

// To an emitter to which nothing has been written. Returns the distributed step's outputs. Of the options
// those that are no passes over the whole: no fusion, no gradients made apart. Errors: those of Compile.
Result<std::vector<TensorId>> WriteStep(const Graph& graph, const NamedAxes& axes,
                                        const Layouts& layouts, const CompileOptions& options,
                                        Emitter& emitter);

}  // namespace placewright

#endif  // PLACEWRIGHT_COMPILE_STEP_WRITER_H_
