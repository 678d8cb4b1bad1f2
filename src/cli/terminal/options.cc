#include "cli/terminal/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <thread>

#include "base/text.h"
#include "base/utf8.h"
#include "formats/cluster/kind_fields.h"
#include "planning/search_budget.h"
#include "transforms/pipeline_schedule.h"

namespace placewright {
namespace {

// GLOB=DEVICE at the last '=': device names hold none.
Result<ConstraintSpec> ParseSpec(std::string_view option, const std::string& text) {
  const size_t equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
    return MakeError(
        ErrorCode::kUsage,
        fmt::format("{} \"{}\" is not of the form GLOB=DEVICE", option, Printable(text)), "",
        "For example: --pin '*embeddings*=host0/gpu1'.");
  }
  return ConstraintSpec{text.substr(0, equals), text.substr(equals + 1)};
}

void AddModelOptions(CommandLine app, InputOptions* options) {
  app.AddOption("--cost-profile", options->cost_profile,
                "Which ops a device kind can run: default, or tf1 (embeddings on CPUs only)")
      .TypeName("NAME")
      .Group("Input");
  app.AddOption("--precision", options->precision,
                "How GPUs multiply float32: pytorch (default: convolutions in TF32 where it is, "
                "products not), fp32, or tf32 (products, too)")
      .TypeName("NAME")
      .Group("Input");
}

void AddBatchOption(CommandLine app, InputOptions* options) {
  app.AddOption(
         "--batch", options->batch_text,
         "Batch size of the whole step, over all devices, or N/gpu for every GPU (ONNX models, "
         "recorded steps, models of the zoo)")
      .TypeName("N[/gpu]")
      .Check([](const std::string& text) {
        const Result<BatchSize> size = ParseBatchSize(text);
        return size.ok() ? "" : size.error().message;
      })
      .Group("Input");
}

void AddCostOptions(CommandLine app, InputOptions* options) {
  AddDimensionOption(app, &options->dimensions);
  app.AddOption("--costs", options->costs, "Override file with measured op times")
      .TypeName("FILE")
      .Group("Input");
  app.AddOption("--cost-store", options->cost_store,
                "Times that `profile` measured (default: the one that it writes)")
      .TypeName("FILE")
      .Group("Input");
  app.AddFlag("--no-store", options->no_store, "Leave measured times out").Group("Input");
  AddModelOptions(app, options);
  app.AddOption("--order", options->order,
                "How a device orders its ops: program (default of recorded steps), fifo (default "
                "of other graphs: "
                "first ready, first run) or critical-path")
      .TypeName("ORDER")
      .Group("Input");
}

}  // namespace

void AddRepeated(CommandLine app, const std::string& name, std::vector<std::string>& values,
                 const std::string& type, const std::string& help, const std::string& group) {
  app.AddOption(name, values, help).TypeName(type).Repeatable().Group(group);
}

void AddInputOptions(CommandLine app, InputOptions* options) {
  app.AddOption("-c,--cluster", options->cluster,
                "Preset (see `placewright cluster show`) or file that describes the machines")
      .TypeName("CLUSTER")
      .Group("Input");
  AddMemoryReserveOption(app, &options->memory_reserve);
  AddBatchOption(app, options);
  AddTransformOptions(app, &options->rewriting, &options->mixed_precision);
  AddCostOptions(app, options);
}

void AddTransformOptions(CommandLine app, Rewriting* rewriting,
                         std::vector<std::string>* mixed_precision) {
  const auto count = [&](const char* name, int64_t& value, const char* help) {
    app.AddOption(name, value, help)
        .TypeName("N")
        .Check(IntegerWithin(1, INT32_MAX))
        .Group("Rewriting of a recorded step");
  };
  count("--micro-batches", rewriting->micro_batches,
        "The batch in so many parts, one after the other, whose gradients are added up");
  AddRepeated(app, "--recompute", rewriting->recompute, "MODULES",
              "full (every layer), selective, megatron, or a glob over modules: what the backward "
              "pass computes again; may be repeated",
              "Rewriting of a recorded step");
  AddRepeated(app, "--offload", rewriting->offload, "MODULES",
              "full (every layer), or a glob over modules: whose activations lie in host memory "
              "between the passes; may be repeated",
              "Rewriting of a recorded step");
  AddRepeated(app, "--mixed-precision", *mixed_precision, "TYPES",
              "param=TYPE, reduce=TYPE, master=TYPE (f64, f32, bf16, f16), or a glob over modules: "
              "parameters and their update in a wider type than what is computed with them; may be "
              "repeated",
              "Rewriting of a recorded step");
  app.AddOption("--pipeline", rewriting->schedule,
                "Micro-batches in the order of a pipeline: gpipe, 1f1b, interleaved or zb-h1")
      .TypeName("SCHEDULE")
      .Check([](const std::string& text) {
        const bool known = std::find(kPipelineSchedules.begin(), kPipelineSchedules.end(), text) !=
                           kPipelineSchedules.end();
        return known ? "" : fmt::format("there is no schedule \"{}\"", Printable(text, 40));
      })
      .Group("Rewriting of a recorded step");
  count("--stages", rewriting->stages, "Stages of the pipeline");
  count("--chunks", rewriting->chunks, "Chunks of the model on each stage (interleaved)");
  app.AddOption("--stage-layers", rewriting->layers,
                "Layers of each stage, as 10,12,10, or of each chunk in the order of the model")
      .TypeName("N,...")
      .Group("Rewriting of a recorded step");
}

