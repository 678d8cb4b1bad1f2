// What a distributed step is written to while it grows (internal to the module): a graph (graph_emitter.h), or
// the arrays of one that is only to be priced and simulated (array_emitter.h).
#ifndef PLACEWRIGHT_COMPILE_EMITTER_H_
#define PLACEWRIGHT_COMPILE_EMITTER_H_

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cluster/cluster.h"
#include "graph/graph_builder.h"
#include "plan/distributed_step.h"
#include "sharding/named_axes.h"

namespace placewright {

// What an instance of an op is, beside what it reads: with equal keys and inputs of equal types, instances
// are equal but for their device.
struct InstanceKey {
  OpId op;
  AxisId axis;         // of which axis it has a part, none: of none
  RuleAxisId split;    // and which axis of the op's rule that is
  int64_t length = 0;  // of the part
  bool alone = true;   // there is one instance
  int64_t from = 0;    // where the part begins, if one of its arguments says so
};

class Emitter {
 public:
  virtual ~Emitter() = default;

  // Without inputs, order and name of the op: `after` come before it. What it makes is appended to `made`.
  using MakeSpec = std::function<OpSpec()>;
  virtual Status AddInstance(const InstanceKey& key, std::span<const TensorId> inputs,
                             DeviceId device, const std::vector<OpId>& after, const MakeSpec& spec,
                             std::vector<TensorId>& made) = 0;
  // One of several ops that compute a part of `origin`, called by `word` ("": as the op itself). `spec` has
  // neither name nor outputs' names. `in_kernel`: as DistributedStep has it.
  virtual Result<std::vector<TensorId>> AddOfPart(OpSpec spec, std::string_view word,
                                                  DeviceId device, OpId origin,
                                                  const std::vector<OpId>& after,
                                                  bool in_kernel) = 0;
  // What moves, joins or sums pieces, with one output; its phase is that of what made `like`.
  virtual Result<TensorId> AddLike(std::string_view type, std::vector<TensorId> inputs,
                                   std::vector<Value> args, std::vector<int64_t> shape,
                                   TensorId like, DeviceId device) = 0;
  // One without outputs, called after the first tensor that it reads.
  virtual Result<OpId> AddReader(std::string_view type, std::vector<TensorId> inputs,
                                 std::vector<Value> args, DeviceId device) = 0;
  // The view `view` of what is equal to its base, on another device: an instance of the same op.
  virtual Result<TensorId> AddViewOf(TensorId view, TensorId base, DeviceId device) = 0;
  // Writes `value` over `tensor`, which lies on the device, or zeros; what `tensor` then is.
  virtual Result<TensorId> Overwrite(TensorId tensor, TensorId value, DeviceId device) = 0;
  // All of an original input (no place), or a part of it; of a device alone, or of none.
  virtual Result<TensorId> AddInput(TensorId original, DeviceId device, const AxisPlace& place = {},
                                    Interval interval = {}) = 0;
  // The ops begin and end together.
  virtual Status Join(std::vector<OpId> members) = 0;

  // Of the distributed step.
  virtual const std::vector<int64_t>& shape(TensorId id) const = 0;
  virtual DType dtype(TensorId id) const = 0;
  virtual OpId producer(TensorId id) const = 0;  // none of an input
  virtual DeviceId device(OpId id) const = 0;
  virtual OpId last() const = 0;  // the op that was added last
  virtual const Cluster& cluster() const = 0;

  // Where it is made; none of an input.
  DeviceId device_of(TensorId id) const {
    const OpId maker = producer(id);
    return maker.valid() ? device(maker) : DeviceId();
  }
  // The ops that made these tensors begin and end together.
  Status JoinMakers(const std::vector<TensorId>& made) {
    std::vector<OpId> members;
    for (const TensorId id : made) members.push_back(producer(id));
    return Join(std::move(members));
  }
};

// "%0", "%1", ...: references to the first inputs.
std::vector<Value> References(size_t count);
Value IntegerList(const std::vector<int64_t>& numbers);

}  // namespace placewright

#endif  // PLACEWRIGHT_COMPILE_EMITTER_H_
