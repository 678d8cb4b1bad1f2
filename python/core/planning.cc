#include "planning.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>
#include <placewright/report/plan_picture.h>

#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "errors.h"
#include "inputs.h"
#include "interrupt.h"

namespace nb = nanobind;

namespace placewright::python {
namespace {

// Made once and handed on by pointer: graphs are not copied.
struct Planned {
  Planned(PlannedStep made, const StepHandle& of, const ClusterHandle& on, bool was_interrupted)
      : planned(std::move(made)), step(of.step), cluster(on.cluster), interrupted(was_interrupted) {
    NameFiles(*step, *cluster, planned.plan);
  }
  Planned(const Planned&) = delete;
  Planned& operator=(const Planned&) = delete;

  PlannedStep planned;
  const std::shared_ptr<const StepFile> step;
  const std::shared_ptr<const ClusterFile> cluster;
  const bool interrupted;
};

// What Python hears of while the search runs. Handlers of signals run there, too. An exception ends
// the search, and is raised when it has ended.
class Listener {
 public:
  Listener(nb::object progress, InterruptStops& stops)
      : progress_(std::move(progress)), stops_(stops) {}

  void Hear(const PlanProgress& progress) {
    if (raised_) return;
    nb::gil_scoped_acquire acquired;
    try {
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
      if (progress_.is_none()) return;
      const std::chrono::duration<double> seconds = Clock::now() - started_;
      const nb::str name(progress.algorithm.data(), progress.algorithm.size());
      nb::object best = nb::none();
      if (progress.feasible) best = nb::int_(progress.best_step_time.count);
      progress_(name, progress.iterations, best, seconds.count());
    } catch (const nb::python_error&) {
      raised_ = std::current_exception();
      stops_.RequestStop();
    }
  }

  void RaiseIfRaised() const {
    if (raised_) std::rethrow_exception(raised_);
  }

