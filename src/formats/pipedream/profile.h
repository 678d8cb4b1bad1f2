// PipeDream's graph.txt: layers with measured times and sizes, and the edges between them
// (docs/formats/pipedream.md).
//
//   node4 -- Embedding(32320, 1024) -- forward_compute_time=0.073, backward_compute_time=6.949,
//            activation_size=6291456.0, parameter_size=132382720.000 -- stage_id=0   (one line)
//   <tab>node1 -- node4
//
// Source: Narayanan et al., "PipeDream: generalized pipeline parallelism for DNN training", SOSP
// 2019, and its package's graph/graph.py.
#ifndef PLACEWRIGHT_FORMATS_PIPEDREAM_PROFILE_H_
#define PLACEWRIGHT_FORMATS_PIPEDREAM_PROFILE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace placewright {

// Bytes of a profile's text: 64 times the longest that is known.
inline constexpr int64_t kMaxProfileText = int64_t{16} << 20;
// Longest time, in milliseconds, and largest size that a profile may state.
inline constexpr double kMaxProfileTime = 1e12;

struct ProfileLayer {
  std::string id, description;
  std::string metadata;  // times and sizes as the file writes them
  double forward_ms = 0, backward_ms = 0;
  double activation_bytes = 0;  // "[a; b]" is the sum
  double parameter_bytes = 0;
  std::optional<int64_t> stage;  // stage_id
  // PipeDream's own clean-up: sources called Input... (their time is data loading), then sinks
  // called __getitem__. They are no work to place.
  bool left_out = false;
};

struct PipeDreamProfile {
  std::vector<ProfileLayer> layers;                // in file order
  std::vector<std::pair<int32_t, int32_t>> edges;  // positions in `layers`, in file order

  // Successors (or predecessors) of every layer, left-out ones included, in file order.
  std::vector<std::vector<int32_t>> Neighbours(bool successors) const;
};

// Whether a text begins like a profile.
bool LooksLikePipeDream(std::string_view text);

// Lines in any order. Errors, at "line N": kSyntax (a line of no known form), kField (a number that
// is none, negative or too large; a field missing), kDuplicateName (a layer or an edge twice),
// kUnknownName (an edge to no layer); kFileTooLarge. Cycles are not looked at.
Result<PipeDreamProfile> ReadPipeDream(std::string_view text);

// The file's text again with `stages[i]` as the stage_id of layer i. Everything else is as it was
// read; layers come first, then edges.
std::string WritePipeDream(const PipeDreamProfile& profile, const std::vector<int64_t>& stages);

}  // namespace placewright

#endif  // PLACEWRIGHT_FORMATS_PIPEDREAM_PROFILE_H_
