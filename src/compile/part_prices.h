// What instances of ops are and cost, each kind of instance once: a search compiles a step thousands of times,
// of which nearly all instances were there before.
#ifndef PLACEWRIGHT_COMPILE_PART_PRICES_H_
#define PLACEWRIGHT_COMPILE_PART_PRICES_H_

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "cluster/cluster.h"
#include "cost/communication.h"
#include "cost/cost_model.h"
#include "graph/graph_builder.h"

namespace placewright {

using PartTypeId = Id<struct PartTypeTag>;
using PricedPartId = Id<struct PricedPartTag>;

// What the cost of an op may depend on of a tensor.
struct PartType {
  DType dtype = DType::kF32;
  std::vector<int64_t> shape, strides;  // strides: empty if contiguous
  Bytes bytes, length;                  // as in Tensor
  friend bool operator==(const PartType&, const PartType&) = default;
};

struct PartInput {
  PartTypeId type;
  int32_t same = 0;  // the first input that is the same tensor: itself, or one before it
};

struct PartOutput {
  PartTypeId type;  // contiguous
  AliasKind alias = AliasKind::kFresh;
  int32_t alias_of = -1, output_index = -1;
};

// Where a view of a tensor lies.
struct PartView {
  PartTypeId of, type;
  Bytes of_offset, of_storage, offset;
  bool of_inexact = false, inexact = false;
};

// An op without its tensors.
struct PricedPart {
  Op op;  // type, arguments
  std::vector<PartInput> inputs;
  std::vector<PartOutput> outputs;
  std::vector<int32_t> writes;  // positions of inputs, ascending, distinct
  bool is_view = false;
  bool separable =
      false;  // it makes the gradient of an input and that of a weight, which two could
  bool moves_pieces = false;  // plan/moving_ops.h
  bool in_kernel = false;     // as DistributedStep has it
  bool passes_on = false;     // what it reads, another type of it, or that with something added
  std::vector<std::vector<PartView>> views;  // by output: found so far
};

// On one kind of device.
struct PartPrice {
  Nanos time = CostTable::kUnsupported;
  Bytes workspace;
  bool modelled = true;  // equal GPUs side by side make it slower (cost/slowest.h)
};

// The arithmetic of the gradients that a separable part makes, computed apart.
struct PartFlops {
  double input = 0, rest = 0;
};

class PartPrices {
 public:
  // All must outlive it. `options` has no overrides. `by_arguments`: parts with other arguments are others, whatever
  // they cost.
  PartPrices(const Cluster& cluster, const CostOptions& options, int64_t batch,
             bool by_arguments = false);

  const Cluster& cluster() const { return cluster_; }
  const Communication& communication() const { return communication_; }

  // Modelled costs follow from the sizes of what an op reads and makes, but for uneven parts (AxisPartOp). What was
  // measured is looked up by all arguments, so that keys have to have them.
  bool tells_arguments_apart() const { return by_arguments_; }

  PartTypeId ContiguousType(DType dtype, const std::vector<int64_t>& shape);
  const PartType& type(PartTypeId id) const { return types_[id]; }

  // `key` says what the part is; with a new one `make` makes its op, without names, phase and inputs.
  PricedPartId Find(std::span<const int32_t> key, std::span<const PartInput> inputs,
                    const std::function<OpSpec()>& make, bool in_kernel = false);
  // The op's type as a number for keys.
  int32_t WordOf(std::string_view type);
  // That of a view of it.
  const PartView& ViewOf(PricedPartId part, size_t output, PartTypeId of, Bytes offset,
                         Bytes storage, bool inexact);

  const PricedPart& part(PricedPartId id) const { return parts_[id]; }

  // Of the parts that were found since the last call. Parts that cannot be priced are supported nowhere.
  void PriceNew();
  const PartPrice& price(PricedPartId id, int32_t device_kind) const {
    return prices_[id.index() * kinds_ + static_cast<size_t>(device_kind)];
  }
  const PartFlops& flops(PricedPartId id) const { return flops_[id.index()]; }

 private:
  PartTypeId TypeOf(DType dtype, const std::vector<int64_t>& shape,
                    const std::vector<int64_t>& strides, Bytes bytes, Bytes length);

  using Key = std::vector<int32_t>;
  struct HashOfKey {
    using is_transparent = void;
    size_t operator()(std::span<const int32_t> key) const;
    size_t operator()(const Key& key) const { return (*this)(std::span(key)); }
  };
  struct SameKey {
    using is_transparent = void;
    bool operator()(std::span<const int32_t> a, std::span<const int32_t> b) const;
  };

  // Of parts [from, to). Errors: those of GraphBuilder and ModelCosts.
  Status Price(size_t from, size_t to);
  Result<std::vector<OpId>> AddPart(const PricedPart& part, size_t number,
                                    GraphBuilder& builder) const;

  const Cluster& cluster_;
  const MeasuredIndex measured_;
  CostOptions options_;  // without the rows themselves
  const bool by_arguments_;
  const int64_t batch_;
  const size_t kinds_;
  IdVector<PartTypeId, PartType> types_;
  std::unordered_map<Key, PartTypeId, HashOfKey, SameKey> type_ids_;
  IdVector<PricedPartId, PricedPart> parts_;
  std::unordered_map<Key, PricedPartId, HashOfKey, SameKey> part_ids_;
  struct HashOfWord {
    using is_transparent = void;
    size_t operator()(std::string_view word) const { return std::hash<std::string_view>()(word); }
  };
  std::unordered_map<std::string, int32_t, HashOfWord, std::equal_to<>> words_;
  std::vector<std::unique_ptr<std::string>> names_;  // back Op::type
  std::vector<PartPrice> prices_;  // rows of `kinds_`, of the parts that have been priced
  std::vector<PartFlops> flops_;   // of the same
  Key scratch_;
  const Communication communication_;  // by models of the cluster alone
};

}  // namespace placewright

#endif  // PLACEWRIGHT_COMPILE_PART_PRICES_H_
