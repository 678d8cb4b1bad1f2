// A slow simulator that is correct at a glance, to hold the real one to: every rule of
// docs/simulator.md by itself, on maps, everything found out anew at every phase, straight from the
// graph and not from the compiled program.
#ifndef PLACEWRIGHT_TESTS_SIMULATOR_REFERENCE_SIMULATOR_H_
#define PLACEWRIGHT_TESTS_SIMULATOR_REFERENCE_SIMULATOR_H_

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/check.h"
#include "sim/simulator.h"

namespace placewright {

class ReferenceSimulator {
 public:
  ReferenceSimulator(const Graph& graph, const Cluster& cluster, const CostTable& costs,
                     const Placement& placement, SchedulingPolicy policy,
                     const Sequences& sequences = {})
      : graph_(graph),
        cluster_(cluster),
        costs_(costs),
        placement_(placement),
        policy_(policy),
        sequences_(sequences) {}

  struct Slice {
    int32_t storage, version;
    int64_t offset, length;
    auto Key() const { return std::tie(storage, version, offset, length); }
    friend bool operator<(const Slice& a, const Slice& b) { return a.Key() < b.Key(); }
    friend bool operator==(const Slice& a, const Slice& b) { return a.Key() == b.Key(); }
  };
  struct Span {
    int64_t ready = -1, start = -1, end = -1;
  };

  void Run() {
    FindReads();
    if (policy_ == SchedulingPolicy::kProgram) FindProgram();
    peak.assign(cluster_.device_count(), 0);
    peak_time.assign(cluster_.device_count(), 0);
    ReadPeak();
    for (int64_t now = 0;;) {
      MarkReady(now);
      FindBeside();
      while (StartSomething(now)) {
      }
      if (cluster_.collectives_share()) Reckon(now);
      now_ = now;
      ReadPeak();
      int64_t next = -1;
      const auto consider = [&](const Span& span, bool ended) {
        if (span.start >= 0 && !ended && (next < 0 || span.end < next)) next = span.end;
      };
      for (const auto& [op, span] : ops) consider(span, ended_.contains(op));
      for (const auto& [key, span] : transfers) consider(span, arrived_.contains(key));
      for (const auto& [id, span] : collectives) consider(span, over_.contains(id));
      if (next < 0) break;
      for (auto& [id, left] : left_) {
        if (Runs(id)) left -= __int128{next - now} * (kShareUnits / Among(id));
      }
      now = next;
      std::set<int32_t> ended;
      std::set<std::pair<Slice, int32_t>> arrived;
      for (const auto& [op, span] : ops) {
        if (span.start >= 0 && span.end == now) ended.insert(op);
      }
      for (const auto& [key, span] : transfers) {
        if (span.start >= 0 && span.end == now) arrived.insert(key);
      }
      for (const auto& [id, span] : collectives) {
        if (span.start >= 0 && span.end == now) over_.insert(id);
      }
      ended_.insert(ended.begin(), ended.end());
      arrived_.insert(arrived.begin(), arrived.end());
      step_time = now;
    }
  }

  // Results.
  int64_t step_time = 0;
  std::vector<int64_t> peak, peak_time;  // by device
  std::map<int32_t, Span> ops;           // exec ops by id
  std::map<std::pair<Slice, int32_t>, Span> transfers;
  std::map<int32_t, Span> collectives;

  // Rule 16: the op that is named where not all ran, or none. With sequences alone some may not.
  OpId StuckOp() const {
    for (const auto& sequence : sequences_) {
      if (!sequence) continue;
      for (OpId op : *sequence) {
        if (!ended_.contains(op.value())) return op;
      }
    }
    return OpId();
  }

  int64_t ViewEnd(OpId view) const {
    int64_t end = 0;
    for (OpId op : WaitsOf(view)) end = std::max(end, ops.at(op.value()).end);
    for (const Slice& slice : GroupsOf(view)) {
      const OpId writer = WriterOf(slice.storage, slice.version);
      if (writer.valid()) end = std::max(end, ops.at(writer.value()).end);
    }
    return end;
  }

