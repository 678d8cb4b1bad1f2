#include "aten/blas.h"

#include <dlfcn.h>

#include <filesystem>

namespace placewright {

std::string BlasLibrary() {
  const void* const sgemm = dlsym(RTLD_DEFAULT, "sgemm_");
  Dl_info info{};
  if (sgemm == nullptr || dladdr(sgemm, &info) == 0 || info.dli_fname == nullptr) return "";
  std::error_code error;
  const std::filesystem::path file = std::filesystem::canonical(info.dli_fname, error);
  return error ? info.dli_fname : file.string();
}

}  // namespace placewright
