#include "compile/block_scripts.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "base/random.h"
#include "compile/numbering.h"
#include "sharding/axis_places.h"
#include "transforms/precision.h"

namespace placewright {
size_t BlockScripts::HashOfKey::operator()(const Key& key) const {
  uint64_t hash = key.size();
  for (const int64_t word : key) hash = Random(hash ^ static_cast<uint64_t>(word)).Next();
  return hash;
}

BlockScripts::BlockScripts(const Graph& graph, const NamedAxes& axes,
                           const IdVector<OpId, int32_t>& kinds, const StepWriter& writer,
                           Emitter& emitter, FetchStore& store)
    : graph_(graph),
      axes_(axes),
      kinds_(kinds),
      writer_(writer),
      emitter_(emitter),
      store_(store),
      forms_(
          emitter.image_bits(), [&](TensorId id) { return emitter.MadeOf(id); },
          [&](AxisId axis) { return axes_.axis(axis).size; }),
      facts_of_(graph.tensor_count(), -1),
      is_read_(graph.tensor_count(), 0) {
  store.UseForms(forms_);
  for (const TensorId id : graph.outputs()) is_read_[id] = 1;
  for (const OpId op : graph.ops()) {
    for (const TensorId id : graph.op(op).inputs) is_read_[id] = 1;
  }
}

bool BlockScripts::MakeInputKey(TensorId id) {
  const OpId home = graph_.home_op(graph_.tensor(id).storage);
  if (!home.valid()) return false;
  const GroupId group = graph_.group(home);
  key_ = {FactsOf(id), LayoutNumber(writer_.LayoutOf(group))};
  for (const AxisId axis : writer_.SplitBy(group)) {
    const AxisPlace place = PlaceInTensor(graph_, axes_, id, axis);
    key_.insert(key_.end(), {place.dimension, place.outer, place.size, place.inner});
    const Box& box = writer_.LayoutOf(group).shares.front().box;
    key_.push_back(std::find_if(box.begin(), box.end(),
                                [&](const AxisInterval& one) { return one.axis == axis; }) -
                   box.begin());
  }
  return true;
}

bool BlockScripts::RepeatInput(TensorId id) {
  may_repeat_ = MakeInputKey(id);
  if (!may_repeat_) return false;
  const auto known = inputs_.find(key_);
  if (known == inputs_.end()) return false;
  FormedTensor formed{known->second.form, {}, {}};
  for (const Emitter::InputPiece& piece : known->second.pieces) {
    formed.tensors.push_back(emitter_.RepeatInput(id, piece));
  }
  store_.SetForm(id, std::move(formed));
  return true;
}

void BlockScripts::LearnInput(TensorId id) {
  if (!may_repeat_) return;
  const FormedTensor& formed = store_.FormOf(id);
  InputScript script{formed.form, {}};
  for (const TensorId piece : formed.tensors) script.pieces.push_back(emitter_.PieceOf(piece));
  inputs_.emplace(key_, std::move(script));
}

bool BlockScripts::Repeat(OpId op) {
  // What is out of date of a storage is an error where it is read: no form says so.
  may_repeat_ = writer_.MayRepeat(op) && !store_.any_stale();
  store_.TakeTouched();
  if (!may_repeat_) return false;
  MakeKey(op);
  const auto known = scripts_.find(key_);
  if (known == scripts_.end()) return false;
  const Script& script = known->second;
  const std::vector<TensorId> made = emitter_.Repeat(script.block, tensors_, origins_);
  const auto tensor = [&](int32_t number) {
    return number >= 0 ? tensors_[static_cast<size_t>(number)]
                       : made[static_cast<size_t>(-1 - number)];
  };
  for (const Change& change : script.changes) {
    FormedTensor formed{change.form, {}, {}};
    for (const int32_t one : change.tensors) formed.tensors.push_back(tensor(one));
    for (const int32_t axis : change.axes) {
      formed.axes.push_back(of_axes_[static_cast<size_t>(axis)]);
    }
    const bool looked = change.tensor < looked_.size();
    store_.SetForm(
        looked ? looked_[change.tensor] : graph_.op(op).outputs[change.tensor - looked_.size()],
        std::move(formed));
  }
  return true;
}

void BlockScripts::Learn(OpId op) {
  if (!may_repeat_ || store_.any_stale()) return;
  Script script;
  if (MakeScript(op, script)) scripts_.emplace(key_, std::move(script));
}

bool BlockScripts::MakeScript(OpId op, Script& script) {
  std::vector<TensorId> touched = store_.TakeTouched();
  std::sort(touched.begin(), touched.end());
  touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
  std::optional<std::vector<TensorId>> made = emitter_.MakeScript(tensors_, origins_, script.block);
  if (!made) return false;
  const std::vector<TensorId>& outputs = graph_.op(op).outputs;
  for (const TensorId id : touched) {
    // What it looked at, or changed, that the key does not know of may be another for the next op.
    const auto looked = PlaceIn(looked_, id), output = PlaceIn(outputs, id);
    if (!looked && !output) return false;
    if (store_.HasForm(id)) continue;  // it was only looked at
    const FormedTensor& formed = store_.FormOf(id);
    Change change;
    change.tensor =
        looked ? static_cast<size_t>(*looked) : looked_.size() + static_cast<size_t>(*output);
    change.form = formed.form;
    for (const TensorId one : formed.tensors) {
      const auto known = PlaceIn(tensors_, one), of_block = PlaceIn(*made, one);
      if (!known && !of_block) return false;
      change.tensors.push_back(known ? *known : -1 - *of_block);
    }
    for (const AxisId axis : formed.axes) {
      const auto known = PlaceIn(of_axes_, axis);
      if (!known) return false;
      change.axes.push_back(*known);
    }
    script.changes.push_back(std::move(change));
  }
  return true;
}

// An input, or an output, twice is there once.
void BlockScripts::FindLooked(OpId op) {
  looked_.clear();
  origins_ = {op};
  for (TensorId id : graph_.op(op).inputs) {
    while (NumberIn(looked_, id) + 1 == static_cast<int32_t>(looked_.size())) {
      const OpId maker = graph_.tensor(id).producer;
      if (!maker.valid()) break;
      origins_.push_back(maker);
      const TensorId base = ViewedBy(id);
      if (!base.valid()) break;
      id = base;
    }
  }
}

void BlockScripts::MakeKey(OpId op) {
  FindLooked(op);
  tensors_.clear();
  of_axes_.clear();
  key_ = {kinds_[op], static_cast<int64_t>(graph_.op(op).phase), writer_.EpochOf(op)};
  AddLayout(op);
  AddTensors(op);
  AddFactors(op);
  AddAxes();
}

// The layout's axes are numbered first: a part of a sum is of these, and so may what the block makes be.
void BlockScripts::AddLayout(OpId op) {
  const Layout& layout = writer_.LayoutOf(graph_.group(op));
  key_.push_back(LayoutNumber(layout));
  if (!layout.IsSplit()) return;
  const SmallVector<AxisId> by = writer_.SplitBy(graph_.group(op));
  for (const auto& [axis, interval] : layout.shares.front().box) {
    of_axes_.push_back(axis);
    const RuleAxisId of = axes_.SplitBy(op, axis);
    key_.insert(key_.end(), {std::count(by.begin(), by.end(), axis), of.value(),
                             axes_.axis(axis).size, axis == axes_.batch() ? 1 : 0});
    if (!of.valid()) continue;
    for (const AxisId factor : axes_.FactorsOf(op, of)) {
      key_.insert(key_.end(), {axes_.axis(factor).size, factor == axis ? 1 : 0});
    }
    key_.push_back(-1);
  }
}

// What is known of them, and which of them, of their storages, of what they are made of and of those who made them are
// the same: what one input fetched the next one finds there.
void BlockScripts::AddTensors(OpId id) {
  const Op& op = graph_.op(id);
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    key_.insert(key_.end(), {*PlaceIn(looked_, op.inputs[i]), op.input_versions[i]});
  }
  std::vector<StorageId> storages;
  const auto add_facts = [&](TensorId tensor) {
    key_.insert(key_.end(), {FactsOf(tensor), NumberIn(storages, graph_.tensor(tensor).storage)});
  };
  for (const TensorId tensor : looked_) {
    add_facts(tensor);
    if (const TensorId base = ViewedBy(tensor); base.valid()) {
      key_.push_back(*PlaceIn(looked_, base));
    }
    const FormedTensor& formed = store_.FormOf(tensor);
    key_.push_back(formed.form->number);
    for (const TensorId one : formed.tensors) key_.push_back(NumberIn(tensors_, one));
    for (const AxisId axis : formed.axes) key_.push_back(NumberIn(of_axes_, axis));
  }
  key_.push_back(-1);
  for (const TensorId output : op.outputs) {
    add_facts(output);
    key_.push_back(is_read_[output]);  // parts of norms make no statistics that nothing reads
  }
  for (const OpId origin : origins_) key_.push_back(*PlaceIn(origins_, origin));
}

