// Reads the module table of docs/architecture.md and holds #include lines to it.
#ifndef PLACEWRIGHT_TESTS_LAYERS_LAYERS_H_
#define PLACEWRIGHT_TESTS_LAYERS_LAYERS_H_

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace placewright {

std::string ReadAll(const std::filesystem::path& path);

struct TableRow {
  bool torch = false;         // starred: may include LibTorch
  std::set<std::string> may;  // modules it may include, itself and transitive ones among them
};
using LayerTable = std::map<std::string, TableRow>;

// The rows "| `name` | ... | may use |" of a Markdown text. "all": every module without a star.
LayerTable ParseLayerTable(std::string_view markdown);

// What the #include lines of one source of `module` do that the table forbids, one line each:
// "sim/simulator.cc:12: sim may not include search".
std::vector<std::string> LayerViolations(const LayerTable& table, const std::string& module,
                                         std::string_view file_name, std::string_view source);

}  // namespace placewright

#endif  // PLACEWRIGHT_TESTS_LAYERS_LAYERS_H_
