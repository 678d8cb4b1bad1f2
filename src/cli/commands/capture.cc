#include <fmt/format.h>

#include <charconv>

#include "base/text.h"
#include "cli/commands/command.h"
#include "cli/request/batch_proof.h"
#include "cli/request/configurations.h"
#include "cli/request/model_source.h"
#include "cli/request/models.h"
#include "cli/request/step_state.h"
#include "cli/request/unrecorded.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/options.h"
#include "cli/terminal/output_path.h"
#include "formats/text/file.h"
#include "report/graph_summary.h"

namespace placewright {
namespace {

// NAME=VALUE of each --param.
Status ParseParameters(const std::vector<std::string>& texts,
                       std::map<std::string, double>& values) {
  for (const std::string& text : texts) {
    const size_t equals = text.find('=');
    double value = 0;
    const char* end = text.data() + text.size();
    const auto [rest, error] =
        equals == std::string::npos
            ? std::from_chars_result{text.data(), std::errc::invalid_argument}
            : std::from_chars(text.data() + equals + 1, end, value);
    if (error != std::errc() || rest != end || equals == 0) {
      return MakeError(ErrorCode::kUsage,
                       fmt::format("--param {} is not NAME=NUMBER", Printable(text, 80)), "",
                       "Such as --param layers=6; `placewright zoo MODEL` lists the names.");
    }
    if (!values.emplace(text.substr(0, equals), value).second) {
      return MakeError(ErrorCode::kUsage,
                       fmt::format("{} is given twice", Printable(text.substr(0, equals), 80)));
    }
  }
  return Ok();
}

class CaptureCommand : public Command {
 public:
  CommandLine Register(CommandLine program) override {
    CommandLine app =
        program.AddCommand("capture", "Record a step of a model of the zoo or of a file");
    app.AddOption(
           "MODEL", request_.model,
           "Model of the zoo (`placewright zoo`), MODEL@PRESET, file: TorchScript, ONNX, or "
           "hf:PATH, a folder with the config.json of a model of transformers, or such a file")
        .Required();
    app.AddOption("--batch", batch_, "Batch size (default: the model's)")
        .TypeName("N")
        .Check(IntegerWithin(1, (uint64_t{1} << 31) - 1))
        .Group("Input");
    AddRepeated(app, "--param", parameters_, "NAME=NUMBER",
                "Another number of a model of the zoo; may be repeated", "Input");
    AddRepeated(app, "--input", options_.inputs, "NAME=DTYPE[SIZES]",
                "Input of a TorchScript file: x=f32[B,3,224,224], 'ids=i64[B,128]<30522' "
                "(numbers below 30522); B: the batch. May be repeated",
                "Input");
    AddDimensionOption(app, &options_.dimensions);
    app.AddOption("--inputs", options_.input_file,
                  "Of an ONNX model: what inputs hold (safetensors) on which a size, an axis or a "
                  "condition depends")
        .TypeName("FILE")
        .Group("Input");
    app.AddOption("--train", training_,
                  "Update with adam or sgd; none: a forward pass alone (default adam)")
        .TypeName("NAME")
        .Group("Input");
    app.AddOption("--loss", options_.loss,
                  "What a model from a file is trained on: cross-entropy, mean-squared, mean, or "
                  "output: its own loss (default cross-entropy)")
        .TypeName("NAME")
        .Group("Input");
    app.AddOption(
           "--amp", amp_,
           "Automatic mixed precision: products and convolutions in f16 (with loss scaling) or "
           "bf16")
        .TypeName("TYPE")
        .Group("Input");
    app.AddFlag("--one-batch", one_batch_,
                "Record at this batch alone, without proving how the step scales")
        .Group("Input");
    app.AddOption("-o,--output", output_,
                  "File to write, gzip if it ends with .gz (default: MODEL.step.json.gz, here)")
        .TypeName("FILE")
        .Group("Output");
    app.AddOption("--weights", weights_,
                  "Of an ONNX model: write the contents of its parameters and constants, for run "
                  "--load (safetensors)")
        .TypeName("FILE")
        .Group("Output");
    app.Footer(
        "Nothing is computed and no weights are held.\n"
        "Examples:\n"
        "  placewright capture bert-base -o bert.json.gz\n"
        "  placewright capture bert-large --batch 8 --train sgd\n"
        "  placewright capture bert-base --param layers=6 --param sequence=128 --train none\n"
        "  placewright capture net.pt --input 'x=f32[B,3,224,224]' --batch 32 --train sgd\n"
        "  placewright capture model.onnx --train adam --batch 32 -o step.json.gz\n"
        "  placewright capture hf:MODEL --batch 8 -o llama.json.gz");
    return app;
  }