 private:
  bool IsExec(OpId op) const { return !graph_.op(op).is_view; }
  int32_t DeviceOf(int32_t op) const { return placement_[OpId(op)].value(); }
  OpId WriterOf(int32_t storage, int32_t version) const {
    return graph_.storage(StorageId(storage)).versions[version].writer;
  }
  bool IsTransient(int32_t storage) const { return WriterOf(storage, 0).valid(); }
  bool IsInput(int32_t storage) const {
    const Storage& s = graph_.storage(StorageId(storage));
    return !IsTransient(storage) && s.kind == TensorKind::kInput && s.versions.size() == 1;
  }
  int32_t HomeOf(int32_t storage) const {
    if (IsTransient(storage)) return DeviceOf(WriterOf(storage, 0).value());
    if (graph_.given_home(StorageId(storage)).valid()) {
      return graph_.given_home(StorageId(storage)).value();
    }
    const OpId op = graph_.home_op(StorageId(storage));
    return op.valid() ? DeviceOf(op.value()) : -1;
  }

  std::set<Slice> GroupsOf(OpId id) const {
    std::set<Slice> slices;
    const Op& op = graph_.op(id);
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      const Tensor& tensor = graph_.tensor(op.inputs[i]);
      slices.insert(
          {tensor.storage.value(), op.input_versions[i], tensor.offset.count, tensor.length.count});
    }
    return slices;
  }
  void FindReads() {
    for (OpId op : graph_.ops()) {
      if (!IsExec(op)) continue;
      ops[op.value()];
      reads_[op.value()] = GroupsOf(op);
      for (const Slice& slice : reads_[op.value()]) readers_[slice].insert(op.value());
    }
    for (TensorId id : graph_.tensors()) {  // what an op holds is as if it read it
      const Tensor& tensor = graph_.tensor(id);
      const OpId holder = tensor.held_until;
      if (!holder.valid() || !IsExec(holder)) continue;
      int32_t version = 0;
      const std::vector<Version>& versions = graph_.storage(tensor.storage).versions;
      for (size_t v = 1; v < versions.size(); ++v) {
        if (versions[v].writer < holder) version = static_cast<int32_t>(v);
      }
      const Slice slice{tensor.storage.value(), version, tensor.offset.count, tensor.length.count};
      reads_[holder.value()].insert(slice);
      readers_[slice].insert(holder.value());
    }
    for (CollectiveId id : graph_.collectives()) collectives[id.value()] = Span();
  }
  const std::vector<OpId>& MembersOf(int32_t id) const {
    return graph_.collective(CollectiveId(id)).members;
  }

  // Ops whose end ends a view, or that an op waits for beside the writers of what it reads.
  std::set<OpId> WaitsOf(OpId id) const {
    std::set<OpId> waits;
    const auto add_end_of = [&](OpId earlier, bool explicitly) {
      if (IsExec(earlier)) {
        waits.insert(earlier);
        return;
      }
      const std::set<OpId> more = WaitsOf(earlier);
      waits.insert(more.begin(), more.end());
      if (!explicitly) return;
      for (const Slice& slice : GroupsOf(earlier)) {
        if (WriterOf(slice.storage, slice.version).valid()) {
          waits.insert(WriterOf(slice.storage, slice.version));
        }
      }
    };
    for (TensorId input : graph_.op(id).inputs) {
      // Who wrote what the tensor names has ended before any content of it is read.
      const Tensor& tensor = graph_.tensor(input);
      const bool wrote = WriterOf(tensor.storage.value(), tensor.version) == tensor.producer;
      if (tensor.producer.valid() && !wrote) add_end_of(tensor.producer, false);
    }
    for (OpId earlier : graph_.op(id).after) add_end_of(earlier, true);
    waits.erase(id);
    return waits;
  }

