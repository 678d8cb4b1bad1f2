// TAG's graph network (Zhang et al., sec. 4.2.1): units and device groups exchange messages over edges of five types,
// and every slice of the unit that is next gets a score. Inference alone; it is trained by LibTorch (learn/tag).
//
//   x_n    = tanh(W_in f_n + b)                        unit and device nodes; y_e the same of edges, by type
//   m_ij   = W_src [x_j, y_ij]                         message of j to i, `heads` of `head` numbers
//   a_ij   = softmax over j of LeakyReLU_0.2(l . m_ij + r . W_dst x_i), by head
//   z_i    = mean over the types that lead to i of sum_j a_ij m_ij
//   x_i    = norm(x_i + tanh(W z_i + b))               no tanh in the last layer; norm: layer normalisation
//   d_j    = tanh(W_2 tanh(W_1 [x_j, whether j is in the set]))  of device groups, mean over all
//   score  = w . tanh(W_h [mean d, x_unit, option]) + b
//   prior  = softmax over the slices of the score
//
// Edge types: link (device to device), prev and succ (data, forth and back), place (unit to device), serve (back).
//
// Deviations: the paper prints one dense layer over [sum_j P_ij x_j, x_i, O_i], by which the scores of subset and option
// would just add up; weights 1 and 0.1 for edges within and between kinds are left to the network, as in the authors' code;
// layer normalisation for their batch normalisation, whose statistics would be those of other topologies.
#ifndef PLACEWRIGHT_SEARCH_TAG_NETWORK_H_
#define PLACEWRIGHT_SEARCH_TAG_NETWORK_H_

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "plan/stored_policy.h"
#include "search/tag/features.h"

namespace placewright {

struct TagNetworkSize {
  int64_t width = 64;  // of nodes
  int64_t edge = 16;   // of edges
  int64_t heads = 4;
  int64_t head = 16;  // numbers of a head
  int64_t layers = 4;
  int64_t inner() const { return heads * head; }
  // 0.23 M floats; the authors' is of 14.3 M.
  static TagNetworkSize Small() { return {}; }
  static TagNetworkSize Paper() { return {256, 64, 4, 256, 4}; }
};

enum class TagEdge : uint8_t { kLink, kPrev, kSucc, kPlace, kServe };
inline constexpr std::array<const char*, 5> kTagEdgeNames = {"link", "prev", "succ", "place",
                                                             "serve"};

// Names and sizes of its parameters, in the order in which they are made; matrices are [outputs, inputs].
std::vector<std::pair<std::string, std::vector<int64_t>>> TagParameters(const TagNetworkSize& size);

class TagNetwork {
 public:
  // With first values, as learn/tag/tag_network.h has them: what a network is worth before it has learned.
  static TagNetwork Untrained(const TagNetworkSize& size, uint64_t seed);
  // Errors: kField (a parameter that is missing, or of another type or size).
  static Result<TagNetwork> FromPolicy(const TagNetworkSize& size, const StoredPolicy& policy);

  // Scores of `slices`, of which each may be had by the unit `next`. Equal on every platform, whatever the threads.
  std::vector<float> Scores(const TagGraph& graph, size_t next,
                            std::span<const Slice* const> slices) const;

 private:
  struct Dense {
    int64_t inputs = 0, outputs = 0;
    std::vector<float> by_input;  // [inputs][outputs]
    std::vector<float> bias;      // or none
    // out += W x, of some of the inputs.
    void AddTo(const float* x, int64_t from, int64_t count, float* out) const;
    void Apply(const float* x, float* out) const;
  };
  struct Attention {
    Dense source, target;
    std::vector<float> left, right;
  };
  struct Layer {
    std::array<Attention, 5> types;
    Dense unit, device;
    std::vector<float> unit_scale, unit_shift, device_scale, device_shift;
  };
  struct Edges;

  void Attend(const Attention& attention, const Edges& edges, const std::vector<float>& sources,
              const std::vector<float>& targets, std::vector<float>& sum) const;
  void Update(const Dense& dense, const std::vector<float>& scale, const std::vector<float>& shift,
              const std::vector<float>& sum, double types, bool last,
              std::vector<float>& nodes) const;

  TagNetworkSize size_;
  Dense unit_, device_;
  std::array<Dense, 5> edges_;
  std::vector<Layer> layers_;
  Dense device_first_, device_second_, hidden_, score_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_TAG_NETWORK_H_
