#include "formats/plan/plan_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/text.h"
#include "base/utf8.h"
#include "formats/text/file.h"

namespace placewright {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kJsonSuffix = ".json", kGzipSuffix = ".gz";
// Above it the costs and the schedule of a distributed plan, which has a line of each for every instance, are
// compressed.
constexpr size_t kMaxPlainBytes = 8 << 20;

fs::path FolderOf(const std::string& path) {
  std::error_code ignored;
  const fs::path absolute = fs::weakly_canonical(fs::absolute(path, ignored), ignored);
  return absolute.empty() ? fs::path(path).parent_path() : absolute.parent_path();
}

// As FileReference::path has it: relative to the plan's folder if in or below it, else absolute.
std::string StoredPath(const std::string& path, const fs::path& plan_folder) {
  std::error_code ignored;
  const fs::path absolute = fs::weakly_canonical(fs::absolute(path, ignored), ignored);
  if (absolute.empty()) return path;
  const fs::path relative = absolute.lexically_relative(plan_folder);
  const bool below = !relative.empty() && *relative.begin() != "..";
  return below ? relative.string() : absolute.string();
}

// The path to open for a stored one.
std::string OpenPath(const std::string& stored, const std::string& plan_path) {
  const fs::path path(stored);
  if (path.is_absolute()) return stored;
  return (fs::path(plan_path).parent_path() / path).string();
}

bool IsFile(const FileReference& reference) {
  return reference.path != kClusterInGraph && !reference.path.starts_with(kPresetPrefix);
}

// The costs file has a time for each op on each device and at most a route for each pair of
// devices, or for each tensor that an op reads where these are fewer.
JsonLimits LimitsFor(const Graph& graph, const Cluster& cluster) {
  constexpr int64_t kPerTime = 200, kPerRoute = 4096;
  const auto devices = static_cast<int64_t>(cluster.device_count());
  int64_t reads = 0;
  for (OpId op : graph.ops()) reads += static_cast<int64_t>(graph.op(op).inputs.size());
  JsonLimits limits;
  limits.document += static_cast<int64_t>(graph.op_count()) * devices * kPerTime;
  limits.document += std::min(devices * devices, reads) * kPerRoute;
  return limits;
}

// Reads one of our own JSON files and compares its hash.
Result<Json> ReadHashed(const FileReference& reference, std::string_view what,
                        const std::string& plan_path, const JsonLimits& limits) {
  const std::string path = OpenPath(reference.path, plan_path);
  PW_ASSIGN(std::string bytes, ReadFileRaw(path));
  const std::string sha256 = Sha256(bytes);
  if (sha256 != reference.sha256) {
    return Result<Json>(OtherContent(what, reference.sha256, sha256)).InFile(path);
  }
  PW_ASSIGN(bytes, Expand(std::move(bytes)).InFile(path));
  return ParseJson(bytes, limits).InFile(path);
}

Status LoadPlanGraph(const std::string& plan_path, const PlanInputOptions& options,
                     PlanInputs& inputs) {
  GraphInputOptions graph_options;
  if (inputs.plan.batch_option > 0) graph_options.batch = inputs.plan.batch_option;
  graph_options.dimensions = inputs.plan.dimensions;
  graph_options.sha256 = inputs.plan.graph.sha256;
  graph_options.transforms = inputs.plan.distribution.transforms.value_or(Transforms());
  graph_options.prove_batch = inputs.plan.space != PlanSpace::kPlaced;
  const std::string path = OpenPath(inputs.plan.graph.path, plan_path);
  Result<LoadedGraph> graph = LoadGraph(options.graph.value_or(path), graph_options);
  if (!graph.ok() &&
      (graph.error().code == ErrorCode::kUsage || graph.error().code == ErrorCode::kBatchScaling)) {
    // Without --batch and --dim: it is the plan that asks for what its graph cannot do.
    Error error =
        MakeError(ErrorCode::kPlanMismatch, graph.error().message,
                  inputs.plan.dimensions.empty() ? "graph.batch_option" : "graph.dimensions");
    error.file = plan_path;
    return error;
  }
  if (!graph.ok() && graph.error().code == ErrorCode::kFileUnreadable && !options.graph) {
    graph.error().remedy =
        "The plan names this graph: put it back, or say with `placewright check --graph FILE` "
        "where it lies now.";
  }
  PW_ASSIGN(inputs.graph, std::move(graph));
  return Ok();
}

// The compiled step of a distributed plan. Of the original nothing but the hash is looked at.
Status LoadStep(const std::string& plan_path, const PlanInputOptions& options, PlanInputs& inputs) {
  Plan& plan = inputs.plan;
  const std::string original = options.graph.value_or(OpenPath(plan.graph.path, plan_path));
  PW_ASSIGN(const std::string bytes, ReadFileRaw(original));
  if (const std::string sha256 = Sha256(bytes); sha256 != plan.graph.sha256) {
    Status other = OtherContent("graph", plan.graph.sha256, sha256);
    other.error().file = original;
    return other;
  }
  GraphInputOptions graph_options;
  graph_options.sha256 = plan.step.sha256;
  const std::string path = OpenPath(plan.step.path, plan_path);
  PW_ASSIGN(inputs.graph, LoadGraph(path, graph_options));
  if (!inputs.graph.placement) {
    Error error = MakeError(ErrorCode::kField, "the step's ops have no devices", "ops",
                            "Make the plan again.");
    error.file = path;
    return error;
  }
  plan.placement = *inputs.graph.placement;
  return Ok();
}

// What the plan was made with: the machines' description alone does not say it.
Status KeepPlanned(const Plan& plan, Cluster& cluster) {
  for (size_t i = 0; i < plan.links.size(); ++i) {
    const Plan::LinkFigures& link = plan.links[i];
    const LinkId id = cluster.FindLink(link.name);
    if (!id.valid()) {
      return MakeError(ErrorCode::kPlanInvalid,
                       fmt::format("the cluster has no link {}", Printable(link.name, 120)),
                       fmt::format("links[{}].name", i));
    }
    const auto same = [&](const Plan::LinkFigures& other) { return other.name == link.name; };
    const auto first = plan.links.begin() + static_cast<int64_t>(i);
    if (std::any_of(plan.links.begin(), first, same)) {
      return MakeError(ErrorCode::kPlanInvalid,
                       fmt::format("{} is there twice", Printable(link.name, 120)),
                       fmt::format("links[{}].name", i));
    }
    cluster.SetLink(id, link.bandwidth, link.latency, "measured");
  }
  for (size_t i = 0; i < plan.devices.size(); ++i) {
    const DeviceUse& use = plan.devices[i];
    const DeviceId id = cluster.FindDevice(use.name);
    if (!use.reserve || !id.valid()) continue;  // a name that is not there is the checker's to say
    Status kept = cluster.SetReserve(id, *use.reserve);
    if (!kept.ok()) {
      return MakeError(ErrorCode::kPlanInvalid, kept.error().message,
                       fmt::format("devices[{}].reserve_bytes", i));
    }
  }
  return Ok();
}

Status LoadPlanCluster(const std::string& plan_path, const PlanInputOptions& options,
                       PlanInputs& inputs) {
  const FileReference& reference = inputs.plan.cluster;
  if (reference.path == kClusterInGraph && !options.cluster) {
    if (!inputs.graph.cluster) {
      return MakeError(ErrorCode::kPlanMismatch, "the graph file carries no devices",
                       "cluster.in_graph");
    }
    inputs.cluster = {reference.path, ClusterHash(*inputs.graph.cluster), *inputs.graph.cluster};
  } else {
    const std::string stored =
        IsFile(reference) ? OpenPath(reference.path, plan_path) : reference.path;
    PW_ASSIGN(inputs.cluster,
              LoadCluster(options.cluster.value_or(stored), {.as_described = true}));
  }
  if (inputs.cluster.sha256 == reference.sha256) {
    return KeepPlanned(inputs.plan, inputs.cluster.cluster);
  }
  Status other = OtherContent("cluster", reference.sha256, inputs.cluster.sha256);
  // A preset is no file.
  if (IsFile({inputs.cluster.path, ""})) other.error().file = inputs.cluster.path;
  return other;
}

Result<Json> ReadDocument(const std::string& path) {
  PW_ASSIGN(const std::string text, ReadFile(path));
  return ParseJson(text).InFile(path);
}

}  // namespace

