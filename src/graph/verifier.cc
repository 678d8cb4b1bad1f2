#include "graph/verifier.h"

namespace placewright {

Status VerifyGraph(const Graph&) { return Ok(); }

}  // namespace placewright
