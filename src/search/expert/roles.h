// What part a colocation group plays in a recurrent model, as far as names and order show.
#ifndef PLACEWRIGHT_SEARCH_EXPERT_ROLES_H_
#define PLACEWRIGHT_SEARCH_EXPERT_ROLES_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "search/constructive/placer.h"

namespace placewright {

struct Role {
  enum class Kind : uint8_t { kOther, kRecurrent, kAttention, kSoftmax };
  Kind kind = Kind::kOther;
  int32_t layer = 0;  // kRecurrent: rank of the layer within its stack. kOther: that of the layer
                      // of its stack that it lies beside
  friend bool operator==(const Role&, const Role&) = default;
};

// True for a path with a component that speaks of a recurrent layer ("rnn", "lstm", "gru").
bool IsRecurrentModule(std::string_view path);
bool IsAttentionModule(std::string_view path);
// The layer that a recurrent module's parameter belongs to: "param:rnn.weight_ih_l3_reverse" gives
// 3; -1 for other names.
int32_t LayerOfParameter(std::string_view name);

// The role of every group that leads (GroupInfo::leader); empty if no module is recurrent.
//
// A stack is all recurrent modules below one part of the model ("encoder", "decoder"), where parts
// are distinguished by the path up to the first component of the recurrent module. Its layers,
// ranked by first position in the step, are the modules that read parameters in the forward pass;
// what a module without any does (the container of the layers: residual sums) lies beside the layer
// before it. Where no recurrent module reads parameters, each is a layer. What a recurrent module
// does without an index of its own is split by parameters: an op belongs to the highest layer whose
// parameters it or an input depends on. Groups after the last position of all layers, neither of a
// recurrent module nor attention, are the softmax.
IdVector<ColocationGroupId, Role> RecurrentRoles(const PlacerInput& input);

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_EXPERT_ROLES_H_
