// The compiler's passes over a whole step, on arrays: what rewrites/separate_gradients.h and
// rewrites/fuse_all_reduces.h do to the graph.
#ifndef PLACEWRIGHT_COMPILE_ARRAY_PASSES_H_
#define PLACEWRIGHT_COMPILE_ARRAY_PASSES_H_

#include <utility>
#include <vector>

#include "base/units.h"
#include "compile/array_writer.h"
#include "compile/step_arrays.h"

namespace placewright {

// What passes have changed, to be taken back: the last one first.
class ArrayChanges {
 public:
  explicit ArrayChanges(ArrayWriter& writer);
  ~ArrayChanges();
  ArrayChanges(const ArrayChanges&) = delete;
  ArrayChanges& operator=(const ArrayChanges&) = delete;

  ArrayOp& Change(OpId id) { return Keep(ops_, id, arrays_.ops[id]); }
  ArrayTensor& Change(TensorId id) { return Keep(tensors_, id, arrays_.tensors[id]); }
  ArrayVersion& Change(ArrayVersionId id) { return Keep(versions_, id, arrays_.versions[id]); }
  ArrayRead& ChangeRead(size_t row) { return Keep(reads_, row, arrays_.reads[row]); }
  // Before the order of ops, or what is joined, changes. Orders beside it are only added.
  void KeepOrder();

 private:
  template <class Key, class Item>
  static Item& Keep(std::vector<std::pair<Key, Item>>& kept, Key key, Item& item) {
    kept.emplace_back(key, item);
    return item;
  }

  ArrayWriter& writer_;
  StepArrays& arrays_;
  const size_t reads_before_, made_before_, written_before_, members_before_, after_before_;
  bool order_kept_ = false;
  std::vector<OpId> order_;
  std::vector<CollectiveId> joined_;
  std::vector<std::pair<OpId, ArrayOp>> ops_;
  std::vector<std::pair<TensorId, ArrayTensor>> tensors_;
  std::vector<std::pair<ArrayVersionId, ArrayVersion>> versions_;
  std::vector<std::pair<size_t, ArrayRead>> reads_;
};

// Returns whether any gradients are made apart now.
bool SeparateGradients(const PartPrices& prices, ArrayWriter& writer, ArrayChanges& changes);

// False: a gradient that is summed is written in place later, which only the graph can express; the arrays are as
// they were.
bool FuseAllReduces(Bytes limit, const PartPrices& prices, ArrayWriter& writer,
                    ArrayChanges& changes);

}  // namespace placewright

#endif  // PLACEWRIGHT_COMPILE_ARRAY_PASSES_H_
