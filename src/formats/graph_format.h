// A format of graph files as one row of a table: how it is recognised and how it is read. A new
// format is a folder with such a row and a line in the table of graph_formats.cc.
#ifndef PLACEWRIGHT_FORMATS_GRAPH_FORMAT_H_
#define PLACEWRIGHT_FORMATS_GRAPH_FORMAT_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "formats/input.h"
#include "formats/text/json.h"

namespace placewright {

// The outermost keys of a JSON object. Reading stops at the first that decides: a text "schema", or
// a list that some format names (GraphFormat::json_list).
struct JsonHead {
  std::string schema, list;                 // the one that decided, or ""
  std::set<std::string, std::less<>> keys;  // those before it, bounded in number and length
  bool broken = false;                      // no JSON from some place on

  bool Has(std::string_view key) const { return keys.contains(key); }
};

// What a format is recognised by.
struct GraphHead {
  std::string_view bytes;          // expanded, without a byte order mark
  const JsonHead* json = nullptr;  // where the first character is a brace
};

enum class Match : uint8_t {
  kNone,
  kPossible,  // counts where nothing else is seen: another schema, broken JSON, plain text
  kCertain
};

inline constexpr std::string_view kPlacementRemedy = "Give a plan or a JSON map from op to device.";

// The content of a placement file.
struct PlacementSource {
  std::string_view text;
  const Json* document = nullptr;  // where it is JSON
};

struct GraphFormat {
  std::string_view name;            // with its article: "a cost graph"
  std::string_view extension;       // of files that are called by their format: ".json"
  std::string_view json_list;       // an outermost list of JSON that no other format has
  std::string_view json_signature;  // of JSON: the keys that it has, for messages
  bool takes_batch = false;         // GraphInputOptions::batch
  bool takes_dimensions = false;    // GraphInputOptions::dimensions

  // The first certain row of the table counts, else the first possible one.
  Match (*recognize)(const GraphHead& head);
  // `loaded` has path, hash and format; the rest is to be filled. Errors need not name the file.
  Status (*read)(std::string_view bytes, const GraphInputOptions& options, LoadedGraph* loaded);

  // What a file of JSON is that belongs to the format, but holds no graph; "" for others.
  std::string_view (*no_graph)(const JsonHead& head) = nullptr;
  // The placement of a file of the format's own; nothing where it is not of that form.
  std::optional<Result<NamedPlacement>> (*placement)(const PlacementSource& source,
                                                     const LoadedGraph& graph,
                                                     const Cluster& cluster) = nullptr;
};

// The table.
std::span<const GraphFormat* const> GraphFormats();

}  // namespace placewright

#endif  // PLACEWRIGHT_FORMATS_GRAPH_FORMAT_H_
