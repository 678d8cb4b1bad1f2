// YAML as a plain tree with the place of every node. One document; duplicate keys, keys that are
// not text, deep nesting and aliases that expand without measure are errors with line and column.
// JSON is read as the part of YAML that it is.
#ifndef PLACEWRIGHT_FORMATS_TEXT_YAML_H_
#define PLACEWRIGHT_FORMATS_TEXT_YAML_H_

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace placewright {

class YamlNode {
 public:
  enum class Type : uint8_t { kNull, kScalar, kList, kMap };

  struct Key {
    std::string text;
    int32_t line = 1, column = 1;
  };

  Type type = Type::kNull;
  int32_t line = 1, column = 1;  // of the value
  std::string text;              // kScalar: as written, quotes removed
  bool quoted = false;           // kScalar: stood in quotes, so it is text
  std::vector<YamlNode> items;   // kList, or the values of kMap
  std::vector<Key> keys;         // kMap: as many as items

  bool IsScalar() const { return type == Type::kScalar; }
  bool IsList() const { return type == Type::kList; }
  bool IsMap() const { return type == Type::kMap; }
  std::string Place() const;  // "line 3, column 7"
  std::string KeyPlace(size_t i) const;
  std::string_view TypeName() const;  // "a mapping", "a list", "text", "nothing"
  // The value under the key, or nullptr. Null values count as there.
  const YamlNode* Find(std::string_view key) const;

  // kField at this node's place.
  Error Fail(std::string message) const;
  // Fails unless this is a mapping that has no key but these; the message has near keys.
  Status CheckKeys(std::string_view what, std::initializer_list<std::string_view> known) const;
  // Fails unless this is a mapping with all of these keys; the message has every one that is
  // missing.
  struct RequiredKey {
    std::string_view key;
    std::string_view example = {};  // of a value
    std::string_view instead = {};  // a key that says the same
  };
  Status CheckHas(std::initializer_list<RequiredKey> required) const;
  // A mapping's required value.
  Result<const YamlNode*> Get(std::string_view key) const;

  // This node as text, as an integer in [min, max], as true or false. `what` names it.
  Result<std::string> AsText(std::string_view what) const;
  Result<int64_t> AsInt(std::string_view what, int64_t min, int64_t max) const;
  Result<double> AsNumber(std::string_view what) const;
  Result<bool> AsBool(std::string_view what) const;
  Status CheckList(std::string_view what) const;
};

// Limit on the text of one document, after gunzip.
inline constexpr int64_t kMaxYamlBytes = int64_t{4} << 20;

// At most kMaxYamlBytes, 64 levels, and 300,000 nodes once aliases are expanded; no more brackets
// and commas than take 128 MiB in the parser's queue, so that reading stays below 256 MiB. Errors:
// kSyntax, kDuplicateName (a key twice), kFileTooLarge.
Result<YamlNode> ParseYaml(std::string_view text);

}  // namespace placewright

#endif  // PLACEWRIGHT_FORMATS_TEXT_YAML_H_
