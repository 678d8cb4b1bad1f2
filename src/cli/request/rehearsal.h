// LibTorch trusts script modules and the code in them: a damaged or hostile one can end the
// process. So a script module is recorded in a child first, whose end is an ordinary value.
#ifndef PLACEWRIGHT_CLI_REQUEST_REHEARSAL_H_
#define PLACEWRIGHT_CLI_REQUEST_REHEARSAL_H_

#include "base/result.h"
#include "torch_api/torch_api.h"

namespace placewright {

// Records in a child process, which keeps nothing and prints nothing. Errors: kFileCorrupt where a
// signal ended it. An error of the recording is none here: it comes again.
Status Rehearse(const TorchApi& api, const CaptureRequest& request);

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_REQUEST_REHEARSAL_H_
