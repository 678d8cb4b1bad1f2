#include "search/strategies/step_table.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "graph/ownership/module_path.h"
#include "transforms/layers.h"
#include "transforms/pipeline.h"
#include "transforms/recompute.h"

namespace placewright {
namespace {

// The ops and tensors of a step with what the problem knows of those that they are, or are copies of.
class StepReader {
 public:
  StepReader(const LayoutProblem& problem, const Graph& step)
      : problem_(problem), step_(step), tensors_(step.tensor_count()), last_(step.storage_count()) {
    for (const OpId op : step.ops()) {
      OpId of = problem.graph.FindOp(step.op(op).name);
      if (!of.valid()) of = problem.graph.FindOp(step.op(RecomputedOp(step, op)).name);
      original_.push_back(of);
      const auto& made = step.op(op).outputs;
      const auto& known = problem.graph.op(of).outputs;
      for (size_t i = 0; i < std::min(made.size(), known.size()); ++i) tensors_[made[i]] = known[i];
    }
    for (const OpId op : step.ops()) {
      if (step.op(op).is_view) continue;
      for (const TensorId id : step.op(op).inputs) last_[step.tensor(id).storage] = op;
      for (const TensorId id : step.op(op).outputs) last_[step.tensor(id).storage] = op;
    }
  }

  // Of the problem's graph.
  OpId Original(OpId op) const { return original_[op]; }
  // Whether samples split the op; or the tensor, which an op makes.
  bool Samples(OpId op) const {
    const AxisId batch = problem_.axes.batch();
    return batch.valid() && problem_.axes.SplitBy(original_[op], batch).valid();
  }
  bool Samples(TensorId id) const {
    return tensors_[id].valid() && problem_.axes.batch().valid() &&
           problem_.axes.Holds(tensors_[id], problem_.axes.batch());
  }
  bool Any(TensorId id, const std::vector<AxisId>& axes) const {
    return tensors_[id].valid() && std::any_of(axes.begin(), axes.end(), [&](AxisId axis) {
             return problem_.axes.Holds(tensors_[id], axis);
           });
  }
  bool Any(OpId op, const std::vector<AxisId>& axes) const {
    return std::any_of(axes.begin(), axes.end(), [&](AxisId axis) {
      return problem_.axes.SplitBy(original_[op], axis).valid();
    });
  }
  // Each part has a partial sum of an output that samples divide.
  bool IsSum(OpId op, const std::vector<AxisId>& axes, size_t output) const {
    const auto& outputs = problem_.graph.op(original_[op]).outputs;
    if (output >= outputs.size() || !problem_.axes.Holds(outputs[output], problem_.axes.batch())) {
      return false;
    }
    return std::any_of(axes.begin(), axes.end(), [&](AxisId axis) {
      return problem_.axes.SplitBy(original_[op], axis).valid() &&
             problem_.axes.verdict(original_[op], axis, output) == PartVerdict::kSum;
    });
  }
  // Without its launch; 0 where the device does not run it.
  double Nanos(OpId op, DeviceId device) const {
    const OpId of = original_[op];
    if (!problem_.costs.Supports(of, device)) return 0;
    const int64_t launch = problem_.cluster.kind(device).launch_overhead.count;
    return static_cast<double>(
        std::max<int64_t>(0, problem_.costs.time(of, device).count - launch));
  }
  // Made within the step: from the op that makes it to the last that reads or writes it.
  bool IsTransient(StorageId id) const {
    const Storage& storage = step_.storage(id);
    return !IsPersistent(storage.kind) && step_.tensor(storage.first).producer.valid();
  }
  OpId First(StorageId id) const { return step_.tensor(step_.storage(id).first).producer; }
  OpId Last(StorageId id) const { return std::max(First(id), last_[id]); }
  // A forward pass leaves it to its backward pass.
  bool IsKept(StorageId id) const {
    return step_.op(First(id)).phase == Phase::kForward && last_[id].valid() &&
           step_.op(last_[id]).phase != Phase::kForward;
  }

