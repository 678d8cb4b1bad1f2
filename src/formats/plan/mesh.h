// Meshes of devices, as layout files state them (docs/formats/layouts.md): "batch over hosts, heads over the gpus of a
// host" is a box of both axes for each device.
#ifndef PLACEWRIGHT_FORMATS_PLAN_MESH_H_
#define PLACEWRIGHT_FORMATS_PLAN_MESH_H_

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cluster/cluster.h"
#include "plan/layout_spec.h"
#include "sharding/named_axes.h"

namespace placewright {

// The axis with that name. Errors: kField, or kBatchScaling (the batch of a step that nothing proves to follow it).
Result<AxisId> AxisCalled(const NamedAxes& axes, const std::string& name, const std::string& place);

// The devices whose names a glob matches, in their order; one by its name without a look at all the others.
std::vector<DeviceId> DevicesCalled(const Cluster& cluster, std::string_view glob);

// With every device by its name and its box stated, where the spec has a mesh; others stay. `place`: "layouts[0]".
// Errors: kField, kBatchScaling (an axis that there is not or that does not divide, a mesh with more or fewer places
// than there are devices, hosts with unequal numbers of them, an axis or boxes beside the mesh).
Result<LayoutSpec> WithoutMesh(const NamedAxes& axes, const Cluster& cluster, LayoutSpec spec,
                               const std::string& place);

}  // namespace placewright

#endif  // PLACEWRIGHT_FORMATS_PLAN_MESH_H_
