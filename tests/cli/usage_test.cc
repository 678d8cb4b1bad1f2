// How the program speaks: help, usage errors, streams, colours.
#include <gmock/gmock.h>

#include <fstream>
#include <sstream>

#include "program_runner.h"
#include "small_graphs.h"

namespace placewright {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

using Usage = ProgramTest;

TEST_F(Usage, HelpTextsAreTheGoldenOnes) {
  const std::vector<std::vector<std::string>> commands = {{},
                                                          {"plan"},
                                                          {"inspect"},
                                                          {"advise"},
                                                          {"simulate"},
                                                          {"compare"},
                                                          {"size"},
                                                          {"what-if"},
                                                          {"profile"},
                                                          {"costs"},
                                                          {"costs", "import"},
                                                          {"run"},
                                                          {"validate"},
                                                          {"check"},
                                                          {"export"},
                                                          {"capture"},
                                                          {"train"},
                                                          {"zoo"},
                                                          {"doctor"},
                                                          {"explain"},
                                                          {"completion"},
                                                          {"man"},
                                                          {"cluster"},
                                                          {"cluster", "show"},
                                                          {"cluster", "check"},
                                                          {"cluster", "detect"},
                                                          {"cluster", "amend"},
                                                          {"cluster", "random"},
                                                          {"cluster", "schema"},
                                                          {"bench"},
                                                          {"bench", "simulator"},
                                                          {"bench", "traversal"}};
  for (std::vector<std::string> command : commands) {
    std::string name = "help";
    for (const std::string& word : command) name += "_" + word;
    command.push_back("--help");
    const Outcome run = Run(command);
    EXPECT_EQ(run.status, 0) << name;
    EXPECT_EQ(run.out, Golden(name, run.out)) << name;
    EXPECT_THAT(run.err, IsEmpty()) << name;
    EXPECT_THAT(run.out, HasSubstr("Examples:")) << name;
  }
}

TEST_F(Usage, VersionIsOneLine) {
  const Outcome run = Run({"--version"});
  EXPECT_EQ(run.status, 0);
  EXPECT_THAT(run.out, testing::MatchesRegex("placewright [0-9]+\\.[0-9]+\\.[0-9]+\n"));
}

TEST_F(Usage, UnknownWordsAreNamedWithWhatWasPerhapsMeant) {
  const Outcome command = Run({"insepct", "x"});
  EXPECT_EQ(command.status, 2);
  EXPECT_THAT(command.out, IsEmpty());
  EXPECT_THAT(command.err, HasSubstr("unknown command insepct (did you mean inspect?)"));

  const Outcome option = Run({"plan", "x", "--sed", "3"});
  EXPECT_EQ(option.status, 2);
  EXPECT_THAT(option.err, HasSubstr("unknown option --sed (did you mean --seed"));
  EXPECT_THAT(option.err, HasSubstr("placewright plan --help"));

  const Outcome algorithm = Run({"plan", "x", "-c", "4xP100", "--algo", "hft"});
  EXPECT_EQ(algorithm.status, 2);
  EXPECT_THAT(algorithm.err, HasSubstr("did you mean heft"));

  const Outcome nested = Run({"cluster", "shwo"});
  EXPECT_EQ(nested.status, 2);
  EXPECT_THAT(nested.err, HasSubstr("did you mean show?"));
}

TEST_F(Usage, BadValuesAreUsageErrors) {
  const std::vector<std::vector<std::string>> lines = {
      {"plan"},
      {"plan", "x", "--time", "soon"},
      {"plan", "x", "--time", "-3s"},
      {"plan", "x", "--time", "nan"},
      {"plan", "x", "--iterations", "-1"},
      {"plan", "x", "--iterations", "many"},
      {"plan", "x", "--seed", "-1"},
      {"plan", "x", "--threads", "0"},
      {"plan", "x", "--order", "lifo", "-c", "4xP100"},
      {"plan", "x", "--pin", "everything"},
      {"plan", "x", "--batch", "0"},
      {"plan", "x", "--batch", "2147483648"},
      {"plan", "x", "y"},
      {"inspect", "x", "--depth", "0"},
      {"simulate"},
      {"explain", "no-such-code"},
      {"cluster"},
      {"bench"},
      {"bench", "simulator", "--placement", "sideways"},
      {"bench", "simulator", "--repeat", "0"},
      {"bench", "simulator", "--order", "lifo"},
      {"bench", "simulator", "--fast"},
      {},
  };
  for (const auto& line : lines) {
    const Outcome run = Run(line);
    EXPECT_EQ(run.status, 2) << testing::PrintToString(line) << run.err;
    EXPECT_THAT(run.err, StartsWith("placewright: error: ")) << testing::PrintToString(line);
    EXPECT_THAT(run.out, IsEmpty()) << testing::PrintToString(line);
  }
}

TEST_F(Usage, UsageErrorsComeAsJsonWhereAskedFor) {
  const Outcome run = Run({"plan", "--json", "--tiem", "3"});
  EXPECT_EQ(run.status, 2);
  const Json object = run.json();
  EXPECT_EQ(object["schema"], "placewright.error/1");
  EXPECT_EQ(object["error"]["code"], "usage");
  for (const char* field : {"message", "file", "place", "remedy"}) {
    EXPECT_TRUE(object["error"][field].is_string()) << field;
  }
  EXPECT_THAT(run.err, IsEmpty());
}

TEST_F(Usage, ColoursOnlyOnATerminalAndNeverWithNoColor) {
  RunOptions terminal;
  terminal.terminal = true;
  EXPECT_THAT(Run({"explain"}, terminal).out, HasSubstr("\x1b["));
  terminal.environment = {"NO_COLOR=1"};
  EXPECT_THAT(Run({"explain"}, terminal).out, Not(HasSubstr("\x1b[")));
  terminal.environment = {"TERM=dumb"};
  EXPECT_THAT(Run({"explain"}, terminal).out, Not(HasSubstr("\x1b[")));
  EXPECT_THAT(Run({"explain"}).out, Not(HasSubstr("\x1b[")));
}

TEST_F(Usage, NamesInFilesCannotSteerATerminal) {
  Json graph = ChainGraph(1, 1 << 20);
  graph["name"] = "title\x1b]0;gone\x07\x1b[2J";
  Write("net.json", graph.dump());
  const Outcome run = Run({"inspect", "net.json"});
  EXPECT_THAT(run.out, StartsWith("title?]0;gone??[2J (cost graph)\n"));

  // Device, link, op and tensor names, on a terminal that shows colours.
  graph = ChainGraph(2, 1 << 20);
  std::string text = graph.dump();
  for (const char* name : {"d0", "op0", "w0", "d0>d1", "chain"}) {
    const std::string quoted = "\"" + std::string(name) + "\"";
    const std::string evil = "\"" + std::string(name) + "\\u001b[32m\\nEVIL\"";
    for (size_t at = 0; (at = text.find(quoted, at)) != std::string::npos; at += evil.size()) {
      text.replace(at, quoted.size(), evil);
    }
  }
  Write("evil.json", text);
  RunOptions terminal;
  terminal.terminal = true;
  for (const std::vector<std::string>& line :
       {std::vector<std::string>{"plan", "evil.json", "--iterations", "3"},
        {"simulate", "evil.plan.json", "--schedule", "--memory"},
        {"inspect", "evil.json", "--modules"},
        {"compare", "evil.json", "--iterations", "3"},
        {"check", "evil.plan.json"}}) {
    const Outcome shown = Run(line, terminal);
    EXPECT_EQ(shown.status, 0) << shown.out;
    EXPECT_THAT(shown.out, Not(HasSubstr("[32m\r\nEVIL"))) << line[0];
    EXPECT_THAT(shown.out, Not(HasSubstr("\nEVIL"))) << line[0];
    EXPECT_THAT(shown.out, Not(HasSubstr("\x1b[32m?EVIL"))) << line[0];
  }
}

TEST_F(Usage, OutputOptionsMayStandBeforeTheCommand) {
  EXPECT_EQ(Run({"--json", "explain", "usage"}).json()["code"], "usage");
  EXPECT_THAT(Run({"explain", "graph-shape"}).out, HasSubstr("--dim"));
  EXPECT_THAT(Run({"explain", "heft"}).out, HasSubstr("Topcuoglu"));
  EXPECT_EQ(Run({"--json", "explain", "layout-search"}).json()["space"], "replicated");
  EXPECT_GT(Run({"--json", "explain", "mars"}).json()["settings"].size(), 5u);
  EXPECT_THAT(Run({"explain", "haft"}).err, HasSubstr("heft"));
  EXPECT_EQ(Run({"cluster", "--json", "show", "4xP100"}).json()["schema"],
            "placewright.cluster-show/1");
  const Outcome other = Run({"-c", "4xP100", "plan", "x"});
  EXPECT_EQ(other.status, 2);
  EXPECT_THAT(other.err, HasSubstr("option -c stands before its command"));
}

TEST_F(Usage, HelpIsACommandToo) {
  EXPECT_EQ(Run({"help"}).out, Run({"--help"}).out);
  EXPECT_EQ(Run({"help", "plan"}).out, Run({"plan", "--help"}).out);
  EXPECT_EQ(Run({"help", "cluster", "show"}).out, Run({"cluster", "show", "--help"}).out);
  const Outcome unknown = Run({"help", "plam"});
  EXPECT_EQ(unknown.status, 2);
  EXPECT_THAT(unknown.err, HasSubstr("did you mean plan?"));
}

TEST_F(Usage, HelpAndVersionAreObjectsWhereAskedFor) {
  const Json version = RunJson({"--version"}).json();
  EXPECT_EQ(version["schema"], "placewright.version/1");
  EXPECT_EQ("placewright " + version["version"].get<std::string>() + "\n", Run({"--version"}).out);
  for (const std::vector<std::string>& line :
       {std::vector<std::string>{"--help"}, {"help"}, {"help", "plan"}, {"plan", "--help"}}) {
    const Outcome run = RunJson(line);
    EXPECT_EQ(run.status, 0);
    EXPECT_EQ(run.json()["schema"], "placewright.help/1");
    EXPECT_EQ(run.json()["help"], Run(line).out);
  }
}

TEST_F(Usage, EmptyAndRepeatedValuesAreNamed) {
  for (const std::vector<std::string>& line : {std::vector<std::string>{"plan", "x", "--time", ""},
                                               {"plan", "x", "-o", ""},

                                               {"plan", "x", "--pin", ""},
                                               {"plan", ""},
                                               {"explain", ""},
                                               {"cluster", "show", ""}}) {
    const Outcome run = Run(line);
    EXPECT_EQ(run.status, 2) << testing::PrintToString(line);
    EXPECT_THAT(run.err, HasSubstr("empty")) << testing::PrintToString(line);
  }
  const Outcome twice = Run({"plan", "x", "--time", "3", "--time", "4"});
  EXPECT_EQ(twice.status, 2);
  EXPECT_THAT(twice.err, HasSubstr("--time is given more than once"));
}

TEST_F(Usage, StandardErrorMayBeFull) {
  RunOptions options;
  options.errors_to = "/dev/full";
  EXPECT_EQ(Run({"inspect", "missing.json"}, options).status, 3);
}

TEST_F(Usage, ReaderThatWentAwayIsNoError) {
  RunOptions options;
  options.close_output = true;
  const Outcome run = Run({"explain"}, options);
  EXPECT_EQ(run.status, 0);
  EXPECT_THAT(run.err, IsEmpty());
}

TEST_F(Usage, ExplainKnowsEveryCode) {
  const Json all = RunJson({"explain"}).json();
  ASSERT_GT(all["codes"].size(), 20u);
  for (const Json& entry : all["codes"]) {
    const Outcome one = Run({"explain", entry["code"].get<std::string>()});
    EXPECT_EQ(one.status, 0);
    EXPECT_THAT(one.out, HasSubstr(entry["remedy"].get<std::string>()));
  }
  const Json infeasible = RunJson({"explain", "4"}).json();
  ASSERT_EQ(infeasible["codes"].size(), 1u);
  EXPECT_EQ(infeasible["codes"][0]["code"], "infeasible");
}

TEST_F(Usage, DoctorSaysWhatIsHere) {
  const Outcome run = RunJson({"doctor"});
  EXPECT_EQ(run.status, 0);
  const Json object = run.json();
  EXPECT_TRUE(object["ok"].get<bool>());
  std::vector<std::string> names;
  for (const Json& check : object["checks"]) names.push_back(check["name"]);
  EXPECT_THAT(names, testing::IsSupersetOf({"machine", "folder", "gpus", "libtorch"}));
  EXPECT_THAT(Run({"doctor"}).out, HasSubstr("machine"));
}

// OpenBLAS before 0.3.25 takes kernels without AVX on a CPU that is newer than itself.
TEST_F(Usage, BlasKernelsAreThoseOfTheCpuUnlessTheEnvironmentSaysOtherwise) {
  std::stringstream cpu;
  cpu << std::ifstream("/proc/cpuinfo").rdbuf();
  const auto torch = [&](std::vector<std::string> environment) {
    RunOptions options;
    options.environment = std::move(environment);
    const Json object = RunJson({"doctor"}, options).json();
    for (const Json& check : object["checks"]) {
      if (check["name"] == "libtorch") return check;
    }
    return Json();
  };
  const Json stated = torch({"OPENBLAS_CORETYPE=Prescott"});
  ASSERT_TRUE(stated.contains("detail"));
  const std::string detail = stated["detail"];
  if (detail.find("(Prescott)") == std::string::npos ||
      detail.find("openblas-pthread") != std::string::npos ||
      cpu.str().find(" avx2") == std::string::npos) {
    GTEST_SKIP() << "no OpenBLAS that chooses kernels, or a CPU without AVX2";
  }
  EXPECT_THAT(stated["remedy"].get<std::string>(), HasSubstr("set OPENBLAS_CORETYPE="));
  const Json chosen = torch({});
  EXPECT_THAT(chosen["detail"].get<std::string>(), testing::Not(HasSubstr("(Prescott)")));
  EXPECT_EQ(chosen["remedy"], "");
}

TEST_F(Usage, DoctorOpensTheTorchLibraryOnlyIfItsInterfaceIsOurs) {
  const auto detail = [&](const std::string& library) {
    RunOptions options;
    options.environment = {"PLACEWRIGHT_TORCH_LIBRARY=" + library};
    const Json object = RunJson({"doctor"}, options).json();
    for (const Json& check : object["checks"]) {
      if (check["name"] == "libtorch") {
        return check["state"].get<std::string>() + ": " + check["detail"].get<std::string>();
      }
    }
    return std::string();
  };
  EXPECT_THAT(detail(PLACEWRIGHT_FAKE_TORCH), StartsWith("ok: LibTorch 9.9.9, 3 CUDA device(s)"));
  EXPECT_THAT(detail(PLACEWRIGHT_STALE_TORCH),
              testing::ContainsRegex("interface version [0-9]+, this program needs [0-9]+"));
  EXPECT_THAT(detail(Write("broken.so", "no library")), StartsWith("absent: cannot be opened"));
}

}  // namespace
}  // namespace placewright