Status CheckPathsUtf8(const std::string& graph, const std::string& cluster,
                      const std::string& plan_path) {
  const fs::path folder = FolderOf(plan_path);
  std::vector<std::string> stored = {fs::path(plan_path).filename().string(),
                                     StoredPath(graph, folder)};
  if (IsFile({cluster, ""})) stored.push_back(StoredPath(cluster, folder));
  for (const std::string& path : stored) {
    if (IsUtf8(path)) continue;
    return MakeError(
        ErrorCode::kUsage,
        fmt::format("the path {} is not UTF-8, so that no plan can name it", Printable(path)), "",
        "Rename the file or the folder.");
  }
  return Ok();
}

std::string PathBeside(const std::string& plan_path, const std::string& suffix) {
  std::string_view stem = plan_path;
  const bool gzip = stem.ends_with(kGzipSuffix);
  if (gzip) stem.remove_suffix(kGzipSuffix.size());
  if (stem.ends_with(kJsonSuffix)) stem.remove_suffix(kJsonSuffix.size());
  return fmt::format("{}.{}{}{}", stem, suffix, kJsonSuffix, gzip ? kGzipSuffix : "");
}

Status WritePlanFiles(Plan plan, const CostTable& costs, const Schedule& schedule,
                      const Graph& graph, const Cluster& cluster, const std::string& plan_path,
                      const std::string& step) {
  PW_ASSIGN(const Placement placement, ResolvePlacement(plan.placement, graph, cluster));
  const fs::path folder = FolderOf(plan_path);
  plan.graph.path = StoredPath(plan.graph.path, folder);
  if (IsFile(plan.cluster)) plan.cluster.path = StoredPath(plan.cluster.path, folder);
  if (plan.cost_store) plan.cost_store->path = StoredPath(plan.cost_store->path, folder);
  const bool distributed = plan.space != PlanSpace::kPlaced;
  FileSet files;
  const auto add = [&](std::string text, const std::string& suffix, FileReference& reference) {
    std::string path = PathBeside(plan_path, suffix);
    if (distributed && text.size() > kMaxPlainBytes && !IsGzipName(path)) {
      path += kGzipSuffix;
    }
    if (IsGzipName(path)) text = Gzip(text);  // the hash is that of the file
    reference = {fs::path(path).filename().string(), Sha256(text)};
    return files.Add(path, text);
  };
  PW_RETURN_IF_ERROR(add(FormatCosts(costs, schedule, graph, cluster), "costs", plan.costs));
  PW_RETURN_IF_ERROR(
      add(FormatSchedule(schedule, graph, cluster, placement), "schedule", plan.schedule));
  if (distributed) {
    const std::string path = StepPath(plan_path), bytes = Gzip(step);
    plan.step = {fs::path(path).filename().string(), Sha256(bytes)};
    PW_RETURN_IF_ERROR(files.Add(path, bytes));
  }
  PW_RETURN_IF_ERROR(files.Add(plan_path, FormatDocument(PlanToJson(plan))));
  return files.PutInPlace();
}

