// Kinds of the catalogue by the numbers that a GPU has on the PCI bus.
#ifndef PLACEWRIGHT_FORMATS_CLUSTER_PCI_KINDS_H_
#define PLACEWRIGHT_FORMATS_CLUSTER_PCI_KINDS_H_

#include <cstdint>

#include "cluster/cluster.h"

namespace placewright {

// By the PCI ID Repository (pci-ids.ucw.cz). nullptr: not in the list.
const DeviceKind* FindPciKind(int32_t vendor, int32_t device);

}  // namespace placewright

#endif  // PLACEWRIGHT_FORMATS_CLUSTER_PCI_KINDS_H_
