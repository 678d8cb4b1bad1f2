#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <thread>

#include "base/text.h"
#include "base/thread_pool.h"
#include "cli/commands/command.h"
#include "cli/request/models.h"
#include "report/graph_summary.h"
#include "sim/one_device.h"
#include "torch_api/torch_library.h"

namespace placewright {
namespace {

// A model, or a preset of one, at its own sizes, trained with Adam.
struct Line {
  std::string name, description, source, cluster;
  int64_t batch = 0, paper_ops = 0;
  GraphSummary summary;
  std::optional<OneDeviceStep> alone;
};

// Records what the line is about and fills in what follows from that.
Status Measure(const CaptureService& service, Line& line) {
  CaptureRequest request;
  request.model = line.name;
  request.prove_batch = false;
  PW_ASSIGN(const Capture capture, service.CaptureModel(request));
  line.batch = capture.graph.batch();
  line.summary = Summarise(capture.graph);
  line.alone = SimulateOnOneDevice(capture.graph, nullptr);
  return Ok();
}

// A line for each model and each preset, and the one whose recording it shows: its own, or an
// earlier one of the same sizes.
struct Lines {
  std::vector<Line> lines;
  std::vector<size_t> recorded;  // by line
};

Lines ListLines(const std::vector<ZooModel>& models) {
  Lines all;
  for (const ZooModel& model : models) {
    std::map<std::map<std::string, double>, size_t> known = {{{}, all.lines.size()}};
    all.recorded.push_back(all.lines.size());
    all.lines.push_back({model.name, model.description, model.source});
    for (const ZooPreset& preset : model.presets) {
      all.recorded.push_back(known.emplace(preset.values, all.lines.size()).first->second);
      all.lines.push_back({model.name + "@" + preset.name, model.description, preset.source,
                           preset.cluster, 0, preset.paper_ops});
    }
  }
  return all;
}

// Every recording is on its own: what is measured does not depend on the number of threads.
Result<std::vector<Line>> MeasureAll(const CaptureService& service,
                                     const std::vector<ZooModel>& models, Console& console) {
  constexpr int kMaxThreads = 4;  // each holds a graph, some 100 MB of memory
  Lines all = ListLines(models);
  const auto count = static_cast<int>(all.lines.size());
  std::vector<Status> statuses(all.lines.size(), Ok());
  std::mutex mutex;
  int begun = 0;
  const auto measure = [&](int i) {
    const auto index = static_cast<size_t>(i);
    {
      const std::lock_guard lock(mutex);
      console.Progress(
          fmt::format("recording {}, {} of {}", all.lines[index].name, ++begun, count));
    }
    if (all.recorded[index] == index) statuses[index] = Measure(service, all.lines[index]);
  };
  const auto cores = static_cast<int>(std::thread::hardware_concurrency());
  ThreadPool(std::clamp(cores, 1, kMaxThreads)).ParallelFor(count, measure);
  console.Progress("");
  for (Status& status : statuses) {
    if (!status.ok()) return std::move(status.error());
  }
  for (size_t i = 0; i < all.lines.size(); ++i) {
    const Line& from = all.lines[all.recorded[i]];
    all.lines[i].batch = from.batch;
    all.lines[i].summary = from.summary;
    all.lines[i].alone = from.alone;
  }
  return std::move(all.lines);
}

Json ToJson(const Line& line) {
  return {{"name", line.name},
          {"description", line.description},
          {"source", line.source},
          {"batch", line.batch},
          {"ops", line.summary.ops},
          {"parameters", line.summary.parameters},
          {"forward_macs", line.summary.phase_macs[0]},
          {"total_macs", line.summary.TotalMacs()},
          {"persistent_bytes", line.summary.memory.persistent.count},
          {"cluster", line.cluster.empty() ? Json(nullptr) : Json(line.cluster)},
          {"paper_ops", line.paper_ops == 0 ? Json(nullptr) : Json(line.paper_ops)},
          {"one_device_peak_bytes", line.alone ? Json(line.alone->peak.count) : Json(nullptr)}};
}

Json ToJson(const ZooModel& model) {
  Json object = {
      {"name", model.name}, {"description", model.description}, {"source", model.source}};
  object["parameters"] = Json::array();
  for (const ZooParameter& p : model.parameters) {
    object["parameters"].push_back({{"name", p.name},
                                    {"meaning", p.meaning},
                                    {"value", p.value},
                                    {"least", p.min},
                                    {"most", p.max},
                                    {"whole", p.whole}});
  }
  object["presets"] = Json::array();
  for (const ZooPreset& preset : model.presets) {
    object["presets"].push_back(
        {{"name", preset.name},
         {"source", preset.source},
         {"values", preset.values},
         {"cluster", preset.cluster.empty() ? Json(nullptr) : Json(preset.cluster)},
         {"paper_ops", preset.paper_ops == 0 ? Json(nullptr) : Json(preset.paper_ops)}});
  }
  return object;
}

class ZooCommand : public Command {
 public:
  CommandLine Register(CommandLine program) override {
    CommandLine app = program.AddCommand("zoo", "List the models that can be recorded");
    app.AddOption("MODEL", model_,
                  "Show the parameters and presets of one model; MODEL@PRESET: its values");
    app.Footer(
        "Ops, parameters and memory are those of a training step with Adam at the model's own\n"
        "batch size. MODEL@PRESET has the sizes of a paper; \"paper's\" are the ops of the "
        "paper's\n"
        "TensorFlow graph, where it says so.\n"
        "Examples:\n"
        "  placewright zoo\n"
        "  placewright zoo bert-base\n"
        "  placewright zoo --json");
    return app;
  }

