#include "formats/aten/changing_numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "base/text.h"
#include "formats/aten/slopes.h"
#include "formats/text/document_text.h"
#include "graph/batch/numbers.h"

namespace placewright {
namespace {

constexpr std::string_view kPrefix = "hyper:";

std::string PlaceOfFormula(size_t index) { return fmt::format("numbers[{}]", index); }

}  // namespace

bool IsHyper(const Json& input) {
  if (!input.is_object() || !input.contains("kind")) return false;
  const Json& kind = input.at("kind");
  return kind.is_string() && kind.get_ref<const std::string&>() == "hyper";
}

Result<std::string> ReadHyper(const Json& input) {
  PW_ASSIGN(std::string name, GetString(input, "name", ""));
  if (!name.starts_with(kPrefix) || name.size() == kPrefix.size()) {
    return MakeError(ErrorCode::kField,
                     fmt::format("\"{}\" is not of the form hyper:NAME", Printable(name, 80)),
                     "name");
  }
  PW_ASSIGN(const std::string dtype, GetString(input, "dtype", ""));
  if (dtype != "f64") return MakeError(ErrorCode::kField, "must be f64", "dtype");
  PW_ASSIGN(const Json* shape, GetArray(input, "shape", ""));
  if (!shape->empty()) {
    return MakeError(ErrorCode::kField, "must be [], since it is one number", "shape");
  }
  if (!input.contains("value") || !input.at("value").is_number()) {
    return MakeError(ErrorCode::kField, "must be the number as it stood in the recorded step",
                     "value");
  }
  return name;
}

Result<std::vector<std::string>> ReadFormulas(const Json& object, const AtenOp& op) {
  std::vector<std::string> formulas;
  if (!object.contains("numbers")) return formulas;
  PW_ASSIGN(const Json* list, GetArray(object, "numbers", ""));
  for (size_t i = 0; i < list->size(); ++i) {
    const Json& entry = (*list)[i];
    if (!entry.is_array() || entry.size() < 2 || !entry.back().is_string()) {
      return MakeError(ErrorCode::kField,
                       "must be a list: an argument, positions in its lists, and a formula",
                       PlaceOfFormula(i));
    }
    formulas.push_back(entry.back().get<std::string>());
  }
  size_t next = 0;
  VisitNumbers(op.args, op.kwargs, [&](const Value&, const NumberPlace& place) {
    if (next < formulas.size() && LeadsTo((*list)[next], place)) ++next;
  });
  if (next == formulas.size()) return formulas;
  return MakeError(ErrorCode::kField,
                   "it leads to no number among the arguments, or stands out of their order",
                   PlaceOfFormula(next));
}

Status CheckFormulas(const AtenFile& file) {
  const std::set<std::string_view> known(file.hyper.begin(), file.hyper.end());
  for (size_t i = 0; i < file.ops.size(); ++i) {
    const AtenOp& op = file.ops[i];
    for (size_t k = 0; k < op.formulas.size(); ++k) {
      const std::string_view text = op.formulas[k];
      for (size_t at = text.find('{'); at != text.npos; at = text.find('{', at + 1)) {
        const size_t end = std::min(text.find('}', at), text.size());
        const std::string name = fmt::format("{}{}", kPrefix, text.substr(at + 1, end - at - 1));
        if (known.count(name) > 0) continue;
        return MakeError(ErrorCode::kUnknownName,
                         fmt::format("there is no input \"{}\"", Printable(name, 120)),
                         PlaceOfOp(i, op.name) + "." + PlaceOfFormula(k));
      }
    }
  }
  return Ok();
}

}  // namespace placewright