Result<Plan> LoadPlan(const std::string& plan_path) {
  PW_ASSIGN(const Json document, ReadDocument(plan_path));
  PW_ASSIGN(Plan plan, PlanFromJson(document).InFile(plan_path));
  PW_RETURN_IF_ERROR(CheckDigest(document).InFile(plan_path));
  return plan;
}

Status CheckDigest(const Json& document) {
  PW_ASSIGN(const std::string stated, GetString(document, "digest", ""));
  if (stated == PlanDigest(document)) return Ok();
  return MakeError(ErrorCode::kPlanInvalid, "the file is not as it was written: its digest differs",
                   "digest",
                   "Make the plan again; `placewright check` names a change that has a meaning.");
}

std::string StepPath(const std::string& plan_path) {
  const std::string path = PathBeside(plan_path, "compiled");
  return path.ends_with(kGzipSuffix) ? path : path + std::string(kGzipSuffix);
}

std::vector<std::string> FilesOf(const Plan& plan, const std::string& plan_path) {
  std::vector<std::string> paths;
  for (const FileReference* reference : {&plan.graph, &plan.cluster, &plan.costs, &plan.schedule}) {
    if (IsFile(*reference)) paths.push_back(OpenPath(reference->path, plan_path));
  }
  if (plan.space != PlanSpace::kPlaced) paths.push_back(OpenPath(plan.step.path, plan_path));
  return paths;
}

