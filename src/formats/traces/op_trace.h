// Times of ops in the traces that other programs write: PyTorch's profiler (Kineto's Chrome trace) and
// ONNX Runtime's profile. docs/formats/cost-store.md
#ifndef PLACEWRIGHT_FORMATS_TRACES_OP_TRACE_H_
#define PLACEWRIGHT_FORMATS_TRACES_OP_TRACE_H_

#include <string>
#include <string_view>

#include "base/result.h"
#include "cost/traced_costs.h"

namespace placewright {

// Which of the two it is follows from the content. Times of PyTorch's ops are those of the kernels that
// they and the ops inside them launched, where the trace has any; else their own, on the CPU.
// Errors: kFormatUnknown (neither), kSyntax, kField (no times of ops; of PyTorch, no shapes of inputs).
Result<OpTrace> ReadOpTrace(std::string_view text);

}  // namespace placewright

#endif  // PLACEWRIGHT_FORMATS_TRACES_OP_TRACE_H_
