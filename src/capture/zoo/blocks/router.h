// Routes of tokens to experts with room for as many tokens of a text each (Lepikhin et al. 2020, GShard, section 2.2): all
// shapes follow from the sizes, whatever the routing. A token that finds no room in an expert goes without it.
#ifndef PLACEWRIGHT_CAPTURE_ZOO_BLOCKS_ROUTER_H_
#define PLACEWRIGHT_CAPTURE_ZOO_BLOCKS_ROUTER_H_

#include <cstdint>

#include "capture/zoo/blocks/basic.h"

namespace placewright {

struct RoutingSizes {
  int64_t batch, sequence, hidden, experts, chosen;
  int64_t room;  // tokens of a text that an expert takes
};
// A fair share of the tokens, times `capacity`, rounded up; at least 1.
int64_t RoomFor(int64_t chosen, int64_t sequence, int64_t experts, double capacity);

// Where the tokens of every text go, as matrices of ones and zeros: no token is looked up by an
// index that is data.
struct Routes {
  at::Tensor places;   // [batch, tokens, experts * room]: 1 where a token goes
  at::Tensor weights;  // alike, with the weight of what comes back
  at::Tensor balance;  // E sum over experts of (share of first choices) (mean probability)
};

class Router : public Module {
 public:
  explicit Router(const RoutingSizes& sizes);
  // Of x [batch, tokens, hidden]. Choices are served rank by rank: first choices of all tokens, then second ones.
  Routes Forward(const at::Tensor& x);

 private:
  at::Tensor Spots(const at::Tensor& experts, const at::Tensor& ones) const;

  RoutingSizes sizes_;
  std::shared_ptr<Linear> scores_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_CAPTURE_ZOO_BLOCKS_ROUTER_H_
