#include "formats/aten/records.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <utility>

#include "base/text.h"
#include "formats/aten/changing_numbers.h"
#include "formats/aten/slopes.h"

namespace placewright {
namespace {

constexpr int64_t kLargest = kMaxQuantity;

template <class T>
using Spelling = std::pair<std::string_view, T>;

constexpr std::array<Spelling<DType>, 16> kDTypes = {{{"f32", DType::kF32},
                                                      {"f64", DType::kF64},
                                                      {"f16", DType::kF16},
                                                      {"bf16", DType::kBF16},
                                                      {"i64", DType::kI64},
                                                      {"i32", DType::kI32},
                                                      {"i16", DType::kI16},
                                                      {"i8", DType::kI8},
                                                      {"u8", DType::kU8},
                                                      {"u16", DType::kU16},
                                                      {"u32", DType::kU32},
                                                      {"u64", DType::kU64},
                                                      {"bool", DType::kBool},
                                                      {"b8", DType::kBool},
                                                      {"c64", DType::kC64},
                                                      {"c128", DType::kC128}}};
constexpr std::array<Spelling<Phase>, 3> kPhases = {
    {{"fwd", Phase::kForward}, {"bwd", Phase::kBackward}, {"opt", Phase::kOptimizer}}};
constexpr std::array<Spelling<TensorKind>, 5> kKinds = {{{"param", TensorKind::kParameter},
                                                         {"opt_state", TensorKind::kOptimizerState},
                                                         {"buffer", TensorKind::kBuffer},
                                                         {"input", TensorKind::kInput},
                                                         {"constant", TensorKind::kConstant}}};
constexpr std::array<Spelling<AtenOp::Mark>, 2> kMarks = {
    {{"view", AtenOp::Mark::kView}, {"inplace", AtenOp::Mark::kInPlace}}};

template <class T, size_t n>
std::string_view WordFor(T value, const std::array<Spelling<T>, n>& spellings) {
  for (const auto& [name, known] : spellings) {
    if (known == value) return name;
  }
  return "";
}

template <class T, size_t n>
Result<T> ReadSpelling(const Json& object, std::string_view key,
                       const std::array<Spelling<T>, n>& spellings) {
  PW_ASSIGN(const Json* field, GetField(object, key, ""));
  if (!field->is_string()) return AsString(*field, key).error();
  const std::string& text = field->get_ref<const std::string&>();
  for (const auto& [name, value] : spellings) {
    if (name == text) return value;
  }
  std::vector<std::string> known;
  for (const auto& [name, value] : spellings) known.emplace_back(name);
  return MakeError(ErrorCode::kField,
                   fmt::format("\"{}\" is none of {}{}", Printable(text, 60),
                               fmt::join(known, ", "), DidYouMean(text, known)),
                   std::string(key));
}

std::string Item(std::string_view key, size_t index) { return fmt::format("{}[{}]", key, index); }

Result<std::vector<int64_t>> ReadShape(const Json& object) {
  PW_ASSIGN(const Json* list, GetArray(object, "shape", ""));
  std::vector<int64_t> shape;
  shape.reserve(list->size());
  for (const Json& size : *list) {
    if (!size.is_number_integer()) {
      return MakeError(
          ErrorCode::kGraphShape,
          fmt::format("the size {} is not an integer", Printable(size.dump(-1, ' ', true), 60)),
          Item("shape", shape.size()), "Record the step with static shapes.");
    }
    const auto place = [&] { return Item("shape", shape.size()); };
    PW_ASSIGN(shape.emplace_back(), InPlace(place, AsInt(size, "", 0, kLargest)));
  }
  return shape;
}

Result<std::vector<std::string>> ReadStrings(const Json& object, std::string_view key) {
  PW_ASSIGN(const Json* list, GetArray(object, key, ""));
  std::vector<std::string> strings;
  strings.reserve(list->size());
  for (const Json& item : *list) {
    if (!item.is_string()) return AsString(item, Item(key, strings.size())).error();
    strings.push_back(item.get_ref<const std::string&>());
  }
  return strings;
}

// "%3" -> a reference; any other text that begins with '%' is an error.
Result<Value> ReadReference(const std::string& text, size_t input_count) {
  int32_t index = -1;
  const char* end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data() + 1, end, index);
  if (code != std::errc() || stop != end || index < 0 ||
      static_cast<size_t>(index) >= input_count) {
    return MakeError(ErrorCode::kField, fmt::format("\"{}\" refers to none of the {} inputs",
                                                    Printable(text, 40), input_count));
  }
  return Value(InputRef{index});
}

// The words that Python's json module writes for numbers that JSON has no words for.
constexpr std::array<Spelling<std::string_view>, 3> kPythonNumbers = {
    {{"-Infinity", "\"-inf\""}, {"Infinity", "\"inf\""}, {"NaN", "\"nan\""}}};
constexpr std::array<Spelling<double>, 3> kNonFinite = {
    {{"-inf", -std::numeric_limits<double>::infinity()},
     {"inf", std::numeric_limits<double>::infinity()},
     {"nan", std::numeric_limits<double>::quiet_NaN()}}};

// The text with Python's words, where they stand outside of strings, as strings.
std::string WithoutPythonNumbers(std::string_view text) {
  std::string strict;
  strict.reserve(text.size() + 64);
  bool quoted = false;
  for (size_t i = 0; i < text.size();) {
    if (text[i] == '"') quoted = !quoted;
    const auto word = std::find_if(
        kPythonNumbers.begin(), kPythonNumbers.end(),
        [&](const auto& pair) { return !quoted && text.substr(i).starts_with(pair.first); });
    if (word != kPythonNumbers.end()) {
      strict += word->second;
      i += word->first.size();
      continue;
    }
    const size_t taken = quoted && text[i] == '\\' ? 2 : 1;  // an escaped quote ends no string
    strict += text.substr(i, taken);
    i += taken;
  }
  return strict;
}

Value ReadText(const std::string& text) {
  for (const auto& [name, number] : kNonFinite) {
    if (name == text) return Value(number);
  }
  return Value(text);
}

Result<Value> ReadValue(const Json& json, size_t input_count) {
  switch (json.type()) {
    case Json::value_t::null: return Value();
    case Json::value_t::boolean: return Value(json.get<bool>());
    case Json::value_t::number_float: return Value(json.get<double>());
    case Json::value_t::number_integer:
    case Json::value_t::number_unsigned: {
      PW_ASSIGN(const int64_t number, AsInt(json, "", INT64_MIN, INT64_MAX));
      return Value(number);
    }
    case Json::value_t::string: {
      const std::string& text = json.get_ref<const std::string&>();
      if (text.starts_with('%')) return ReadReference(text, input_count);
      return ReadText(text);
    }
    case Json::value_t::array: {
      Value::List list;
      list.reserve(json.size());
      for (const Json& item : json) {
        PW_ASSIGN(Value value, ReadValue(item, input_count));
        list.push_back(std::move(value));
      }
      return Value(std::move(list));
    }
    default:
      return MakeError(
          ErrorCode::kField,
          fmt::format("must be a number, text, list or null, not {}", json.type_name()));
  }
}

Result<AxisPart> ReadAxisPart(const Json& json, std::string_view at) {
  AxisPlace place;
  Interval interval;
  PW_ASSIGN(const int64_t dimension, GetInt(json, "dimension", at, 0, INT32_MAX));
  place.dimension = static_cast<int32_t>(dimension);
  PW_ASSIGN(place.outer, GetInt(json, "outer", at, 1, kLargest));
  PW_ASSIGN(place.size, GetInt(json, "size", at, 1, kLargest));
  PW_ASSIGN(place.inner, GetInt(json, "inner", at, 1, kLargest));
  PW_ASSIGN(interval.from, GetInt(json, "from", at, 0, place.size));
  PW_ASSIGN(interval.to, GetInt(json, "to", at, interval.from, place.size));
  return AxisPart{place, interval};
}

// {"input": NAME}, of one axis with "dimension", "outer", "size", "inner", "from" and "to", of several with a list
// of these, "box".
Result<NamedPiece> ReadPiece(const Json& json) {
  PW_ASSIGN(const Json* of, GetObject(json, "of", ""));
  NamedPiece piece;
  PW_ASSIGN(piece.input, GetString(*of, "input", "of"));
  std::vector<AxisPart> box;
  if (of->contains("dimension")) {
    PW_ASSIGN(box.emplace_back(), ReadAxisPart(*of, "of"));
  }
  if (of->contains("box")) {
    PW_ASSIGN(const Json* list, GetArray(*of, "box", "of"));
    if (list->size() < 2 || !box.empty()) {
      return MakeError(ErrorCode::kField, "a box has several axes, and none stands beside it",
                       "of.box");
    }
    for (const Json& axis : *list) {
      PW_ASSIGN(box.emplace_back(), ReadAxisPart(axis, "of." + Item("box", box.size())));
    }
  }
  piece.box = {box.begin(), box.end()};
  return piece;
}

Result<AtenInput> ReadInput(const Json& json) {
  AtenInput input;
  PW_ASSIGN(input.name, GetString(json, "name", ""));
  PW_ASSIGN(input.kind, ReadSpelling(json, "kind", kKinds));
  PW_ASSIGN(input.dtype, ReadSpelling(json, "dtype", kDTypes));
  PW_ASSIGN(input.shape, ReadShape(json));
  PW_ASSIGN(input.slopes, ReadShapeSlopes(json, input.shape));
  if (json.contains("below")) {
    PW_ASSIGN(input.below, GetInt(json, "below", "", 1, kLargest));
  }
  if (json.contains("of")) {
    PW_ASSIGN(input.of, ReadPiece(json));
  }
  return input;
}

Status ReadOutputs(const Json& json, AtenOp& op) {
  PW_ASSIGN(const Json* list, GetArray(json, "outputs", ""));
  op.outputs.reserve(list->size());
  for (const Json& item : *list) {
    if (item.is_null()) {
      op.outputs.emplace_back();
      continue;
    }
    const auto place = [&] { return Item("outputs", op.outputs.size()); };
    AtenOutput output;
    PW_ASSIGN(output.dtype, InPlace(place, ReadSpelling(item, "dtype", kDTypes)));
    PW_ASSIGN(output.shape, InPlace(place, ReadShape(item)));
    PW_ASSIGN(output.slopes, InPlace(place, ReadShapeSlopes(item, output.shape)));
    op.outputs.emplace_back(std::move(output));
  }
  return Ok();
}

Status ReadArguments(const Json& json, AtenOp& op) {
  PW_ASSIGN(const Json* args, GetArray(json, "args", ""));
  op.args.reserve(args->size());
  for (const Json& item : *args) {
    const auto place = [&] { return Item("args", op.args.size()); };
    PW_ASSIGN(op.args.emplace_back(), InPlace(place, ReadValue(item, op.inputs.size())));
  }
  if (!json.contains("kwargs")) return Ok();
  PW_ASSIGN(const Json* kwargs, GetObject(json, "kwargs", ""));
  for (const auto& [key, item] : kwargs->items()) {
    const auto place = [&] { return "kwargs." + Printable(key, 60); };
    PW_ASSIGN(Value value, InPlace(place, ReadValue(item, op.inputs.size())));
    op.kwargs.push_back({key, std::move(value)});
  }
  return Ok();
}

Result<AtenOp> ReadOp(const Json& json) {
  AtenOp op;
  PW_ASSIGN(op.name, GetString(json, "name", ""));
  PW_ASSIGN(op.target, GetString(json, "target", ""));
  PW_ASSIGN(op.phase, ReadSpelling(json, "phase", kPhases));
  PW_ASSIGN(op.inputs, ReadStrings(json, "inputs"));
  PW_RETURN_IF_ERROR(ReadArguments(json, op));
  PW_ASSIGN(op.laws, ReadArgumentLaws(json, op));
  PW_ASSIGN(op.formulas, ReadFormulas(json, op));
  PW_RETURN_IF_ERROR(ReadOutputs(json, op));
  if (json.contains("scope") && !json.at("scope").is_null()) {
    PW_ASSIGN(op.scope, GetString(json, "scope", ""));
  }
  if (json.contains("device") && !json.at("device").is_null()) {
    PW_ASSIGN(op.device, GetString(json, "device", ""));
  }
  if (json.contains("of")) {
    PW_ASSIGN(op.of, GetString(json, "of", ""));
  }
  if (json.contains("after")) {
    PW_ASSIGN(op.after, ReadStrings(json, "after"));
  }
  if (json.contains("holds")) {
    PW_ASSIGN(op.holds, ReadStrings(json, "holds"));
  }
  if (json.contains("alias") && !json.at("alias").is_null()) {
    PW_ASSIGN(op.mark, ReadSpelling(json, "alias", kMarks));
    if (op.inputs.empty()) {
      return MakeError(ErrorCode::kField, "the op aliases its first input, but has no inputs",
                       "alias");
    }
  }
  return op;
}

std::string NameOf(const Json& json) {
  const auto it = json.is_object() ? json.find("name") : json.end();
  return json.is_object() && it != json.end() && it->is_string()
             ? Printable(it->get_ref<const std::string&>(), 80)
             : "?";
}

Status ReadElement(AtenFile& file, std::string_view key, size_t index, Json& json) {
  const auto place = [&] {
    return key == "inputs" ? Item(key, index) : PlaceOfOp(index, NameOf(json));
  };
  if (key == "ops") {
    PW_ASSIGN(file.ops.emplace_back(), InPlace(place, ReadOp(json)));
  } else if (IsHyper(json)) {
    PW_ASSIGN(file.hyper.emplace_back(), InPlace(place, ReadHyper(json)));
  } else {
    PW_ASSIGN(file.inputs.emplace_back(), InPlace(place, ReadInput(json)));
  }
  return Ok();
}

Status ReadCollectives(const Json& root, AtenFile& file) {
  if (!root.contains("collectives")) return Ok();
  PW_ASSIGN(const Json* list, GetArray(root, "collectives", ""));
  for (const Json& json : *list) {
    const std::string place = Item("collectives", file.collectives.size());
    AtenCollective collective;
    PW_ASSIGN(collective.name, GetString(json, "name", place));
    PW_ASSIGN(collective.members, InPlace([&] { return place; }, ReadStrings(json, "members")));
    file.collectives.push_back(std::move(collective));
  }
  return Ok();
}

Result<std::optional<int64_t>> ReadCount(const Json& root, std::string_view key, int64_t min) {
  if (!root.contains(std::string(key)) || root.at(std::string(key)).is_null()) {
    return std::optional<int64_t>();
  }
  PW_ASSIGN(const int64_t count, GetInt(root, key, "", min, kLargest));
  return std::optional<int64_t>(count);
}

}  // namespace

