#include "compile/piece_groups.h"

#include <algorithm>
#include <utility>

#include "compile/exchange_times.h"
#include "compile/rewrites/rewrites.h"
#include "compile/sum_parts.h"

namespace placewright {
namespace {

using Members = std::vector<size_t>;      // pieces, by their places in the state
using AxisParts = std::vector<AxisPart>;  // by member

std::vector<Piece> PiecesOf(const TensorState& state, const Members& members) {
  std::vector<Piece> pieces;
  for (const size_t member : members) pieces.push_back(state.pieces[member]);
  return pieces;
}

// Keys come in the order of their first members.
template <class Key, class KeyOf>
std::vector<Members> ByKey(const Members& members, const KeyOf& key_of) {
  std::vector<std::pair<Key, size_t>> known;  // ascending, as keys mostly come; with its group
  std::vector<Members> groups;
  for (const size_t member : members) {
    const Key& key = key_of(member);
    const auto at = std::lower_bound(known.begin(), known.end(), key,
                                     [](const auto& row, const Key& of) { return row.first < of; });
    if (at != known.end() && at->first == key) {
      groups[at->second].push_back(member);
    } else {
      known.insert(at, {key, groups.size()});
      groups.push_back({member});
    }
  }
  return groups;
}

// Members with equal keys are replicas: groups with one of each key, the first of all, the second of all, ... Nothing
// where there are more of one than of another.
template <class Key, class KeyOf>
std::optional<std::vector<Members>> WithOneOfEach(const Members& members, const KeyOf& key_of) {
  const std::vector<Members> replicas = ByKey<Key>(members, key_of);
  std::vector<Members> groups(replicas.front().size());
  for (const Members& alike : replicas) {
    if (alike.size() != groups.size()) return std::nullopt;
    for (size_t i = 0; i < alike.size(); ++i) groups[i].push_back(alike[i]);
  }
  return groups;
}

Members All(const TensorState& state) {
  Members all(state.pieces.size());
  for (size_t i = 0; i < all.size(); ++i) all[i] = i;
  return all;
}

std::vector<Members> ByBox(const TensorState& state) {
  return ByKey<TensorBox>(All(state),
                          [&](size_t piece) -> const TensorBox& { return state.BoxAt(piece); });
}

// Those with one box have all of its sum, and no part of it in two ways.
bool AreApart(const NamedAxes& axes, const TensorState& state) {
  const std::vector<TensorBox> all(state.IsSplit() ? 0 : state.pieces.size());
  return AreAllOfSums(axes, state.IsSplit() ? state.boxes.all() : all, state.summed);
}

// Without boxes and sums where no piece has one.
TensorState Tidied(TensorState state) {
  const auto all_empty = [](const auto& rows) {
    return std::all_of(rows.begin(), rows.end(), [](const auto& row) { return row.empty(); });
  };
  if (all_empty(state.boxes)) state.boxes.clear();
  if (all_empty(state.summed)) state.summed.clear();
  return state;
}

// Ascending by what they have.
TensorState SortedByBox(TensorState state) {
  Members order = All(state);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return state.BoxAt(a) < state.BoxAt(b); });
  if (std::is_sorted(order.begin(), order.end())) return state;
  TensorState sorted = state;
  std::vector<TensorBox> boxes(state.boxes.size());
  for (size_t i = 0; i < order.size(); ++i) {
    sorted.pieces[i] = state.pieces[order[i]];
    if (state.IsSplit()) boxes[i] = state.boxes[order[i]];
    if (state.IsPartial()) sorted.summed[i] = state.summed[order[i]];
  }
  sorted.boxes = std::move(boxes);
  return sorted;
}

// Interval by interval, what one of them stops at the next begins with.
bool Follow(const std::vector<Interval>& intervals, const Interval& whole) {
  int64_t next = whole.from;
  for (const Interval& one : intervals) {
    if (one.from != next) return false;
    next = one.to;
  }
  return next == whole.to;
}

// By their intervals; false where these do not follow one another over the whole.
template <class Along>
bool PutInOrder(Members& members, const Along& along, const Interval& whole) {
  std::stable_sort(members.begin(), members.end(),
                   [&](size_t a, size_t b) { return along(a) < along(b); });
  std::vector<Interval> intervals;
  for (const size_t piece : members) intervals.push_back(along(piece));
  return Follow(intervals, whole);
}

