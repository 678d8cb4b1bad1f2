// What was found out between pairs of GPUs of one host: whether they reach each other's memory (peer to
// peer), and how fast a lone copy is. From NVML, `nvidia-smi topo -p2p`, CUDA's
// p2pBandwidthLatencyTest.
#ifndef PLACEWRIGHT_CLUSTER_PEER_MATRIX_H_
#define PLACEWRIGHT_CLUSTER_PEER_MATRIX_H_

#include <optional>
#include <string>
#include <vector>

#include "cluster/cluster_builder.h"

namespace placewright {

struct PeerCell {
  std::optional<bool> access;  // the row's GPU reaches the column's memory
  BytesPerSecond bandwidth;    // of a lone copy from the row's to the column's; 0: not measured
};

struct PeerMatrix {
  size_t gpus = 0;
  std::vector<PeerCell> cells;     // gpus^2, by rows
  std::vector<std::string> names;  // as the driver calls the GPUs; empty: not said
  std::string source;              // "p2pBandwidthLatencyTest"

  PeerCell& cell(size_t row, size_t column) { return cells[row * gpus + column]; }
  const PeerCell& cell(size_t row, size_t column) const { return cells[row * gpus + column]; }
};

// Makes a description agree with the matrix, whose GPUs are the description's, in order.
//
// Access: every link on the direct way of a pair with access carries peer to peer; on that of a pair
// without, none does that no pair with access needs. A pair without access all of whose links others
// need is named in a note of the builder and keeps its direct route.
//
// Bandwidth: a link gets the largest that was measured of a pair whose route takes it, since a lone
// copy cannot be faster than any of its links; links that no measured pair takes stay. Pairs whose
// route is then more than a tenth faster than measured are counted in a note.
//
// Errors: kField (another number of GPUs, GPUs on several hosts), kUsage (a description that gives
// routes), those of Build.
Status ApplyPeerMatrix(const PeerMatrix& matrix, ClusterBuilder& builder);

// A cluster of the matrix alone: one host without CPUs, its GPUs on one root complex, and links of
// their own for pairs more than half as fast again as the slowest pair of either of them. Errors: kField
// (GPUs without names, no bandwidths), kUnknownName (a name that is no kind of the catalogue).
Result<ClusterBuilder> DescribePeers(const PeerMatrix& matrix);

}  // namespace placewright

#endif  // PLACEWRIGHT_CLUSTER_PEER_MATRIX_H_
