// Options that several commands share, and how their texts are read.
#ifndef PLACEWRIGHT_CLI_TERMINAL_OPTIONS_H_
#define PLACEWRIGHT_CLI_TERMINAL_OPTIONS_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/stop.h"
#include "cli/terminal/command_line.h"
#include "cluster/memory_reserve.h"
#include "formats/plan/plan_files.h"
#include "plan/schedule.h"
#include "search/problem/problem.h"

namespace placewright {

// What the problem is: graph, machines, costs.
struct InputOptions {
  std::string graph;  // path, or a model of the zoo
  // Where a model's recorded step is stored, or what came on standard input; empty: nowhere.
  std::string store, cluster_store;
  bool store_kept = false;     // the file there belongs to a plan that is read: it shall not change
  std::string cluster;         // -c: preset or file; empty: the graph file carries its devices
  std::string memory_reserve;  // --memory-reserve, as given; empty: as described, or the default
  std::optional<int64_t> batch;
  std::vector<std::string> dimensions;  // --dim, as given
  std::string costs;                    // override file, or empty
  std::string cost_profile = "default";
  std::string precision = "pytorch";
  std::string cost_store;  // --cost-store; empty: the default one, if there is one
  bool no_store = false;
  std::string order{};       // empty: that of the graph (DefaultPolicy)
  bool prove_batch = false;  // of an ONNX model: how its sizes follow the batch
  const std::atomic<bool>* interrupted = nullptr;  // ends the recording of a model
  std::function<void(std::string_view)> say{};     // how a long recording gets on
  // --batch, as given, where it may be for every GPU of the cluster ("32/gpu"): ResolveBatch (inputs.h) makes
  // `batch` of it.
  std::string batch_text;
  Rewriting rewriting{};  // --micro-batches, --recompute, --offload, --pipeline, ...
  std::vector<std::string> mixed_precision{};  // types and globs (transforms/precision.h)
  std::optional<Transforms> transforms{};      // of a plan, in the place of these
  // What a pipeline is cut for: the algorithm and its settings (--set).
  std::string algorithm{};
  std::vector<std::string> settings{};
};
// -c, --memory-reserve, --batch, --dim, those of AddTransformOptions, --costs, --cost-profile, --order. The positional
// argument is the command's own.
void AddInputOptions(CommandLine app, InputOptions* options);
// What --batch states: samples of a step, over all devices or for every GPU.
struct BatchSize {
  int64_t samples = 0;
  bool per_gpu = false;
};
// "256" or "32/gpu". Errors: kUsage.
Result<BatchSize> ParseBatchSize(std::string_view text);
// --micro-batches, --recompute, --offload, --pipeline, --stages, --chunks and --stage-layers alone.
void AddTransformOptions(CommandLine app, Rewriting* rewriting,
                         std::vector<std::string>* mixed_precision);
// The same without -c, for a command that takes several clusters.
void AddInputOptionsBesideCluster(CommandLine app, InputOptions* options);

// GRAPH, --batch, --dim, --memory-reserve, --cost-profile and --precision of a command that asks of several clusters,
// none of which need be this machine.
void AddModelledStepOptions(CommandLine app, InputOptions* options);

// --graph and -c of a command that reads a plan.
void AddPlanInputOptions(CommandLine app, PlanInputOptions* options);

// --memory-reserve alone.
void AddMemoryReserveOption(CommandLine app, std::string* reserve);
// Nothing where it is empty. Errors: kUsage.
Result<std::optional<MemoryReserve>> ReadMemoryReserve(const std::string& text);

// An option that may be repeated and takes one value each time.
void AddRepeated(CommandLine app, const std::string& name, std::vector<std::string>& values,
                 const std::string& type, const std::string& help,
                 const std::string& group = "Search");

// --dim alone.
void AddDimensionOption(CommandLine app, std::vector<std::string>* dimensions);
// NAME=N of each --dim. Errors: kUsage where it is not of that form or a name comes twice.
Result<std::map<std::string, int64_t>> ParseDimensions(const std::vector<std::string>& texts);

// How long and how hard to search.
struct SearchOptions {
  std::string time;  // as given; empty: 10 s, or no limit with --iterations
  std::optional<int64_t> iterations;
  uint64_t seed = 0;
  int threads = 0;  // 0: all cores
  std::vector<std::string> pins, forbids, colocate, colocate_each;
};
// Help texts of the options that limit a search.
struct BudgetTexts {
  std::string time = "Time from when the graph is read: 10s (default), 500ms, or seconds";
  std::string iterations = "Moves of the search; without --time there is then no time limit";
};
// --time, --iterations, --seed, --threads, --pin, --forbid, --colocate, --colocate-each.
void AddSearchOptions(CommandLine app, SearchOptions* options, const BudgetTexts& texts = {});

// A check for CLI11 options: a decimal integer within [min, max]. Unlike CLI11's own it
// refuses "-1" for unsigned numbers and adds nothing to the help text.
std::function<std::string(const std::string&)> IntegerWithin(uint64_t min, uint64_t max);

// "10s", "500ms", "2m", "1h", or seconds with or without a fraction. Errors: kUsage.
Result<std::chrono::nanoseconds> ParseTimeLimit(std::string_view text);
// "program", "fifo" or "critical-path". Errors: kUsage with near names.
Result<SchedulingPolicy> ParseSchedulingPolicy(std::string_view text);
// --pin GLOB=DEVICE and its kin. Errors: kUsage where the '=' or a side of it is missing.
Result<Constraints> ParseConstraints(const SearchOptions& options);
// The deadline counts from `started`. Errors: kUsage.
Result<Budget> MakeBudget(const SearchOptions& options, Clock::time_point started);
// Takes from the search what replaying, drawing and writing its result will need, so that the
// program ends about the deadline: three times as long as preparing the problem took (measured on
// gnmt-8: 0.17 s and 0.53 s), at most half of all. `started`: when the graph had been read.
void LeaveTimeToWrite(Clock::time_point started, Clock::time_point prepared, Budget* budget);
int ThreadsOf(const SearchOptions& options);

// Of a command that goes on until `flag` is set or, where `time` is not empty, so long after `started`.
// Errors: those of ParseTimeLimit.
Result<Budget> MakeBudget(const std::string& time, Clock::time_point started,
                          const std::atomic<bool>& flag);

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_TERMINAL_OPTIONS_H_
