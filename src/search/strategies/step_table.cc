#include "search/strategies/step_table.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "cost/cost_model.h"
#include "graph/ownership/module_path.h"
#include "search/layouts/pipelines.h"
#include "search/layouts/tensor_parallel.h"
#include "transforms/layers.h"
#include "transforms/pipeline.h"
#include "transforms/precision.h"
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
         a.casts >= b.casts && a.others >= b.others;
}

// Keeps those that none is above: whatever parts of them a device has, one of these is the highest. From the back, since
// moments that follow each other are alike.
void AddMoment(const StepTable::Moment& moment, std::vector<StepTable::Moment>& moments) {
  const auto above = [&](const StepTable::Moment& one) { return IsAbove(one, moment); };
  if (std::any_of(moments.rbegin(), moments.rend(), above)) return;
  std::erase_if(moments, [&](const StepTable::Moment& one) { return IsAbove(moment, one); });
  moments.push_back(moment);
}

// What the model of costs says of an op that computes next to nothing, beside its launch.
double FillOf(const Graph& graph, OpId op, const DeviceKind& kind, const CostOptions& options) {
  const Work work = WorkOf(graph, op);
  if (work.depth == 0) return 0;
  const Work smallest = {.op_class = work.op_class, .flops = 1, .depth = work.depth};
  const Nanos time = RooflineTime(smallest, ComputeDType(graph, op), kind, options.precision);
  return static_cast<double>(std::max<int64_t>(0, time.count - kind.launch_overhead.count));
}

void AddTo(ByKind& sums, const double* more, size_t kinds) {
  for (size_t kind = 0; kind < kinds; ++kind) sums[kind] += more[kind];
}

}  // namespace

std::array<ByKind*, 8> NanosOfChunk(ChunkTable::Chunk& chunk) {
  return {&chunk.forward,        &chunk.backward,      &chunk.weights, &chunk.forward_fixed,
          &chunk.backward_fixed, &chunk.weights_fixed, &chunk.casts,   &chunk.gradient_casts};
}

void AddNanos(ChunkTable::Chunk more, ChunkTable::Chunk& sums) {
  const auto to = NanosOfChunk(sums), from = NanosOfChunk(more);
  for (size_t i = 0; i < to.size(); ++i) {
    to[i]->resize(std::max(to[i]->size(), from[i]->size()));
    AddTo(*to[i], from[i]->data(), from[i]->size());
  }
}

StepFacts::StepFacts(const LayoutProblem& problem, const std::vector<DeviceId>& devices)
    : problem_(problem),
      structure_(StructureOf(problem.graph, problem.axes)),
      kinds_(problem.cluster.kinds().size()),
      tokens_(NumberOfTokens(problem)),
      nanos_(problem.graph.op_count() * kinds_, 0),
      fill_(problem.graph.op_count() * kinds_, 0) {
  for (const DeviceKind& kind : problem.cluster.kinds()) {
    launch_.push_back(static_cast<double>(kind.launch_overhead.count));
  }
  const Graph& graph = problem.graph;
  const NamedAxes& axes = problem.axes;
  // What divides a tensor, by the axes of its dimensions.
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
  // One device stands for all of its kind; CPUs that were not asked for may still compute the update (offload).
  std::map<size_t, DeviceId> of_kind, of_hosts;
  for (const DeviceId device : devices) {
    of_kind.try_emplace(static_cast<size_t>(problem.cluster.device(device).kind), device);
  }
  for (const DeviceId device : problem.cluster.devices()) {
    const auto kind = static_cast<size_t>(problem.cluster.device(device).kind);
    const bool cpu = problem.cluster.kind(device).device_class == DeviceClass::kCpu;
    if (cpu && !of_kind.contains(kind)) of_hosts.try_emplace(kind, device);
  }
  const auto touches = [&](const std::vector<TensorId>& tensors) {
    return std::any_of(tensors.begin(), tensors.end(),
                       [&](TensorId id) { return this->widths(id); });
  };
  for (const OpId op : graph.ops()) {
    const Op& one = graph.op(op);
    uint8_t facts = 0;
    if (axes.batch().valid() && axes.SplitBy(op, axes.batch()).valid()) facts |= kSamples;
    // Heads and inner widths split an op only by an axis of its rule that has parts; what is a sum over that axis is
    // summed over the group of devices, but for gradients of parameters, whose parts lie where the parameters' do.
    const OpRule* const rule = axes.rule(op);
    const bool may_split = rule != nullptr && (touches(one.inputs) || touches(one.outputs));
    const bool may_sum = may_split && !one.outputs.empty() && samples(one.outputs.front());
    for (size_t i = 0; may_split && i < rule->axes.size(); ++i) {
      if (rule->axes[RuleAxisId(i)].parts == Parts::kWhole) continue;
      for (const AxisId axis : axes.FactorsOf(op, RuleAxisId(i))) {
        if (!is_width[axis]) continue;
        facts |= kWidths;
        if (may_sum && axes.verdict(op, axis, 0) == PartVerdict::kSum) facts |= kSums;
      }
    }
    for (size_t i = 0; rule != nullptr && i < rule->axis_parts.size(); ++i) {
      if (rule->axis_parts[i].uneven) facts |= kCausal;
    }
    op_.push_back(facts);
    // Launch and fill (FillOf) apart from what parts divide: a measured time may be below what the model says of both.
    const auto time_on = [&](size_t kind, DeviceId device) {
      if (one.is_view || !problem.costs.Supports(op, device)) return;
      const size_t at = op.index() * kinds_ + kind;
      const double time = static_cast<double>(problem.costs.time(op, device).count) - launch_[kind];
      fill_[at] = std::clamp(FillOf(graph, op, problem.cluster.kind(device), problem.cost_options),
                             0.0, std::max(0.0, time));
      nanos_[at] = std::max(0.0, time - fill_[at]);
    };
    for (const auto& [kind, device] : of_kind) time_on(kind, device);
    if (one.phase != Phase::kOptimizer) continue;
    for (const auto& [kind, device] : of_hosts) time_on(kind, device);
  }
}

