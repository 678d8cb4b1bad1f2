#include "cli/request/result_json.h"

#include <sys/resource.h>

#include <algorithm>

#include "formats/plan/layouts_json.h"
#include "formats/plan/strategies_json.h"
#include "plan/space_words.h"

namespace placewright {

Json DevicesToJson(std::span<const DeviceUse> devices) {
  Json list = Json::array();
  for (const DeviceUse& use : devices) {
    list.push_back({{"name", use.name},
                    {"kind", use.kind},
                    {"class", ToString(use.device_class)},
                    {"busy", use.busy},
                    {"peak_memory_bytes", use.peak_memory.count},
                    {"tensor_peak_bytes", use.tensor_peak.count},
                    {"workspace_bytes", use.workspace.count},
                    {"runtime_context_bytes", use.runtime_context.count},
                    {"capacity_bytes", use.capacity.count},
                    {"reserve_bytes", use.reserve.value_or(Bytes()).count},
                    {"ops", use.ops}});
  }
  return list;
}

Json CostSourcesToJson(const CostShares& shares) {
  return {{"given", shares.given}, {"measured", shares.measured}, {"modelled", shares.modelled}};
}

Json BestBaselineToJson(const BestBaseline& best) {
  if (best.baseline == nullptr) return nullptr;
  return {{"algorithm", best.baseline->algorithm},
          {"step_time_ns", best.baseline->step_time.count},
          {"on_gpus", best.on_gpus},
          {"speedup", best.speedup}};
}

void AddDistribution(const Plan& plan, Json* object) {
  if (plan.space == PlanSpace::kPlaced) return;
  (*object)["space"] = ToString(plan.space);
  AddDistributionSpec(plan.distribution, object);
  (*object)["communication"] = CommunicationToJson(plan.communication);
}

void AddSamplesPerSecond(const Plan& plan, Json* object) {
  (*object)["samples_per_second"] = nullptr;
  if (plan.SamplesPerSecond() > 0) (*object)["samples_per_second"] = plan.SamplesPerSecond();
}

void AddCommunicationTime(const Plan& plan, const CommunicationTime& time, Json* object) {
  if (plan.space == PlanSpace::kPlaced) return;
  (*object)["communication_ns"] = time.any.count;
  (*object)["exposed_communication_ns"] = time.exposed.count;
}

Json PlanSummaryToJson(const Plan& plan, std::string_view schema) {
  Json object;
  object["schema"] = schema;
  object["graph"] = plan.graph_name;
  object["cluster"] = plan.cluster_name;
  object["feasible"] = plan.feasible;
  object["algorithm"] = plan.algorithm;
  object["objective"] = plan.objective;
  object["order"] = ToString(plan.policy);
  object["step_time_ns"] = plan.step_time.count;
  AddSamplesPerSecond(plan, &object);
  object["lower_bound_ns"] = object["gap"] = nullptr;
  if (plan.lower_bound) {
    object["lower_bound_ns"] = plan.lower_bound->count;
    object["gap"] = plan.Gap();
  }
  object["space"] = ToString(plan.space);
  object["bound_space"] = ToString(plan.bound_space);
  object["bound_scope"] = WordsOf(plan.bound_space).plans;
  object["best_baseline"] = BestBaselineToJson(FindBestBaseline(plan));
  object["devices"] = DevicesToJson(plan.devices);
  object["baselines"] = Json::array();
  for (const Baseline& baseline : plan.baselines) {
    object["baselines"].push_back({{"algorithm", baseline.algorithm},
                                   {"feasible", baseline.feasible},
                                   {"step_time_ns", baseline.step_time.count},
                                   {"devices", baseline.devices},
                                   {"search", baseline.search}});
  }
  object["strategies"] = StrategiesToJson(plan.strategies);
  object["cost_sources"] =
      CostSourcesToJson({plan.share_given, plan.share_measured, plan.share_modelled});
  AddDistribution(plan, &object);
  object["seed"] = plan.seed;
  object["iterations"] = plan.iterations;
  object["seconds"] = plan.seconds;
  object["first_feasible_seconds"] = nullptr;
  if (plan.first_feasible_seconds) object["first_feasible_seconds"] = *plan.first_feasible_seconds;
  return object;
}

Json ReasonsToJson(const Bottlenecks& bottlenecks, const Cluster& cluster) {
  Json list = Json::array();
  const auto total = static_cast<double>(std::max<int64_t>(1, bottlenecks.Total().count));
  for (const Reason& reason : TopReasons(bottlenecks, cluster)) {
    list.push_back({{"what", reason.what},
                    {"time_ns", reason.time.count},
                    {"share", static_cast<double>(reason.time.count) / total}});
  }
  return list;
}

Json LayersToJson(const std::vector<LayerRow>& rows, const Cluster& cluster) {
  Json list = Json::array();
  for (const LayerRow& row : rows) {
    Json line;
    line["name"] = row.name;
    line["modules"] = row.modules;
    line["devices"] = Json::array();
    for (const LayerShare& share : row.shares) {
      line["devices"].push_back({{"device", cluster.device(share.device).name},
                                 {"ops", share.ops},
                                 {"time_ns", share.time.count},
                                 {"persistent_bytes", share.memory.count}});
    }
    list.push_back(std::move(line));
  }
  return list;
}

Json LinksToJson(const SimResult& result, const Cluster& cluster) {
  Json list = Json::array();
  const auto total = static_cast<double>(std::max<int64_t>(1, result.step_time.count));
  for (LinkId id : cluster.links()) {
    const LinkResult& link = result.links[id.index()];
    if (link.transfers == 0) continue;
    list.push_back({{"name", cluster.link(id).name},
                    {"busy", static_cast<double>(link.busy.count) / total},
                    {"moved_bytes", link.moved.count},
                    {"transfers", link.transfers}});
  }
  return list;
}

Json PeakToJson(const std::string& device_name, std::span<const PeakItem> items,
                const DeviceResult& device) {
  constexpr size_t kMax = 10;
  Json object;
  object["device"] = device_name;
  object["time_ns"] = device.peak_time.count;
  object["bytes"] = device.peak.count;
  object["parts"] = Json::object();
  for (const auto& [name, bytes] : PartsOf(items, device)) object["parts"][name] = bytes.count;
  object["largest"] = Json::array();
  for (const PeakItem& item : items.first(std::min(kMax, items.size()))) {
    object["largest"].push_back({{"name", item.name},
                                 {"kind", ToString(item.kind)},
                                 {"copy", item.copy},
                                 {"bytes", item.bytes.count}});
  }
  return object;
}

int64_t PeakResidentBytes() {
  struct rusage usage {};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<int64_t>(usage.ru_maxrss) * 1024;  // Linux counts in KiB
}

}  // namespace placewright
