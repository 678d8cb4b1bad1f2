#include "compile/array_changes.h"

namespace placewright {

ArrayReaders::ArrayReaders(const StepArrays& arrays) : first_(arrays.tensors.size() + 1, 0) {
  for (const OpId op : arrays.order) {
    for (const ArrayRead& read : arrays.ReadsOf(arrays.ops[op])) ++first_[read.tensor.index() + 1];
  }
  for (size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
  readers_.resize(static_cast<size_t>(first_.back()));
  std::vector<int32_t> next(first_.begin(), first_.end());
  for (const OpId op : arrays.order) {
    for (const ArrayRead& read : arrays.ReadsOf(arrays.ops[op])) {
      readers_[static_cast<size_t>(next[read.tensor.index()]++)] = op;
    }
  }
}

ArrayChanges::ArrayChanges(ArrayWriter& writer)
    : writer_(writer),
      arrays_(writer.arrays()),
      reads_before_(arrays_.reads.size()),
      made_before_(arrays_.made.size()),
      written_before_(arrays_.written.size()),
      members_before_(arrays_.members.size()) {
  writer_.emitter().Begin(writer_.place_behind());
}

ArrayChanges::~ArrayChanges() {
  writer_.emitter().End();
  const auto take_back = [](const auto& kept, auto& items) {
    for (size_t i = kept.size(); i > 0; --i) items[kept[i - 1].first] = kept[i - 1].second;
  };
  take_back(ops_, arrays_.ops);
  take_back(tensors_, arrays_.tensors);
  take_back(versions_, arrays_.versions);
  take_back(collectives_, arrays_.collectives);
  take_back(reads_, arrays_.reads);
  arrays_.reads.resize(reads_before_);
  arrays_.made.resize(made_before_);
  arrays_.written.resize(written_before_);
  arrays_.members.resize(members_before_);
  if (order_kept_) {
    arrays_.order = std::move(order_);
    arrays_.joined = std::move(joined_);
    arrays_.after = std::move(after_);
    arrays_.holds = std::move(holds_);
  }
  writer_.emitter().Begin(writer_.place_behind());
  writer_.emitter().End();
}

void ArrayChanges::KeepOrder() {
  if (order_kept_) return;
  order_ = arrays_.order;
  joined_ = arrays_.joined;
  after_ = arrays_.after;
  holds_ = arrays_.holds;
  order_kept_ = true;
}

}  // namespace placewright
