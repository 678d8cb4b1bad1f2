#include "cli/shell/known_words.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "base/result.h"
#include "base/words.h"
#include "cli/request/learned_planners.h"
#include "cluster/catalogue.h"
#include "formats/export_formats.h"
#include "planning/algorithms.h"

namespace placewright {
namespace {

// The models of the zoo and their presets, written down here so that a shell that starts need not
// open LibTorch; tests/cli/capture_test.cc holds them to the zoo.
std::vector<std::string> ModelNames() {
  constexpr std::pair<std::string_view, std::string_view> kModels[] = {
      {"amoebanet-d", "gdp"},
      {"bert-base", "mars eagle"},
      {"bert-large", "tag tag-table3-guess"},
      {"bert-small", "tag tag-table3-guess"},
      {"dit-xl-2", ""},
      {"gnmt-2", "gdp nvidia"},
      {"gnmt-4", "gdp nvidia mars mars-wide eagle"},
      {"gnmt-8", "gdp nvidia"},
      {"gpt-2", ""},
      {"inception-v3", "mars eagle gdp tag tag-table3-guess"},
      {"llama-3-70b", ""},
      {"llama-3-8b", ""},
      {"mixtral-8x7b", ""},
      {"mlp", ""},
      {"moe-transformer", "switch"},
      {"qwen3-0.6b", ""},
      {"qwen3-8b", ""},
      {"resnet-101", "tag"},
      {"resnet-50", ""},
      {"rnnlm-2", "gdp zaremba-medium pytorch"},
      {"rnnlm-4", "gdp"},
      {"rnnlm-8", "gdp"},
      {"seq2seq", "mars"},
      {"transformer", "paper tag tag-table3-guess mars"},
      {"transformer-xl-12", "enwik8"},
      {"transformer-xl-2", "gdp"},
      {"transformer-xl-4", "gdp"},
      {"transformer-xl-8", "gdp"},
      {"vgg-16", "mars"},
      {"vgg-19", "tag"},
      {"vit-b-16", ""},
      {"vit-l-16", ""},
      {"wavenet-2x18", "gdp"},
      {"wavenet-4x36", "gdp"},
  };
  std::vector<std::string> names;
  for (const auto& [model, own] : kModels) {
    names.emplace_back(model);
    for (const auto word : WordsOf(own)) names.push_back(fmt::format("{}@{}", model, word));
  }
  return names;
}

}  // namespace

KnownWords WordsOfTheProgram() {
  const std::vector<std::string> models = ModelNames();
  std::vector<std::string> algorithms, presets, formats, codes;
  const Algorithms planners({}, LearnedPlanners());
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
      {"GRAPH", models},
      {"simulate FILE", models},
      {"compare FILE", models},
      {"capture MODEL", models},
      {"zoo MODEL", models},
      {"SHELL", {"bash", "zsh", "fish"}},
      {"--target", {"fits"}},
      {"--order", {"program", "fifo", "critical-path"}},
      {"inspect --order",
       {"topo", "reversed-topo", "dfs-preorder", "dfs-postorder", "bfs", "lexico"}},
      {"--groups", {"acyclic", "metis", "scotch", "tag"}},
      {"--cost-profile", {"default", "tf1"}},
      {"--train", {"adam", "sgd", "none"}},
      {"--loss", {"cross-entropy", "mean-squared", "mean", "output"}},
      {"--objective", {"step-time", "throughput", "latency"}},
      {"--sim", {"placewright", "placeto"}},
  };
}

}  // namespace placewright
