// What a graph holds, in numbers: counts, arithmetic, memory, and the same by module.
#ifndef PLACEWRIGHT_REPORT_GRAPH_SUMMARY_H_
#define PLACEWRIGHT_REPORT_GRAPH_SUMMARY_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/units.h"
#include "graph/analysis/statistics.h"
#include "graph/graph.h"
#include "report/table.h"
#include "sim/one_device.h"

namespace placewright {

// Bytes of storages by kind; a storage counts once however many tensors view it.
struct MemorySummary {
  Bytes parameters, gradients, optimizer_state, buffers, constants, inputs, activations;
  Bytes persistent;      // lives for the whole step, in allocator granules
  Bytes largest_tensor;  // storage
  Bytes largest_group;   // persistent bytes of the colocation group that holds the maximum
};

struct GraphSummary {
  int64_t ops = 0, views = 0, edges = 0, order_edges = 0;
  int64_t parameters = 0;  // elements; 0 for a cost graph, which states bytes only
  int64_t parameter_tensors = 0;
  // Indexed by Phase.
  std::array<int64_t, 3> phase_ops{};
  std::array<int64_t, 3> phase_macs{};
  int64_t colocation_groups = 0;
  MemorySummary memory;
  std::vector<std::string> unknown_types;  // costed by their bytes; sorted, distinct

  int64_t TotalMacs() const;
};

// Complexity: linear in the graph.
GraphSummary Summarise(const Graph& graph);

// One module and everything below it.
struct ModuleRow {
  std::string path;  // "" is the whole graph
  int depth = 0;     // components of the path
  // Every op counts, views too, in the row of its module and in those of all modules around it.
  int64_t ops = 0;
  std::array<int64_t, 3> phase_ops{};  // indexed by Phase
  int64_t views = 0;
  int64_t own_ops = 0;  // in no module of a deeper row
  int64_t macs = 0;
  Bytes parameters;   // of those that belong here (ParameterModules)
  Bytes activations;  // transient storages made here
};

// The module to which what stays for the whole step belongs: a parameter to that in its name, where
// the graph has it, as its update does; all else to that of its home op.
class ParameterModules {
 public:
  explicit ParameterModules(const Graph& graph);
  // Of a storage with a home op.
  ModuleId Of(StorageId storage) const;

 private:
  const Graph& graph_;
  std::unordered_map<std::string_view, ModuleId> by_path_;
};

// The components of a module path: split at '/' where it has one, else at '.'.
std::vector<std::string> ModuleComponents(const std::string& path);

// Modules to `depth` components (1: the top level), parents before children, else in the order in
// which the graph's ops meet them.
std::vector<ModuleRow> SummariseModules(const Graph& graph, int depth);

// `format`: what the file is, with its article ("a cost graph"). `alone`: the step on one device,
// where it could be simulated.
std::string RenderSummary(const Graph& graph, std::string_view format, const GraphSummary& summary,
                          const GraphStatistics& statistics,
                          const std::optional<OneDeviceStep>& alone, const Style& style);
// A module with rows below it gets one more, "(itself)", for what is in none of them, so that rows
// of one depth add up to the row above them.
std::string RenderModules(const std::vector<ModuleRow>& rows, const Style& style);

}  // namespace placewright

#endif  // PLACEWRIGHT_REPORT_GRAPH_SUMMARY_H_
