// How the ATen training graph states what follows the batch size: `slopes` of shapes and of
// arguments, and `batch_proof`. docs/formats/aten-graph.md. In memory: graph/batch/batch_scaling.h.
#ifndef PLACEWRIGHT_FORMATS_ATEN_SLOPES_H_
#define PLACEWRIGHT_FORMATS_ATEN_SLOPES_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "formats/aten/records.h"
#include "formats/text/json.h"
#include "graph/batch/numbers.h"

namespace placewright {

// The optional field `slopes` of an input or output of that shape: an integer or a product for each
// dimension. Errors: kField with a place within the object.
Result<std::vector<DimensionLaw>> ReadShapeSlopes(const Json& object,
                                                  const std::vector<int64_t>& shape);

// Whether an entry [position or keyword, index, ..., anything] of an op's `slopes` or `numbers`
// leads to the number at `place`.
bool LeadsTo(const Json& entry, const NumberPlace& place);

// The optional field `slopes` of an op whose arguments are read already. Errors: as above, such as
// an entry that leads to no number, or entries that are not in the order of the arguments.
Result<std::vector<ArgumentLaw>> ReadArgumentLaws(const Json& object, const AtenOp& op);

// The optional field `batch_proof` of the file: sizes and reason, the smaller size.
Result<std::optional<BatchScaling>> ReadBatchProof(const Json& root);

// Checks that slopes and proof belong together, and that all sizes are possible at the sizes of
// the proof. Errors: kField with a place like "ops[12] (add_1).outputs[0].slopes[1]".
Status CheckSlopes(const AtenFile& file);

// Takes the records to another batch. Errors: those of CheckBatchAllowed; kBatchScaling for sizes
// that are impossible there.
Status Rescale(AtenFile& file, int64_t batch);

// The laws of a graph that was built of the records: inputs and then outputs in their order.
BatchScaling CollectLaws(const AtenFile& file);

// Append the values of the fields as they are written.
void AppendShapeSlopes(std::span<const DimensionLaw> slopes, size_t rank, std::string& out);
void AppendArgumentLaws(const Op& op, std::span<const ArgumentLaw> laws, std::string& out);
Json BatchProofToJson(const BatchScaling& laws);

}  // namespace placewright

#endif  // PLACEWRIGHT_FORMATS_ATEN_SLOPES_H_
