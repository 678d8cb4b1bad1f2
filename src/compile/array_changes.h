// What passes over a whole step (rewrites/) need of its arrays: who reads what, and changes that are taken back.
#ifndef PLACEWRIGHT_COMPILE_ARRAY_CHANGES_H_
#define PLACEWRIGHT_COMPILE_ARRAY_CHANGES_H_

#include <span>
#include <utility>
#include <vector>

#include "compile/array_writer.h"
#include "compile/step_arrays.h"

namespace placewright {

// Who reads each tensor, in the order of the ops.
class ArrayReaders {
 public:
  explicit ArrayReaders(const StepArrays& arrays);

  // Whether the tensor was there when they were found.
  bool Knows(TensorId tensor) const { return tensor.index() + 1 < first_.size(); }
  std::span<const OpId> Of(TensorId tensor) const {
    return std::span(readers_).subspan(
        static_cast<size_t>(first_[tensor.index()]),
        static_cast<size_t>(first_[tensor.index() + 1] - first_[tensor.index()]));
  }

 private:
  std::vector<int32_t> first_;
  std::vector<OpId> readers_;
};

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
  ArrayCollective& Change(CollectiveId id) {
    return Keep(collectives_, id, arrays_.collectives[id]);
  }
  ArrayRead& ChangeRead(size_t row) { return Keep(reads_, row, arrays_.reads[row]); }
  // Before the order of ops, what is joined or held, or orders beside it change.
  void KeepOrder();

 private:
  template <class Key, class Item>
  static Item& Keep(std::vector<std::pair<Key, Item>>& kept, Key key, Item& item) {
    kept.emplace_back(key, item);
    return item;
  }

  ArrayWriter& writer_;
  StepArrays& arrays_;
  const size_t reads_before_, made_before_, written_before_, members_before_;
  bool order_kept_ = false;
  std::vector<OpId> order_;
  std::vector<CollectiveId> joined_;
  std::vector<std::pair<OpId, OpId>> after_;
  std::vector<std::pair<OpId, ArrayRead>> holds_;
  std::vector<std::pair<OpId, ArrayOp>> ops_;
  std::vector<std::pair<TensorId, ArrayTensor>> tensors_;
  std::vector<std::pair<ArrayVersionId, ArrayVersion>> versions_;
  std::vector<std::pair<CollectiveId, ArrayCollective>> collectives_;
  std::vector<std::pair<size_t, ArrayRead>> reads_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_COMPILE_ARRAY_CHANGES_H_
