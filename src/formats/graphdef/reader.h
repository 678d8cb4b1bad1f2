// TensorFlow GraphDefs, binary or text: every node is one op. docs/formats/graphdef.md.
//
// Op names are node names, types "tf.MatMul", module paths the scopes of forward nodes. Tensors are
// called "node" (output 0) and "node:k". What a Variable, Const or Placeholder holds is a tensor of
// its own ("param:NAME", "buffer:NAME", "opt_state:NAME", "const:NAME", "input:NAME"); the node is
// a view of it. Assign and Apply ops write variables in place and belong to the optimizer phase.
// Control inputs are order edges; `_class: loc:@node` is a colocation group.
//
// Our deviations from what TensorFlow runs: the graph is the whole file, not what a fetch needs; a
// loop (Enter ... NextIteration) runs one round; an Identity is a view, so it moves no data between
// devices. The report says so where it applies.
#ifndef PLACEWRIGHT_FORMATS_GRAPHDEF_READER_H_
#define PLACEWRIGHT_FORMATS_GRAPHDEF_READER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "graph/graph.h"

namespace placewright {

struct GraphDefOptions {
  // Value of first dimensions of size -1 of placeholders.
  std::optional<int64_t> batch;
  // Values of dimensions of size -1 of placeholders, as "x[1]" for dimension 1 of x; they are given
  // before the batch.
  std::map<std::string, int64_t> dimensions;
  // Those that neither option gives a value become 1, and the report says which.
  bool assume_dimensions = false;
};

struct GraphDefReport {
  // "op (type)", in topological order, of ops for which neither `_output_shapes` nor a rule gives
  // an output's shape: it was taken to be as large as the largest input that is no constant.
  std::vector<std::string> assumed_shapes;
  std::map<std::string, int64_t> assumed_dimensions;
  std::vector<std::string> notes;  // sentences: what the graph does not carry as it was meant
};

// `file` is expanded (no gzip). Errors: kFileCorrupt, kSyntax, kFileTooLarge, kField,
// kDuplicateName, kUnknownName (an input, an output's index, one of options.dimensions),
// kGraphCycle, kGraphShape (open dimensions of placeholders), kUsage (options that nothing takes).
// Memory stays proportional to the file, whatever sizes it claims.
Result<Graph> ReadGraphDef(std::string_view file, const GraphDefOptions& options,
                           GraphDefReport* report = nullptr);

}  // namespace placewright

#endif  // PLACEWRIGHT_FORMATS_GRAPHDEF_READER_H_
