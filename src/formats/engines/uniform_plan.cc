#include "formats/engines/uniform_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "formats/aten/format.h"
#include "graph/ownership/module_path.h"

namespace placewright {
namespace {

constexpr std::string_view kRemedy =
    "Plan with --for ddp, --for fsdp2 or --for tp, or train by placewright.apply() "
    "(docs/apply.md).";

Error NotUniform(std::string reason) {
  return MakeError(ErrorCode::kNotExpressible, std::move(reason), "", std::string(kRemedy));
}

std::string_view WithoutKind(std::string_view name) { return name.substr(name.find(':') + 1); }

class Finder {
 public:
  Finder(const PlanInputs& plan, const Placement& placement, const std::vector<NamedPiece>& pieces)
      : graph_(plan.graph.graph), placement_(placement) {
    std::set<DeviceId> used;
    for (const OpId op : graph_.ops()) {
      if (!graph_.op(op).is_view) used.insert(placement[op]);
    }
    devices_ = {used.begin(), used.end()};
    std::set<int32_t> hosts;
    for (const DeviceId device : devices_) hosts.insert(plan.cluster.cluster.device(device).host);
    found_.ranks = static_cast<int64_t>(devices_.size());
    found_.hosts = static_cast<int64_t>(hosts.size());
    found_.batch = plan.plan.samples;
    size_t next = 0;
    for (const TensorId id : graph_.tensors()) {
      if (!graph_.tensor(id).producer.valid() && next < pieces.size()) {
        piece_of_[id] = &pieces[next++];
      }
    }
  }

  Result<UniformPlan> Find() {
    if (found_.ranks < 2) return NotUniform("the plan uses one device alone");
    for (const OpId op : graph_.ops()) Read(op);
    PW_RETURN_IF_ERROR(CheckForward());
    for (const std::string& name : order_) PW_RETURN_IF_ERROR(Take(name));
    return std::move(found_);
  }

 private:
  // What each device reads of an input of the original.
  struct Readings {
    TensorKind kind = TensorKind::kInput;
    std::vector<int64_t> shape;  // of the whole
    std::map<DeviceId, std::set<TensorBox>> boxes;
  };

  void Read(OpId op) {
    const bool backward_gather = graph_.op(op).phase == Phase::kBackward &&
                                 graph_.op(op).type.find("all_gather") != std::string_view::npos;
    for (const TensorId id : graph_.op(op).inputs) {
      const TensorId whole = FirstOf(id);
      const auto at = piece_of_.find(whole);
      if (at == piece_of_.end()) continue;
      const NamedPiece& piece = *at->second;
      const TensorKind kind = graph_.tensor(whole).kind;
      found_.gathers_again |= backward_gather && kind == TensorKind::kParameter;
      if (kind != TensorKind::kParameter && kind != TensorKind::kInput) continue;
      if (!readings_.contains(piece.input)) order_.push_back(piece.input);
      Readings& of = readings_[piece.input];
      of.kind = kind;
      of.shape = WholeShape(graph_.tensor(whole).shape, piece.box);
      of.boxes[placement_[op]].insert(piece.box);
    }
  }

  // Under data parallelism ranks bring nothing together in the forward pass but parameters, losses and the statistics of
  // batch norms. What does not follow from the samples, as positions, is equal on all.
  Status CheckForward() const {
    std::set<ModuleId> batch_norms;
    std::set<OpId> given;
    for (const OpId id : graph_.ops()) {
      const Op& op = graph_.op(id);
      if (op.type.find("batch_norm") != std::string_view::npos) batch_norms.insert(op.module);
      bool of_samples = false, of_parameters = true;
      for (const TensorId input : op.inputs) {
        const OpId producer = graph_.tensor(input).producer;
        const TensorId first = FirstOf(input);
        of_samples |= producer.valid() ? given.contains(producer)
                                       : graph_.tensor(input).kind == TensorKind::kInput;
        of_parameters &= graph_.tensor(first).kind == TensorKind::kParameter;
      }
      if (of_samples) given.insert(id);
      if (!of_samples || of_parameters || op.phase != Phase::kForward || !IsCollective(op))
        continue;
      if (batch_norms.contains(op.module) || !SharesSamples()) continue;
      if (ElementsOf(graph_.tensor(op.outputs.front()).shape) == 1) continue;
      const std::string& module = graph_.module_path(op.module);
      return NotUniform(fmt::format(
          "{} needs \"{}\" of all ranks in its forward pass",
          module.empty() ? "the model itself" : fmt::format("the module \"{}\"", module),
          graph_.tensor(op.inputs.front()).name));
    }
    return Ok();
  }

  static bool IsCollective(const Op& op) {
    return op.type.starts_with("placewright.all_") ||
           op.type.starts_with("placewright.reduce_scatter");
  }

