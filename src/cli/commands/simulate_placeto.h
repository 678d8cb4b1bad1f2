// `simulate` under the rules of Placeto's simulator: of a case file, or of a graph and a placement.
#ifndef PLACEWRIGHT_CLI_COMMANDS_SIMULATE_PLACETO_H_
#define PLACEWRIGHT_CLI_COMMANDS_SIMULATE_PLACETO_H_

#include <cstdint>
#include <string>

#include "base/result.h"
#include "cli/terminal/console.h"
#include "plan/placeto_case.h"

namespace placewright {

struct PlacetoRequest {
  std::string case_file;       // --placeto, or empty
  int64_t repeat = 1;          // --repeat: complete simulations, one after the other
  bool schedule = false;       // also the starts
  std::string graph, cluster;  // names for the report; empty with a case
};

// Simulates and prints makespan, speed and, where the case has expected values, whether they are
// met. Errors: kGraphCycle.
Status ReportPlaceto(const PlacetoCase& problem, const PlacetoRequest& request, Console& console);

// The same of request.case_file. Errors: also those of reading it.
Status ReportPlacetoFile(const PlacetoRequest& request, Console& console);

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_COMMANDS_SIMULATE_PLACETO_H_
