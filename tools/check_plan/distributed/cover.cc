#include "check_plan/distributed/cover.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "base/units.h"

namespace placewright::check {
namespace {

constexpr int kTrials = 10000;

// The intervals of one dimension or axis.
template <class One>
struct Nest {
  const One* next;
  const One* end;
  int64_t period() const { return next == end ? 0 : next->period; }
};

template <class One>
Nest<One> NestOf(const Intervals<One>& all, const One& like) {
  const auto is = [&](const One& one) { return one.key() == like.key(); };
  const One* const next = std::find_if(all.along.begin(), all.along.end(), is);
  return {next, std::find_if_not(next, all.along.end(), is)};
}

// What is left of [from, to) in a period of the next intervals: all of it where that is in there, else up to two ends.
std::array<Interval, 2> WithinPeriods(Interval all, int64_t period) {
  const int64_t first = all.from / period, last = (all.to - 1) / period;
  const bool begins = all.from % period == 0, ends = all.to % period == 0;
  const bool one = last - first >= 2 || (all.length() >= period && (begins || ends));
  if (one) return {Interval{0, period}, Interval{}};
  const Interval begin = {all.from - first * period, std::min(all.to - first * period, period)};
  if (first == last) return {begin, Interval{}};
  return {begin, Interval{0, all.to - last * period}};
}

// Both within `all` of `period` elements. Where their periods do not nest they are taken to meet.
template <class One>
bool MeetWithin(Nest<One> a, Nest<One> b, Interval all, int64_t period) {
  if (all.length() <= 0) return false;
  const int64_t next = std::max(a.period(), b.period());
  if (next == 0 || period % next != 0) return true;
  for (Interval some : WithinPeriods(all, next)) {
    Nest<One> behind_a = a, behind_b = b;
    for (Nest<One>* const nest : {&behind_a, &behind_b}) {
      if (nest->period() != next) continue;
      some = {std::max(some.from, nest->next->from), std::min(some.to, nest->next->to)};
      ++nest->next;
    }
    if (MeetWithin(behind_a, behind_b, some, next)) return true;
  }
  return false;
}

template <class One>
bool MeetOf(const Intervals<One>& a, const Intervals<One>& b) {
  for (const One& one : a.along) {
    const Nest<One> nest = NestOf(a, one), other = NestOf(b, one);
    if (nest.next != &one || other.period() == 0) continue;
    const int64_t size = one.outer * one.period;
    if (!MeetWithin(nest, other, {0, size}, size)) return false;
  }
  return true;
}

template <class One>
bool AreAlike(const One& a, const One& b) {
  return a.key() == b.key() && a.outer == b.outer && a.period == b.period;
}

template <class One>
class Cover {
 public:
  explicit Cover(const std::vector<Intervals<One>>& all) : all_(all), order_(all.size()) {
    std::iota(order_.begin(), order_.end(), size_t{0});
    std::stable_sort(order_.begin(), order_.end(),
                     [&](size_t a, size_t b) { return all_[a].along < all_[b].along; });
    const auto same = [&](size_t a, size_t b) { return all_[a] == all_[b]; };
    order_.erase(std::unique(order_.begin(), order_.end(), same), order_.end());
    Count();
  }

  Coverage Find() {
    if (order_.empty()) return {};
    const Coverage meeting = FindMeeting();
    int64_t volume = 0;
    for (const int64_t one : volumes_) volume = SaturatingAdd(volume, one);
    if (meeting.kind == Coverage::kOnce) return volume == total_ ? meeting : Gap();
    if (volume <= total_ || !AreLayers()) return meeting;
    return {Coverage::kLayers, meeting.at, meeting.other, {}};
  }

 private:
  // Elements of the product of all axes that some are cut by.
  void Count() {
    std::vector<One> axes;  // an interval of each
    for (const size_t i : order_) {
      for (const One& one : all_[i].along) {
        const bool known = std::any_of(axes.begin(), axes.end(),
                                       [&](const One& axis) { return axis.key() == one.key(); });
        if (!known) axes.push_back(one);
      }
    }
    for (const One& axis : axes) total_ = SaturatingMultiply(total_, axis.outer * axis.period);
    for (const size_t i : order_) {
      int64_t volume = 1;
      for (const One& axis : axes) {
        int64_t length = axis.outer * axis.period;
        for (const One& one : all_[i].along) {
          if (one.key() == axis.key()) length = length / one.period * (one.to - one.from);
        }
        volume = SaturatingMultiply(volume, length);
      }
      volumes_.push_back(volume);
    }
  }

  const Intervals<One>& At(size_t i) const { return all_[order_[i]]; }

  Coverage FindMeeting() const {
    const bool alike = std::all_of(order_.begin(), order_.end(), [&](size_t i) {
      return !all_[i].whole() && AreAlike(all_[i].along.front(), At(0).along.front());
    });
    for (size_t i = 0; i < order_.size(); ++i) {
      for (size_t k = i + 1; k < order_.size(); ++k) {
        // They ascend.
        if (alike && At(k).along.front().from >= At(i).along.front().to) break;
        if (!MeetOf(At(i), At(k))) continue;
        const bool of_one =
            std::any_of(At(i).along.begin(), At(i).along.end(), [&](const One& one) {
              return std::any_of(At(k).along.begin(), At(k).along.end(),
                                 [&](const One& other) { return AreAlike(one, other); });
            });
        return {of_one ? Coverage::kTwice : Coverage::kMixed, order_[k], order_[i], {}};
      }
    }
    return {};
  }

  Coverage Gap() const {
    Coverage gap{Coverage::kNotAll, order_.back(), order_.back(), {}};
    int64_t next = 0;
    for (const size_t i : order_) {
      const bool one = all_[i].along.size() == 1 &&
                       AreAlike(all_[i].along.front(), all_[order_[0]].along.front());
      if (!one) return gap;
      const One& interval = all_[i].along.front();
      if (interval.from > next) return {Coverage::kNotAll, i, i, Interval{next, interval.from}};
      next = interval.to;
    }
    gap.gap = Interval{next, all_[order_.back()].along.front().period};
    return gap;
  }

  bool AreLayers() {
    trials_ = 0;
    for (size_t i = 0; i < order_.size(); ++i) {
      std::vector<size_t> layer = {i};
      if (!Complete(layer, 0, volumes_[i])) return false;
    }
    return true;
  }

  // With some of those from `next` on.
  bool Complete(std::vector<size_t>& layer, size_t next, int64_t volume) {
    if (volume == total_ || ++trials_ > kTrials) return true;
    for (size_t i = next; i < order_.size(); ++i) {
      const bool fits = volume + volumes_[i] <= total_ &&
                        std::none_of(layer.begin(), layer.end(),
                                     [&](size_t one) { return MeetOf(At(one), At(i)); });
      if (!fits) continue;
      layer.push_back(i);
      if (Complete(layer, i + 1, volume + volumes_[i])) return true;
      layer.pop_back();
    }
    return false;
  }

  const std::vector<Intervals<One>>& all_;
  std::vector<size_t> order_;     // ascending, each once
  std::vector<int64_t> volumes_;  // in this order
  int64_t total_ = 1;
  int trials_ = 0;
};

}  // namespace

Coverage CoverageOf(const std::vector<Part>& parts) { return Cover(parts).Find(); }
Coverage CoverageOf(const std::vector<Cut>& cuts) { return Cover(cuts).Find(); }

bool Meet(const Part& a, const Part& b) { return MeetOf(a, b); }
bool Meet(const Cut& a, const Cut& b) { return MeetOf(a, b); }

}  // namespace placewright::check
