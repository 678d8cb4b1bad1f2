// Broadcast: a tensor that one device has, the root, on others at once. The root's member reads it and makes
// nothing; the others read nothing and make it, so that no single transfer of it is left.
//
// Equal to reading it from the root: a copy holds what the tensor holds at the version that the root's member
// reads, and is read in its stead at this version alone.
#include "compile/rewrites/rewrites.h"

namespace placewright {

std::vector<Piece> EmitBroadcast(Emitter& emitter, const Piece& root,
                                 const std::vector<DeviceId>& others) {
  constexpr std::string_view kType = "placewright.broadcast.default";
  const OpId source = emitter.AddReader(kType, {root.tensor}, References(1), root.device);
  std::vector<Emitter::Member> members = {{source, root.device}};
  std::vector<Piece> made;
  for (const DeviceId device : others) {
    const TensorId copy =
        emitter.AddLike(kType, {}, {}, emitter.shape(root.tensor), root.tensor, device);
    members.push_back({emitter.producer(copy), device});
    made.push_back({device, copy});
  }
  emitter.Join(members);
  return made;
}

}  // namespace placewright
