// The operators that Instrument puts into the functions of script modules.
#ifndef PLACEWRIGHT_CAPTURE_SCRIPT_SCRIPT_OPS_H_
#define PLACEWRIGHT_CAPTURE_SCRIPT_SCRIPT_OPS_H_

namespace placewright {

// Makes LibTorch's interpreter know them; again does nothing. Its table of operators is one for the
// whole process.
void RegisterScriptOps();

}  // namespace placewright

#endif  // PLACEWRIGHT_CAPTURE_SCRIPT_SCRIPT_OPS_H_
