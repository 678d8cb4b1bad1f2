// Which ATen ops alias or write their inputs, where the file does not say: by the naming
// conventions of ATen schemas (`add_` writes its first argument, `*.out` its out arguments,
// `_foreach_*_` every tensor of a list) and a list of the view ops and of the few ops that write
// arguments without any mark in their names (batch norm's running buffers, fused optimizers).
#ifndef PLACEWRIGHT_GRAPH_ALIASING_OP_SCHEMA_H_
#define PLACEWRIGHT_GRAPH_ALIASING_OP_SCHEMA_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "graph/value.h"

namespace placewright {

// "aten.add_.Tensor" -> "add_"; "" for types that are not of the form "aten.NAME[.OVERLOAD]".
std::string_view AtenBaseName(std::string_view type);
// "aten.add_.Tensor" -> "Tensor"; "" if there is none.
std::string_view AtenOverload(std::string_view type);

struct AliasSchema {
  enum class View : uint8_t {
    kNo,
    kYes,        // every output is a view of inputs[view_of]
    kIfPossible  // a view where strides allow one, else a copy (`reshape`, `contiguous`)
  };
  View view = View::kNo;
  int32_t view_of = 0;
  std::vector<int32_t> writes;  // indices of inputs that are written, ascending, distinct
  // Output k is inputs[returned[k]], written in place; shorter than the outputs: the rest is fresh.
  std::vector<int32_t> returned;
};

// The aliasing of one op. `args` and `attributes` are its arguments; InputRefs outside
// [0, input_count) are ignored (the reader has refused them already).
AliasSchema AliasOf(std::string_view type, const std::vector<Value>& args,
                    const std::vector<NamedValue>& attributes, int32_t input_count);

}  // namespace placewright

#endif  // PLACEWRIGHT_GRAPH_ALIASING_OP_SCHEMA_H_
