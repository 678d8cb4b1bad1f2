#include "compile/lane_links.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace placewright {
namespace {

Status NotAlike(std::string why) { return MakeError(ErrorCode::kPlanInvalid, std::move(why)); }

class LaneLinkFinder {
 public:
  LaneLinkFinder(const StepArrays& arrays, const Communication& communication)
      : arrays_(arrays),
        communication_(communication),
        cluster_(communication.cluster()),
        used_(cluster_.link_count()),
        class_of_(cluster_.link_count(), -1) {
    for (const LinkId link : IdRange<LinkId>(cluster_.link_count())) links_.held.push_back(link);
    links_.taken = links_.held;
  }

  Result<LaneLinks> Find() {
    std::vector<Priced> found;
    for (const CollectiveId id : arrays_.joined) {
      const ArrayCollective& collective = arrays_.collectives[id];
      const CollectiveRequest& request = collective.request;
      const auto key = std::tuple(collective.over, request.kind, request.whole.count,
                                  request.largest_piece.count, request.root);
      auto known = known_.find(key);
      if (known == known_.end()) {
        PW_ASSIGN(const Priced priced, Price(collective));
        known = known_.emplace(key, priced).first;
      }
      found.push_back(known->second);
    }
    PW_RETURN_IF_ERROR(FindClasses());
    PW_RETURN_IF_ERROR(CheckTransfers());
    for (const Priced& one : found) {
      links_.collectives.push_back(
          {one.time, links_of_way_[static_cast<size_t>(one.way)], one.algorithm, one.source});
    }
    return std::move(links_);
  }

 private:
  // A class of collectives by one algorithm: the links of each of its sets of devices.
  using Way = std::vector<std::vector<LinkId>>;

  struct Priced {
    Nanos time;
    int32_t way = 0;
    CollectiveAlgorithm algorithm = CollectiveAlgorithm::kNone;
    CostSource source = CostSource::kModelled;
  };

  Result<Priced> Price(const ArrayCollective& collective) {
    const auto& sets = arrays_.over[static_cast<size_t>(collective.over)];
    PW_ASSIGN(const CollectiveEstimate own,
              communication_.Estimate(collective.request, sets.front()));
    const auto key = std::tuple(collective.over, collective.request.kind, own.algorithm,
                                collective.request.root);
    const auto [way, fresh] = way_of_.emplace(key, static_cast<int32_t>(ways_.size()));
    if (fresh) ways_.emplace_back();
    for (const std::vector<DeviceId>& set : sets) {
      PW_ASSIGN(const CollectiveEstimate one, communication_.Estimate(collective.request, set));
      if (one.time != own.time || one.algorithm != own.algorithm) {
        return NotAlike("collectives of a class take different times").error();
      }
      if (fresh) ways_.back().emplace_back(one.links.begin(), one.links.end());
    }
    return Priced{own.time, way->second, own.algorithm, own.source};
  }

  // Links with equal counts of each way.
  Status FindClasses() {
    for (size_t way = 0; way < ways_.size(); ++way) {
      for (const std::vector<LinkId>& links : ways_[way]) {
        for (const LinkId link : links) {
          std::vector<std::pair<int32_t, int32_t>>& used = used_[link];
          if (used.empty() || used.back().first != static_cast<int32_t>(way)) {
            used.emplace_back(static_cast<int32_t>(way), 0);
          }
          if (++used.back().second > 1 && !cluster_.collectives_share()) {
            return NotAlike("collectives of a class wait for one another");
          }
        }
      }
    }
    std::map<std::vector<std::pair<int32_t, int32_t>>, int32_t> numbers;
    std::vector<LinkId> first;  // by class
    for (const LinkId link : IdRange<LinkId>(used_.size())) {
      if (used_[link].empty()) continue;
      const auto [at, fresh] = numbers.emplace(used_[link], static_cast<int32_t>(first.size()));
      if (fresh) first.push_back(link);
      class_of_[link] = at->second;
      links_.held[link] = first[static_cast<size_t>(at->second)];
    }
    for (size_t way = 0; way < ways_.size(); ++way) {
      std::set<int32_t> classes;
      for (const std::vector<LinkId>& links : ways_[way]) {
        std::set<int32_t> own;
        for (const LinkId link : links) own.insert(class_of_[link]);
        if (&links == &ways_[way].front()) classes = own;
        if (own != classes) return NotAlike("collectives of a class meet different ones");
      }
      std::vector<LinkId>& held = links_of_way_.emplace_back();
      for (const int32_t of : classes) {
        const LinkId link = first[static_cast<size_t>(of)];
        for (const auto& [by, times] : used_[link]) {
          if (by == static_cast<int32_t>(way))
            held.insert(held.end(), static_cast<size_t>(times), link);
        }
      }
      std::sort(held.begin(), held.end());
    }
    return Ok();
  }

