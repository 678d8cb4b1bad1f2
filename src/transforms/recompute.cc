#include "transforms/recompute.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/text.h"
#include "graph/graph_builder.h"
#include "sharding/op_rule.h"
#include "transforms/op_copy.h"
#include "transforms/recompute_regions.h"

namespace placewright {
namespace {

constexpr std::string_view kSuffix = "@recompute";

// What is made again, and for whom.
struct Recomputation {
  std::vector<std::vector<OpId>> ops;  // of each region, ascending
  std::map<OpId, std::vector<int32_t>>
      before;  // by backward op the regions that it is the first to read
  std::set<std::pair<OpId, size_t>> readers;  // inputs of backward ops that read a copy
  bool empty() const { return readers.empty(); }
};

class ReaderFinder {
 public:
  ReaderFinder(const Graph& step, const RecomputedRegions& regions)
      : step_(step), regions_(regions), needed_(step.op_count(), false) {
    FindMadeAgain();
    FindLeaving();
    for (const RecomputedRegion& region : regions.regions) {
      std::set<ModuleId>& modules = modules_.emplace_back();
      for (const OpId op : region.ops) modules.insert(step.op(op).module);
    }
  }

  Recomputation Find() {
    std::map<int32_t, int32_t> current;  // of a module the region whose backward pass is going on
    std::vector<bool> begun(regions_.regions.size(), false);
    for (const OpId op : step_.ops()) {
      if (regions_.of_op[op] >= 0) current[ModuleOf(regions_.of_op[op])] = regions_.of_op[op];
      if (step_.op(op).phase != Phase::kBackward) continue;
      for (size_t i = 0; i < step_.op(op).inputs.size(); ++i) {
        const int32_t region = RegionRead(op, i);
        if (region >= 0 && !leaves_[StorageRead(op, i)]) current[ModuleOf(region)] = region;
      }
      for (size_t i = 0; i < step_.op(op).inputs.size(); ++i) {
        const int32_t region = RegionRead(op, i);
        if (region < 0 || !IsOf(op, region, StorageRead(op, i), current)) continue;
        found_.readers.emplace(op, i);
        Need(op, i, region);
        if (!begun[static_cast<size_t>(region)]) found_.before[op].push_back(region);
        begun[static_cast<size_t>(region)] = true;
      }
    }
    found_.ops.resize(regions_.regions.size());
    for (const OpId op : step_.ops()) {
      if (needed_[op]) found_.ops[static_cast<size_t>(regions_.of_op[op])].push_back(op);
    }
    return std::move(found_);
  }

  // The region that makes again what the op reads, or -1: the tensor is one of the region's own.
  int32_t RegionRead(OpId op, size_t input) const {
    const TensorId tensor = step_.op(op).inputs[input];
    const OpId maker = step_.tensor(tensor).producer;
    const int32_t region = maker.valid() ? regions_.of_op[maker] : -1;
    return region >= 0 && made_again_[step_.tensor(tensor).storage] == region ? region : -1;
  }
  bool IsMadeAgain(StorageId storage) const { return made_again_[storage] >= 0; }

 private:
  StorageId StorageRead(OpId op, size_t input) const {
    return step_.tensor(step_.op(op).inputs[input]).storage;
  }
  int32_t ModuleOf(int32_t region) const {
    return regions_.regions[static_cast<size_t>(region)].module;
  }

  // Only forward ops of one region write it. What is kept cannot be written again.
  void FindMadeAgain() {
    made_again_.assign(step_.storage_count(), -1);
    for (const StorageId id : step_.storages()) {
      const std::vector<Version>& versions = step_.storage(id).versions;
      const OpId maker = versions.front().writer;
      const int32_t region = maker.valid() ? regions_.of_op[maker] : -1;
      if (region < 0 || (regions_.kept[maker] && versions.size() == 1)) continue;
      const bool own = std::all_of(versions.begin(), versions.end(), [&](const Version& version) {
        return regions_.of_op[version.writer] == region;
      });
      if (own) made_again_[id] = region;
    }
  }