FactsOfStep::FactsOfStep(const StepFacts& facts, const Graph& step)
    : facts_(facts), step_(step), known_(step.tensor_count()), last_(step.storage_count()) {
  const Graph& graph = facts.problem().graph;
  for (const OpId op : step.ops()) {
    // Recomputed ops have names of their own, and know whose copy they are.
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
  // What comes with each op and goes behind it; a walk over the ops then knows what is alive.
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
      (step_.storage(id).kind == TensorKind::kGradient ? one.gradients
       : IsCastApart(id)                               ? one.casts
                                                       : one.others) = bytes;
      table.casts += one.casts;
    }
    from[First(id).index()] += one;
    until[Last(id).index()] += one;
  }
  StepTable::Moment alive;
  for (size_t i = 0; i < step_.op_count(); ++i) {
    alive += from[i];
    // Bytes only grow until something ends: no moment before that is above it.
    const StepTable::Moment& ends = until[i];
    const bool any = ends.samples + ends.widths + ends.gradients + ends.casts + ends.others > 0;
    if (any) AddMoment(alive, table.moments);
    alive -= until[i];
  }
}

bool FactsOfStep::IsParameter(StorageId id) const {
  const Tensor& tensor = step_.tensor(step_.storage(id).first);
  return tensor.kind == TensorKind::kParameter && !tensor.producer.valid();
}

bool FactsOfStep::IsCastApart(StorageId id) const {
  const StorageId parameter = CastParameter(step_, id);
  if (!parameter.valid()) return false;
  const OpId home = step_.home_op(parameter);
  return !home.valid() || step_.group(home) != step_.group(First(id));
}

std::map<StorageId, double> FactsOfStep::BytesToGather() const {
  std::map<StorageId, double> bytes;
  for (const StorageId id : step_.storages()) {
    if (IsParameter(id)) bytes[id] = static_cast<double>(step_.storage(id).bytes.count);
  }
  for (const StorageId id : step_.storages()) {
    const StorageId parameter = CastParameter(step_, id);
    if (parameter.valid() && !IsCastApart(id)) {
      bytes[parameter] = static_cast<double>(step_.storage(id).bytes.count);
    }
  }
  return bytes;
}

IdVector<OpId, bool> FactsOfStep::FollowSamples() const {
  IdVector<OpId, bool> follow(step_.op_count(), false);
  for (const OpId op : step_.ops()) {
    const std::vector<TensorId>& inputs = step_.op(op).inputs;
    follow[op] = std::any_of(inputs.begin(), inputs.end(), [&](TensorId id) {
      const OpId producer = step_.tensor(id).producer;
      return Samples(id) || (producer.valid() && follow[producer]);
    });
  }
  return follow;
}

void FactsOfStep::AddReads(StepTable& table) const {
  const std::map<StorageId, double> gathered = BytesToGather();
  const auto cast_of = [&](StorageId id) { return CastParameter(step_, id); };
  std::set<TensorId> seen;
  for (const OpId op : step_.ops()) {
    const Op& one = step_.op(op);
    if (one.is_view || one.phase == Phase::kOptimizer) continue;
    const StorageId makes =
        one.outputs.empty() ? StorageId() : step_.tensor(one.outputs[0]).storage;
    const bool casts = makes.valid() && cast_of(makes).valid();
    if (casts && !IsCastApart(makes)) continue;  // where the shards lie
    for (const TensorId id : one.inputs) {
      const StorageId storage = step_.tensor(id).storage;
      if (!IsParameter(storage) && (!cast_of(storage).valid() || IsCastApart(storage))) continue;
      if (!seen.insert(id).second) continue;
      const double bytes = gathered.at(IsParameter(storage) ? storage : cast_of(storage));
      if (table.first_read == 0) table.first_read = bytes;
      if (!casts) table.copied += bytes;
    }
  }
}

