#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <set>
#include <utility>

#include "base/text.h"
#include "cli/commands/cluster_output.h"
#include "cli/commands/command.h"
#include "cli/request/inputs.h"
#include "cli/request/steps_by_batch.h"
#include "cli/request/tried_strategy_json.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/step_time.h"
#include "formats/prices/price_reader.h"
#include "formats/text/file.h"
#include "formats/text/yaml.h"
#include "planning/sizing.h"
#include "report/step_rates.h"

namespace placewright {
namespace {

constexpr const char* kSizeExamples =
    "Every kind and count is planned by the named strategies, with and without recomputation and\n"
    "micro-batches; the table has the best of each. Up to 8 GPUs are on one host, more on hosts\n"
    "of 8. Prices come from a file (docs/formats/prices.md). Ctrl-C prints what there is.\n"
    "Examples:\n"
    "  placewright size bert.json.gz --target fits --kinds RTX4090,L4 --counts 1,2\n"
    "  placewright size bert.json.gz --target step=100ms --kinds RTX4090 --counts 1,2,4 --json\n"
    "  placewright size bert.json.gz --target samples/s=50 --kinds H100,L4 --counts 1,2 --prices "
    "prices.yaml";

constexpr int64_t kLargestCount = 1024;

// An empty part stays one: what reads it says that it is missing.
std::vector<std::string> PartsOfList(const std::string& text) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == ',') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

Result<SizeTarget> ParseSizeTarget(const std::string& text) {
  const auto refuse = [&](const std::string& why) {
    return MakeError(ErrorCode::kUsage,
                     fmt::format("--target \"{}\": {}", Printable(text, 80), why), "",
                     "Give fits, tokens/s=200000, samples/s=500 or step=250ms.");
  };
  SizeTarget target;
  if (text == "fits") return target;
  const size_t equals = text.find('=');
  const std::string what = text.substr(0, equals);
  if (equals == std::string::npos ||
      (what != "tokens/s" && what != "samples/s" && what != "step")) {
    return refuse("it is no target");
  }
  const std::string value = text.substr(equals + 1);
  if (what == "step") {
    target.kind = SizeTarget::Kind::kStepTime;
    PW_ASSIGN(target.step, ParseStepTime("--target step", value));
    return target;
  }
  const char* const end = value.data() + value.size();
  const auto [read, error] = std::from_chars(value.data(), end, target.per_second);
  if (error != std::errc() || read != end || !(target.per_second > 0)) {
    return refuse("it is no number above 0");
  }
  target.kind = what == "tokens/s" ? SizeTarget::Kind::kTokenRate : SizeTarget::Kind::kSampleRate;
  return target;
}

class SizeCommand : public Command {
 public:
  CommandLine Register(CommandLine program) override {
    CommandLine app = program.AddCommand(
        "size", "How many devices, and of which kind, a step needs to fit or to be fast enough");
    AddModelledStepOptions(app, &input_);
    app.AddOption("--target", target_text_,
                  "What is asked for: fits (default), tokens/s=N, samples/s=N or step=TIME")
        .TypeName("TARGET")
        .Group("Search");
    app.AddOption("--kinds", kinds_text_,
                  "Kinds of GPUs, with commas between (cluster show lists them)")
        .Required()
        .TypeName("KINDS")
        .Group("Search");
    app.AddOption("--counts", counts_text_,
                  "Numbers of GPUs, with commas between (default 1,2,4,8,16,32)")
        .TypeName("NUMBERS")
        .Group("Search");
    app.AddOption("--prices", prices_file_,
                  "What a GPU of each kind costs an hour: the answer is the cheapest")
        .TypeName("FILE")
        .Group("Search");
    app.Footer(kSizeExamples);
    return app;
  }

