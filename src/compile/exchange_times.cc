#include "compile/exchange_times.h"

#include <algorithm>

#include "cost/communication.h"

namespace placewright {

bool ExchangePays(const Emitter& emitter, const std::vector<Piece>& pieces,
                  const std::vector<AxisPart>& taken) {
  int64_t all = 0, largest = 0;
  std::vector<DeviceId> devices;
  for (const Piece& piece : pieces) {
    int64_t bytes = SizeOf(emitter.dtype(piece.tensor));
    for (const int64_t size : emitter.shape(piece.tensor)) bytes *= size;
    all += bytes;
    largest = std::max(largest, bytes);
    devices.push_back(piece.device);
  }
  int64_t most = largest;
  for (const AxisPart& part : taken) {
    most = std::max(most, all / part.place.size * part.interval.length());
  }
  const auto time_of = [&](CollectiveKind kind, int64_t piece) {
    return emitter.communication().Estimate({kind, Bytes(all), Bytes(piece)}, devices);
  };
  const auto exchange = time_of(CollectiveKind::kAllToAll, most);
  const auto gather = time_of(CollectiveKind::kAllGather, largest);
  return !exchange.ok() || !gather.ok() || exchange.value().time <= gather.value().time;
}

}  // namespace placewright
