// A distributed step as arrays while it grows (internal to the module).
#ifndef PLACEWRIGHT_COMPILE_ARRAY_EMITTER_H_
#define PLACEWRIGHT_COMPILE_ARRAY_EMITTER_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compile/emitter.h"
#include "compile/step_arrays.h"

namespace placewright {

class ArrayEmitter : public Emitter {
 public:
  // Writes into `arrays`, which are empty.
  ArrayEmitter(const Graph& original, PartPrices& prices, StepArrays& arrays)
      : original_(original), prices_(prices), arrays_(arrays) {}

  Result<std::vector<TensorId>> AddInstance(const InstanceKey& key, std::vector<TensorId> inputs,
                                            DeviceId device, const std::vector<OpId>& after,
                                            const MakeSpec& spec) override;
  Result<std::vector<TensorId>> AddOfPart(OpSpec spec, std::string_view word, DeviceId device,
                                          OpId origin, const std::vector<OpId>& after) override;
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

  const std::vector<int64_t>& shape(TensorId id) const override { return type(id).shape; }
  DType dtype(TensorId id) const override { return type(id).dtype; }
  OpId producer(TensorId id) const override { return arrays_.tensors[id].producer; }
  DeviceId device(OpId id) const override { return arrays_.ops[id].device; }
  OpId last() const override { return OpId(arrays_.ops.size() - 1); }
  const std::string& device_name(DeviceId id) const override;
  // A view of `spec`'s only input, with the phase of what made `like`.
  TensorId AddView(OpSpec spec, TensorId like, DeviceId device);

 private:
  PricedPartId PartOf(OpSpec& spec);
  const PartType& type(TensorId id) const { return prices_.type(arrays_.tensors[id].type); }
  Phase PhaseOf(TensorId like) const;
  // What there is of a part in the key: the types of its inputs.
  std::span<const PartInput> TakeInputs(const std::vector<TensorId>& inputs);
  void AppendValue(const Value& value);
  void AppendText(std::string_view text);
  // The outputs' ids; the first is that after the last tensor so far.
  std::vector<TensorId> Add(PricedPartId part, const std::vector<TensorId>& inputs, DeviceId device,
                            OpId origin, Phase phase);
  void Write(OpId op, StorageId storage);
  TensorId MakeOutput(PricedPartId part, size_t output, const std::vector<TensorId>& inputs,
                      OpId op);
  void Touch(StorageId storage, DeviceId device);

  const Graph& original_;
  PartPrices& prices_;
  StepArrays& arrays_;
  std::vector<int32_t> key_;
  std::vector<PartInput> types_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_COMPILE_ARRAY_EMITTER_H_
