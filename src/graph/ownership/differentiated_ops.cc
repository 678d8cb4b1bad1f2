#include "graph/ownership/differentiated_ops.h"

#include <algorithm>
#include <map>

#include "graph/aliasing/op_schema.h"
#include "graph/ownership/alignment.h"
#include "graph/ownership/derivative_names.h"
#include "graph/ownership/recomputation.h"

namespace placewright {
namespace {

constexpr size_t kMaxSaved = 16;  // tensors of one backward op that are evidence
constexpr size_t kMaxReaders = 64;
constexpr size_t kMaxCandidates = size_t{1} << 23;  // of all backward ops

class Finder {
 public:
  Finder(const GraphData& graph, const IdVector<OpId, StorageId>& served)
      : graph_(graph),
        again_(FindRecomputation(graph)),
        position_(graph.ops.size(), kUnmatched),
        leads_to_(graph.tensors.size()),
        row_of_(graph.ops.size(), -1),
        is_sum_(graph.ops.size(), 0) {
    found_.op.resize(graph.ops.size());
    found_.summed.resize(graph.ops.size());
    found_.parameter.resize(graph.ops.size());
    ListForwardOps();
    FollowGradients(served);
    for (OpId id : graph.topological_order) {
      if (graph.ops[id].phase != Phase::kBackward) continue;
      if (again_.repeats[id].valid()) {
        found_.op[id] = again_.repeats[id];
      } else if (IsSumOfGradients(graph.ops[id])) {
        sums_.push_back(id);
        is_sum_[id] = 1;
      } else {
        row_of_[id] = static_cast<int32_t>(rows_.size());
        rows_.push_back(id);
      }
    }
  }

  Differentiated Find() {
    ListCandidates();
    at_ = HeaviestDescent(candidates_, forward_.size());
    FillGaps();
    ChooseTheRest();
    for (size_t r = 0; r < rows_.size(); ++r) {
      if (at_[r] != kUnmatched) found_.op[rows_[r]] = forward_[static_cast<size_t>(at_[r])];
    }
    for (size_t i = sums_.size(); i-- > 0;) AttributeSum(sums_[i]);
    return std::move(found_);
  }

 private:
  bool IsForward(TensorId tensor) const {
    const OpId producer = graph_.tensors[tensor].producer;
    return !producer.valid() || graph_.ops[producer].phase == Phase::kForward;
  }
  bool IsGradient(TensorId tensor) const { return !IsForward(again_.behind[tensor]); }
  const std::vector<int64_t>& ShapeOf(TensorId tensor) const {
    return graph_.tensors[tensor].shape;
  }

  void ListForwardOps() {
    readers_.resize(graph_.tensors.size());
    storage_readers_.resize(graph_.storages.size());
    const auto add = [](std::vector<OpId>& row, OpId id) {
      // One more than counts as evidence shows that there are too many.
      if (row.size() <= kMaxReaders && (row.empty() || row.back() != id)) row.push_back(id);
    };
    for (OpId id : graph_.topological_order) {
      const Op& op = graph_.ops[id];
      if (op.phase != Phase::kForward) continue;
      position_[id] = static_cast<int32_t>(forward_.size());
      forward_.push_back(id);
      for (TensorId input : op.inputs) {
        add(readers_[input.index()], id);
        const StorageId storage = graph_.tensors[input].storage;
        if (graph_.storages[storage].kind == TensorKind::kParameter) {
          add(storage_readers_[storage.index()], id);
        }
      }
    }
  }

  // The parameter of which a tensor is, or becomes through views and sums, the gradient.
  void FollowGradients(const IdVector<OpId, StorageId>& served) {
    for (size_t i = graph_.topological_order.size(); i-- > 0;) {
      const OpId id = graph_.topological_order[i];
      const Op& op = graph_.ops[id];
      StorageId parameter;
      if (op.phase == Phase::kOptimizer) parameter = served[id];
      if (op.phase == Phase::kBackward && op.outputs.size() == 1 &&
          (op.is_view || IsSumOfGradients(op))) {
        parameter = leads_to_[op.outputs[0]];
      }
      if (!parameter.valid()) continue;
      for (TensorId input : op.inputs) {
        if (!IsForward(input) && !leads_to_[input].valid()) leads_to_[input] = parameter;
      }
    }
  }