// The box that all of these parts of a sum are together; nothing where they are none.
std::optional<Box> TogetherOf(const std::vector<Box>& parts) {
  std::vector<AxisInterval> hull(parts.front().begin(), parts.front().end());
  for (const Box& part : parts) {
    if (part.size() != hull.size()) return std::nullopt;
    auto at = hull.begin();
    for (const auto& [axis, interval] : part) {
      if (at->axis != axis) return std::nullopt;
      at->interval = {std::min(at->interval.from, interval.from),
                      std::max(at->interval.to, interval.to)};
      ++at;
    }
  }
  const auto volume = [](const auto& box) {
    int64_t product = 1;
    for (const AxisInterval& one : box) product *= one.interval.length();
    return product;
  };
  int64_t covered = 0;
  for (const Box& part : parts) covered += volume(part);
  if (covered != volume(hull)) return std::nullopt;
  return Box{hull.begin(), hull.end()};
}

// The only axis along which the part is smaller than the box, and which part of the piece it is.
std::optional<AxisPart> OnlyCut(const TensorBox& box, const TensorBox& part) {
  const TensorBox within = PartWithin(box, part);
  if (within.size() != 1) return std::nullopt;
  return within.front();
}

struct Scattering {
  Members members;
  std::vector<AxisPart> parts;
  Box summed;  // of what they make: empty where all of the sum is theirs
};

}  // namespace

std::optional<TensorState> EmitCompleted(Emitter& emitter, const NamedAxes& axes,
                                         const TensorState& state) {
  if (!AreApart(axes, state)) return std::nullopt;
  std::vector<Members> groups;
  for (const Members& members : ByBox(state)) {
    const auto of_box = WithOneOfEach<Box>(
        members, [&](size_t piece) -> const Box& { return state.SummedAt(piece); });
    if (!of_box) return std::nullopt;
    groups.insert(groups.end(), of_box->begin(), of_box->end());
  }
  TensorState completed = state;
  completed.summed.clear();
  for (const Members& members : groups) {
    if (members.size() < 2) continue;
    const std::vector<Piece> sums = EmitAllReduce(emitter, PiecesOf(state, members));
    for (size_t i = 0; i < members.size(); ++i) completed.pieces[members[i]] = sums[i];
  }
  return completed;
}

namespace {

// In the order of their parts of the sum as many at once as there are different needs: shards within each host.
std::optional<std::vector<Scattering>> ScatteringsIn(const TensorState& state, const Needs& needs,
                                                     Members members) {
  std::stable_sort(members.begin(), members.end(),
                   [&](size_t a, size_t b) { return state.SummedAt(a) < state.SummedAt(b); });
  const auto by_need =
      ByKey<TensorBox>(members, [&](size_t piece) -> const TensorBox& { return needs[piece]; });
  const size_t at_once = by_need.size();
  if (members.size() % at_once != 0) return std::nullopt;
  std::vector<Scattering> scatterings;
  for (size_t begin = 0; begin < members.size(); begin += at_once) {
    Scattering one;
    one.members.assign(members.begin() + static_cast<ptrdiff_t>(begin),
                       members.begin() + static_cast<ptrdiff_t>(begin + at_once));
    // Members in the order of the state: sums are made in this order.
    std::sort(one.members.begin(), one.members.end());
    std::vector<Box> summed;
    std::vector<AxisPart> parts;
    for (const size_t piece : one.members) {
      const auto part = OnlyCut(state.BoxAt(piece), needs[piece]);
      if (!part) return std::nullopt;
      summed.push_back(state.SummedAt(piece));
      parts.push_back(*part);
    }
    one.parts = parts;
    std::sort(parts.begin(), parts.end());
    std::vector<Interval> intervals;
    for (const AxisPart& part : parts) {
      if (part.place != parts.front().place) return std::nullopt;
      intervals.push_back(part.interval);
    }
    if (!Follow(intervals, {0, parts.front().place.size})) return std::nullopt;
    const auto together = TogetherOf(summed);
    if (!together) return std::nullopt;
    const bool all = at_once == members.size();
    one.summed = all ? Box() : *together;
    scatterings.push_back(std::move(one));
  }
  return scatterings;
}

}  // namespace

