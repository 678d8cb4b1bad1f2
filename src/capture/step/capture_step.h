// A step recorded at the batch that was asked for, with the laws by which its sizes follow the
// batch.
#ifndef PLACEWRIGHT_CAPTURE_STEP_CAPTURE_STEP_H_
#define PLACEWRIGHT_CAPTURE_STEP_CAPTURE_STEP_H_

#include "base/result.h"
#include "capture/step/step_source.h"
#include "torch_api/capture_service.h"

namespace placewright {

// Records one step of `source` without computing anything. With `prove_batch` the step is recorded
// at two more sizes (on a second thread), of which only the laws are kept (graph/batch/proof.h):
// b + 1 and 2 b + 3, so that no law holds by chance; where the model refuses one of them 2 b and
// 3 b; then b - 1 and b / 2. Where it scales it is recorded at a smaller size, too, and compared:
// at 1, and where that is another step (LibTorch leaves out copies and sums there) at max(2, b /
// 2). A step that does not scale, or a model that has one size alone, is no error:
// Graph::batch_scaling names the reason. Errors: those of ModelStep.
Result<Capture> CaptureStep(const StepSource& source, Training training, bool prove_batch);

}  // namespace placewright

#endif  // PLACEWRIGHT_CAPTURE_STEP_CAPTURE_STEP_H_