  bool IsSumOfGradients(const Op& op) const {
    const std::string_view name = AtenBaseName(op.type);
    if ((name != "add" && name != "add_") || op.inputs.size() != 2 || op.outputs.size() != 1 ||
        op.inputs[0] == op.inputs[1]) {
      return false;
    }
    return std::all_of(op.inputs.begin(), op.inputs.end(), [&](TensorId input) {
      return IsGradient(input) && ShapeOf(input) == ShapeOf(op.outputs[0]);
    });
  }

  // Calls meet(forward op, is maker) for the candidates of a backward op, one for each tensor.
  template <class Meet>
  void ForEachCandidate(const Op& op, size_t max_readers, const Meet& meet) const {
    std::vector<TensorId> seen;
    const auto meet_readers = [&](const std::vector<OpId>& readers) {
      if (readers.size() > max_readers) return;
      for (OpId reader : readers) meet(reader, false);
    };
    for (TensorId input : op.inputs) {
      const TensorId saved = again_.behind[input];
      if (!IsForward(saved) || std::find(seen.begin(), seen.end(), saved) != seen.end()) continue;
      if (seen.size() == kMaxSaved) break;
      seen.push_back(saved);
      const OpId producer = graph_.tensors[saved].producer;
      const std::vector<OpId>& readers = readers_[saved.index()];
      if (producer.valid() && readers.size() <= max_readers) meet(producer, true);
      meet_readers(readers);
    }
    for (TensorId output : op.outputs) {
      const StorageId parameter = leads_to_[output];
      if (parameter.valid()) meet_readers(storage_readers_[parameter.index()]);
    }
  }

  void ListCandidates() {
    size_t max_readers = kMaxReaders, count = 0;
    do {
      count = 0;
      for (OpId id : rows_) {
        ForEachCandidate(graph_.ops[id], max_readers, [&](OpId, bool) { ++count; });
      }
    } while (count > kMaxCandidates && (max_readers /= 2) > 0);
    candidates_.resize(rows_.size());
    for (size_t r = 0; r < rows_.size(); ++r) ListCandidatesOf(r, max_readers);
  }

  void ListCandidatesOf(size_t r, size_t max_readers) {
    const Op& op = graph_.ops[rows_[r]];
    const std::string_view name = AtenBaseName(op.type);
    const bool is_backward = name.find("_backward") != std::string_view::npos;
    struct Met {
      int32_t tensors = 0;
      bool role = false;
    };
    std::map<int32_t, Met> met;
    ForEachCandidate(op, max_readers, [&](OpId other, bool maker) {
      Met& entry = met[position_[other]];
      ++entry.tensors;
      entry.role = entry.role || maker == is_backward;
    });
    for (auto it = met.rbegin(); it != met.rend(); ++it) {
      const OpId other = forward_[static_cast<size_t>(it->first)];
      const bool named = NamesForward(name, AtenBaseName(graph_.ops[other].type));
      const Met& entry = it->second;
      candidates_[r].push_back(
          {it->first, 4 * entry.tensors + (named ? 2 : 0) + (entry.role ? 1 : 0)});
    }
  }

  int32_t WeakWeight(const Op& op, const Op& forward) const {
    int32_t weight = 0;
    const auto among = [&](TensorId tensor, const std::vector<TensorId>& others) {
      return std::any_of(others.begin(), others.end(),
                         [&](TensorId other) { return ShapeOf(tensor) == ShapeOf(other); });
    };
    const bool of_output = std::any_of(op.inputs.begin(), op.inputs.end(), [&](TensorId input) {
      return IsGradient(input) && among(input, forward.outputs);
    });
    weight += of_output ? 3 : 0;
    weight += std::any_of(op.outputs.begin(), op.outputs.end(),
                          [&](TensorId output) { return among(output, forward.inputs); })
                  ? 2
                  : 0;
    const std::string_view name = AtenBaseName(op.type);
    if (name.empty()) return 0;  // no operator of ATen: cost graphs have no shapes
    const std::string_view forward_name = AtenBaseName(forward.type);
    // Such a view stands behind a sum that undoes broadcasting.
    const bool of_sum = std::any_of(op.inputs.begin(), op.inputs.end(), [&](TensorId input) {
      const OpId producer = graph_.tensors[input].producer;
      return producer.valid() && AtenBaseName(graph_.ops[producer].type) == "sum";
    });
    const bool undoes =
        name == "view" && !of_sum && !forward.is_view && forward_name != "_unsafe_view";
    if (name == "clone" && forward.is_view) {
      weight += 2;
    } else if (!(undoes && of_output) && MayDifferentiate(name, forward_name)) {
      weight += 4;
    }
    return weight < 4 ? 0 : weight + (MadeWhatIsDifferentiated(op, forward) ? 1 : 0);
  }