std::optional<TensorState> EmitScattered(Emitter& emitter, const NamedAxes& axes,
                                         const TensorState& state, const Needs& needs) {
  if (!AreApart(axes, state)) return std::nullopt;
  std::vector<Scattering> scatterings;
  for (const Members& members : ByBox(state)) {
    const auto layers = WithOneOfEach<Box>(
        members, [&](size_t piece) -> const Box& { return state.SummedAt(piece); });
    if (!layers) return std::nullopt;
    for (const Members& layer : *layers) {
      const auto some = ScatteringsIn(state, needs, layer);
      if (!some) return std::nullopt;
      scatterings.insert(scatterings.end(), some->begin(), some->end());
    }
  }
  TensorState scattered = state;
  scattered.boxes = needs;
  scattered.summed.assign(state.pieces.size(), {});
  for (const Scattering& one : scatterings) {
    const std::vector<Piece> made =
        EmitReduceScatter(emitter, PiecesOf(state, one.members), one.parts);
    for (size_t i = 0; i < made.size(); ++i) {
      scattered.pieces[one.members[i]] = made[i];
      scattered.summed[one.members[i]] = one.summed;
    }
  }
  TensorState sorted = SortedByBox(Tidied(std::move(scattered)));
  if (!sorted.IsPartial()) return sorted;
  const auto completed = EmitCompleted(emitter, axes, sorted);
  return completed ? *completed : sorted;
}

namespace {

struct Gathering {
  Members members;
  std::vector<AxisPart> parts;
};

// What is gathered along one axis, with what every piece has then.
std::optional<std::vector<Gathering>> GatheringsAlong(const AxisPlace& place,
                                                      const TensorState& state,
                                                      const std::vector<TensorBox>& after) {
  std::vector<Gathering> gatherings;
  const auto along = [&](size_t piece) { return AlongPlace(state.BoxAt(piece), place); };
  const auto groups =
      ByKey<TensorBox>(All(state), [&](size_t piece) -> const TensorBox& { return after[piece]; });
  for (const Members& members : groups) {
    const TensorBox& all = after[members.front()];
    const auto layers = WithOneOfEach<Interval>(members, along);
    if (!layers) return std::nullopt;
    for (Members layer : *layers) {
      if (!PutInOrder(layer, along, AlongPlace(all, place))) return std::nullopt;
      if (layer.size() < 2) continue;
      Gathering one{layer, {}};
      for (const size_t piece : layer) {
        one.parts.push_back(PartWithin(all, state.BoxAt(piece)).front());
      }
      gatherings.push_back(std::move(one));
    }
  }
  return gatherings;
}

}  // namespace

namespace {

// All of one axis, of which the pieces have intervals one behind the other: the commonest.
bool AreAllOfOneAxis(const TensorState& state, const Needs& needs) {
  if (state.boxes.empty() || state.boxes.front().size() != 1) return false;
  const AxisPlace& place = state.boxes.front().front().place;
  int64_t next = 0;
  for (const TensorBox& box : state.boxes) {
    if (box.size() != 1 || box.front().place != place || box.front().interval.from != next) {
      return false;
    }
    next = box.front().interval.to;
  }
  return std::all_of(needs.begin(), needs.end(),
                     [](const TensorBox& need) { return need.empty(); });
}

}  // namespace

std::optional<TensorState> EmitGathered(Emitter& emitter, const TensorState& state,
                                        const Needs& needs) {
  if (AreAllOfOneAxis(state, needs)) {
    std::vector<AxisPart> parts;
    for (const TensorBox& box : state.boxes) parts.push_back(box.front());
    TensorState all;
    all.pieces = EmitAllGather(emitter, state.pieces, parts);
    return all;
  }
  // Inner axes first: the others' parts then lie in what was gathered as they lie in the tensor.
  std::vector<AxisPlace> places;
  for (size_t i = 0; i < state.pieces.size(); ++i) {
    for (const auto& [place, interval] : state.BoxAt(i)) {
      const Interval needed = AlongPlace(needs[i], place);
      if (needed.from > interval.from || needed.to < interval.to) return std::nullopt;
      if (needed != interval) places.push_back(place);
    }
  }
  std::sort(places.rbegin(), places.rend());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  if (places.empty()) return std::nullopt;
  struct Step {
    std::vector<Gathering> gatherings;
    std::vector<TensorBox> after;
  };
  std::vector<Step> steps;
  TensorState gathered = state;
  for (const AxisPlace& place : places) {
    Step step;
    for (size_t i = 0; i < state.pieces.size(); ++i) {
      step.after.push_back(WithInterval(gathered.BoxAt(i), place, AlongPlace(needs[i], place)));
    }
    auto gatherings = GatheringsAlong(place, gathered, step.after);
    if (!gatherings) return std::nullopt;
    step.gatherings = std::move(*gatherings);
    gathered.boxes = step.after;
    steps.push_back(std::move(step));
  }
  gathered = state;
  for (Step& step : steps) {
    const TensorState before = gathered;
    for (const Gathering& one : step.gatherings) {
      const std::vector<Piece> made =
          EmitAllGather(emitter, PiecesOf(before, one.members), one.parts);
      for (size_t i = 0; i < made.size(); ++i) gathered.pieces[one.members[i]] = made[i];
    }
    gathered.boxes = std::move(step.after);
  }
  return Tidied(std::move(gathered));
}

