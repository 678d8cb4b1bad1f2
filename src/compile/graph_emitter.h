// The distributed graph while it grows (internal to the module).
#ifndef PLACEWRIGHT_COMPILE_GRAPH_EMITTER_H_
#define PLACEWRIGHT_COMPILE_GRAPH_EMITTER_H_

#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cluster/cluster.h"
#include "compile/compiler.h"
#include "compile/emitter.h"

namespace placewright {

class GraphEmitter : public Emitter {
 public:
  GraphEmitter(const Graph& original, const Cluster& cluster);

  Status AddInstance(const InstanceKey& key, std::span<const TensorId> inputs, DeviceId device,
                     const std::vector<OpId>& after, const MakeSpec& make,
                     std::vector<TensorId>& made) override;
  Result<std::vector<TensorId>> AddOfPart(OpSpec spec, std::string_view word, DeviceId device,
                                          OpId origin, const std::vector<OpId>& after,
                                          bool in_kernel) override;
  Result<TensorId> AddLike(std::string_view type, std::vector<TensorId> inputs,
                           std::vector<Value> args, std::vector<int64_t> shape, TensorId like,
                           DeviceId device) override;
  Result<OpId> AddReader(std::string_view type, std::vector<TensorId> inputs,
                         std::vector<Value> args, DeviceId device) override;
  Result<TensorId> AddViewOf(TensorId view, TensorId base, DeviceId device) override;
  Result<TensorId> Overwrite(TensorId tensor, TensorId value, DeviceId device) override;
  Result<TensorId> AddInput(TensorId original, DeviceId device, const AxisPlace& place = {},
                            Interval interval = {}) override;
  Status Join(std::vector<OpId> members) override;

  const std::vector<int64_t>& shape(TensorId id) const override { return tensor(id).shape; }
  DType dtype(TensorId id) const override { return tensor(id).dtype; }
  OpId producer(TensorId id) const override { return tensor(id).producer; }
  DeviceId device(OpId id) const override { return placement_[id]; }
  OpId last() const override { return OpId(placement_.size() - 1); }
  const Cluster& cluster() const override { return cluster_; }

  Result<DistributedStep> Finish(std::vector<TensorId> outputs) &&;

 private:
  const std::string& device_name(DeviceId id) const { return cluster_.device(id).name; }
  const Tensor& tensor(TensorId id) const { return builder_.added().tensors[id]; }
  Result<std::vector<TensorId>> Add(OpSpec spec, DeviceId device, OpId origin);
  // The name, or with a number behind it where it was given out before.
  std::string FreshName(std::string name);
  // A name of its own for an op that moves or joins pieces.
  std::string NameLike(const Tensor& model, std::string_view type, DeviceId device);
  void TakeModule(const Tensor& model, OpSpec& spec) const;
  std::vector<std::string> NamesOf(const std::vector<OpId>& ops) const;

  const Graph& original_;
  const Cluster& cluster_;
  GraphBuilder builder_;
  Placement placement_;
  IdVector<OpId, OpId> origin_;
  std::vector<char> in_kernel_;
  std::vector<DistributedStep::InputPiece> inputs_;
  std::unordered_map<std::string, int> names_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_COMPILE_GRAPH_EMITTER_H_