void FactsOfStep::AddWork(StepTable& table) const {
  const IdVector<OpId, bool> follow_samples = FollowSamples();
  for (const OpId op : step_.ops()) {
    const Op& one = step_.op(op);
    if (one.is_view) continue;
    const OpId of = original_[op];
    const bool update = one.phase == Phase::kOptimizer, forward = one.phase == Phase::kForward;
    // What samples do not divide is done once a step, but for what follows from a micro-batch's samples.
    const bool samples = !update && facts_.samples(of);
    StepTable::Work& work =
        update     ? table.update
        : !samples ? (!forward && follow_samples[op] ? table.gradient_casts : table.once)
        : forward  ? table.forward
                   : table.backward;
    const double* const nanos = facts_.nanos(of);
    double longest = 0;
    for (size_t kind = 0; kind < facts_.kinds(); ++kind) {
      work.nanos[kind] += nanos[kind];
      if (facts_.widths(of)) work.by_width[kind] += nanos[kind];
      if (facts_.causal(of)) work.causal[kind] += nanos[kind];
      longest = std::max(longest, nanos[kind]);
    }
    AddTo(work.fill, facts_.fill(of), facts_.kinds());
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
    // Queries come first, then keys and values, which devices that divide the sequence gather.
    for (size_t i = 1; i < std::min<size_t>(3, one.inputs.size()); ++i) {
      if (!Samples(one.inputs[i])) continue;
      table.keys_and_values += static_cast<double>(step_.tensor(one.inputs[i]).bytes.count);
    }
  }
}

void FactsOfStep::AddParameters(StepTable& table) const {
  const Graph& graph = facts_.problem().graph;
  const std::map<StorageId, double> gathered = BytesToGather();
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
    if (storage.versions.size() < 2) continue;  // no update writes it: it has no gradient
    table.gradients += bytes;
    ++table.sizes[static_cast<int64_t>(gathered.at(id))];
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
                              moment.gradients * parts.gradients + moment.casts * parts.casts +
                              moment.others * parts.others);
  }
  return peak;
}

StepTable FactsOfStep::MakeTable() const {
  StepTable table;
  for (StepTable::Work* const work :
       {&table.forward, &table.backward, &table.once, &table.gradient_casts, &table.update}) {
    work->nanos = work->by_width = work->causal = work->fill = ByKind(facts_.kinds(), 0);
  }
  AddWork(table);
  AddReads(table);
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
    std::set<int64_t> readers;  // stages, each of which is sent the tensor once
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

void FactsOfStep::AddPasses(const IdVector<OpId, int32_t>& chunk_of, ChunkTable& table) const {
  const IdVector<OpId, bool> follow_samples = FollowSamples();
  const size_t kinds = facts_.kinds();
  for (const OpId op : step_.ops()) {
    const Op& one = step_.op(op);
    if (one.is_view || one.phase == Phase::kOptimizer) continue;
    ChunkTable::Chunk& chunk = table.chunks[static_cast<size_t>(chunk_of[op])];
    const bool forward = one.phase == Phase::kForward;
    const double* const nanos = facts_.nanos(original_[op]);
    if (std::all_of(nanos, nanos + kinds, [](double time) { return time <= 0; })) continue;
    ByKind fixed = ByKind(kinds, 0);
    for (size_t kind = 0; kind < kinds; ++kind) {
      fixed[kind] = facts_.fill(original_[op])[kind] + facts_.launch(kind);
    }
    if (!facts_.samples(original_[op])) {
      ByKind& casts = !forward && follow_samples[op] ? chunk.gradient_casts : chunk.casts;
      AddTo(casts, nanos, kinds);
      AddTo(casts, fixed.data(), kinds);
      continue;
    }
    AddTo(forward ? chunk.forward : chunk.backward, nanos, kinds);
    AddTo(forward ? chunk.forward_fixed : chunk.backward_fixed, fixed.data(), kinds);
    // What sums over samples makes gradients of weights.
    if (forward || one.outputs.empty() || Samples(one.outputs.front())) continue;
    AddTo(chunk.weights, nanos, kinds);
    AddTo(chunk.weights_fixed, fixed.data(), kinds);
  }
}

Result<ChunkTable> FactsOfStep::MakeChunks(const Transform& pipeline) const {
  PW_ASSIGN(const auto chunk_of, PipelineChunks(step_, pipeline));
  ChunkTable table;
  table.chunks.resize(static_cast<size_t>(pipeline.stages * pipeline.chunks));
  for (ChunkTable::Chunk& chunk : table.chunks) {
    for (ByKind* const nanos : NanosOfChunk(chunk)) *nanos = ByKind(facts_.kinds(), 0);
  }
  const auto chunk = [&](OpId op) -> ChunkTable::Chunk& {
    return table.chunks[static_cast<size_t>(chunk_of[op])];
  };
  AddPasses(chunk_of, table);
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
    if (IsTransient(id) && IsCastApart(id)) chunk(First(id)).cast += bytes;
    const OpId home = step_.home_op(id);
    const Tensor& tensor = step_.tensor(first);
    if (tensor.producer.valid() || !home.valid()) continue;
    if (tensor.kind == TensorKind::kOptimizerState) chunk(home).state += bytes;
    if (tensor.kind != TensorKind::kParameter) continue;
    chunk(home).parameters += bytes;
    if (step_.storage(id).versions.size() < 2) continue;
    chunk(home).gradients += bytes;
    chunk(home).largest = std::max(chunk(home).largest, bytes);
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
