// The ops that several devices do together: what their members make (movement.h).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "check_plan/distributed/instance_check.h"
#include "check_plan/distributed/movement.h"
#include "check_plan/distributed/stated_part.h"
#include "cost/communication/coalesced_types.h"

namespace placewright::check {
namespace {

constexpr std::string_view kAllReduce = "placewright.all_reduce.default";
constexpr std::string_view kAllGather = "placewright.all_gather.default";
constexpr std::string_view kReduceScatter = "placewright.reduce_scatter.default";
constexpr std::string_view kBroadcast = "placewright.broadcast.default";
constexpr std::string_view kAllToAll = "placewright.all_to_all.default";
constexpr std::array kCollectiveTypes = {kAllReduce, kAllGather, kReduceScatter, kBroadcast,
                                         kAllToAll};
// Of which there are members of several tensors.
constexpr std::array kSeveralTensors = {kAllReduce, kAllGather, kReduceScatter};

template <class Types>
bool Contains(const Types& types, std::string_view type) {
  return std::find(types.begin(), types.end(), type) != types.end();
}

}  // namespace

bool IsCollectiveType(std::string_view type) {
  if (IsCoalesced(type)) return Contains(kSeveralTensors, SingleTypeOf(type));
  return Contains(kCollectiveTypes, type);
}

MaybeViolation Movement::RunTogether(const std::vector<OpId>& members) {
  CHECK_PLAN_RETURN_IF_VIOLATED(CheckMembers(members));
  const Op& first = step_.graph.op(members.front());
  if (first.type == kBroadcast) return Broadcast(members);
  if (!IsCoalesced(first.type)) return RunTensor(first.type, members);
  const std::string type = SingleTypeOf(first.type);
  MaybeViolation violation;
  for (turn_ = 0; turn_ < first.inputs.size() && !violation; ++turn_) {
    violation = RunTensor(type, members);
  }
  turn_ = 0;
  return violation;
}

MaybeViolation Movement::RunTensor(std::string_view type, const std::vector<OpId>& members) {
  if (OfBuffers(members)) {
    const bool alone = !IsCoalesced(step_.graph.op(members.front()).type);
    if (type == kAllReduce && alone) return AllReduceBuffers(members);
    return Wrong(members.front(), ViolationKind::kWrongInput, "reads a buffer of several tensors");
  }
  if (type == kAllReduce) return AllReduce(members);
  if (type == kAllGather) return AllGather(members);
  if (type == kAllToAll) return AllToAll(members);
  return ReduceScatter(members);
}

MaybeViolation Movement::CheckMembers(const std::vector<OpId>& members) const {
  const Op& first = step_.graph.op(members.front());
  const std::string_view type = first.type;
  if (!IsCollectiveType(type)) {
    return Wrong(members.front(), ViolationKind::kNotProven,
                 fmt::format("is a collective of an unknown kind, {}", Printable(type, 80)));
  }
  const size_t tensors = IsCoalesced(type) ? std::max<size_t>(1, first.inputs.size()) : 1;
  std::set<DeviceId> devices;
  for (const OpId member : members) {
    const Op& op = step_.graph.op(member);
    const bool reads = op.inputs.size() == tensors || (op.inputs.empty() && type == kBroadcast);
    if (op.type != type || !reads) {
      return Wrong(member, ViolationKind::kReorderedCollective,
                   fmt::format("is {} of {} tensors, the collective's other members are {}",
                               Printable(op.type, 80), op.inputs.size(), type));
    }
    if (!devices.insert(step_.placement[member]).second) {
      return Wrong(member, ViolationKind::kWrongDevice,
                   "is on a device that has another member of its collective");
    }
  }
  if (type == kBroadcast || OfBuffers(members)) return std::nullopt;
  for (size_t tensor = 0; tensor < tensors; ++tensor) {
    CHECK_PLAN_RETURN_IF_VIOLATED(CheckRead(members, tensor));
  }
  return std::nullopt;
}

MaybeViolation Movement::CheckRead(const std::vector<OpId>& members, size_t tensor) const {
  const Held first = contents_.Read(members.front(), tensor);
  for (const OpId member : members) {
    const Held held = contents_.Read(member, tensor);
    const bool zero = held.content.addend.kind == Addend::kZero;
    if (zero || CheckSame(member, first, held) == std::nullopt) continue;
    return Wrong(member, ViolationKind::kReorderedCollective,
                 fmt::format("has {} in a collective that is of {}", NameOfTensor(held),
                             NameOfTensor(first)));
  }
  return std::nullopt;
}

std::vector<int64_t> Movement::NumbersBy(OpId member) const {
  const Op& op = step_.graph.op(member);
  return IsCoalesced(op.type) ? NumbersOf(op, turn_) : NumbersOf(op);
}

MaybeViolation Movement::AllReduce(const std::vector<OpId>& members) {
  std::vector<Held> read;
  for (const OpId member : members) read.push_back(ReadBy(member));
  Held sum;
  CHECK_PLAN_RETURN_IF_VIOLATED(Sum(members.front(), read, sum));
  for (const OpId member : members) CHECK_PLAN_RETURN_IF_VIOLATED(Make(member, sum));
  return std::nullopt;
}

bool Movement::OfBuffers(const std::vector<OpId>& members) const {
  return std::all_of(members.begin(), members.end(),
                     [&](OpId member) { return ReadBy(member).content.buffer >= 0; });
}

// Tensor by tensor.
MaybeViolation Movement::AllReduceBuffers(const std::vector<OpId>& members) {
  std::vector<std::vector<Held>> read;
  for (const OpId member : members) {
    read.push_back(contents_.BufferOf(contents_.Read(member, 0).content));
    if (read.back().size() == read.front().size()) continue;
    return Wrong(member, ViolationKind::kReorderedCollective, "adds buffers of different tensors");
  }
  std::vector<Held> sums;
  for (size_t i = 0; i < read.front().size(); ++i) {
    std::vector<Held> pieces;
    for (const std::vector<Held>& buffer : read) pieces.push_back(buffer[i]);
    Held sum = pieces.front();
    const bool known =
        std::all_of(pieces.begin(), pieces.end(), [](const Held& piece) { return piece.known(); });
    if (known) {
      CHECK_PLAN_RETURN_IF_VIOLATED(Sum(members.front(), pieces, sum));
    } else {
      sum = {TensorId(), {}, {Content::kNotProven, -1, {}, {}}, sum.length};
    }
    sums.push_back(sum);
  }
  const Content content = contents_.AddBuffer(std::move(sums));
  const Tensor& buffer = step_.graph.tensor(step_.graph.op(members.front()).inputs[0]);
  for (const OpId member : members) {
    const Op& op = step_.graph.op(member);
    if (op.outputs.size() != 1 || op.is_view || !op.writes.empty()) {
      return Wrong(member, ViolationKind::kWrongArgument, "must make one tensor of its own");
    }
    const Tensor& made = step_.graph.tensor(op.outputs[0]);
    if (made.shape != buffer.shape || made.dtype != buffer.dtype) {
      return Wrong(member, ViolationKind::kWrongArgument,
                   "makes a buffer of another shape or dtype than is added up");
    }
    contents_.SetFresh(op.outputs[0], {TensorId(), {}, content});
  }
  return std::nullopt;
}

// Each member says which interval of what is gathered it contributes.
MaybeViolation Movement::ReadGathered(OpId member, Stated& stated) const {
  stated.member = member;
  stated.held = ReadBy(member);
  const std::vector<int64_t> numbers = NumbersBy(member);
  const int64_t size = numbers[2], from = numbers[3], to = numbers[4];
  const bool ascend = from >= 0 && from < to && to <= size;
  const int64_t own = ascend ? to - from : 0;  // of the piece it is all
  const auto part = StatedPartOf({numbers[0], numbers[1], own, 0, own}, InputOf(member).shape);
  if (!part) {
    return Wrong(
        member, ViolationKind::kWrongArgument,
        fmt::format("does not gather the axis by which {} is split", NameOfTensor(stated.held)));
  }
  stated.part = *part;
  stated.part.place.size = size;
  stated.part.interval = {from, to};
  return std::nullopt;
}

MaybeViolation Movement::Order(std::vector<Stated>& all) const {
  std::stable_sort(all.begin(), all.end(), [](const Stated& a, const Stated& b) {
    return a.part.interval < b.part.interval;
  });
  for (const Stated& one : all) {
    if (one.part.place == all.front().part.place) continue;
    return Wrong(one.member, ViolationKind::kWrongArgument,
                 "states another axis than the collective's other members");
  }
  return std::nullopt;
}

// What has no place of its own is where it is said to be.
MaybeViolation Movement::CheckGathered(const Stated& stated, const Held& joined) const {
  if (stated.held.part.somewhere() || joined.part.somewhere()) return std::nullopt;
  const auto due = PartWithin(original_.tensor(joined.tensor).shape, joined.part, stated.part);
  if (due && *due == stated.held.part) return std::nullopt;
  return Wrong(stated.member, ViolationKind::kWrongArgument,
               fmt::format("states {} of {}, but has {}", due ? ToString(*due) : "another part",
                           NameOfTensor(joined), ToString(stated.held.part)));
}

MaybeViolation Movement::AllGather(const std::vector<OpId>& members) {
  std::vector<Stated> all(members.size());
  for (size_t i = 0; i < members.size(); ++i) {
    CHECK_PLAN_RETURN_IF_VIOLATED(ReadGathered(members[i], all[i]));
  }
  CHECK_PLAN_RETURN_IF_VIOLATED(Order(all));
  const int32_t dimension = all.front().part.place.dimension;
  int64_t length = 0;
  std::vector<Held> read;
  for (const Stated& one : all) {
    length += one.part.interval.length();
    read.push_back(one.held);
  }
  const int64_t size = all.front().part.place.size;
  if (length < size) {
    return Wrong(
        members.front(), ViolationKind::kMissingCollective,
        fmt::format("gathers only {} of {} of {}", length, size, NameOfTensor(read.front())));
  }
  for (size_t i = 1; i < read.size(); ++i) {
    const Part &before = read[i - 1].part, &part = read[i].part;
    if (before.somewhere() || part.somewhere()) continue;
    if (FirstIn(before, dimension) <= FirstIn(part, dimension)) continue;
    return Wrong(all[i].member, ViolationKind::kWrongArgument,
                 fmt::format("states a part of {} behind that of another member, but has {}",
                             NameOfTensor(read[i]), ToString(part)));
  }
  Held joined;
  CHECK_PLAN_RETURN_IF_VIOLATED(Join(members.front(), read, dimension, joined));
  for (const Stated& one : all) CHECK_PLAN_RETURN_IF_VIOLATED(CheckGathered(one, joined));
  for (const OpId member : members) CHECK_PLAN_RETURN_IF_VIOLATED(Make(member, joined));
  return std::nullopt;
}

// Each member gets the part of the sum that it states; together they get all of it once.
MaybeViolation Movement::ReduceScatter(const std::vector<OpId>& members) {
  std::vector<Held> read;
  for (const OpId member : members) read.push_back(ReadBy(member));
  Held sum;
  CHECK_PLAN_RETURN_IF_VIOLATED(Sum(members.front(), read, sum));
  std::vector<Stated> all;
  for (const OpId member : members) {
    Held part = sum;
    CHECK_PLAN_RETURN_IF_VIOLATED(TakePart(member, part));
    all.push_back({member, part, *StatedPartOf(NumbersBy(member), InputOf(member).shape)});
  }
  CHECK_PLAN_RETURN_IF_VIOLATED(Order(all));
  int64_t next = 0;
  for (const Stated& one : all) {
    const auto& [from, to] = one.part.interval;
    const bool last = &one == &all.back();
    if (from == next && (!last || to == one.part.place.size)) {
      next = to;
      continue;
    }
    return Wrong(one.member, ViolationKind::kWrongPart,
                 fmt::format("gets {} of {}, where a part from {} is due, and all members get it "
                             "once",
                             ToString(one.held.part), NameOfTensor(sum), next));
  }
  for (const Stated& one : all) CHECK_PLAN_RETURN_IF_VIOLATED(Make(one.member, one.held));
  return std::nullopt;
}

// Where the storage of what an op reads lies.
DeviceId Movement::HomeOf(TensorId tensor) const {
  const StorageId storage = step_.graph.tensor(tensor).storage;
  const OpId maker = step_.graph.storage(storage).versions.front().writer;
  const OpId at = maker.valid() ? maker : step_.graph.home_op(storage);
  return at.valid() ? step_.placement[at] : DeviceId();
}

// One member, the root, has on its device what all others get.
MaybeViolation Movement::Broadcast(const std::vector<OpId>& members) {
  OpId root;
  for (const OpId member : members) {
    if (step_.graph.op(member).inputs.empty()) continue;
    if (root.valid()) {
      return Wrong(member, ViolationKind::kReorderedCollective,
                   "is a second root of its broadcast");
    }
    root = member;
  }
  if (!root.valid()) {
    return Wrong(members.front(), ViolationKind::kReorderedCollective,
                 "is a member of a broadcast without a root");
  }
  const Op& source = step_.graph.op(root);
  if (!source.outputs.empty() || !source.writes.empty()) {
    return Wrong(root, ViolationKind::kWrongArgument, "is a root and must make nothing");
  }
  const Held held = contents_.Read(root, 0);
  if (held.content.buffer >= 0) {
    return Wrong(root, ViolationKind::kWrongInput, "reads a buffer of several tensors");
  }
  if (HomeOf(source.inputs[0]) != step_.placement[root]) {
    return Wrong(root, ViolationKind::kWrongDevice,
                 fmt::format("is the root of a broadcast of {}, which its device does not have",
                             NameOfTensor(held)));
  }
  for (const OpId member : members) {
    if (member == root) continue;
    const Op& op = step_.graph.op(member);
    const bool fits =
        op.outputs.size() == 1 && contents_.Fits(held.tensor, held.part, op.outputs[0]);
    if (!fits) {
      return Wrong(member, ViolationKind::kReorderedCollective,
                   fmt::format("makes other sizes than {} of {} has, which its root gives",
                               ToString(held.part), NameOfTensor(held)));
    }
    CHECK_PLAN_RETURN_IF_VIOLATED(Make(member, held));
  }
  return std::nullopt;
}

// What a member of an all-to-all gives, and as what: `given`, which part of what any member gets; `taken`, which part of
// what any member gives it gets. Both as they lie in its own output and input.
struct Movement::Exchanged {
  OpId member;
  Held held;
  AxisPart given, taken;
};

MaybeViolation Movement::ReadExchanged(OpId member, Exchanged& exchanged) const {
  const Op& op = step_.graph.op(member);
  const std::vector<int64_t> numbers = NumbersOf(op);
  exchanged.member = member;
  exchanged.held = contents_.Read(member, 0);
  const bool one_output = op.outputs.size() == 1;
  const auto given = one_output ? StatedPartOf({numbers.begin(), numbers.begin() + 5},
                                               step_.graph.tensor(op.outputs[0]).shape)
                                : std::nullopt;
  const auto taken =
      StatedPartOf({numbers.begin() + 5, numbers.end()}, step_.graph.tensor(op.inputs[0]).shape);
  if (!given || !taken) {
    return Wrong(member, ViolationKind::kWrongArgument,
                 fmt::format("states no part of {} for one of {}",
                             taken ? "what it makes" : NameOfTensor(exchanged.held),
                             taken ? NameOfTensor(exchanged.held) : "what it makes"));
  }
  exchanged.given = *given;
  exchanged.taken = *taken;
  return std::nullopt;
}

// All of one axis, each element of it once; `all` is in the order of what is given.
MaybeViolation Movement::CheckGiven(const std::vector<Exchanged>& all) const {
  const auto same_axis = [](const AxisPlace& a, const AxisPlace& b) {
    return a.dimension == b.dimension && a.size == b.size;
  };
  int64_t next = 0;
  for (const Exchanged& one : all) {
    if (!same_axis(one.given.place, all.front().given.place) ||
        !same_axis(one.taken.place, all.front().taken.place)) {
      return Wrong(one.member, ViolationKind::kWrongArgument,
                   "states other axes than the collective's other members");
    }
    if (one.given.interval.from > next) break;
    if (one.given.interval.from < next) {
      return Wrong(one.member, ViolationKind::kWrongPart,
                   fmt::format("gives {} of {} from {} on, which another member gives up to {}",
                               ToString(one.held.part), NameOfTensor(one.held),
                               one.given.interval.from, next));
    }
    next = one.given.interval.to;
  }
  if (next == all.front().given.place.size) return std::nullopt;
  return Wrong(all.front().member, ViolationKind::kMissingCollective,
               fmt::format("exchanges {} without the part of it that begins at {} of {}",
                           NameOfTensor(all.front().held), next, all.front().given.place.size));
}

// Each member gets, of what every one gives, the part that it states, in the order in which these lie.
MaybeViolation Movement::AllToAll(const std::vector<OpId>& members) {
  std::vector<Exchanged> all(members.size());
  for (size_t i = 0; i < members.size(); ++i) {
    CHECK_PLAN_RETURN_IF_VIOLATED(ReadExchanged(members[i], all[i]));
  }
  std::stable_sort(all.begin(), all.end(), [](const Exchanged& a, const Exchanged& b) {
    return a.given.interval < b.given.interval;
  });
  CHECK_PLAN_RETURN_IF_VIOLATED(CheckGiven(all));
  for (const Exchanged& taker : all) {
    std::vector<Held> read;
    for (const Exchanged& giver : all) {
      Held held = giver.held;
      const auto part = PartWithin(original_.tensor(held.tensor).shape, held.part,
                                   {giver.taken.place, taker.taken.interval});
      if (!part) {
        return Wrong(giver.member, ViolationKind::kNotProven,
                     fmt::format("splits {} of {} where no axis of it can be split",
                                 ToString(held.part), NameOfTensor(held)));
      }
      held.part = *part;
      read.push_back(std::move(held));
    }
    Held joined;
    CHECK_PLAN_RETURN_IF_VIOLATED(Join(taker.member, read, taker.given.place.dimension, joined));
    for (size_t i = 0; i < all.size(); ++i) {
      const AxisPart stated = {taker.given.place, all[i].given.interval};
      CHECK_PLAN_RETURN_IF_VIOLATED(CheckGathered({all[i].member, read[i], stated}, joined));
    }
    CHECK_PLAN_RETURN_IF_VIOLATED(Make(taker.member, joined));
  }
  return std::nullopt;
}

}  // namespace placewright::check
