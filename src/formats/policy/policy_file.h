// The files of learned policies ("placewright.policy/1"): the safetensors format, so that others can
// look at the weights. Eight bytes with the header's length (little-endian), the header in JSON,
// the tensors. The header's `__metadata__` holds format, algorithm, vocabulary, settings, state of
// the training, and the SHA-256 of the rest of the header and of the tensors.
#ifndef PLACEWRIGHT_FORMATS_POLICY_POLICY_FILE_H_
#define PLACEWRIGHT_FORMATS_POLICY_POLICY_FILE_H_

#include <string>
#include <string_view>

#include "base/result.h"
#include "plan/stored_policy.h"

namespace placewright {

std::string FormatPolicy(const StoredPolicy& policy);
// Errors: kFormatUnknown (no policy), kFileCorrupt (truncated, or not what its SHA-256 says),
// kField (another version of the format, a field that is missing).
Result<StoredPolicy> ParsePolicy(std::string_view bytes);

// Errors: those of ReadFileRaw and ParsePolicy, naming the file.
Result<StoredPolicy> LoadPolicy(const std::string& path);

}  // namespace placewright

#endif  // PLACEWRIGHT_FORMATS_POLICY_POLICY_FILE_H_
