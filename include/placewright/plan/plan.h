// A plan: the placement, what it is predicted to do, and everything needed to check it again.
// As a file it is versioned JSON (formats/plan/plan_json.h, docs/json.md).
#ifndef PLACEWRIGHT_PLAN_PLAN_H_
#define PLACEWRIGHT_PLAN_PLAN_H_

#include <placewright/base/units.h>
#include <placewright/plan/layout_spec.h>
#include <placewright/plan/placement.h>
#include <placewright/plan/plan_space.h>
#include <placewright/plan/schedule.h>
#include <placewright/plan/strategy.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace placewright {

inline constexpr std::string_view kPresetPrefix = "preset:";
// Path of a cluster that the graph's own file carries (cost graphs).
inline constexpr std::string_view kClusterInGraph = "graph:";

// A file that the plan depends on. Preset clusters have path "preset:4xP100".
struct FileReference {
  std::string path;  // relative to the plan's folder where it lies below or beside it
  std::string
      sha256;  // of the file's bytes as stored; of the canonical JSON where there is no file
};

struct DeviceUse {
  std::string name, kind;
  double busy = 0;    // share of the step in which it computes, in [0, 1]
  Bytes peak_memory;  // tensors at their peak + largest workspace + runtime context
  Bytes tensor_peak, workspace, runtime_context;
  Bytes capacity;  // usable: the device's memory less `reserve`
  // Kept free (Device::reserve). Plans made before there was a default do not say it: their
  // machines are as described.
  std::optional<Bytes> reserve;
  int64_t ops = 0;  // views not counted
  DeviceClass device_class = DeviceClass::kOther;
};

struct Baseline {
  std::string algorithm;
  bool feasible = false;
  Nanos step_time;  // simulated even if it does not fit
  std::vector<std::string> devices =
      {};               // that run an op, in the cluster's order; empty: not known
  bool search = false;  // starts from the plans of the others
};

// The best known step time as the search went on.
struct HistoryPoint {
  int64_t iterations = 0;
  double seconds = 0;
  Nanos step_time;
  std::string algorithm;
};

// A cost store, and what of it the plan's times come from.
struct CostStoreUse {
  std::string path;
  struct Environment {
    std::string kind;
    int64_t cores = 0;
    bool loaded = false;  // measured while the machine's other devices were at work
    std::string libtorch, blas;
    int64_t rows = 0;
    std::string
        rows_sha256;  // of MeasuredUse::Environment::lines; empty in plans of earlier versions
  };
  std::vector<Environment> environments;
};

// What moves between devices, by what moves it.
struct CommunicationUse {
  std::string kind;       // "all-reduce", ..., or "transfer"
  std::string algorithm;  // "ring", ...; empty for transfers
  Bytes bytes;            // of the tensors, each once
  Nanos time;             // from the begin to the end of each, summed
  int64_t count = 0;
  friend bool operator==(const CommunicationUse&, const CommunicationUse&) = default;
};

struct Plan {
  FileReference graph, cluster, costs, schedule;
  std::string graph_name, cluster_name;
  int64_t batch_option = 0;                   // --batch, 0: none
  std::map<std::string, int64_t> dimensions;  // --dim
  std::string cost_profile = "default";
  std::string precision = "pytorch";  // of float32 products: "pytorch", "fp32" or "tf32"
  SchedulingPolicy policy = SchedulingPolicy::kFifo;
  std::string algorithm;  // the planner that truly made it
  std::string objective = "step-time";
  PlanSpace space = PlanSpace::kPlaced;  // what it may do with an op
  bool feasible = false;
  Nanos step_time;
  std::optional<Nanos> measured_step_time;     // as executed, where that is what it was chosen by
  std::optional<Nanos> lower_bound;            // none: nothing is known of plans of this space
  PlanSpace bound_space = PlanSpace::kPlaced;  // of the plans that the bound holds for
  std::vector<DeviceUse> devices;
  std::vector<Baseline> baselines;
  std::vector<StrategyResult> strategies;  // that `auto` looked at, the best first; or none
  std::optional<CostStoreUse> cost_store;
  // Links whose figures are not the cluster file's, but measured ones.
  struct LinkFigures {
    std::string name;
    BytesPerSecond bandwidth;
    Nanos latency;
    friend bool operator==(const LinkFigures&, const LinkFigures&) = default;
  };
  std::vector<LinkFigures> links;
  double share_given = 0, share_measured = 0, share_modelled = 0;  // of the ops' time
  uint64_t seed = 0;
  int64_t iterations = 0;
  double seconds = 0;
  std::optional<double> first_feasible_seconds;
  std::vector<HistoryPoint> history;
  NamedPlacement placement;  // of the graph's ops, or of the compiled step's
  int64_t samples = 0;       // of a step, over all devices; 0: not known
  // How a plan splits or copies ops, what moves, and the compiled step (a distributed ATen graph), whose file lies beside
  // the plan's. The file of a placed plan has none of these and no samples.
  DistributionSpec distribution;
  std::vector<CommunicationUse> communication;
  FileReference step;
  // Devices that do alike, where its costs, schedule and step are those of the first of each class alone
  // (docs/simulator.md, "Lanes"). Empty: every device has its own.
  std::vector<std::vector<std::string>> lanes;

  // 0 where it is not known.
  double SamplesPerSecond() const;
  // (step - bound) / step; 0 for an empty step and without a bound. Negative at most where the bound is of another
  // space.
  double Gap() const;
  // No plan of its space is faster.
  bool ProvenOptimal() const {
    return lower_bound && bound_space == space && step_time <= *lower_bound;
  }
};

}  // namespace placewright

#endif  // PLACEWRIGHT_PLAN_PLAN_H_
