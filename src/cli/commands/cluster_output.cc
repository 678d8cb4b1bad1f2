#include "cli/commands/cluster_output.h"

#include <fmt/format.h>

#include "base/text.h"
#include "formats/cluster/cluster_reader.h"
#include "formats/cluster/cluster_writer.h"
#include "formats/cluster/peer_matrix_reader.h"
#include "formats/text/file.h"

namespace placewright {

Status PutCluster(const ClusterBuilder& builder, const std::vector<std::string>& notes,
                  const std::string& path, Console& console) {
  const std::string text = ClusterToYaml(builder, notes);
  PW_ASSIGN(Cluster cluster, ParseCluster(text));
  PW_RETURN_IF_ERROR(ApplyMemoryReserve(std::nullopt, &cluster));
  if (!path.empty()) PW_RETURN_IF_ERROR(WriteFileAtomically(path, text));
  if (console.json) {
    console.PrintJson(ClusterToJson(cluster));
  } else if (path.empty()) {
    console.Print(text);
  } else {
    console.Note(fmt::format("{}: {}", Printable(path),
                             CountOf(static_cast<int64_t>(cluster.device_count()), "device")));
  }
  return Ok();
}

Result<PeerMatrix> ReadPeerMatrix(const std::string& path) {
  constexpr ReadLimits kLimits{int64_t{1} << 20, int64_t{1} << 20, 200, int64_t{1} << 20};
  PW_ASSIGN(const std::string text, ReadFile(path, kLimits));
  return ParsePeerMatrix(text).InFile(path);
}

}  // namespace placewright