  void FindLeaving() {
    leaves_.assign(step_.storage_count(), false);
    leaves_to_call_.assign(step_.storage_count(), false);
    for (const TensorId output : step_.outputs()) leaves_[step_.tensor(output).storage] = true;
    for (const OpId op : step_.ops()) {
      if (step_.op(op).phase != Phase::kForward) continue;
      for (const TensorId input : step_.op(op).inputs) {
        const StorageId storage = step_.tensor(input).storage;
        const int32_t from = made_again_[storage], to = regions_.of_op[op];
        if (from < 0 || from == to) continue;
        leaves_[storage] = true;
        if (to >= 0 && ModuleOf(to) == ModuleOf(from)) leaves_to_call_[storage] = true;
      }
    }
  }

  // What leaves its region is saved where it is read: the region's own backward ops alone read it again. Of
  // two calls of a module, ops that read nothing else of either belong to the one whose backward pass is going on.
  bool IsOf(OpId op, int32_t region, StorageId storage,
            const std::map<int32_t, int32_t>& current) const {
    if (!leaves_[storage]) return true;
    if (!modules_[static_cast<size_t>(region)].contains(step_.op(op).module)) return false;
    return !leaves_to_call_[storage] || current.at(ModuleOf(region)) == region;
  }

  // Marks what of the region makes the content that the op reads.
  void Need(OpId reader, size_t input, int32_t region) {
    std::vector<std::pair<OpId, size_t>> open = {{reader, input}};
    const auto need = [&](OpId op) {
      if (needed_[op]) return;
      needed_[op] = true;
      for (size_t i = 0; i < step_.op(op).inputs.size(); ++i) open.emplace_back(op, i);
    };
    while (!open.empty()) {
      const auto [op, i] = open.back();
      open.pop_back();
      if (RegionRead(op, i) != region) continue;
      need(step_.tensor(step_.op(op).inputs[i]).producer);
      const auto& versions = step_.storage(StorageRead(op, i)).versions;
      for (int32_t v = 0; v <= step_.op(op).input_versions[i]; ++v) {
        need(versions[static_cast<size_t>(v)].writer);
      }
    }
  }

  const Graph& step_;
  const RecomputedRegions& regions_;
  IdVector<StorageId, int32_t> made_again_;   // the region, or -1: kept
  IdVector<StorageId, bool> leaves_;          // read outside of its region
  IdVector<StorageId, bool> leaves_to_call_;  // by another call of its module
  std::vector<std::set<ModuleId>> modules_;   // by region
  IdVector<OpId, bool> needed_;
  Recomputation found_;
};

class RecomputedWriter {
 public:
  RecomputedWriter(const Graph& step, const RecomputedRegions& regions, const ReaderFinder& finder,
                   Recomputation found)
      : step_(step),
        regions_(regions),
        finder_(finder),
        found_(std::move(found)),
        builder_(step.name(), std::string(step.format())),
        made_(step.tensor_count()),
        again_(step.tensor_count()),
        copied_(step.op_count(), false) {
    builder_.set_batch(step.batch());
    for (const auto& ops : found_.ops) {
      for (const OpId op : ops) copied_[op] = true;
    }
  }

  Result<std::unique_ptr<Graph>> Write() {
    for (const TensorId id : step_.tensors()) {
      if (step_.tensor(id).producer.valid()) continue;
      PW_ASSIGN(made_[id], CopyInput(step_, id, builder_));
      tensor_of_.push_back(id);
    }
    for (const OpId op : step_.ops()) {
      const auto at = found_.before.find(op);
      if (at != found_.before.end()) {
        for (const int32_t region : at->second) PW_RETURN_IF_ERROR(WriteRegion(region, op));
      }
      PW_RETURN_IF_ERROR(WriteOriginal(op));
    }
    IdVector<StorageId, bool> again;
    for (const StorageId id : step_.storages()) again.push_back(finder_.IsMadeAgain(id));
    return FinishCopy(step_, std::move(builder_), made_, tensor_of_, op_of_, again);
  }