std::string_view AtenWord(DType dtype) { return WordFor(dtype, kDTypes); }
std::string_view AtenWord(Phase phase) { return WordFor(phase, kPhases); }
std::string_view AtenWord(TensorKind kind) { return WordFor(kind, kKinds); }
std::string_view AtenWord(AtenOp::Mark mark) { return WordFor(mark, kMarks); }

std::string PlaceOfOp(size_t index, std::string_view name) {
  return fmt::format("ops[{}] ({})", index, Printable(name, 80));
}

namespace {

// Of all inputs and ops as text: what is kept of them takes less.
int64_t RecordsLimit() {
  const int64_t memory = int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
  return std::max(JsonLimits().streamed, memory / 2);
}

}  // namespace

Result<AtenFile> ReadAtenRecords(std::string_view text) {
  std::string strict;
  if (text.find("Infinity") != text.npos || text.find("NaN") != text.npos) {
    strict = WithoutPythonNumbers(text);
    text = strict;
  }
  AtenFile file;
  PW_ASSIGN(const Json root,
            ParseJsonStreaming(text, {"inputs", "ops"},
                               [&](std::string_view key, size_t index, Json& json) {
                                 return ReadElement(file, key, index, json);
                               },
                               {.streamed = RecordsLimit()}));
  if (!root.is_object()) return MakeError(ErrorCode::kField, "must be one object");
  for (const char* key : {"inputs", "ops"}) {
    if (root.contains(key)) PW_RETURN_IF_ERROR(GetArray(root, key, ""));
  }
  if (file.ops.empty()) {
    return MakeError(ErrorCode::kField, "the list \"ops\" is missing or empty", "ops");
  }
  PW_ASSIGN(file.name, GetString(root, "name", ""));
  PW_ASSIGN(const std::optional<int64_t> batch, ReadCount(root, "batch", 1));
  file.batch = batch.value_or(0);
  PW_ASSIGN(file.ops_stated, ReadCount(root, "n_ops", 0));
  PW_ASSIGN(file.edges_stated, ReadCount(root, "n_edges", 0));
  if (root.contains("wrapped")) {
    PW_ASSIGN(file.wrapped, GetBool(root, "wrapped", ""));
  }
  PW_ASSIGN(file.batch_scaling, ReadBatchProof(root));
  PW_RETURN_IF_ERROR(CheckSlopes(file));
  PW_RETURN_IF_ERROR(CheckFormulas(file));
  PW_ASSIGN(file.outputs, ReadStrings(root, "outputs"));
  if (root.contains("parameters")) {
    PW_ASSIGN(file.parameters, ReadStrings(root, "parameters"));
  }
  PW_RETURN_IF_ERROR(ReadCollectives(root, file));
  return file;
}

}  // namespace placewright
