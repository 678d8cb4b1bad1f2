#include "formats/accelerate/device_map_writer.h"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "formats/accelerate/module_tree.h"
#include "graph/ownership/module_path.h"

namespace placewright {
namespace {

constexpr int32_t kCpu = -1;  // every CPU of a host is PyTorch's one "cpu"

Error Refusal(std::string reason) {
  return MakeError(ErrorCode::kNotExpressible, "a device_map cannot say it: " + std::move(reason),
                   "", "Export another way, or keep the module together with --colocate.");
}

std::string Show(std::string_view text) { return fmt::format("\"{}\"", Printable(text, 120)); }

// "the model" or "the module "enc.0""
std::string ShowModule(std::string_view path) {
  return path.empty() ? "the model" : "the module " + Show(path);
}

// "cpu" or "GPU 1"
std::string Show(int32_t device) {
  return device == kCpu ? "the CPU" : fmt::format("GPU {}", device);
}

// A parameter or buffer of the model.
struct ModelTensor {
  std::string_view path;  // as PyTorch names it
  std::optional<int32_t> device;
};

class MapWriter {
 public:
  MapWriter(const PlanInputs& plan, const Placement& placement)
      : graph_(plan.graph.graph),
        module_stated_(plan.graph.module_stated),
        stated_wrapped_(plan.graph.wrapped),
        cluster_(plan.cluster.cluster),
        placement_(placement) {}

  Result<std::string> Write(std::vector<std::string>* notes) {
    PW_RETURN_IF_ERROR(NumberDevices());
    ListTensors();
    if (tensors_.empty()) return Refusal("the graph has no parameters");
    PW_RETURN_IF_ERROR(CheckReaders());
    PW_RETURN_IF_ERROR(CheckModules());
    Json map = Json::object();
    for (const auto& [path, device] : MakeTree().Cover()) {
      map[path] = device == kCpu ? Json("cpu") : Json(device);
    }
    if (wrapped_ && !stated_wrapped_ && !map.contains("")) {
      notes->push_back(
          "all parameters and buffers of the graph begin with \"m.\", which is taken for the "
          "wrapper that they were recorded in and left out; if the model itself has this one "
          "child, let the file state \"wrapped\": false");
    }
    return FormatDocument(map);
  }

 private:
  // GPUs count from 0 on their host, as CUDA does.
  Status NumberDevices() {
    number_.assign(cluster_.device_count(), kCpu);
    std::map<int32_t, int32_t> gpus;  // by host
    for (DeviceId id : cluster_.devices()) {
      if (cluster_.kind(id).device_class != DeviceClass::kGpu) continue;
      number_[id] = gpus[cluster_.device(id).host]++;
    }
    DeviceId first;
    for (OpId op : graph_.ops()) {
      if (graph_.op(op).is_view) continue;
      const DeviceId device = placement_[op];
      if (cluster_.kind(device).device_class == DeviceClass::kOther) {
        return Refusal(fmt::format("the device {} is neither a CPU nor a GPU",
                                   Show(cluster_.device(device).name)));
      }
      if (!first.valid()) first = device;
      if (cluster_.device(device).host != cluster_.device(first).host) {
        return Refusal(fmt::format("the devices {} and {} are on several hosts",
                                   Show(cluster_.device(first).name),
                                   Show(cluster_.device(device).name)));
      }
    }
    return Ok();
  }

  static std::optional<std::string_view> PathOf(std::string_view name) {
    for (std::string_view prefix : {"param:", "buffer:"}) {
      if (name.starts_with(prefix)) return name.substr(prefix.size());
    }
    return std::nullopt;
  }

  void ListTensors() {
    tensor_of_.assign(graph_.storage_count(), -1);
    wrapped_ = stated_wrapped_.value_or(true);
    for (TensorId id : graph_.tensors()) {
      const Tensor& tensor = graph_.tensor(id);
      const std::optional<std::string_view> path = PathOf(tensor.name);
      if (tensor.producer.valid() || !path) continue;
      wrapped_ = wrapped_ && path->starts_with(kWrapper);
      const OpId home = graph_.home_op(tensor.storage);
      tensor_of_[tensor.storage] = static_cast<int32_t>(tensors_.size());
      tensors_.push_back({*path, std::nullopt});
      if (home.valid()) tensors_.back().device = number_[placement_[home]];
    }
    for (ModelTensor& tensor : tensors_) {
      if (wrapped_) tensor.path.remove_prefix(kWrapper.size());
    }
  }

  // A module of the graph as PyTorch names it; nothing for what is no part of the model.
  std::optional<std::string_view> ModuleOf(const Op& op) const {
    std::string_view path = graph_.module_path(op.module);
    if (path.empty()) return std::nullopt;
    if (!wrapped_) return path;
    if (path == kWrapper.substr(0, 1)) return std::string_view();
    if (!path.starts_with(kWrapper)) return std::nullopt;
    return path.substr(kWrapper.size());
  }

  // The module that surely ran it: what the file says, or for a backward op the module of the
  // forward op that it belongs to. A forward op outside of any module is attributed to a near one,
  // but Accelerate runs it where its inputs are.
  std::optional<std::string_view> RunBy(OpId id) const {
    const Op& op = graph_.op(id);
    const bool stated = module_stated_.empty() || module_stated_[id];
    if (op.phase == Phase::kForward && !stated) return std::nullopt;
    return ModuleOf(op);
  }