 private:
  std::string Name(OpId op) const { return Printable(step_.op(op).name, 80); }

  Error Refuse(int32_t region, std::string why, std::string remedy) const {
    return MakeError(
        ErrorCode::kTransform,
        fmt::format("{} cannot be computed again: {}",
                    Printable(regions_.regions[static_cast<size_t>(region)].name, 80), why),
        "recompute", std::move(remedy));
  }

  Status WriteOriginal(OpId op) {
    OpSpec spec = CopyOfOp(step_, op, made_);
    for (size_t i = 0; i < spec.inputs.size(); ++i) {
      if (found_.readers.contains({op, i})) spec.inputs[i] = again_[step_.op(op).inputs[i]];
    }
    return Add(op, std::move(spec), made_);
  }

  // Directly before `trigger`, the first op that reads something of it.
  Status WriteRegion(int32_t region, OpId trigger) {
    const std::vector<std::string> gradients = GradientsOf(trigger);
    for (const OpId op : found_.ops[static_cast<size_t>(region)]) {
      PW_RETURN_IF_ERROR(CheckDraws(region, op));
      OpSpec spec = CopyOfOp(step_, op, made_);
      bool reads_copy = false;
      for (size_t i = 0; i < spec.inputs.size(); ++i) {
        if (finder_.RegionRead(op, i) != region) continue;
        spec.inputs[i] = again_[step_.op(op).inputs[i]];
        reads_copy = true;
      }
      PW_RETURN_IF_ERROR(LeaveOutStatistics(region, op, spec));
      PW_RETURN_IF_ERROR(CheckKept(region, op, trigger));
      Rename(op, spec);
      spec.phase = Phase::kBackward;
      if (!reads_copy) spec.after.insert(spec.after.end(), gradients.begin(), gradients.end());
      PW_RETURN_IF_ERROR(Add(op, std::move(spec), again_));
      builder_.Colocate(step_.op(op).name, step_.op(op).name + std::string(kSuffix));
    }
    return Ok();
  }

  Status Add(OpId op, OpSpec spec, IdVector<TensorId, TensorId>& tensors) {
    PW_ASSIGN(const std::vector<TensorId> added, builder_.AddOp(std::move(spec)));
    for (size_t i = 0; i < added.size(); ++i) {
      tensors[step_.op(op).outputs[i]] = added[i];
      tensor_of_.push_back(step_.op(op).outputs[i]);
    }
    op_of_.push_back(op);
    return Ok();
  }

  static void Rename(OpSpec& spec, std::string& tensor) {
    const bool of_op = tensor.starts_with(spec.name + ":");
    if (of_op) {
      tensor.insert(spec.name.size(), kSuffix);
    } else {
      tensor += kSuffix;
    }
  }
  void Rename(OpId op, OpSpec& spec) const {
    for (OutputSpec& output : spec.outputs) Rename(spec, output.name);
    spec.name += kSuffix;
    for (std::string& earlier : spec.after) {
      if (copied_[step_.FindOp(earlier)] &&
          regions_.of_op[step_.FindOp(earlier)] == regions_.of_op[op]) {
        earlier += kSuffix;
      }
    }
  }

  // What the gradients that the op reads come from; where it reads none, the op before it.
  std::vector<std::string> GradientsOf(OpId trigger) const {
    std::vector<std::string> names;
    for (const OpId op : step_.producers(trigger)) {
      if (step_.op(op).phase == Phase::kBackward) names.push_back(step_.op(op).name);
    }
    if (names.empty() && trigger.index() > 0) {
      names.push_back(step_.op(OpId(trigger.index() - 1)).name);
    }
    return names;
  }

  // In the order of the file a sequence would go on, and give other numbers.
  Status CheckDraws(int32_t region, OpId op) const {
    const std::optional<OpRule> rule = RuleOf(step_, op);
    if (!rule || !rule->draws_random) return Ok();
    return Refuse(
        region,
        fmt::format("{} ({}) draws from a generator in sequence", Name(op), step_.op(op).type),
        "Let draws count before (the transform counted-draws); one that cannot count "
        "belongs to no module of --recompute.");
  }

