// Blocks of a step in lanes that are written as others were (internal to the module): what an op of one layer does on
// all devices, that of the next layer does with other tensors.
//
// Two ops are written alike if they are of one kind, their layouts differ in the names of axes alone, and what is known of
// the tensors that they look at has equal forms (tensor_forms.h), with equal tensors at the same places. Which tensors an
// op looked at is noted while it is written: where these are others than its inputs and what these are views of, or
// where it brought in an input of the step, it is written anew each time. Cost: by the classes of devices, not by the
// devices.
#ifndef PLACEWRIGHT_COMPILE_BLOCK_SCRIPTS_H_
#define PLACEWRIGHT_COMPILE_BLOCK_SCRIPTS_H_

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "compile/emitter.h"
#include "compile/fetch_store.h"
#include "compile/step_writer.h"
#include "compile/tensor_forms.h"
#include "sharding/named_axes.h"

namespace placewright {

class BlockScripts {
 public:
  // All must outlive it. The step is written once, in lanes, block by block in its order.
  BlockScripts(const Graph& graph, const NamedAxes& axes, const IdVector<OpId, int32_t>& kinds,
               const StepWriter& writer, Emitter& emitter, FetchStore& store);

  // In the op's block, which is begun: writes it where one was written that is alike.
  bool Repeat(OpId op);
  // Behind Repeat, where that was not so and the block was written: it is known from now on.
  void Learn(OpId op);
  // The same for what is there before the step, by the layout of its group.
  bool RepeatInput(TensorId id);
  void LearnInput(TensorId id);

 private:
  using Key = std::vector<int64_t>;
  struct HashOfKey {
    size_t operator()(const Key& key) const;
  };
  template <class Value>
  using ByKey = std::unordered_map<Key, Value, HashOfKey>;
  // What is known behind the block of one of the tensors that it changed: an input of it, what that is a view of, or an
  // output.
  struct Change {
    size_t tensor = 0;  // among those that it looks at, and behind them its outputs
    const TensorForm* form = nullptr;
    std::vector<int32_t> tensors;  // as in BlockScript::reads
    std::vector<int32_t> axes;     // among those of its key
  };
  struct Script {
    BlockScript block;
    std::vector<Change> changes;
  };

  bool MakeInputKey(TensorId id);
  void FindLooked(OpId op);
  void MakeKey(OpId op);
  void AddLayout(OpId op);
  void AddTensors(OpId op);
  void AddFactors(OpId op);
  void AddAxes();
  int32_t LayoutNumber(const Layout& layout);
  int64_t FactsOf(TensorId id);
  Key MakeFacts(TensorId id) const;
  TensorId ViewedBy(TensorId id) const;  // by a view of it alone; none: it is no such view
  bool MakeScript(OpId op, Script& script);

  const Graph& graph_;
  const NamedAxes& axes_;
  const IdVector<OpId, int32_t>& kinds_;
  const StepWriter& writer_;
  Emitter& emitter_;
  FetchStore& store_;
  TensorForms forms_;
  // The pieces of first devices, in the order of the form's numbers.
  struct InputScript {
    const TensorForm* form = nullptr;
    std::vector<Emitter::InputPiece> pieces;
  };
  ByKey<Script> scripts_;
  ByKey<InputScript> inputs_;
  ByKey<int32_t> layouts_, facts_;
  std::unordered_map<const Layout*, int32_t> layout_numbers_;
  IdVector<TensorId, int32_t> facts_of_;  // -1: not known yet
  IdVector<TensorId, char> is_read_;      // by an op, or the step gives it
  // Of the op that was asked for last.
  Key key_;
  bool may_repeat_ = false;
  std::vector<TensorId> looked_;   // its inputs, and what these are views of
  std::vector<OpId> origins_;      // itself, and who made these
  std::vector<TensorId> tensors_;  // of the distributed step: all that is known of these
  std::vector<AxisId> of_axes_;    // those of its layout, and of what is known
};

}  // namespace placewright

#endif  // PLACEWRIGHT_COMPILE_BLOCK_SCRIPTS_H_
