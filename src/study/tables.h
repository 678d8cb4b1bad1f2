// The tables of the papers whose systems are built in, as runs of ours: what stands in each cell,
// what was published there, and the claims that a table is cited for.
//
// A cell is a method on a model. Methods of learned planners are trained from several seeds; runs
// are the same wherever algorithm, settings, model and seed are, so that tables share them.
#ifndef PLACEWRIGHT_STUDY_TABLES_H_
#define PLACEWRIGHT_STUDY_TABLES_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace placewright {

struct StudyMethod {
  enum class Kind {
    kLearned,
    kOneGpu,  // everything on one GPU, what has no kernel there on the CPU
    kExpert,  // the planner `expert`
  };
  std::string label;
  Kind kind = Kind::kLearned;
  std::string algorithm;              // of kLearned
  std::vector<std::string> settings;  // NAME=VALUE, over the defaults
  // [model], may be empty: the graph on which the policy is trained before, for as many of a run's
  // samples as leave kFineTuning; the run's own samples are those that are left.
  std::vector<std::string> sources;
  static constexpr int64_t kFineTuning = 100;
};

struct StudyModel {
  std::string label, graph;  // a model of the zoo
  int seeds = 1;             // runs of `samples`, from seed 0 on
  int64_t samples = 600;
  int64_t first_samples = 600;        // of seed 0, which may go on for longer
  std::vector<std::string> settings;  // of learned methods, beside their own
};

// What a claim compares, of two methods on one model and from one seed. `kBest` is the best step
// after the model's samples; `kSamples` how many it took to come within 2% of the worse of the two
// bests; `kSpread` how much the mean step of successive policies changes in the second half, as the
// standard deviation of its logarithm's differences.
struct StudyClaim {
  enum class Measure { kBest, kSamples, kSpread };
  std::string text;
  size_t model = 0, less = 0, more = 0;  // the measure of method `less` is below that of `more`
  Measure measure = Measure::kBest;
};

struct StudyTable {
  std::string name, title;  // "mars2", "Mars, Table 2: ..."
  std::vector<StudyModel> models;
  std::vector<StudyMethod> methods;
  // Seconds [model][method] as published; -1: out of memory; none where the paper has no such cell.
  std::vector<std::vector<std::optional<double>>> published;
  std::vector<StudyClaim> claims;
  std::string cluster = "4xP100-tf";
};

// mars1, mars2, mars3, eagle1, eagle2, eagle3, eagle4.
std::span<const StudyTable> StudyTables();
// nullptr where there is none of that name.
const StudyTable* FindStudyTable(std::string_view name);

}  // namespace placewright

#endif  // PLACEWRIGHT_STUDY_TABLES_H_
