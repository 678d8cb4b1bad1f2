#include "cli/shell/completion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <memory>

#include "cli/commands/command.h"
#include "cli/shell/case_tables.h"
#include "cli/shell/known_words.h"
#include "cli/shell/test_tree.h"

namespace placewright {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

TEST(CommandTree, IsWhatTheParserKnows) {
  const CommandNode tree = TestTree();
  ASSERT_EQ(tree.commands.size(), 2u);
  const CommandNode& run = tree.commands[0];
  EXPECT_EQ(run.path, "run");
  ASSERT_EQ(run.arguments.size(), 1u);
  EXPECT_EQ(run.arguments[0].names, std::vector<std::string>{"FILE"});
  EXPECT_TRUE(run.arguments[0].required && run.arguments[0].takes_file);
  ASSERT_EQ(run.options.size(), 4u);  // with --help
  EXPECT_EQ(run.options[1].words, (std::vector<std::string>{"fast", "slow"}));
  EXPECT_EQ(run.options[2].names, (std::vector<std::string>{"-o", "--output"}));
  EXPECT_EQ(run.options[2].value, "FILE");
  EXPECT_EQ(run.options[3].value, "");
  EXPECT_EQ(tree.commands[1].commands[0].path, "show all");
  EXPECT_EQ(tree.commands[1].commands[0].name(), "all");
  EXPECT_EQ(AllCommands(tree).size(), 4u);
}

TEST(CaseTables, HaveABranchForEveryPlace) {
  const auto words = [](const Choices& choices) {
    return std::to_string(choices.words.size()) + (choices.files ? "+files" : "");
  };
  const CaseTables tables = MakeCaseTables(
      TestTree(), {words, [](const CommandNode& command) { return "options of " + command.path; },
                   [&](const CommandNode& command) { return words(ArgumentChoices(command)); }});
  EXPECT_EQ(tables.commands,
            "      '|run') command='run' ;;\n"
            "      '|show') command='show' ;;\n"
            "      'show|all') command='show all' ;;\n");
  EXPECT_EQ(tables.values,
            "    'run|--algo') 2; return ;;\n"
            "    'run|-o'|'run|--output') 0+files; return ;;\n");
  EXPECT_THAT(tables.places, HasSubstr("    'run|dash') options of run ;;\n"
                                       "    'run|word') 0+files ;;\n"));
  EXPECT_THAT(tables.places, HasSubstr("    'show all|word') 1 ;;\n"));
}

// What bash would offer after these words; the last one is being typed.
std::vector<std::string> Bash(const std::vector<std::string>& words,
                              const CommandNode& program = TestTree()) {
  std::string line = BashCompletion(program) + "COMP_WORDS=(placewright";
  for (const std::string& word : words) line += " " + ShellQuoted(word);
  line += "); COMP_CWORD=" + std::to_string(words.size()) +
          "; _placewright; printf '%s\\n' \"${COMPREPLY[@]}\"";
  FILE* pipe = popen(("bash -c " + ShellQuoted(line) + " 2>&1").c_str(), "r");
  std::string out;
  std::array<char, 4096> buffer;
  while (fgets(buffer.data(), buffer.size(), pipe) != nullptr) out += buffer.data();
  EXPECT_EQ(pclose(pipe), 0) << out;
  std::vector<std::string> offered;
  for (size_t at = 0; at < out.size(); at = out.find('\n', at) + 1) {
    const std::string word = out.substr(at, out.find('\n', at) - at);
    if (!word.empty()) offered.push_back(word);
  }
  return offered;
}

TEST(Completion, BashFollowsTheCommands) {
  EXPECT_THAT(Bash({""}), ElementsAre("run", "show"));
  EXPECT_THAT(Bash({"r"}), ElementsAre("run"));
  EXPECT_THAT(Bash({"show", ""}), ElementsAre("all"));
  EXPECT_THAT(Bash({"show", "all", ""}), ElementsAre("this"));
  EXPECT_THAT(Bash({"run", "--"}), UnorderedElementsAre("--help", "--algo", "--output", "--fast"));
  EXPECT_THAT(Bash({"run", "--algo", "s"}), ElementsAre("slow"));
  EXPECT_THAT(Bash({"run", "--fast", "x", "--algo", ""}), ElementsAre("fast", "slow"));
  EXPECT_THAT(Bash({"run", "--algo", "=", "f"}), ElementsAre("fast"));
  EXPECT_THAT(Bash({"run", "--algo", "="}), ElementsAre("fast", "slow"));
  EXPECT_THAT(Bash({"run", "-o", "/etc/passw"}), testing::Contains("/etc/passwd"));
  EXPECT_THAT(Bash({"run", "/etc/passw"}), testing::Contains("/etc/passwd"));
  EXPECT_THAT(Bash({"show", "all", "--x"}), IsEmpty());
}

// Wherever a graph may be given, a model of the zoo may be; LibTorch is not asked for their names.
TEST(Completion, ModelsOfTheZooAreGraphs) {
  CLI::App app;
  const std::vector<std::unique_ptr<Command>> commands = MakeCommands();
  for (const auto& command : commands) command->Register(CommandLine(&app));
  const CommandNode program = ReadCommandTree(CommandLine(&app), WordsOfTheProgram());
  for (const char* command : {"plan", "inspect", "simulate", "compare", "capture", "zoo"}) {
    EXPECT_THAT(Bash({command, "bert-"}, program),
                testing::IsSupersetOf({"bert-base", "bert-base@mars", "bert-large", "bert-small"}))
        << command;
    // Bash makes words of their own of the parts; what it replaces stands behind the @.
    EXPECT_THAT(Bash({command, "gnmt-4", "@", "e"}, program), ElementsAre("eagle")) << command;
  }
  EXPECT_THAT(Bash({"plan", "be"}, program), testing::Contains("bert-base"));
  EXPECT_THAT(Bash({"plan", "bert-base", "-c", "4xP"}, program), testing::Contains("4xP100"));
  EXPECT_THAT(Bash({"check", "bert-"}, program), IsEmpty());
}

TEST(Completion, ZshAndFishNameEverything) {
  const std::string zsh = ZshCompletion(TestTree());
  EXPECT_THAT(zsh, HasSubstr("#compdef placewright"));
  EXPECT_THAT(zsh, HasSubstr("'run|--algo') compadd -- 'fast' 'slow'; return ;;"));
  EXPECT_THAT(zsh, HasSubstr("'run|-o'|'run|--output') _files; return ;;"));
  EXPECT_THAT(zsh, HasSubstr("'--fast:Faster: a flag'"));
  EXPECT_THAT(zsh, HasSubstr("'run:Runs '\\''it'\\'''"));
  const std::string fish = FishCompletion(TestTree());
  EXPECT_THAT(fish, HasSubstr("case 'show|all'\n                set command 'show all'"));
  EXPECT_THAT(fish, HasSubstr("'__placewright_at \\'run\\'' -l algo -x -a 'fast slow' -d 'Which'"));
  EXPECT_THAT(fish, HasSubstr("'__placewright_at \\'run\\'' -s o -l output -r -F -d 'Where to'"));
  EXPECT_THAT(fish, HasSubstr("-d 'Runs \\'it\\''"));
}

}  // namespace
}  // namespace placewright