  // A batch norm in training needs no running statistics for what it returns. Others may write what is made again
  // alone.
  Status LeaveOutStatistics(int32_t region, OpId id, OpSpec& spec) const {
    const Op& op = step_.op(id);
    constexpr size_t kMean = 3, kVariance = 4;
    const bool norm = op.type.starts_with("aten.native_batch_norm.") && op.args.size() > kVariance;
    for (size_t i = op.inputs.size(); i-- > 0;) {
      if (std::find(op.writes.begin(), op.writes.end(), op.inputs[i]) == op.writes.end()) continue;
      if (finder_.RegionRead(id, i) == region) continue;
      const Value place{InputRef{static_cast<int32_t>(i)}};
      if (!norm || (op.args[kMean] != place && op.args[kVariance] != place)) {
        return Refuse(region,
                      fmt::format("{} ({}) writes {}, which is there before it", Name(id), op.type,
                                  Printable(step_.tensor(op.inputs[i]).name, 80)),
                      "Record the model without that side effect, or leave its module out of "
                      "--recompute.");
      }
      RemoveInput(i, spec);
    }
    return Ok();
  }

  static void RemoveInput(size_t input, OpSpec& spec) {
    spec.inputs.erase(spec.inputs.begin() + static_cast<ptrdiff_t>(input));
    std::erase(spec.writes, static_cast<int32_t>(input));
    const auto move = [&](int32_t& index) { index -= index > static_cast<int32_t>(input) ? 1 : 0; };
    for (Value& value : spec.args) {
      const InputRef* const reference = value.AsInput();
      if (reference == nullptr) continue;
      int32_t index = reference->index;
      const bool removed = index == static_cast<int32_t>(input);
      move(index);
      value = removed ? Value() : Value(InputRef{index});
    }
    for (int32_t& written : spec.writes) move(written);
    for (OutputSpec& output : spec.outputs) move(output.alias_of);
  }

  // What is not made again must hold then what the original read.
  Status CheckKept(int32_t region, OpId id, OpId trigger) const {
    const Op& op = step_.op(id);
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      if (finder_.RegionRead(id, i) == region) continue;
      if (std::find(op.writes.begin(), op.writes.end(), op.inputs[i]) != op.writes.end()) continue;
      const auto& versions = step_.storage(step_.tensor(op.inputs[i]).storage).versions;
      const auto next = static_cast<size_t>(op.input_versions[i]) + 1;
      if (next >= versions.size() || versions[next].writer >= trigger) continue;
      return Refuse(
          region,
          fmt::format("{} reads {}, which {} overwrites before the backward pass", Name(id),
                      Printable(step_.tensor(op.inputs[i]).name, 80), Name(versions[next].writer)),
          "Record the model without that in-place op, or choose modules that hold both.");
    }
    return Ok();
  }

  const Graph& step_;
  const RecomputedRegions& regions_;
  const ReaderFinder& finder_;
  const Recomputation found_;
  GraphBuilder builder_;
  IdVector<TensorId, TensorId> made_, again_;  // by the step's tensor: as it is, and its copy
  IdVector<OpId, bool> copied_;
  std::vector<TensorId> tensor_of_;  // by the new graph's tensors and ops those of the step
  std::vector<OpId> op_of_;
};

}  // namespace

Result<std::unique_ptr<Graph>> WithRecomputation(const Graph& step,
                                                 const std::vector<std::string>& set) {
  PW_ASSIGN(const RecomputedRegions regions, FindRecomputedRegions(step, set));
  ReaderFinder finder(step, regions);
  Recomputation found = finder.Find();
  if (found.empty()) return std::unique_ptr<Graph>();
  return RecomputedWriter(step, regions, finder, std::move(found)).Write();
}

OpId RecomputedOp(const Graph& graph, OpId op) {
  const std::string& name = graph.op(op).name;
  if (!name.ends_with(kSuffix)) return OpId();
  return graph.FindOp(std::string_view(name).substr(0, name.size() - kSuffix.size()));
}

}  // namespace placewright