  Result<int> Run(Context& context) override {
    const std::atomic<bool>& interrupted = CatchInterrupts();
    input_.interrupted = &interrupted;
    input_.say = [&context](std::string_view text) { context.console.Note(text); };
    SizeRequest request;
    // All that the options alone can say wrong is said before a step is recorded, which takes seconds.
    PW_ASSIGN(request.target, ParseSizeTarget(target_text_));
    PW_ASSIGN(request.kinds, Kinds());
    PW_ASSIGN(request.counts, Counts());
    PW_RETURN_IF_ERROR(TakePrices(request));
    PW_ASSIGN(request.reserve, ReadMemoryReserve(input_.memory_reserve));
    if (!input_.batch_text.empty()) {
      PW_ASSIGN(batch_, ParseBatchSize(input_.batch_text));
    }
    input_.no_store = true;  // machines that are not here have no measured times
    PW_ASSIGN(request.trials.costs, CostOptionsOf(input_, Cluster()));
    request.trials.stop = StopToken(&interrupted);
    // The step on the smallest cluster, which others share unless the batch is one for every GPU.
    PW_ASSIGN(StrategyTrier* const first, StepOn(request.counts.front()));
    PW_RETURN_IF_ERROR(CheckStep(*first, request));
    graph_ = first->step().name();
    batch_of_step_ = first->step().samples();
    request.step = [this](int64_t devices) { return StepOn(devices); };
    if (context.console.ShowsProgress()) ShowProgress(request, context);
    PW_ASSIGN(const SizeTable table, FindSize(request));
    context.console.Progress("");
    return Print(request, table, context.console);
  }

 private:
  Result<std::vector<std::string>> Kinds() const {
    std::vector<std::string> kinds;
    for (const std::string& name : PartsOfList(kinds_text_)) {
      PW_ASSIGN(const DeviceKind* const kind, FindGpuKind(name));
      if (std::find(kinds.begin(), kinds.end(), kind->name) != kinds.end()) {
        return MakeError(ErrorCode::kUsage, fmt::format("--kinds names {} twice", kind->name), "",
                         "Name each kind once.");
      }
      kinds.push_back(kind->name);
    }
    return kinds;
  }

  Result<std::vector<int64_t>> Counts() const {
    std::set<int64_t> counts;
    for (const std::string& text : PartsOfList(counts_text_)) {
      int64_t count = 0;
      const char* const end = text.data() + text.size();
      const auto [read, error] = std::from_chars(text.data(), end, count);
      if (error != std::errc() || read != end || count < 1 || count > kLargestCount) {
        return MakeError(ErrorCode::kUsage,
                         fmt::format("--counts: \"{}\" is no number of GPUs from 1 to {}",
                                     Printable(text, 40), kLargestCount),
                         "", "Give numbers with commas between: --counts 1,2,4,8.");
      }
      PW_RETURN_IF_ERROR(SizedCluster("GPU", count));  // hosts of 8 cannot make every count
      counts.insert(count);
    }
    return std::vector<int64_t>(counts.begin(), counts.end());
  }

  // A kind without a price could not be compared: better no answer than the cheapest of some.
  Status TakePrices(SizeRequest& request) {
    if (prices_file_.empty()) return Ok();
    PW_ASSIGN(const std::string text, ReadFile(prices_file_, {kMaxYamlBytes, kMaxYamlBytes}));
    PW_ASSIGN(const GpuPrices prices, ReadGpuPrices(text).InFile(prices_file_));
    for (const std::string& kind : request.kinds) {
      if (prices.per_hour.contains(kind)) continue;
      Error error =
          MakeError(ErrorCode::kField, fmt::format("there is no price of {}", kind), "per_gpu_hour",
                    "Add it to the file, or leave the kind out of --kinds.");
      error.file = prices_file_;
      return error;
    }
    request.price_per_hour = prices.per_hour;
    currency_ = prices.currency;
    return Ok();
  }

  // A batch for every GPU is another step for each count; steps are kept, since several clusters ask for one.
  Result<StrategyTrier*> StepOn(int64_t devices) {
    std::optional<int64_t> batch;
    if (batch_) batch = batch_->per_gpu ? batch_->samples * devices : batch_->samples;
    return steps_.At(batch);
  }

  // Before anything is planned: a target that this step cannot meet by its kind is an error, not a row that misses.
  Status CheckStep(const StrategyTrier& trier, SizeRequest& request) const {
    const Graph& step = trier.step();
    const StepWork work = WorkOfStep(step);
    request.tokens_of_sample = work.sequence;
    if (request.counts.back() > 1) PW_RETURN_IF_ERROR(CheckMayBeSplit(step, input_.graph));
    // Rates count samples, and tokens where a sample is a sequence: what a step must state for that.
    const bool tokens = request.target.kind == SizeTarget::Kind::kTokenRate;
    const bool rate = tokens || request.target.kind == SizeTarget::Kind::kSampleRate;
    if ((tokens && work.sequence == 0) || (rate && step.samples() == 0)) {
      Error error =
          MakeError(ErrorCode::kUsage,
                    tokens ? "the step has no tokens to count" : "the step's batch is not known",
                    "", tokens ? "Give --target samples/s=N." : "Give --target step=TIME.");
      error.file = input_.graph;
      return error;
    }
    return Ok();
  }

