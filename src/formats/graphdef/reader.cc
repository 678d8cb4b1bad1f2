#include "formats/graphdef/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "base/text.h"
#include "formats/graphdef/data_types.h"
#include "formats/graphdef/input_resolution.h"
#include "formats/graphdef/placeholders.h"
#include "formats/graphdef/records.h"
#include "formats/graphdef/roles.h"
#include "formats/graphdef/shapes.h"
#include "graph/graph_builder.h"

namespace placewright {
namespace {

using namespace graphdef;

constexpr size_t kNone = SIZE_MAX;

class GraphDefReader {
 public:
  GraphDefReader(std::vector<Node> nodes, ResolvedInputs resolved, GraphDefReport* report)
      : nodes_(std::move(nodes)),
        resolved_(std::move(resolved)),
        report_(report),
        builder_("GraphDef", "graphdef"),
        made_(nodes_.size()),
        ids_(nodes_.size()),
        variable_(nodes_.size(), kNone),
        phase_(nodes_.size(), Phase::kForward) {}

  Result<Graph> Read(const PlaceholderShapes& placeholders, int64_t batch) {
    builder_.set_batch(batch);
    FindVariableKinds();
    for (const size_t node : resolved_.order) PW_RETURN_IF_ERROR(AddNode(node, placeholders));
    AddColocation();
    report_->notes = Notes();
    return std::move(builder_).Build();
  }

 private:
  const Node& ReadBy(size_t node, size_t input) const {
    return nodes_[resolved_.data[node][input].node];
  }

  // The variable whose content output 0 of the node is, through views; else kNone.
  size_t VariableOf(size_t node) const {
    if (RoleOf(nodes_[node].op) == Role::kVariable) return node;
    const bool view = RoleOf(nodes_[node].op) == Role::kView;
    return view && !resolved_.data[node].empty() ? variable_[resolved_.data[node][0].node] : kNone;
  }

  // How many of the node's first inputs are variables that it writes.
  size_t WrittenInputs(size_t node) const {
    const std::vector<Source>& inputs = resolved_.data[node];
    const Role role = RoleOf(nodes_[node].op);
    const bool writes = role == Role::kAssign || role == Role::kApply;
    if (!writes || inputs.empty() || variable_[inputs[0].node] == kNone) return 0;
    size_t count = 1;
    while (role == Role::kApply && count < inputs.size() &&
           RoleOf(ReadBy(node, count).op) == Role::kVariable) {
      ++count;
    }
    return count;
  }

  // The first input of an Apply is a parameter, the others that it writes are its state. Where
  // nothing is trained every variable counts as a parameter.
  void FindVariableKinds() {
    kinds_.assign(nodes_.size(), TensorKind::kBuffer);
    bool trains = false;
    for (const size_t node : resolved_.order) {
      variable_[node] = VariableOf(node);
      if (RoleOf(nodes_[node].op) != Role::kApply) continue;
      const size_t written = WrittenInputs(node);
      trains = trains || written > 0;
      for (size_t i = written; i-- > 0;) {
        TensorKind& kind = kinds_[variable_[resolved_.data[node][i].node]];
        if (i == 0) kind = TensorKind::kParameter;
        if (i > 0 && kind != TensorKind::kParameter) kind = TensorKind::kOptimizerState;
      }
    }
    if (!trains) kinds_.assign(nodes_.size(), TensorKind::kParameter);
  }

  std::string TensorName(size_t node, size_t output) const {
    return output == 0 ? nodes_[node].name : fmt::format("{}:{}", nodes_[node].name, output);
  }

  static bool HasBytes(DType dtype) { return SizeOf(dtype) > 0; }

  static int64_t SizeInBytes(const Made& made) {
    int64_t bytes = SizeOf(made.dtype);
    for (const int64_t size : *made.shape) bytes = SaturatingMultiply(bytes, size);
    return bytes;
  }

  // The largest input that is no constant, for outputs whose shape nothing states.
  Shape LargestInput(size_t node) const {
    Shape largest = std::vector<int64_t>();
    int64_t max = -1;
    for (const Source& source : resolved_.data[node]) {
      const Made& made = made_[source.node][source.output];
      if (RoleOf(nodes_[source.node].op) == Role::kConstant || !HasBytes(made.dtype)) continue;
      if (SizeInBytes(made) <= max) continue;
      max = SizeInBytes(made);
      largest = made.shape;
    }
    return largest;
  }

  static bool IsWhole(const Shape& shape) {
    return shape && std::find(shape->begin(), shape->end(), -1) == shape->end();
  }

