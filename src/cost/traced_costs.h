// Times of ops from traces of other programs, matched to the ops of a graph.
#ifndef PLACEWRIGHT_COST_TRACED_COSTS_H_
#define PLACEWRIGHT_COST_TRACED_COSTS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/units.h"
#include "cost/measured_costs.h"
#include "cost/work.h"
#include "graph/graph.h"

namespace placewright {

struct TracedTensor {
  std::optional<DType> dtype;  // nothing: one that the trace's name of it does not say
  std::vector<int64_t> shape;
};

// An op that ran once.
struct TracedOp {
  std::string type;  // "aten::addmm", "Conv"
  std::string name;  // of the node, where the trace has one; else ""
  std::vector<TracedTensor> inputs;
  Nanos time;
  int32_t parent = -1;                  // index of the op that called it, or -1
  std::vector<TracedTensor> outputs{};  // empty: the trace does not say
};

struct OpTrace {
  std::string source;         // "PyTorch", "ONNX Runtime"
  bool on_device = false;     // times of kernels on an accelerator, not of calls on the CPU
  Nanos lost;                 // of kernels whose op is not known
  std::vector<TracedOp> ops;  // callers before what they call
  // Of inputs: weights that the program packed in an order of its own.
  bool leaves_weights_out = false;
};

// How much of a graph was found, and of the trace used.
struct TraceMatch {
  struct Share {
    int64_t matched = 0, ops = 0;
  };
  std::map<OpClass, Share> classes;  // ops of the graph that are no views
  // Of the time of all ops, and of what was lost.
  Nanos used, total;
  // Types of the trace that nothing was matched with, longest first, each with its time beside what ops
  // inside it take.
  std::vector<std::pair<std::string, Nanos>> unused;
  std::vector<MeasuredOp> rows;  // one for each signature
};

// An op of the graph takes the median of the traced ops of its type with inputs of its shapes and dtypes,
// in the order of its arguments; where a trace names nodes, those of its name first. Numbers that became
// tensors without dimensions are passed over, and what GPUs' own operators take behind the others. Where a trace
// leaves weights out, a run that has all inputs of an op but some that are parameters, buffers or constants, and its
// outputs, is the op's if it has the name, or could be no op's of another signature. On a
// device an op that launched no kernel is not taken. Workspaces are
// modelled, since traces have none. O(ops of both, sorted).
TraceMatch MatchTrace(const Graph& graph, const OpTrace& trace);

}  // namespace placewright

#endif  // PLACEWRIGHT_COST_TRACED_COSTS_H_
