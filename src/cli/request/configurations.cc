#include "cli/request/configurations.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/library_folder.h"
#include "base/text.h"
#include "cli/request/temporary_folder.h"
#include "formats/text/file.h"
#include "formats/text/json.h"

extern char** environ;

namespace placewright {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "hf:";
// The exporter's exit statuses (docs/formats/pytorch.md).
constexpr int kUsageStatus = 2, kMissingStatus = 6;
constexpr int kNoProgram = 127;  // as shells say it

// What stands behind the prefix: the path, and what is changed.
struct Named {
  std::string path;
  std::vector<std::pair<std::string, std::string>> changes;
};

Result<Named> Parse(const std::string& graph) {
  Named named;
  named.path = graph.substr(kPrefix.size());
  const size_t at = named.path.rfind('@');
  if (at != std::string::npos && named.path.find('=', at) != std::string::npos) {
    std::string rest = named.path.substr(at + 1) + ",";
    named.path.resize(at);
    for (size_t comma; (comma = rest.find(',')) != std::string::npos; rest.erase(0, comma + 1)) {
      const std::string change = rest.substr(0, comma);
      const size_t equals = change.find('=');
      if (equals == std::string::npos || equals == 0) {
        return MakeError(ErrorCode::kUsage,
                         fmt::format("\"{}\" in {} is not NAME=VALUE", Printable(change, 80),
                                     Printable(graph, 200)),
                         "", "Such as hf:PATH@sequence=4096,num_hidden_layers=4.");
      }
      named.changes.emplace_back(change.substr(0, equals), change.substr(equals + 1));
    }
  }
  if (named.path.empty()) {
    return MakeError(ErrorCode::kUsage, "hf: names no folder or file", "",
                     "Such as hf:PATH, a folder with the config.json of a model of transformers.");
  }
  return named;
}

constexpr std::string_view kExporter = "placewright_export.py";

Result<std::string> FindExporter() {
  std::string path = ExporterPath();
  if (path != kExporter) return path;
  return MakeError(
      ErrorCode::kMissingRuntime, "the exporter placewright_export.py was not found", "",
      "Install Placewright whole, or record the model with the exporter of its sources.");
}

// What the program writes to its standard error, to the end; whole lines of a recording that gets on are handed to `say`.
std::string ReadErrors(int pipe, const RecordingSays& say) {
  constexpr size_t kKept = 1 << 20;
  std::string all, line;
  char buffer[4096];
  for (;;) {
    const ssize_t got = read(pipe, buffer, sizeof(buffer));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return all;
    for (const char c : std::string_view(buffer, static_cast<size_t>(got))) {
      if (c != '\n') {
        if (line.size() < kKept) line += c;
        continue;
      }
      if (say && line.starts_with("record")) say(line);
      all += line + "\n";
      if (all.size() > 2 * kKept) all.erase(0, all.size() - kKept);
      line.clear();
    }
  }
}

// Runs a program with its output in a file; its exit status, kNoProgram where it cannot be started, and a negative
// number of the signal that ended it.
int Run(const std::vector<std::string>& words, const std::string& output, const RecordingSays& say,
        std::string* errors) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return kNoProgram;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  constexpr int kFlags = O_WRONLY | O_CREAT | O_TRUNC;
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output.c_str(), kFlags, 0600);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  pid_t child = 0;
  const int failed =
      posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (failed == 0) *errors = ReadErrors(ends[0], say);
  close(ends[0]);
  if (failed != 0) return kNoProgram;
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return kNoProgram;
  }
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

// What the exporter says is wrong: its last lines, without its own name.
std::string LastWords(std::string text) {
  constexpr std::string_view kOwn = "placewright_export.py: ";
  const size_t own = text.rfind(kOwn);
  if (own != std::string::npos) text.erase(0, own + kOwn.size());
  while (!text.empty() && text.back() == '\n') text.pop_back();
  constexpr size_t kLongest = 3000;
  if (text.size() > kLongest) text.erase(0, text.size() - kLongest);
  return text;
}

