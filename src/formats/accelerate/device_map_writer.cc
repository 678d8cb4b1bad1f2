#include "formats/accelerate/device_map_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "formats/accelerate/execution.h"
#include "formats/accelerate/module_tree.h"
#include "formats/accelerate/refusals.h"
#include "formats/aten/format.h"
#include "graph/ownership/module_path.h"

namespace placewright {
namespace {

Error CannotLoad(std::string reason) {
  Refusals refusals;
  refusals.Add("", std::move(reason), "");
  return refusals.ToError();
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

class MapWriter {
 public:
  MapWriter(const PlanInputs& plan, const Placement& placement)
      : graph_(plan.graph.graph),
        file_(*plan.graph.Details<AtenDetails>()),
        cluster_(plan.cluster.cluster),
        placement_(placement) {}

  Result<std::string> Write(std::vector<std::string>* notes) {
    PW_RETURN_IF_ERROR(NumberDevices());
    ListTensors();
    if (model_.tensors.empty()) return CannotLoad("the graph has no parameters");
    inner_ = InnerModules();
    CheckModules();
    SettleModules();
    auto entries = MakeTree().Cover();
    for (const auto& [path, device] : entries) model_.entries.emplace(path, device);
    CheckReaders();
    const DispatchedExecution execution = ExecuteOnBestMainDevice();
    for (auto& [path, device] : entries) device = model_.entries.find(path)->second;
    for (const Mixture& mixture : execution.mixtures) RejectMixture(mixture);
    const Deviation deviation = DeviationOf(execution);
    if (refusals_.any_great() || (!refusals_.empty() && deviation.IsGreat())) {
      return refusals_.ToError();
    }
    Json map = Json::object();
    for (const auto& [path, device] : entries) {
      map[path] = device == kCpu ? Json("cpu") : Json(device);
    }
    if (wrapped_ && !file_.wrapped && !map.contains("")) {
      notes->push_back(
          "all parameters and buffers of the graph begin with \"m.\", which is taken for the "
          "wrapper that they were recorded in and left out; if the model itself has this one "
          "child, let the file state \"wrapped\": false");
    }
    AddNotes(deviation, notes);
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
    DeviceId& first = host_;
    for (OpId op : graph_.ops()) {
      if (graph_.op(op).is_view) continue;
      const DeviceId device = placement_[op];
      if (cluster_.kind(device).device_class == DeviceClass::kOther) {
        return CannotLoad(fmt::format("the device {} is neither a CPU nor a GPU",
                                      Show(cluster_.device(device).name)));
      }
      if (!first.valid()) first = device;
      if (cluster_.device(device).host != cluster_.device(first).host) {
        return CannotLoad(fmt::format("the devices {} and {} are on several hosts",
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
    std::vector<ModelTensor>& tensors = model_.tensors;
    model_.tensor_of.assign(graph_.storage_count(), -1);
    wrapped_ = file_.wrapped.value_or(true);
    for (TensorId id : graph_.tensors()) {
      const Tensor& tensor = graph_.tensor(id);
      const std::optional<std::string_view> path = PathOf(tensor.name);
      if (tensor.producer.valid() || !path) continue;
      wrapped_ = wrapped_ && path->starts_with(kWrapper);
      const OpId home = graph_.home_op(tensor.storage);
      model_.tensor_of[tensor.storage] = static_cast<int32_t>(tensors.size());
      tensors.push_back({*path, tensor.name.starts_with("param:"), std::nullopt});
      if (home.valid()) tensors.back().device = PlannedDevice(home);
    }
    for (ModelTensor& tensor : tensors) {
      if (wrapped_) tensor.path.remove_prefix(kWrapper.size());
    }
  }

  int32_t PlannedDevice(OpId id) const { return number_[placement_[id]]; }

  // A module of the graph as PyTorch names it; nothing for what is no part of the model.
  std::optional<std::string_view> ModuleOf(const Op& op) const {
    std::string_view path = graph_.module_path(op.module);
    if (path.empty()) return std::nullopt;
    if (!wrapped_) return path;
    if (path == kWrapper.substr(0, 1)) return std::string_view();
    if (!path.starts_with(kWrapper)) return std::nullopt;
    return path.substr(kWrapper.size());
  }

  // True where the file states the module of the op.
  bool IsStated(OpId id) const { return file_.module_stated.empty() || file_.module_stated[id]; }

  // The module that surely ran a forward op.
  std::optional<std::string_view> RunBy(OpId id) const {
    return IsStated(id) ? ModuleOf(graph_.op(id)) : std::nullopt;
  }

  // A module's path in the graph.
  std::string InGraph(std::string_view module) const {
    if (module.empty()) return "";
    return (wrapped_ ? std::string(kWrapper) : "") + std::string(module);
  }

  // Modules without others in them, and the model itself, are fixed on one device.
  bool IsSettled(std::string_view module) const {
    return module.empty() || inner_.count(module) == 0;
  }

  Refusals::Weight WeightOf(std::string_view split) const {
    return IsSettled(split) ? Refusals::Weight::kSmall : Refusals::Weight::kGreat;
  }

  void RejectSplit(std::string_view module, const std::string& what, std::string options,
                   Refusals::Weight weight) {
    refusals_.Add(module, fmt::format("{} is split across devices: {}", ShowModule(module), what),
                  std::move(options), weight);
  }

  // Both modules on the device of the op.
  std::string PinBoth(std::string_view a, std::string_view b, OpId op) const {
    if (a.empty() || b.empty()) return "";
    const std::string device = Printable(cluster_.device(placement_[op]).name, 120);
    return fmt::format("--pin '{}={}' --pin '{}={}'", Printable(InGraph(a), 120), device,
                       Printable(InGraph(b), 120), device);
  }

  // The makers of what an op outside of all whole modules reads, on one device: both where the op
  // is planned, or the only one that is a module where the other tensor is.
  std::string PinMakers(std::string_view a, std::string_view b, const Mixture& mixture) const {
    if (!a.empty() && !b.empty()) return PinBoth(a, b, mixture.op);
    const std::string_view module = a.empty() ? b : a;
    const int32_t device = mixture.devices[a.empty() ? 0 : 1];
    if (module.empty() || device == kCpu) return "";
    for (DeviceId id : cluster_.devices()) {
      if (number_[id] != device || cluster_.device(id).host != cluster_.device(host_).host)
        continue;
      return fmt::format("--pin '{}={}'", Printable(InGraph(module), 120),
                         Printable(cluster_.device(id).name, 120));
    }
    return "";
  }

  // Accelerate moves the arguments of `forward` to the modules that the map names, and nothing
  // else: what a module reads of its own, or of modules in it, lies where the module runs. What a
  // module around it holds has come as an argument; a buffer of any other module, too, or each of
  // the two has a copy.
  void CheckReaders() {
    for (OpId id : graph_.ops()) {
      const Op& op = graph_.op(id);
      if (op.is_view || op.phase == Phase::kOptimizer) continue;
      const std::string_view reader = ModuleOf(op).value_or(std::string_view());
      if (!DeviceOf(model_, reader)) continue;  // runs where its tensors are: Execute
      for (TensorId input : op.inputs) {
        const int32_t index = model_.tensor_of[graph_.tensor(input).storage];
        if (index < 0) continue;
        CheckReader(id, reader, model_.tensors[static_cast<size_t>(index)]);
      }
    }
  }

  void CheckReader(OpId id, std::string_view reader, const ModelTensor& tensor) {
    const int32_t device = PlannedDevice(id);
    if (!tensor.device || *tensor.device == device) return;
    const std::string_view owner = ParentModule(tensor.path);
    if (IsWithinModule(owner, reader)) {
      return RejectSplit(reader,
                         fmt::format("{} lies on {}, its op {} runs on {}", Show(tensor.path),
                                     Show(*tensor.device), Show(graph_.op(id).name), Show(device)),
                         KeepWhole(InGraph(reader)), WeightOf(reader));
    }
    if (IsWithinModule(reader, owner) || !tensor.parameter) return;
    refusals_.Add(reader,
                  fmt::format("the weight {} on {} is tied: {} reads it on {}", Show(tensor.path),
                              Show(*tensor.device), ShowModule(reader), Show(device)),
                  PinBoth(owner, reader, id));
  }

  // What a module holds by itself lies on one device; so do all forward ops of a module without
  // others below it. Buffers go where the module's parameters are, and what the model itself holds
  // to the main device.
  void CheckModules() {
    std::map<std::string_view, const ModelTensor*> first;  // by module
    for (const ModelTensor& tensor : model_.tensors) {
      const std::string_view owner = ParentModule(tensor.path);
      if (!tensor.device || !tensor.parameter || owner.empty()) continue;
      const auto [known, added] = first.emplace(owner, &tensor);
      if (*known->second->device == *tensor.device) continue;
      RejectSplit(
          known->first,
          fmt::format("{} lies on {}, {} on {}", Show(known->second->path),
                      Show(*known->second->device), Show(tensor.path), Show(*tensor.device)),
          KeepWhole(InGraph(known->first)), WeightOf(known->first));
    }
    for (OpId id : graph_.ops()) {
      const Op& op = graph_.op(id);
      const std::optional<std::string_view> module = RunBy(id);
      if (op.is_view || op.phase != Phase::kForward || !module || inner_.count(*module) > 0)
        continue;
      const auto owner = first.find(*module);
      if (owner != first.end()) CheckReader(id, *module, *owner->second);
    }
  }

  // What a module holds lies together in a map: with its largest parameter; buffers alone where an
  // op of the module reads one of them, or with the first. What the model itself holds lies with
  // the largest of it, until the main device is chosen.
  void SettleModules() {
    std::map<std::string_view, const ModelTensor*> largest;  // by module
    std::map<std::string_view, int64_t> size;
    for (StorageId id : graph_.storages()) {
      const int32_t index = model_.tensor_of[id];
      if (index < 0) continue;
      const ModelTensor& tensor = model_.tensors[static_cast<size_t>(index)];
      const std::string_view owner = ParentModule(tensor.path);
      if (!tensor.device || !IsSettled(owner)) continue;
      const int64_t bytes = graph_.storage(id).bytes.count;
      const ModelTensor*& known = largest[owner];
      const bool better = known == nullptr || (tensor.parameter && !known->parameter) ||
                          (tensor.parameter == known->parameter && bytes > size[owner]);
      if (!better) continue;
      known = &tensor;
      size[owner] = bytes;
    }
    std::map<std::string_view, int32_t> home;
    for (const auto& [owner, tensor] : largest) home[owner] = *tensor->device;
    for (OpId id : graph_.ops()) {
      const Op& op = graph_.op(id);
      const std::optional<std::string_view> module = RunBy(id);
      if (op.is_view || op.phase != Phase::kForward || !module || module->empty()) continue;
      const auto found = largest.find(*module);
      if (found == largest.end() || found->second == nullptr || found->second->parameter) continue;
      home[*module] = PlannedDevice(id);
      found->second = nullptr;  // the first op decides
    }
    for (ModelTensor& tensor : model_.tensors) {
      const auto found = home.find(ParentModule(tensor.path));
      if (tensor.device && found != home.end()) tensor.device = found->second;
    }
  }

  // Of the GPUs that could be the main device, the one under which fewest ops read two devices; the
  // one that ChooseMainDevice names, of equals. The model's own tensors lie there.
  DispatchedExecution ExecuteOnBestMainDevice() {
    ChooseMainDevice();
    const IdVector<OpId, Runner> runners = Runners();
    DispatchedExecution best = Execute(graph_, model_, runners);
    int32_t chosen = model_.main_device;
    std::vector<std::string> own;
    for (const ModelTensor& tensor : model_.tensors) {
      if (ParentModule(tensor.path).empty()) own.emplace_back(tensor.path);
    }
    if (!own.empty() && !uses_cpu_ && !best.mixtures.empty()) {
      std::set<int32_t> devices;
      for (const auto& [path, device] : model_.entries) devices.insert(device);
      for (int32_t device : devices) {
        model_.main_device = device;
        DispatchedExecution execution = Execute(graph_, model_, runners);
        if (execution.mixtures.size() >= best.mixtures.size()) continue;
        best = std::move(execution);
        chosen = device;
      }
    }
    model_.main_device = chosen;
    for (const std::string& path : own) {
      const auto entry = model_.entries.find(path);
      if (entry != model_.entries.end()) entry->second = chosen;
    }
    return best;
  }

  // Accelerate's own choice is the GPU of the smallest number; but what the model itself holds lies
  // on the main device, and with a GPU for it the CPU computes nothing.
  void ChooseMainDevice() {
    std::optional<int32_t> min;
    for (const auto& [path, device] : model_.entries) {
      if (device != kCpu) min = std::min(min.value_or(device), device);
      uses_cpu_ = uses_cpu_ || device == kCpu;
    }
    default_main_ = min.value_or(kCpu);
    model_.main_device = default_main_;
    for (const ModelTensor& tensor : model_.tensors) {
      if (ParentModule(tensor.path).empty() && tensor.device) model_.main_device = *tensor.device;
    }
    if (uses_cpu_) model_.main_device = kCpu;
  }

  IdVector<OpId, Runner> Runners() const {
    IdVector<OpId, Runner> runners(graph_.op_count());
    for (OpId id : graph_.ops()) {
      const std::optional<std::string_view> module = ModuleOf(graph_.op(id));
      runners[id] = {module.value_or(std::string_view()), IsStated(id), PlannedDevice(id)};
    }
    return runners;
  }

  std::string ShowTensor(TensorId id) const {
    const Tensor& tensor = graph_.tensor(id);
    if (!tensor.producer.valid()) return Show(std::string_view(tensor.name));
    const std::optional<std::string_view> module = ModuleOf(graph_.op(tensor.producer));
    return fmt::format("what {} makes", module && !module->empty()
                                            ? ShowModule(*module)
                                            : Show(graph_.op(tensor.producer).name));
  }

  void RejectMixture(const Mixture& mixture) {
    const Op& op = graph_.op(mixture.op);
    const std::string_view module = ModuleOf(op).value_or(std::string_view());
    const auto maker = [&](TensorId tensor) {
      const OpId producer = graph_.tensor(tensor).producer;
      return producer.valid() ? ModuleOf(graph_.op(producer)).value_or(std::string_view())
                              : std::string_view();
    };
    const std::string whole = KeepWhole(InGraph(module));
    RejectSplit(module,
                fmt::format("its op {} reads {} on {} and {} on {}, and Accelerate moves only the "
                            "arguments of modules that lie on one device",
                            Show(op.name), ShowTensor(mixture.tensors[0]), Show(mixture.devices[0]),
                            ShowTensor(mixture.tensors[1]), Show(mixture.devices[1])),
                whole.empty()
                    ? PinMakers(maker(mixture.tensors[0]), maker(mixture.tensors[1]), mixture)
                    : whole,
                Refusals::Weight::kGreat);
  }

  // Ops of the forward and backward pass that Accelerate runs on another device than the plan.
  struct Deviation {
    size_t elsewhere = 0, ops = 0;
    bool IsGreat() const { return elsewhere * kMaxDeviation > ops; }
  };

  Deviation DeviationOf(const DispatchedExecution& execution) const {
    Deviation deviation;
    for (OpId id : graph_.ops()) {
      const Op& op = graph_.op(id);
      if (op.is_view || op.phase == Phase::kOptimizer) continue;
      const int32_t device =
          op.phase == Phase::kForward ? execution.device[id] : BackwardDevice(op);
      ++deviation.ops;
      deviation.elsewhere += device != kAnywhere && device != PlannedDevice(id) ? 1 : 0;
    }
    return deviation;
  }

  void AddNotes(const Deviation& deviation, std::vector<std::string>* notes) const {
    if (model_.entries.size() > 1 && model_.main_device != default_main_) {
      const bool cpu = model_.main_device == kCpu;
      notes->push_back(fmt::format(
          "give dispatch_model main_device={}: {}", cpu ? "\"cpu\"" : Number(model_.main_device),
          cpu && uses_cpu_ ? "without it Accelerate computes on a GPU what the map has on the CPU"
                           : "there lies what the model itself holds"));
    }
    if (deviation.elsewhere > 0) {
      const std::string options = refusals_.Options();
      notes->push_back(fmt::format(
          "Accelerate runs {} op{} on another device than the plan: it runs modules as a whole, "
          "what is between them where the tensors are, and the backward pass where the forward "
          "pass ran{}",
          deviation.elsewhere, deviation.elsewhere == 1 ? "" : "s",
          options.empty() ? "" : "; to plan modules as a whole, plan with " + options));
    }
  }

  static std::string Number(int32_t device) { return std::to_string(device); }

  // Where autograd runs it: with its forward op.
  int32_t BackwardDevice(const Op& op) const {
    return DeviceOf(model_, ModuleOf(op).value_or(std::string_view())).value_or(kAnywhere);
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
    for (const ModelTensor& tensor : model_.tensors) add_parents(ParentModule(tensor.path));
    for (OpId id : graph_.ops()) {
      const std::optional<std::string_view> module = ModuleOf(graph_.op(id));
      if (module) add_parents(*module);
    }
    return inner;
  }

  // A loss that is a module but none of the model's, by the names that recorders give it. Where a
  // module of the model is called so, the map does without an entry for it: it holds nothing.
  static bool IsLoss(std::string_view module) {
    return module == "loss" || module == "loss_" || module.starts_with("loss.");
  }

  // Parameters and buffers, and the leaf modules that own none (activations, tied heads).
  ModuleTree MakeTree() const {
    ModuleTree tree;
    std::set<std::string_view> owners = inner_;
    for (const ModelTensor& tensor : model_.tensors) {
      tree.Add(tensor.path, tensor.device);
      owners.insert(ParentModule(tensor.path));
    }
    std::vector<std::string_view> order;
    std::map<std::string_view, std::set<int32_t>> devices;
    for (OpId id : graph_.ops()) {
      const Op& op = graph_.op(id);
      const std::optional<std::string_view> module = RunBy(id);
      if (op.is_view || op.phase != Phase::kForward || !module || owners.count(*module)) continue;
      if (IsLoss(*module)) continue;
      if (devices[*module].empty()) order.push_back(*module);
      devices[*module].insert(PlannedDevice(id));
    }
    for (std::string_view module : order) {
      // The ops of a module without parameters run where their inputs are, if on several devices.
      const std::set<int32_t>& on = devices[module];
      tree.Add(module, on.size() == 1 ? std::optional(*on.begin()) : std::nullopt);
    }
    return tree;
  }

  static constexpr std::string_view kWrapper = "m.";
  // Modules that the plan splits are written whole where that moves one op in twenty at most.
  static constexpr size_t kMaxDeviation = 20;

  const Graph& graph_;
  const AtenDetails& file_;
  const Cluster& cluster_;
  const Placement& placement_;
  IdVector<DeviceId, int32_t> number_;  // GPU number, or kCpu
  DispatchedModel model_;
  std::set<std::string_view> inner_;  // modules with modules below them
  Refusals refusals_;
  DeviceId host_;                // a device of the only host
  int32_t default_main_ = kCpu;  // what Accelerate takes by itself
  bool uses_cpu_ = false;
  bool wrapped_ = false;  // "m." is left out of every path
};

}  // namespace

Result<std::string> WriteDeviceMap(const PlanInputs& plan, const Placement& placement,
                                   std::vector<std::string>* notes) {
  if (plan.graph.Details<AtenDetails>() == nullptr) {
    return MakeError(ErrorCode::kNotExpressible,
                     fmt::format("a device_map names modules of PyTorch; this plan is of a graph "
                                 "of the format \"{}\"",
                                 plan.graph.graph.format()),
                     "", "Plan an ATen training graph, or export to another format.");
  }
  return MapWriter(plan, placement).Write(notes);
}

}  // namespace placewright
