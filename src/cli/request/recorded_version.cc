#include "cli/request/recorded_version.h"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <set>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "formats/text/file.h"

namespace placewright {

std::string RecordedVersion(const std::string& graph_path) {
  const Result<std::string> text = ReadFile(graph_path);
  if (!text.ok()) return "";
  constexpr std::string_view kField = "\"torch\":";
  const size_t field = text.value().find(kField);
  if (field == std::string::npos) return "";
  const size_t begin = text.value().find('"', field + kField.size());
  const size_t end = begin == std::string::npos ? begin : text.value().find('"', begin + 1);
  // Nothing but blanks before the text: it is that field's.
  const bool own = end != std::string::npos &&
                   text.value().find_first_not_of(" \n\t", field + kField.size()) == begin;
  return own ? Printable(text.value().substr(begin + 1, end - begin - 1), 40) : "";
}

Error WithRecordedVersion(Error error, const std::string& graph_path) {
  if (error.code != ErrorCode::kUnknownName) return error;
  const std::string version = RecordedVersion(graph_path);
  if (!version.empty()) error.message += "; the step was recorded by PyTorch " + version;
  return error;
}

std::string ComposedOps(const Graph& graph, const std::string& libtorch) {
  struct Since {
    std::string_view type;
    int64_t major, minor;  // the first version that has it
  };
  static constexpr std::array kComposed = {
      Since{"aten._safe_softmax.default", 2, 5},
      Since{"aten._scaled_dot_product_flash_attention_for_cpu.default", 2, 2},
      Since{"aten._scaled_dot_product_flash_attention_for_cpu_backward.default", 2, 2}};
  int major = 0, minor = 0;
  if (std::sscanf(libtorch.c_str(), "%d.%d", &major, &minor) != 2) return "";
  std::set<std::string_view> found;
  for (const OpId op : graph.ops()) {
    for (const Since& since : kComposed) {
      const bool older = std::pair<int64_t, int64_t>(major, minor) <
                         std::pair<int64_t, int64_t>(since.major, since.minor);
      if (older && graph.op(op).type == since.type) found.insert(since.type);
    }
  }
  return fmt::format("{}", fmt::join(found, ", "));
}

}  // namespace placewright
