#include "named_corruptions.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "transforms/accumulate.h"
#include "transforms/recompute.h"

namespace placewright::tests {
namespace {

bool AreAlike(const Graph& graph, TensorId a, TensorId b) {
  return graph.tensor(a).shape == graph.tensor(b).shape &&
         graph.tensor(a).dtype == graph.tensor(b).dtype;
}

template <class T>
const T& AnyOf(const std::vector<T>& all, Random& random) {
  return all[random.Below(all.size())];
}

// An op reads `other` in the place of one of its inputs.
struct Reading {
  OpId op;
  size_t input;
  TensorId other;
};

bool TakeOne(const std::vector<Reading>& readings, StepEditor& editor, Random& random) {
  if (readings.empty()) return false;
  const Reading& one = AnyOf(readings, random);
  editor.op(one.op).spec.inputs[one.input] = one.other;
  return true;
}

// ---- a stale gathered parameter

// Of which parameter a tensor is a copy, in parts or all of it, and how often that had been written.
struct Copied {
  TensorId parameter;
  int32_t version = 0;
  friend bool operator==(const Copied&, const Copied&) = default;
};

// Of every tensor that is a copy of one parameter, all of whose parts are equally old.
IdVector<TensorId, Copied> CopiesOfParameters(const Graph& original, const DistributedStep& step) {
  const Graph& graph = step.graph;
  IdVector<TensorId, TensorId> piece_of(graph.tensor_count());
  for (const DistributedStep::InputPiece& input : step.inputs) {
    const bool parameter = original.tensor(input.original).kind == TensorKind::kParameter;
    if (parameter) piece_of[input.piece] = input.original;
  }
  IdVector<TensorId, Copied> copies(graph.tensor_count());
  for (const OpId id : graph.ops()) {
    const Op& op = graph.op(id);
    // Zeros in the place of a parameter are none of its copies.
    const bool moves = !step.origin[id].valid() && op.type.starts_with("placewright.");
    if (!moves || op.inputs.empty()) continue;
    std::optional<Copied> all;
    bool alike = true;
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      const TensorId input = op.inputs[i];
      const Copied one =
          piece_of[input].valid() ? Copied{piece_of[input], op.input_versions[i]} : copies[input];
      alike &= one.parameter.valid() && (!all || *all == one);
      all = one;
    }
    for (const TensorId output : op.outputs) {
      if (alike) copies[output] = *all;
    }
  }
  return copies;
}

bool ReadStaleCopy(const Graph& original, const DistributedStep& step, StepEditor& editor,
                   Random& random) {
  const Graph& graph = step.graph;
  const IdVector<TensorId, Copied> copies = CopiesOfParameters(original, step);
  std::vector<TensorId> copied;
  for (const TensorId id : graph.tensors()) {
    if (copies[id].parameter.valid()) copied.push_back(id);
  }
  std::vector<Reading> readings;
  for (const OpId id : graph.ops()) {
    if (!step.origin[id].valid()) continue;
    for (size_t i = 0; i < graph.op(id).inputs.size(); ++i) {
      const TensorId due = graph.op(id).inputs[i];
      for (const TensorId other : copied) {
        const OpId maker = graph.tensor(other).producer;
        const bool stale = copies[other].parameter == copies[due].parameter &&
                           copies[other].version < copies[due].version;
        if (stale && maker < id && step.placement[maker] == step.placement[id] &&
            AreAlike(graph, due, other)) {
          readings.push_back({id, i, other});
        }
      }
    }
  }
  return TakeOne(readings, editor, random);
}

// ---- a micro-batch counted twice

// What the copies of an op have in common: its name without the number of the micro-batch.
std::string FamilyOf(const Op& op) {
  const size_t at = op.name.find('@');
  const size_t end = op.name.find_first_not_of("0123456789", at + 1);
  return op.name.substr(0, at) + (end == std::string::npos ? "" : op.name.substr(end));
}

// An op of the original that an instance is of.
const Op* OriginalOf(const Graph& original, const DistributedStep& step, OpId id) {
  return step.origin[id].valid() ? &original.op(step.origin[id]) : nullptr;
}

// The instances on one device of what is done for every micro-batch, in order.
using Families = std::map<std::pair<DeviceId, std::string>, std::vector<OpId>>;

Families FamiliesOf(const Graph& original, const DistributedStep& step) {
  Families families;
  for (const OpId id : step.graph.ops()) {
    const Op* const of = OriginalOf(original, step, id);
    if (of == nullptr || MicroBatchOf(*of) == 0) continue;
    families[{step.placement[id], FamilyOf(*of)}].push_back(id);
  }
  return families;
}

// In the place of its own share, a sum takes one that was added before, or what has been added up.
std::vector<Reading> SharesTwice(const Graph& original, const DistributedStep& step) {
  const Graph& graph = step.graph;
  std::vector<Reading> readings;
  for (const auto& [of, instances] : FamiliesOf(original, step)) {
    if (!IsMicroBatchSum(original.op(step.origin[instances.front()]))) continue;
    std::vector<TensorId> read;
    for (const OpId id : instances) {
      const std::vector<TensorId>& inputs = graph.op(id).inputs;
      read.insert(read.end(), inputs.begin(), inputs.end());
      if (inputs.size() != 2) continue;
      for (const TensorId other : read) {
        const bool another = other != inputs[1] && AreAlike(graph, other, inputs[1]);
        if (another) readings.push_back({id, 1, other});
      }
    }
  }
  return readings;
}

// What another micro-batch made before on the same device is read in the place of what the op's own made.
std::vector<Reading> PartsTwice(const Graph& original, const DistributedStep& step) {
  const Graph& graph = step.graph;
  const Families families = FamiliesOf(original, step);
  std::vector<Reading> readings;
  for (const OpId id : graph.ops()) {
    const Op* const reader = OriginalOf(original, step, id);
    if (reader == nullptr || MicroBatchOf(*reader) == 0) continue;
    for (size_t i = 0; i < graph.op(id).inputs.size(); ++i) {
      const TensorId due = graph.op(id).inputs[i];
      const OpId maker = graph.tensor(due).producer;
      const Op* const made = maker.valid() ? OriginalOf(original, step, maker) : nullptr;
      const bool may = made != nullptr && MicroBatchOf(*made) == MicroBatchOf(*reader) &&
                       step.placement[maker] == step.placement[id];
      if (!may) continue;
      const auto& outputs = graph.op(maker).outputs;
      const auto at = std::find(outputs.begin(), outputs.end(), due) - outputs.begin();
      for (const OpId other : families.at({step.placement[id], FamilyOf(*made)})) {
        if (MicroBatchOf(original.op(step.origin[other])) == MicroBatchOf(*made)) continue;
        const TensorId read = graph.op(other).outputs[static_cast<size_t>(at)];
        if (other < id && AreAlike(graph, read, due)) readings.push_back({id, i, read});
      }
    }
  }
  return readings;
}

bool CountMicroBatchTwice(const Graph& original, const DistributedStep& step, StepEditor& editor,
                          Random& random) {
  const bool of_sum = random.Below(2) == 0;
  return (of_sum && TakeOne(SharesTwice(original, step), editor, random)) ||
         TakeOne(PartsTwice(original, step), editor, random);
}

// ---- a recomputed op with another draw

constexpr size_t kSeedArgument = 2, kNumberArgument = 3;

bool DrawAnother(const Graph& original, const DistributedStep& step, StepEditor& editor,
                 Random& random) {
  std::vector<OpId> drawing;
  for (const OpId id : step.graph.ops()) {
    const OpId origin = step.origin[id];
    if (!step.graph.op(id).type.starts_with("placewright.counter_")) continue;
    if (origin.valid() && RecomputedOp(original, origin).valid()) drawing.push_back(id);
  }
  if (drawing.empty()) return false;
  std::vector<Value>& args = editor.op(AnyOf(drawing, random)).spec.args;
  Value::List* const part = args.back().AsList();  // [dimension, outer, size, from, to], or empty
  if (part != nullptr && part->size() == 5 && random.Below(2) == 0) {
    const int64_t size = *(*part)[2].AsInt(), from = *(*part)[3].AsInt(), to = *(*part)[4].AsInt();
    if (to - from < size) {
      const int64_t by = from > 0 ? -1 : 1;
      (*part)[3] = Value(from + by);
      (*part)[4] = Value(to + by);
      return true;
    }
  }
  Value& changed = args[random.Below(4) == 0 ? kSeedArgument : kNumberArgument];
  changed = Value(*changed.AsInt() + 1 + static_cast<int64_t>(random.Below(3)));
  return true;
}

// ---- a sum completed in the wrong sub-group

// What a piece is of, before it was moved: an op's output.
struct Made {
  OpId of;
  size_t output = 0;
  friend bool operator==(const Made&, const Made&) = default;
};

std::optional<Made> MadeBy(const DistributedStep& step, TensorId id) {
  for (OpId maker = step.graph.tensor(id).producer; maker.valid();
       maker = step.graph.tensor(id).producer) {
    const Op& op = step.graph.op(maker);
    if (step.origin[maker].valid()) {
      const auto at = std::find(op.outputs.begin(), op.outputs.end(), id) - op.outputs.begin();
      return Made{step.origin[maker], static_cast<size_t>(at)};
    }
    if (op.inputs.empty()) break;
    id = op.inputs[0];
  }
  return std::nullopt;
}

bool IsSum(const Op& op) {
  return op.type.starts_with("placewright.all_reduce.") ||
         op.type.starts_with("placewright.reduce_scatter.");
}

bool ExchangeDevices(const DistributedStep& step, StepEditor& editor, Random& random) {
  struct Exchange {
    size_t a, b, of_a, of_b;
  };
  const Graph& graph = step.graph;
  std::vector<Exchange> exchanges;
  std::vector<std::optional<Made>> sums;
  for (const std::vector<OpId>& members : editor.collectives) {
    const Op& first = graph.op(members.front());
    sums.push_back(IsSum(first) ? MadeBy(step, first.inputs[0]) : std::nullopt);
  }
  const auto devices_of = [&](size_t collective) {
    std::set<DeviceId> devices;
    for (const OpId member : editor.collectives[collective]) devices.insert(step.placement[member]);
    return devices;
  };
  for (size_t a = 0; a < sums.size(); ++a) {
    for (size_t b = a + 1; b < sums.size(); ++b) {
      if (!sums[a] || sums[a] != sums[b]) continue;
      const std::set<DeviceId> of_a = devices_of(a), of_b = devices_of(b);
      for (size_t i = 0; i < editor.collectives[a].size(); ++i) {
        for (size_t j = 0; j < editor.collectives[b].size(); ++j) {
          const OpId one = editor.collectives[a][i], other = editor.collectives[b][j];
          const bool apart =
              !of_a.contains(step.placement[other]) && !of_b.contains(step.placement[one]);
          const Op &x = graph.op(one), &y = graph.op(other);
          if (apart && x.type == y.type && AreAlike(graph, x.inputs[0], y.inputs[0])) {
            exchanges.push_back({a, b, i, j});
          }
        }
      }
    }
  }
  if (exchanges.empty()) return false;
  const Exchange& one = AnyOf(exchanges, random);
  std::swap(editor.collectives[one.a][one.of_a], editor.collectives[one.b][one.of_b]);
  return true;
}

bool AddPieceOfOthers(const DistributedStep& step, StepEditor& editor, Random& random) {
  const Graph& graph = step.graph;
  std::map<std::pair<OpId, size_t>, std::vector<TensorId>> pieces;  // of what is added up
  for (const TensorId id : graph.tensors()) {
    if (const std::optional<Made> made = MadeBy(step, id)) {
      pieces[{made->of, made->output}].push_back(id);
    }
  }
  std::vector<Reading> readings;
  for (const OpId id : graph.ops()) {
    const std::vector<TensorId>& inputs = graph.op(id).inputs;
    if (graph.op(id).type != "placewright.add_n.default") continue;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const std::optional<Made> due = MadeBy(step, inputs[i]);
      if (!due) continue;
      for (const TensorId other : pieces[{due->of, due->output}]) {
        const bool is_read = std::find(inputs.begin(), inputs.end(), other) != inputs.end();
        const bool is_there = graph.tensor(other).producer < id;
        if (!is_read && is_there && AreAlike(graph, other, inputs[i])) {
          readings.push_back({id, i, other});
        }
      }
    }
  }
  return TakeOne(readings, editor, random);
}

bool SumInAnotherGroup(const Graph&, const DistributedStep& step, StepEditor& editor,
                       Random& random) {
  return ExchangeDevices(step, editor, random) || AddPieceOfOthers(step, editor, random);
}

constexpr NamedCorruption kNamed[] = {
    {"stale_gathered_parameter", ReadStaleCopy},
    {"micro_batch_counted_twice", CountMicroBatchTwice},
    {"recomputed_with_another_draw", DrawAnother},
    {"sum_in_the_wrong_sub_group", SumInAnotherGroup},
};

}  // namespace

std::span<const NamedCorruption> NamedCorruptions() { return kNamed; }

}  // namespace placewright::tests
