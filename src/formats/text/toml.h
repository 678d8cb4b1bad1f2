// The TOML that configurations are written in, as a tree of YAML's nodes: tables, dotted table names, strings, numbers,
// true and false, lists, inline tables, comments. Not read: lists of tables, strings of several lines, dates.
#ifndef PLACEWRIGHT_FORMATS_TEXT_TOML_H_
#define PLACEWRIGHT_FORMATS_TEXT_TOML_H_

#include <string_view>

#include "base/result.h"
#include "formats/text/yaml.h"

namespace placewright {

// Errors carry "line L, column C": kSyntax, kDuplicateName (a key or a table twice), kFileTooLarge (kMaxYamlBytes).
Result<YamlNode> ParseToml(std::string_view text);

}  // namespace placewright

#endif  // PLACEWRIGHT_FORMATS_TEXT_TOML_H_
