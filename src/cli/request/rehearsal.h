// LibTorch trusts script modules and the code in them: a damaged or hostile one can end the
// process. So a script module is recorded in a child first, whose end is an ordinary value.
#ifndef PLACEWRIGHT_CLI_REQUEST_REHEARSAL_H_
#define PLACEWRIGHT_CLI_REQUEST_REHEARSAL_H_

#include "base/result.h"
#include "torch_api/torch_api.h"

namespace placewright {

// Records in a child process, which keeps nothing, prints nothing and dies with its parent. Errors:
// kFileCorrupt where it crashed; kNotRecordable where it took more than 4 GiB beside the weights,
// or more than the machine has. An error of the recording is none here: it comes again.
Status Rehearse(const TorchApi& api, const CaptureRequest& request);

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_REQUEST_REHEARSAL_H_