  // How far it is stays on the line while single strategies are tried; both callbacks outlive this call.
  static void ShowProgress(SizeRequest& request, Context& context) {
    const size_t all = request.kinds.size() * request.counts.size();
    const auto done = std::make_shared<size_t>(0);
    const auto last = std::make_shared<std::string>();
    const auto show = [&context, all, done, last](const std::string& now) {
      context.console.Progress(context.started,
                               fmt::format("{} of {} clusters  {}{}", *done, all, *last, now));
    };
    request.planned = [done, last, show](const SizeRow& row) {
      ++*done;
      *last = fmt::format("{}: {}; ", row.cluster,
                          row.best ? FormatNanos(row.best->step_time) : "does not fit");
      show("");
    };
    request.trials.tried = [show](const StrategyResult& tried) { show(Describe(tried.strategy)); };
  }

  // What there is is printed first, whatever went wrong behind it.
  int Print(const SizeRequest& request, const SizeTable& table, Console& console) const {
    std::optional<Error> error;
    if (table.interrupted) {
      error = MakeError(ErrorCode::kInterrupted,
                        "interrupted: the table has what was planned until then", "",
                        "Give fewer --kinds or --counts.");
    } else if (!table.answer) {
      error = MakeError(ErrorCode::kNothingFound,
                        fmt::format("none of these clusters meets the target ({})",
                                    DescribeTarget(request.target)),
                        "", "Give more --counts, other --kinds or another --batch.");
    }
    if (console.json) {
      PrintJson(request, table, error, console);
    } else {
      PrintText(request, table, console);
      if (error) console.PrintError(*error);
    }
    return error ? InfoOf(error->code).exit_status : 0;
  }

  // What planning a neighbour of the answer has shown.
  static std::string Meaning(const SizeRow& row, const SizeTarget& target) {
    if (!row.best) return "does not fit";
    if (row.meets) return "meets it, too";
    switch (target.kind) {
      case SizeTarget::Kind::kTokenRate:
        return fmt::format("misses it with {} tokens/s",
                           FormatCount(static_cast<int64_t>(row.tokens_per_second + 0.5)));
      case SizeTarget::Kind::kSampleRate:
        return fmt::format("misses it with {:.4g} samples/s", row.samples_per_second);
      default: return fmt::format("misses it with {} a step", FormatNanos(row.best->step_time));
    }
  }

  std::string AnswerText(const SizeRequest& request, const SizeTable& table,
                         const Style& style) const {
    const SizeRow& row = table.rows[*table.answer];
    std::string text = fmt::format(
        "{} by {}: {} a step", Paint(fmt::format("{} {}", row.count, row.kind), Tone::kGood, style),
        Describe(row.best->strategy), FormatNanos(row.best->step_time));
    if (row.price_per_hour) {
      text += fmt::format(", {:.2f} {} an hour, the cheapest that meets the target",
                          *row.price_per_hour, Printable(currency_, 20));
    } else {
      text += ", the fewest that meet the target";
    }
    text += fmt::format(" ({})\n", DescribeTarget(request.target));
    // The next smaller and larger clusters were planned, too: that the answer is the fewest or the cheapest is seen, not
    // inferred.
    for (const size_t i : table.neighbours) {
      const SizeRow& beside = table.rows[i];
      text += fmt::format("verified: {} {} {}{}\n", beside.count, beside.kind,
                          Meaning(beside, request.target),
                          beside.neighbour && beside.meets ? " (not in --counts)" : "");
    }
    return text;
  }

