// How the ATen training graph states which numbers of its arguments change from step to step:
// inputs of the kind `hyper`, and `numbers` of ops. docs/formats/aten-graph.md. They are checked and
// not kept: a graph is the step that was recorded, whose numbers are its arguments.
#ifndef PLACEWRIGHT_FORMATS_ATEN_CHANGING_NUMBERS_H_
#define PLACEWRIGHT_FORMATS_ATEN_CHANGING_NUMBERS_H_

#include <string>
#include <vector>

#include "base/result.h"
#include "formats/aten/records.h"
#include "formats/text/json.h"

namespace placewright {

// Whether an input is a number of the program, no tensor.
bool IsHyper(const Json& input);

// Its name, "hyper:NAME". Errors: kField with a place within the object for another name, a shape
// with dimensions, a type that is not f64, or a missing or infinite `value`.
Result<std::string> ReadHyper(const Json& input);

// The formulas in the optional field `numbers` of an op whose arguments are read already. Errors:
// kField with a place within the object, such as an entry that leads to no number.
Result<std::vector<std::string>> ReadFormulas(const Json& object, const AtenOp& op);

// Checks that every name in braces of a formula is one of file.hyper. Errors: kUnknownName with a
// place like "ops[12] (add_1).numbers[0]".
Status CheckFormulas(const AtenFile& file);

}  // namespace placewright

#endif  // PLACEWRIGHT_FORMATS_ATEN_CHANGING_NUMBERS_H_
