// A process that has opened the libraries of LibTorch has one copy of everything in
// libplacewright.so, and of METIS and Scotch, which keep global state.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <link.h>

#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "graph/partition/partition.h"

namespace placewright {
namespace {

std::string BaseName(const char* path) { return std::filesystem::path(path).filename().string(); }

std::vector<std::string> LoadedObjects() {
  std::vector<std::string> names;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* to) {
        static_cast<std::vector<std::string>*>(to)->push_back(BaseName(info->dlpi_name));
        return 0;
      },
      &names);
  return names;
}

size_t CountOf(const std::vector<std::string>& names, const std::string& prefix) {
  size_t count = 0;
  for (const std::string& name : names) count += name.starts_with(prefix);
  return count;
}

TEST(OneCopy, LibrariesOfLibTorchUseThatOfTheProgram) {
  auto* const partition = reinterpret_cast<void*>(&PartitionMetis);
  Dl_info here{};
  ASSERT_NE(dladdr(partition, &here), 0);
  ASSERT_NE(here.dli_sname, nullptr);
  EXPECT_TRUE(BaseName(here.dli_fname).starts_with("libplacewright.so")) << here.dli_fname;

  std::istringstream paths(PLACEWRIGHT_TORCH_LIBRARIES);
  int opened = 0;
  for (std::string path; std::getline(paths, path, ':'); ++opened) {
    void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    ASSERT_NE(library, nullptr) << dlerror();
    // Of the library itself or of what it needs: the very function that this program calls.
    EXPECT_EQ(dlsym(library, here.dli_sname), partition) << path;
  }
  EXPECT_EQ(opened, 3);
  const std::vector<std::string> loaded = LoadedObjects();
  EXPECT_EQ(CountOf(loaded, "libplacewright.so"), 1u);
  EXPECT_EQ(CountOf(loaded, "libmetis.so"), 1u);
  EXPECT_EQ(CountOf(loaded, "libscotch") - CountOf(loaded, "libscotcherr"), 1u);
}

}  // namespace
}  // namespace placewright