  // Lanes have routes that are alike, of links that no other lane takes, and transfers to several devices go in the same
  // order everywhere.
  Status CheckTransfers() {
    if (arrays_.lane_reads.empty()) return Ok();
    const LaneClasses& lanes = *arrays_.lanes;
    IdVector<DeviceId, std::vector<DeviceId>> members(lanes.first.size());
    for (const DeviceId device : IdRange<DeviceId>(lanes.first.size())) {
      members[lanes.first[device]].push_back(device);
    }
    using Lane = std::pair<int32_t, int32_t>;  // size, lane
    std::map<LinkId, Lane> owners;
    std::map<std::tuple<int32_t, int32_t, LinkId>, LinkId> images;  // size, lane, link of lane 0
    std::map<std::tuple<int32_t, int32_t, LinkId>, LinkId> back;
    for (const auto& [from, to] : arrays_.lane_reads) {
      if (!cluster_.Connected(from, to)) return NotAlike("devices without a route");
      const Route& own = cluster_.route(from, to);
      for (int32_t lane = 0; lane < lanes.size[from]; ++lane) {
        const DeviceId source = members[from][static_cast<size_t>(lane)];
        const DeviceId destination = members[to][static_cast<size_t>(lane)];
        if (!cluster_.Connected(source, destination)) return NotAlike("devices without a route");
        const Route& route = cluster_.route(source, destination);
        bool alike = route.latency == own.latency && route.bandwidth == own.bandwidth &&
                     route.links.size() == own.links.size();
        for (size_t i = 0; alike && i < route.links.size(); ++i) {
          const LinkId link = route.links[i];
          const Lane of(lanes.size[from], lane);
          alike = owners.emplace(link, of).first->second == of;
          alike =
              alike &&
              images.emplace(std::tuple(of.first, lane, own.links[i]), link).first->second == link;
          alike =
              alike && back.emplace(std::tuple(of.first, lane, link), own.links[i]).first->second ==
                           own.links[i];
          alike = alike && (cluster_.collectives_share() || class_of_[link] < 0);
          links_.taken[link] = own.links[i];
        }
        if (!alike) return NotAlike("transfers of lanes meet");
      }
    }
    std::set<DeviceId> crossing;  // classes, by their first devices
    for (const auto& [from, to] : arrays_.lane_reads) crossing.insert({from, to});
    // Those of one size: the same order in each lane.
    std::map<int32_t, DeviceId> before;
    for (const DeviceId first : crossing) {
      if (lanes.size[first] < 2) continue;
      const auto [at, fresh] = before.emplace(lanes.size[first], first);
      const std::vector<DeviceId>&one = members[at->second], &next = members[first];
      for (size_t lane = 0; !fresh && lane < next.size(); ++lane) {
        if (next[lane] < one[lane]) return NotAlike("lanes have devices in different orders");
      }
      at->second = first;
    }
    return Ok();
  }

  const StepArrays& arrays_;
  const Communication& communication_;
  const Cluster& cluster_;
  std::map<std::tuple<int32_t, CollectiveKind, int64_t, int64_t, DeviceId>, Priced> known_;
  std::map<std::tuple<int32_t, CollectiveKind, CollectiveAlgorithm, DeviceId>, int32_t> way_of_;
  std::vector<Way> ways_;
  std::vector<std::vector<LinkId>> links_of_way_;
  IdVector<LinkId, std::vector<std::pair<int32_t, int32_t>>> used_;  // way, how often
  IdVector<LinkId, int32_t> class_of_;                               // -1: no collective's
  LaneLinks links_;
};

}  // namespace

Result<LaneLinks> FindLaneLinks(const StepArrays& arrays, const Communication& communication) {
  return LaneLinkFinder(arrays, communication).Find();
}

}  // namespace placewright
