// The runs that tables are made of, kept in one text file, a line each, in the order in which they
// ended: a study that is cut short goes on where it was, and a run serves every table that has it.
#ifndef PLACEWRIGHT_BENCH_HARNESS_TABLES_RUN_STORE_H_
#define PLACEWRIGHT_BENCH_HARNESS_TABLES_RUN_STORE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "formats/text/json.h"

namespace placewright {

// What was run; `settings` holds every setting of the algorithm as text.
struct RunKey {
  std::string graph, cluster, algorithm;
  std::map<std::string, std::string> settings;
  uint64_t seed = 0;
  std::string source;  // the graph that the policy was trained on before; empty: none
};

// After an update: samples so far, the best step so far and the mean step of this update's samples
// that fit, in seconds (none where nothing fits), and how many of them did not.
struct CurvePoint {
  int64_t samples = 0;
  std::optional<double> best, mean;
  int64_t invalid = 0;
};

struct StudyRun {
  RunKey key;
  int64_t samples = 0;
  std::vector<CurvePoint> curve;
  double seconds = 0, evaluating = 0;  // in all, and of these in the simulator
  // What the samples would have taken on real machines: of each 15 steps (Mars sec. 4.1), and a
  // restart of 10 s, which is assumed; one that does not fit takes the restart alone.
  double environment_seconds = 0;
  // The device of each colocation group: a digit each, from '0' on. Of the best placement of the first
  // samples that tables compare, 600, however long the run.
  std::string placement;
  std::map<std::string, double> figures;  // of the plan, or of a training (StudyMethod::figure)
  std::string program;                    // its version

  // The best step of the first `samples` samples.
  std::optional<double> BestWithin(int64_t samples) const;
  // The share of these that do not fit; none where the run has no samples.
  std::optional<double> InvalidWithin(int64_t samples) const;
};

// Names a run by its key: 16 hexadecimal digits.
std::string NameOf(const RunKey& key);

class RunStore {
 public:
  // The runs of the file; none where there is no file. Errors: kSyntax, kField, kFileUnreadable.
  static Result<RunStore> Load(const std::string& path);

  // With what other processes have added since. Errors: those of Load.
  Status Reload();

  // One of these settings, graph, cluster and seed with at least so many samples; nullptr where there
  // is none. A setting that a run does not have was not there yet: it counts as `defaults` say.
  const StudyRun* Find(const RunKey& key, int64_t samples,
                       const std::map<std::string, std::string>& defaults) const;
  // Appends, to what the file holds by then: other processes may add to it at the same time. Errors:
  // kFileUnwritable, kFileUnreadable.
  Status Add(StudyRun run);
  const std::vector<StudyRun>& runs() const { return runs_; }

 private:
  std::string path_;
  std::vector<StudyRun> runs_;
};

Json ToJson(const StudyRun& run);
Result<StudyRun> StudyRunOf(const Json& json, const std::string& place);

}  // namespace placewright

#endif  // PLACEWRIGHT_BENCH_HARNESS_TABLES_RUN_STORE_H_
