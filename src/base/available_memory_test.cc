#include "base/available_memory.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace placewright {
namespace {

TEST(AvailableMemory, IsThereAndMoreThanNothing) {
  ASSERT_TRUE(AvailableMemory().has_value());
  EXPECT_GT(AvailableMemory()->count, 0);
  EXPECT_GT(AddressSpace().count, 1 << 20);
}

// A limit of the process counts, less what it has taken.
TEST(AvailableMemory, IsWhatALimitLeaves) {
  const pid_t child = fork();
  if (child == 0) {
    const int64_t used = AddressSpace().count, spare = int64_t{64} << 20;
    const rlimit limit = {static_cast<rlim_t>(used + spare), RLIM_INFINITY};
    if (setrlimit(RLIMIT_AS, &limit) != 0) _exit(3);
    const auto left = AvailableMemory();
    _exit(left && left->count <= spare && left->count > spare / 2 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace placewright