  Result<int> Run(Context& context) override {
    if (IsConfiguration(request_.model)) return RunConfiguration(context);
    PW_ASSIGN(request_.training, ParseTraining(training_));
    if (!amp_.empty()) {
      PW_ASSIGN(request_.precision, ParseAmp(amp_));
    }
    PW_RETURN_IF_ERROR(ParseParameters(parameters_, request_.values));
    if (batch_) {
      if (!request_.values.emplace("batch", static_cast<double>(*batch_)).second) {
        return MakeError(ErrorCode::kUsage, "--batch and --param batch=... give the same number",
                         "", "Leave one of them out.");
      }
    }
    request_.keep_contents = !weights_.empty();
    if (Status source = ChooseSource(options_, &request_); !source.ok()) {
      return WithRecorder(std::move(source.error()), request_.model);
    }
    request_.prove_batch = !one_batch_;
    if (request_.model == kStandardInput) {
      return MakeError(ErrorCode::kUsage, "capture reads models of the zoo and files, not \"-\"",
                       "", "Save the model to a file.");
    }
    if (output_.empty()) output_ = RecordedPath(request_.model);
    std::vector<NamedFile> read = {{"the model", request_.model},
                                   {"--inputs", options_.input_file}};
    if (request_.imported) {
      for (const std::string& file : request_.imported->files) {
        read.push_back({"the model's data", file});
      }
    }
    PW_RETURN_IF_ERROR(
        RejectOverwriting({{"the recorded step", output_}, {"the weights", weights_}}, read));
    // Recording may take minutes: what cannot be written is said before.
    PW_RETURN_IF_ERROR(ProbeWritable(output_));
    if (!weights_.empty()) PW_RETURN_IF_ERROR(ProbeWritable(weights_));
    request_.interrupted = &CatchInterrupts();
    Result<RecordedModel> made = RecordModel(request_, output_);
    if (!made.ok()) return WithRecorder(std::move(made.error()), request_.model);
    RecordedModel recorded = made.Take();
    if (!weights_.empty()) {
      const std::vector<std::string> missing = MissingWeights(recorded.capture);
      if (!missing.empty()) {
        recorded.capture.notes.push_back(fmt::format(
            "{} of the step not in {}, such as {}: the model's file does not hold {}",
            missing.size() == 1 ? "a tensor" : fmt::format("{} tensors", missing.size()),
            Printable(weights_, 200), Printable(missing[0], 80),
            missing.size() == 1 ? "it" : "them"));
      }
    }
    recorded.capture.notes.insert(recorded.capture.notes.begin(), request_.notes.begin(),
                                  request_.notes.end());
    for (const std::string& note : recorded.capture.notes) context.console.Note("note: " + note);
    // The recorder has looked at it; making the file of a long step takes longer than recording it.
    if (*request_.interrupted) {
      return MakeError(ErrorCode::kInterrupted, "interrupted; nothing was written");
    }
    PW_RETURN_IF_ERROR(WriteFileAtomically(output_, recorded.bytes));
    if (!weights_.empty()) PW_RETURN_IF_ERROR(SaveWeights(weights_, recorded.capture));
    Report(recorded, context.console);
    return 0;
  }

