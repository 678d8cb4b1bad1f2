#include "runtime/executor/collective_specs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <utility>

#include "base/text.h"
#include "cost/communication/coalesced_types.h"

namespace placewright {
namespace {

constexpr std::string_view kAllReduceOp = "placewright.all_reduce.default";
constexpr std::string_view kAllGatherOp = "placewright.all_gather.default";
constexpr std::string_view kReduceScatterOp = "placewright.reduce_scatter.default";
constexpr std::string_view kBroadcastOp = "placewright.broadcast.default";
constexpr std::string_view kAllToAllOp = "placewright.all_to_all.default";

std::optional<CollectiveSpec::Kind> KindOf(std::string_view type) {
  if (IsCoalesced(type)) {
    const std::optional<CollectiveSpec::Kind> kind = KindOf(SingleTypeOf(type));
    const bool known = kind == CollectiveSpec::Kind::kAllReduce ||
                       kind == CollectiveSpec::Kind::kAllGather ||
                       kind == CollectiveSpec::Kind::kReduceScatter;
    return known ? kind : std::nullopt;
  }
  if (type == kAllReduceOp) return CollectiveSpec::Kind::kAllReduce;
  if (type == kAllGatherOp) return CollectiveSpec::Kind::kAllGather;
  if (type == kReduceScatterOp) return CollectiveSpec::Kind::kReduceScatter;
  if (type == kBroadcastOp) return CollectiveSpec::Kind::kBroadcast;
  if (type == kAllToAllOp) return CollectiveSpec::Kind::kAllToAll;
  return std::nullopt;
}

bool HasParts(CollectiveSpec::Kind kind) {
  return kind == CollectiveSpec::Kind::kAllGather || kind == CollectiveSpec::Kind::kReduceScatter;
}

Error MemberError(const Op& op, std::string message) {
  return MakeError(ErrorCode::kField, std::move(message), "op " + Printable(op.name, 80));
}

// Five of a member's integers.
struct PartArguments {
  int64_t dimension = 0, outer = 1, size = 1;
  CollectiveSpec::Part part;
};

std::optional<PartArguments> PartArgumentsIn(std::span<const Value> args) {
  std::array<int64_t, 5> numbers{};
  if (args.size() != numbers.size()) return std::nullopt;
  for (size_t i = 0; i < numbers.size(); ++i) {
    const int64_t* const number = args[i].AsInt();
    if (number == nullptr || *number < 0) return std::nullopt;
    numbers[i] = *number;
  }
  return PartArguments{numbers[0], numbers[1], numbers[2], {numbers[3], numbers[4]}};
}

// Behind its tensor it has as many parts; of these the one at `part`.
std::optional<PartArguments> PartArgumentsOf(const Op& op, size_t parts, size_t part) {
  constexpr size_t kNumbers = 5;
  if (op.args.size() != parts * kNumbers + 1) return std::nullopt;
  return PartArgumentsIn(std::span(op.args).subspan(part * kNumbers + 1, kNumbers));
}

// Of the tensor in that place: one of several has a list behind them.
std::optional<PartArguments> PartArgumentsOf(const Op& op, size_t tensor) {
  if (!IsCoalesced(op.type)) return PartArgumentsOf(op, 1, 0);
  if (op.args.size() != op.inputs.size() + 1) return std::nullopt;
  const Value::List* const list = op.args[tensor + 1].AsList();
  return list == nullptr ? std::nullopt : PartArgumentsIn(*list);
}

// Whether these are that part of a dimension and all of it.
bool PartFits(const Tensor& part, const Tensor& all, const PartArguments& arguments) {
  std::vector<int64_t> whole = part.shape;
  const auto at = static_cast<size_t>(arguments.dimension);
  const int64_t length = arguments.part.to - arguments.part.from;
  if (at >= whole.size() || length <= 0 || arguments.outer <= 0) return false;
  if (arguments.part.to > arguments.size || whole[at] % (arguments.outer * length) != 0) {
    return false;
  }
  whole[at] = whole[at] / length * arguments.size;
  return all.shape == whole;
}

// They follow one another from 0 to the axis' size.
bool PartsCover(std::vector<CollectiveSpec::Part> parts, int64_t size) {
  std::sort(parts.begin(), parts.end(),
            [](const auto& a, const auto& b) { return a.from < b.from; });
  int64_t end = 0;
  for (const CollectiveSpec::Part& part : parts) {
    if (part.from != end) return false;
    end = part.to;
  }
  return end == size;
}

Status AddPart(const Graph& graph, const Op& op, size_t tensor, CollectiveSpec& spec) {
  const bool gathers = spec.kind == CollectiveSpec::Kind::kAllGather;
  const Tensor& input = graph.tensor(op.inputs[tensor]);
  const Tensor& output = graph.tensor(op.outputs[tensor]);
  const std::optional<PartArguments> arguments = PartArgumentsOf(op, tensor);
  if (!arguments || !PartFits(gathers ? input : output, gathers ? output : input, *arguments)) {
    return MemberError(
        op, fmt::format("its arguments are no part of its {}", gathers ? "output" : "input"));
  }
  if (spec.parts.empty()) {
    spec.dimension = static_cast<int32_t>(arguments->dimension);
    spec.outer = arguments->outer;
    spec.size = arguments->size;
  } else if (spec.dimension != arguments->dimension || spec.outer != arguments->outer ||
             spec.size != arguments->size) {
    return MemberError(op, "its part is of another axis than those of the members before it");
  }
  spec.parts.push_back(arguments->part);
  return Ok();
}

// Two parts: what is given is one of what is got, which is one of what is given.
Status AddExchanged(const Graph& graph, const Op& op, CollectiveSpec& spec) {
  const auto given = PartArgumentsOf(op, 2, 0), taken = PartArgumentsOf(op, 2, 1);
  if (!given || !taken) return MemberError(op, "its arguments are no two parts");
  // All of what is given that this member gets, and then its part of that.
  Tensor cut = graph.tensor(op.inputs[0]);
  const auto at = static_cast<size_t>(taken->dimension);
  const bool there = at < cut.shape.size() && taken->size > 0;
  if (there) cut.shape[at] = cut.shape[at] / taken->size * (taken->part.to - taken->part.from);
  if (!there || !PartFits(cut, graph.tensor(op.inputs[0]), *taken) ||
      !PartFits(cut, graph.tensor(op.outputs[0]), *given)) {
    return MemberError(op, "its arguments are no parts of its input and of its output");
  }
  if (spec.parts.empty()) {
    spec.dimension = static_cast<int32_t>(given->dimension);
    spec.size = given->size;
    spec.taken_dimension = static_cast<int32_t>(taken->dimension);
    spec.taken_size = taken->size;
  } else if (spec.dimension != given->dimension || spec.size != given->size ||
             spec.taken_dimension != taken->dimension || spec.taken_size != taken->size) {
    return MemberError(op, "its parts are of other axes than those of the members before it");
  }
  spec.parts.push_back(given->part);
  spec.outers.push_back(given->outer);
  spec.taken.push_back(taken->part);
  spec.taken_outers.push_back(taken->outer);
  return Ok();
}

Status CheckType(const Op& op, const Op& first) {
  if (op.type == first.type) return Ok();
  return MemberError(op, fmt::format("it is a member of a collective of {}",
                                     Printable(std::string(first.type), 80)));
}

// One tensor in, one out; or several, as the first member has them.
Status CheckCounts(const Op& op, const Op& first) {
  const size_t due = IsCoalesced(op.type) ? std::max<size_t>(1, first.inputs.size()) : 1;
  if (op.inputs.size() == due && op.outputs.size() == due && op.writes.empty()) return Ok();
  return MemberError(
      op, due == 1 ? "a member of a collective reads one tensor, makes one and writes none"
                   : fmt::format(
                         "a member of this collective reads {0} tensors, makes {0} and writes none",
                         due));
}

// Of its type out, as the first member's are.
Status CheckMember(const Graph& graph, const Op& op, const Op& first, size_t tensor,
                   CollectiveSpec::Kind kind) {
  const Tensor& input = graph.tensor(op.inputs[tensor]);
  const Tensor& output = graph.tensor(op.outputs[tensor]);
  if (kind == CollectiveSpec::Kind::kAllToAll) {
    const DType dtype = graph.tensor(first.inputs[tensor]).dtype;
    if (input.dtype == dtype && output.dtype == dtype) return Ok();
    return MemberError(op, "its tensors have another dtype than those of other members");
  }
  const bool scatters = kind == CollectiveSpec::Kind::kReduceScatter;
  const Tensor& expected = graph.tensor(scatters ? first.inputs[tensor] : first.outputs[tensor]);
  const Tensor& alike = scatters ? input : output;
  if (input.dtype != expected.dtype || output.dtype != expected.dtype ||
      alike.shape != expected.shape) {
    return MemberError(op,
                       fmt::format("its {} has another shape or dtype than those of other members",
                                   scatters ? "input" : "output"));
  }
  if (kind == CollectiveSpec::Kind::kAllReduce && input.shape != output.shape) {
    return MemberError(op, "it adds tensors of another shape than its output's");
  }
  return Ok();
}

// One member reads what the others make.
Status CheckBroadcast(const Graph& graph, const std::vector<OpId>& members) {
  const Tensor* given = nullptr;
  for (const OpId member : members) {
    const Op& op = graph.op(member);
    const bool root = op.inputs.size() == 1 && op.outputs.empty();
    const bool other = op.inputs.empty() && op.outputs.size() == 1;
    if ((!root && !other) || !op.writes.empty()) {
      return MemberError(op, "a member of a broadcast reads one tensor or makes one");
    }
    if (!root) continue;
    if (given != nullptr) return MemberError(op, "its broadcast has another root");
    given = &graph.tensor(op.inputs[0]);
  }
  if (given == nullptr) return MemberError(graph.op(members.front()), "its broadcast has no root");
  for (const OpId member : members) {
    const Op& op = graph.op(member);
    if (op.outputs.empty()) continue;
    const Tensor& made = graph.tensor(op.outputs[0]);
    if (made.shape == given->shape && made.dtype == given->dtype) continue;
    return MemberError(op, "its output has another shape or dtype than what the root has");
  }
  return Ok();
}

// What the members do with the tensor in that place.
Status AddTensor(const Graph& graph, const std::vector<OpId>& members, size_t tensor,
                 CollectiveSpec& spec) {
  const Op& first = graph.op(members.front());
  for (const OpId member : members) {
    const Op& op = graph.op(member);
    PW_RETURN_IF_ERROR(CheckMember(graph, op, first, tensor, spec.kind));
    if (HasParts(spec.kind)) PW_RETURN_IF_ERROR(AddPart(graph, op, tensor, spec));
    if (spec.kind == CollectiveSpec::Kind::kAllToAll) {
      PW_RETURN_IF_ERROR(AddExchanged(graph, op, spec));
    }
  }
  const bool covered = HasParts(spec.kind) || spec.kind == CollectiveSpec::Kind::kAllToAll;
  if (covered && !PartsCover(spec.parts, spec.size)) {
    return MemberError(first, "the members' parts do not make a whole");
  }
  return Ok();
}

}  // namespace

Result<CollectiveSpec> SpecOf(const Graph& graph, const Placement& placement, CollectiveId id) {
  const Collective& collective = graph.collective(id);
  const Op& first = graph.op(collective.members.front());
  CollectiveSpec spec;
  spec.name = collective.name;
  const std::optional<CollectiveSpec::Kind> kind = KindOf(first.type);
  if (!kind) {
    return MemberError(first, fmt::format("the executor has no collective of {}",
                                          Printable(std::string(first.type), 80)));
  }
  spec.kind = *kind;
  const bool broadcasts = *kind == CollectiveSpec::Kind::kBroadcast;
  for (const OpId member : collective.members) {
    const Op& op = graph.op(member);
    PW_RETURN_IF_ERROR(CheckType(op, first));
    if (!broadcasts) PW_RETURN_IF_ERROR(CheckCounts(op, first));
    if (!placement[member].valid()) return MemberError(op, "it has no device");
    const int32_t rank = placement[member].value();
    if (std::find(spec.members.begin(), spec.members.end(), rank) != spec.members.end()) {
      return MemberError(op, "another member of its collective is on its device");
    }
    spec.members.push_back(rank);
    if (broadcasts && !op.inputs.empty()) spec.root = rank;
  }
  if (broadcasts) {
    PW_RETURN_IF_ERROR(CheckBroadcast(graph, collective.members));
  } else if (!IsCoalesced(first.type)) {
    PW_RETURN_IF_ERROR(AddTensor(graph, collective.members, 0, spec));
  } else {
    const CollectiveSpec each = spec;
    for (size_t tensor = 0; tensor < first.inputs.size(); ++tensor) {
      spec.tensors.push_back(each);
      PW_RETURN_IF_ERROR(AddTensor(graph, collective.members, tensor, spec.tensors.back()));
    }
  }
  return spec;
}

}  // namespace placewright
