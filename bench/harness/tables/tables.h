// The tables of the papers whose systems are built in, as runs of ours: what stands in each cell,
// what was published there, and the claims that a table is cited for.
//
// A cell is a method on a model. Methods of learned planners are trained from several seeds; runs
// are the same wherever algorithm, settings, model and seed are, so that tables share them.
#ifndef PLACEWRIGHT_BENCH_HARNESS_TABLES_TABLES_H_
#define PLACEWRIGHT_BENCH_HARNESS_TABLES_TABLES_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace placewright {

// A model of the zoo on a cluster: one of several graphs that a policy is trained on in turn.
struct StudyGraph {
  std::string graph, cluster;
};

struct StudyMethod {
  enum class Kind {
    kLearned,
    kOneGpu,   // everything on one GPU, what has no kernel there on the CPU
    kExpert,   // the planner `expert`
    kHuman,    // the same where the model is recurrent, else `layered` or one GPU, what fits better
    kPlanner,  // another planner
    kBound,    // no plan: the lower bound of step times
    kStrategies,  // a planner of steps that may be split, from each seed
    kFit,  // no plan: a training of `tag` that is kept as `policy`, whose figure is its loss on held-out games
  };
  // What a learned cell shows, of a policy that was trained before or of one that was not.
  enum class Shows {
    kBest,      // the best of the samples on the model
    kBefore,    // of those of the training before, of which the model is part
    kLikeliest  // the placement that the policy finds likeliest, as it is
  };
  std::string label;
  Kind kind = Kind::kLearned;
  std::string algorithm;              // of kLearned, kPlanner and kStrategies
  std::vector<std::string> settings;  // of kLearned and kStrategies: NAME=VALUE, over the defaults
  // [model]: what the policy is trained on before, for `samples_before` samples of each graph; empty
  // where it is not.
  std::vector<std::vector<StudyGraph>> before;
  int64_t samples_before = 0;
  Shows shows = Shows::kBest;
  int64_t own_samples = 0;  // after that, or without it, on the model; 0: the model's number
  // kBest: the placement that the policy of the training before finds likeliest for every group counts, too, as for
  // `plan`, which tries it first. What it finds likeliest for the units that it samples always counts.
  bool likeliest_first = false;
  int seeds = 0;       // 0: the model's number
  double seconds = 0;  // of kPlanner and kStrategies: its time; 0: it ends by itself
  int64_t moves = 0;   // of kStrategies, in the place of a time
  // Of kStrategies and kFit: one that is kept beside the runs, or comes with the program; "{model}" and "{seed}" stand for the
  // graph, without what follows its @, and the seed. "none": no policy. Empty: the planner needs none.
  std::string policy;
  std::string sfb;     // of kStrategies: --sfb of the plan; empty: none
  std::string figure;  // what cells show where the table shows figures

  std::vector<size_t> models = {};  // that have such a cell; empty: all

  // Whether it has a run for each seed.
  bool IsSeeded() const {
    return kind == Kind::kLearned || kind == Kind::kStrategies || kind == Kind::kFit;
  }
  bool HasCell(size_t model) const {
    return models.empty() || std::find(models.begin(), models.end(), model) != models.end();
  }
};

struct StudyModel {
  std::string label, graph;  // a model of the zoo
  int seeds = 1;             // runs of `samples`, from seed 0 on
  int64_t samples = 600;
  int64_t first_samples = 600;        // of seed 0, which may go on for longer
  std::vector<std::string> settings;  // of learned methods, beside their own
  std::string cluster = {};           // empty: the table's
  bool recurrent = false;
  std::string family = {};     // of models of different sizes
  std::string published = {};  // what the paper says of it, in other terms than seconds
  int most_seeds = 0;          // so many where a claim stays undecided after `seeds`; 0: no more
  int64_t batch = 0;           // of kStrategies; 0: the graph's
  // The clusters are drawn: of seed s "random:" and the sum. Negative: they are not.
  int64_t first_topology = -1;
};

// What a claim compares, of two methods on one model and from one seed. `kBest` is the best step
// after the model's samples; `kSamples` how many it took to come within 2% of the worse of the two
// bests; `kSpread` how much the mean step changes from 20 samples to the next 20 in the second half (however
// many of them an update has), as the standard deviation of its logarithm's differences. `kSamplesToMore` and `kSecondsToMore`: samples, and
// seconds of the planner with those that samples would take on real machines, to come within 2% of
// the best of `more`, the sample that comes near to it included (a policy's likeliest placement, which is none, is
// one); pairs where `less` never does are censored: they count as no pair. `kShown`: what cells show.
struct StudyClaim {
  enum class Measure { kBest, kSamples, kSpread, kSamplesToMore, kSecondsToMore, kShown };
  // A pair is a seed of one model or, of several, a model with the mean over its seeds; of fewer than five models,
  // which would decide nothing, a model and a seed.
  static constexpr size_t kFewModels = 5;
  bool PairsSeeds() const { return models.size() < kFewModels || pairs_seeds; }
  std::string text;
  std::vector<size_t> models;
  size_t less = 0, more = 0;  // the measure of method `less` is below that of `more`
  Measure measure = Measure::kBest;
  double margin = 1;         // it is below so many times that of `more`
  bool pairs_seeds = false;  // of many models, too
};

// How many times sooner method `less` comes to within 2% of the best of `more` than `more` itself, model by model.
struct StudySpeedUp {
  size_t less = 0, more = 0;
  std::vector<double> published;  // [model]
};

struct StudyTable {
  // What cells show.
  enum class Cells {
    kSteps,          // seconds
    kMovesToFaster,  // moves to a step shorter than that of method `base`; where there is none, all
    kTimesFaster,    // how many times shorter than that the step is
    kSecondsToPlan,  // of the planner, and of machines where samples would run on them
    kFigures,        // the figure of each method
  };
  std::string name, title;  // "mars2", "Mars, Table 2: ..."
  std::vector<StudyModel> models;
  std::vector<StudyMethod> methods;
  // [model][method] as published, in what cells show; -1: out of memory; none where the paper has no such cell.
  std::vector<std::vector<std::optional<double>>> published;
  std::vector<StudyClaim> claims;
  std::optional<StudySpeedUp> speed_up{};
  std::string cluster;  // of models that state none
  Cells cells = Cells::kSteps;
  size_t base = 0;  // a method

  std::string ClusterOf(size_t model, uint64_t seed = 0) const {
    const StudyModel& of = models[model];
    if (of.first_topology >= 0) {
      return "random:" + std::to_string(of.first_topology + static_cast<int64_t>(seed));
    }
    return of.cluster.empty() ? cluster : of.cluster;
  }
};

// mars1, mars2, mars3, eagle1, eagle2, eagle3, eagle4, published, gdp1, gdp2, gdp5, gdp-ablation, gdp-holdout, and those of
// tag_tables.h.
std::span<const StudyTable> StudyTables();
// nullptr where there is none of that name.
const StudyTable* FindStudyTable(std::string_view name);

}  // namespace placewright

#endif  // PLACEWRIGHT_BENCH_HARNESS_TABLES_TABLES_H_