TensorId BlockScripts::ViewedBy(TensorId id) const {
  const OpId maker = graph_.tensor(id).producer;
  if (!maker.valid()) return TensorId();
  const Op& of = graph_.op(maker);
  return of.is_view && of.inputs.size() == 1 ? of.inputs.front() : TensorId();
}

// Which axes tensors, the op, and the makers of views have in common with one another, and with its layout.
void BlockScripts::AddFactors(OpId op) {
  std::vector<AxisId> known = of_axes_;
  const auto add = [&](std::span<const AxisId> factors) {
    for (const AxisId axis : factors) key_.push_back(NumberIn(known, axis));
    key_.push_back(-1);
  };
  const auto add_rule = [&](OpId of) {
    const OpRule* const rule = axes_.rule(of);
    for (size_t i = 0; rule != nullptr && i < rule->axes.size(); ++i) {
      add(axes_.FactorsOf(of, RuleAxisId(i)));
    }
  };
  add_rule(op);
  for (const TensorId tensor : looked_) {
    for (size_t d = 0; d < graph_.tensor(tensor).shape.size(); ++d) add(axes_.factors(tensor, d));
    if (ViewedBy(tensor).valid()) add_rule(graph_.tensor(tensor).producer);
  }
}

// In which order they come: boxes are sorted by it, and so are the members of collectives.
void BlockScripts::AddAxes() {
  std::vector<size_t> order(of_axes_.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return of_axes_[a] < of_axes_[b]; });
  key_.insert(key_.end(), order.begin(), order.end());
}

