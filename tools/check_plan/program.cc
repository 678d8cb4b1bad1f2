#include "check_plan/program.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

namespace placewright::check {
namespace {

constexpr std::array<std::string_view, 4> kMoving = {
    "placewright.split.default", "placewright.pack.default", "placewright.concat.default",
    "placewright.add_n.default"};

class Finder {
 public:
  explicit Finder(const Step& step)
      : step_(step),
        graph_(step.graph()),
        waiting_(graph_.op_count()),
        named_(graph_.op_count()),
        sent_(graph_.op_count(), false),
        anchor_(graph_.op_count(), -1) {}

  Program Find() {
    FindWaiting();
    const auto order = graph_.topological_order();
    for (size_t i = order.size(); i > 0; --i) sent_[order[i - 1]] = IsSent(order[i - 1]);
    for (const OpId op : order) AnchorForward(op);
    for (size_t i = order.size(); i > 0; --i) AnchorBackward(order[i - 1]);
    Program program{IdVector<OpId, int32_t>(graph_.op_count(), -1), {}};
    SetTurns(program);
    OrderCollectives(program);
    return program;
  }

 private:
  bool TakesTurn(OpId op) const { return !graph_.op(op).is_view && !step_.IsMember(op); }
  bool Moves(OpId op) const {
    return TakesTurn(op) &&
           std::find(kMoving.begin(), kMoving.end(), graph_.op(op).type) != kMoving.end();
  }
  bool Joins(OpId op) const { return Moves(op) && !sent_[op]; }

  void Add(OpId earlier, OpId later) {
    if (earlier.valid() && earlier != later) waiting_[earlier].push_back(later);
  }

  // Ops that are no views, of those that wait for the end of each such.
  void FindWaiting() {
    for (const Slice& slice : step_.slices()) {
      const auto& versions = graph_.storage(slice.storage).versions;
      const size_t next = static_cast<size_t>(slice.version) + 1;
      const OpId writer = next < versions.size() ? versions[next].writer : OpId();
      for (const OpId reader : slice.readers) {
        Add(step_.WriterOf(slice), reader);
        const bool local = step_.placement()[reader] == step_.home(slice.storage);
        if (writer.valid() && local) Add(reader, writer);
      }
    }
    for (const StorageId id : graph_.storages()) {
      const auto& versions = graph_.storage(id).versions;
      for (size_t i = 1; i < versions.size(); ++i) Add(versions[i - 1].writer, versions[i].writer);
    }
    for (const OpId op : graph_.topological_order()) FindNamed(op);
    for (std::vector<OpId>& all : waiting_) {
      std::sort(all.begin(), all.end());
      all.erase(std::unique(all.begin(), all.end()), all.end());
    }
  }

  // What the op waits for beside contents: orders that it states, or that views by which it reads state.
  void FindNamed(OpId id) {
    std::set<OpId> ends;
    const Op& op = graph_.op(id);
    for (const TensorId input : op.inputs) {
      const OpId maker = graph_.tensor(input).producer;
      if (!maker.valid()) continue;
      if (graph_.op(maker).is_view) {
        ends.insert(named_[maker].begin(), named_[maker].end());
        continue;
      }
      // Who wrote what the tensor names has ended before any content of it is read.
      const Tensor& tensor = graph_.tensor(input);
      const OpId writer = graph_.storage(tensor.storage).versions[tensor.version].writer;
      if (writer != maker) ends.insert(maker);
    }
    for (const OpId earlier : op.after) {
      if (!graph_.op(earlier).is_view) {
        ends.insert(earlier);
        continue;
      }
      ends.insert(named_[earlier].begin(), named_[earlier].end());
      for (const TensorId output : graph_.op(earlier).outputs) {
        const Tensor& shown = graph_.tensor(output);
        const OpId writer = graph_.storage(shown.storage).versions[shown.version].writer;
        if (writer.valid()) ends.insert(writer);
      }
    }
    ends.erase(id);
    if (op.is_view) {
      named_[id].assign(ends.begin(), ends.end());
    } else {
      for (const OpId earlier : ends) Add(earlier, id);
    }
  }

