#include "check_plan/distributed/norms/moved.h"

#include <algorithm>
#include <utility>

namespace placewright::check {
namespace {

constexpr std::string_view kReduceMember = "placewright.all_reduce.default";
constexpr std::string_view kGatherMember = "placewright.all_gather.default";
constexpr std::string_view kSumOnOne = "placewright.add_n.default";
constexpr std::string_view kJoinOnOne = "placewright.concat.default";

// Integers behind the first argument are these.
bool HasNumbers(const Op& op, const std::vector<int64_t>& numbers) {
  std::vector<int64_t> found;
  for (size_t i = 1; i < op.args.size(); ++i) {
    if (op.args[i].AsInt() == nullptr) return false;
    found.push_back(*op.args[i].AsInt());
  }
  return found == numbers;
}

std::optional<NormValue> SumOf(const std::vector<const NormValue*>& values) {
  const bool alike = std::all_of(values.begin(), values.end(), [&](const NormValue* value) {
    return value->shape == values.front()->shape;
  });
  if (!alike) return std::nullopt;
  return Elementwise(values, [](const std::vector<double>& of) {
    double sum = 0;
    for (const double number : of) sum += number;
    return sum;
  });
}

std::optional<NormValue> JoinedOf(const std::vector<const NormValue*>& values) {
  NormValue joined{{0}, {}, -1};
  for (const NormValue* const value : values) {
    if (value->shape.size() != 1) return std::nullopt;
    joined.numbers.insert(joined.numbers.end(), value->numbers.begin(), value->numbers.end());
  }
  joined.shape[0] = static_cast<int64_t>(joined.numbers.size());
  return joined;
}

// Members state (dimension, outer, size, from, to): one row each, of as many rows as there are members.
std::optional<NormValue> GatheredOf(const std::vector<const Op*>& ops,
                                    const std::vector<const NormValue*>& values) {
  const auto size = static_cast<int64_t>(ops.size());
  std::vector<const NormValue*> rows(ops.size(), nullptr);
  for (size_t i = 0; i < ops.size(); ++i) {
    const int64_t* const from = ops[i]->args.size() == 6 ? ops[i]->args[4].AsInt() : nullptr;
    if (from == nullptr || *from < 0 || *from >= size) return std::nullopt;
    const bool right = HasNumbers(*ops[i], {0, 1, size, *from, *from + 1}) &&
                       values[i]->shape == values.front()->shape;
    if (!right || rows[static_cast<size_t>(*from)] != nullptr) return std::nullopt;
    rows[static_cast<size_t>(*from)] = values[i];
  }
  return JoinedOf(rows);
}

}  // namespace

bool IsNormCollective(std::string_view type) {
  return type == kReduceMember || type == kGatherMember;
}

bool IsNormMovement(std::string_view type) {
  return IsNormCollective(type) || type == kSumOnOne || type == kJoinOnOne;
}

std::optional<NormValue> MovedNormValue(const std::vector<const Op*>& ops,
                                        const std::vector<const NormValue*>& values) {
  const std::string_view type = ops.front()->type;
  if (type == kReduceMember || type == kSumOnOne) return SumOf(values);
  if (type == kGatherMember) return GatheredOf(ops, values);
  if (!HasNumbers(*ops.front(), {0, 1})) return std::nullopt;
  return JoinedOf(values);
}

}  // namespace placewright::check
