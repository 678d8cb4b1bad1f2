// The calls of NCCL that links between GPUs make, and those of the CUDA runtime that go with them, as nccl.h (from
// version 2.14 on, where communicators need not block) and cuda_runtime_api.h declare them. They are looked for where
// LibTorch has loaded them, so that no header of theirs is needed, and one program runs with any LibTorch.
#ifndef PLACEWRIGHT_RUNTIME_PROCESS_NCCL_LIBRARY_H_
#define PLACEWRIGHT_RUNTIME_PROCESS_NCCL_LIBRARY_H_

#include <array>
#include <cstddef>
#include <string>

#include "base/result.h"

namespace placewright {

struct NcclLibrary {
  // ncclComm_t, cudaStream_t: never looked into.
  using Comm = struct NcclCommOpaque*;
  using Stream = struct CudaStreamOpaque*;
  struct UniqueId {
    std::array<char, 128> bytes{};
  };
  // ncclConfig_t as of 2.14; later versions read its size and version, and take their defaults for the rest.
  struct Config {
    size_t size = sizeof(Config);
    unsigned int magic = 0xcafebeef;
    unsigned int version = kOldestVersion;
    int blocking = 0;
  };
  static constexpr int kOldestVersion = 21400;
  // ncclResult_t, ncclDataType_t
  static constexpr int kSuccess = 0, kRemoteError = 6, kInProgress = 7, kUint8 = 1;
  // cudaError_t, and a flag of streams: they do not wait for the default stream.
  static constexpr int kCudaNotReady = 600;
  static constexpr unsigned int kNonBlockingStream = 1;

  int (*GetVersion)(int* version) = nullptr;
  int (*GetUniqueId)(UniqueId* id) = nullptr;
  int (*CommInitRankConfig)(Comm* comm, int ranks, UniqueId id, int rank, Config* config) = nullptr;
  int (*CommGetAsyncError)(Comm comm, int* result) = nullptr;
  int (*CommAbort)(Comm comm) = nullptr;
  int (*Send)(const void* data, size_t count, int type, int peer, Comm comm,
              Stream stream) = nullptr;
  int (*Receive)(void* data, size_t count, int type, int peer, Comm comm, Stream stream) = nullptr;
  const char* (*GetErrorString)(int result) = nullptr;

  int (*StreamCreate)(Stream* stream, unsigned int flags) = nullptr;
  int (*StreamQuery)(Stream stream) = nullptr;
  int (*StreamDestroy)(Stream stream) = nullptr;
  int (*ForgetLastError)() = nullptr;  // cudaGetLastError
  int (*DeviceGetPciBusId)(char* id, int length, int device) = nullptr;
  const char* (*GetCudaErrorString)(int error) = nullptr;

  int version = 0;  // as NCCL counts: 22602 is 2.26.2

  // Of the LibTorch that this process has loaded. Errors: kMissingRuntime (it has no CUDA, or an older NCCL).
  static Result<NcclLibrary> Find();
};

// 2.26.2
std::string NcclVersionText(int version);

}  // namespace placewright

#endif  // PLACEWRIGHT_RUNTIME_PROCESS_NCCL_LIBRARY_H_
