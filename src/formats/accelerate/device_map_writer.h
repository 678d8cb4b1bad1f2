// A plan as a `device_map` of Hugging Face Accelerate: {module path: GPU number or "cpu"}.
// docs/formats/accelerate.md has the rules and their sources.
#ifndef PLACEWRIGHT_FORMATS_ACCELERATE_DEVICE_MAP_WRITER_H_
#define PLACEWRIGHT_FORMATS_ACCELERATE_DEVICE_MAP_WRITER_H_

#include <string>
#include <vector>

#include "base/result.h"
#include "formats/plan/plan_files.h"

namespace placewright {

// The smallest map without an entry below another: every module whose whole sub-tree lies on one
// device is one entry, parameters beside modules on other devices have entries of their own.
// Errors: kNotExpressible naming the module, parameter or devices, and, where one would help, the
// --colocate-each or --colocate: a graph that is not recorded from PyTorch; devices on several
// hosts, or neither CPU nor GPU; a module whose own parameters lie on two devices, or that reads
// them where they do not lie; tied weights on two devices; an op between modules that reads tensors
// of two devices, of which Accelerate moves neither (execution.h).
// Notes: where dispatch_model needs a `main_device`, and how many ops run elsewhere than planned.
// A wrapper `m` around the model is left out where the graph's file states it, or, with a note,
// where it states nothing and every parameter and buffer begins with "m.".
Result<std::string> WriteDeviceMap(const PlanInputs& plan, const Placement& placement,
                                   std::vector<std::string>* notes);

}  // namespace placewright

#endif  // PLACEWRIGHT_FORMATS_ACCELERATE_DEVICE_MAP_WRITER_H_
