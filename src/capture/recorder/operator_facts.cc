#include "capture/recorder/operator_facts.h"

#include <ATen/core/enum_tag.h>
#include <ATen/core/jit_type.h>

#include <algorithm>
#include <array>

#include "aten/boxed_call.h"
#include "aten/torch_version.h"
#include "capture/recorder/arguments.h"

namespace placewright {
namespace {

bool ReturnsNumbers(const c10::FunctionSchema& schema) {
  const auto is_number = [](const c10::Argument& result) {
    const c10::TypeKind kind = result.type()->kind();
    return kind != c10::TypeKind::TensorType && kind != c10::TypeKind::ListType;
  };
  return !schema.returns().empty() &&
         std::all_of(schema.returns().begin(), schema.returns().end(), is_number);
}

// The operator `name`_ of that overload.
std::optional<c10::OperatorHandle> WithUnderscore(const std::string& name, const char* overload) {
  const auto found = c10::Dispatcher::singleton().findSchema({name + "_", overload});
  return found ? std::optional(*found) : std::nullopt;
}

std::optional<c10::OperatorHandle> InPlaceOf(const c10::FunctionSchema& schema) {
  static constexpr std::array<const char*, 3> kGathering = {"aten::index_add", "aten::scatter_add",
                                                            "aten::_index_put_impl"};
  const std::string& name = schema.name();
  if (!schema.overload_name().empty() ||
      std::find(kGathering.begin(), kGathering.end(), name) == kGathering.end()) {
    return std::nullopt;
  }
  return WithUnderscore(name, "");
}

OperatorFacts FactsOf(const c10::OperatorHandle& op) {
  const c10::FunctionSchema& schema = op.schema();
  const std::string& full = schema.name();
  OperatorFacts facts;
  facts.name = full.substr(full.find("::") + 2);
  facts.target = TargetOf(schema);
  facts.result_is_argument =
      full == "aten::detach" || full == "aten::detach_" || full == "aten::lift_fresh";
  facts.reads_values =
      op.hasTag(at::Tag::data_dependent_output) || op.hasTag(at::Tag::dynamic_output_shape);
  facts.returns_numbers = ReturnsNumbers(schema);
  facts.draws_random = DrawsRandomNumbers(op);
  facts.gathers_in_place = InPlaceOf(schema);
  if (kSumsGradientsInPlace && full == "aten::add" && schema.overload_name() == "Tensor") {
    facts.sums_in_place = WithUnderscore(full, "Tensor");
  }
  return facts;
}

}  // namespace

const OperatorFacts& OperatorTable::Of(const c10::OperatorHandle& op) {
  const auto known = facts_.find(&op.schema());
  return known != facts_.end() ? known->second
                               : facts_.emplace(&op.schema(), FactsOf(op)).first->second;
}

}  // namespace placewright
