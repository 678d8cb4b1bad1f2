#include "cli/request/cluster_description.h"

#include <filesystem>

#include "cluster/machine_presets.h"
#include "formats/cluster/cluster_reader.h"
#include "formats/text/file.h"
#include "formats/text/yaml.h"

namespace placewright {
namespace {

bool IsDescribedPreset(const std::string& name) {
  const std::string_view machines = WithoutCommunicator(name);
  return IsWholeCluster(machines) || FindMachines(machines).count > 0;
}

}  // namespace

Result<ClusterBuilder> DescribeFileOrPreset(const std::string& path_or_preset,
                                            const DeviceKind* gpu) {
  std::error_code ignored;
  const bool file = path_or_preset == "-" || std::filesystem::exists(path_or_preset, ignored);
  if (!file && IsDescribedPreset(path_or_preset)) return DescribePreset(path_or_preset);
  constexpr ReadLimits kLimits{kMaxYamlBytes, kMaxYamlBytes};
  PW_ASSIGN(const std::string text, ReadFile(path_or_preset, kLimits));
  return DescribeCluster(text, gpu).InFile(path_or_preset);
}

}  // namespace placewright
