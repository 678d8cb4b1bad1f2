// What `profile` has measured, and what it prints of it.
#ifndef PLACEWRIGHT_CLI_REQUEST_PROFILE_REPORT_H_
#define PLACEWRIGHT_CLI_REQUEST_PROFILE_REPORT_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/units.h"
#include "cost/transfer_fit.h"
#include "cost/work.h"
#include "formats/text/json.h"
#include "report/table.h"
#include "torch_api/profiling_service.h"

namespace placewright {

// One batch on one kind of device.
struct ProfiledStep {
  std::string kind;
  int64_t cores = 0, batch = 0, steps = 0;
  bool loaded = false;
  Nanos step;
  double covered = 0;
  bool stable = false;
  std::map<OpClass, double> share;  // of the ops' time
};

struct ProfiledPair {
  std::string from, to;  // devices
  std::vector<TransferSample> times;
  std::vector<TransferSegment> segments;
};

// Between the processes of a run, or of another program.
struct ProfiledExchange {
  std::optional<CollectiveKind> collective;  // none: a transfer
  std::vector<std::string> devices;          // by name
  std::string key;                           // the store's
  std::vector<TransferSample> times;
  std::vector<TransferSegment> segments;
};

struct ProfileOutcome {
  std::string graph;
  std::vector<ProfiledStep> profiled;
  std::vector<ProfiledPair> pairs;
  std::set<std::string> wanted, signatures;  // of the graphs; measured
  int64_t measured = 0;                      // rows of the store, of all kinds and batches
  std::vector<std::string> left_out;         // devices of which this machine has none
  double seconds = 0;
  std::string store, libtorch, blas;
  bool interrupted = false;
  int32_t ranks = 1;
  std::vector<ProfiledExchange> exchanges;  // of several ranks, or
  bool from_logs = false;                   // of other programs

  // The smallest share of a step that its ops take; 0 without any step.
  double Covered() const;
};

// placewright.profile/1 (docs/json.md).
Json ProfileJson(const ProfileOutcome& outcome);

// Steps by kind of device, transfers by pair, and what is not measured.
std::string ProfileText(const ProfileOutcome& outcome, const Style& style);

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_REQUEST_PROFILE_REPORT_H_