  bool IsSent(OpId op) const {
    return Moves(op) && std::any_of(waiting_[op].begin(), waiting_[op].end(), [&](OpId later) {
             return step_.IsMember(later) || sent_[later] ||
                    step_.placement()[later] != step_.placement()[op];
           });
  }

  // Members of a collective are neighbours in the graph's order, so that the last one knows all.
  void AnchorForward(OpId op) {
    if (graph_.op(op).is_view) return;
    if (step_.IsMember(op)) {
      const CollectiveId id = graph_.collective_of(op);
      const std::vector<OpId>& members = graph_.collective(id).members;
      if (++seen_[id] < members.size()) return;
      int32_t last = -1;
      for (const OpId member : members) last = std::max(last, anchor_[member]);
      for (const OpId member : members) anchor_[member] = last;
      for (const OpId member : members) PassOn(member);
      return;
    }
    if (!sent_[op]) anchor_[op] = op.value();
    PassOn(op);
  }
  void PassOn(OpId op) {
    for (const OpId later : waiting_[op]) anchor_[later] = std::max(anchor_[later], anchor_[op]);
  }
  void AnchorBackward(OpId op) {
    if (!Joins(op) || waiting_[op].empty()) return;
    int32_t first = anchor_[waiting_[op].front()];
    for (const OpId later : waiting_[op]) first = std::min(first, anchor_[later]);
    anchor_[op] = first;
  }

  void SetTurns(Program& program) const {
    // By anchor: what joins before it, the op itself, what is sent behind it.
    std::vector<std::tuple<int32_t, int, OpId>> items;
    for (const OpId op : graph_.ops()) {
      if (!TakesTurn(op)) continue;
      const bool before = Joins(op) && !waiting_[op].empty();
      items.emplace_back(anchor_[op], before ? 0 : sent_[op] ? 2 : 1, op);
    }
    std::sort(items.begin(), items.end());
    IdVector<DeviceId, int32_t> next(step_.cluster().device_count(), 0);
    for (const auto& [anchor, side, op] : items) {
      program.turn[op] = next[step_.placement()[op]]++;
    }
  }

  void OrderCollectives(Program& program) const {
    std::vector<std::tuple<int32_t, OpId, CollectiveId>> items;
    for (const CollectiveId id : graph_.collectives()) {
      const std::vector<OpId>& members = graph_.collective(id).members;
      items.emplace_back(anchor_[members.front()],
                         *std::max_element(members.begin(), members.end()), id);
    }
    std::sort(items.begin(), items.end());
    program.before.resize(items.size());
    std::map<std::vector<DeviceId>, CollectiveId> last;
    for (const auto& [anchor, member, id] : items) {
      program.before[id] = std::exchange(last[CommunicatorOf(step_, id)], id);
    }
  }

  const Step& step_;
  const Graph& graph_;
  IdVector<OpId, std::vector<OpId>> waiting_;
  IdVector<OpId, std::vector<OpId>>
      named_;  // of views: what those wait for that read by their names
  IdVector<OpId, char> sent_;
  IdVector<OpId, int32_t> anchor_;
  std::map<CollectiveId, size_t> seen_;
};

}  // namespace

std::vector<DeviceId> CommunicatorOf(const Step& step, CollectiveId id) {
  const Graph& graph = step.graph();
  const auto is_input = [&](TensorId tensor) {
    const Storage& storage = graph.storage(graph.tensor(tensor).storage);
    return storage.kind == TensorKind::kInput && storage.versions.size() == 1 &&
           !storage.versions.front().writer.valid();
  };
  std::set<DeviceId> devices;
  std::vector<OpId> senders, others;
  for (const OpId member : graph.collective(id).members) {
    const std::vector<TensorId>& inputs = graph.op(member).inputs;
    const bool sends = !std::all_of(inputs.begin(), inputs.end(), is_input);
    (sends ? senders : others).push_back(member);
    devices.insert(step.placement()[member]);
  }
  if (senders.size() == 1 && others.size() == 1) {
    const Op& sender = graph.op(senders[0]);
    if (sender.outputs.empty() && sender.writes.empty()) {
      return {step.placement()[senders[0]], step.placement()[others[0]], DeviceId()};
    }
  }
  return {devices.begin(), devices.end()};
}

Program ProgramOf(const Step& step) { return Finder(step).Find(); }

}  // namespace placewright::check