  bool AtHome(const Slice& slice) const {
    const OpId writer = WriterOf(slice.storage, slice.version);
    return !writer.valid() || ended_.contains(writer.value());
  }
  bool IsResident(const Slice& slice, int32_t device) const {
    if (IsInput(slice.storage)) return true;
    if (HomeOf(slice.storage) == device) return AtHome(slice);
    return arrived_.contains({slice, device});
  }
  // Devices to which the slice has to go.
  std::set<int32_t> Destinations(const Slice& slice) const {
    std::set<int32_t> devices;
    if (IsInput(slice.storage)) return devices;
    for (int32_t reader : readers_.at(slice)) devices.insert(DeviceOf(reader));
    devices.erase(HomeOf(slice.storage));
    return devices;
  }
  // In-place: every local reader and every transfer of the old version has ended.
  bool OldVersionIsFree(int32_t op, int32_t storage, int32_t version) const {
    const OpId writer = WriterOf(storage, version);
    if (writer.valid() && !ended_.contains(writer.value())) return false;
    for (const auto& [slice, readers] : readers_) {
      if (slice.storage != storage || slice.version != version) continue;
      for (int32_t reader : readers) {
        const bool local = DeviceOf(reader) == HomeOf(storage);
        if (reader != op && local && !ended_.contains(reader)) return false;
      }
      for (int32_t device : Destinations(slice)) {
        if (!arrived_.contains({slice, device})) return false;
      }
    }
    return true;
  }
  bool IsReady(int32_t op) const {
    for (const Slice& slice : reads_.at(op)) {
      if (!IsResident(slice, DeviceOf(op))) return false;
    }
    for (OpId earlier : WaitsOf(OpId(op))) {
      if (!ended_.contains(earlier.value())) return false;
    }
    for (StorageId s : graph_.storages()) {
      for (size_t v = 1; v < graph_.storage(s).versions.size(); ++v) {
        if (graph_.storage(s).versions[v].writer != OpId(op)) continue;
        if (!OldVersionIsFree(op, s.value(), static_cast<int32_t>(v) - 1)) return false;
      }
    }
    return true;
  }
  void MarkReady(int64_t now) {
    for (auto& [op, span] : ops) {
      if (span.ready < 0 && IsReady(op)) span.ready = now;
    }
    for (auto& [id, span] : collectives) {
      bool ready = span.ready < 0 && (policy_ != SchedulingPolicy::kProgram || HasTurn(id));
      for (OpId member : MembersOf(id)) ready = ready && ops[member.value()].ready >= 0;
      if (ready) span.ready = now;
    }
    for (const auto& [slice, readers] : readers_) {
      if (!AtHome(slice)) continue;
      for (int32_t device : Destinations(slice)) {
        Span& span = transfers[{slice, device}];
        if (span.ready < 0) span.ready = now;
      }
    }
  }

  int64_t LongestBehind(int32_t op) {
    int64_t longest = 0;
    for (const auto& [slice, readers] : readers_) {
      if (WriterOf(slice.storage, slice.version) != OpId(op)) continue;
      for (int32_t reader : readers) longest = std::max(longest, PathOf(reader));
    }
    for (const auto& [later, span] : ops) {
      if (WaitsOf(OpId(later)).contains(OpId(op))) longest = std::max(longest, PathOf(later));
    }
    for (const Slice& slice : reads_[op]) {
      const Storage& storage = graph_.storage(StorageId(slice.storage));
      const size_t next = static_cast<size_t>(slice.version) + 1;
      if (next >= storage.versions.size() || HomeOf(slice.storage) != DeviceOf(op)) continue;
      const int32_t writer = storage.versions[next].writer.value();
      if (writer != op) longest = std::max(longest, PathOf(writer));
    }
    return longest;
  }
  int64_t PathOf(int32_t op) {
    if (paths_.contains(op)) return paths_[op];
    const CollectiveId id = graph_.collective_of(OpId(op));
    if (!id.valid()) return paths_[op] = costs_.MinTime(OpId(op)).count + LongestBehind(op);
    int64_t longest = 0;
    for (OpId member : MembersOf(id.value())) {
      longest = std::max(longest, LongestBehind(member.value()));
    }
    return paths_[op] = costs_.collectives()[id].time.count + longest;
  }
  std::tuple<int64_t, int32_t> ServiceKey(int32_t op) {
    return {policy_ == SchedulingPolicy::kFifo ? ops[op].ready : -PathOf(op), op};
  }

