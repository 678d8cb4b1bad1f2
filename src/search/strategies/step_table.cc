#include "search/strategies/step_table.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "graph/ownership/module_path.h"
#include "search/layouts/pipelines.h"
#include "search/layouts/tensor_parallel.h"
#include "transforms/layers.h"
#include "transforms/pipeline.h"
#include "transforms/recompute.h"

namespace placewright {
namespace {

std::vector<AxisId> WidthsOf(const ModelStructure& structure) {
  std::vector<AxisId> axes = structure.heads;
  axes.insert(axes.end(), structure.widths.begin(), structure.widths.end());
  return axes;
}

int64_t NumberOfTokens(const LayoutProblem& problem) {
  if (!problem.axes.batch().valid()) return 0;
  const AxisId axis = TokensOf(problem.graph, problem.axes);
  return axis.valid() ? problem.axes.axis(axis).size : 0;
}

bool IsAbove(const StepTable::Moment& a, const StepTable::Moment& b) {
  return a.samples >= b.samples && a.widths >= b.widths && a.gradients >= b.gradients &&
         a.others >= b.others;
}

void AddMoment(const StepTable::Moment& moment, std::vector<StepTable::Moment>& moments) {
  const auto above = [&](const StepTable::Moment& one) { return IsAbove(one, moment); };
  if (std::any_of(moments.rbegin(), moments.rend(), above)) return;
  std::erase_if(moments, [&](const StepTable::Moment& one) { return IsAbove(moment, one); });
  moments.push_back(moment);
}

}  // namespace

StepFacts::StepFacts(const LayoutProblem& problem, const std::vector<DeviceId>& devices)
    : problem_(problem),
      structure_(StructureOf(problem.graph, problem.axes)),
      kinds_(problem.cluster.kinds().size()),
      tokens_(NumberOfTokens(problem)),
      nanos_(problem.graph.op_count() * kinds_, 0) {
  const Graph& graph = problem.graph;
  const NamedAxes& axes = problem.axes;
  const std::vector<AxisId> widths = WidthsOf(structure_);
  IdVector<AxisId, bool> is_width(axes.axis_count(), false);
  for (const AxisId axis : widths) is_width[axis] = true;
  for (const TensorId id : graph.tensors()) {
    uint8_t facts = 0;
    for (size_t d = 0; d < graph.tensor(id).shape.size(); ++d) {
      for (const AxisId axis : axes.factors(id, d)) {
        if (axis == axes.batch()) facts |= kSamples;
        if (is_width[axis]) facts |= kWidths;
      }
    }
    tensor_.push_back(facts);
  }
  std::map<size_t, DeviceId> of_kind;
  for (const DeviceId device : devices) {
    of_kind.try_emplace(static_cast<size_t>(problem.cluster.device(device).kind), device);
  }
  const auto touches = [&](const std::vector<TensorId>& tensors) {
    return std::any_of(tensors.begin(), tensors.end(),
                       [&](TensorId id) { return this->widths(id); });
  };
  for (const OpId op : graph.ops()) {
    const Op& one = graph.op(op);
    uint8_t facts = 0;
    if (axes.batch().valid() && axes.SplitBy(op, axes.batch()).valid()) facts |= kSamples;
    for (size_t i = 0; i < widths.size() && (touches(one.inputs) || touches(one.outputs)); ++i) {
      if (!axes.SplitBy(op, widths[i]).valid()) continue;
      facts |= kWidths;
      const bool sums = !one.outputs.empty() && samples(one.outputs.front()) &&
                        axes.verdict(op, widths[i], 0) == PartVerdict::kSum;
      if (sums) facts |= kSums;
    }
    op_.push_back(facts);
    for (const auto& [kind, device] : of_kind) {
      if (one.is_view || !problem.costs.Supports(op, device)) continue;
      const int64_t launch = problem.cluster.kind(device).launch_overhead.count;
      nanos_[op.index() * kinds_ + kind] =
          static_cast<double>(std::max<int64_t>(0, problem.costs.time(op, device).count - launch));
    }
  }
}

FactsOfStep::FactsOfStep(const StepFacts& facts, const Graph& step)
    : facts_(facts), step_(step), known_(step.tensor_count()), last_(step.storage_count()) {
  const Graph& graph = facts.problem().graph;
  for (const OpId op : step.ops()) {
    OpId of = &step == &graph ? op : graph.FindOp(step.op(op).name);
    if (!of.valid()) of = graph.FindOp(step.op(RecomputedOp(step, op)).name);
    original_.push_back(of);
    const auto& made = step.op(op).outputs;
    const auto& known = graph.op(of).outputs;
    for (size_t i = 0; i < std::min(made.size(), known.size()); ++i) known_[made[i]] = known[i];
    if (step.op(op).is_view) continue;
    for (const TensorId id : step.op(op).inputs) last_[step.tensor(id).storage] = op;
    for (const TensorId id : made) last_[step.tensor(id).storage] = op;
  }
}

bool FactsOfStep::IsTransient(StorageId id) const {
  const Storage& storage = step_.storage(id);
  return !IsPersistent(storage.kind) && step_.tensor(storage.first).producer.valid();
}

bool FactsOfStep::IsKept(StorageId id) const {
  return step_.op(First(id)).phase == Phase::kForward && last_[id].valid() &&
         step_.op(last_[id]).phase != Phase::kForward;
}

void FactsOfStep::AddBytes(StepTable& table) const {
  std::vector<StepTable::Moment> from(step_.op_count()), until(step_.op_count());
  for (const StorageId id : step_.storages()) {
    if (!IsTransient(id)) continue;
    const auto bytes = static_cast<double>(step_.storage(id).bytes.count);
    const TensorId first = step_.storage(id).first;
    StepTable::Moment one;
    if (Samples(first)) {
      (Widths(first) ? one.widths : one.samples) = bytes;
      if (IsKept(id)) table.kept += bytes;
    } else {
      (step_.storage(id).kind == TensorKind::kGradient ? one.gradients : one.others) = bytes;
    }
    from[First(id).index()] += one;
    until[Last(id).index()] += one;
  }
  StepTable::Moment alive;
  for (size_t i = 0; i < step_.op_count(); ++i) {
    alive += from[i];
    const StepTable::Moment& ends = until[i];
    const bool any = ends.samples + ends.widths + ends.gradients + ends.others > 0;
    if (any) AddMoment(alive, table.moments);
    alive -= until[i];
  }
}

void FactsOfStep::AddWork(StepTable& table) const {
  for (const OpId op : step_.ops()) {
    const Op& one = step_.op(op);
    if (one.is_view) continue;
    const OpId of = original_[op];
    const bool update = one.phase == Phase::kOptimizer, forward = one.phase == Phase::kForward;
    const bool samples = !update && facts_.samples(of);
    StepTable::Work& work = update     ? table.update
                            : !samples ? table.once
                            : forward  ? table.forward
                                       : table.backward;
    const double* const nanos = facts_.nanos(of);
    double longest = 0;
    for (size_t kind = 0; kind < facts_.kinds(); ++kind) {
      work.nanos[kind] += nanos[kind];
      if (facts_.widths(of)) work.by_width[kind] += nanos[kind];
      longest = std::max(longest, nanos[kind]);
    }
    if (longest > 0) work.launches += 1;
    if (!samples) continue;
    if (facts_.sums(of)) {
      StepTable::Sums& sums = forward ? table.forward_sums : table.backward_sums;
      sums.bytes += static_cast<double>(step_.tensor(one.outputs.front()).bytes.count);
      ++sums.tensors;
    }
    if (!forward || one.type.find("attention") == std::string_view::npos) continue;
    ++table.attentions;
    for (const std::vector<TensorId>* const tensors : {&one.inputs, &one.outputs}) {
      for (const TensorId id : *tensors) {
        if (!Samples(id)) continue;
        table.attention_bytes += static_cast<double>(step_.tensor(id).bytes.count);
      }
    }
    for (size_t i = 1; i < std::min<size_t>(3, one.inputs.size()); ++i) {
      if (!Samples(one.inputs[i])) continue;
      table.keys_and_values += static_cast<double>(step_.tensor(one.inputs[i]).bytes.count);
    }
  }
}

void FactsOfStep::AddParameters(StepTable& table) const {
  const Graph& graph = facts_.problem().graph;
  std::map<std::string_view, double> layers;
  for (const StorageId id : step_.storages()) {
    const Storage& storage = step_.storage(id);
    const Tensor& tensor = step_.tensor(storage.first);
    const auto bytes = static_cast<double>(storage.bytes.count);
    if (tensor.producer.valid()) continue;
    if (tensor.kind == TensorKind::kOptimizerState) table.state += bytes;
    if (tensor.kind != TensorKind::kParameter) continue;
    table.parameters += bytes;
    const TensorId known = graph.FindTensor(tensor.name);
    if (known.valid() && facts_.widths(known)) table.by_width += bytes;
    const std::string_view layer = LayerOf(ModuleOfParameter(tensor.name));
    if (!layer.empty()) layers[layer] += bytes;
    if (storage.versions.size() < 2) continue;
    table.gradients += bytes;
    ++table.sizes[storage.bytes.count];
  }
  table.layers = static_cast<int64_t>(layers.size());
  for (const auto& [name, bytes] : layers) {
    table.in_layers += bytes;
    table.largest_layer = std::max(table.largest_layer, bytes);
  }
}

double StepTable::Peak(const Moment& parts) const {
  double peak = 0;
  for (const Moment& moment : moments) {
    peak = std::max(peak, moment.samples * parts.samples + moment.widths * parts.widths +
                              moment.gradients * parts.gradients + moment.others * parts.others);
  }
  return peak;
}

StepTable FactsOfStep::MakeTable() const {
  StepTable table;
  for (StepTable::Work* const work :
       {&table.forward, &table.backward, &table.once, &table.update}) {
    work->nanos = work->by_width = ByKind(facts_.kinds(), 0);
  }
  AddWork(table);
  AddBytes(table);
  AddParameters(table);
  return table;
}

void FactsOfStep::AddSent(const IdVector<GroupId, int32_t>& chunk_by_group, int64_t stages,
                          ChunkTable& table) const {
  const auto chunk_of = [&](OpId op) { return chunk_by_group[step_.group(op)]; };
  for (const TensorId id : step_.tensors()) {
    const OpId producer = step_.tensor(id).producer;
    if (!producer.valid()) continue;
    std::set<int64_t> readers;  // stages
    for (const OpId reader : step_.consumers(producer)) {
      const std::vector<TensorId>& inputs = step_.op(reader).inputs;
      const bool reads = std::find(inputs.begin(), inputs.end(), id) != inputs.end();
      if (reads) readers.insert(chunk_of(reader) % stages);
    }
    readers.erase(chunk_of(producer) % stages);
    ChunkTable::Chunk& chunk = table.chunks[static_cast<size_t>(chunk_of(producer))];
    const bool forward = step_.op(producer).phase == Phase::kForward;
    ChunkTable::Chunk::Sent& sent = forward ? chunk.sent_forward : chunk.sent_backward;
    const double bytes =
        static_cast<double>(step_.tensor(id).bytes.count) * static_cast<double>(readers.size());
    (Samples(id) ? sent.samples : sent.others) += bytes;
  }
}

Result<ChunkTable> FactsOfStep::MakeChunks(const Transform& pipeline) const {
  PW_ASSIGN(const auto chunk_of, PipelineChunks(step_, pipeline));
  ChunkTable table;
  table.chunks.resize(static_cast<size_t>(pipeline.stages * pipeline.chunks));
  for (ChunkTable::Chunk& chunk : table.chunks) {
    chunk.forward = chunk.backward = chunk.weights = ByKind(facts_.kinds(), 0);
  }
  const auto chunk = [&](OpId op) -> ChunkTable::Chunk& {
    return table.chunks[static_cast<size_t>(chunk_of[op])];
  };
  for (const OpId op : step_.ops()) {
    const Op& one = step_.op(op);
    if (one.is_view || one.phase == Phase::kOptimizer || !facts_.samples(original_[op])) continue;
    // What sums over samples makes gradients of weights.
    const bool weights =
        one.phase == Phase::kBackward && !one.outputs.empty() && !Samples(one.outputs.front());
    const double* const nanos = facts_.nanos(original_[op]);
    ByKind& pass = one.phase == Phase::kForward ? chunk(op).forward : chunk(op).backward;
    double longest = 0;
    for (size_t kind = 0; kind < facts_.kinds(); ++kind) {
      pass[kind] += nanos[kind];
      if (weights) chunk(op).weights[kind] += nanos[kind];
      longest = std::max(longest, nanos[kind]);
    }
    if (longest > 0) chunk(op).launches += 1;
  }
  AddSent(ChunkByGroup(step_, chunk_of), pipeline.stages, table);
  // What comes and goes with each op, of its chunk.
  std::vector<double> made(step_.op_count(), 0), alive(table.chunks.size(), 0);
  std::vector<std::vector<std::pair<size_t, double>>> gone(step_.op_count());
  for (const StorageId id : step_.storages()) {
    const auto bytes = static_cast<double>(step_.storage(id).bytes.count);
    const TensorId first = step_.storage(id).first;
    if (IsTransient(id) && Samples(first)) {
      const auto of = static_cast<size_t>(chunk_of[First(id)]);
      made[First(id).index()] += bytes;
      gone[Last(id).index()].emplace_back(of, bytes);
      if (IsKept(id)) table.chunks[of].kept += bytes;
    }
    const OpId home = step_.home_op(id);
    const Tensor& tensor = step_.tensor(first);
    if (tensor.producer.valid() || !home.valid()) continue;
    if (tensor.kind == TensorKind::kOptimizerState) chunk(home).state += bytes;
    if (tensor.kind != TensorKind::kParameter) continue;
    chunk(home).parameters += bytes;
    if (step_.storage(id).versions.size() < 2) continue;
    chunk(home).gradients += bytes;
    ++chunk(home).tensors;
  }
  for (const OpId op : step_.ops()) {
    const auto of = static_cast<size_t>(chunk_of[op]);
    alive[of] += made[op.index()];
    table.chunks[of].peak = std::max(table.chunks[of].peak, alive[of]);
    for (const auto& [from, bytes] : gone[op.index()]) alive[from] -= bytes;
  }
  return table;
}

}  // namespace placewright
