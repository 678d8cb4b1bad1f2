#include "formats/aten/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "base/text.h"
#include "formats/aten/aliasing.h"
#include "formats/aten/records.h"
#include "formats/aten/slopes.h"
#include "graph/batch/at_batch.h"
#include "graph/graph_builder.h"

namespace placewright {
namespace {

Error At(Error error, std::string place) {
  error.place = std::move(place);
  return error;
}

// Builds the graph of a parsed file: inputs, then ops in file order (none may read a later one), then what names any of
// them. Errors of the builder get the place in the file.
class AtenGraphReader {
 public:
  explicit AtenGraphReader(AtenFile file) : file_(std::move(file)), builder_(file_.name, "aten") {
    builder_.set_batch(file_.batch);
  }

  Result<AtenGraph> Read() {
    PW_RETURN_IF_ERROR(CheckOpCount());
    PW_RETURN_IF_ERROR(AddInputs());
    for (size_t i = 0; i < file_.ops.size(); ++i) PW_RETURN_IF_ERROR(AddOp(i));
    PW_RETURN_IF_ERROR(AddCollectives());
    PW_RETURN_IF_ERROR(SetOutputs());
    PW_ASSIGN(Graph graph, std::move(builder_).Build());
    if (file_.edges_stated && static_cast<int64_t>(graph.edge_count()) != *file_.edges_stated) {
      return MakeError(ErrorCode::kField,
                       fmt::format("the file states {} edges, but its ops have {}",
                                   *file_.edges_stated, graph.edge_count()),
                       "n_edges");
    }
    if (file_.batch_scaling) {
      PW_ASSIGN(graph, WithBatchScaling(std::move(graph), CollectLaws(file_)));
    }
    AtenGraph result{std::move(graph), std::move(module_stated_), std::nullopt, file_.wrapped, {}};
    if (!devices_.empty()) result.placement = std::move(devices_);
    TakePieces(result);
    return result;
  }

 private:
  Status CheckOpCount() const {
    if (!file_.ops_stated || static_cast<int64_t>(file_.ops.size()) == *file_.ops_stated) {
      return Ok();
    }
    return MakeError(
        ErrorCode::kField,
        fmt::format("the file states {} ops, but lists {}", *file_.ops_stated, file_.ops.size()),
        "n_ops");
  }

  Status AddInputs() {
    for (size_t i = 0; i < file_.inputs.size(); ++i) {
      AtenInput& input = file_.inputs[i];
      Result<TensorId> id = builder_.AddInput(input.name, input.kind, input.dtype, input.shape);
      if (id.ok()) builder_.SetBelow(id.value(), input.below);
      if (!id.ok()) {
        return At(std::move(id.error()),
                  fmt::format("inputs[{}] ({})", i, Printable(input.name, 80)));
      }
      input_ids_.emplace(input.name, id.value());
    }
    for (size_t i = 0; i < file_.parameters.size(); ++i) {
      if (input_ids_.count(file_.parameters[i]) > 0) continue;
      return At(builder_.Find(file_.parameters[i]).error(), fmt::format("parameters[{}]", i));
    }
    for (const AtenInput& input : file_.inputs) builder_.TieStateByName(input_ids_.at(input.name));
    return Ok();
  }

  Status AddOp(size_t index) {
    AtenOp& op = file_.ops[index];
    OpSpec spec;
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      PW_ASSIGN(const TensorId input, Resolve(index, op.inputs[i], i));
      spec.inputs.push_back(input);
    }
    std::vector<TensorId> held;
    for (size_t i = 0; i < op.holds.size(); ++i) {
      PW_ASSIGN(held.emplace_back(), Resolve(index, op.holds[i], i, "holds"));
    }
    PW_RETURN_IF_ERROR(CheckAfter(index));
    const AliasSchema schema =
        AliasOf(op.target, op.args, op.kwargs, static_cast<int32_t>(op.inputs.size()));
    AddOutputs(op, AliasingOf(op.mark, schema), spec);
    module_stated_.push_back(op.scope.has_value());
    if (!op.device.empty()) devices_.emplace_back(op.name, op.device);
    spec.name = op.name;
    spec.type = op.target;
    spec.phase = op.phase;
    if (is_compiled_) spec.device = DeviceNumber(op.device);
    spec.in_root = op.scope && op.scope->empty();
    spec.module = std::move(op.scope).value_or("");
    spec.after = op.after;
    spec.args = std::move(op.args);
    spec.attributes = std::move(op.kwargs);
    Result<std::vector<TensorId>> added = builder_.AddOp(std::move(spec));
    if (!added.ok()) return At(std::move(added.error()), PlaceOfOp(index, op.name));
    for (const TensorId tensor : held) {  // what is there before the step stays for all of it
      const bool made = builder_.added().tensors[tensor].producer.valid();
      if (made) builder_.Hold(tensor, OpId(index));
    }
    return Ok();
  }

