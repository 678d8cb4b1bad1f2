#include "runtime/process/nccl_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

namespace placewright {
namespace {

// Sets `function` to what has that name in the library or in one that it needs; whether there is such a thing.
template <typename Function>
bool Look(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

Error NotHere(const std::string& why) {
  return MakeError(ErrorCode::kMissingRuntime, why, "",
                   "Tensors of GPUs cross between ranks by the host's memory then.");
}

}  // namespace

Result<NcclLibrary> NcclLibrary::Find() {
  // It stays loaded: LibTorch needs it.
  void* const torch = dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_NOLOAD);
  if (torch == nullptr) return NotHere("this LibTorch has no CUDA");
  NcclLibrary found;
  const bool all = Look(torch, "ncclGetVersion", found.GetVersion) &&
                   Look(torch, "ncclGetUniqueId", found.GetUniqueId) &&
                   Look(torch, "ncclCommInitRankConfig", found.CommInitRankConfig) &&
                   Look(torch, "ncclCommGetAsyncError", found.CommGetAsyncError) &&
                   Look(torch, "ncclCommAbort", found.CommAbort) &&
                   Look(torch, "ncclSend", found.Send) && Look(torch, "ncclRecv", found.Receive) &&
                   Look(torch, "ncclGetErrorString", found.GetErrorString) &&
                   Look(torch, "cudaStreamCreateWithFlags", found.StreamCreate) &&
                   Look(torch, "cudaStreamQuery", found.StreamQuery) &&
                   Look(torch, "cudaStreamDestroy", found.StreamDestroy) &&
                   Look(torch, "cudaGetLastError", found.ForgetLastError) &&
                   Look(torch, "cudaDeviceGetPCIBusId", found.DeviceGetPciBusId) &&
                   Look(torch, "cudaGetErrorString", found.GetCudaErrorString);
  if (!all || found.GetVersion(&found.version) != kSuccess || found.version < kOldestVersion) {
    return NotHere(fmt::format("this LibTorch has no NCCL from {} on that others may call",
                               NcclVersionText(kOldestVersion)));
  }
  return found;
}

std::string NcclVersionText(int version) {
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

}  // namespace placewright
