#include "planning/what_if.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "cluster/cluster_changes.h"

namespace placewright {
namespace {

constexpr int64_t kMoreMemory = 16'000'000'000;
constexpr const char* kMoreMemoryName = "16 GB more per GPU";

// Why there is no step at a batch.
bool IsOfBatch(const Error& error) {
  switch (error.code) {
    case ErrorCode::kBatchScaling:
    case ErrorCode::kTooLarge:
    case ErrorCode::kNotRecordable:
    case ErrorCode::kGraphShape:
    case ErrorCode::kField: return true;
    default: return false;
  }
}

struct NamedChange {
  std::string name;
  ClusterChange change;
};

// GPUs by kind and host, in the cluster's order.
std::vector<std::vector<const Device*>> AlikeGpus(const ClusterBuilder& cluster) {
  std::vector<std::vector<const Device*>> groups;
  std::map<std::pair<int32_t, int32_t>, size_t> at;
  for (const Device& device : cluster.devices()) {
    const DeviceKind& kind = cluster.kinds()[static_cast<size_t>(device.kind)];
    if (kind.device_class != DeviceClass::kGpu) continue;
    const auto [found, added] = at.emplace(std::pair(device.host, device.kind), groups.size());
    if (added) groups.emplace_back();
    groups[found->second].push_back(&device);
  }
  return groups;
}

std::vector<NamedChange> LeaveOut(const ClusterBuilder& cluster) {
  const std::vector<std::vector<const Device*>> groups = AlikeGpus(cluster);
  std::vector<NamedChange> changes;
  std::map<int32_t, std::vector<std::string>> of_kind;
  size_t gpus = 0;
  for (const auto& group : groups) {
    gpus += group.size();
    for (const Device* const gpu : group) of_kind[gpu->kind].push_back(gpu->name);
  }
  if (gpus < 2) return changes;
  if (of_kind.size() == 1) {
    return {{"one GPU fewer", {.without = {groups.back().back()->name}}}};
  }
  for (const auto& group : groups) {
    const std::string& name = group.back()->name;
    changes.push_back({fmt::format("{} left out", name), {.without = {name}}});
  }
  for (const auto& [kind, names] : of_kind) {
    if (names.size() < 2) continue;
    changes.push_back({fmt::format("all {} {} left out", names.size(),
                                   cluster.kinds()[static_cast<size_t>(kind)].name),
                       {.without = names}});
  }
  return changes;
}

std::vector<NamedChange> ChangesOf(const ClusterBuilder& described, const Cluster& cluster) {
  std::vector<NamedChange> changes;
  if (HasNetwork(cluster)) changes.push_back({"twice the network", {.network_factor = 2}});
  if (CanHaveNvlink(described)) changes.push_back({"NVLink between GPUs", {.nvlink = true}});
  if (LacksPeerToPeer(described)) {
    changes.push_back({"peer to peer between GPUs", {.peer_to_peer = true}});
  }
  changes.push_back({kMoreMemoryName, {.more_memory = Bytes(kMoreMemory)}});
  for (NamedChange& change : LeaveOut(described)) changes.push_back(std::move(change));
  return changes;
}

class WhatIfAsker {
 public:
  explicit WhatIfAsker(const WhatIfRequest& request) : request_(request) {}

  Result<WhatIfAnswers> Ask() {
    PW_ASSIGN(base_cluster_, Build(ClusterChange()));
    PW_ASSIGN(StrategyTrier* const base, request_.step(request_.batch));
    PW_ASSIGN(answers_.base, Answer("as it is", *base, *base_cluster_, request_.trials));
    best_rate_ = answers_.base.samples_per_second;
    if (request_.plan) {
      WhatIfAnswer best = std::move(answers_.base);
      answers_.base = *request_.plan;
      best.name = "the best strategy";
      answers_.changes.push_back(std::move(best));
    }
    const std::optional<StrategyResult> best =
        request_.plan ? answers_.changes.front().best : answers_.base.best;
    PW_RETURN_IF_ERROR(ChangeMachines(*base));
    PW_RETURN_IF_ERROR(ChangeBatch());
    PW_RETURN_IF_ERROR(ChangeRecomputation(*base, best));
    if (best && !answers_.interrupted) {
      PW_ASSIGN(answers_.detail, base->Detail(*base_cluster_, best->strategy, request_.trials));
    }
    Finish();
    return std::move(answers_);
  }

 private:
  Result<Cluster> Build(const ClusterChange& change) const {
    PW_ASSIGN(ClusterBuilder changed, ChangeCluster(request_.cluster, change));
    PW_ASSIGN(Cluster cluster, std::move(changed).Build());
    PW_RETURN_IF_ERROR(ApplyMemoryReserve(request_.reserve, &cluster));
    return cluster;
  }

  bool Stopped() {
    answers_.interrupted = answers_.interrupted || request_.trials.stop.StopRequested();
    return answers_.interrupted;
  }