void AddModelledStepOptions(CommandLine app, InputOptions* options) {
  app.AddOption("GRAPH", options->graph,
                "Recorded step, model of the zoo, or hf:PATH (docs/formats)")
      .Required();
  AddBatchOption(app, options);
  AddDimensionOption(app, &options->dimensions);
  AddMemoryReserveOption(app, &options->memory_reserve);
  AddModelOptions(app, options);
}

void AddInputOptionsBesideCluster(CommandLine app, InputOptions* options) {
  AddMemoryReserveOption(app, &options->memory_reserve);
  app.AddOption("--batch", options->batch,
                "Batch size of an ONNX model, a recorded step or a model of the zoo")
      .TypeName("N")
      .Check(IntegerWithin(1, INT32_MAX))
      .Group("Input");
  AddTransformOptions(app, &options->rewriting, &options->mixed_precision);
  AddCostOptions(app, options);
}

Result<BatchSize> ParseBatchSize(std::string_view text) {
  constexpr std::string_view kPerGpu = "/gpu";
  BatchSize size;
  size.per_gpu = text.ends_with(kPerGpu);
  const std::string number(size.per_gpu ? text.substr(0, text.size() - kPerGpu.size()) : text);
  if (!IntegerWithin(1, INT32_MAX)(number).empty()) {
    return MakeError(
        ErrorCode::kUsage,
        fmt::format("\"{}\" is not an integer from 1 to {}, alone (the batch of the whole "
                    "step) or with /gpu behind it (for every GPU)",
                    Printable(text), INT32_MAX),
        "", "For example: --batch 256, or --batch 32/gpu.");
  }
  size.samples = std::stoll(number);
  return size;
}

void AddPlanInputOptions(CommandLine app, PlanInputOptions* options) {
  app.AddOption("--graph", options->graph, "Where the graph lies now, if not where the plan says")
      .TypeName("FILE")
      .Group("Input");
  app.AddOption("-c,--cluster", options->cluster, "The same for the cluster: a file or preset")
      .TypeName("CLUSTER")
      .Group("Input");
}

void AddMemoryReserveOption(CommandLine app, std::string* reserve) {
  app.AddOption("--memory-reserve", *reserve,
                "Memory that every GPU keeps free: 3%, 1GiB, 0 (default: as the cluster states, "
                "else 5%)")
      .TypeName("SIZE")
      .Group("Input");
}

Result<std::optional<MemoryReserve>> ReadMemoryReserve(const std::string& text) {
  if (text.empty()) return std::optional<MemoryReserve>();
  const Result<MemoryReserve> reserve = ParseMemoryReserve(text);
  if (reserve.ok()) return std::optional<MemoryReserve>(reserve.value());
  return MakeError(ErrorCode::kUsage, fmt::format("--memory-reserve: {}", reserve.error().message),
                   "", "For example: --memory-reserve 3%, 1GiB or 0.");
}

void AddDimensionOption(CommandLine app, std::vector<std::string>* dimensions) {
  AddRepeated(app, "--dim", *dimensions, "NAME=N",
              "Size of an ONNX model's symbolic dimension NAME; may be repeated", "Input");
}

Result<std::map<std::string, int64_t>> ParseDimensions(const std::vector<std::string>& texts) {
  std::map<std::string, int64_t> dimensions;
  const auto fail = [](std::string message) {
    return MakeError(ErrorCode::kUsage, std::move(message), "", "For example: --dim sequence=128.");
  };
  for (const std::string& text : texts) {
    const size_t equals = text.rfind('=');  // a symbol may be an expression
    const std::string name = text.substr(0, equals);
    if (equals == std::string::npos || name.empty() || !IsUtf8(name)) {
      return fail(fmt::format("--dim \"{}\" is not of the form NAME=N", Printable(text)));
    }
    const std::string number = text.substr(equals + 1);
    const std::string problem = IntegerWithin(1, INT32_MAX)(number);
    if (!problem.empty()) return fail(fmt::format("--dim {}: {}", Printable(name), problem));
    if (!dimensions.emplace(name, std::stoll(number)).second) {
      return fail(fmt::format("--dim gives {} twice", Printable(name)));
    }
  }
  return dimensions;
}

