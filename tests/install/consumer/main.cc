// A user's program: the preset of the Mars and EAGLE papers has 4 GPUs and 2 CPU sockets.
#include <cluster/catalogue.h>

#include <cstdio>

int main() {
  const placewright::Result<placewright::Cluster> cluster = placewright::MakePreset("4xP100");
  if (!cluster.ok()) return 1;
  std::printf("consumer: %zu devices\n", cluster.value().device_count());
  return 0;
}