  static void AddOutputs(AtenOp& op, AtenAliasing aliasing, OpSpec& spec) {
    const bool list = op.outputs.size() != 1 || ReturnsList(op.target);
    for (size_t k = 0; k < op.outputs.size(); ++k) {
      if (!op.outputs[k]) continue;
      OutputSpec output;
      output.name = list ? fmt::format("{}:{}", op.name, k) : op.name;
      output.dtype = op.outputs[k]->dtype;
      output.shape = std::move(op.outputs[k]->shape);
      output.output_index = static_cast<int32_t>(k);
      if (aliasing.view != AliasKind::kFresh) {
        output.alias = aliasing.view;
        output.alias_of = aliasing.view_of;
      } else if (k < aliasing.returned.size()) {
        output.alias = AliasKind::kInPlace;
        output.alias_of = aliasing.returned[k];
      }
      spec.outputs.push_back(std::move(output));
    }
    spec.writes = std::move(aliasing.writes);
  }

  // The first op of that name. Only what the builder does not know, and `after`, is looked up here.
  std::optional<size_t> FindOp(std::string_view name) const {
    if (op_index_.empty()) {
      for (size_t i = 0; i < file_.ops.size(); ++i) op_index_.emplace(file_.ops[i].name, i);
    }
    const auto it = op_index_.find(name);
    return it == op_index_.end() ? std::nullopt : std::optional<size_t>(it->second);
  }

  Result<size_t> OpNamed(const std::string& name, const std::string& place) const {
    if (const std::optional<size_t> op = FindOp(name)) return *op;
    return MakeError(ErrorCode::kUnknownName,
                     fmt::format("there is no op \"{}\"", Printable(name, 120)), place);
  }

  // The op that a reference names: "op" or "op:k"; nothing for input names.
  std::optional<size_t> OpOf(std::string_view reference) const {
    const std::optional<size_t> op = FindOp(reference);
    return op ? op : FindOp(reference.substr(0, reference.rfind(':')));
  }

  // `op` and `op:0` both name the only output of an op.
  // `reader` is the op of whose `field` it is the one at `position`; past the ops, it is the graph's outputs.
  Result<TensorId> Resolve(size_t reader, const std::string& reference, size_t position,
                           std::string_view field = "inputs") const {
    TensorId found = builder_.Lookup(reference);
    if (found.valid()) return found;
    const std::optional<size_t> op = OpOf(reference);
    if (op && file_.ops[*op].outputs.size() == 1) {
      const std::string& name = file_.ops[*op].name;
      if (reference == name) found = builder_.Lookup(name + ":0");
      if (reference == name + ":0") found = builder_.Lookup(name);
      if (found.valid()) return found;
    }
    const std::string place =
        reader < file_.ops.size()
            ? fmt::format("{}.{}[{}]", PlaceOfOp(reader, file_.ops[reader].name), field, position)
            : fmt::format("outputs[{}]", position);
    if (op && *op >= reader) return OrderError(reader, *op, place);
    if (op && reference == file_.ops[*op].name && file_.ops[*op].outputs.size() > 1) {
      return MakeError(
          ErrorCode::kUnknownName,
          fmt::format("\"{}\" has {} outputs: say which, as in \"{}:0\"", Printable(reference, 80),
                      file_.ops[*op].outputs.size(), Printable(reference, 80)),
          place);
    }
    return At(builder_.Find(reference).error(), place);
  }

  Status CheckAfter(size_t reader) const {
    const AtenOp& op = file_.ops[reader];
    for (size_t i = 0; i < op.after.size(); ++i) {
      const std::string place = PlaceOfOp(reader, op.name) + fmt::format(".after[{}]", i);
      PW_ASSIGN(const size_t before, OpNamed(op.after[i], place));
      if (before >= reader) return OrderError(reader, before, place);
    }
    return Ok();
  }

