#include "cost/communication/round.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace placewright {

Round::Round(const Cluster& cluster, std::span<const RoundTransfer> transfers) {
  std::map<LinkId, double> loads;
  for (const RoundTransfer& transfer : transfers) {
    for (const LinkId link : cluster.route(transfer.from, transfer.to).links) {
      loads[link] += transfer.weight;
    }
  }
  for (const auto& [link, load] : loads) links_.push_back(link);
  std::vector<Line> lines;
  for (const RoundTransfer& transfer : transfers) {
    const Route& route = cluster.route(transfer.from, transfer.to);
    Line line{static_cast<double>(route.latency.count), 0};
    for (const LinkId link : route.links) {
      const double bandwidth = static_cast<double>(cluster.link(link).bandwidth.count);
      line.nanos_per_byte = std::max(line.nanos_per_byte, loads[link] * 1e9 / bandwidth);
    }
    lines.push_back(line);
  }
  // A transfer that starts no later and moves no slower than another ends no later: it is left out.
  std::sort(lines.begin(), lines.end(), [](const Line& a, const Line& b) {
    return a.latency != b.latency ? a.latency > b.latency : a.nanos_per_byte > b.nanos_per_byte;
  });
  for (const Line& line : lines) {
    if (lines_.empty() || line.nanos_per_byte > lines_.back().nanos_per_byte) {
      lines_.push_back(line);
    }
  }
}

double Round::NanosFor(double bytes) const {
  double time = 0;
  for (const Line& line : lines_) {
    time = std::max(time, line.latency + std::ceil(bytes * line.nanos_per_byte));
  }
  return time;
}

double Round::latency() const { return lines_.empty() ? 0 : lines_.front().latency; }

double Round::nanos_per_byte() const { return lines_.empty() ? 0 : lines_.back().nanos_per_byte; }

void AddLinks(const Round& round, std::vector<LinkId>& links) {
  links.insert(links.end(), round.links().begin(), round.links().end());
  std::sort(links.begin(), links.end());
  links.erase(std::unique(links.begin(), links.end()), links.end());
}

}  // namespace placewright
