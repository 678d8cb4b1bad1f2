// The topology that NCCL and RCCL write (NCCL_TOPO_DUMP_FILE=topo.xml), as a cluster.
//
//   <system> <cpu numaid arch vendor familyid> <pci busid class device link_speed link_width>
//     <gpu dev sm> <nvlink target count tclass/> </gpu>   <nic> <net speed gdr/> </nic>
//
// A <cpu>, which is a NUMA node, is a root complex with memory (hostN/pcieK), those of a host are joined
// pairwise; a <pci> with others below it is a switch (hostN/switchK); GPUs, NVLink (RCCL: xGMI) between
// them or to an NVSwitch, and NICs follow. Hosts are distinguished by host_hash. CPUs are no devices: the
// file does not say what memory they have.
#ifndef PLACEWRIGHT_FORMATS_CLUSTER_NCCL_TOPOLOGY_H_
#define PLACEWRIGHT_FORMATS_CLUSTER_NCCL_TOPOLOGY_H_

#include <string_view>

#include "cluster/cluster_builder.h"

namespace placewright {

// Whether text is XML at all.
bool LooksLikeXml(std::string_view text);

// `gpu`: what every GPU is; nullptr: by PCI vendor and device. Errors: kSyntax, kField with the line
// (another root than <system>, no GPUs, a target or a number that is none), kUnknownName (a PCI device
// that is no kind of the catalogue), those of the builder.
Result<ClusterBuilder> DescribeNcclTopology(std::string_view text, const DeviceKind* gpu);

}  // namespace placewright

#endif  // PLACEWRIGHT_FORMATS_CLUSTER_NCCL_TOPOLOGY_H_
