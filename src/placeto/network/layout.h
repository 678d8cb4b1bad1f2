// The layers of Placeto's network and where their numbers lie.
//
// With d = 5 + devices numbers for each node (agent/agent.h), as the traversal-order study configured it
// (Addanki et al. 2019, sec. 3.2 and 4; Wang et al., sec. II-B; the widths are those of its code):
//
//   t(v)    = three layers d-d-d-d of the features of v, the last without relu
//   h(v)    = t(v) + g(sum of f(h(u)) over the parents u of v), in one sweep along the graph;
//             t(v) alone without parents; likewise over children, in one sweep backwards
//   e(v)    = the two h(v) of v, 2d numbers
//   a, c, p = g(sum of f(e(u))) over all ancestors, over all descendants and over the nodes that are
//             neither, of the node to be placed
//   logits  = three layers 8d-16d-8d-devices of (a, c, p, e(v)), the last without relu
//
// Every f and g is its own and has two layers of the same width, relu after both. With a learned
// baseline, two layers 8d-8d-1 give what the rest of the episode is expected to bring.
#ifndef PLACEWRIGHT_PLACETO_NETWORK_LAYOUT_H_
#define PLACEWRIGHT_PLACETO_NETWORK_LAYOUT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/random.h"

namespace placewright {

struct PlacetoLayer {
  std::string name;  // "forward.f.0"
  int32_t inputs = 0, outputs = 0;
  int32_t columns = 0;             // `outputs`, padded: of the weights [inputs, columns]
  size_t weights = 0, biases = 0;  // their places among the numbers
};

// The four layers of one f and g.
struct PlacetoAggregator {
  PlacetoLayer f[2], g[2];
};

struct PlacetoLayout {
  // `devices` >= 1.
  PlacetoLayout(int32_t devices, bool learned_baseline);

  int32_t devices = 0, width = 0;  // width: d
  PlacetoLayer transform[3];
  PlacetoAggregator forward, backward, ancestors, descendants, peers;
  PlacetoLayer classifier[3];
  bool has_value = false;
  PlacetoLayer value[2];
  size_t size = 0;  // numbers, padding included

  std::vector<const PlacetoLayer*> layers() const;  // all that are there
};

// Glorot's uniform values (2010), biases 0, padding 0.
template <class Real>
std::vector<Real> FirstPlacetoValues(const PlacetoLayout& layout, Random random);

}  // namespace placewright

#endif  // PLACEWRIGHT_PLACETO_NETWORK_LAYOUT_H_