  // What the file states of an output, open dimensions and all.
  Shape Stated(size_t node, size_t output) const {
    const Node& n = nodes_[node];
    if (n.output_shapes && output < n.output_shapes->size()) return (*n.output_shapes)[output];
    if (RoleOf(n.op) == Role::kConstant && n.value_shape) return *n.value_shape;
    const bool sized = RoleOf(n.op) == Role::kVariable || n.op == "PlaceholderWithDefault";
    return sized && n.shape ? *n.shape : Shape();
  }

  // Fills made_[node]; true if a shape had to be assumed.
  bool MakeOutputs(size_t node, const PlaceholderShapes& placeholders) {
    const Node& n = nodes_[node];
    std::vector<const Made*> inputs;
    for (const Source& source : resolved_.data[node]) {
      inputs.push_back(&made_[source.node][source.output]);
    }
    bool assumed = false;
    made_[node].resize(resolved_.outputs[node]);
    for (size_t k = 0; k < made_[node].size(); ++k) {
      Made& made = made_[node][k];
      made.data_type = InferType(n, inputs, k);
      made.dtype = ToDType(made.data_type);
      const auto fed = placeholders.find(node);
      made.shape = fed != placeholders.end() && k == 0 ? fed->second : Stated(node, k);
      if (!IsWhole(made.shape)) made.shape = InferShape(n, inputs, k);
      if (!IsWhole(made.shape)) {
        made.shape = LargestInput(node);
        assumed = assumed || HasBytes(made.dtype);
      }
      if (!HasBytes(made.dtype)) made.shape = std::vector<int64_t>();
    }
    if (RoleOf(n.op) == Role::kConstant && !n.value.empty()) made_[node][0].value = &n.value;
    const bool view = RoleOf(n.op) == Role::kView && !inputs.empty() && !made_[node].empty();
    if (view) made_[node][0].value = inputs[0]->value;
    return assumed;
  }

  Status AddNode(size_t node, const PlaceholderShapes& placeholders) {
    const Node& n = nodes_[node];
    if (RoleOf(n.op) == Role::kConstant || RoleOf(n.op) == Role::kVariable ||
        RoleOf(n.op) == Role::kPlaceholder) {
      resolved_.outputs[node] = std::max<size_t>(resolved_.outputs[node], 1);
    }
    const bool assumed = MakeOutputs(node, placeholders);
    if (assumed) report_->assumed_shapes.push_back(fmt::format("{} ({})", n.name, n.op));
    OpSpec spec;
    spec.name = n.name;
    spec.type = "tf." + n.op;
    PW_RETURN_IF_ERROR(AddInputs(node, spec));
    SetPhase(node);
    spec.phase = phase_[node];
    const size_t slash = n.name.rfind('/');
    if (spec.phase == Phase::kForward && slash != std::string::npos && slash > 0) {
      spec.module = n.name.substr(0, slash);
    }
    AddOutputs(node, spec);
    for (const size_t before : resolved_.control[node]) spec.after.push_back(nodes_[before].name);
    spec.attributes = n.attributes;
    if (!n.device.empty()) spec.attributes.push_back({"device", Value(n.device)});
    auto added = builder_.AddOp(std::move(spec));
    if (!added.ok()) {
      added.error().place = PlaceOfNode(node, n.name);
      return std::move(added.error());
    }
    ids_[node] = std::move(added.value());
    return Ok();
  }

  // Data inputs; for what lives outside the step, its tensor.
  Status AddInputs(size_t node, OpSpec& spec) {
    const Node& n = nodes_[node];
    for (const Source& source : resolved_.data[node]) {
      spec.inputs.push_back(ids_[source.node][source.output]);
    }
    TensorKind kind = TensorKind::kInput;
    std::string_view prefix = "input";
    switch (RoleOf(n.op)) {
      case Role::kPlaceholder: break;
      case Role::kConstant:
        kind = TensorKind::kConstant;
        prefix = "const";
        break;
      case Role::kVariable:
        kind = kinds_[node];
        prefix = kind == TensorKind::kParameter ? "param"
                 : kind == TensorKind::kBuffer  ? "buffer"
                                                : "opt_state";
        break;
      default: return Ok();
    }
    const Made& made = made_[node][0];
    auto id =
        builder_.AddInput(fmt::format("{}:{}", prefix, n.name), kind, made.dtype, *made.shape);
    if (!id.ok()) {
      id.error().place = PlaceOfNode(node, n.name);
      return std::move(id.error());
    }
    spec.inputs.insert(spec.inputs.begin(), id.value());
    return Ok();
  }

