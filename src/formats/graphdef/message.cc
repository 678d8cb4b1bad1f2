#include "formats/graphdef/message.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/text.h"
#include "formats/graphdef/data_types.h"

namespace placewright::graphdef {
namespace {

enum Kind : int { kNumber = 1, kBytes, kInner };

struct FieldRow {
  Message holder;
  int number;
  std::string_view name;
  Kind kind;
  Message message = Message::kGraph;  // of kInner
};

using enum Message;
constexpr std::array kRows = {
    FieldRow{kGraph, kGraphNode, "node", kInner, kNode},
    FieldRow{kNode, kNodeName, "name", kBytes},
    FieldRow{kNode, kNodeOp, "op", kBytes},
    FieldRow{kNode, kNodeInput, "input", kBytes},
    FieldRow{kNode, kNodeDevice, "device", kBytes},
    FieldRow{kNode, kNodeAttr, "attr", kInner, kEntry},
    FieldRow{kEntry, kEntryKey, "key", kBytes},
    FieldRow{kEntry, kEntryValue, "value", kInner, kAttribute},
    FieldRow{kAttribute, kAttrList, "list", kInner, kList},
    FieldRow{kAttribute, kAttrS, "s", kBytes},
    FieldRow{kAttribute, kAttrI, "i", kNumber},
    FieldRow{kAttribute, kAttrB, "b", kNumber},
    FieldRow{kAttribute, kAttrType, "type", kNumber},
    FieldRow{kAttribute, kAttrShape, "shape", kInner, kShape},
    FieldRow{kAttribute, kAttrTensor, "tensor", kInner, kTensor},
    FieldRow{kList, kListS, "s", kBytes},
    FieldRow{kList, kListI, "i", kNumber},
    FieldRow{kList, kListB, "b", kNumber},
    FieldRow{kList, kListType, "type", kNumber},
    FieldRow{kList, kListShape, "shape", kInner, kShape},
    FieldRow{kShape, kShapeDim, "dim", kInner, kDim},
    FieldRow{kShape, kShapeUnknown, "unknown_rank", kNumber},
    FieldRow{kDim, kDimSize, "size", kNumber},
    FieldRow{kTensor, kTensorType, "dtype", kNumber},
    FieldRow{kTensor, kTensorShape, "tensor_shape", kInner, kShape},
    FieldRow{kTensor, kTensorContent, "tensor_content", kBytes},
    FieldRow{kTensor, kTensorInt, "int_val", kNumber},
    FieldRow{kTensor, kTensorInt64, "int64_val", kNumber},
};

template <class Matches>
const FieldRow* FindRow(Message holder, Matches matches) {
  for (const FieldRow& row : kRows) {
    if (row.holder == holder && matches(row)) return &row;
  }
  return nullptr;
}

constexpr size_t kMaxBraces = 100;

bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
bool IsWord(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == '+' || c == '-';
}
char Closing(char open) { return open == '{' ? '}' : open == '<' ? '>' : ']'; }

// Of a character after a backslash; the escapes with digits are the caller's.
char Escaped(char c) {
  switch (c) {
    case 'a': return '\a';
    case 'b': return '\b';
    case 'f': return '\f';
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    case 'v': return '\v';
    default: return c;
  }
}

int Digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : 99;
}

void AppendUnescaped(std::string_view quoted, std::string* text) {
  for (size_t i = 0; i < quoted.size(); ++i) {
    if (quoted[i] != '\\' || i + 1 == quoted.size()) {
      *text += quoted[i];
      continue;
    }
    const char c = quoted[++i];
    const int base = c == 'x' || c == 'X' ? 16 : 8;
    size_t at = base == 16 ? i + 1 : i;
    const size_t max = std::min(quoted.size(), at + (base == 16 ? 2 : 3));
    int value = 0;
    const size_t first = at;
    for (; at < max && Digit(quoted[at]) < base; ++at) value = value * base + Digit(quoted[at]);
    if (at == first) {
      *text += Escaped(c);
      continue;
    }
    *text += static_cast<char>(value & 0xff);
    i = at - 1;
  }
}

// Of digits in decimal, hexadecimal (0x) or octal (0); from -2^63 to 2^63 - 1.
bool IntegerOf(std::string_view digits, bool negative, int64_t* value) {
  int base = 10;
  if (digits.starts_with("0x") || digits.starts_with("0X")) {
    base = 16;
    digits.remove_prefix(2);
  } else if (digits.size() > 1 && digits[0] == '0') {
    base = 8;
  }
  uint64_t magnitude = 0;  // from_chars takes no sign for it
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), magnitude, base);
  if (error != std::errc() || end != digits.data() + digits.size()) return false;
  if (magnitude > static_cast<uint64_t>(INT64_MAX) + (negative ? 1 : 0)) return false;
  *value = static_cast<int64_t>(negative ? 0 - magnitude : magnitude);
  return true;
}

