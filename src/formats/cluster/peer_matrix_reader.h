// What CUDA's p2pBandwidthLatencyTest and `nvidia-smi topo -p2p` print.
#ifndef PLACEWRIGHT_FORMATS_CLUSTER_PEER_MATRIX_READER_H_
#define PLACEWRIGHT_FORMATS_CLUSTER_PEER_MATRIX_READER_H_

#include <string_view>

#include "cluster/peer_matrix.h"

namespace placewright {

// Whether text is one of the two, by its words.
bool LooksLikePeerMatrix(std::string_view text);

// p2pBandwidthLatencyTest: names, connectivity, and of the unidirectional bandwidths those with peer
// to peer where a pair has it, else those without. nvidia-smi (`topo -p2p r` or `w`): OK is access, CNS,
// GNS, TNS, NS, DR and U are none. At most 128 GPUs, 1 MiB. Errors: kField and kSyntax with the line,
// kFileTooLarge.
Result<PeerMatrix> ParsePeerMatrix(std::string_view text);

}  // namespace placewright

#endif  // PLACEWRIGHT_FORMATS_CLUSTER_PEER_MATRIX_READER_H_
