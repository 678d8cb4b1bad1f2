// The ops that compiled steps are put together with ("placewright." types; src/compile/rewrites/).
// Members of collectives take no time of their own: the collective does (simulator rule 15).
#include <algorithm>

#include "cost/rows/rules.h"

namespace placewright {
namespace {

using enum OpClass;

// A sum of n parts: n - 1 additions for each element.
void SumOfParts(const OpView& op, const WorkRow& row, Work& work) {
  work.bytes_read = Bytes(op.InputBytes());
  work.bytes_written = Bytes(op.OutputBytes());
  const double additions = static_cast<double>(std::max<size_t>(op.input_count(), 1) - 1);
  work.flops =
      row.flops * additions * static_cast<double>(op.output(0) ? Elements(*op.output(0)) : 0);
}

constexpr WorkRow kPlacewrightRows[] = {
    {"add_n", kElementwise, SumOfParts, kCheap},
    {"all_gather all_reduce all_to_all broadcast reduce_scatter", kDataMovement, Nothing},
    {"causal_attention_part", kGemm, CausalAttentionPart, 5},  // where its place stands
    {"causal_attention_backward_part", kGemm, CausalAttentionBackwardPart, 8},
    {"concat pack", kDataMovement, Streaming},
    {"embedding_part rows_of_keys_part sort_rows_part split", kDataMovement,
     Gathering},  // split reads the part alone
    {"histc_part sort_part", kDataMovement, Streaming, kCheap, 8},
    {"order_part_", kDataMovement, WriteOnly},
    {"sum_by_keys_part", kDataMovement, Streaming},
    {"slice_backward_part unsort_part", kDataMovement, ZeroAndAdd},
    {"embedding_dense_backward_part", kDataMovement, ZeroAndAdd, kCheap},
    {"nll_loss_part", kReduction, PickOne, kCheap},
    {"nll_loss_backward_part", kDataMovement, SkipInput1, kCheap},
    {"unpack", kView, Nothing},
};

// Each element is looked up and multiplied by the scale of its block.
constexpr WorkRow kStoredRows[] = {{"dequantize", kElementwise, Streaming, 2 * kCheap}};

}  // namespace

std::span<const WorkRow> PlacewrightRows() { return kPlacewrightRows; }
std::span<const WorkRow> StoredRows() { return kStoredRows; }

}  // namespace placewright