// Of an enumeration, a bool or an integer. False for any other word.
bool NumberOf(std::string_view word, int64_t* value) {
  const bool is_true = word == "true" || word == "True" || word == "t";
  *value = is_true ? 1 : 0;
  if (is_true || word == "false" || word == "False" || word == "f") return true;
  if (word.starts_with("DT_")) {
    *value = DataTypeByName(word);
    return *value > 0 || word == "DT_INVALID";
  }
  const bool negative = word.starts_with('-');
  return IntegerOf(word.substr(negative ? 1 : 0), negative, value);
}

}  // namespace

bool NextPacked(std::string_view* bytes, int64_t* value) {
  uint64_t number = 0;
  for (int shift = 0; shift < 70 && !bytes->empty(); shift += 7) {
    const auto byte = static_cast<uint8_t>(bytes->front());
    bytes->remove_prefix(1);
    if (shift < 64) number |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte >= 0x80) continue;
    *value = static_cast<int64_t>(number);
    return true;
  }
  return false;
}

std::string FieldCursor::Place(size_t offset) const {
  if (form_ == Form::kBinary) return fmt::format("byte {}", offset);
  const std::string_view before = file_.substr(0, offset);
  return fmt::format("line {}", 1 + std::count(before.begin(), before.end(), '\n'));
}

Error FieldCursor::Damaged(std::string_view what) const {
  if (form_ == Form::kText) return MakeError(ErrorCode::kSyntax, std::string(what), Place(at_));
  return MakeError(ErrorCode::kFileCorrupt,
                   fmt::format("{}: truncated, damaged or no GraphDef", what), Place(at_));
}

Result<bool> FieldCursor::Next(Field* field) {
  return form_ == Form::kBinary ? NextBinary(field) : NextText(field);
}

bool FieldCursor::Varint(uint64_t* value) {
  std::string_view rest = file_.substr(at_, end_ - at_);
  int64_t number = 0;
  const bool whole = NextPacked(&rest, &number);
  at_ = end_ - rest.size();
  *value = static_cast<uint64_t>(number);
  return whole;
}

Result<bool> FieldCursor::NextBinary(Field* field) {
  while (at_ < end_) {
    const size_t begin = at_;
    uint64_t tag = 0, number = 0;
    if (!Varint(&tag) || (tag >> 3) == 0 || (tag >> 3) >= (1u << 29)) {
      return Damaged("an impossible field");
    }
    uint64_t length = 0;
    switch (tag & 7) {
      case 0:
        if (!Varint(&number)) return Damaged("a cut number");
        break;
      case 1: length = 8; break;
      case 2:
        if (!Varint(&length)) return Damaged("a cut length");
        break;
      case 5: length = 4; break;
      default: return Damaged("a field of unknown kind");
    }
    if (length > end_ - at_) {
      return Damaged(fmt::format("a field of {} bytes where {} are left", length, end_ - at_));
    }
    const Range content{at_, at_ + static_cast<size_t>(length)};
    at_ = content.end;
    const FieldRow* row = FindRow(
        message_, [&](const FieldRow& r) { return static_cast<uint64_t>(r.number) == tag >> 3; });
    const bool bytes = (tag & 7) == 2;
    // A number may also come packed; anything else of another kind is a field we do not know.
    if (row == nullptr || (!bytes && ((tag & 7) != 0 || row->kind != kNumber))) continue;
    *field = Field{row->number,
                   row->message,
                   {begin, at_},
                   content,
                   static_cast<int64_t>(number),
                   {},
                   bytes && row->kind == kNumber};
    if (row->kind == kBytes || field->packed) field->text = file_.substr(content.begin, length);
    return true;
  }
  return false;
}

