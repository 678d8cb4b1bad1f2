#include "program_runner.h"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace placewright {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr double kTimeLimit = 120;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

struct Child {
  pid_t pid = -1;
  int out = -1, err = -1;  // reading ends; -1: none
};

// The reading end of a pipe that a process of its own fills with the file.
int PipeOf(const std::string& path) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) _exit(126);
  if (fork() != 0) {
    close(ends[1]);
    return ends[0];
  }
  signal(SIGPIPE, SIG_IGN);
  std::ifstream file(path, std::ios::binary);
  std::array<char, 65536> buffer;
  while (file.read(buffer.data(), buffer.size()) || file.gcount() > 0) {
    if (write(ends[1], buffer.data(), static_cast<size_t>(file.gcount())) < 0) break;
  }
  _exit(0);
}

[[noreturn]] void Execute(const std::vector<std::string>& arguments, const RunOptions& options,
                          const std::string& folder) {
  std::vector<std::string> words = {PLACEWRIGHT_PROGRAM};
  words.insert(words.end(), arguments.begin(), arguments.end());
  // The first of two equal names counts.
  std::vector<std::string> environment = options.environment;
  environment.insert(environment.end(), {"PATH=/usr/bin:/bin", "LC_ALL=C", "TERM=xterm"});
  const auto pointers = [](std::vector<std::string>& strings) {
    std::vector<char*> list;
    for (std::string& s : strings) list.push_back(s.data());
    list.push_back(nullptr);
    return list;
  };
  if (chdir(folder.c_str()) != 0) _exit(126);
  if (!options.input_from.empty()) dup2(PipeOf(options.input_from), STDIN_FILENO);
  if (!options.errors_to.empty()) dup2(open(options.errors_to.c_str(), O_WRONLY), STDERR_FILENO);
  signal(SIGPIPE, SIG_DFL);
  if (options.address_space > 0) {
    const rlimit limit{options.address_space, options.address_space};
    setrlimit(RLIMIT_AS, &limit);
  }
  execve(PLACEWRIGHT_PROGRAM, pointers(words).data(), pointers(environment).data());
  _exit(127);
}

Child Start(const std::vector<std::string>& arguments, const RunOptions& options,
            const std::string& folder) {
  Child child;
  if (options.terminal) {
    child.pid = forkpty(&child.out, nullptr, nullptr, nullptr);
    if (child.pid == 0) Execute(arguments, options, folder);
    return child;
  }
  std::array<int, 2> out{}, err{};
  if (pipe2(out.data(), O_CLOEXEC) != 0 || pipe2(err.data(), O_CLOEXEC) != 0) return child;
  child.pid = fork();
  if (child.pid == 0) {
    dup2(out[1], STDOUT_FILENO);
    dup2(err[1], STDERR_FILENO);
    Execute(arguments, options, folder);
  }
  close(out[1]);
  close(err[1]);
  child.out = out[0];
  child.err = err[0];
  if (options.close_output) {
    close(child.out);
    child.out = -1;
  }
  return child;
}

// Reads what is there; false once the other side has closed.
bool Drain(int descriptor, std::string& text) {
  std::array<char, 65536> buffer;
  const ssize_t got = read(descriptor, buffer.data(), buffer.size());
  if (got > 0) text.append(buffer.data(), static_cast<size_t>(got));
  return got > 0 || (got < 0 && errno == EINTR);
}

}  // namespace

Json Outcome::json() const {
  const Json object = Json::parse(out, nullptr, false);
  EXPECT_TRUE(object.is_object()) << "standard output: " << out << "\nstandard error: " << err;
  return object;
}

void ProgramTest::SetUp() {
  std::string pattern = (fs::temp_directory_path() / "placewright-test-XXXXXX").string();
  ASSERT_NE(mkdtemp(pattern.data()), nullptr);
  folder_ = pattern;
}

void ProgramTest::TearDown() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

Outcome ProgramTest::Run(const std::vector<std::string>& arguments,
                         const RunOptions& options) const {
  const Clock::time_point start = Clock::now();
  Child child = Start(arguments, options, folder_.string());
  Outcome outcome;
  bool signalled = options.signal == 0;
  while (child.out >= 0 || child.err >= 0) {
    std::array<pollfd, 2> polled = {{{child.out, POLLIN, 0}, {child.err, POLLIN, 0}}};
    poll(polled.data(), polled.size(), 20);
    const bool due = options.signal_behind.empty() ? SecondsSince(start) >= options.signal_after
                                                   : Exists(options.signal_behind);
    if (!signalled && due) {
      for (int i = 0; i < options.signal_count; ++i) {
        kill(child.pid, options.signal);
        usleep(50'000);  // two that are pending at once are one
      }
      signalled = true;
    }
    if (SecondsSince(start) > kTimeLimit) {
      ADD_FAILURE() << "the program did not end within " << kTimeLimit << " s";
      kill(child.pid, SIGKILL);
      break;
    }
    if (polled[0].revents != 0 && !Drain(child.out, outcome.out)) {
      close(child.out);
      child.out = -1;
    }
    if (polled[1].revents != 0 && !Drain(child.err, outcome.err)) {
      close(child.err);
      child.err = -1;
    }
  }
  if (child.out >= 0) close(child.out);
  if (child.err >= 0) close(child.err);
  int status = 0;
  waitpid(child.pid, &status, 0);
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return outcome;
}

Outcome ProgramTest::RunJson(std::vector<std::string> arguments, const RunOptions& options) const {
  arguments.push_back("--json");
  return Run(arguments, options);
}

std::string ProgramTest::Write(const std::string& name, std::string_view content) const {
  const fs::path path = folder_ / name;
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << content;
  return path.string();
}

std::string ProgramTest::Read(const std::string& name) const {
  std::ifstream file(folder_ / name, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

bool ProgramTest::Exists(const std::string& name) const { return fs::exists(folder_ / name); }

std::string Golden(const std::string& name, const std::string& actual) {
  const std::filesystem::path path =
      std::filesystem::path(PLACEWRIGHT_SOURCE_DIR) / "tests/cli/golden" / (name + ".txt");
  if (std::getenv("PLACEWRIGHT_UPDATE_GOLDENS") != nullptr) std::ofstream(path) << actual;
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace placewright