namespace {

// Along which axis devices need more than they have, and along which less; nothing where it is not one and one.
struct AxisMove {
  AxisPlace more, less;
};
std::optional<AxisMove> MoveOf(const TensorState& state, const Needs& needs) {
  AxisMove move;
  const auto note = [](AxisPlace& known, const AxisPlace& place) {
    if (known.dimension < 0) known = place;
    return known == place;
  };
  for (size_t i = 0; i < needs.size(); ++i) {
    const TensorBox& has = state.BoxAt(i);
    for (const auto& [place, interval] : has) {
      const Interval needed = AlongPlace(needs[i], place);
      if (needed == interval) continue;
      const bool more = needed.from <= interval.from && interval.to <= needed.to;
      const bool less = interval.from <= needed.from && needed.to <= interval.to;
      if (!more && !less) return std::nullopt;
      if (!note(more ? move.more : move.less, place)) return std::nullopt;
    }
    for (const auto& [place, interval] : needs[i]) {
      if (AlongPlace(has, place) != Interval{0, place.size}) continue;
      if (!note(move.less, place)) return std::nullopt;
    }
  }
  if (move.more.dimension < 0 || move.less.dimension < 0) return std::nullopt;
  return move;
}

AxisPart PartAlong(const TensorBox& box, const AxisPlace& place, const Interval& interval) {
  const Interval held = AlongPlace(box, place);
  return {PlaceWithin(box, place), {interval.from - held.from, interval.to - held.from}};
}

}  // namespace

std::optional<TensorState> EmitExchanged(Emitter& emitter, const TensorState& state,
                                         const Needs& needs) {
  const std::optional<AxisMove> move = MoveOf(state, needs);
  if (!move) return std::nullopt;
  const auto& [more, less] = *move;
  const auto along = [&](size_t piece) { return AlongPlace(state.BoxAt(piece), more); };
  const auto together = [&](size_t piece) {
    return WithInterval(needs[piece], less, AlongPlace(state.BoxAt(piece), less));
  };
  std::vector<Members> groups;
  for (const Members& members : ByKey<TensorBox>(All(state), together)) {
    const auto layers = WithOneOfEach<Interval>(members, along);
    if (!layers) return std::nullopt;
    for (Members layer : *layers) {
      if (!PutInOrder(layer, along, AlongPlace(needs[layer.front()], more))) return std::nullopt;
      if (layer.size() > 1) groups.push_back(std::move(layer));
    }
  }
  std::vector<AxisParts> given, taken;  // by group
  for (const Members& members : groups) {
    AxisParts& gives = given.emplace_back();
    AxisParts& takes = taken.emplace_back();
    for (const size_t piece : members) {
      gives.push_back(PartAlong(needs[piece], more, along(piece)));
      takes.push_back(PartAlong(state.BoxAt(piece), less, AlongPlace(needs[piece], less)));
    }
    if (!ExchangePays(emitter, PiecesOf(state, members), takes)) return std::nullopt;
  }
  TensorState exchanged = state;
  std::vector<TensorBox> boxes = state.boxes.all();
  for (size_t group = 0; group < groups.size(); ++group) {
    const Members& members = groups[group];
    const std::vector<Piece> made =
        EmitAllToAll(emitter, PiecesOf(state, members), given[group], taken[group]);
    for (size_t i = 0; i < made.size(); ++i) {
      exchanged.pieces[members[i]] = made[i];
      boxes[members[i]] = needs[members[i]];
    }
  }
  exchanged.boxes = std::move(boxes);
  return SortedByBox(Tidied(std::move(exchanged)));
}

}  // namespace placewright