  Result<int> Run(Context& context) override {
    PW_ASSIGN(const TorchLibrary library, TorchLibrary::Open());
    PW_ASSIGN(const CaptureService* service, CaptureServiceOf(library));
    const std::vector<ZooModel> models = service->Zoo();
    if (!model_.empty()) {
      PW_RETURN_IF_ERROR(PrintModel(models, context.console));
      return 0;
    }
    PW_ASSIGN(const std::vector<Line> lines, MeasureAll(*service, models, context.console));
    if (context.console.json) {
      Json object;
      object["schema"] = "placewright.zoo/1";
      object["models"] = Json::array();
      for (const Line& line : lines) object["models"].push_back(ToJson(line));
      context.console.PrintJson(object);
    } else {
      PrintTable(lines, context.console);
    }
    return 0;
  }

 private:
  template <class Item>
  static Result<typename std::vector<Item>::const_iterator> Find(const std::vector<Item>& items,
                                                                 const std::string& what,
                                                                 const std::string& name) {
    const auto it = std::find_if(items.begin(), items.end(),
                                 [&](const Item& item) { return item.name == name; });
    if (it != items.end()) return it;
    std::vector<std::string> names;
    for (const Item& item : items) names.push_back(item.name);
    return MakeError(
        ErrorCode::kUnknownName,
        fmt::format("there is no {} \"{}\"{}", what, Printable(name, 80), DidYouMean(name, names)),
        "", "`placewright zoo` lists the models and their presets.");
  }

  static std::string RenderParameters(const ZooModel& model, const Console& console) {
    Table table({{"parameter"}, {"value", Table::Align::kRight}, {"meaning"}});
    for (const ZooParameter& p : model.parameters) {
      table.AddRow({p.name, fmt::format("{}", p.value), p.meaning});
    }
    return table.Render(console.style());
  }

  // The model at the preset's values.
  static void PrintPreset(ZooModel model, const ZooPreset& preset, Console& console) {
    for (ZooParameter& p : model.parameters) {
      const auto value = preset.values.find(p.name);
      if (value != preset.values.end()) p.value = value->second;
    }
    const ZooPreset chosen = preset;
    model.presets = {chosen};
    if (console.json) {
      Json object = ToJson(model);
      object["schema"] = "placewright.zoo-model/1";
      console.PrintJson(object);
      return;
    }
    console.Print(
        fmt::format("{}@{}: {} ({})\n", model.name, chosen.name, model.description, chosen.source) +
        RenderParameters(model, console));
    if (!chosen.cluster.empty()) console.Print("machines: " + chosen.cluster + "\n");
  }

  static void PrintTable(const std::vector<Line>& lines, Console& console) {
    constexpr Table::Align kRight = Table::Align::kRight;
    Table table({{"model"},
                 {"batch", kRight},
                 {"ops", kRight},
                 {"paper's", kRight},
                 {"parameters", kRight},
                 {"forward GMAC", kRight},
                 {"one device", kRight},
                 {"what it is"}});
    for (const Line& line : lines) {
      table.AddRow({line.name, FormatCount(line.batch), FormatCount(line.summary.ops),
                    line.paper_ops == 0 ? "" : FormatCount(line.paper_ops),
                    FormatCount(line.summary.parameters),
                    fmt::format("{:.1f}", static_cast<double>(line.summary.phase_macs[0]) / 1e9),
                    line.alone ? FormatBytes(line.alone->peak) : "-", line.description});
    }
    console.Print(table.Render(console.style()));
  }

  Status PrintModel(const std::vector<ZooModel>& models, Console& console) const {
    const size_t at = model_.find('@');
    PW_ASSIGN(const auto it, Find(models, "model", model_.substr(0, at)));
    if (at != std::string::npos) {
      PW_ASSIGN(const auto preset,
                Find(it->presets, "preset of " + it->name, model_.substr(at + 1)));
      PrintPreset(*it, *preset, console);
      return Ok();
    }
    if (console.json) {
      Json object = ToJson(*it);
      object["schema"] = "placewright.zoo-model/1";
      console.PrintJson(object);
      return Ok();
    }
    std::string text = fmt::format("{}: {} ({})\n", it->name, it->description, it->source);
    text += RenderParameters(*it, console);
    for (const ZooPreset& preset : it->presets) {
      text += fmt::format("{}@{} ({}):", it->name, preset.name, preset.source);
      for (const auto& [name, value] : preset.values) text += fmt::format(" {}={}", name, value);
      text += "\n";
    }
    console.Print(text);
    return Ok();
  }

  std::string model_;
};

}  // namespace

std::unique_ptr<Command> MakeZooCommand() { return std::make_unique<ZooCommand>(); }

}  // namespace placewright
