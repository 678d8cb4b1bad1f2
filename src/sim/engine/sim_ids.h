// Indices into a SimGraph: each its own type, so that no table is read by the wrong one.
#ifndef PLACEWRIGHT_SIM_ENGINE_SIM_IDS_H_
#define PLACEWRIGHT_SIM_ENGINE_SIM_IDS_H_

#include "base/ids.h"

namespace placewright {

using ExecOpId = Id<struct ExecOpTag>;    // an op that is executed: no view
using SliceId = Id<struct SliceTag>;      // a tensor slice: storage, version, byte range
using VersionId = Id<struct VersionTag>;  // a version of a storage, numbered over all storages
using RouteId = Id<struct RouteTag>;      // an ordered pair of devices: from * devices + to

}  // namespace placewright

#endif  // PLACEWRIGHT_SIM_ENGINE_SIM_IDS_H_