// But for the names of its axes.
int32_t BlockScripts::LayoutNumber(const Layout& layout) {
  const auto [at, fresh] = layout_numbers_.emplace(&layout, 0);
  if (!fresh) return at->second;
  Key words;
  for (const Share& share : layout.shares) {
    words.push_back(share.device.value());
    for (const AxisInterval& one : share.box) {
      words.insert(words.end(), {one.interval.from, one.interval.to});
    }
  }
  words.push_back(static_cast<int64_t>(layout.shares.size()));
  return at->second = layouts_.emplace(std::move(words), static_cast<int32_t>(layouts_.size()))
                          .first->second;
}

int64_t BlockScripts::FactsOf(TensorId id) {
  int32_t& known = facts_of_[id];
  if (known < 0) {
    known = facts_.emplace(MakeFacts(id), static_cast<int32_t>(facts_.size())).first->second;
  }
  return known;
}

// What the graph says of it that may make a difference to how it is fetched.
BlockScripts::Key BlockScripts::MakeFacts(TensorId id) const {
  const Tensor& tensor = graph_.tensor(id);
  const Storage& storage = graph_.storage(tensor.storage);
  Key facts = {static_cast<int64_t>(tensor.dtype),
               tensor.bytes.count,
               tensor.version,
               tensor.output_index,
               static_cast<int64_t>(tensor.kind),
               static_cast<int64_t>(storage.kind),
               static_cast<int64_t>(storage.versions.size()),
               storage.versions.front().writer.valid(),
               CastParameter(graph_, tensor.storage).valid(),
               store_.IsRegathered(id),
               axes_.in_own_order(id),
               static_cast<int64_t>(tensor.shape.size())};
  for (size_t d = 0; d < tensor.shape.size(); ++d) {
    facts.push_back(tensor.shape[d]);
    for (const AxisId factor : axes_.factors(id, d)) {
      facts.insert(facts.end(), {axes_.axis(factor).size, factor == axes_.batch() ? 1 : 0});
    }
    facts.push_back(-1);
  }
  writer_.AddOlderReads(tensor.storage, facts);
  if (!tensor.producer.valid()) return facts;
  const Op& maker = graph_.op(tensor.producer);
  facts.insert(facts.end(), {kinds_[tensor.producer], static_cast<int64_t>(maker.phase),
                             maker.is_view ? 1 : 0, static_cast<int64_t>(maker.inputs.size()),
                             static_cast<int64_t>(maker.outputs.size())});
  if (!maker.input_versions.empty()) facts.push_back(maker.input_versions.front());
  return facts;
}

}  // namespace placewright