  using TransferKey = std::tuple<int64_t, int32_t, int32_t, int64_t, int64_t, int32_t>;
  TransferKey QueueKey(const Slice& slice, int32_t to) {
    return {transfers[{slice, to}].ready,
            WriterOf(slice.storage, slice.version).value(),
            slice.storage,
            slice.offset,
            slice.length,
            to};
  }
  const std::vector<LinkId>& LinksOf(const std::pair<Slice, int32_t>& key) const {
    return cluster_.route(DeviceId(HomeOf(key.first.storage)), DeviceId(key.second)).links;
  }
  bool Uses(const std::pair<Slice, int32_t>& key, LinkId link) const {
    const std::vector<LinkId>& links = LinksOf(key);
    return std::find(links.begin(), links.end(), link) != links.end();
  }
  TransferKey QueueKey(int32_t collective) {
    const std::vector<OpId>& members = MembersOf(collective);
    const int32_t first = std::min_element(members.begin(), members.end())->value();
    return {collectives[collective].ready, first, -1, -1, -1, -1};
  }
  const std::vector<LinkId>& LinksOf(int32_t collective) const {
    return costs_.collectives()[CollectiveId(collective)].links;
  }
  // Rule 18.
  static constexpr int32_t kShareUnits = 720720;
  bool Runs(int32_t collective) const {
    return collectives.at(collective).start >= 0 && !over_.contains(collective);
  }
  std::set<int32_t> DevicesOf(int32_t collective) const {
    std::set<int32_t> devices;
    for (OpId member : MembersOf(collective)) devices.insert(DeviceOf(member.value()));
    return devices;
  }
  // Something of its own, or content of an input of the step that some op reads.
  bool MakesWhatIsKept(OpId id) const {
    for (TensorId output : graph_.op(id).outputs) {
      const StorageId storage = graph_.tensor(output).storage;
      const std::vector<Version>& versions = graph_.storage(storage).versions;
      if (versions.front().writer.valid()) return true;
      for (OpId reader : graph_.ops()) {
        const Op& op = graph_.op(reader);
        for (size_t i = 0; i < op.inputs.size(); ++i) {
          const bool same = graph_.tensor(op.inputs[i]).storage == storage;
          const auto version = static_cast<size_t>(op.input_versions[i]);
          if (same && versions[version].writer == id) return true;
        }
      }
    }
    return false;
  }
  // Rule 17: of a copy who sends and who gets it.
  std::vector<int32_t> CommunicatorOf(int32_t collective) const {
    const std::set<int32_t> devices = DevicesOf(collective);
    std::vector<OpId> senders, others;
    for (OpId member : MembersOf(collective)) {
      const std::vector<TensorId>& inputs = graph_.op(member).inputs;
      const bool sends = std::any_of(inputs.begin(), inputs.end(), [&](TensorId input) {
        return !IsInput(graph_.tensor(input).storage.value());
      });
      (sends ? senders : others).push_back(member);
    }
    if (senders.size() == 1 && others.size() == 1) {
      if (!MakesWhatIsKept(senders[0])) {
        return {DeviceOf(senders[0].value()), DeviceOf(others[0].value()), -1};
      }
    }
    return {devices.begin(), devices.end()};
  }
  int32_t Among(int32_t collective) const {
    int32_t most = 1;
    for (LinkId link : LinksOf(collective)) {
      int32_t count = 0;
      for (const auto& [id, span] : collectives) {
        const std::vector<LinkId>& used = LinksOf(id);
        count += Runs(id) && std::find(used.begin(), used.end(), link) != used.end();
      }
      most = std::max(most, count);
    }
    return most;
  }
  void FindBeside() {
    beside_.clear();
    if (!cluster_.collectives_share()) return;
    for (const auto& [id, span] : collectives) {
      if (Runs(id) && CommunicatorOf(id).back() >= 0) beside_.merge(DevicesOf(id));
    }
  }
  int64_t TimeOf(int32_t op, DeviceId device) const {
    const int64_t time = costs_.time(OpId(op), device).count;
    if (!beside_.contains(device.value())) return time;
    const DeviceKind& kind = cluster_.kind(device);
    const int64_t left = kind.multiprocessors - kind.channels;
    return (time * kind.multiprocessors + left - 1) / left;
  }
  void Reckon(int64_t now) {
    for (auto& [id, span] : collectives) {
      if (!Runs(id)) continue;
      const int64_t speed = kShareUnits / Among(id);
      span.end = now + static_cast<int64_t>((left_[id] + speed - 1) / speed);
      for (OpId member : MembersOf(id)) ops[member.value()].end = span.end;
    }
  }
  bool CommunicatorIsFree(int32_t collective) {
    const std::vector<int32_t> communicator = CommunicatorOf(collective);
    for (const auto& [id, span] : collectives) {
      if (id == collective || CommunicatorOf(id) != communicator) continue;
      const bool waits = span.ready >= 0 && span.start < 0;
      if (Runs(id) || (waits && QueueKey(id) < QueueKey(collective))) return false;
    }
    return true;
  }
  // Whether something else on one of the links keeps what has this key from starting.
  bool MayStart(const std::vector<LinkId>& links, const TransferKey& key) {
    const auto in_the_way = [&](const Span& span, bool over, const TransferKey& other) {
      return span.ready >= 0 && !over && other != key && (span.start >= 0 || other < key);
    };
    for (LinkId link : links) {
      for (const auto& [other, span] : transfers) {
        if (!Uses(other, link)) continue;
        const bool over = arrived_.contains(other);
        if (in_the_way(span, over, QueueKey(other.first, other.second))) return false;
      }
      for (const auto& [id, span] : collectives) {
        if (cluster_.collectives_share()) break;
        const std::vector<LinkId>& used = LinksOf(id);
        if (std::find(used.begin(), used.end(), link) == used.end()) continue;
        if (in_the_way(span, over_.contains(id), QueueKey(id))) return false;
      }
    }
    return true;
  }
  // Rule 17. Of every op the ops that wait for its end.
  std::map<int32_t, std::set<int32_t>> WaitingOps() {
    std::map<int32_t, std::set<int32_t>> waiting;
    for (const auto& [op, span] : ops) {
      std::set<int32_t> before;
      for (const Slice& slice : reads_[op])
        before.insert(WriterOf(slice.storage, slice.version).value());
      for (OpId earlier : WaitsOf(OpId(op))) before.insert(earlier.value());
      for (StorageId s : graph_.storages()) {
        for (size_t v = 1; v < graph_.storage(s).versions.size(); ++v) {
          if (graph_.storage(s).versions[v].writer != OpId(op)) continue;
          before.insert(graph_.storage(s).versions[v - 1].writer.value());
          for (const auto& [slice, readers] : readers_) {
            if (slice.storage != s.value() || slice.version != static_cast<int32_t>(v) - 1)
              continue;
            for (int32_t reader : readers) {
              if (DeviceOf(reader) == HomeOf(s.value())) before.insert(reader);
            }
          }
        }
      }
      for (int32_t earlier : before) {
        if (earlier >= 0 && earlier != op) waiting[earlier].insert(op);
      }
    }
    return waiting;
  }
  bool Moves(int32_t op) const {
    const std::string_view type = graph_.op(OpId(op)).type;
    if (graph_.collective_of(OpId(op)).valid()) return false;
    for (const char* name : {"split", "pack", "concat", "add_n"}) {
      if (type == std::string("placewright.") + name + ".default") return true;
    }
    return false;
  }
  // Places are of ops of the step; an op is put before, at or behind one: (place, -1 | 0 | 1, number).
  using Place = std::tuple<int32_t, int32_t, int32_t>;
  void FindProgram() {
    const std::map<int32_t, std::set<int32_t>> waiting = WaitingOps();
    const auto waiting_for = [&](int32_t op) {
      const auto it = waiting.find(op);
      return it == waiting.end() ? std::set<int32_t>() : it->second;
    };
    std::map<int32_t, bool> for_others;
    const std::function<bool(int32_t)> is_for_others = [&](int32_t op) {
      if (!Moves(op)) return false;
      if (for_others.contains(op)) return for_others[op];
      bool any = false;
      for (int32_t later : waiting_for(op)) {
        any |= DeviceOf(later) != DeviceOf(op) || graph_.collective_of(OpId(later)).valid() ||
               is_for_others(later);
      }
      return for_others[op] = any;
    };
    std::map<int32_t, std::set<int32_t>> before;
    for (const auto& [op, later] : waiting) {
      for (int32_t each : later) before[each].insert(op);
    }
    const std::function<int32_t(int32_t)> place_of = [&](int32_t op) -> int32_t {
      const CollectiveId collective = graph_.collective_of(OpId(op));
      if (collective.valid() || is_for_others(op)) {
        int32_t last = -1;
        std::vector<OpId> all = {OpId(op)};
        if (collective.valid()) all = MembersOf(collective.value());
        for (OpId each : all) {
          for (int32_t earlier : before[each.value()]) last = std::max(last, place_of(earlier));
        }
        return last;
      }
      if (!Moves(op) || waiting_for(op).empty()) return op;
      int32_t first = std::numeric_limits<int32_t>::max();
      for (int32_t later : waiting_for(op)) first = std::min(first, place_of(later));
      return first;
    };
    for (const auto& [op, span] : ops) {
      if (graph_.collective_of(OpId(op)).valid()) continue;
      const int32_t side = !Moves(op)                ? 0
                           : is_for_others(op)       ? 1
                           : waiting_for(op).empty() ? 0
                                                     : -1;
      program_[DeviceOf(op)].insert(Place(place_of(op), side, op));
    }
    for (const auto& [id, span] : collectives) {
      int32_t last = -1;
      for (OpId member : MembersOf(id)) last = std::max(last, member.value());
      communicators_[CommunicatorOf(id)].insert({place_of(last), last, id});
    }
  }
  bool HasTurn(int32_t id) const {
    for (const auto& [communicator, all] : communicators_) {
      for (const auto& [place, last, each] : all) {
        if (each == id) return true;
        if (!over_.contains(each)) break;
      }
    }
    return false;
  }
  // Rules 16 and 17: the only op that the device may start, or -1; -2 where the policy chooses.
  int32_t NextInSequence(DeviceId device) const {
    if (sequences_.empty() || !sequences_[device]) {
      if (policy_ != SchedulingPolicy::kProgram) return -2;
      const auto it = program_.find(device.value());
      if (it == program_.end()) return -1;
      for (const auto& [place, side, op] : it->second) {
        if (!ended_.contains(op)) return op;
      }
      return -1;
    }
    for (OpId op : *sequences_[device]) {
      if (!ended_.contains(op.value())) return op.value();
    }
    return -1;
  }
  bool StartSomething(int64_t now) {
    for (auto& [key, span] : transfers) {
      if (span.ready < 0 || span.start >= 0) continue;
      if (!MayStart(LinksOf(key), QueueKey(key.first, key.second))) continue;
      span.start = now;
      span.end = now + cluster_
                           .TransferDuration(DeviceId(HomeOf(key.first.storage)),
                                             DeviceId(key.second), Bytes(key.first.length))
                           .count;
      return true;
    }
    for (auto& [id, span] : collectives) {
      if (span.ready < 0 || span.start >= 0) continue;
      const bool shares = cluster_.collectives_share();
      if (shares ? !CommunicatorIsFree(id) : !MayStart(LinksOf(id), QueueKey(id))) continue;
      span.start = now;
      span.end = now + costs_.collectives()[CollectiveId(id)].time.count;
      if (shares) {
        left_[id] = __int128{costs_.collectives()[CollectiveId(id)].time.count} * kShareUnits;
      }
      for (OpId member : MembersOf(id)) {
        ops[member.value()].start = span.start;
        ops[member.value()].end = span.end;
      }
      return true;
    }
    for (DeviceId device : cluster_.devices()) {
      const int32_t turn = NextInSequence(device);
      int32_t best = -1;
      bool busy = false;
      for (const auto& [op, span] : ops) {
        if (placement_[OpId(op)] != device || span.ready < 0 || ended_.contains(op)) continue;
        if (graph_.collective_of(OpId(op)).valid()) continue;
        busy |= span.start >= 0;
        if (turn != -2 && op != turn) continue;
        if (span.start < 0 && (best < 0 || ServiceKey(op) < ServiceKey(best))) best = op;
      }
      if (busy || best < 0) continue;
      ops[best].start = now;
      ops[best].end = now + TimeOf(best, device);
      return true;
    }
    return false;
  }

