#include "cost/communication/ring_search.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace placewright {
namespace {

constexpr double kNoLimit = std::numeric_limits<double>::infinity();

// Depth first over all orders that begin with the first device.
class ExactRingSearch {
 public:
  ExactRingSearch(const Cluster& cluster, std::span<const DeviceId> devices,
                  const LinkCapacities& capacities, size_t limit)
      : cluster_(cluster),
        devices_(devices),
        capacities_(capacities),
        limit_(limit),
        used_(cluster.link_count(), 0),
        taken_(devices.size(), false) {}

  std::vector<Ring> Run() {
    order_.push_back(devices_.front());
    taken_[0] = true;
    Extend(kNoLimit, Nanos(0));
    return std::move(best_);
  }

 private:
  struct Step {
    double rate;
    Nanos latency;
  };
  Step Cross(DeviceId from, DeviceId to, Step so_far) {
    const Route& route = cluster_.route(from, to);
    for (const LinkId link : route.links) {
      so_far.rate = std::min(so_far.rate, capacities_[link] / ++used_[link]);
    }
    return {so_far.rate, std::max(so_far.latency, route.latency)};
  }
  void Uncross(DeviceId from, DeviceId to) {
    for (const LinkId link : cluster_.route(from, to).links) --used_[link];
  }
  // Whether nothing that begins so can be taken.
  bool Worse(const Step& step) const {
    if (step.rate <= 0) return true;
    if (best_.empty()) return false;
    const Ring& best = best_.front();
    if (step.rate != best.rate) return step.rate < best.rate;
    if (step.latency != best.latency) return step.latency > best.latency;
    return best_.size() >= limit_;
  }
  void Extend(double rate, Nanos latency) {
    const DeviceId from = order_.back();
    if (order_.size() == devices_.size()) {
      const Step whole = Cross(from, order_.front(), {rate, latency});
      if (!Worse(whole)) Keep(whole);
      Uncross(from, order_.front());
      return;
    }
    for (size_t i = 1; i < devices_.size(); ++i) {
      if (taken_[i]) continue;
      const Step step = Cross(from, devices_[i], {rate, latency});
      if (!Worse(step)) {
        taken_[i] = true;
        order_.push_back(devices_[i]);
        Extend(step.rate, step.latency);
        order_.pop_back();
        taken_[i] = false;
      }
      Uncross(from, devices_[i]);
    }
  }
  void Keep(const Step& step) {
    const bool better =
        best_.empty() || step.rate > best_.front().rate || step.latency < best_.front().latency;
    if (better) best_.clear();
    best_.push_back({order_, step.rate, step.latency});
  }

