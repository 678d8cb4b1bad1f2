#include "capture/zoo/blocks/router.h"

#include <algorithm>
#include <cmath>

namespace placewright {

int64_t RoomFor(int64_t chosen, int64_t sequence, int64_t experts, double capacity) {
  const double fair =
      static_cast<double>(chosen) * static_cast<double>(sequence) / static_cast<double>(experts);
  return std::max<int64_t>(1, static_cast<int64_t>(std::ceil(fair * capacity)));
}

Router::Router(const RoutingSizes& sizes) : sizes_(sizes) {
  scores_ = Add<Linear>("scores", sizes.hidden, sizes.experts, false);
}

Routes Router::Forward(const at::Tensor& x) {
  const ModuleScope scope = Enter();
  const at::Tensor shares = at::softmax(scores_->Forward(x), -1);  // [batch, tokens, experts]
  const at::Tensor experts = std::get<1>(at::topk(shares.detach(), sizes_.chosen, -1))
                                 .transpose(1, 2)
                                 .unsqueeze(3);  // [batch, chosen, tokens, 1]
  const at::Tensor marks = experts.eq(at::arange(sizes_.experts, at::kLong));
  at::Tensor weights = (shares.unsqueeze(1) * marks).sum(3);  // [batch, chosen, tokens]
  if (sizes_.chosen > 1) weights = weights / weights.sum(1, true);
  const at::Tensor spots = Spots(experts, marks.to(at::kLong)).to(at::kFloat);
  Routes routes;
  routes.places = spots.sum(1);
  routes.weights = (spots * weights.unsqueeze(3)).sum(1);
  const std::vector<int64_t> all = {0, 1};
  const at::Tensor first = marks.select(1, 0).to(at::kFloat).mean(all);
  routes.balance = (first * shares.mean(all)).sum() * static_cast<double>(sizes_.experts);
  return routes;
}

// [batch, chosen, tokens, experts * room]: where a choice goes; nowhere where there is no room.
at::Tensor Router::Spots(const at::Tensor& experts, const at::Tensor& ones) const {
  const std::vector<int64_t> in_turn = {sizes_.batch, sizes_.chosen * sizes_.sequence,
                                        sizes_.experts};
  // The n-th choice of an expert has turn n - 1.
  const at::Tensor counts = ones.reshape(in_turn).cumsum(1).view(ones.sizes());
  const at::Tensor turns = (counts * ones).sum(3, true) - 1;
  const int64_t room = sizes_.room;
  const at::Tensor nowhere = at::full({}, sizes_.experts * room, at::kLong);
  const at::Tensor places = at::where(turns.lt(room), experts * room + turns, nowhere);
  return places.eq(at::arange(sizes_.experts * room, at::kLong));
}

}  // namespace placewright