  // `reader` needs `later`, which stands at or behind it: a cycle if `later` needs `reader`.
  Error OrderError(size_t reader, size_t later, const std::string& place) const {
    const std::string& a = file_.ops[reader].name;
    const std::string& b = file_.ops[later].name;
    if (reader == later || Needs(later, reader)) {
      return MakeError(ErrorCode::kGraphCycle,
                       reader == later
                           ? fmt::format("\"{}\" needs its own result", Printable(a, 80))
                           : fmt::format("\"{}\" and \"{}\" need each other's results",
                                         Printable(a, 80), Printable(b, 80)),
                       place);
    }
    return MakeError(ErrorCode::kGraphOrder,
                     fmt::format("\"{}\" needs \"{}\", which is listed later (ops[{}])",
                                 Printable(a, 80), Printable(b, 80), later),
                     place);
  }

  // True if op `from` needs op `target`, directly or through others.
  bool Needs(size_t from, size_t target) const {
    std::vector<char> seen(file_.ops.size(), 0);
    std::vector<size_t> stack{from};
    seen[from] = 1;
    while (!stack.empty()) {
      const AtenOp& op = file_.ops[stack.back()];
      stack.pop_back();
      for (const std::vector<std::string>* names : {&op.inputs, &op.after}) {
        for (const std::string& name : *names) {
          if (input_ids_.count(name) > 0) continue;
          const std::optional<size_t> next = OpOf(name);
          if (!next) continue;
          if (*next == target) return true;
          if (!seen[*next]) stack.push_back(*next);
          seen[*next] = 1;
        }
      }
    }
    return false;
  }

  Status AddCollectives() {
    for (size_t i = 0; i < file_.collectives.size(); ++i) {
      const AtenCollective& collective = file_.collectives[i];
      const std::string place = fmt::format("collectives[{}]", i);
      std::vector<OpId> members;
      for (size_t k = 0; k < collective.members.size(); ++k) {
        PW_ASSIGN(const size_t op,
                  OpNamed(collective.members[k], fmt::format("{}.members[{}]", place, k)));
        members.push_back(OpId(op));
      }
      Status added = builder_.AddCollective(collective.name, std::move(members));
      if (!added.ok()) return At(std::move(added.error()), place);
    }
    return Ok();
  }

  void TakePieces(AtenGraph& result) {
    const bool distributed = std::any_of(file_.inputs.begin(), file_.inputs.end(),
                                         [](const AtenInput& input) { return input.of; });
    if (!distributed) return;
    for (AtenOp& op : file_.ops) result.origin.push_back(std::move(op.of));
    for (AtenInput& input : file_.inputs) {
      result.pieces.push_back(std::move(input.of).value_or(NamedPiece{}));
    }
  }

  Status SetOutputs() {
    std::vector<TensorId> outputs;
    for (size_t i = 0; i < file_.outputs.size(); ++i) {
      PW_ASSIGN(const TensorId id, Resolve(file_.ops.size(), file_.outputs[i], i));
      outputs.push_back(id);
    }
    builder_.SetOutputs(std::move(outputs));
    return Ok();
  }

  // Files have no cluster: devices are numbered as they are met.
  DeviceId DeviceNumber(const std::string& name) {
    return DeviceId(device_numbers_.emplace(name, device_numbers_.size()).first->second);
  }

  AtenFile file_;
  const bool is_compiled_ = std::any_of(file_.ops.begin(), file_.ops.end(),
                                        [](const AtenOp& op) { return !op.of.empty(); });
  std::unordered_map<std::string, size_t> device_numbers_;
  GraphBuilder builder_;
  IdVector<OpId, bool> module_stated_;
  NamedPlacement devices_;
  std::unordered_map<std::string, TensorId> input_ids_;
  mutable std::unordered_map<std::string_view, size_t> op_index_;  // of file_.ops
};

// What `"wrapped": true` promises and the file does not keep, and what becomes of it (as
// formats/accelerate reads paths); "" if all is kept.
std::string NoteOnWrapper(const AtenFile& file) {
  const auto note = [](std::string_view what, std::string_view path, std::string_view then) {
    return fmt::format(
        R"(the file states "wrapped": true, but {} "{}" is not within the wrapper "m"; {})", what,
        Printable(path, 120), then);
  };
  for (const AtenInput& input : file.inputs) {
    for (const std::string_view kind : {"param:", "buffer:"}) {
      if (!input.name.starts_with(kind) || input.name.starts_with(std::string(kind) + "m."))
        continue;
      return note("the tensor", input.name, "all paths are taken for the model's own");
    }
  }
  for (const AtenOp& op : file.ops) {
    if (!op.scope || op.scope->empty() || *op.scope == "m" || op.scope->starts_with("m.")) continue;
    return note("the module", *op.scope, "what lies outside is no part of the model");
  }
  return "";
}

std::string NoteBelowProof(int64_t batch, int64_t proven_from) {
  if (batch > 1) {
    return fmt::format(
        "no size below batch {} was recorded, so that a step recorded at batch {} may "
        "have other ops",
        proven_from, batch);
  }
  return fmt::format(
      "recorded at batch {}: LibTorch omits some copies and sums at batch 1, so a "
      "step recorded there may have fewer ops",
      proven_from);
}

// Factors of dimensions of that shape, none of which is within another.
bool AreAxesOf(const std::vector<int64_t>& shape, const TensorBox& box) {
  AxisPlace within;  // which comes before, further in
  for (const AxisPart& part : InCuttingOrder(box)) {
    const auto [dimension, outer, size, inner] = part.place;
    const bool fits = static_cast<size_t>(dimension) < shape.size() &&
                      SaturatingMultiply(SaturatingMultiply(outer, size), inner) ==
                          shape[static_cast<size_t>(dimension)];
    if (!fits || (within.dimension == dimension && within.outer % (outer * size) != 0))
      return false;
    within = part.place;
  }
  return true;
}

}  // namespace

