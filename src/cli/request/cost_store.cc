#include "cli/request/cost_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "base/text.h"
#include "formats/cost_store/cost_store.h"

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

Result<std::vector<MeasuredCollectives>> ReadMeasuredCollectives(const std::string& path) {
  PW_ASSIGN(const CostStore store, CostStore::Open(path, /*create=*/false));
  PW_ASSIGN(std::vector<MeasuredCollectives> measured, store.ReadCollectives("nccl"));
  PW_ASSIGN(std::vector<MeasuredCollectives> gloo, store.ReadCollectives("gloo"));
  measured.insert(measured.end(), gloo.begin(), gloo.end());
  return measured;
}

Result<std::vector<MeasuredDevice>> ReadMeasured(const std::string& path, const Cluster& cluster,
                                                 std::optional<bool> loaded) {
  std::vector<MeasuredDevice> chosen;
  PW_ASSIGN(const CostStore store, CostStore::Open(path, /*create=*/false));
  size_t measured = 0;  // devices of the cluster
  std::vector<std::vector<MeasuredDevice>> by_kind;
  for (const DeviceKind& kind : cluster.kinds()) {
    PW_ASSIGN(std::vector<MeasuredDevice> devices, store.Read(kind.name, kind.cores));
    if (devices.empty()) continue;
    for (const DeviceId device : cluster.devices()) {
      measured += cluster.kind(device).name == kind.name ? 1 : 0;
    }
    by_kind.push_back(std::move(devices));
  }
  const bool wanted = loaded.value_or(measured > 1);
  for (std::vector<MeasuredDevice>& all : by_kind) {
    // What was measured here goes before what came from elsewhere.
    std::vector<MeasuredDevice> devices, imported;
    for (MeasuredDevice& device : all) {
      (device.on.imported() ? imported : devices).push_back(std::move(device));
    }
    const auto add_imported = [&] {
      for (MeasuredDevice& device : imported) chosen.push_back(std::move(device));
    };
    if (devices.empty()) {
      add_imported();
      continue;
    }
    auto found = std::find_if(devices.begin(), devices.end(), [&](const MeasuredDevice& device) {
      return device.on.loaded == wanted;
    });
    if (found == devices.end()) found = devices.begin();
    // What was measured in the other state alone comes from there.
    std::rotate(devices.begin(), found, found + 1);
    for (MeasuredDevice& device : devices) chosen.push_back(std::move(device));
    add_imported();
  }
  return chosen;
}

Result<std::vector<LinkId>> UseMeasuredLinks(const std::string& path, Cluster& cluster) {
  PW_ASSIGN(const CostStore store, CostStore::Open(path, /*create=*/false));
  std::vector<MeasuredTransfers> all;
  for (const DeviceKind& kind : cluster.kinds()) {
    PW_ASSIGN(std::vector<MeasuredTransfers> of_kind, store.ReadTransfers(kind.name, kind.cores));
    for (MeasuredTransfers& pair : of_kind) all.push_back(std::move(pair));
  }
  std::vector<LinkId> links = SetMeasuredLinks(all, cluster);
  PW_ASSIGN(const std::vector<MeasuredCollectives> measured, ReadMeasuredCollectives(path));
  const std::vector<LinkId> network = SetMeasuredNetwork(measured, cluster);
  links.insert(links.end(), network.begin(), network.end());
  std::sort(links.begin(), links.end());
  return links;
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