  const Cluster& cluster_;
  const std::span<const DeviceId> devices_;
  const LinkCapacities& capacities_;
  const size_t limit_;
  IdVector<LinkId, int> used_;
  std::vector<bool> taken_;
  std::vector<DeviceId> order_;
  std::vector<Ring> best_;
};

bool Better(const Ring& a, const Ring& b) {
  return a.rate != b.rate ? a.rate > b.rate : a.latency < b.latency;
}

Ring WidestNextRing(const Cluster& cluster, std::span<const DeviceId> devices,
                    const LinkCapacities& capacities) {
  std::vector<DeviceId> left(devices.begin() + 1, devices.end());
  std::vector<DeviceId> order = {devices.front()};
  const auto width = [&](DeviceId to) {
    double rate = kNoLimit;
    const Route& route = cluster.route(order.back(), to);
    for (const LinkId link : route.links) rate = std::min(rate, capacities[link]);
    return std::pair(-rate, route.latency);
  };
  while (!left.empty()) {
    auto next = left.begin();
    auto next_width = width(*next);
    for (auto it = left.begin() + 1; it != left.end(); ++it) {
      const auto it_width = width(*it);
      if (it_width < next_width) {
        next = it;
        next_width = it_width;
      }
    }
    order.push_back(*next);
    left.erase(next);
  }
  return MeasureRing(cluster, std::move(order), capacities);
}

// No ring can pass on more than its narrowest device's links let out.
double RateLimit(const Cluster& cluster, std::span<const DeviceId> devices,
                 const LinkCapacities& capacities) {
  double limit = kNoLimit;
  for (const DeviceId from : devices) {
    double widest = 0;
    for (const DeviceId to : devices) {
      if (from == to) continue;
      double rate = kNoLimit;
      for (const LinkId link : cluster.route(from, to).links) {
        rate = std::min(rate, capacities[link]);
      }
      widest = std::max(widest, rate);
    }
    limit = std::min(limit, widest);
  }
  return limit;
}

constexpr size_t kReversedUpTo = 32;  // devices; each pass measures devices^2 / 2 rings
constexpr int kPasses = 4;

Ring HeuristicRing(const Cluster& cluster, std::span<const DeviceId> devices,
                   const LinkCapacities& capacities) {
  Ring ring = WidestNextRing(cluster, devices, capacities);
  if (devices.size() > kReversedUpTo) return ring;
  const double limit = RateLimit(cluster, devices, capacities);
  for (int pass = 0; pass < kPasses && ring.rate < limit; ++pass) {
    const Ring before = ring;
    for (size_t from = 1; from + 1 < devices.size(); ++from) {
      for (size_t to = from + 1; to < devices.size(); ++to) {
        std::vector<DeviceId> order = ring.order;
        std::reverse(order.begin() + static_cast<std::ptrdiff_t>(from),
                     order.begin() + static_cast<std::ptrdiff_t>(to) + 1);
        Ring changed = MeasureRing(cluster, std::move(order), capacities);
        if (Better(changed, ring)) ring = std::move(changed);
      }
    }
    if (!Better(ring, before)) break;
  }
  return ring;
}

}  // namespace

LinkCapacities AllCapacities(const Cluster& cluster) {
  LinkCapacities capacities(cluster.link_count(), 0);
  for (const LinkId link : cluster.links()) {
    capacities[link] = static_cast<double>(cluster.link(link).bandwidth.count);
  }
  return capacities;
}

Ring MeasureRing(const Cluster& cluster, std::vector<DeviceId> order,
                 const LinkCapacities& capacities) {
  std::vector<LinkId> links;
  Ring ring{std::move(order), kNoLimit, Nanos(0)};
  for (size_t i = 0; i < ring.order.size(); ++i) {
    const Route& route = cluster.route(ring.order[i], ring.order[(i + 1) % ring.order.size()]);
    links.insert(links.end(), route.links.begin(), route.links.end());
    ring.latency = std::max(ring.latency, route.latency);
  }
  std::sort(links.begin(), links.end());
  for (size_t i = 0; i < links.size();) {
    size_t end = i;
    while (end < links.size() && links[end] == links[i]) ++end;
    ring.rate = std::min(ring.rate, capacities[links[i]] / static_cast<double>(end - i));
    i = end;
  }
  return ring;
}

void TakeCapacity(const Cluster& cluster, const Ring& ring, LinkCapacities& capacities) {
  for (size_t i = 0; i < ring.order.size(); ++i) {
    const DeviceId to = ring.order[(i + 1) % ring.order.size()];
    for (const LinkId link : cluster.route(ring.order[i], to).links) {
      capacities[link] = std::max(0.0, capacities[link] - ring.rate);
    }
  }
}

Ring BestRing(const Cluster& cluster, std::span<const DeviceId> devices,
              const LinkCapacities& capacities) {
  if (devices.size() > kExactRing) return HeuristicRing(cluster, devices, capacities);
  std::vector<Ring> best = BestRings(cluster, devices, capacities, 1);
  return best.empty() ? Ring{} : std::move(best.front());
}

std::vector<Ring> BestRings(const Cluster& cluster, std::span<const DeviceId> devices,
                            const LinkCapacities& capacities, size_t limit) {
  return ExactRingSearch(cluster, devices, capacities, limit).Run();
}

}  // namespace placewright