void FieldCursor::SkipBlanks() {
  while (at_ < end_) {
    if (file_[at_] == '#') {
      while (at_ < end_ && file_[at_] != '\n') ++at_;
    } else if (IsBlank(file_[at_])) {
      ++at_;
    } else {
      return;
    }
  }
}

// From a quote to behind the next one.
Status FieldCursor::SkipString() {
  const size_t begin = at_;
  const char quote = file_[at_++];
  while (at_ < end_ && file_[at_] != quote && file_[at_] != '\n') {
    at_ += file_[at_] == '\\' ? 2 : 1;
  }
  if (at_ < end_ && file_[at_] == quote) {
    ++at_;
    return Ok();
  }
  at_ = begin;
  return Damaged("a string without its closing quote");
}

// From an opening brace to behind its partner; `content` is what lies between them.
Status FieldCursor::SkipBraces(Range* content) {
  std::array<char, kMaxBraces> closing{};
  size_t depth = 0;
  const size_t begin = at_;
  content->begin = at_ + 1;
  while (at_ < end_) {
    const char c = file_[at_];
    if (c == '"' || c == '\'') {
      PW_RETURN_IF_ERROR(SkipString());
      continue;
    }
    if (c == '#') {
      SkipBlanks();
      continue;
    }
    if (c == '{' || c == '<' || c == '[') {
      if (depth == kMaxBraces) return Damaged("more than 100 levels of braces");
      closing[depth++] = Closing(c);
    } else if (c == '}' || c == '>' || c == ']') {
      if (closing[depth - 1] != c) return Damaged(fmt::format("'{}' closes nothing here", c));
      if (--depth == 0) {
        content->end = at_++;
        return Ok();
      }
    }
    ++at_;
  }
  at_ = begin;
  return Damaged("a brace without its partner");
}

std::string_view FieldCursor::Word() {
  const size_t begin = at_;
  while (at_ < end_ && IsWord(file_[at_])) ++at_;
  return file_.substr(begin, at_ - begin);
}

Status FieldCursor::TextScalar(Field* field, bool wanted) {
  if (at_ < end_ && (file_[at_] == '"' || file_[at_] == '\'')) {
    if (wanted && list_kind_ != kBytes) return Damaged("a string where a number is expected");
    field->text.clear();
    while (at_ < end_ && (file_[at_] == '"' || file_[at_] == '\'')) {
      const size_t begin = at_ + 1;
      PW_RETURN_IF_ERROR(SkipString());
      field->whole.end = at_;
      if (wanted) AppendUnescaped(file_.substr(begin, at_ - 1 - begin), &field->text);
      SkipBlanks();  // texts that follow one another are one
    }
    return Ok();
  }
  const size_t begin = at_;
  std::string word(Word());
  if (word == "-") {  // blanks may part the sign from its number
    SkipBlanks();
    word += Word();
  }
  if (word.empty() || word == "-") return Damaged("a field without a value");
  field->whole.end = at_;
  if (!wanted) return Ok();
  if (list_kind_ == kNumber && NumberOf(word, &field->integer)) return Ok();
  at_ = begin;
  return Damaged(fmt::format("\"{}\" is not {}", Printable(word, 40),
                             list_kind_ == kNumber ? "an integer" : "a quoted string"));
}

