// A driver's library with two GPUs that four NVLink lanes join, for tests of `cluster detect`.
#include <cstdio>
#include <cstring>

namespace {
struct Memory {
  unsigned long long total, free, used;
};
struct PciInfo {
  char legacy_bus_id[16];
  unsigned int domain, bus, device, pci_device_id, pci_subsystem_id;
  char bus_id[32];
};
char gpus[2];  // a handle points at its GPU's place here
long IndexOf(void* handle) { return static_cast<char*>(handle) - gpus; }
void Address(long gpu, PciInfo* pci) {
  std::snprintf(pci->bus_id, sizeof pci->bus_id, "00000000:%s:00.0", gpu == 0 ? "1A" : "1B");
}
}  // namespace

extern "C" {
int nvmlInit_v2() { return 0; }
int nvmlShutdown() { return 0; }
int nvmlDeviceGetCount_v2(unsigned int* count) {
  *count = 2;
  return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned int index, void** handle) {
  *handle = gpus + index;
  return index < 2 ? 0 : 2;
}
int nvmlDeviceGetName(void*, char* name, unsigned int size) {
  std::snprintf(name, size, "NVIDIA GeForce RTX 3090");
  return 0;
}
int nvmlDeviceGetMemoryInfo(void*, Memory* memory) {
  memory->total = 25'769'803'776;  // 24 GiB
  return 0;
}
int nvmlDeviceGetPciInfo_v3(void* handle, PciInfo* pci) {
  Address(IndexOf(handle), pci);
  return 0;
}
int nvmlDeviceGetMaxPcieLinkGeneration(void*, unsigned int* generation) {
  *generation = 4;
  return 0;
}
int nvmlDeviceGetMaxPcieLinkWidth(void*, unsigned int* width) {
  *width = 8;
  return 0;
}
int nvmlDeviceGetNvLinkState(void*, unsigned int link, int* up) {
  *up = link < 4 ? 1 : 0;
  return link < 4 ? 0 : 2;
}
int nvmlDeviceGetNvLinkRemotePciInfo_v2(void* handle, unsigned int, PciInfo* pci) {
  Address(1 - IndexOf(handle), pci);
  return 0;
}
int nvmlDeviceGetP2PStatus(void*, void*, int, int* status) {
  *status = 0;  // over the lanes
  return 0;
}
int nvmlDeviceGetTopologyCommonAncestor(void*, void*, int* level) {
  *level = 30;  // the host bridge
  return 0;
}
}