  // Writers belong to the optimizer; what reads a backward result belongs to the backward pass.
  void SetPhase(size_t node) {
    const Node& n = nodes_[node];
    const Role role = RoleOf(n.op);
    bool backward = IsBackward(n.name, n.op);
    for (const Source& source : resolved_.data[node]) {
      backward = backward || phase_[source.node] == Phase::kBackward;
    }
    const bool writes = role == Role::kAssign || role == Role::kApply;
    if (backward) phase_[node] = Phase::kBackward;
    if (writes) phase_[node] = Phase::kOptimizer;
  }

  void AddOutputs(size_t node, OpSpec& spec) {
    const Node& n = nodes_[node];
    const Role role = RoleOf(n.op);
    const size_t written = WrittenInputs(node);
    for (size_t i = 0; i < written; ++i) spec.writes.push_back(static_cast<int32_t>(i));
    for (size_t k = 0; k < made_[node].size(); ++k) {
      const Made& made = made_[node][k];
      OutputSpec output;
      output.name = TensorName(node, k);
      output.dtype = made.dtype;
      output.shape = *made.shape;
      if (k == 0 && written > 0) {
        output.alias = AliasKind::kInPlace;
      } else if (k == 0 && IsViewOf(node, role)) {
        output.alias = AliasKind::kView;
      }
      output.alias_of = output.alias == AliasKind::kFresh ? -1 : 0;
      spec.outputs.push_back(std::move(output));
    }
  }

  bool IsViewOf(size_t node, Role role) const {
    if (role == Role::kVariable || role == Role::kConstant || role == Role::kPlaceholder) {
      return true;
    }
    if (role != Role::kView || resolved_.data[node].empty()) return false;
    const Source& base = resolved_.data[node][0];
    return SizeInBytes(made_[base.node][base.output]) == SizeInBytes(made_[node][0]);
  }

  // Nodes of one class, and the node that it is called after, if there is one.
  void AddColocation() {
    constexpr std::string_view kPrefix = "loc:@";
    std::unordered_map<std::string_view, std::string_view> first;
    for (const Node& node : nodes_) {
      for (const std::string& text : node.colocated_with) {
        if (!text.starts_with(kPrefix)) continue;
        const std::string_view other = std::string_view(text).substr(kPrefix.size());
        const bool named = resolved_.by_name.count(other) > 0;
        const auto [peer, fresh] = first.emplace(other, named ? other : node.name);
        if (peer->second != node.name) {
          builder_.Colocate(std::string(peer->second), node.name);
          ++colocated_;
        }
      }
    }
  }

  std::vector<std::string> Notes() const {
    std::vector<std::string> notes;
    if (resolved_.control_edges > 0) {
      notes.push_back(fmt::format("{} control inputs are order edges", resolved_.control_edges));
    }
    if (colocated_ > 0) {
      notes.push_back(fmt::format("{} colocation constraints (loc:@) are kept", colocated_));
    }
    const auto device = [](const Node& node) { return !node.device.empty(); };
    const auto devices = std::count_if(nodes_.begin(), nodes_.end(), device);
    if (devices > 0) {
      notes.push_back(fmt::format(
          "{} nodes name a device, which binds no planner; --placement takes them as a plan",
          devices));
    }
    if (!resolved_.loops.empty()) {
      notes.push_back(
          fmt::format("loops are counted for one iteration: the ways back to {} Merge "
                      "nodes (the first is {}) are left out",
                      resolved_.loops.size(), Printable(nodes_[resolved_.loops.front()].name, 80)));
    }
    return notes;
  }

  std::vector<Node> nodes_;
  ResolvedInputs resolved_;
  GraphDefReport* report_;
  GraphBuilder builder_;
  std::vector<std::vector<Made>> made_;  // by node and output
  std::vector<std::vector<TensorId>> ids_;
  std::vector<size_t> variable_;   // VariableOf, once it is known
  std::vector<TensorKind> kinds_;  // of variables
  std::vector<Phase> phase_;
  size_t colocated_ = 0;
};

}  // namespace

Result<Graph> ReadGraphDef(std::string_view file, const GraphDefOptions& options,
                           GraphDefReport* report) {
  GraphDefReport ignored;
  if (report == nullptr) report = &ignored;
  const Form form = LooksLikeTextGraphDef(file) ? Form::kText : Form::kBinary;
  PW_ASSIGN(std::vector<Node> nodes, ReadNodes(file, form));
  PW_ASSIGN(ResolvedInputs resolved, ResolveInputs(nodes));
  PW_ASSIGN(const PlaceholderShapes placeholders, SizePlaceholders(nodes, options, report));
  GraphDefReader reader(std::move(nodes), std::move(resolved), report);
  return reader.Read(placeholders, options.batch.value_or(0));
}

}  // namespace placewright