  // Whether the op for which a fixed op has made one of the gradients that `op` reads has read an
  // output of `forward`.
  bool MadeWhatIsDifferentiated(const Op& op, const Op& forward) const {
    return std::any_of(op.inputs.begin(), op.inputs.end(), [&](TensorId input) {
      const OpId producer = graph_.tensors[input].producer;
      const int32_t row = producer.valid() ? row_of_[producer] : -1;
      const int32_t position = row < 0 ? kUnmatched : at_[static_cast<size_t>(row)];
      if (position == kUnmatched) return false;
      const std::vector<TensorId>& read =
          graph_.ops[forward_[static_cast<size_t>(position)]].inputs;
      return std::any_of(read.begin(), read.end(), [&](TensorId tensor) {
        return std::find(forward.outputs.begin(), forward.outputs.end(), tensor) !=
               forward.outputs.end();
      });
    });
  }

  void FillGaps() {
    auto high = static_cast<int32_t>(forward_.size()) - 1;
    std::vector<size_t> gap;
    const auto fill = [&](int32_t low) {
      if (gap.empty()) return;
      const std::vector<int32_t> positions =
          DenseDescent(gap.size(), high, low, [&](size_t row, int32_t position) {
            return WeakWeight(graph_.ops[rows_[gap[row]]],
                              graph_.ops[forward_[static_cast<size_t>(position)]]);
          });
      for (size_t i = 0; i < gap.size(); ++i) at_[gap[i]] = positions[i];
      gap.clear();
    };
    for (size_t r = 0; r < rows_.size(); ++r) {
      if (at_[r] != kUnmatched) {
        fill(at_[r]);
        high = at_[r];
      } else if (candidates_[r].empty()) {
        gap.push_back(r);
      }
    }
    fill(0);
  }

  // The positions between which a row lies by those fixed before and behind it.
  struct Window {
    int32_t high, low;
  };
  std::vector<Window> Windows() const {
    std::vector<Window> windows(rows_.size());
    auto high = static_cast<int32_t>(forward_.size()) - 1;
    for (size_t r = 0; r < rows_.size(); ++r) {
      if (at_[r] != kUnmatched) high = std::min(high, at_[r]);
      windows[r].high = high;
    }
    int32_t low = 0;
    for (size_t r = rows_.size(); r-- > 0;) {
      if (at_[r] != kUnmatched) low = std::max(low, at_[r]);
      windows[r].low = low;
    }
    return windows;
  }

  void ChooseTheRest() {
    const std::vector<Window> windows = Windows();
    const auto place = [&](size_t r, std::span<const OpId> neighbours, bool last) {
      for (size_t i = 0; i < neighbours.size() && at_[r] == kUnmatched; ++i) {
        const int32_t other = row_of_[neighbours[last ? neighbours.size() - 1 - i : i]];
        if (other < 0 || at_[static_cast<size_t>(other)] == kUnmatched) continue;
        at_[r] = std::clamp(at_[static_cast<size_t>(other)], windows[r].low, windows[r].high);
      }
    };
    for (size_t r = 0; r < rows_.size(); ++r) {
      if (at_[r] == kUnmatched && !candidates_[r].empty()) at_[r] = Nearest(r, windows[r]);
    }
    for (size_t r = 0; r < rows_.size(); ++r) place(r, graph_.producers[rows_[r]], true);
    for (size_t r = rows_.size(); r-- > 0;) place(r, graph_.consumers[rows_[r]], false);
  }

  int32_t Nearest(size_t r, Window window) const {
    const auto distance = [&](int32_t position) {
      return std::max({0, window.low - position, position - window.high});
    };
    return std::min_element(candidates_[r].begin(), candidates_[r].end(),
                            [&](const PositionMatch& a, const PositionMatch& b) {
                              if (a.weight != b.weight) return a.weight > b.weight;
                              return distance(a.position) < distance(b.position);
                            })
        ->position;
  }

