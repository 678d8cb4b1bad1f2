#include "cli/shell/known_words.h"

#include "base/result.h"
#include "cli/request/export_formats.h"
#include "cli/request/planners.h"
#include "cluster/catalogue.h"

namespace placewright {

KnownWords WordsOfTheProgram() {
  std::vector<std::string> algorithms, presets, formats, codes;
  const PlannerTable planners;
  for (const Planner* planner : planners.all()) algorithms.emplace_back(planner->name());
  for (const Preset& preset : Presets()) presets.emplace_back(preset.name);
  for (const ExportFormat& format : ExportFormats()) formats.emplace_back(format.name);
  for (const ErrorInfo& info : AllErrors()) codes.emplace_back(info.name);
  return {
      {"--algo", algorithms},
      {"--cluster", presets},
      {"CLUSTER", presets},
      {"--to", formats},
      {"CODE", codes},
      {"SHELL", {"bash", "zsh", "fish"}},
      {"--order", {"fifo", "critical-path"}},
      {"inspect --order",
       {"topo", "reversed-topo", "dfs-preorder", "dfs-postorder", "bfs", "lexico"}},
      {"--groups", {"acyclic", "metis", "scotch"}},
      {"--cost-profile", {"default", "tf1"}},
      {"--train", {"adam", "sgd", "none"}},
      {"--loss", {"cross-entropy", "mean-squared", "mean", "output"}},
      {"--objective", {"step-time", "throughput", "latency"}},
      {"--sim", {"placewright", "placeto"}},
      {"bench simulator --placement", {"contiguous", "random"}},
  };
}

}  // namespace placewright
