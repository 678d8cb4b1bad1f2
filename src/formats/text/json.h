// JSON with strict reading: duplicate keys, trailing text, bad UTF-8, deep nesting and more values
// than fit into a bounded memory are errors with line and column. Accessors turn a wrong type into
// a named error with its place.
#ifndef PLACEWRIGHT_FORMATS_TEXT_JSON_H_
#define PLACEWRIGHT_FORMATS_TEXT_JSON_H_

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace placewright {

using Json = nlohmann::ordered_json;

// Bytes that the values may take in memory, as estimated from above: 48 for a value, and the text
// of strings and keys with 32 and 80 more.
struct JsonLimits {
  int64_t document = int64_t{512} << 20;  // what is kept: 11 million numbers
  int64_t element = int64_t{64} << 20;    // each element of a streamed list
  int64_t streamed = int64_t{1} << 30;    // all of them together
};

// Errors: kSyntax, kDuplicateName for a repeated key, kFileTooLarge; the place is "line L, column
// C". At most 200 levels.
Result<Json> ParseJson(std::string_view text, const JsonLimits& limits = {});

// Readable text of a document: every member on a line of its own, and every element of a long or
// nested member too. Equal documents give equal text.
std::string FormatDocument(const Json& document);

// Like ParseJson for a document that is one object, but hands each element of its top-level lists
// named in `keys` to `each`, as soon as it is read, instead of keeping it: memory stays that of one
// element. Those lists are empty in the result. The first error of `each` ends the reading.
using ElementFn = std::function<Status(std::string_view key, size_t index, Json& element)>;
Result<Json> ParseJsonStreaming(std::string_view text, std::vector<std::string> keys,
                                const ElementFn& each, const JsonLimits& limits = {});

// A member of an object, checked. `place` is the path of the object, e.g. "ops[3]"; errors: kField
// with place "ops[3].name".
Result<const Json*> GetField(const Json& object, std::string_view key, std::string_view place);
Result<std::string> GetString(const Json& object, std::string_view key, std::string_view place);
// An integer (no fraction, no exponent form beyond int64) within [min, max].
Result<int64_t> GetInt(const Json& object, std::string_view key, std::string_view place,
                       int64_t min, int64_t max);
Result<double> GetNumber(const Json& object, std::string_view key, std::string_view place);
// An integer in [0, kMaxQuantity].
Result<Nanos> GetNanos(const Json& object, std::string_view key, std::string_view place);
Result<Bytes> GetBytes(const Json& object, std::string_view key, std::string_view place);
Result<bool> GetBool(const Json& object, std::string_view key, std::string_view place);
Result<const Json*> GetArray(const Json& object, std::string_view key, std::string_view place);
// A list of integers within [min, max].
Result<std::vector<int64_t>> GetInts(const Json& object, std::string_view key,
                                     std::string_view place, int64_t min, int64_t max);
Result<const Json*> GetObject(const Json& object, std::string_view key, std::string_view place);
// Checks that one value is an integer in [min, max]; `place` is the value's own place.
Result<int64_t> AsInt(const Json& value, std::string_view place, int64_t min, int64_t max);
Result<std::string> AsString(const Json& value, std::string_view place);

}  // namespace placewright

#endif  // PLACEWRIGHT_FORMATS_TEXT_JSON_H_
