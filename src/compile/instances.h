// The instances of one op (internal to the module): by which of its axes it is split, and what an instance
// reads and makes.
#ifndef PLACEWRIGHT_COMPILE_INSTANCES_H_
#define PLACEWRIGHT_COMPILE_INSTANCES_H_

#include <map>
#include <vector>

#include "compile/emitter.h"
#include "compile/fetcher.h"
#include "plan/layout.h"
#include "sharding/named_axes.h"

namespace placewright {

class InstanceMaker {
 public:
  // `axis`: of the layout, or none.
  InstanceMaker(const Graph& graph, const NamedAxes& axes, OpId op, const Layout& layout,
                AxisId axis, Emitter& emitter, Fetcher& fetcher);

  // Adds the instances; `after`: by op, its instances so far. The states of the op's outputs are set. Returns
  // the instances.
  Result<std::vector<OpId>> Make(const IdVector<OpId, std::vector<OpId>>& after);

  // A batch norm whose parts have statistics of their own, not those of all parts: all that reads these are
  // the parts of its backward, on the same devices.
  void UseOwnStatistics() { own_statistics_ = true; }

 private:
  // By part, parallel to the op's outputs; invalid: nothing reads it, it was not made.
  using Made = std::vector<std::vector<TensorId>>;

  void ChooseSplit();
  bool IsSynchronised() const;
  bool HasOwnStatistics() const;
  void ChoosePartialInputs();
  void FindBeside();
  bool IsBeside(size_t input) const;
  Result<std::vector<TensorId>> FetchInputs(size_t share);
  Result<TensorId> FetchInput(size_t input, size_t share);
  OpSpec SpecOf(size_t share) const;
  Status Prepare(size_t input);
  std::vector<DeviceId> DevicesOf() const;
  std::map<DeviceId, Interval> IntervalsOf() const;
  void SetPlace(size_t share, OpSpec& spec) const;
  std::vector<OutputSpec> OutputsOf(size_t share) const;
  Result<Made> MakeEach(const Made& read, const std::vector<OpId>& after,
                        std::vector<OpId>& instances);
  Result<Made> MakeSynchronised(const Made& read, std::vector<OpId> after,
                                std::vector<OpId>& instances);
  Status Finish(const Made& made);
  TensorState StateOf(size_t output) const;
  Status DivideByWeight(const Made& made);
  Result<std::vector<TensorId>> DivideMean(std::vector<TensorId> sums, DeviceId device);

  void MarkViewsOfCopies(const Made& read);
  Status CheckNotStale(size_t input) const;
  bool IsWritten(size_t input) const;
  bool MayWriteParts(size_t input) const;
  Status WriteBack(size_t input, const Made& read);
  AxisPlace PlaceIn(const TensorAxes& tensor) const;
  bool SplitsInput(size_t input) const;
  Interval IntervalOf(size_t share) const {
    return {layout_.shares[share].from, layout_.shares[share].to};
  }
  const OpRule& rule() const { return *axes_.rule(id_); }

  const Graph& graph_;
  const NamedAxes& axes_;
  const OpId id_;
  const Op& op_;
  const Layout& layout_;
  const AxisId axis_;
  Emitter& emitter_;
  Fetcher& fetcher_;
  RuleAxisId split_;           // none: every instance does everything
  std::vector<bool> partial_;  // by input: taken, and left, as a partial sum
  std::vector<bool>
      beside_;  // by input: each instance reads the piece of the same share, which is there
  bool makes_partial_ = false;
  bool own_statistics_ = false;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_COMPILE_INSTANCES_H_
