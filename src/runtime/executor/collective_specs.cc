#include "runtime/executor/collective_specs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/text.h"

namespace placewright {
namespace {

constexpr std::string_view kAllReduceOp = "placewright.all_reduce.default";
constexpr std::string_view kAllGatherOp = "placewright.all_gather.default";

Error MemberError(const Op& op, std::string message) {
  return MakeError(ErrorCode::kField, std::move(message), "op " + Printable(op.name, 80));
}

// The integers of an all-gather behind its tensor.
struct GatherArguments {
  int64_t dimension = 0, outer = 1, size = 1;
  CollectiveSpec::Part part;
};

std::optional<GatherArguments> GatherArgumentsOf(const Op& op) {
  std::array<int64_t, 5> numbers{};
  if (op.args.size() != numbers.size() + 1) return std::nullopt;
  for (size_t i = 0; i < numbers.size(); ++i) {
    const int64_t* const number = op.args[i + 1].AsInt();
    if (number == nullptr || *number < 0) return std::nullopt;
    numbers[i] = *number;
  }
  return GatherArguments{numbers[0], numbers[1], numbers[2], {numbers[3], numbers[4]}};
}

// Whether the member's tensors are that part of a dimension and all of it.
bool PartFits(const Graph& graph, const Op& op, const GatherArguments& arguments) {
  const Tensor& part = graph.tensor(op.inputs[0]);
  std::vector<int64_t> whole = part.shape;
  const auto at = static_cast<size_t>(arguments.dimension);
  const int64_t length = arguments.part.to - arguments.part.from;
  if (at >= whole.size() || length <= 0 || arguments.outer <= 0) return false;
  if (arguments.part.to > arguments.size || whole[at] % (arguments.outer * length) != 0) {
    return false;
  }
  whole[at] = whole[at] / length * arguments.size;
  return graph.tensor(op.outputs[0]).shape == whole;
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

Status AddPart(const Graph& graph, const Op& op, CollectiveSpec& spec) {
  const std::optional<GatherArguments> arguments = GatherArgumentsOf(op);
  if (!arguments || !PartFits(graph, op, *arguments)) {
    return MemberError(op, "its arguments are no part of its output");
  }
  if (spec.parts.empty()) {
    spec.dimension = static_cast<int32_t>(arguments->dimension);
    spec.outer = arguments->outer;
    spec.size = arguments->size;
  } else if (spec.dimension != arguments->dimension || spec.outer != arguments->outer ||
             spec.size != arguments->size) {
    return MemberError(op, "it gathers along another axis than the members before it");
  }
  spec.parts.push_back(arguments->part);
  return Ok();
}

// One tensor in, one of its type out, as the first member's are.
Status CheckMember(const Graph& graph, const Op& op, const Op& first) {
  if (op.type != first.type) {
    return MemberError(op, fmt::format("it is a member of a collective of {}",
                                       Printable(std::string(first.type), 80)));
  }
  if (op.inputs.size() != 1 || op.outputs.size() != 1 || !op.writes.empty()) {
    return MemberError(op, "a member of a collective reads one tensor, makes one and writes none");
  }
  const Tensor& input = graph.tensor(op.inputs[0]);
  const Tensor& output = graph.tensor(op.outputs[0]);
  const Tensor& expected = graph.tensor(first.outputs[0]);
  if (input.dtype != expected.dtype || output.dtype != expected.dtype ||
      output.shape != expected.shape) {
    return MemberError(op, "its output has another shape or dtype than those of other members");
  }
  if (op.type == kAllReduceOp && input.shape != output.shape) {
    return MemberError(op, "it adds tensors of another shape than its output's");
  }
  return Ok();
}

}  // namespace

Result<CollectiveSpec> SpecOf(const Graph& graph, const Placement& placement, CollectiveId id) {
  const Collective& collective = graph.collective(id);
  const Op& first = graph.op(collective.members.front());
  CollectiveSpec spec;
  spec.name = collective.name;
  if (first.type != kAllReduceOp && first.type != kAllGatherOp) {
    return MemberError(first, fmt::format("the executor has no collective of {}",
                                          Printable(std::string(first.type), 80)));
  }
  const bool gathers = first.type == kAllGatherOp;
  spec.kind = gathers ? CollectiveSpec::Kind::kAllGather : CollectiveSpec::Kind::kAllReduce;
  for (const OpId member : collective.members) {
    const Op& op = graph.op(member);
    PW_RETURN_IF_ERROR(CheckMember(graph, op, first));
    if (!placement[member].valid()) return MemberError(op, "it has no device");
    const int32_t rank = placement[member].value();
    if (std::find(spec.members.begin(), spec.members.end(), rank) != spec.members.end()) {
      return MemberError(op, "another member of its collective is on its device");
    }
    spec.members.push_back(rank);
    if (gathers) PW_RETURN_IF_ERROR(AddPart(graph, op, spec));
  }
  if (gathers && !PartsCover(spec.parts, spec.size)) {
    return MemberError(first, "the members' parts do not make a whole");
  }
  return spec;
}

}  // namespace placewright
