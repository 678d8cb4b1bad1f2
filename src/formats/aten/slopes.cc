#include "formats/aten/slopes.h"

#include <fmt/format.h>

#include <set>
#include <utility>

#include "base/text.h"
#include "formats/text/document_text.h"
#include "graph/batch/at_batch.h"
#include "graph/batch/batch_product.h"

namespace placewright {
namespace {

std::string Item(size_t index) { return fmt::format("slopes[{}]", index); }

// Into the law's slope or product; a slope may be 0.
template <class Law>
Status ReadLaw(const Json& json, const std::string& place, Law& law) {
  if (!json.is_string()) {
    PW_ASSIGN(law.slope, AsInt(json, place, -kMaxQuantity, kMaxQuantity));
    return Ok();
  }
  const std::string& text = json.get_ref<const std::string&>();
  std::optional<BatchProduct> product = ParseBatchProduct(text);
  if (!product) {
    return MakeError(ErrorCode::kField,
                     fmt::format("\"{}\" is neither an integer nor a product of terms of the batch",
                                 Printable(text, 40)),
                     place, "Write terms that are linear in the batch N, as 1/(N-1) or N*(2*N-1).");
  }
  law.product = *std::move(product);
  return Ok();
}

// What `scaled` makes of each batch size at which the step was recorded, the `what` of something, is in range.
template <class Scaled>
Status CheckProvenSizes(const BatchScaling& laws, std::string_view what, const Scaled& scaled) {
  std::vector<int64_t> sizes(laws.sizes.begin(), laws.sizes.end());
  if (laws.smaller > 0) sizes.push_back(laws.smaller);
  for (const int64_t size : sizes) {
    const auto made = scaled(size);
    if (made.ok()) continue;
    return MakeError(
        ErrorCode::kField,
        fmt::format("at batch {}, one of the proof, the {} is out of range", size, what),
        made.error().place);
  }
  return Ok();
}

std::string PlaceOfInput(const AtenFile& file, size_t i) {
  return fmt::format("inputs[{}] ({})", i, Printable(file.inputs[i].name, 80));
}

// Calls visit(shape, slopes, place) for all shapes, and visit_op(op, place) for all ops; stops at
// the first error.
template <class File, class VisitShape, class VisitOp>
Status ForAll(File& file, const VisitShape& visit, const VisitOp& visit_op) {
  for (size_t i = 0; i < file.inputs.size(); ++i) {
    auto& input = file.inputs[i];
    if (input.slopes.empty()) continue;
    const auto place = [&] { return PlaceOfInput(file, i); };
    PW_RETURN_IF_ERROR(InPlace(place, visit(input.shape, input.slopes)));
  }
  for (size_t i = 0; i < file.ops.size(); ++i) {
    auto& op = file.ops[i];
    PW_RETURN_IF_ERROR(InPlace([&] { return PlaceOfOp(i, op.name); }, visit_op(op)));
    for (size_t k = 0; k < op.outputs.size(); ++k) {
      if (!op.outputs[k] || op.outputs[k]->slopes.empty()) continue;
      const auto place = [&] { return fmt::format("{}.outputs[{}]", PlaceOfOp(i, op.name), k); };
      PW_RETURN_IF_ERROR(InPlace(place, visit(op.outputs[k]->shape, op.outputs[k]->slopes)));
    }
  }
  return Ok();
}

void AppendLaw(int64_t slope, const BatchProduct& product, std::string& out) {
  if (product.empty()) {
    AppendJson(out, slope);
  } else {
    AppendJson(out, ToText(product));
  }
}

Error Unproven() {
  return MakeError(ErrorCode::kField,
                   "slopes stand for nothing without a batch_proof that found no obstacle",
                   "slopes");
}

}  // namespace

Result<std::vector<DimensionLaw>> ReadShapeSlopes(const Json& object,
                                                  const std::vector<int64_t>& shape) {
  std::vector<DimensionLaw> slopes;
  if (!object.contains("slopes")) return slopes;
  PW_ASSIGN(const Json* list, GetArray(object, "slopes", ""));
  for (size_t i = 0; i < list->size(); ++i) {
    DimensionLaw law{static_cast<int32_t>(i), 0};
    PW_RETURN_IF_ERROR(ReadLaw((*list)[i], Item(i), law));
    if (law.slope != 0 || !law.product.empty()) slopes.push_back(std::move(law));
  }
  if (list->size() == shape.size()) return slopes;
  return MakeError(ErrorCode::kField,
                   fmt::format("{} slopes of a shape of {} dimensions", list->size(), shape.size()),
                   "slopes");
}

bool LeadsTo(const Json& entry, const NumberPlace& place) {
  const size_t steps = place.path.size() + (place.keyword != nullptr ? 1 : 0);
  if (entry.size() != steps + 1) return false;
  size_t at = 0;
  if (place.keyword != nullptr) {
    if (!entry[0].is_string() || entry[0].get_ref<const std::string&>() != *place.keyword) {
      return false;
    }
    at = 1;
  }
  for (const int64_t index : place.path) {
    const Json& step = entry[at++];
    if (!step.is_number_integer() || step.get<int64_t>() != index) return false;
  }
  return true;
}

Result<std::vector<ArgumentLaw>> ReadArgumentLaws(const Json& object, const AtenOp& op) {
  std::vector<ArgumentLaw> laws;
  if (!object.contains("slopes")) return laws;
  PW_ASSIGN(const Json* list, GetArray(object, "slopes", ""));
  for (size_t i = 0; i < list->size(); ++i) {
    const Json& entry = (*list)[i];
    if (!entry.is_array() || entry.size() < 2) {
      return MakeError(ErrorCode::kField,
                       "must be a list: an argument, positions in its lists, and a slope", Item(i));
    }
    ArgumentLaw law;
    PW_RETURN_IF_ERROR(ReadLaw(entry.back(), Item(i), law));
    if (law.slope == 0 && law.product.empty()) {
      return MakeError(ErrorCode::kField, "a slope of 0 is not listed", Item(i));
    }
    laws.push_back(std::move(law));
  }
  size_t next = 0;
  int32_t number = 0;
  bool fits = true;
  VisitNumbers(op.args, op.kwargs, [&](const Value& value, const NumberPlace& place) {
    if (next < laws.size() && LeadsTo((*list)[next], place)) {
      laws[next].number = number;
      fits = fits && (value.AsInt() != nullptr || !laws[next].product.empty() ||
                      NumberAt(value, laws[next], 1, 1).has_value());
      if (fits) ++next;
    }
    ++number;
  });
  if (next == laws.size()) return laws;
  return MakeError(ErrorCode::kField,
                   fits ? "it leads to no number among the arguments, or stands out of their order"
                        : "such a law is none for a number of this type",
                   Item(next));
}

Result<std::optional<BatchScaling>> ReadBatchProof(const Json& root) {
  if (!root.contains("batch_proof") || root.at("batch_proof").is_null()) {
    return std::optional<BatchScaling>();
  }
  PW_ASSIGN(const Json* proof, GetObject(root, "batch_proof", ""));
  PW_ASSIGN(const Json* sizes, GetArray(*proof, "sizes", "batch_proof"));
  BatchScaling laws;
  if (sizes->size() != laws.sizes.size()) {
    return MakeError(ErrorCode::kField, "must be three batch sizes", "batch_proof.sizes");
  }
  for (size_t i = 0; i < laws.sizes.size(); ++i) {
    PW_ASSIGN(laws.sizes[i],
              AsInt((*sizes)[i], fmt::format("batch_proof.sizes[{}]", i), 1, kMaxQuantity));
  }
  if (std::set<int64_t>(laws.sizes.begin(), laws.sizes.end()).size() != laws.sizes.size()) {
    return MakeError(ErrorCode::kField, "must be three different batch sizes", "batch_proof.sizes");
  }
  if (proof->contains("obstacle")) {
    PW_ASSIGN(laws.reason, GetString(*proof, "obstacle", "batch_proof"));
  }
  if (proof->contains("smaller")) {
    PW_ASSIGN(laws.smaller, GetInt(*proof, "smaller", "batch_proof", 1, laws.SmallestProven() - 1));
  }
  return std::optional<BatchScaling>(std::move(laws));
}

Status CheckSlopes(const AtenFile& file) {
  const bool proven = file.batch_scaling && file.batch_scaling->reason.empty();
  if (file.batch_scaling && file.batch == 0) {
    return MakeError(ErrorCode::kField, "a proof needs a stated batch", "batch_proof",
                     "Add the field \"batch\".");
  }
  const auto check_shape = [&](const auto& shape, const auto& slopes) -> Status {
    if (!proven) return Unproven();
    return CheckProvenSizes(*file.batch_scaling, "size",
                            [&](int64_t size) { return ShapeAt(shape, slopes, file.batch, size); });
  };
  const auto check_op = [&](const AtenOp& op) -> Status {
    if (op.laws.empty()) return Ok();
    if (!proven) return Unproven();
    return CheckProvenSizes(*file.batch_scaling, "number", [&](int64_t size) {
      return ArgumentsAt({op.args, op.kwargs}, op.laws, file.batch, size);
    });
  };
  return ForAll(file, check_shape, check_op);
}

Status Rescale(AtenFile& file, int64_t batch) {
  const int64_t from = file.batch;
  PW_RETURN_IF_ERROR(
      CheckBatchAllowed(file.batch_scaling ? &*file.batch_scaling : nullptr, from, batch));
  if (batch == from) return Ok();
  file.batch = batch;
  const auto scale_shape = [&](std::vector<int64_t>& shape, const auto& slopes) -> Status {
    PW_ASSIGN(shape, ShapeAt(std::move(shape), slopes, from, batch));
    return Ok();
  };
  const auto scale_op = [&](AtenOp& op) -> Status {
    if (op.laws.empty()) return Ok();
    PW_ASSIGN(OpArguments scaled,
              ArgumentsAt({std::move(op.args), std::move(op.kwargs)}, op.laws, from, batch));
    op.args = std::move(scaled.args);
    op.kwargs = std::move(scaled.attributes);
    return Ok();
  };
  return ForAll(file, scale_shape, scale_op);
}

BatchScaling CollectLaws(const AtenFile& file) {
  BatchScaling laws = *file.batch_scaling;
  const auto add = [&](const std::vector<DimensionLaw>& slopes) {
    auto& [offsets, items] = laws.dimensions;
    items.insert(items.end(), slopes.begin(), slopes.end());
    offsets.push_back(static_cast<int32_t>(items.size()));
  };
  for (const AtenInput& input : file.inputs) add(input.slopes);
  for (const AtenOp& op : file.ops) {
    for (const auto& output : op.outputs) {
      if (output) add(output->slopes);
    }
    auto& [offsets, items] = laws.arguments;
    items.insert(items.end(), op.laws.begin(), op.laws.end());
    offsets.push_back(static_cast<int32_t>(items.size()));
  }
  return laws;
}

void AppendShapeSlopes(std::span<const DimensionLaw> slopes, size_t rank, std::string& out) {
  size_t next = 0;
  for (size_t dimension = 0; dimension < rank; ++dimension) {
    out += dimension == 0 ? '[' : ',';
    const bool listed =
        next < slopes.size() && static_cast<size_t>(slopes[next].dimension) == dimension;
    if (listed) {
      AppendLaw(slopes[next].slope, slopes[next].product, out);
      ++next;
    } else {
      out += '0';
    }
  }
  out += ']';
}

void AppendArgumentLaws(const Op& op, std::span<const ArgumentLaw> laws, std::string& out) {
  char separator = '[';
  VisitLaws(op, laws, [&](const NumberPlace& place, const ArgumentLaw& law) {
    out += std::exchange(separator, ',');
    out += '[';
    if (place.keyword != nullptr) {
      AppendJson(out, *place.keyword);
      out += ',';
    }
    for (const int64_t index : place.path) {
      AppendJson(out, index);
      out += ',';
    }
    AppendLaw(law.slope, law.product, out);
    out += ']';
  });
  out += ']';
}

Json BatchProofToJson(const BatchScaling& laws) {
  Json proof = {{"sizes", laws.sizes}};
  if (laws.smaller > 0) proof["smaller"] = laws.smaller;
  if (!laws.reason.empty()) proof["obstacle"] = laws.reason;
  return proof;
}

}  // namespace placewright
