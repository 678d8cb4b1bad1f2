// For tests: machines of GPUs, and devices joined by links of given figures.
#ifndef PLACEWRIGHT_COST_COMMUNICATION_TEST_CLUSTERS_H_
#define PLACEWRIGHT_COST_COMMUNICATION_TEST_CLUSTERS_H_

#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "cluster/catalogue.h"
#include "cluster/cluster_builder.h"
#include "cluster/machine.h"

namespace placewright {

// `hosts` machines of `count` GPUs of a kind, behind a network of `mbps` where there are several.
inline Cluster GpuMachines(std::string_view gpu, const std::vector<int32_t>& counts,
                           Interconnect interconnect, int64_t mbps = 100'000, int32_t nics = 1) {
  ClusterBuilder builder("test");
  std::vector<Nic> nics_of_all;
  for (size_t h = 0; h < counts.size(); ++h) {
    HostSpec host;
    host.index = static_cast<int32_t>(h);
    host.cpu = *FindKind("Xeon-E5-2650v4");
    host.memory = Bytes(int64_t{128} << 30);
    host.gpus = {GpuSlot{*FindKind(gpu), counts[h], Bytes(), std::nullopt}};
    host.interconnect = interconnect;
    host.nics = nics;
    PW_CHECK(AddHost(builder, host).ok());
    for (int32_t n = 0; n < nics; ++n) {
      Nic nic = NicOf(host, n);
      nic.bandwidth = BytesPerSecond(mbps * 125'000);
      nics_of_all.push_back(std::move(nic));
    }
  }
  if (counts.size() > 1) {
    PW_CHECK(AddNetwork(builder, nics_of_all, NetworkSpec{kNetworkLatency, "given"}).ok());
  }
  return std::move(builder).Build().Take();
}

inline std::vector<DeviceId> GpusOf(const Cluster& cluster) {
  std::vector<DeviceId> gpus;
  for (const DeviceId device : cluster.devices()) {
    if (cluster.kind(device).device_class == DeviceClass::kGpu) gpus.push_back(device);
  }
  return gpus;
}

// Devices "d0", "d1", ... of one kind without launch overhead.
class TestDevices {
 public:
  explicit TestDevices(int32_t devices, int32_t per_host = 1 << 20) : builder_("test") {
    const int32_t kind =
        builder_.AddKind(DeviceKind{.name = "kind", .memory = Bytes(1 << 30)}).Take();
    for (int32_t d = 0; d < devices; ++d) {
      Device device{.name = "d" + std::to_string(d), .kind = kind, .capacity = Bytes(1 << 30)};
      device.host = d / per_host;
      PW_CHECK(builder_.AddDevice(device).ok());
    }
  }
  void Forwarder(const std::string& name) { PW_CHECK(builder_.AddForwarder(name).ok()); }
  void Join(const std::string& a, const std::string& b, int64_t bandwidth, int64_t latency,
            Duplex duplex = Duplex::kFull) {
    PW_CHECK(
        builder_.Connect(a, b, BytesPerSecond(bandwidth), Nanos(latency), duplex, "given").ok());
  }
  void Collectives(StatedCollectives collectives) {
    PW_CHECK(builder_.SetCollectives(std::move(collectives)).ok());
  }
  Cluster Build() { return std::move(builder_).Build().Take(); }

 private:
  ClusterBuilder builder_;
};

// All devices on one switch: half of `latency` on each of a route's two links.
inline Cluster SwitchedDevices(int32_t devices, int64_t bandwidth, int64_t latency) {
  TestDevices made(devices);
  made.Forwarder("switch");
  for (int32_t d = 0; d < devices; ++d) {
    made.Join("d" + std::to_string(d), "switch", bandwidth, latency / 2);
  }
  return made.Build();
}

inline std::vector<DeviceId> AllDevicesOf(const Cluster& cluster) {
  std::vector<DeviceId> devices;
  for (const DeviceId device : cluster.devices()) devices.push_back(device);
  return devices;
}

}  // namespace placewright

#endif  // PLACEWRIGHT_COST_COMMUNICATION_TEST_CLUSTERS_H_