  // What an op reads of the model lies where the op runs: Accelerate moves activations only.
  Status CheckReaders() const {
    for (OpId id : graph_.ops()) {
      const Op& op = graph_.op(id);
      if (op.is_view || op.phase == Phase::kOptimizer) continue;
      for (TensorId input : op.inputs) {
        const int32_t index = tensor_of_[graph_.tensor(input).storage];
        if (index < 0) continue;
        const ModelTensor& tensor = tensors_[static_cast<size_t>(index)];
        const int32_t device = number_[placement_[id]];
        if (!tensor.device || *tensor.device == device) continue;
        const std::string_view owner = ParentModule(tensor.path);
        const std::string_view reader = ModuleOf(op).value_or(owner);
        if (IsWithinModule(reader, owner) || IsWithinModule(owner, reader)) {
          const std::string_view outer = IsWithinModule(reader, owner) ? owner : reader;
          return Torn(outer, tensor.path, *tensor.device, op, device);
        }
        return Refusal(fmt::format("the weight {} on {} is tied: {} reads it on {}",
                                   Show(tensor.path), Show(*tensor.device), ShowModule(reader),
                                   Show(device)));
      }
    }
    return Ok();
  }

  static Error Torn(std::string_view module, std::string_view tensor, int32_t tensor_device,
                    const Op& op, int32_t device) {
    return Refusal(fmt::format("{} is torn: {} lies on {}, its op {} runs on {}",
                               ShowModule(module), Show(tensor), Show(tensor_device), Show(op.name),
                               Show(device)));
  }

  // What a module holds by itself lies on one device; so do all ops of a module without others
  // below it.
  Status CheckModules() const {
    std::map<std::string_view, const ModelTensor*> first;  // by module
    std::set<std::string_view> inner = InnerModules();
    for (const ModelTensor& tensor : tensors_) {
      if (!tensor.device) continue;
      const auto [known, added] = first.emplace(ParentModule(tensor.path), &tensor);
      if (*known->second->device == *tensor.device) continue;
      return Refusal(fmt::format("{} is torn: {} lies on {}, {} on {}", ShowModule(known->first),
                                 Show(known->second->path), Show(*known->second->device),
                                 Show(tensor.path), Show(*tensor.device)));
    }
    for (OpId id : graph_.ops()) {
      const Op& op = graph_.op(id);
      const std::optional<std::string_view> module = RunBy(id);
      if (op.is_view || !module || inner.count(*module) > 0) continue;
      const auto owner = first.find(*module);
      const int32_t device = number_[placement_[id]];
      if (owner == first.end() || *owner->second->device == device) continue;
      return Torn(*module, owner->second->path, *owner->second->device, op, device);
    }
    return Ok();
  }

  // Modules with modules below them.
  std::set<std::string_view> InnerModules() const {
    std::set<std::string_view> inner;
    const auto add_parents = [&inner](std::string_view module) {
      while (!module.empty()) {
        module = ParentModule(module);
        if (!inner.insert(module).second) return;
      }
    };
    for (const ModelTensor& tensor : tensors_) add_parents(ParentModule(tensor.path));
    for (OpId id : graph_.ops()) {
      const std::optional<std::string_view> module = ModuleOf(graph_.op(id));
      if (module) add_parents(*module);
    }
    return inner;
  }

  // Parameters and buffers, and the leaf modules that own none (activations, tied heads).
  ModuleTree MakeTree() const {
    ModuleTree tree;
    std::set<std::string_view> owners = InnerModules();
    for (const ModelTensor& tensor : tensors_) {
      tree.Add(tensor.path, tensor.device);
      owners.insert(ParentModule(tensor.path));
    }
    std::vector<std::string_view> order;
    std::map<std::string_view, std::set<int32_t>> devices;
    for (OpId id : graph_.ops()) {
      const Op& op = graph_.op(id);
      const std::optional<std::string_view> module = RunBy(id);
      if (op.is_view || op.phase != Phase::kForward || !module || owners.count(*module)) continue;
      if (devices[*module].empty()) order.push_back(*module);
      devices[*module].insert(number_[placement_[id]]);
    }
    for (std::string_view module : order) {
      // The ops of a module without parameters run where their inputs are, if on several devices.
      const std::set<int32_t>& on = devices[module];
      tree.Add(module, on.size() == 1 ? std::optional(*on.begin()) : std::nullopt);
    }
    return tree;
  }

  static constexpr std::string_view kWrapper = "m.";

  const Graph& graph_;
  const IdVector<OpId, bool>& module_stated_;
  const std::optional<bool> stated_wrapped_;  // by the file
  const Cluster& cluster_;
  const Placement& placement_;
  IdVector<DeviceId, int32_t> number_;      // GPU number, or kCpu
  std::vector<ModelTensor> tensors_;        // in the order of the file
  IdVector<StorageId, int32_t> tensor_of_;  // index into tensors_, or -1
  bool wrapped_ = false;                    // "m." is left out of every path
};

}  // namespace

Result<std::string> WriteDeviceMap(const PlanInputs& plan, const Placement& placement,
                                   std::vector<std::string>* notes) {
  if (plan.graph.format != GraphFormat::kAten) {
    return MakeError(ErrorCode::kNotExpressible,
                     fmt::format("a device_map names modules of PyTorch; this plan is of a graph "
                                 "of the format \"{}\"",
                                 plan.graph.graph.format()),
                     "", "Plan an ATen training graph, or export to another format.");
  }
  return MapWriter(plan, placement).Write(notes);
}

}  // namespace placewright
