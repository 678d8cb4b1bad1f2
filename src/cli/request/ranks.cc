#include "cli/request/ranks.h"

#include <fmt/format.h>

#include "formats/text/file.h"
#include "torch_api/process_environment.h"
#include "torch_api/torch_library.h"

namespace placewright {
namespace {

std::string DigestOf(const PlanInputs& loaded) {
  return Sha256(loaded.document.is_null() ? std::string() : loaded.document.dump());
}

}  // namespace

std::vector<std::pair<std::string, std::string>> RunRanks::FactsOf(const PlanInputs& loaded) {
  std::string placement;
  for (const auto& [op, device] : loaded.plan.placement) placement += op + "\n" + device + "\n";
  for (size_t d = 0; d < loaded.sequences.size(); ++d) {
    if (!loaded.sequences[DeviceId(d)]) continue;
    placement += fmt::format("sequence of {}\n", d);
    for (const OpId op : *loaded.sequences[DeviceId(d)])
      placement += fmt::format("{}\n", op.value());
  }
  // The first that differs is named. A plan that splits ops has its compiled step as graph, and says more.
  return {{"the plan", DigestOf(loaded)},
          {"the graph", loaded.graph.sha256},
          {"the cluster", loaded.cluster.sha256},
          {"the placement", Sha256(placement)}};
}

bool RunRanks::StartedAsRank() {
  const auto environment = ReadProcessEnvironment(ThisEnvironment());
  return environment.ok() && environment.value();
}

bool RunRanks::StartedBehindFirst() {
  const auto environment = ReadProcessEnvironment(ThisEnvironment());
  return environment.ok() && environment.value() && environment.value()->rank > 0;
}

Error RunRanks::Refuse(const Error& error, std::chrono::milliseconds timeout,
                       const std::atomic<bool>& interrupted) {
  if (!StartedAsRank()) return error;
  const Result<TorchLibrary> library = TorchLibrary::Open(TorchLibrary::Part::kRun);
  if (!library.ok() || library.value().api().executions() == nullptr) return error;
  JoinRequest request;
  request.timeout = timeout;
  request.failure = error;
  request.interrupted = &interrupted;
  // Whether the others hear of it or not.
  static_cast<void>(library.value().api().executions()->Join(request));
  return error;
}

Result<RunRanks> RunRanks::Join(const ExecutionService& service, const Cluster& cluster,
                                JoinRequest request) {
  RunRanks made;
  request.facts.insert(request.facts.begin(), {"the version of Placewright", PLACEWRIGHT_VERSION});
  PW_ASSIGN(made.processes_, service.Join(request));
  if (!made.several()) return made;
  Result<IdVector<DeviceId, int32_t>> rank_of = RanksOfDevices(cluster, made.size());
  if (!rank_of.ok()) return made.processes_->Fail(rank_of.error());
  made.rank_of_ = rank_of.Take();
  const std::vector<std::string>& hosts = made.processes_->hosts();
  const std::string& own = hosts[static_cast<size_t>(made.processes_->rank())];
  for (const int32_t rank : made.rank_of_) {
    made.here_.push_back(hosts[static_cast<size_t>(rank)] == own);
  }
  return made;
}

void RunRanks::Give(const PlanInputs& loaded, ExecutionRequest& request) const {
  if (!several()) return;
  request.processes = processes_.get();
  request.rank_of = rank_of_;
  const Schedule& schedule = loaded.schedule.schedule;
  const Graph& graph = loaded.graph.graph;
  // A placement made by hand has none.
  if (schedule.ops.size() == graph.op_count() &&
      schedule.collectives.size() == graph.collective_count()) {
    request.predicted = &schedule;
  }
}

Result<std::string> RunRanks::ReadFile(const std::string& path) const {
  std::string bytes;
  if (leads()) {
    PW_ASSIGN(bytes, ReadFileRaw(path));
  }
  if (!several()) return bytes;
  return processes_->Share(std::move(bytes));
}

Error RunRanks::Fail(const Error& error) const {
  return several() ? processes_->Fail(error) : error;
}

Result<int> RunRanks::End(Result<int> ended) {
  if (!several()) return ended;
  if (!ended.ok()) return Fail(ended.error());
  PW_RETURN_IF_ERROR(processes_->Finish());
  return ended;
}

}  // namespace placewright
