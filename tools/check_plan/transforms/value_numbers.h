// What the tensors of a step hold, as numbers: two are equal only if their values are, in every run. Of one step, or of
// several that share a table.
//
// A content is a version of a storage. An input's first is its name's; what an op makes is its operator, arguments and
// what it reads; what it writes in place the same. A tensor read is a content through a window: where and how the
// tensor lies in it. So views are no ops here: they compute nothing. What draws from a generator in sequence is never
// equal to another op. A batch norm in training returns the same whatever its running statistics, a convolution's backward
// op each gradient whatever others its mask asks for.
#ifndef CHECK_PLAN_TRANSFORMS_VALUE_NUMBERS_H_
#define CHECK_PLAN_TRANSFORMS_VALUE_NUMBERS_H_

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "graph/graph.h"

namespace placewright::check {

class ValueTable {
 public:
  int64_t Number(std::string key) {
    return numbers_.try_emplace(std::move(key), static_cast<int64_t>(numbers_.size()))
        .first->second;
  }

 private:
  std::unordered_map<std::string, int64_t> numbers_;
};

class StepValues {
 public:
  // The step lists its ops in an order in which they can run.
  StepValues(const Graph& step, ValueTable& table);

  int64_t Content(StorageId storage, int32_t version) const {
    return contents_[storage][static_cast<size_t>(version)];
  }
  int64_t LastContent(StorageId storage) const { return contents_[storage].back(); }
  // What the op reads there.
  int64_t Read(OpId op, size_t input) const;
  // What is read through the tensor at a version of its storage.
  int64_t ReadAt(TensorId tensor, int32_t version) const {
    return Through(tensor, Content(step_.tensor(tensor).storage, version));
  }
  // What a tensor holds behind the step.
  int64_t Last(TensorId tensor) const;
  // Of what the op returns: the operator, its arguments and what it reads.
  int64_t Call(OpId op) const { return calls_[op]; }

 private:
  bool IsCopyOfAll(OpId op) const;
  std::string KeyOf(OpId op, bool statistics) const;
  void AddArgument(OpId op, const Value& value, std::vector<bool>& named, std::string& key) const;
  int64_t Through(TensorId tensor, int64_t content) const;

  const Graph& step_;
  ValueTable& table_;
  IdVector<StorageId, std::vector<int64_t>> contents_;
  IdVector<OpId, int64_t> calls_;
};

// The op's arguments but for what it reads; `but_mask`: and which of its results it makes.
std::string ArgumentsOf(const Op& op, bool but_mask = false);

}  // namespace placewright::check

#endif  // CHECK_PLAN_TRANSFORMS_VALUE_NUMBERS_H_
