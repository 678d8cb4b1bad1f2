#include "search/sfb/minimum_cut.h"

#include <algorithm>

#include "base/check.h"

namespace placewright {

void MinimumCut::Clear(int32_t nodes) {
  nodes_ = nodes;
  given_ = value_ = 0;
  added_.clear();
  source_.assign(static_cast<size_t>(nodes), 0);
  sink_.assign(static_cast<size_t>(nodes), 0);
}

void MinimumCut::AddArc(int32_t from, int32_t to, int64_t capacity) {
  PW_CHECK(from >= 0 && from < nodes_ && to >= 0 && to < nodes_);
  PW_CHECK(capacity >= 0 && capacity <= kUncuttable);
  if (from != to && capacity > 0) added_.push_back({from, to, capacity});
}

void MinimumCut::AddSource(int32_t node, int64_t capacity) {
  PW_CHECK(capacity >= 0 && capacity <= kUncuttable);
  capacity = std::min(capacity, kMaxQuantity - given_);
  given_ += capacity;
  source_[static_cast<size_t>(node)] += capacity;
}

void MinimumCut::AddSink(int32_t node, int64_t capacity) {
  PW_CHECK(capacity >= 0 && capacity <= kUncuttable);
  int64_t& sink = sink_[static_cast<size_t>(node)];
  sink = SaturatingAdd(sink, capacity);
}

int64_t MinimumCut::Solve() {
  LayOutArcs();
  for (size_t node = 0; node < source_.size(); ++node) {
    const int64_t through = std::min(source_[node], sink_[node]);
    source_[node] -= through;
    sink_[node] -= through;
    value_ += through;
  }
  while (FindLevels()) {
    std::copy(first_.begin(), first_.end() - 1, current_.begin());
    for (int32_t node = 0; node < nodes_; ++node) SendFrom(node);
  }
  FindReached();
  return value_;
}

// Each arc beside its reverse, which has no capacity of its own.
void MinimumCut::LayOutArcs() {
  const auto nodes = static_cast<size_t>(nodes_);
  first_.assign(nodes + 1, 0);
  for (const NewArc& added : added_) {
    ++first_[static_cast<size_t>(added.from) + 1];
    ++first_[static_cast<size_t>(added.to) + 1];
  }
  for (size_t node = 0; node < nodes; ++node) first_[node + 1] += first_[node];
  current_.assign(first_.begin(), first_.end() - 1);
  arcs_.resize(2 * added_.size());
  for (const NewArc& added : added_) {
    const int32_t there = current_[static_cast<size_t>(added.from)]++;
    const int32_t back = current_[static_cast<size_t>(added.to)]++;
    arc(there) = {added.to, back, added.capacity};
    arc(back) = {added.from, there, 0};
  }
}

// Backwards from the nodes that the sink still takes from. Whether the source still gives to one of them.
bool MinimumCut::FindLevels() {
  level_.assign(static_cast<size_t>(nodes_), -1);
  queue_.clear();
  for (int32_t node = 0; node < nodes_; ++node) {
    if (sink_[static_cast<size_t>(node)] == 0) continue;
    level_[static_cast<size_t>(node)] = 0;
    queue_.push_back(node);
  }
  bool found = false;
  for (size_t next = 0; next < queue_.size(); ++next) {
    const int32_t node = queue_[next];
    found = found || source_[static_cast<size_t>(node)] > 0;
    for (int32_t i = first(node); i < last(node); ++i) {
      int32_t& level = level_[static_cast<size_t>(arc(i).to)];
      if (level >= 0 || arc(arc(i).reverse).left == 0) continue;
      level = level_[static_cast<size_t>(node)] + 1;
      queue_.push_back(arc(i).to);
    }
  }
  return found;
}

// All that the source gives `start` and that has a way down the levels.
void MinimumCut::SendFrom(int32_t start) {
  path_.clear();
  int32_t node = start;
  while (source_[static_cast<size_t>(start)] > 0 && level_[static_cast<size_t>(start)] >= 0) {
    if (sink_[static_cast<size_t>(node)] > 0) {
      const int64_t pushed = PushAlong(start, node);
      value_ += pushed;
      // Back to where the first arc that is full begins.
      size_t keep = 0;
      while (keep < path_.size() && arc(path_[keep]).left > 0) ++keep;
      if (keep < path_.size()) node = arc(arc(path_[keep]).reverse).to;
      path_.resize(keep);
      continue;
    }
    int32_t& next = current_[static_cast<size_t>(node)];
    const int32_t below = level_[static_cast<size_t>(node)] - 1;
    while (next < last(node) &&
           (arc(next).left == 0 || level_[static_cast<size_t>(arc(next).to)] != below)) {
      ++next;
    }
    if (below >= 0 && next < last(node)) {
      path_.push_back(next);
      node = arc(next).to;
      continue;
    }
    level_[static_cast<size_t>(node)] = -1;  // nothing leads on from here
    if (path_.empty()) return;
    node = arc(arc(path_.back()).reverse).to;
    path_.pop_back();
  }
}

int64_t MinimumCut::PushAlong(int32_t start, int32_t end) {
  int64_t pushed = std::min(source_[static_cast<size_t>(start)], sink_[static_cast<size_t>(end)]);
  for (const int32_t i : path_) pushed = std::min(pushed, arc(i).left);
  for (const int32_t i : path_) {
    arc(i).left -= pushed;
    arc(arc(i).reverse).left += pushed;
  }
  source_[static_cast<size_t>(start)] -= pushed;
  sink_[static_cast<size_t>(end)] -= pushed;
  return pushed;
}

void MinimumCut::FindReached() {
  reached_.assign(static_cast<size_t>(nodes_), false);
  queue_.clear();
  const auto reach = [&](int32_t node) {
    if (reached_[static_cast<size_t>(node)]) return;
    reached_[static_cast<size_t>(node)] = true;
    queue_.push_back(node);
  };
  for (int32_t node = 0; node < nodes_; ++node) {
    if (source_[static_cast<size_t>(node)] > 0) reach(node);
  }
  for (size_t next = 0; next < queue_.size(); ++next) {
    const int32_t node = queue_[next];
    for (int32_t i = first(node); i < last(node); ++i) {
      if (arc(i).left > 0) reach(arc(i).to);
    }
  }
}

}  // namespace placewright