Status FieldCursor::TextValue(Field* field, bool wanted) {
  SkipBlanks();
  if (at_ == end_ || (file_[at_] != '{' && file_[at_] != '<')) {
    if (wanted && list_kind_ == kInner) return Damaged("a value where a brace is expected");
    return TextScalar(field, wanted);
  }
  if (wanted && list_kind_ != kInner) return Damaged("a brace where a value is expected");
  PW_RETURN_IF_ERROR(SkipBraces(&field->content));
  field->whole.end = at_;
  return Ok();
}

Result<bool> FieldCursor::NextText(Field* field) {
  for (;;) {
    SkipBlanks();
    if (at_ < end_ && (file_[at_] == ',' || file_[at_] == ';')) {
      ++at_;
      continue;
    }
    if (in_list_ && at_ < end_ && file_[at_] == ']') {
      in_list_ = false;
      ++at_;
      continue;
    }
    if (in_list_) {
      *field = list_field_;
      PW_RETURN_IF_ERROR(TextValue(field, true));
      return true;
    }
    if (at_ == end_) return false;
    const size_t begin = at_;
    Range extension;
    if (file_[at_] == '[') PW_RETURN_IF_ERROR(SkipBraces(&extension));
    (void)Word();
    const std::string_view name = file_.substr(begin, at_ - begin);
    if (name.empty()) {
      return Damaged(fmt::format("\"{}\" where the name of a field is expected",
                                 Printable(file_.substr(at_, 1))));
    }
    const FieldRow* row = FindRow(message_, [&](const FieldRow& r) { return r.name == name; });
    SkipBlanks();
    const bool colon = at_ < end_ && file_[at_] == ':';
    if (colon) ++at_;
    SkipBlanks();
    if (!colon && (at_ == end_ || (file_[at_] != '{' && file_[at_] != '<'))) {
      return Damaged(
          fmt::format("\"{}\" is followed by neither ':' nor a brace", Printable(name, 40)));
    }
    *field = Field();
    field->whole.begin = begin;
    list_kind_ = row != nullptr ? row->kind : 0;
    if (row != nullptr) {
      field->number = row->number;
      field->message = row->message;
    }
    if (at_ < end_ && file_[at_] == '[') {
      if (row == nullptr) {
        PW_RETURN_IF_ERROR(SkipBraces(&extension));
        continue;
      }
      ++at_;
      in_list_ = true;
      list_field_ = *field;
      continue;
    }
    PW_RETURN_IF_ERROR(TextValue(field, row != nullptr));
    if (row != nullptr) return true;
  }
}

bool LooksLikeBinaryGraphDef(std::string_view bytes) {
  // node { name: ... op: ... }, in the order of the field numbers as every writer has it.
  std::string_view rest = bytes;
  int64_t length = 0, name = 0;
  if (!rest.starts_with('\x0a')) return false;
  rest.remove_prefix(1);
  if (!NextPacked(&rest, &length) || !rest.starts_with('\x0a')) return false;
  rest.remove_prefix(1);
  if (!NextPacked(&rest, &name) || name < 0 || static_cast<size_t>(name) >= rest.size()) {
    return false;
  }
  return rest[static_cast<size_t>(name)] == '\x12';
}

bool LooksLikeTextGraphDef(std::string_view bytes) {
  for (;;) {
    const size_t first = bytes.find_first_not_of(" \t\r\n");
    if (first == std::string_view::npos) return false;
    bytes.remove_prefix(first);
    if (bytes[0] != '#') break;
    bytes.remove_prefix(std::min(bytes.find('\n'), bytes.size()));
  }
  for (const std::string_view name : {"node", "versions", "library", "version"}) {
    if (!bytes.starts_with(name)) continue;
    const size_t next = bytes.find_first_not_of(" \t\r\n", name.size());
    if (next == std::string_view::npos) return false;
    if (bytes[next] == '{' || bytes[next] == ':' || bytes[next] == '<') return true;
  }
  return false;
}

}  // namespace placewright::graphdef
