// The parts of the catalogue, by sort of hardware. Every row carries its source.
//
// Rates are dense (no structured sparsity) and at boost clock on GPUs, at base clock on CPUs. f32
// is the rate of float arithmetic proper: TF32 and float on AMD's matrix cores, which frameworks
// use on request, are not counted. Where hardware has no half or 8-bit arithmetic of its own,
// frameworks compute in float: the float rate stands there.
#ifndef PLACEWRIGHT_CLUSTER_CATALOGUE_ROWS_H_
#define PLACEWRIGHT_CLUSTER_CATALOGUE_ROWS_H_

#include <string_view>
#include <vector>

#include "cluster/cluster.h"

namespace placewright {

// Peer to peer over PCIe. GeForce and TITAN boards from Turing on have none: NVIDIA's answer of
// December 2022 in its developers' forum ("Standard nVidia CUDA tests fail with dual RTX 4090"), NCCL's
// authors (github.com/NVIDIA/nccl/issues/1086, 1309), of Turing Puget Systems ("P2P peer-to-peer on
// NVIDIA RTX 2080Ti vs GTX 1080Ti GPUs"). Intel documents none for Arc.
inline constexpr bool kNoPeerToPeer = false;

// An accelerator with memory of its own.
struct AcceleratorRow {
  std::string_view name, architecture;
  PeakRates tera;        // in 10^12 operations per second
  double gb_per_second;  // of its memory, in 10^9 bytes
  int64_t gib;           // of memory; data sheets write GB
  std::string_view source;
  bool p2p = true;       // over PCIe (DeviceKind::p2p)
  int64_t kept_mib = 0;  // of the memory by the driver, where it says what is left
};

std::vector<AcceleratorRow> NvidiaRows();
std::vector<AcceleratorRow>
GeForceRows();  // GTX 10, RTX 20 to 50, TITAN; what nvidia.cc lacks of them
std::vector<AcceleratorRow> AmdRows();
std::vector<AcceleratorRow> IntelRows();
std::vector<AcceleratorRow> TpuRows();
std::vector<DeviceKind> CpuKinds();
int32_t CoresOfCpu(std::string_view name);  // of a socket; of the catalogue's name

}  // namespace placewright

#endif  // PLACEWRIGHT_CLUSTER_CATALOGUE_ROWS_H_
