#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <vector>

#include "base/text.h"
#include "formats/aten/format.h"
#include "formats/costs/format.h"
#include "formats/dnn_partitioning/format.h"
#include "formats/graph_format.h"
#include "formats/graphdef/format.h"
#include "formats/onnx/format.h"
#include "formats/pipedream/format.h"

namespace placewright {
namespace {

// A profile's marks may stand in a GraphDef's names, so that GraphDefs come before profiles.
constexpr const GraphFormat* kFormats[] = {
    &kAtenFormat, &kCostGraphFormat, &kDnnPartitioningFormat,
    &kOnnxFormat, &kGraphDefFormat,  &kPipeDreamFormat,
};

constexpr std::string_view kWhiteSpace = " \t\r\n";
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

// Far more, and longer, keys than any format looks at.
constexpr size_t kMaxKeys = 1000, kMaxKeyLength = 80;

class HeadScanner : public nlohmann::json_sax<Json> {
 public:
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t& text) override {
    if (depth_ != 1 || key_ != "schema") return true;
    head.schema = text;
    return false;
  }
  bool binary(binary_t&) override { return false; }
  bool start_object(size_t) override {
    ++depth_;
    return true;
  }
  bool key(string_t& name) override {
    if (depth_ != 1) return true;
    key_ = name;
    if (name.size() <= kMaxKeyLength && head.keys.size() < kMaxKeys) head.keys.insert(name);
    return true;
  }
  bool end_object() override {
    --depth_;
    return true;
  }
  bool start_array(size_t) override {
    if (depth_ == 1 && Decides(key_)) {
      head.list = key_;
      return false;
    }
    ++depth_;
    return true;
  }
  bool end_array() override {
    --depth_;
    return true;
  }
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception&) override {
    head.broken = true;
    return false;
  }

  JsonHead head;

 private:
  static bool Decides(std::string_view list) {
    return !list.empty() &&
           std::any_of(std::begin(kFormats), std::end(kFormats),
                       [&](const auto* format) { return format->json_list == list; });
  }

  int64_t depth_ = 0;
  std::string key_;
};

JsonHead ScanJson(std::string_view text) {
  HeadScanner scanner;
  try {
    Json::sax_parse(text.begin(), text.end(), &scanner);
  } catch (const std::bad_alloc&) {
    throw;                           // base/out_of_memory.h
  } catch (const std::exception&) {  // numbers out of range
    scanner.head.broken = true;
  }
  return std::move(scanner.head);
}

Error Unknown(std::string message) {
  return MakeError(ErrorCode::kFormatUnknown, std::move(message));
}

const GraphFormat* FirstThat(const GraphHead& head, Match match) {
  for (const GraphFormat* format : kFormats) {
    if (format->recognize(head) == match) return format;
  }
  return nullptr;
}

bool LooksLikeText(std::string_view bytes) {
  const std::string_view head = bytes.substr(0, 512);
  return std::all_of(head.begin(), head.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 32 || kWhiteSpace.find(c) != std::string_view::npos;
  });
}

// JSON that begins otherwise than with a brace, or text.
Error UnknownText(std::string_view bytes) {
  const std::string_view text = bytes.substr(bytes.find_first_not_of(kWhiteSpace));
  if (!Json::accept(bytes)) {
    return Unknown(fmt::format("this is text that begins with \"{}\", not JSON",
                               Printable(text.substr(0, 24))));
  }
  return Unknown(fmt::format("this is JSON, but {} where an object is expected",
                             text[0] == '['   ? "a list"
                             : text[0] == '"' ? "a text"
                                              : "a single value"));
}

Error UnknownJson(const JsonHead& head) {
  std::vector<std::string> known;
  for (const GraphFormat* format : kFormats) {
    if (format->no_graph != nullptr) {
      if (const std::string_view what = format->no_graph(head); !what.empty()) {
        return Unknown(fmt::format("this is {}", what));
      }
    }
    if (format->json_signature.empty()) continue;
    known.push_back(fmt::format("{} ({})", format->name, format->json_signature));
  }
  return Unknown(fmt::format("this is JSON, but neither {}", fmt::join(known, " nor ")));
}

}  // namespace

std::span<const GraphFormat* const> GraphFormats() { return kFormats; }

Result<const GraphFormat*> SniffGraph(std::string_view bytes) {
  if (bytes.starts_with(kByteOrderMark)) bytes.remove_prefix(kByteOrderMark.size());
  const size_t first = bytes.find_first_not_of(kWhiteSpace);
  if (first == std::string_view::npos) return Unknown("the file is empty");
  const bool is_object = bytes[first] == '{';
  const JsonHead json = is_object ? ScanJson(bytes) : JsonHead();
  const GraphHead head{bytes, is_object ? &json : nullptr};
  if (const GraphFormat* format = FirstThat(head, Match::kCertain)) return format;
  if (!json.schema.empty()) {
    return Unknown(
        fmt::format("this is JSON of the schema \"{}\", not a graph", Printable(json.schema, 80)));
  }
  if (json.broken) {
    PW_RETURN_IF_ERROR(ParseJson(bytes));  // for its line and column
  }
  if (!is_object && LooksLikeText(bytes)) return UnknownText(bytes);
  if (const GraphFormat* format = FirstThat(head, Match::kPossible)) return format;
  if (is_object) return UnknownJson(json);
  return Unknown("the first bytes are those of no known format");
}

}  // namespace placewright