 private:
  const nb::object progress_;
  InterruptStops& stops_;
  const Clock::time_point started_ = Clock::now();
  std::exception_ptr raised_;
};

Error UnknownWord(std::string_view argument, const std::string& word, std::string_view known) {
  return MakeError(ErrorCode::kUsage, "there is no " + std::string(argument) + " \"" + word + "\"",
                   "argument " + std::string(argument), "Give one of " + std::string(known) + ".");
}

std::string TextAt(const nb::dict& options, const char* key) {
  return nb::cast<std::string>(options[key]);
}
bool Given(const nb::dict& options, const char* key) {
  return options.contains(key) && !options[key].is_none();
}

using Pairs = std::vector<std::pair<std::string, std::string>>;
Pairs PairsAt(const nb::dict& options, const char* key) {
  Pairs pairs;
  if (!Given(options, key)) return pairs;
  for (const nb::handle pair : nb::cast<nb::list>(options[key])) {
    pairs.emplace_back(nb::cast<std::string>(pair[0]), nb::cast<std::string>(pair[1]));
  }
  return pairs;
}

std::vector<std::string> TextsAt(const nb::dict& options, const char* key) {
  if (!Given(options, key)) return {};
  return nb::cast<std::vector<std::string>>(options[key]);
}

Constraints ConstraintsOf(const nb::dict& options) {
  Constraints constraints;
  for (auto& [glob, device] : PairsAt(options, "pin")) constraints.pins.push_back({glob, device});
  for (auto& [glob, device] : PairsAt(options, "forbid")) {
    constraints.forbids.push_back({glob, device});
  }
  constraints.colocate = TextsAt(options, "colocate");
  constraints.colocate_each = TextsAt(options, "colocate_each");
  return constraints;
}

// How the search may go. Types are those that placewright/_arguments.py has seen to.
void SetSearch(const nb::dict& options, PlanRequest& request) {
  request.algorithm = TextAt(options, "algorithm");
  request.settings = TextsAt(options, "settings");
  request.strategies.rewrite = nb::cast<bool>(options["strategies"]);
  if (Given(options, "time")) {
    request.time = std::chrono::nanoseconds(nb::cast<int64_t>(options["time"]));
  }
  if (Given(options, "iterations")) request.iterations = nb::cast<int64_t>(options["iterations"]);
  request.seed = nb::cast<uint64_t>(options["seed"]);
  request.threads = nb::cast<int>(options["threads"]);
}

// What plans may be.
Status SetSpace(const nb::dict& options, PlanRequest& request) {
  if (Given(options, "space")) {
    const Result<PlanSpace> space = ParsePlanSpace(TextAt(options, "space"));
    if (!space.ok()) return UnknownWord("space", TextAt(options, "space"), "placed, replicated");
    request.space = space.value();
  }
  if (Given(options, "order")) {
    request.policy = FindSchedulingPolicy(TextAt(options, "order"));
    if (!request.policy) {
      return UnknownWord("order", TextAt(options, "order"), "program, fifo, critical-path");
    }
  }
  const std::optional<SfbMode> sfb = ParseSfbMode(TextAt(options, "sfb"));
  if (!sfb) return UnknownWord("sfb", TextAt(options, "sfb"), "none, embeddings, cut, paper");
  request.sfb = *sfb;
  request.local_batch_norm = nb::cast<bool>(options["local_batch_norm"]);
  request.constraints = ConstraintsOf(options);
  request.precision = TextAt(options, "precision");
  request.cost_profile = TextAt(options, "cost_profile");
  if (Given(options, "cost_store")) request.cost_store = TextAt(options, "cost_store");
  if (!Given(options, "layouts")) return Ok();
  PW_ASSIGN(request.layouts, ReadLayouts(TextAt(options, "layouts")));
  return Ok();
}

Result<PlanRequest> RequestOf(const nb::dict& options, const Graph& graph, const Cluster& cluster) {
  PlanRequest request;
  SetSearch(options, request);
  PW_RETURN_IF_ERROR(SetSpace(options, request));
  if (Given(options, "initial")) {
    PW_ASSIGN(request.initial, ResolvePlacement(PairsAt(options, "initial"), graph, cluster));
  }
  request.keep_files = true;
  request.in_lanes = true;
  return request;
}

// (algorithm, what differs of the step's options) of a step to be planned, which is given as it was recorded.
nb::tuple Settle(const StepHandle& step, const ClusterHandle& cluster, const nb::dict& options,
                 const nb::dict& rewriting) {
  const Graph& graph = step.step->graph;
  const Cluster& machines = cluster.cluster->cluster;
  PlanRequest request;
  SetSearch(options, request);
  ValueOf(SetSpace(options, request));
  const Rewriting asked = RewritingOf(rewriting);
  std::optional<Result<SettledRewriting>> settled;
  {
    nb::gil_scoped_release released;
    settled = SettleRewriting(graph, machines, request, asked);
  }
  const SettledRewriting made = ValueOf(std::move(*settled));
  nb::dict chosen;
  if (made.rewriting.schedule.empty()) return nb::make_tuple(made.algorithm, chosen);
  chosen["schedule"] = made.rewriting.schedule;
  chosen["stages"] = made.rewriting.stages;
  chosen["chunks"] = made.rewriting.chunks;
  chosen["layers"] = made.rewriting.layers;
  chosen["micro_batches"] = made.rewriting.micro_batches;
  return nb::make_tuple(made.algorithm, chosen);
}

std::unique_ptr<Planned> PlanOf(const StepHandle& step, const ClusterHandle& cluster,
                                const nb::dict& options, nb::object progress,
                                bool catch_interrupts) {
  const Graph& graph = step.step->graph;
  const Cluster& machines = cluster.cluster->cluster;
  PlanRequest request = ValueOf(RequestOf(options, graph, machines));
  InterruptStops stops(catch_interrupts);
  Listener listener(std::move(progress), stops);
  request.stop = stops.token();
  request.progress = [&listener](const PlanProgress& heard) { listener.Hear(heard); };
  std::optional<Result<PlannedStep>> made;
  {
    nb::gil_scoped_release released;
    made = PlanStep(graph, machines, request);
  }
  listener.RaiseIfRaised();
  return std::make_unique<Planned>(ValueOf(std::move(*made)), step, cluster, stops.interrupted());
}

// What rewrites the step further, so that a plan of the algorithm fits ("micro_batches=2: it then fits, 890 ms a step"),
// and whether it does; "" where nothing is known. And the options of that step, where it fits and changes nothing that was
// asked for, where the words are the change alone; else None. `rewriting`: what was asked for.
nb::tuple Advise(const StepHandle& recorded, const StepHandle& step, const ClusterHandle& cluster,
                 const nb::dict& options, const nb::dict& rewriting, bool catch_interrupts) {
  const Cluster& machines = cluster.cluster->cluster;
  PlanRequest request = ValueOf(RequestOf(options, step.step->graph, machines));
  InterruptStops stops(catch_interrupts);
  request.stop = stops.token();
  const Rewriting asked = RewritingOf(rewriting);
  std::optional<Result<std::optional<RewritingAdvice>>> advice;
  {
    nb::gil_scoped_release released;
    advice = AdviseRewriting(recorded.step->graph, step.step->graph, machines, request, asked);
  }
  // It is of use beside an error that is said anyway.
  if (!advice->ok() || !advice->value()) return nb::make_tuple("", false, nb::none());
  const RewritingAdvice& found = *advice->value();
  const std::string words = Describe(found, RewritingWords::kArguments);
  if (!found.fits || !found.may_be_chosen) return nb::make_tuple(words, found.fits, nb::none());
  const std::string change = DescribeChange(found, RewritingWords::kArguments);
  nb::dict chosen;
  chosen["micro_batches"] = found.to.micro_batches;
  chosen["recompute"] = found.to.recompute;
  chosen["layers"] = found.to.layers;
  return nb::make_tuple(change, true, chosen);
}

std::string Picture(const Planned& made) {
  const PlannedStep& p = made.planned;
  nb::gil_scoped_release released;
  return DrawPlan(p.plan, p.compiled ? *p.compiled : made.step->graph, made.cluster->cluster,
                  *p.costs, p.placement, p.schedule);
}

// `step` and `cluster`: where their files lie now, which hold what was read.
void Write(Planned& made, const std::string& path, const std::string& step,
           const std::string& cluster) {
  made.planned.plan.graph.path = step;
  made.planned.plan.cluster.path = cluster;
  std::optional<Status> written;
  {
    nb::gil_scoped_release released;
    written = WritePlan(made.planned, made.step->graph, made.cluster->cluster, path);
  }
  ValueOf(std::move(*written));
}

}  // namespace

void BindPlanning(nb::module_& module) {
  nb::class_<Planned>(module, "Planned")
      .def_prop_ro("text", [](const Planned& p) { return PlanToText(p.planned.plan); })
      .def_prop_ro("gap", [](const Planned& p) { return p.planned.plan.Gap(); })
      .def_prop_ro("proven_optimal",
                   [](const Planned& p) { return p.planned.plan.ProvenOptimal(); })
      .def_prop_ro("samples_per_second",
                   [](const Planned& p) { return p.planned.plan.SamplesPerSecond(); })
      .def_prop_ro("bound_argument", [](const Planned& p) { return p.planned.bound_argument; })
      .def_prop_ro("notes", [](const Planned& p) { return p.planned.notes; })
      .def_prop_ro("interrupted", [](const Planned& p) { return p.interrupted; })
      .def_prop_ro("compiled_text", [](const Planned& p) { return p.planned.compiled_text; })
      .def("picture", &Picture)
      .def("write", &Write, nb::arg("path"), nb::arg("step"), nb::arg("cluster"));
  module.def("settle", &Settle, nb::arg("step"), nb::arg("cluster"), nb::arg("options"),
             nb::arg("rewriting"));
  module.def("advise", &Advise, nb::arg("recorded"), nb::arg("step"), nb::arg("cluster"),
             nb::arg("options"), nb::arg("rewriting"), nb::arg("catch_interrupts"));
  module.def("plan", &PlanOf, nb::arg("step"), nb::arg("cluster"), nb::arg("options"),
             nb::arg("progress").none(), nb::arg("catch_interrupts"));
}

}  // namespace placewright::python
