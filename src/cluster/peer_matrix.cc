#include "cluster/peer_matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "cluster/discovery/match_gpu.h"
#include "cluster/link_figures.h"

namespace placewright {
namespace {

Result<std::vector<DeviceId>> GpusOfMatrix(const PeerMatrix& matrix,
                                           const ClusterBuilder& builder) {
  std::vector<DeviceId> gpus;
  std::set<int32_t> hosts;
  for (size_t i = 0; i < builder.devices().size(); ++i) {
    const Device& device = builder.devices()[DeviceId(i)];
    const DeviceKind& kind = builder.kinds()[static_cast<size_t>(device.kind)];
    if (kind.device_class != DeviceClass::kGpu) continue;
    gpus.push_back(DeviceId(i));
    hosts.insert(device.host);
  }
  if (gpus.size() != matrix.gpus) {
    return MakeError(ErrorCode::kField,
                     fmt::format("{} is of {} GPUs, the description has {}", matrix.source,
                                 matrix.gpus, gpus.size()),
                     "", "Give the matrix of the machine that the description is of.");
  }
  if (hosts.size() > 1) {
    return MakeError(
        ErrorCode::kField,
        fmt::format("{} is of one host, the description has {}", matrix.source, hosts.size()), "",
        "Describe one of the hosts, amend it, and state the others beside it.");
  }
  if (builder.HasGivenRoutes()) {
    return MakeError(ErrorCode::kUsage,
                     "the description gives its routes one by one, so that other figures of links "
                     "cannot change them",
                     "", "Amend the description that it was resolved from.");
  }
  return gpus;
}

// Links of the direct way between two GPUs, whatever carries peer to peer.
Result<Cluster> BuildDirectRoutes(ClusterBuilder builder) {
  for (size_t i = 0; i < builder.link_count(); ++i) builder.Amend(LinkId(i), {{}, true, ""});
  return std::move(builder).Build();
}

Status ApplyPeerAccess(const PeerMatrix& matrix, const std::vector<DeviceId>& gpus,
                       ClusterBuilder& builder) {
  PW_ASSIGN(const Cluster direct, BuildDirectRoutes(builder));
  std::set<LinkId> needed;
  std::vector<std::pair<size_t, size_t>> denied;
  for (size_t a = 0; a < matrix.gpus; ++a) {
    for (size_t b = 0; b < matrix.gpus; ++b) {
      const std::optional<bool> access = matrix.cell(a, b).access;
      if (a == b || !access) continue;
      if (!*access) {
        denied.emplace_back(a, b);
        continue;
      }
      const std::vector<LinkId>& links = direct.route(gpus[a], gpus[b]).links;
      needed.insert(links.begin(), links.end());
      // Both directions of a link change together.
      const std::vector<LinkId>& back = direct.route(gpus[b], gpus[a]).links;
      needed.insert(back.begin(), back.end());
    }
  }
  for (const LinkId link : needed) builder.Amend(link, {{}, true, ""});
  std::vector<std::string> kept;
  for (const auto& [a, b] : denied) {
    bool any = false;
    for (const LinkId link : direct.route(gpus[a], gpus[b]).links) {
      if (needed.count(link) > 0) continue;
      builder.Amend(link, {{}, false, ""});
      any = true;
    }
    if (!any && a < b) {
      kept.push_back(fmt::format("{} and {}", Printable(builder.devices()[gpus[a]].name, 80),
                                 Printable(builder.devices()[gpus[b]].name, 80)));
    }
  }
  if (!kept.empty()) {
    builder.AddNote(
        fmt::format("{}: no peer to peer between {}, whose links others use for it: "
                    "their route stays direct",
                    matrix.source, fmt::join(kept, ", ")));
  }
  return Ok();
}

Status ApplyPeerBandwidths(const PeerMatrix& matrix, const std::vector<DeviceId>& gpus,
                           ClusterBuilder& builder) {
  PW_ASSIGN(const Cluster before, ClusterBuilder(builder).Build());
  // A link has one figure for both of its directions where it is described: each direction of a pair
  // counts for the links of both.
  std::map<LinkId, int64_t> most;
  for (size_t a = 0; a < matrix.gpus; ++a) {
    for (size_t b = 0; b < matrix.gpus; ++b) {
      const int64_t measured = a == b ? 0 : matrix.cell(a, b).bandwidth.count;
      if (measured < 1) continue;
      for (const auto& [from, to] : {std::pair(a, b), std::pair(b, a)}) {
        for (const LinkId link : before.route(gpus[from], gpus[to]).links) {
          most[link] = std::max(most[link], measured);
        }
      }
    }
  }
  for (const auto& [link, bandwidth] : most) {
    builder.Amend(link, {BytesPerSecond(bandwidth), {}, matrix.source});
  }
  PW_ASSIGN(const Cluster after, ClusterBuilder(builder).Build());
  size_t slower = 0;
  for (size_t a = 0; a < matrix.gpus; ++a) {
    for (size_t b = 0; b < matrix.gpus; ++b) {
      const int64_t measured = a == b ? 0 : matrix.cell(a, b).bandwidth.count;
      if (measured < 1) continue;
      if (after.route(gpus[a], gpus[b]).bandwidth.count > measured + measured / 10) ++slower;
    }
  }
  if (slower > 0) {
    builder.AddNote(
        fmt::format("{}: {} ordered pairs are measured more than a tenth slower than "
                    "each of their links is for some other pair",
                    matrix.source, slower));
  }
  return Ok();
}

}  // namespace

Status ApplyPeerMatrix(const PeerMatrix& matrix, ClusterBuilder& builder) {
  PW_ASSIGN(const std::vector<DeviceId> gpus, GpusOfMatrix(matrix, builder));
  PW_RETURN_IF_ERROR(ApplyPeerAccess(matrix, gpus, builder));
  return ApplyPeerBandwidths(matrix, gpus, builder);
}

Result<ClusterBuilder> DescribePeers(const PeerMatrix& matrix) {
  if (matrix.names.size() != matrix.gpus || matrix.gpus < 2) {
    return MakeError(ErrorCode::kField,
                     "the matrix does not say what its GPUs are, or there is one alone", "",
                     "Amend a description of the machine with it: `placewright cluster amend "
                     "CLUSTER --pairs FILE`.");
  }
  ClusterBuilder builder("p2p");
  PW_RETURN_IF_ERROR(builder.AddForwarder("host0/pcie0", /*host_memory=*/true));
  const auto name = [](size_t gpu) { return fmt::format("host0/gpu{}", gpu); };
  std::vector<int64_t> minimum(matrix.gpus, kMaxQuantity);  // of a pair, by GPU
  for (size_t g = 0; g < matrix.gpus; ++g) {
    PW_ASSIGN(const GpuMatch match, MatchGpu(matrix.names[g], Bytes()));
    if (!match.exact) {
      builder.AddNote(fmt::format("\"{}\" is not in the catalogue: {} is used for it",
                                  Printable(matrix.names[g], 80), match.kind.name));
    }
    int32_t kind = builder.FindKindIndex(match.kind.name);
    if (kind < 0) {
      PW_ASSIGN(kind, builder.AddKind(match.kind));
    }
    PW_RETURN_IF_ERROR(builder.AddDevice({name(g), kind, 0, match.kind.memory, Bytes()}));
    for (size_t other = 0; other < matrix.gpus; ++other) {
      const int64_t measured = other == g ? 0
                                          : std::min(matrix.cell(g, other).bandwidth.count,
                                                     matrix.cell(other, g).bandwidth.count);
      if (other != g && measured < 1) {
        return MakeError(ErrorCode::kField,
                         fmt::format("the matrix has no bandwidth between GPU {} and {}", g, other),
                         "",
                         "Amend a description of the machine with it: `placewright cluster amend "
                         "CLUSTER --pairs FILE`.");
      }
      if (other != g) minimum[g] = std::min(minimum[g], measured);
    }
    PW_RETURN_IF_ERROR(builder.Connect(name(g), "host0/pcie0", BytesPerSecond(minimum[g]),
                                       PcieFigure(3).latency, Duplex::kFull, matrix.source));
  }
  for (size_t a = 0; a < matrix.gpus; ++a) {
    for (size_t b = a + 1; b < matrix.gpus; ++b) {
      const int64_t pair =
          std::max(matrix.cell(a, b).bandwidth.count, matrix.cell(b, a).bandwidth.count);
      if (pair <= std::max(minimum[a], minimum[b]) / 2 * 3) continue;
      PW_RETURN_IF_ERROR(builder.Connect(name(a), name(b), BytesPerSecond(pair), kNvlinkLatency,
                                         Duplex::kFull, matrix.source));
    }
  }
  PW_RETURN_IF_ERROR(ApplyPeerMatrix(matrix, builder));
  builder.AddNote(
      "described by a matrix of pairs alone: CPUs, switches and what pairs share are not in it");
  return builder;
}

}  // namespace placewright