Result<AtenGraph> ReadAtenFile(std::string_view text, std::optional<int64_t> batch) {
  PW_ASSIGN(AtenFile file, ReadAtenRecords(text));
  const int64_t proven_from =
      file.batch_scaling ? std::min(file.batch, file.batch_scaling->SmallestProven()) : file.batch;
  std::string wrapper = file.wrapped.value_or(false) ? NoteOnWrapper(file) : "";
  if (batch) PW_RETURN_IF_ERROR(Rescale(file, *batch));
  PW_ASSIGN(AtenGraph graph, AtenGraphReader(std::move(file)).Read());
  if (!wrapper.empty()) graph.notes.push_back(std::move(wrapper));
  if (batch && *batch < proven_from) graph.notes.push_back(NoteBelowProof(*batch, proven_from));
  return graph;
}

Result<DistributedStep> ResolveStep(const Graph& graph, const NamedStep& named,
                                    const Graph& original, const Cluster& cluster) {
  if (named.origin.empty() || !named.placement) {
    return MakeError(ErrorCode::kField, "the file is no distributed step", "ops",
                     "Give what `placewright compile` wrote.");
  }
  DistributedStep step;
  PW_ASSIGN(step.placement, ResolvePlacement(*named.placement, graph, cluster));
  for (const OpId op : graph.ops()) {
    OpId origin;
    if (!named.origin[op].empty()) {
      origin = original.FindOp(named.origin[op]);
      if (!origin.valid()) {
        return MakeError(ErrorCode::kUnknownName,
                         fmt::format("the step has no op \"{}\"", Printable(named.origin[op], 120)),
                         PlaceOfOp(op.index(), graph.op(op).name) + ".of");
      }
    }
    step.origin.push_back(origin);
  }
  size_t next = 0;
  for (const TensorId id : graph.tensors()) {
    if (graph.tensor(id).producer.valid()) continue;
    const std::string place = fmt::format("inputs[{}].of", next);
    const NamedPiece& piece = named.pieces[next++];
    const TensorId of = original.FindTensor(piece.input);
    if (!of.valid() || original.tensor(of).producer.valid()) {
      return MakeError(ErrorCode::kUnknownName,
                       fmt::format("the step has no input \"{}\"", Printable(piece.input, 120)),
                       place);
    }
    const std::vector<int64_t>& shape = original.tensor(of).shape;
    if (!AreAxesOf(shape, piece.box)) {
      return MakeError(
          ErrorCode::kPlanMismatch,
          fmt::format("the box names what are no factors of \"{}\", one beside the other",
                      Printable(piece.input, 80)),
          place);
    }
    if (ShapeOf(shape, piece.box) != graph.tensor(id).shape) {
      return MakeError(
          ErrorCode::kPlanMismatch,
          fmt::format("\"{}\" has other sizes than that part of \"{}\"",
                      Printable(graph.tensor(id).name, 80), Printable(piece.input, 80)),
          place);
    }
    step.inputs.push_back({of, id, piece.box});
  }
  return step;
}

Result<DistributedStep> ReadAtenStep(std::string_view text, const Graph& original,
                                     const Cluster& cluster) {
  PW_ASSIGN(AtenGraph file, ReadAtenFile(text));
  PW_ASSIGN(DistributedStep step,
            ResolveStep(file.graph, {file.origin, file.pieces, file.placement}, original, cluster));
  step.graph = std::move(file.graph);
  return step;
}

Result<Graph> ReadAtenGraph(std::string_view text) {
  PW_ASSIGN(AtenGraph file, ReadAtenFile(text));
  return std::move(file.graph);
}

}  // namespace placewright