Error Failed(const std::string& graph, const std::string& python, int status,
             const std::string& errors) {
  const std::string words = Printable(LastWords(errors), 4000);
  const std::string named = Printable(python, 200);
  if (status == kNoProgram) {
    return MakeError(
        ErrorCode::kMissingRuntime,
        fmt::format("{}: there is no \"{}\" to record it with", Printable(graph, 200), named), "",
        "Install Python with PyTorch and transformers, and name it: "
        "PLACEWRIGHT_PYTHON=/path/to/python3.");
  }
  if (status == kMissingStatus) {
    return MakeError(ErrorCode::kMissingRuntime,
                     fmt::format("{} cannot record {}: {}", named, Printable(graph, 200), words),
                     "",
                     "Install PyTorch and transformers for it (`pip install torch transformers`), "
                     "or name another "
                     "Python: PLACEWRIGHT_PYTHON=/path/to/python3.");
  }
  if (status == -SIGINT)
    return MakeError(ErrorCode::kInterrupted, "interrupted; nothing was written");
  const std::string end =
      status < 0 ? fmt::format("the exporter was ended by signal {}", -status) : words;
  return MakeError(status == kUsageStatus ? ErrorCode::kUsage : ErrorCode::kNotRecordable, end, "",
                   fmt::format("The exporter says more: {} placewright_export.py --help.", named));
}

}  // namespace

std::string ExporterPython() {
  const char* given = std::getenv("PLACEWRIGHT_PYTHON");
  return given != nullptr && *given != '\0' ? given : "python3";
}

std::string ExporterPath() {
  // Installed, in the repository, beside the Python package that the library lies in.
  for (const std::string& folder :
       BesideLibrary({"../share/placewright/python", "../../python", "../.."})) {
    const fs::path file = fs::path(folder) / kExporter;
    std::error_code ignored;
    if (fs::is_regular_file(file, ignored)) return file.string();
  }
  return std::string(kExporter);
}

bool IsConfiguration(const std::string& graph) { return graph.starts_with(kPrefix); }

std::string ConfigurationName(const std::string& graph) {
  const Result<Named> named = Parse(graph);
  if (!named.ok()) return "model";
  fs::path path(named.value().path);
  if (!path.has_filename()) path = path.parent_path();
  if (path.filename() == "config.json") path = fs::absolute(path).parent_path();
  std::string name = path.filename().string();
  if (name == "." || name == "..")
    name = fs::absolute(path).lexically_normal().parent_path().filename().string();
  if (name.ends_with(".json")) name.resize(name.size() - 5);
  for (const auto& [key, value] : named.value().changes) name += fmt::format("-{}{}", key, value);
  const auto odd = [](char c) { return c == '/' || c == ' '; };
  std::replace_if(name.begin(), name.end(), odd, '_');
  return name.empty() ? "model" : name;
}

Result<RecordedConfiguration> RecordConfiguration(const std::string& graph,
                                                  std::optional<int64_t> batch,
                                                  const std::vector<std::string>& options,
                                                  const std::string& file,
                                                  const RecordingSays& say) {
  PW_ASSIGN(const Named named, Parse(graph));
  PW_ASSIGN(const std::string exporter, FindExporter());
  const std::string python = ExporterPython();
  const TemporaryFolder folder;
  if (folder.path().empty()) {
    return MakeError(ErrorCode::kFileUnwritable, "there is no folder for temporary files", "",
                     "Name one: TMPDIR=/path.");
  }
  const std::string step = folder.path() + (file.ends_with(".gz") ? "/step.json.gz" : "/step.json");
  std::vector<std::string> words = {python, exporter, std::string(kPrefix) + named.path,
                                    "-o",   step,     "--json"};
  if (batch) words.insert(words.end(), {"--batch", std::to_string(*batch)});
  for (const auto& [key, value] : named.changes) {
    constexpr std::array kOptions = {"sequence", "optimizer", "dtype",
                                     "task",     "lora",      "frozen-weights"};
    const bool option = std::find(kOptions.begin(), kOptions.end(), key) != kOptions.end();
    if (option) words.insert(words.end(), {"--" + key, value});
    if (!option) words.insert(words.end(), {"--set", key + "=" + value});
  }
  words.insert(words.end(), options.begin(), options.end());
  const std::string output = folder.path() + "/output";
  std::string errors;
  const int status = Run(words, output, say, &errors);
  if (status != 0) return Failed(graph, python, status, errors);
  RecordedConfiguration recorded;
  PW_ASSIGN(recorded.bytes, ReadFileRaw(step));
  PW_ASSIGN(const std::string text, ReadFileRaw(output));
  const size_t brace = text.find("{\"path\"");  // libraries may print in front of it
  const Result<Json> said = ParseJson(brace == std::string::npos ? text : text.substr(brace));
  if (said.ok() && said.value().contains("notes")) {
    for (const Json& note : said.value()["notes"]) {
      if (note.is_string()) recorded.notes.push_back(note.get<std::string>());
    }
  }
  return recorded;
}

}  // namespace placewright