Result<PlanInputs> LoadPlanInputs(const std::string& plan_path, const PlanInputOptions& options) {
  PlanInputs inputs;
  PW_ASSIGN(inputs.document, ReadDocument(plan_path));
  PW_ASSIGN(inputs.plan, PlanFromJson(inputs.document).InFile(plan_path));
  if (!inputs.plan.lanes.empty() && !options.in_lanes) {
    Error error =
        MakeError(ErrorCode::kPlanInvalid,
                  "its files are of one device of each class, and this needs all of them", "lanes",
                  "`placewright check PLAN` compiles the step of all devices and proves it.");
    error.file = plan_path;
    return error;
  }
  if (inputs.plan.space != PlanSpace::kPlaced) {
    PW_RETURN_IF_ERROR(LoadStep(plan_path, options, inputs));
  } else {
    PW_RETURN_IF_ERROR(LoadPlanGraph(plan_path, options, inputs));
  }
  PW_RETURN_IF_ERROR(LoadPlanCluster(plan_path, options, inputs).InFile(plan_path));
  const Graph& graph = inputs.graph.graph;
  const Cluster& cluster = inputs.cluster.cluster;
  const JsonLimits limits = LimitsFor(graph, cluster);
  PW_ASSIGN(const Json costs, ReadHashed(inputs.plan.costs, "costs file", plan_path, limits));
  // In lanes a collective holds links as often as those do that it stands for: no costs of a full step.
  if (!options.in_lanes) {
    PW_ASSIGN(
        inputs.costs,
        CostsFromJson(costs, graph, cluster).InFile(OpenPath(inputs.plan.costs.path, plan_path)));
  }
  PW_ASSIGN(const Json schedule,
            ReadHashed(inputs.plan.schedule, "schedule file", plan_path, limits));
  PW_ASSIGN(inputs.schedule, ScheduleFromJson(schedule, graph, cluster)
                                 .InFile(OpenPath(inputs.plan.schedule.path, plan_path)));
  PW_RETURN_IF_ERROR(CheckRoutesCovered(costs, inputs.schedule.schedule, cluster)
                         .InFile(OpenPath(inputs.plan.costs.path, plan_path)));
  return inputs;
}

Result<PlannedGraph> LoadPlannedGraph(const std::string& plan_path,
                                      const PlanInputOptions& options) {
  PlanInputs inputs;
  PW_ASSIGN(inputs.document, ReadDocument(plan_path));
  PW_ASSIGN(inputs.plan, PlanFromJson(inputs.document).InFile(plan_path));
  PW_RETURN_IF_ERROR(LoadPlanGraph(plan_path, options, inputs));
  PW_RETURN_IF_ERROR(LoadPlanCluster(plan_path, options, inputs).InFile(plan_path));
  Plan& plan = inputs.plan;
  if (plan.cost_store) plan.cost_store->path = OpenPath(plan.cost_store->path, plan_path);
  return PlannedGraph{std::move(plan), std::move(inputs.graph), std::move(inputs.cluster)};
}

}  // namespace placewright
