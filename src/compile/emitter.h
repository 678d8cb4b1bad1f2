// The distributed graph while it grows (internal to the module).
#ifndef PLACEWRIGHT_COMPILE_EMITTER_H_
#define PLACEWRIGHT_COMPILE_EMITTER_H_

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "cluster/cluster.h"
#include "compile/compiler.h"
#include "graph/graph_builder.h"

namespace placewright {

class Emitter {
 public:
  Emitter(const Graph& original, const Cluster& cluster);

  // An op on a device. `origin`: the op that it is an instance of, or none.
  Result<std::vector<TensorId>> Add(OpSpec spec, DeviceId device, OpId origin);
  // The same with one output; its phase is that of what made `like`.
  Result<TensorId> AddLike(std::string type, std::vector<TensorId> inputs, std::vector<Value> args,
                           std::vector<int64_t> shape, TensorId like, DeviceId device);
  // One without outputs, called after the first tensor that it reads.
  Result<OpId> AddReader(std::string type, std::vector<TensorId> inputs, std::vector<Value> args,
                         DeviceId device);
  // The view `view` of what is equal to its base, on another device: an instance of the same op.
  Result<TensorId> AddViewOf(TensorId view, TensorId base, DeviceId device);
  // Writes `value` over `tensor`, which lies on the device, or zeros; what `tensor` then is.
  Result<TensorId> Overwrite(TensorId tensor, TensorId value, DeviceId device);
  // All of an original input (no place), or a part of it.
  Result<TensorId> AddInput(std::string name, TensorId original, const AxisPlace& place = {},
                            Interval interval = {});
  // The ops that made these tensors begin and end together.
  Status Join(const std::vector<TensorId>& made);
  Status Join(std::vector<OpId> members);

  // Of the distributed graph.
  const Tensor& tensor(TensorId id) const { return builder_.added().tensors[id]; }
  // Where it is made; none of an input.
  DeviceId device_of(TensorId id) const {
    const OpId maker = tensor(id).producer;
    return maker.valid() ? placement_[maker] : DeviceId();
  }
  const std::string& device_name(DeviceId id) const { return cluster_.device(id).name; }

  Result<DistributedStep> Finish(std::vector<TensorId> outputs) &&;

  // The name, or with a number behind it where it was given out before.
  std::string FreshName(std::string name);

 private:
  // A name of its own for an op that moves or joins pieces.
  std::string NameLike(const Tensor& model, std::string_view word, DeviceId device);
  void TakeModule(const Tensor& model, OpSpec& spec) const;

  const Graph& original_;
  const Cluster& cluster_;
  GraphBuilder builder_;
  Placement placement_;
  IdVector<OpId, OpId> origin_;
  std::vector<DistributedStep::InputPiece> inputs_;
  std::unordered_map<std::string, int> names_;
};

// "%0", "%1", ...: references to the first inputs.
std::vector<Value> References(size_t count);
Value IntegerList(const std::vector<int64_t>& numbers);

}  // namespace placewright

#endif  // PLACEWRIGHT_COMPILE_EMITTER_H_
