#include "base/thread_pool.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <new>
#include <stdexcept>
#include <thread>

namespace placewright {
namespace {

TEST(ThreadPool, RunsEveryIndexOnce) {
  for (const int threads : {1, 4}) {
    ThreadPool pool(threads);
    std::vector<std::atomic<int>> runs(100);
    pool.ParallelFor(100, [&](int i) { ++runs[static_cast<size_t>(i)]; });
    for (const auto& count : runs) EXPECT_EQ(count, 1);
  }
}

// METIS, which takes signals for itself, relies on both (graph/partition/partition.h).
TEST(ThreadPool, TheCallerBeginsAndWorkersReceiveNoSignals) {
  ThreadPool pool(4);
  const std::thread::id caller = std::this_thread::get_id();
  for (int round = 0; round < 100; ++round) {
    std::thread::id first;
    std::atomic<int> open{0};  // workers' bodies with some signal not blocked
    pool.ParallelFor(8, [&](int i) {
      if (i == 0) first = std::this_thread::get_id();
      if (std::this_thread::get_id() == caller) return;
      sigset_t blocked;
      pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
      for (const int signal : {SIGTERM, SIGINT, SIGHUP}) open += sigismember(&blocked, signal) == 0;
    });
    EXPECT_TRUE(first == caller);
    EXPECT_EQ(open, 0);
  }
  sigset_t blocked;
  pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
  EXPECT_EQ(sigismember(&blocked, SIGTERM), 0);
}

// Every thread throws, workers and caller: one exception arrives, after all have stopped, and the
// pool works again.
TEST(ThreadPool, ExceptionsReachTheCallerAfterAllThreadsHaveStopped) {
  for (const int threads : {1, 4}) {
    ThreadPool pool(threads);
    for (int round = 0; round < 50; ++round) {
      std::atomic<int> inside{0};
      const auto body = [&](int) {
        ++inside;
        struct Leave {
          std::atomic<int>& count;
          ~Leave() { --count; }
        } leave{inside};
        throw std::bad_alloc();
      };
      EXPECT_THROW(pool.ParallelFor(64, body), std::bad_alloc);
      EXPECT_EQ(inside, 0);
    }
    std::atomic<int> runs{0};
    pool.ParallelFor(64, [&](int) { ++runs; });
    EXPECT_EQ(runs, 64);
  }
}

// Only index 0 throws: what others do is done, or not begun.
TEST(ThreadPool, NoFurtherIndexBeginsAfterAnException) {
  ThreadPool pool(1);
  int runs = 0;
  const auto body = [&](int i) {
    ++runs;
    if (i == 2) throw std::runtime_error("third");
  };
  EXPECT_THROW(pool.ParallelFor(10, body), std::runtime_error);
  EXPECT_EQ(runs, 3);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// In a child process whose address space holds a few stacks only.
TEST(ThreadPoolDeathTest, RunsWithTheThreadsThatItGets) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto run = [] {
    int64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const rlim_t bytes = static_cast<rlim_t>(pages) * 4096 + (rlim_t{192} << 20);
    const rlimit limit{bytes, bytes};
    if (setrlimit(RLIMIT_AS, &limit) != 0) std::exit(3);
    ThreadPool pool(1024);
    std::atomic<int> runs{0};
    pool.ParallelFor(100, [&](int) { ++runs; });
    std::_Exit(pool.threads() < 1024 && runs == 100 ? 0 : 1);
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(0), "");
}
#endif

}  // namespace
}  // namespace placewright