  bool SharesSamples() const {
    return std::any_of(readings_.begin(), readings_.end(), [](const auto& one) {
      if (one.second.kind != TensorKind::kInput) return false;
      const auto& boxes = one.second.boxes;
      return std::any_of(boxes.begin(), boxes.end(),
                         [](const auto& of) { return !of.second.begin()->empty(); });
    });
  }

  static int64_t ElementsOf(const std::vector<int64_t>& shape) {
    int64_t elements = 1;
    for (const int64_t size : shape) elements *= size;
    return elements;
  }

  // The tensor that brought the storage into being: of a view what it is a view of.
  TensorId FirstOf(TensorId id) const { return graph_.storage(graph_.tensor(id).storage).first; }

  static std::vector<int64_t> WholeShape(std::vector<int64_t> shape, const TensorBox& box) {
    for (const AxisPart& part : box) {
      const auto at = static_cast<size_t>(part.place.dimension);
      shape[at] = shape[at] / part.interval.length() * part.place.size;
    }
    return shape;
  }

  Status Take(const std::string& name) {
    const Readings& of = readings_.at(name);
    return of.kind == TensorKind::kParameter ? TakeParameter(name, of) : TakeSamples(name, of);
  }

  Status TakeParameter(const std::string& name, const Readings& of) {
    UniformPlan::Parameter parameter;
    parameter.name = WithoutKind(name);
    parameter.elements = ElementsOf(of.shape);
    parameter.dimensions = of.shape.size();
    if (of.boxes.size() < devices_.size()) {
      return NotUniform(fmt::format("{} has \"{}\" on {} of {} devices", OwnerOf(parameter.name),
                                    parameter.name, of.boxes.size(), devices_.size()));
    }
    const bool whole = AllAre(of, [](const TensorBox& box, int64_t) { return box.empty(); });
    if (!whole) {
      if (!AllAre(of, [&](const TensorBox& box, int64_t rank) { return IsEven(box, rank); })) {
        return NotUniform(
            fmt::format("{} has \"{}\" in parts that are not equal, lie apart or are of "
                        "several dimensions",
                        OwnerOf(parameter.name), parameter.name));
      }
      parameter.dimension = of.boxes.begin()->second.begin()->front().place.dimension;
    }
    found_.parameters.push_back(std::move(parameter));
    return Ok();
  }

  // What does not follow the batch, as a mask, is read whole.
  Status TakeSamples(const std::string& name, const Readings& of) {
    if (AllAre(of, [](const TensorBox& box, int64_t) { return box.empty(); })) return Ok();
    if (of.boxes.size() < devices_.size() ||
        !AllAre(of, [&](const TensorBox& box, int64_t rank) { return IsEven(box, rank); })) {
      return NotUniform(fmt::format(
          "the samples of \"{}\" are not shared out evenly over the devices", WithoutKind(name)));
    }
    found_.by_batch = true;
    return Ok();
  }

  template <class Test>
  bool AllAre(const Readings& of, const Test& test) const {
    int64_t rank = 0;
    for (const DeviceId device : devices_) {
      const auto at = of.boxes.find(device);
      if (at != of.boxes.end() &&
          !std::all_of(at->second.begin(), at->second.end(),
                       [&](const TensorBox& box) { return test(box, rank); })) {
        return false;
      }
      ++rank;
    }
    return true;
  }

  // The rank's equal part of a dimension, in one piece.
  bool IsEven(const TensorBox& box, int64_t rank) const {
    if (box.size() != 1) return false;
    const AxisPart& part = box.front();
    const int64_t size = part.place.size;
    return part.place.outer == 1 && size % found_.ranks == 0 &&
           part.interval.from == rank * (size / found_.ranks) &&
           part.interval.to == (rank + 1) * (size / found_.ranks);
  }

  const Graph& graph_;
  const Placement& placement_;
  std::vector<DeviceId> devices_;
  std::map<TensorId, const NamedPiece*> piece_of_;
  std::map<std::string, Readings> readings_;
  std::vector<std::string> order_;
  UniformPlan found_;
};

}  // namespace

Result<UniformPlan> FindUniformPlan(const PlanInputs& plan, const Placement& placement) {
  const auto* details = plan.graph.Details<AtenDetails>();
  if (plan.plan.space == PlanSpace::kPlaced || details == nullptr || details->pieces.empty()) {
    return NotUniform("the plan places whole ops on devices, or is of no recorded PyTorch step");
  }
  return Finder(plan, placement, details->pieces).Find();
}

std::string OwnerOf(const std::string& parameter) {
  const std::string_view module = ParentModule(parameter);
  return module.empty() ? "the model itself" : fmt::format("the module \"{}\"", module);
}

}  // namespace placewright