 private:
  // hf:PATH: the exporter for PyTorch users records it.
  Result<int> RunConfiguration(Context& context) {
    const auto refuse = [](const std::string& option, const std::string& instead) {
      return MakeError(ErrorCode::kUsage, option + " is not for models of transformers (hf:PATH)",
                       "", instead);
    };
    if (!options_.inputs.empty())
      return refuse("--input", "The configuration has the sizes; hf:PATH@sequence=N.");
    if (!options_.dimensions.empty())
      return refuse("--dim", "--batch N and hf:PATH@sequence=N change sizes.");
    if (!options_.input_file.empty()) return refuse("--inputs", "Leave it out.");
    if (!options_.loss.empty()) return refuse("--loss", "The model brings its own loss.");
    if (!amp_.empty()) return refuse("--amp", "hf:PATH@dtype=bf16 makes all weights bfloat16.");
    if (!weights_.empty()) return refuse("--weights", "Weights are not read.");
    PW_ASSIGN(const Training training, ParseTraining(training_));
    std::vector<std::string> words;
    if (training == Training::kNone) words.push_back("--inference");
    if (training == Training::kSgd) words.insert(words.end(), {"--optimizer", "sgd"});
    if (one_batch_) words.push_back("--one-batch");
    for (const std::string& parameter : parameters_)
      words.insert(words.end(), {"--set", parameter});
    if (output_.empty()) output_ = RecordedPath(request_.model);
    PW_RETURN_IF_ERROR(ProbeWritable(output_));
    PW_ASSIGN(const RecordedConfiguration recorded,
              RecordConfiguration(request_.model, batch_, words, output_,
                                  [&](std::string_view text) { context.console.Note(text); }));
    for (const std::string& note : recorded.notes) context.console.Note("note: " + note);
    PW_RETURN_IF_ERROR(WriteFileAtomically(output_, recorded.bytes));
    PW_ASSIGN(LoadedGraph loaded, LoadGraph(output_));
    RecordedModel model;
    model.capture.graph = std::move(loaded.graph);
    model.capture.notes = recorded.notes;
    model.bytes = recorded.bytes;
    request_.training = training;
    Report(model, context.console);
    return 0;
  }

  void Report(const RecordedModel& recorded, Console& console) const {
    const Graph& graph = recorded.capture.graph;
    const GraphSummary summary = Summarise(graph);
    if (console.json) {
      Json object;
      object["schema"] = "placewright.capture/1";
      object["model"] = request_.model;
      object["train"] = ToString(request_.training);
      const bool with_loss =
          request_.source != ModelSource::kZoo && request_.training != Training::kNone;
      object["loss"] = with_loss ? Json(ToString(request_.loss)) : Json(nullptr);
      object["amp"] = amp_.empty() ? Json(nullptr) : Json(amp_);
      object["batch"] = graph.batch();
      object["batch_proof"] = BatchProofJson(graph);
      object["ops"] = summary.ops;
      object["edges"] = summary.edges;
      object["parameters"] = summary.parameters;
      object["macs"] = {{"forward", summary.phase_macs[0]},
                        {"backward", summary.phase_macs[1]},
                        {"optimizer", summary.phase_macs[2]},
                        {"total", summary.TotalMacs()}};
      object["notes"] = recorded.capture.notes;
      object["file"] = output_;
      object["sha256"] = Sha256(recorded.bytes);
      object["weights"] = weights_.empty() ? Json(nullptr) : Json(weights_);
      console.PrintJson(object);
      return;
    }
    const std::string batch = graph.batch() == 0 ? "" : fmt::format(", batch {}", graph.batch());
    console.Print(fmt::format(
        "{}{}: {}, {} parameters, {:.1f} GMAC, written to {}\n", Printable(request_.model, 200),
        batch, CountOf(summary.ops, "op"), FormatCount(summary.parameters),
        static_cast<double>(summary.TotalMacs()) / 1e9, Printable(output_, 4096)));
    console.Print(DescribeBatchProof(graph) + "\n");
  }

  CaptureRequest request_;
  ModelOptions options_;
  std::optional<int64_t> batch_;
  bool one_batch_ = false;
  std::vector<std::string> parameters_;
  std::string training_ = "adam", output_, weights_, amp_;
};

}  // namespace

std::unique_ptr<Command> MakeCaptureCommand() { return std::make_unique<CaptureCommand>(); }

}  // namespace placewright
