// The parts of a cluster file that describe hardware: quantities, device kinds, numbers of devices.
#ifndef PLACEWRIGHT_FORMATS_CLUSTER_KIND_FIELDS_H_
#define PLACEWRIGHT_FORMATS_CLUSTER_KIND_FIELDS_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/cluster.h"
#include "formats/text/yaml.h"

namespace placewright {

// Gives an error without a place that of `node`.
Error At(const YamlNode& node, Error error);

// A quantity of a mapping: `key` with a unit ("memory: 12 GiB"), or `key` and a suffix with a whole
// number ("memory_bytes: 12884901888"; _ns, _bytes_per_s). Both at once are refused.
Result<std::optional<Bytes>> ReadBytes(const YamlNode& map, std::string_view key);
// `memory` of a machine, which has some: 0 is refused.
Result<std::optional<Bytes>> ReadMemory(const YamlNode& map);
Result<std::optional<Nanos>> ReadNanos(const YamlNode& map, std::string_view key);
Result<std::optional<BytesPerSecond>> ReadBandwidth(const YamlNode& map, std::string_view key);
// The value, or an error that the key is missing, with an example.
template <class T>
Result<T> Required(const YamlNode& map, std::string_view key, std::string_view example,
                   Result<std::optional<T>> value) {
  if (!value.ok()) return value.error();
  if (value.value()) return *value.value();
  return map.Fail("the key \"" + std::string(key) + "\" is missing (such as \"" +
                  std::string(example) + "\")");
}

// The kinds that a file may name: its own first, then the catalogue's.
class KindTable {
 public:
  // `kinds` is the file's mapping of that name. A kind may be `like` another of the file, wherever
  // that stands, or like one of the catalogue, its namesake too. Errors: kField for a circle.
  Status Read(const YamlNode& kinds);
  // Errors: kUnknownName at `node`, with near names.
  Result<DeviceKind> Find(const YamlNode& node, std::string_view name) const;
  const std::vector<DeviceKind>& own() const { return own_; }

 private:
  Result<std::vector<size_t>> OrderByLike(const YamlNode& kinds) const;
  Result<DeviceKind> ReadKind(std::string name, const YamlNode& map) const;
  std::vector<DeviceKind> own_;  // in the file's order once all are read
};

// "4 x P100-12GB", "P100-12GB", or {kind, count, memory, reserve}.
struct DeviceSlot {
  DeviceKind kind;
  int32_t count = 1;
  Bytes memory;  // of each; 0: not stated
  Bytes reserve;
};
Result<DeviceSlot> ReadSlot(const YamlNode& node, const KindTable& kinds, DeviceClass expected);

}  // namespace placewright

#endif  // PLACEWRIGHT_FORMATS_CLUSTER_KIND_FIELDS_H_