  bool HomeIsInUse(int32_t storage) const {
    for (const Version& version : graph_.storage(StorageId(storage)).versions) {
      if (!ended_.contains(version.writer.value())) return true;
    }
    for (const auto& [slice, readers] : readers_) {
      if (slice.storage != storage) continue;
      for (int32_t reader : readers) {
        if (DeviceOf(reader) == HomeOf(storage) && !ended_.contains(reader)) return true;
      }
      for (int32_t device : Destinations(slice)) {
        if (!arrived_.contains({slice, device})) return true;
      }
    }
    return false;
  }
  std::vector<int64_t> Occupancy() const {
    std::vector<int64_t> bytes(cluster_.device_count(), 0);
    for (StorageId s : graph_.storages()) {
      const int64_t size = RoundUpToGranule(graph_.storage(s).bytes).count;
      const int32_t home = HomeOf(s.value());
      if (IsTransient(s.value())) {
        const bool born = ops.at(WriterOf(s.value(), 0).value()).start >= 0;
        if (born && HomeIsInUse(s.value())) bytes[home] += size;
      } else if (!IsInput(s.value())) {
        if (home >= 0) bytes[home] += size;
      } else {
        std::set<int32_t> devices;
        for (const auto& [slice, readers] : readers_) {
          if (slice.storage != s.value()) continue;
          for (int32_t reader : readers) devices.insert(DeviceOf(reader));
        }
        for (int32_t device : devices) bytes[device] += size;
      }
    }
    for (const auto& [key, span] : transfers) {
      if (span.start < 0) continue;
      bool in_use = false;
      for (int32_t reader : readers_.at(key.first)) {
        in_use |= DeviceOf(reader) == key.second && !ended_.contains(reader);
      }
      if (in_use) bytes[key.second] += RoundUpToGranule(Bytes(key.first.length)).count;
    }
    return bytes;
  }
  void ReadPeak() {
    const std::vector<int64_t> bytes = Occupancy();
    for (size_t d = 0; d < bytes.size(); ++d) {
      if (bytes[d] <= peak[d]) continue;
      peak[d] = bytes[d];
      peak_time[d] = now_;
    }
  }

  const Graph& graph_;
  const Cluster& cluster_;
  const CostTable& costs_;
  const Placement& placement_;
  SchedulingPolicy policy_;
  const Sequences sequences_;
  int64_t now_ = 0;
  std::map<int32_t, std::set<Slice>> reads_;
  std::map<Slice, std::set<int32_t>> readers_;
  std::map<int32_t, int64_t> paths_;
  std::map<int32_t, std::set<Place>> program_;  // by device
  std::map<std::vector<int32_t>, std::set<std::tuple<int32_t, int32_t, int32_t>>> communicators_;
  std::map<int32_t, __int128> left_;  // of collectives that share, rule 18
  std::set<int32_t> beside_;          // devices with a collective as the phase of starts begins
  std::set<int32_t> ended_, over_;    // ops; collectives
  std::set<std::pair<Slice, int32_t>> arrived_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_TESTS_SIMULATOR_REFERENCE_SIMULATOR_H_
