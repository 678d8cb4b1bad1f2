// How the outputs of an op of an ATen file relate to its inputs: the file's mark, else the
// operator's schema (op_schema.h). Reader and writer share it, so that they agree.
#ifndef PLACEWRIGHT_FORMATS_ATEN_ALIASING_H_
#define PLACEWRIGHT_FORMATS_ATEN_ALIASING_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "formats/aten/records.h"
#include "graph/aliasing/op_schema.h"
#include "graph/aliasing/storages.h"

namespace placewright {

struct AtenAliasing {
  AliasKind view = AliasKind::kFresh;  // of every output; kFresh: as `returned` says
  int32_t view_of = 0;                 // input that the outputs view
  std::vector<int32_t> writes;         // inputs that are written
  std::vector<int32_t> returned;       // output k is inputs[returned[k]], written in place
};

AtenAliasing AliasingOf(AtenOp::Mark mark, const AliasSchema& schema);

// Operators that return a list: their outputs are "op:0", "op:1", ... even if there is but one.
bool ReturnsList(std::string_view target);

}  // namespace placewright

#endif  // PLACEWRIGHT_FORMATS_ATEN_ALIASING_H_
