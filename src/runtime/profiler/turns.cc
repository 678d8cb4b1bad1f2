#include "runtime/profiler/turns.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "runtime/service/execution.h"

namespace placewright {

int64_t Quantile(std::vector<int64_t>& values, double share) {
  const auto at = static_cast<size_t>(share * static_cast<double>(values.size() - 1) + 0.5);
  std::nth_element(values.begin(), values.begin() + static_cast<int64_t>(at), values.end());
  return values[at];
}

void StepSamples::Add(const Execution::Step& step, const Execution& execution) {
  const Schedule schedule = execution.LastSchedule();
  const IdVector<OpId, int64_t> workspaces = execution.LastWorkspaces();
  int64_t sum = 0;
  for (const OpId op : graph_.ops()) {
    const int64_t time = (schedule.ops[op].end - schedule.ops[op].start).count;
    if (!graph_.op(op).is_view) times_[op].push_back(time);
    workspace_[op] = std::max(workspace_[op], workspaces[op]);
    sum += time;
  }
  steps_.push_back(step.time_ns);
  covered_.push_back(sum * 1'000'000 / std::max<int64_t>(1, step.time_ns));
}

void StepSamples::Clear() {
  for (std::vector<int64_t>& times : times_) times.clear();
  steps_.clear();
  covered_.clear();
}

double StepSamples::SumOfMedians() {
  double sum = 0;
  for (std::vector<int64_t>& times : times_) {
    if (!times.empty()) sum += static_cast<double>(Quantile(times, 0.5));
  }
  return sum;
}

StepProfile StepSamples::Profile() {
  StepProfile profile;
  profile.ops = IdVector<OpId, StepProfile::OpTime>(graph_.op_count());
  for (const OpId op : graph_.ops()) {
    std::vector<int64_t>& times = times_[op];
    if (times.empty()) continue;
    profile.ops[op] = {Nanos(Quantile(times, 0.5)), Nanos(Quantile(times, 0.1)),
                       Nanos(Quantile(times, 0.9)), Bytes(workspace_[op])};
  }
  profile.step = Nanos(Quantile(steps_, 0.5));
  profile.covered = std::min(1.0, static_cast<double>(Quantile(covered_, 0.5)) * 1e-6);
  profile.steps = static_cast<int64_t>(steps_.size());
  return profile;
}

Status Turns::Member::Step(StepSamples* samples) {
  PW_ASSIGN(const Execution::Step step, execution->Run());
  if (samples != nullptr) samples->Add(step, *execution);
  return Ok();
}

Result<std::unique_ptr<Turns>> Turns::Start(const Graph& graph,
                                            const std::vector<ExecutionDevice>& devices,
                                            const std::vector<bool>& alone, bool loaded,
                                            uint64_t seed) {
  std::unique_ptr<Turns> turns(new Turns);
  turns->alone_ = alone;
  std::vector<std::function<void()>> together;
  for (const ExecutionDevice& device : devices) {
    ExecutionRequest request;
    request.graph = &graph;
    request.placement = Placement(graph.op_count(), DeviceId(0));
    request.devices = {device};
    request.seed = seed;
    request.measure_workspace = true;
    turns->members_.push_back(std::make_unique<Member>(graph));
    Member& member = *turns->members_.back();
    PW_ASSIGN(member.execution, StartExecution(std::move(request)));
    together.emplace_back([all = turns.get(), &member] { all->RunTogether(member); });
  }
  // Threads stay, as those of an executed plan do.
  if (loaded) turns->team_.emplace(std::move(together));
  return turns;
}

void Turns::RunTogether(Member& member) {
  member.status = member.Step(sampling_ ? &member.loaded : nullptr);
  --left_;
  while (left_ > 0 && member.status.ok()) member.status = member.Step(nullptr);
}

Status Turns::Run(bool samples) {
  for (size_t i = 0; i < members_.size(); ++i) {
    if (alone_[i]) PW_RETURN_IF_ERROR(members_[i]->Step(samples ? &members_[i]->alone : nullptr));
  }
  if (!team_) return Ok();
  left_ = members_.size();
  sampling_ = samples;
  team_->Go();
  for (const auto& member : members_) PW_RETURN_IF_ERROR(member->status);
  return Ok();
}

}  // namespace placewright