void AddSearchOptions(CommandLine app, SearchOptions* options, const BudgetTexts& texts) {
  app.AddOption("--time", options->time, texts.time).TypeName("TIME").Group("Search");
  app.AddOption("--iterations", options->iterations, texts.iterations)
      .TypeName("N")
      .Check(IntegerWithin(0, uint64_t{1} << 60))
      .Group("Search");
  app.AddOption("--seed", options->seed, "Seed of every random choice (default 0)")
      .TypeName("N")
      .Check(IntegerWithin(0, UINT64_MAX))
      .Group("Search");
  app.AddOption("--threads", options->threads,
                "Threads (default: all cores); never changes the result of --iterations")
      .TypeName("N")
      .Check(IntegerWithin(1, 1024))
      .Group("Search");
  AddRepeated(app, "--pin", options->pins, "GLOB=DEVICE",
              "Modules whose path matches GLOB run on DEVICE");
  AddRepeated(app, "--forbid", options->forbids, "GLOB=DEVICE", "... never run on DEVICE");
  AddRepeated(app, "--colocate", options->colocate, "GLOB", "... run together on one device");
  AddRepeated(app, "--colocate-each", options->colocate_each, "GLOB",
              "... each by itself: '*.layers.*' keeps every layer whole");
}

std::function<std::string(const std::string&)> IntegerWithin(uint64_t min, uint64_t max) {
  return [min, max](const std::string& text) -> std::string {
    uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error == std::errc() && end == text.data() + text.size() && number >= min &&
        number <= max) {
      return "";
    }
    return fmt::format("\"{}\" is not an integer from {} to {}", Printable(text), min, max);
  };
}

Result<std::chrono::nanoseconds> ParseTimeLimit(std::string_view text) {
  const auto fail = [&] {
    return MakeError(ErrorCode::kUsage, fmt::format("\"{}\" is not a time", Printable(text)), "",
                     "Write 10s, 500ms, or a number of seconds.");
  };
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || !(number >= 0)) return fail();
  const std::string_view unit(end, static_cast<size_t>(text.data() + text.size() - end));
  double seconds = 0;
  if (unit.empty() || unit == "s") {
    seconds = number;
  } else if (unit == "ms") {
    seconds = number / 1000;
  } else if (unit == "m" || unit == "min") {
    seconds = number * 60;
  } else if (unit == "h") {
    seconds = number * 3600;
  } else {
    return fail();
  }
  // A hundred years are enough, and fit in 64 bits of nanoseconds.
  constexpr double kMax = 3.1e9;
  if (!(seconds <= kMax)) return fail();
  return std::chrono::nanoseconds(static_cast<int64_t>(seconds * 1e9));
}

Result<SchedulingPolicy> ParseSchedulingPolicy(std::string_view text) {
  if (const auto policy = FindSchedulingPolicy(text)) return *policy;
  std::vector<std::string> names;
  for (const SchedulingPolicy policy : kSchedulingPolicies) names.emplace_back(ToString(policy));
  return MakeError(
      ErrorCode::kUsage,
      fmt::format("--order \"{}\" is unknown{}", Printable(text), DidYouMean(text, names)), "",
      "The orders are program, fifo and critical-path.");
}

Result<Constraints> ParseConstraints(const SearchOptions& options) {
  Constraints constraints;
  for (const std::string& text : options.pins) {
    PW_ASSIGN(ConstraintSpec spec, ParseSpec("--pin", text));
    constraints.pins.push_back(std::move(spec));
  }
  for (const std::string& text : options.forbids) {
    PW_ASSIGN(ConstraintSpec spec, ParseSpec("--forbid", text));
    constraints.forbids.push_back(std::move(spec));
  }
  constraints.colocate = options.colocate;
  constraints.colocate_each = options.colocate_each;
  return constraints;
}

Result<Budget> MakeBudget(const SearchOptions& options, Clock::time_point started) {
  std::optional<std::chrono::nanoseconds> time;
  if (!options.time.empty()) {
    PW_ASSIGN(time, ParseTimeLimit(options.time));
  }
  return MakeSearchBudget(time, options.iterations, started);
}

void LeaveTimeToWrite(Clock::time_point started, Clock::time_point prepared, Budget* budget) {
  if (!budget->deadline || *budget->deadline <= started) return;
  const Clock::duration half = (*budget->deadline - started) / 2;
  *budget->deadline -= std::min<Clock::duration>(3 * (prepared - started), half);
}

int ThreadsOf(const SearchOptions& options) {
  if (options.threads > 0) return options.threads;
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

Result<Budget> MakeBudget(const std::string& time, Clock::time_point started,
                          const std::atomic<bool>& flag) {
  Budget budget;
  budget.stop = StopToken(&flag);
  if (!time.empty()) {
    PW_ASSIGN(const std::chrono::nanoseconds limit, ParseTimeLimit(time));
    budget.deadline = started + std::chrono::duration_cast<Clock::duration>(limit);
  }
  return budget;
}

}  // namespace placewright
