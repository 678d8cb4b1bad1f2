#include "base/available_memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <string>

namespace placewright {
namespace {

// The number behind a word that begins a line, or the only one of a file; nothing where there is none ("max").
std::optional<int64_t> NumberIn(const char* path, const std::string& behind = "") {
  std::ifstream file(path);
  std::string word;
  while (!behind.empty() && word != behind) {
    if (!(file >> word)) return std::nullopt;
  }
  int64_t number = 0;
  if (!(file >> number)) return std::nullopt;
  return number;
}

// Of the control group that this process sees as the topmost (a container's own). Files that it has read count there, and
// go where memory is short.
std::optional<int64_t> LeftOfControlGroup() {
  const auto limit = NumberIn("/sys/fs/cgroup/memory.max");
  const auto used = NumberIn("/sys/fs/cgroup/memory.current");
  if (!limit || !used) return std::nullopt;
  return *limit - *used + NumberIn("/sys/fs/cgroup/memory.stat", "inactive_file").value_or(0);
}

std::optional<int64_t> LeftOfLimit() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return static_cast<int64_t>(std::min<rlim_t>(limit.rlim_cur, INT64_MAX)) - AddressSpace().count;
}

std::optional<int64_t> LeftOfMachine() {
  const auto kibibytes = NumberIn("/proc/meminfo", "MemAvailable:");
  if (!kibibytes) return std::nullopt;
  return *kibibytes * 1024;
}

}  // namespace

Bytes AddressSpace() {
  return Bytes(NumberIn("/proc/self/statm").value_or(0) * sysconf(_SC_PAGESIZE));
}

std::optional<Bytes> AvailableMemory() {
  std::optional<int64_t> left = LeftOfMachine();
  for (const auto other : {LeftOfControlGroup(), LeftOfLimit()}) {
    if (other) left = std::min(left.value_or(*other), *other);
  }
  if (!left) return std::nullopt;
  return Bytes(std::max<int64_t>(*left, 0));
}

}  // namespace placewright
