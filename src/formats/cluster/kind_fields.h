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

// A quantity of a mapping: `key` with a unit ("memory: 12 GiB"), or `key` and a suffix with an
// integer ("memory_bytes: 12884901888"; _ns, _bytes_per_s). Both at once are refused.
Result<std::optional<Bytes>> ReadBytes(const YamlNode& map, std::string_view key);
// "5%" (of a device's memory), "500 MB", "0". Errors: kField without a place.
Result<MemoryReserve> ParseMemoryReserve(std::string_view text);
// `reserve` or `reserve_bytes`.
Result<std::optional<MemoryReserve>> ReadReserve(const YamlNode& map);
// `memory` of a machine, which has some: 0 is refused.
Result<std::optional<Bytes>> ReadMemory(const YamlNode& map);
Result<std::optional<Nanos>> ReadNanos(const YamlNode& map, std::string_view key);
Result<std::optional<BytesPerSecond>> ReadBandwidth(const YamlNode& map, std::string_view key);
// `efficiency` of a link or a network, the share of its bandwidth that is left for what is sent: "94%". 1
// where it is not stated.
Result<double> ReadEfficiency(const YamlNode& map);
// The kinds that a file may name: its own first, then the catalogue's.
class KindTable {
 public:
  // `kinds` is the file's mapping of that name. A kind may be `like` another of the file, wherever
  // that stands, or like one of the catalogue, its namesake too. Errors: kField for a circle.
  Status Read(const YamlNode& kinds);
  // Errors: kUnknownName at `node`, with near names.
  Result<DeviceKind> Find(const YamlNode& node, std::string_view name) const;
  // What Find takes a name for that leaves something open, as a sentence; else empty.
  std::string NoteOf(std::string_view name) const;
  const std::vector<DeviceKind>& own() const { return own_; }

 private:
  Result<std::vector<size_t>> OrderByLike(const YamlNode& kinds) const;
  Result<DeviceKind> ReadKind(std::string name, const YamlNode& map) const;
  std::vector<DeviceKind> own_;  // in the file's order once all are read
};

// "4 x NAME" or "NAME".
struct CountedText {
  int64_t count = 1;
  std::string text;
};
// `things` as in "devices". Errors: kField (a number outside [1, max], nothing behind it).
Result<CountedText> SplitCount(const YamlNode& node, const std::string& text,
                               std::string_view things, int64_t max);

// "4 x P100-12GB", "P100-12GB", or {kind, count, memory, reserve}.
struct DeviceSlot {
  DeviceKind kind;
  int32_t count = 1;
  Bytes memory;  // of each; 0: not stated
  std::optional<MemoryReserve> reserve;
  std::string note;  // what a kind's name left open, and how it was taken; else empty
};
Result<DeviceSlot> ReadSlot(const YamlNode& node, const KindTable& kinds, DeviceClass expected);

}  // namespace placewright

#endif  // PLACEWRIGHT_FORMATS_CLUSTER_KIND_FIELDS_H_
