// Runs the built program as its users do: a process with arguments, a folder and an environment.
#ifndef PLACEWRIGHT_TESTS_CLI_PROGRAM_RUNNER_H_
#define PLACEWRIGHT_TESTS_CLI_PROGRAM_RUNNER_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace placewright {

using Json = nlohmann::json;

struct Outcome {
  int status = -1;  // exit status; 128 + signal where a signal ended it
  std::string out, err;

  // Standard output as JSON; fails the test where it is anything but one object.
  Json json() const;
};

struct RunOptions {
  std::vector<std::string> environment;  // "NAME=VALUE", beside PATH, LC_ALL=C and TERM=xterm
  bool terminal = false;                 // both outputs are one terminal; all text is in `out`
  int signal = 0;                        // sent `signal_after` seconds after the start
  double signal_after = 0;
  std::string signal_behind;   // a file of the folder: sent when it is there instead
  int signal_count = 1;        // so many times, one right after the other
  uint64_t address_space = 0;  // limit in bytes (RLIMIT_AS); 0: none
  std::string errors_to;       // a file that standard error goes to
  bool close_output = false;   // standard output has no reader: the pipe is closed at once
  std::string input_from;      // a file that is standard input, through a pipe
};

// A test with a folder of its own, in which the program runs.
class ProgramTest : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  Outcome Run(const std::vector<std::string>& arguments, const RunOptions& options = {}) const;
  // As Run, with --json appended.
  Outcome RunJson(std::vector<std::string> arguments, const RunOptions& options = {}) const;

  std::string Write(const std::string& name, std::string_view content) const;  // its path
  std::string Read(const std::string& name) const;
  bool Exists(const std::string& name) const;
  const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path folder_;
};

// Of commands that need LibTorch: skipped where the program was built without it.
class TorchProgramTest : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
#ifndef PLACEWRIGHT_HAS_TORCH
    GTEST_SKIP() << "built without LibTorch";
#endif
  }
};

// The text of golden/NAME.txt beside this file. PLACEWRIGHT_UPDATE_GOLDENS=1 in the environment of
// the test makes it `actual`.
std::string Golden(const std::string& name, const std::string& actual);

}  // namespace placewright

#endif  // PLACEWRIGHT_TESTS_CLI_PROGRAM_RUNNER_H_
