// LibTorch trusts script modules and the code in them: a damaged or hostile one can end the
// process. So a script module is recorded in a child first, whose end is an ordinary value.
#ifndef PLACEWRIGHT_CLI_REQUEST_CHILD_CAPTURE_H_
#define PLACEWRIGHT_CLI_REQUEST_CHILD_CAPTURE_H_

#include "base/result.h"
#include "torch_api/capture_service.h"

namespace placewright {

// Records in a child process, which keeps nothing, prints nothing and dies with its parent. Errors:
// kFileCorrupt where it crashed; kNotRecordable where it took more than 4 GiB beside the weights,
// or more than the machine has. An error of the recording is none here: it comes again.
Status CaptureInChildProcess(const CaptureService& service, const CaptureRequest& request);

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_REQUEST_CHILD_CAPTURE_H_
