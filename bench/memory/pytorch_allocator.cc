// PyTorch's own caching allocator on a driver that only counts: what it reserves for a sequence of
// allocations and frees, without a GPU. Its libraries are those of a CUDA build of PyTorch.
//
//   T=.../site-packages/torch; N=.../site-packages/nvidia/cuda_runtime
//   g++ -std=c++17 -D_GLIBCXX_USE_CXX11_ABI=0 -I$T/include -I$N/include bench/memory/pytorch_allocator.cc \
//       -L$T/lib -lc10_cuda -lc10 -Wl,-rpath,$T/lib:$N/lib -L$N/lib -l:libcudart.so.12 -rdynamic -o pytorch_allocator
//   ./pytorch_allocator SEED COUNT [LIMIT]
//
// Prints what is reserved after every 500th of COUNT operations, and the maximum. The sequence is that of
// caching_allocator_test.cc: numbers of a linear congruential generator.
#include <c10/cuda/CUDACachingAllocator.h>
#include <cuda_runtime_api.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {
uint64_t next_address = uint64_t{1} << 40, held = 0, limit = uint64_t{1} << 60;
std::vector<std::pair<uint64_t, uint64_t>> segments;
}  // namespace

extern "C" {
cudaError_t cudaMalloc(void** pointer, size_t size) {
  if (held + size > limit) return cudaErrorMemoryAllocation;
  *pointer = reinterpret_cast<void*>(next_address);
  segments.emplace_back(next_address, size);
  next_address += size;
  held += size;
  return cudaSuccess;
}
cudaError_t cudaFree(void* pointer) {
  for (auto& [address, size] : segments) {
    if (address != reinterpret_cast<uint64_t>(pointer)) continue;
    held -= size;
    size = 0;
  }
  return cudaSuccess;
}
cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  *free = limit - held;
  *total = limit;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceCount(int* count) { return *count = 1, cudaSuccess; }
cudaError_t cudaGetDevice(int* device) { return *device = 0, cudaSuccess; }
cudaError_t cudaSetDevice(int) { return cudaSuccess; }
cudaError_t cudaGetLastError() { return cudaSuccess; }
cudaError_t cudaPeekAtLastError() { return cudaSuccess; }
cudaError_t cudaDeviceSynchronize() { return cudaSuccess; }
cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaDriverGetVersion(int* version) { return *version = 12040, cudaSuccess; }
cudaError_t cudaRuntimeGetVersion(int* version) { return *version = 12040, cudaSuccess; }
cudaError_t cudaGetDeviceProperties_v2(cudaDeviceProp* properties, int) {
  std::memset(properties, 0, sizeof(*properties));
  properties->totalGlobalMem = limit;
  return cudaSuccess;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus* status) {
  return *status = cudaStreamCaptureStatusNone, cudaSuccess;
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* lowest, int* highest) {
  return *lowest = *highest = 0, cudaSuccess;
}
}

int main(int argc, char** argv) {
  uint64_t state = std::strtoull(argv[1], nullptr, 10);
  const int count = std::atoi(argv[2]);
  if (argc > 3) limit = std::strtoull(argv[3], nullptr, 10);
  const auto next = [&] {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state >> 33;
  };
  namespace allocator = c10::cuda::CUDACachingAllocator;
  allocator::init(1);
  std::vector<void*> live;
  for (int i = 1; i <= count; ++i) {
    const bool frees = live.size() > 40 || (!live.empty() && next() % 5 < 2);
    if (frees) {
      const size_t at = next() % live.size();
      allocator::raw_delete(live[at]);
      live[at] = live.back();
      live.pop_back();
    } else {
      const uint64_t scale = uint64_t{1} << (9 + next() % 17);  // 512 B to 32 MiB
      live.push_back(allocator::raw_alloc(scale + next() % scale));
    }
    if (i % 500 == 0) {
      std::printf("%lld\n",
                  static_cast<long long>(allocator::getDeviceStats(0).reserved_bytes[0].current));
    }
  }
  const auto stats = allocator::getDeviceStats(0);
  std::printf("maximum %lld, retries %lld\n", static_cast<long long>(stats.reserved_bytes[0].peak),
              static_cast<long long>(stats.num_alloc_retries));
}
