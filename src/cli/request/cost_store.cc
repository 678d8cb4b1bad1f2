#include "cli/request/cost_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "base/text.h"

namespace placewright {
namespace {

std::string FromEnvironment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

std::string DefaultCostStore() {
  if (std::string named = FromEnvironment("PLACEWRIGHT_COST_STORE"); !named.empty()) return named;
  std::string folder = FromEnvironment("XDG_DATA_HOME");
  if (folder.empty()) {
    const std::string home = FromEnvironment("HOME");
    if (home.empty()) return "";
    folder = home + "/.local/share";
  }
  return folder + "/placewright/costs.sqlite";
}

std::string CostStorePath(const InputOptions& options) {
  if (options.no_store) return "";
  if (!options.cost_store.empty()) return options.cost_store;
  const std::string path = DefaultCostStore();
  std::error_code failed;
  return !path.empty() && std::filesystem::exists(path, failed) ? path : "";
}

std::string Describe(const MeasuredOn& on) {
  const std::string blas = std::filesystem::path(on.blas).filename().string();

  return fmt::format("{}, {}{}{}{}", Printable(on.kind), on.imported() ? "" : "LibTorch ",
                     Printable(on.libtorch), blas.empty() ? "" : ", " + Printable(blas),
                     on.loaded ? ", others at work" : "");
}

std::string DescribeMeasured(const MeasuredUse& use, size_t links, const std::string& path) {
  constexpr size_t kNamed = 3;
  if (use.environments.empty() && links == 0) return "";
  std::string text = use.environments.empty() ? "times" : "times measured on ";
  for (size_t i = 0; i < use.environments.size(); ++i) {
    text += fmt::format("{}{} ({} signatures)", i > 0 ? "; " : "", Describe(use.environments[i].on),
                        use.environments[i].rows);
  }
  if (links > 0) {
    text += fmt::format("{} of {} link{}", use.environments.empty() ? "" : ", and", links,
                        links > 1 ? "s" : "");
  }
  text += fmt::format(" come from {} (--no-store leaves them out)", Printable(path, 400));
  if (use.missing.empty()) return text;
  std::vector<std::string> first(
      use.missing.begin(),
      use.missing.begin() + static_cast<int64_t>(std::min(kNamed, use.missing.size())));
  text += fmt::format("; not measured, modelled instead: {}", fmt::join(first, ", "));
  if (use.missing.size() > kNamed) {
    text += fmt::format(" and {} types more", use.missing.size() - kNamed);
  }
  return text;
}

std::string DescribePlanLinks(size_t links) {
  if (links == 0) return "";
  return fmt::format(
      "{} link{} the plan's latency and bandwidth, measured before it was made, not the cluster's",
      links, links > 1 ? "s have" : " has");
}

}  // namespace placewright