  // Later sums are known.
  void AttributeSum(OpId id) {
    const TensorId sum = graph_.ops[id].outputs[0];
    if (leads_to_[sum].valid()) {
      found_.parameter[id] = leads_to_[sum];
      return;
    }
    OpId taker;  // the latest forward op whose backward op takes it
    std::vector<OpId> later;
    for (OpId consumer : graph_.consumers[id]) {
      const OpId op = found_.op[consumer];
      if (!op.valid()) continue;
      if (is_sum_[consumer]) {
        later.push_back(op);
      } else if (!taker.valid() || position_[taker] < position_[op]) {
        taker = op;
      }
    }
    if (taker.valid()) {
      found_.op[id] = BehindAdditions(taker, ShapeOf(sum));
    } else if (!later.empty()) {
      found_.op[id] = MakerOfSummed(id, later);
    }
    if (found_.op[id].valid()) found_.summed[id] = OutputOf(found_.op[id], ShapeOf(sum));
  }

  // The maker of the tensor whose gradients a sum adds that only sums take, `later` the makers of
  // theirs. Either they go on adding the gradients of this tensor, or additions have made it of
  // theirs and hand its gradient on to them. Of what the ops read from which the gradients come,
  // the tensor is the one for which one of the two holds.
  OpId MakerOfSummed(OpId id, const std::vector<OpId>& later) const {
    const auto is_later = [&](OpId op) {
      return std::find(later.begin(), later.end(), op) != later.end();
    };
    const auto is_made_of_later = [&](OpId op) {
      const std::vector<TensorId>& inputs = graph_.ops[op].inputs;
      return HandsGradientOn(op) && std::any_of(inputs.begin(), inputs.end(), [&](TensorId input) {
               return is_later(graph_.tensors[input].producer);
             });
    };
    for (TensorId gradient : graph_.ops[id].inputs) {
      const OpId producer = graph_.tensors[gradient].producer;
      if (!producer.valid() || is_sum_[producer] || !found_.op[producer].valid()) continue;
      for (TensorId read : graph_.ops[found_.op[producer]].inputs) {
        const OpId maker = graph_.tensors[read].producer;
        if (maker.valid() && readers_[read.index()].size() > 1 &&
            ShapeOf(read) == ShapeOf(gradient) && (is_later(maker) || is_made_of_later(maker))) {
          return maker;
        }
      }
    }
    return *std::max_element(later.begin(), later.end(),
                             [&](OpId a, OpId b) { return position_[a] < position_[b]; });
  }

  // The gradients of its operands are that of its result.
  bool HandsGradientOn(OpId op) const {
    const std::string_view name = AtenBaseName(graph_.ops[op].type);
    return name == "add" || name == "add_" || name == "sub" || name == "clone";
  }

  // The output of that shape, or an invalid id.
  TensorId OutputOf(OpId op, const std::vector<int64_t>& shape) const {
    for (TensorId output : graph_.ops[op].outputs) {
      if (ShapeOf(output) == shape) return output;
    }
    return TensorId();
  }

  // The op behind `op`, or itself, whose output of that shape several forward ops read.
  OpId BehindAdditions(OpId op, const std::vector<int64_t>& shape) const {
    for (;;) {
      const TensorId output = OutputOf(op, shape);
      if (!output.valid() || readers_[output.index()].size() != 1) return op;
      const OpId next = readers_[output.index()][0];
      if (!HandsGradientOn(next) || !OutputOf(next, shape).valid()) return op;
      op = next;
    }
  }

  const GraphData& graph_;
  const Recomputation again_;
  std::vector<OpId> forward_;         // in topological order
  IdVector<OpId, int32_t> position_;  // in forward_
  std::vector<std::vector<OpId>>
      readers_;  // by tensor: forward ops, one more than kMaxReaders at most
  std::vector<std::vector<OpId>> storage_readers_;  // of parameters
  IdVector<TensorId, StorageId> leads_to_;
  std::vector<OpId> rows_, sums_;  // backward ops in topological order
  IdVector<OpId, int32_t> row_of_;
  IdVector<OpId, char> is_sum_;
  std::vector<std::vector<PositionMatch>> candidates_;  // by row, descending
  std::vector<int32_t> at_;                             // by row: position
  Differentiated found_;
};

}  // namespace

Differentiated DifferentiatedOps(const GraphData& graph, const IdVector<OpId, StorageId>& served) {
  return Finder(graph, served).Find();
}

}  // namespace placewright
