// Steps over real processes, with Gloo between them: made ones, and models of the zoo compiled by drawn layouts. Each
// process is this executable again, with the variables of torchrun, or started by mpirun: it executes its part
// (PartOfARank) and says on standard output how that ended.
#include <ATen/Parallel.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/stop.h"
#include "layouts_over_ranks.h"
#include "runtime/executor/made_step.h"
#include "runtime/process/crossing_order.h"
#include "runtime/process/rendezvous.h"
#include "torch_api/process_environment.h"

namespace placewright {
namespace {

constexpr int kLayouts = 20;
constexpr int kModels = 7;          // of RunDrawnLayouts
constexpr size_t kMostDevices = 4;  // their parts have four rows in all

std::string Variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// A port that is free now.
class FreePort {
 public:
  explicit FreePort(bool keeps) {
    socket_ = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(keeps ? INADDR_ANY : INADDR_LOOPBACK);
    EXPECT_EQ(bind(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    socklen_t length = sizeof address;
    EXPECT_EQ(getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &length), 0);
    number = ntohs(address.sin_port);
    if (keeps) {
      EXPECT_EQ(listen(socket_, 1), 0);
    } else {
      close(socket_);
      socket_ = -1;
    }
  }
  ~FreePort() {
    if (socket_ >= 0) close(socket_);
  }
  FreePort(const FreePort&) = delete;
  FreePort& operator=(const FreePort&) = delete;

  int number = 0;

 private:
  int socket_ = -1;
};

using Variables = std::vector<std::pair<std::string, std::string>>;

// A program and what it has written.
class Process {
 public:
  Process(const std::vector<std::string>& command, const Variables& variables)
      : output_(testing::TempDir() + "placewright-rank-" + std::to_string(getpid()) + "-" +
                std::to_string(number_++)) {
    pid_ = fork();
    if (pid_ != 0) return;
    for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
    const int file = open(output_.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
    dup2(file, 1);
    dup2(file, 2);
    std::vector<char*> arguments;
    for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    execvp(arguments[0], arguments.data());
    _exit(127);
  }
  ~Process() {
    End();
    unlink(output_.c_str());
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  // Whether it ends by then.
  bool EndsBy(Clock::time_point end) {
    int status = 0;
    while (!ended_ && Clock::now() < end) {
      ended_ = waitpid(pid_, &status, WNOHANG) == pid_;
      if (!ended_) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return ended_;
  }
  void End() {
    if (ended_) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    ended_ = true;
  }
  std::string Output() const {
    std::ifstream file(output_);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }

 private:
  static inline int number_ = 0;
  const std::string output_;
  pid_t pid_ = -1;
  bool ended_ = false;
};

std::string ThisProgram() {
  std::array<char, 4096> path{};
  const ssize_t length = readlink("/proc/self/exe", path.data(), path.size() - 1);
  return std::string(path.data(), static_cast<size_t>(length));
}

const std::vector<std::string>& RankCommand() {
  static const std::vector<std::string> command = {ThisProgram(), "--gtest_filter=*PartOfARank",
                                                   "--gtest_also_run_disabled_tests"};
  return command;
}

Variables OfRank(int rank, int ranks, int port, const std::string& task) {
  return {{"RANK", std::to_string(rank)},        {"WORLD_SIZE", std::to_string(ranks)},
          {"LOCAL_RANK", std::to_string(rank)},  {"MASTER_ADDR", "127.0.0.1"},
          {"MASTER_PORT", std::to_string(port)}, {"OMP_NUM_THREADS", "1"},
          {"PLACEWRIGHT_TEST_TASK", task}};
}

std::vector<std::unique_ptr<Process>> StartRanks(int ranks, int port, const std::string& task,
                                                 int first = 0) {
  std::vector<std::unique_ptr<Process>> started;
  for (int rank = first; rank < ranks; ++rank) {
    started.push_back(std::make_unique<Process>(RankCommand(), OfRank(rank, ranks, port, task)));
  }
  return started;
}

// How a rank's part ended: "ended: ..." in its output.
std::string EndOf(const std::string& output) {
  const size_t at = output.find("ended: ");
  return at == std::string::npos ? "none in: " + output
                                 : output.substr(at + 7, output.find('\n', at) - at - 7);
}

// A step whose devices lie on the ranks at random, executed twice.
Status RunLayout(uint64_t seed, Rendezvous& ranks) {
  Random random(seed);
  const auto count = static_cast<size_t>(ranks.size());
  const size_t devices = count + random.Below(kMostDevices - count + 1);
  const RandomStep made(devices, seed);
  IdVector<DeviceId, int32_t> rank_of;
  for (size_t d = 0; d < devices; ++d) {
    rank_of.push_back(static_cast<int32_t>(d < count ? d : random.Below(count)));
  }
  std::vector<std::unique_ptr<RuntimeDevice>> own;
  for (const DeviceId device : IdRange<DeviceId>(devices)) {
    own.push_back(rank_of[device] == ranks.rank()
                      ? MakeCpuDevice({"cpu:" + std::to_string(device.value()), 1, 0})
                      : nullptr);
  }
  ExecutorOptions options;
  options.channel = &ranks.channel();
  options.rank_of = rank_of;
  PW_ASSIGN(const auto executor,
            Executor::Create(*made.graph, made.step.placement, std::move(own), options));
  for (int repeat = 0; repeat < 2; ++repeat) {
    PW_RETURN_IF_ERROR(made.step.Set(*executor));
    PW_RETURN_IF_ERROR(executor->Step());
    for (size_t d = 0; d < devices; ++d) {
      if (rank_of[DeviceId(d)] != ranks.rank()) continue;
      if (SameBits(executor->Output(d), made.step.values.at(made.now[d]))) continue;
      return MakeError(ErrorCode::kInternal, fmt::format("other bits in layout {}", seed));
    }
  }
  return Ok();
}

// Of each model.
int LayoutsOfEach() {
  const std::string stated = Variable("PLACEWRIGHT_LAYOUTS");
  return stated.empty() ? 2 : std::stoi(stated);
}

Status RunTask(const std::string& task) {
  PW_ASSIGN(const auto environment, ReadProcessEnvironment(ThisEnvironment()));
  if (!environment) return MakeError(ErrorCode::kUsage, "no environment");
  const bool faulty = environment->rank == 1;
  RendezvousOptions options;
  options.start = std::chrono::milliseconds(task == "port" ? 2000 : 20'000);
  options.silence = std::chrono::milliseconds(task == "compiled" ? 20'000 : 3000);
  if (task == "hang") options.messages.timeout = std::chrono::milliseconds(2000);
  options.facts = {{"the version", "1"}, {"the plan", task == "plan" && faulty ? "b" : "a"}};
  PW_ASSIGN(const auto ranks, Rendezvous::Join(*environment, options));
  if (task == "compiled") {
    const Status ran = RunDrawnLayouts(*ranks, LayoutsOfEach());
    return ran.ok() ? ranks->Finish() : ranks->Fail(ran.error());
  }
  for (uint64_t seed = 0; task != "layouts" || seed < kLayouts; ++seed) {
    if (faulty && seed == 3 && task == "kill") raise(SIGKILL);
    if (faulty && seed == 3 && task == "stop") raise(SIGSTOP);
    if (environment->rank == 0 && seed == 3 && task == "stop-first") raise(SIGSTOP);
    if (faulty && seed == 3 && task == "hang") std::this_thread::sleep_for(std::chrono::minutes(2));
    const Status ran = faulty && seed == 3 && task == "fail"
                           ? Status(MakeError(ErrorCode::kDeviceMemory, "no room", "op x"))
                           : RunLayout(seed % kLayouts, *ranks);
    if (!ran.ok()) return ranks->Fail(ran.error());
  }
  return ranks->Finish();
}

// Not a test of its own: what each process of the tests below does.
TEST(DISABLED_Processes, PartOfARank) {
  at::set_num_threads(1);
  const Status ended = RunTask(Variable("PLACEWRIGHT_TEST_TASK"));
  printf("ended: %s\n", ended.ok() ? "well" : ended.error().ToString().c_str());
}

Clock::time_point In(int seconds) { return Clock::now() + std::chrono::seconds(seconds); }

// That ranks without a fault may take.
int Seconds() { return 120 * std::max(1, LayoutsOfEach() / 3); }

void ExpectAllEndWell(std::vector<std::unique_ptr<Process>>& ranks) {
  const Clock::time_point end = In(Seconds());
  for (const auto& rank : ranks) {
    EXPECT_TRUE(rank->EndsBy(end));
    EXPECT_EQ(EndOf(rank->Output()), "well");
  }
}

// Every rank that is left ends within half a minute, and says why: all parts of `why`.
void ExpectAllEnd(std::vector<std::unique_ptr<Process>>& ranks, size_t but,
                  const std::vector<std::string>& why) {
  const Clock::time_point end = In(30);
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    if (rank == but) continue;
    EXPECT_TRUE(ranks[rank]->EndsBy(end)) << "rank " << rank;
    for (const std::string& part : why) {
      EXPECT_NE(EndOf(ranks[rank]->Output()).find(part), std::string::npos)
          << "rank " << rank << ": " << EndOf(ranks[rank]->Output());
    }
  }
}

constexpr size_t kNone = 99;

size_t CountOf(const std::string& part, const std::string& text) {
  size_t count = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++count;
  return count;
}

// Made layouts, and models compiled by drawn ones: the bits of one process.
struct Start {
  const char* task;
  int ranks;
};

class LayoutsOverRanks : public testing::TestWithParam<Start> {
 protected:
  // On all ranks.
  void ExpectCompared(const std::string& output) {
    if (GetParam().task != std::string("compiled")) return;
    const std::string line = "layouts compared: ";
    EXPECT_EQ(CountOf(line, output), static_cast<size_t>(GetParam().ranks)) << output;
    const size_t at = output.find(line);
    ASSERT_NE(at, std::string::npos);
    EXPECT_GE(std::atoi(&output[at + line.size()]), kModels * LayoutsOfEach());
  }
};

TEST_P(LayoutsOverRanks, GiveTheBitsOfOneProcess) {
  auto ranks = StartRanks(GetParam().ranks, FreePort(false).number, GetParam().task);
  ExpectAllEndWell(ranks);
  std::string output;
  for (const auto& rank : ranks) output += rank->Output();
  ExpectCompared(output);
}

TEST_P(LayoutsOverRanks, AndSoStartedByMpirun) {
  if (std::system("command -v mpirun > /dev/null") != 0) GTEST_SKIP() << "no mpirun";
  std::vector<std::string> command = {
      "mpirun", "--oversubscribe", "--bind-to", "none", "-n", std::to_string(GetParam().ranks)};
  for (const std::string& word : RankCommand()) command.push_back(word);
  Process mpirun(command, {{"OMPI_ALLOW_RUN_AS_ROOT", "1"},
                           {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
                           {"MASTER_PORT", std::to_string(FreePort(false).number)},
                           {"OMP_NUM_THREADS", "1"},
                           {"PLACEWRIGHT_TEST_TASK", GetParam().task}});
  ASSERT_TRUE(mpirun.EndsBy(In(Seconds())));
  const std::string output = mpirun.Output();
  EXPECT_EQ(CountOf("ended: well", output), static_cast<size_t>(GetParam().ranks)) << output;
  ExpectCompared(output);
}

INSTANTIATE_TEST_SUITE_P(Processes, LayoutsOverRanks,
                         testing::Values(Start{"layouts", 2}, Start{"layouts", 4},
                                         Start{"compiled", 2}, Start{"compiled", 4}),
                         [](const auto& test) {
                           return test.param.task + std::to_string(test.param.ranks);
                         });

TEST(Processes, AKilledRankEndsTheOthers) {
  auto ranks = StartRanks(3, FreePort(false).number, "kill");
  ExpectAllEnd(ranks, 1, {"rank 1"});
}

TEST(Processes, AStoppedRankEndsTheOthers) {
  auto ranks = StartRanks(3, FreePort(false).number, "stop");
  ExpectAllEnd(ranks, 1, {"rank 1", "has not been heard of for 3 s"});
}

// The one that holds the store.
TEST(Processes, SoDoesRankZero) {
  auto ranks = StartRanks(2, FreePort(false).number, "stop-first");
  ExpectAllEnd(ranks, 0, {"rank 0", "has not answered for 3 s"});
}

// It counts on, so that it is alive; what waits for its message says so, and for what.
TEST(Processes, AHangingRankEndsTheOthers) {
  auto ranks = StartRanks(2, FreePort(false).number, "hang");
  ExpectAllEnd(ranks, 1, {"rank 1 has ", " nothing for 2 s"});
  const std::string end = EndOf(ranks[0]->Output());
  EXPECT_TRUE(end.find("collective ") != std::string::npos ||
              end.find("transfer of op") != std::string::npos ||
              end.find("op op") != std::string::npos)
      << end;
}

TEST(Processes, AnErrorOfOneRankIsThatOfAll) {
  auto ranks = StartRanks(3, FreePort(false).number, "fail");
  ExpectAllEnd(ranks, kNone, {"op x", "no room"});
  EXPECT_NE(ranks[0]->Output().find("rank 1 on "), std::string::npos);
}

TEST(Processes, RanksWithAnotherPlanDoNotBegin) {
  auto ranks = StartRanks(3, FreePort(false).number, "plan");
  ExpectAllEnd(ranks, kNone,
               {"plan-mismatch", "the ranks differ in the plan: rank 1 on ", " has b, rank 0 on "});
}

TEST(Processes, APortInUseIsNamed) {
  const FreePort port(/*keeps=*/true);
  auto ranks = StartRanks(2, port.number, "port");
  ExpectAllEnd(ranks, kNone, {std::to_string(port.number)});
  EXPECT_NE(ranks[0]->Output().find("in use"), std::string::npos) << ranks[0]->Output();
}

TEST(Processes, ARankThatDoesNotComeIsNamed) {
  const int port = FreePort(false).number;
  Process first(RankCommand(), OfRank(0, 2, port, "port"));
  EXPECT_TRUE(first.EndsBy(In(30)));
  EXPECT_NE(EndOf(first.Output()).find("rank 1 of 2 did not come within 2 s"), std::string::npos)
      << EndOf(first.Output());
}

TEST(Processes, ARankWithoutRank0SaysSo) {
  const int port = FreePort(false).number;
  Process second(RankCommand(), OfRank(1, 2, port, "port"));
  EXPECT_TRUE(second.EndsBy(In(30)));
  EXPECT_NE(EndOf(second.Output())
                .find("rank 1 does not reach rank 0 at 127.0.0.1:" + std::to_string(port)),
            std::string::npos)
      << EndOf(second.Output());
  // LibTorch logs the frames of each of its attempts.
  EXPECT_EQ(second.Output().find("frame #"), std::string::npos) << second.Output();
}

}  // namespace
}  // namespace placewright