 private:
  const LayoutProblem& problem_;
  const Graph& step_;
  IdVector<OpId, OpId> original_;
  IdVector<TensorId, TensorId> tensors_;
  IdVector<StorageId, OpId> last_;
};

std::vector<AxisId> WidthsOf(const ModelStructure& structure) {
  std::vector<AxisId> axes = structure.heads;
  axes.insert(axes.end(), structure.widths.begin(), structure.widths.end());
  return axes;
}

bool IsAbove(const StepTable::Moment& a, const StepTable::Moment& b) {
  return a.samples >= b.samples && a.widths >= b.widths && a.others >= b.others;
}

void AddMoment(const StepTable::Moment& moment, std::vector<StepTable::Moment>& moments) {
  const auto above = [&](const StepTable::Moment& one) { return IsAbove(one, moment); };
  if (std::any_of(moments.rbegin(), moments.rend(), above)) return;
  std::erase_if(moments, [&](const StepTable::Moment& one) { return IsAbove(moment, one); });
  moments.push_back(moment);
}

void AddBytes(const Graph& step, const StepReader& reader, const std::vector<AxisId>& widths,
              StepTable& table) {
  std::vector<StepTable::Moment> from(step.op_count()), until(step.op_count());
  for (const StorageId id : step.storages()) {
    if (!reader.IsTransient(id)) continue;
    const auto bytes = static_cast<double>(step.storage(id).bytes.count);
    const TensorId first = step.storage(id).first;
    StepTable::Moment one;
    if (reader.Samples(first)) {
      (reader.Any(first, widths) ? one.widths : one.samples) = bytes;
      if (reader.IsKept(id)) table.kept += bytes;
    } else {
      one.others = bytes;
    }
    const auto add = [&](StepTable::Moment& to) {
      to.samples += one.samples;
      to.widths += one.widths;
      to.others += one.others;
    };
    add(from[reader.First(id).index()]);
    add(until[reader.Last(id).index()]);
  }
  StepTable::Moment alive;
  for (size_t i = 0; i < step.op_count(); ++i) {
    alive.samples += from[i].samples;
    alive.widths += from[i].widths;
    alive.others += from[i].others;
    const bool falls = until[i].samples + until[i].widths + until[i].others > 0;
    if (falls) AddMoment(alive, table.moments);
    alive.samples -= until[i].samples;
    alive.widths -= until[i].widths;
    alive.others -= until[i].others;
  }
}

void AddWork(const LayoutProblem& problem, const Graph& step, const StepReader& reader,
             const std::vector<AxisId>& widths, StepTable& table) {
  for (const OpId op : step.ops()) {
    const Op& one = step.op(op);
    if (one.is_view) continue;
    const bool update = one.phase == Phase::kOptimizer;
    StepTable::Work& work = update                         ? table.update
                            : !reader.Samples(op)          ? table.once
                            : one.phase == Phase::kForward ? table.forward
                                                           : table.backward;
    const bool by_width = reader.Any(op, widths);
    double longest = 0;
    for (const DeviceId device : problem.cluster.devices()) {
      const double nanos = reader.Nanos(op, device);
      work.nanos[device] += nanos;
      if (by_width) work.by_width[device] += nanos;
      longest = std::max(longest, nanos);
    }
    if (longest > 0) work.launches += 1;
    if (update || !reader.Samples(op)) continue;
    const bool forward = one.phase == Phase::kForward;
    for (size_t i = 0; by_width && i < one.outputs.size(); ++i) {
      if (!reader.IsSum(op, widths, i)) continue;
      StepTable::Sums& sums = forward ? table.forward_sums : table.backward_sums;
      sums.bytes += static_cast<double>(step.tensor(one.outputs[i]).bytes.count);
      ++sums.tensors;
    }
    if (!forward || one.type.find("attention") == std::string_view::npos) continue;
    ++table.attentions;
    for (const std::vector<TensorId>* const tensors : {&one.inputs, &one.outputs}) {
      for (const TensorId id : *tensors) {
        if (!reader.Samples(id)) continue;
        table.attention_bytes += static_cast<double>(step.tensor(id).bytes.count);
      }
    }
  }
}

void AddParameters(const LayoutProblem& problem, const Graph& step,
                   const std::vector<AxisId>& widths, StepTable& table) {
  std::map<std::string_view, double> layers;
  for (const StorageId id : step.storages()) {
    const Storage& storage = step.storage(id);
    const Tensor& tensor = step.tensor(storage.first);
    const auto bytes = static_cast<double>(storage.bytes.count);
    if (tensor.producer.valid()) continue;
    if (tensor.kind == TensorKind::kOptimizerState) table.state += bytes;
    if (tensor.kind != TensorKind::kParameter) continue;
    table.parameters += bytes;
    const TensorId known = problem.graph.FindTensor(tensor.name);
    const bool by_width =
        known.valid() && std::any_of(widths.begin(), widths.end(),
                                     [&](AxisId axis) { return problem.axes.Holds(known, axis); });
    if (by_width) table.by_width += bytes;
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

}  // namespace

double StepTable::Peak(double per_sample_part, double per_width_part, double per_other_part) const {
  double peak = 0;
  for (const Moment& moment : moments) {
    peak = std::max(peak, moment.samples * per_sample_part + moment.widths * per_width_part +
                              moment.others * per_other_part);
  }
  return peak;
}

StepTable MakeStepTable(const LayoutProblem& problem, const Graph& step,
                        const ModelStructure& structure) {
  const StepReader reader(problem, step);
  const std::vector<AxisId> widths = WidthsOf(structure);
  StepTable table;
  const size_t devices = problem.cluster.device_count();
  for (StepTable::Work* const work :
       {&table.forward, &table.backward, &table.once, &table.update}) {
    *work = StepTable::Work(devices);
  }
  AddWork(problem, step, reader, widths, table);
  AddBytes(step, reader, widths, table);
  AddParameters(problem, step, widths, table);
  return table;
}

Result<ChunkTable> MakeChunkTable(const LayoutProblem& problem, const Graph& step,
                                  const Transform& pipeline) {
  PW_ASSIGN(const auto chunk_of, PipelineChunks(step, pipeline));
  const StepReader reader(problem, step);
  const size_t devices = problem.cluster.device_count();
  ChunkTable table;
  table.chunks.resize(static_cast<size_t>(pipeline.stages * pipeline.chunks));
  for (ChunkTable::Chunk& chunk : table.chunks) {
    chunk.forward = chunk.backward = chunk.weights = IdVector<DeviceId, double>(devices, 0);
  }
  const auto chunk = [&](OpId op) -> ChunkTable::Chunk& {
    return table.chunks[static_cast<size_t>(chunk_of[op])];
  };
  for (const OpId op : step.ops()) {
    const Op& one = step.op(op);
    if (one.is_view || one.phase == Phase::kOptimizer || !reader.Samples(op)) continue;
    // What sums over samples makes gradients of weights.
    const bool weights = one.phase == Phase::kBackward && !one.outputs.empty() &&
                         !reader.Samples(one.outputs.front());
    double longest = 0;
    for (const DeviceId device : problem.cluster.devices()) {
      const double nanos = reader.Nanos(op, device);
      (one.phase == Phase::kForward ? chunk(op).forward : chunk(op).backward)[device] += nanos;
      if (weights) chunk(op).weights[device] += nanos;
      longest = std::max(longest, nanos);
    }
    if (longest > 0) chunk(op).launches += 1;
  }
  std::vector<double> alive(table.chunks.size(), 0);
  std::vector<std::vector<StorageId>> begin(step.op_count()), end(step.op_count());
  for (const StorageId id : step.storages()) {
    if (reader.IsTransient(id) && reader.Samples(step.storage(id).first)) {
      begin[reader.First(id).index()].push_back(id);
      end[reader.Last(id).index()].push_back(id);
      if (reader.IsKept(id)) {
        chunk(reader.First(id)).kept += static_cast<double>(step.storage(id).bytes.count);
      }
    }
    const Tensor& tensor = step.tensor(step.storage(id).first);
    const OpId home = step.home_op(id);
    if (tensor.producer.valid() || !home.valid()) continue;
    const auto bytes = static_cast<double>(step.storage(id).bytes.count);
    if (tensor.kind == TensorKind::kOptimizerState) chunk(home).state += bytes;
    if (tensor.kind != TensorKind::kParameter) continue;
    chunk(home).parameters += bytes;
    if (step.storage(id).versions.size() < 2) continue;
    chunk(home).gradients += bytes;
    ++chunk(home).tensors;
  }
  for (size_t i = 0; i < step.op_count(); ++i) {
    for (const StorageId id : begin[i]) {
      const auto of = static_cast<size_t>(chunk_of[reader.First(id)]);
      alive[of] += static_cast<double>(step.storage(id).bytes.count);
      table.chunks[of].peak = std::max(table.chunks[of].peak, alive[of]);
    }
    for (const StorageId id : end[i]) {
      alive[static_cast<size_t>(chunk_of[reader.First(id)])] -=
          static_cast<double>(step.storage(id).bytes.count);
    }
  }
  return table;
}

}  // namespace placewright
