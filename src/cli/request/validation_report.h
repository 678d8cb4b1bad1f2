// What `validate` prints.
#ifndef PLACEWRIGHT_CLI_REQUEST_VALIDATION_REPORT_H_
#define PLACEWRIGHT_CLI_REQUEST_VALIDATION_REPORT_H_

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/request/validation.h"
#include "formats/text/json.h"
#include "report/table.h"

namespace placewright {

// placewright.validate/1 (docs/json.md). `errors`: of what could not be executed.
Json ValidationJson(const std::vector<ValidatedPair>& pairs, const std::vector<Error>& errors,
                    bool interrupted);

// The pairs, their errors and ranks, and the time by class of op.
std::string ValidationText(const std::vector<ValidatedPair>& pairs, const Style& style);

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_REQUEST_VALIDATION_REPORT_H_
