// Weights that are stored in 4 bits and made whole (docs/formats/aten-graph.md).
#include "sharding/rules/forms.h"

namespace placewright {
namespace {

// dequantize([packed, scales of blocks, ..., levels], [rows, columns], type): a run of rows, where each tensor but the
// table of levels has rows of its own. Blocks that do not end with a row lie across rows, as scales do that are packed
// again.
void Dequantize(RuleMaker& maker) {
  constexpr int64_t kLevels = 16;  // of 4 bits
  if (maker.output_count() != 1 || maker.out(0).size() != 2 || maker.input_count() < 2) {
    return maker.Fail();
  }
  const int64_t rows = maker.out(0)[0];
  const RuleAxisId row = maker.Axis(rows);
  maker.output(0) = {{row}, {maker.Axis(maker.out(0)[1], Parts::kWhole)}};
  for (size_t i = 0; i < maker.input_count(); ++i) {
    const std::vector<int64_t>& shape = maker.in(i);
    const bool by_rows = shape.size() == 2 && shape[0] == rows;
    const bool table = i > 1 && shape.size() == 1 && shape[0] == kLevels;
    if (!by_rows && !table) return maker.Fail();
    maker.input(i) = by_rows ? TensorAxes{{row}, {maker.Axis(shape[1], Parts::kWhole)}}
                             : maker.AxesOf(shape, Parts::kWhole);
  }
  maker.Size(1, "size", 0, {row});
}

}  // namespace

std::vector<RuleRow> StoredRules() { return {{"stored.dequantize", Dequantize}}; }

}  // namespace placewright