  Result<WhatIfAnswer> Answer(const std::string& name, StrategyTrier& step, const Cluster& cluster,
                              const StrategyTrialOptions& options) {
    if (request_.asking) request_.asking(name);
    WhatIfAnswer answer;
    answer.name = name;
    answer.batch = step.step().samples();
    PW_ASSIGN(const StrategyTrials trials, step.On(cluster, options));
    answers_.interrupted |= trials.interrupted;
    if (const StrategyResult* const best = trials.Best(); best != nullptr) {
      answer.best = *best;
      answer.samples_per_second =
          static_cast<double>(std::max<int64_t>(1, answer.batch)) / Seconds(best->step_time);
    } else if (!trials.strategies.empty()) {
      const StrategyResult& nearest = trials.strategies.front();
      answer.why_not = fmt::format("{}: {}", Describe(nearest.strategy), nearest.why_not);
    }
    return answer;
  }

  // What was cut short says nothing.
  Status Add(Result<WhatIfAnswer> answer) {
    PW_ASSIGN(WhatIfAnswer one, std::move(answer));
    if (!answers_.interrupted) answers_.changes.push_back(std::move(one));
    return Ok();
  }

  Status ChangeMachines(StrategyTrier& step) {
    for (const NamedChange& change : ChangesOf(request_.cluster, *base_cluster_)) {
      if (Stopped()) return Ok();
      PW_ASSIGN(const Cluster cluster, Build(change.change));
      PW_RETURN_IF_ERROR(Add(Answer(change.name, step, cluster, request_.trials)));
    }
    return Ok();
  }

  Status ChangeBatch() {
    std::vector<int64_t> batches;
    if (request_.batch > 1) batches.push_back(request_.batch / 2);
    if (request_.batch > 0) batches.push_back(request_.batch * 2);
    for (const int64_t batch : batches) {
      if (Stopped()) return Ok();
      const std::string name = fmt::format("batch {}", batch);
      Result<StrategyTrier*> step = request_.step(batch);
      if (!step.ok() && IsOfBatch(step.error())) {
        WhatIfAnswer none;
        none.name = name;
        none.batch = batch;
        none.why_not = step.error().message;
        answers_.changes.push_back(std::move(none));
        continue;
      }
      PW_ASSIGN(StrategyTrier* const trier, std::move(step));
      PW_RETURN_IF_ERROR(Add(Answer(name, *trier, *base_cluster_, request_.trials)));
    }
    return Ok();
  }

  Status ChangeRecomputation(StrategyTrier& step, const std::optional<StrategyResult>& best) {
    if (request_.trials.recompute || !best) return Ok();
    const std::vector<std::string>& now = best->strategy.rewriting.recompute;
    for (const char* const set : {"", "selective", "full"}) {
      const std::vector<std::string> words =
          *set == 0 ? std::vector<std::string>() : std::vector<std::string>{set};
      if (words == now) continue;
      if (Stopped()) return Ok();
      StrategyTrialOptions options = request_.trials;
      options.recompute = words;
      const std::string name =
          words.empty() ? "nothing recomputed" : fmt::format("recompute {}", set);
      PW_RETURN_IF_ERROR(Add(Answer(name, step, *base_cluster_, options)));
    }
    return Ok();
  }

  void Finish() {
    const double now = answers_.base.samples_per_second;
    for (WhatIfAnswer& answer : answers_.changes) {
      if (answer.best && now > 0) answer.gain = answer.samples_per_second / now - 1;
    }
    std::stable_sort(answers_.changes.begin(), answers_.changes.end(),
                     [](const WhatIfAnswer& a, const WhatIfAnswer& b) {
                       return a.samples_per_second > b.samples_per_second;
                     });
    answers_.binds = Binding();
  }

  std::optional<BindingConstraint> Binding() const {
    if (best_rate_ == 0) return BindingConstraint::kMemory;
    for (const WhatIfAnswer& answer : answers_.changes) {
      // By what the best strategy gains, which a plan that is given need not have.
      const bool gains = answer.best && best_rate_ > 0 &&
                         answer.samples_per_second / best_rate_ - 1 >= kMemoryBinds;
      if (answer.name == kMoreMemoryName && gains) return BindingConstraint::kMemory;
    }
    if (!answers_.detail) return std::nullopt;
    const StepSplit& split = answers_.detail->split;
    const std::array<double, 3> shares = {split.compute, split.communication, split.idle};
    constexpr std::array kConstraints = {
        BindingConstraint::kCompute, BindingConstraint::kCommunication, BindingConstraint::kIdle};
    return kConstraints[static_cast<size_t>(std::max_element(shares.begin(), shares.end()) -
                                            shares.begin())];
  }

  const WhatIfRequest& request_;
  std::optional<Cluster> base_cluster_;
  double best_rate_ = 0;  // samples a second of the best strategy as it is; 0: there is none
  WhatIfAnswers answers_;
};

}  // namespace

std::string_view ToString(BindingConstraint constraint) {
  switch (constraint) {
    case BindingConstraint::kMemory: return "memory";
    case BindingConstraint::kCompute: return "compute";
    case BindingConstraint::kCommunication: return "a link";
    case BindingConstraint::kIdle: return "waiting";
  }
  return "compute";
}

Result<WhatIfAnswers> AskWhatIf(const WhatIfRequest& request) { return WhatIfAsker(request).Ask(); }

}  // namespace placewright
