#include "inputs.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "errors.h"

namespace nb = nanobind;

namespace placewright::python {
namespace {

StepHandle ReadStep(const std::string& path, const nb::dict& options) {
  ReadGraphOptions asked;
  asked.batch = nb::cast<std::optional<int64_t>>(options["batch"]);
  asked.dimensions = nb::cast<std::map<std::string, int64_t>>(options["dimensions"]);
  asked.prove_batch = nb::cast<bool>(options["prove_batch"]);
  asked.rewriting = RewritingOf(options);
  asked.mixed_precision = nb::cast<std::vector<std::string>>(options["precision"]);
  std::optional<Result<StepFile>> read;
  {
    nb::gil_scoped_release released;
    read = ReadStepFile(path, asked);
  }
  return {std::make_shared<const StepFile>(ValueOf(std::move(*read)))};
}

ClusterHandle ReadClusterOf(const std::string& path_or_preset) {
  Result<ClusterFile> read = ReadClusterFile(path_or_preset);
  // What is neither a file nor a preset has no place but the argument.
  if (!read.ok() && read.error().place.empty()) read.error().place = "argument cluster";
  return {std::make_shared<const ClusterFile>(ValueOf(std::move(read)))};
}

// None where it is proven how sizes follow the batch; else why not.
std::optional<std::string> WhyOneBatch(const StepHandle& step) {
  const BatchScaling* const laws = step.step->graph.batch_scaling();
  if (laws == nullptr) return "the file does not say how the step follows its batch";
  if (!laws->reason.empty()) return laws->reason;
  return std::nullopt;
}

// Executed ops of the forward pass, the backward pass and the update.
nb::tuple OpsByPhase(const StepHandle& step) {
  std::array<int64_t, 3> ops{};
  const Graph& graph = step.step->graph;
  for (const OpId id : graph.ops()) {
    if (!graph.op(id).is_view) ++ops[static_cast<size_t>(graph.op(id).phase)];
  }
  return nb::make_tuple(ops[0], ops[1], ops[2]);
}

// Bytes of what lies on devices for the whole step: parameters, optimizer state, buffers.
nb::dict PersistentBytes(const StepHandle& step) {
  const Graph& graph = step.step->graph;
  std::array<int64_t, 7> bytes{};
  for (size_t i = 0; i < graph.storage_count(); ++i) {
    const Storage& storage = graph.storage(StorageId(i));
    bytes[static_cast<size_t>(storage.kind)] += storage.bytes.count;
  }
  nb::dict result;
  for (const TensorKind kind :
       {TensorKind::kParameter, TensorKind::kOptimizerState, TensorKind::kBuffer}) {
    const std::string_view name = ToString(kind);
    result[nb::str(name.data(), name.size())] = bytes[static_cast<size_t>(kind)];
  }
  return result;
}

// (name, kind, class, usable bytes, bytes kept free) of each.
nb::list DevicesOf(const ClusterHandle& handle) {
  const Cluster& cluster = handle.cluster->cluster;
  nb::list devices;
  for (const DeviceId id : cluster.devices()) {
    const Device& device = cluster.device(id);
    const DeviceKind& kind = cluster.kind(id);
    devices.append(nb::make_tuple(device.name, kind.name, std::string(ToString(kind.device_class)),
                                  device.capacity.count, device.reserve.count));
  }
  return devices;
}

}  // namespace

Rewriting RewritingOf(const nb::dict& options) {
  Rewriting rewriting;
  rewriting.micro_batches = nb::cast<int64_t>(options["micro_batches"]);
  rewriting.recompute = nb::cast<std::vector<std::string>>(options["recompute"]);
  rewriting.schedule = nb::cast<std::string>(options["schedule"]);
  rewriting.stages = nb::cast<int64_t>(options["stages"]);
  rewriting.chunks = nb::cast<int64_t>(options["chunks"]);
  rewriting.offload = nb::cast<std::vector<std::string>>(options["offload"]);
  rewriting.layers = nb::cast<std::vector<int64_t>>(options["layers"]);
  return rewriting;
}

void BindInputs(nb::module_& module) {
  nb::class_<StepHandle>(module, "Step")
      .def_static("read", &ReadStep, nb::arg("path"), nb::arg("options"))
      .def_prop_ro("name", [](const StepHandle& s) { return s.step->graph.name(); })
      .def_prop_ro("format",
                   [](const StepHandle& s) { return std::string(s.step->graph.format()); })
      .def_prop_ro("batch", [](const StepHandle& s) { return s.step->graph.samples(); })
      .def_prop_ro("why_one_batch", &WhyOneBatch)
      .def_prop_ro("ops_by_phase", &OpsByPhase)
      .def_prop_ro("persistent_bytes", &PersistentBytes)
      .def_prop_ro("groups", [](const StepHandle& s) { return s.step->graph.group_count(); })
      .def_prop_ro("sha256", [](const StepHandle& s) { return s.step->file.sha256; })
      .def_prop_ro("notes", [](const StepHandle& s) { return s.step->notes; });
  nb::class_<ClusterHandle>(module, "Cluster")
      .def_static("read", &ReadClusterOf, nb::arg("path_or_preset"))
      .def_prop_ro("name", [](const ClusterHandle& c) { return c.cluster->cluster.name(); })
      .def_prop_ro("path", [](const ClusterHandle& c) { return c.cluster->file.path; })
      .def_prop_ro("sha256", [](const ClusterHandle& c) { return c.cluster->file.sha256; })
      .def_prop_ro("devices", &DevicesOf)
      .def_prop_ro("notes", [](const ClusterHandle& c) { return c.cluster->cluster.notes(); });
}

}  // namespace placewright::python