  void PrintText(const SizeRequest& request, const SizeTable& table, Console& console) const {
    const Style& style = console.style();
    const auto right = Table::Align::kRight;
    const bool tokens = request.tokens_of_sample > 0, prices = !request.price_per_hour.empty();
    console.Print(fmt::format("{}, batch {}\n\n", Paint(graph_, Tone::kStrong, style),
                              batch_ && batch_->per_gpu ? fmt::format("{} a GPU", batch_->samples)
                                                        : FormatCount(batch_of_step_)));
    std::vector<Table::Column> columns = {{"kind"},
                                          {"GPUs", right},
                                          {"strategy"},
                                          {"step time", right},
                                          {tokens ? "tokens/s" : "samples/s", right},
                                          {"memory", right},
                                          {"of", right}};
    if (prices) {
      columns.push_back({Printable(currency_, 20) + "/h", right});
      if (tokens) columns.push_back({"/M tokens", right});
    }
    Table text(columns);
    for (size_t i = 0; i < table.rows.size(); ++i) {
      const SizeRow& row = table.rows[i];
      const Tone tone = table.answer == i ? Tone::kGood : row.meets ? Tone::kPlain : Tone::kFaint;
      std::vector<Table::Cell> cells = {{row.kind, tone}, {FormatCount(row.count), tone}};
      if (!row.best) {
        cells.emplace_back(row.why_not, Tone::kBad);
        text.AddRow(std::move(cells));
        continue;
      }
      const double rate = tokens ? row.tokens_per_second : row.samples_per_second;
      cells.emplace_back(Describe(row.best->strategy), tone);
      cells.emplace_back(FormatNanos(row.best->step_time), tone);
      cells.emplace_back(
          tokens ? FormatCount(static_cast<int64_t>(rate + 0.5)) : fmt::format("{:.4g}", rate),
          tone);
      cells.emplace_back(FormatBytes(row.best->memory), tone);
      cells.emplace_back(FormatBytes(row.best->capacity), tone);
      if (row.price_per_hour) cells.emplace_back(fmt::format("{:.2f}", *row.price_per_hour), tone);
      if (row.price_per_million_tokens) {
        cells.emplace_back(fmt::format("{:.3g}", *row.price_per_million_tokens), tone);
      }
      text.AddRow(std::move(cells));
    }
    console.Print(text.Render(style));
    if (table.answer) console.Print("\n" + Wrap(AnswerText(request, table, style), style));
  }

  void PrintJson(const SizeRequest& request, const SizeTable& table,
                 const std::optional<Error>& error, Console& console) const {
    Json object;
    object["schema"] = "placewright.size/1";
    object["graph"] = graph_;
    object["target"] = target_text_;
    object["currency"] = nullptr;
    if (!currency_.empty()) object["currency"] = currency_;
    object["rows"] = Json::array();
    for (const SizeRow& row : table.rows) {
      Json line = {{"kind", row.kind},
                   {"count", row.count},
                   {"cluster", row.cluster},
                   {"batch", row.batch},
                   {"meets", row.meets},
                   {"asked_for", !row.neighbour},
                   {"strategy", nullptr},
                   {"why_not", row.why_not},
                   {"samples_per_second", nullptr},
                   {"tokens_per_second", nullptr},
                   {"price_per_hour", nullptr},
                   {"price_per_million_tokens", nullptr}};
      if (row.best) {
        line["strategy"] = StrategyToJson(*row.best);
        line["samples_per_second"] = row.samples_per_second;
        if (request.tokens_of_sample > 0) line["tokens_per_second"] = row.tokens_per_second;
      }
      if (row.price_per_hour) line["price_per_hour"] = *row.price_per_hour;
      if (row.price_per_million_tokens) {
        line["price_per_million_tokens"] = *row.price_per_million_tokens;
      }
      object["rows"].push_back(std::move(line));
    }
    object["answer"] = nullptr;
    if (table.answer) object["answer"] = *table.answer;
    object["neighbours"] = table.neighbours;
    object["interrupted"] = table.interrupted;
    if (error) object["error"] = ErrorToJson(*error, "--target")["error"];
    console.PrintJson(object);
  }

  InputOptions input_;
  std::string target_text_ = "fits", kinds_text_, counts_text_ = "1,2,4,8,16,32", prices_file_,
              currency_;
  std::optional<BatchSize> batch_;
  StepsByBatch steps_{input_};
  std::string graph_;  // its name
  int64_t batch_of_step_ = 0;
};

}  // namespace

std::unique_ptr<Command> MakeSizeCommand() { return std::make_unique<SizeCommand>(); }

}  // namespace placewright
