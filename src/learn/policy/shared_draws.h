// Draws in which units that exchange data share their random numbers.
#ifndef PLACEWRIGHT_LEARN_POLICY_SHARED_DRAWS_H_
#define PLACEWRIGHT_LEARN_POLICY_SHARED_DRAWS_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <vector>

#include "base/random.h"
#include "search/units/placement_units.h"

namespace placewright {

// Where every unit's device is drawn by itself, placements of a policy that has learned little cut almost every edge,
// and what it learns from them is to cut none: everything on one device. Here units draw in regions. Those of a region
// use the same random numbers, so that each unit's device has the policy's distribution, as before, but neighbours that
// the policy treats alike come to the same device. Not in the papers.
//
// The regions of a placement: k units drawn at random, log k uniform between the logarithms of the numbers of devices
// and of units, and with each of them the units that are nearer to it than to the others (first-passage percolation).
// An edge is as long as a number drawn uniformly from [0, 1), over w^p, w its weight, p = max(0, 2u - 1), u drawn
// uniformly for the placement: in half of the placements all edges are alike, in the others what takes long to move
// holds together.
class SharedDraws {
 public:
  // `weights` [edge], at least 1, of `edges` among the units 0 .. units - 1.
  SharedDraws(int64_t units, std::span<const UnitEdge> edges, std::span<const double> weights,
              int64_t devices);

  // Noise [..., count, units, devices] of `count` placements, each unit's that of its region.
  at::Tensor Share(const at::Tensor& noise, Random& random) const;

  // Long [count, units] on the CPU: the unit whose random numbers each unit uses, itself one of its region.
  at::Tensor Regions(int64_t count, Random& random) const;

 private:
  struct Neighbour {
    int64_t unit;
    size_t edge;
  };
  std::span<const Neighbour> NeighboursOf(int64_t unit) const;
  void DrawLengths(Random& random, std::span<double> lengths) const;
  void Grow(std::span<const int64_t> roots, std::span<const double> lengths,
            std::span<int64_t> root_of) const;

  int64_t units_, devices_;
  std::vector<double> log_weights_;
  std::vector<size_t> first_;          // [unit], of its neighbours
  std::vector<Neighbour> neighbours_;  // by unit
};

}  // namespace placewright

#endif  // PLACEWRIGHT_LEARN_POLICY_SHARED_DRAWS_H_
