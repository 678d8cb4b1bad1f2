// For tests: a small step and its layouts as short text, and what they are compiled to as text again.
//
// A step, one op a line. An axis is a word; its size stands where it comes first:
//
//   input x batch:8 in:4
//   param w in out:6
//   y = mm x w
//   backward:                     the phase of the ops below (or optimizer:)
//   module layers.1               the module of the ops below
//   xt = t x
//   gw = mm xt y
//   optimizer:
//   w1 = sub_ w gw
//   -> y w1                       the step's outputs
//
// Ops: neg relu clone add mul mm addmm sum mean softmax (over dimension 0) mystery (one without a rule); in place neg_
// relu_ add_ sub_ mystery_; views t, flatten, second (of dimension 0); of axes alone ones, randn; "back: gx gw gb =
// conv_back g x w", whose tensors are called back:0 and so on. "after y" behind an op: it waits for y.
//
// Layouts, of the colocation groups of these ops ("*": of all; later ones win), on devices a, b, c and d:
//
//   "*: batch a:3 b:5; w1: c; y: a b"       parts of an axis, in this order; all of it on c; all of it on each
//
// A compiled step, one op a line; "#0" is the number of a collective, and the part that an op cuts or brings is
// [dimension:from-to/size], with "x2" behind it where the axis comes twice in the dimension, one for each tensor:
//
//   a: y@a [3 6] = mm(x[0:0-3], w@a)
//   a: gw.all_reduce@a [4 6] = all_reduce#0(gw@a)
//   a: y.split@a [2 6] = split(y@a)[0:1-3/3]
#ifndef PLACEWRIGHT_COMPILE_TEST_STEPS_H_
#define PLACEWRIGHT_COMPILE_TEST_STEPS_H_

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "cluster/cluster.h"
#include "compile/compiler.h"
#include "graph/graph.h"
#include "plan/layout.h"
#include "sharding/named_axes.h"

namespace placewright {

// What is written wrongly ends the program: it is the test's own mistake.
class TestStep {
 public:
  explicit TestStep(std::string_view text);

  const Graph& graph() const { return *graph_; }
  const NamedAxes& axes() const { return *axes_; }
  const Cluster& cluster() const { return *cluster_; }
  Layouts LayoutsOf(std::string_view text) const;

  Result<DistributedStep> CompileWith(std::string_view layouts,
                                      const CompileOptions& options = {}) const;
  // The compiled step, or "error: " and why there is none.
  std::string Compiled(std::string_view layouts, const CompileOptions& options = {}) const;

 private:
  Layout LayoutOf(std::string_view text) const;

  std::map<std::string, std::pair<TensorId, size_t>> axes_by_word_;  // a dimension that is it
  std::unique_ptr<const Graph> graph_;                               // reading it sets these
  std::unique_ptr<const NamedAxes> axes_;
  std::unique_ptr<const Cluster> cluster_;
};

// A line break, the ops, a line each, and "-> " with the outputs.
std::string LinesOf(const DistributedStep& step, const Cluster& cluster);
// "w@a [1 6] = w[0:0-1/4]": what the step's inputs are of the original's.
std::string InputLinesOf(const DistributedStep& step, const Graph& original);

}  // namespace placewright

#endif  // PLACEWRIGHT_COMPILE_TEST_STEPS_H_
