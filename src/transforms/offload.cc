#include "transforms/offload.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "graph/graph_builder.h"
#include "transforms/op_copy.h"
#include "transforms/recompute_regions.h"

namespace placewright {
namespace {

constexpr std::string_view kOut = "@offload", kBack = "@fetch", kCopyType = "aten.clone.default";
// A storage that is copied out and back.
struct OffloadedStorage {
  StorageId id;
  TensorId base;  // all of it
  OpId written;   // last
  OpId read;      // first, in the backward pass
};

struct OffloadedRegion {
  OpId first, last;  // of its forward ops
  std::vector<OffloadedStorage> storages;
  OpId read;     // the first backward op that reads one of them
  OpId trigger;  // with this one they are fetched
};

class OffloadFinder {
 public:
  OffloadFinder(const Graph& step, const RecomputedRegions& regions, Bytes smallest)
      : step_(step),
        regions_(regions),
        smallest_(smallest),
        returned_(step.storage_count(), false) {
    for (const TensorId output : step.outputs()) returned_[step.tensor(output).storage] = true;
  }

  // In the order of the forward pass.
  std::vector<OffloadedRegion> Find() {
    FindReads();
    for (const RecomputedRegion& region : regions_.regions) {
      const auto computes = std::find_if(region.ops.begin(), region.ops.end(),
                                         [&](OpId op) { return !step_.op(op).is_view; });
      const OpId first = computes == region.ops.end() ? region.ops.front() : *computes;
      found_.push_back({first, region.ops.back(), {}, {}, {}});
    }
    for (const StorageId id : step_.storages()) Add(id);
    std::erase_if(found_, [](const OffloadedRegion& one) { return one.storages.empty(); });
    FindTriggers();
    std::vector<OffloadedRegion> leave;
    for (const OffloadedRegion& one : found_) {
      if (found_.size() == 1 || !Stays(one)) leave.push_back(one);
    }
    return leave;
  }

 private:
  bool IsBackward(OpId op) const { return step_.op(op).phase == Phase::kBackward; }

  // Of each storage the first backward op that reads it, and whether all of them read what is there last.
  void FindReads() {
    read_.assign(step_.storage_count(), OpId());
    reads_last_.assign(step_.storage_count(), true);
    for (const TensorId id : step_.tensors()) {
      const OpId maker = step_.tensor(id).producer;
      if (!maker.valid() || step_.op(maker).is_view) continue;
      const std::vector<Version>& versions = step_.storage(step_.tensor(id).storage).versions;
      const bool written = std::any_of(versions.begin(), versions.end(),
                                       [&](const Version& one) { return one.writer == maker; });
      if (!written) handed_out_.insert(step_.tensor(id).storage);
    }
    for (const OpId id : step_.ops()) {
      const Op& op = step_.op(id);
      for (size_t i = 0; i < op.inputs.size() && IsBackward(id); ++i) {
        const StorageId storage = step_.tensor(op.inputs[i]).storage;
        const auto last = static_cast<int32_t>(step_.storage(storage).versions.size()) - 1;
        if (op.input_versions[i] != last) reads_last_[storage] = false;
        if (!read_[storage].valid()) read_[storage] = id;
      }
    }
  }

  void Add(StorageId id) {
    const std::vector<Version>& versions = step_.storage(id).versions;
    const OpId maker = versions.front().writer, read = read_[id];
    const TensorId base = step_.storage(id).first;
    const int32_t region = maker.valid() ? regions_.of_op[maker] : -1;
    if (region < 0 || !read.valid() || !reads_last_[id] || returned_[id]) return;
    if (step_.storage(id).bytes < smallest_ || step_.tensor(base).dtype == DType::kOpaque) return;
    const bool forward = std::none_of(versions.begin(), versions.end(), [&](const Version& one) {
      return step_.op(one.writer).phase != Phase::kForward;
    });
    const bool whole = step_.tensor(base).bytes == step_.storage(id).bytes;
    if (!forward || !whole || handed_out_.contains(id)) return;
    found_[static_cast<size_t>(region)].storages.push_back(
        {id, base, versions.back().writer, read});
    OpId& first = found_[static_cast<size_t>(region)].read;
    if (!first.valid() || read < first) first = read;
  }

  // No other region computes between its passes.
  bool Stays(const OffloadedRegion& region) const {
    return std::none_of(found_.begin(), found_.end(), [&](const OffloadedRegion& other) {
      return region.last < other.first && other.first < region.read;
    });
  }

  void FindTriggers() {
    std::vector<OffloadedRegion*> in_turn;
    for (OffloadedRegion& region : found_) in_turn.push_back(&region);
    std::sort(in_turn.begin(), in_turn.end(),
              [](const auto* a, const auto* b) { return a->read < b->read; });
    for (size_t i = 0; i < in_turn.size(); ++i) {
      const bool ahead = i > 0 && in_turn[i]->last < in_turn[i - 1]->read;
      in_turn[i]->trigger = in_turn[ahead ? i - 1 : i]->read;
    }
  }

  const Graph& step_;
  const RecomputedRegions& regions_;
  const Bytes smallest_;
  IdVector<StorageId, bool> returned_, reads_last_;
  IdVector<StorageId, OpId> read_;
  std::set<StorageId> handed_out_;  // a view of it is made by an op that computes
  std::vector<OffloadedRegion> found_;
};

class OffloadWriter {
 public:
  OffloadWriter(const Graph& step, std::vector<OffloadedRegion> regions)
      : step_(step),
        regions_(std::move(regions)),
        builder_(step.name(), std::string(step.format())),
        made_(step.tensor_count()),
        again_(step.tensor_count()),
        offloaded_(step.storage_count(), false) {
    builder_.set_batch(step.batch());
    for (size_t r = 0; r < regions_.size(); ++r) {
      for (const OffloadedStorage& one : regions_[r].storages) {
        offloaded_[one.id] = true;
        out_behind_[one.written].push_back(&one);
      }
      back_before_[regions_[r].trigger].push_back(&regions_[r]);
      if (r + 2 < regions_.size()) waits_[regions_[r + 2].first] = &regions_[r];
    }
  }

  Result<std::unique_ptr<Graph>> Write() {
    for (const TensorId id : step_.tensors()) {
      if (step_.tensor(id).producer.valid()) continue;
      PW_ASSIGN(made_[id], CopyInput(step_, id, builder_));
      tensor_of_.push_back(id);
    }
    for (const OpId op : step_.ops()) {
      const auto back = back_before_.find(op);
      if (back != back_before_.end()) {
        for (const OffloadedRegion* const region : back->second) {
          PW_RETURN_IF_ERROR(WriteBack(*region));
        }
      }
      PW_RETURN_IF_ERROR(WriteOriginal(op));
      const auto out = out_behind_.find(op);
      if (out == out_behind_.end()) continue;
      for (const OffloadedStorage* const one : out->second) PW_RETURN_IF_ERROR(WriteOut(*one));
    }
    return FinishCopy(step_, std::move(builder_), made_, tensor_of_, op_of_, offloaded_);
  }

 private:
  std::string NameOfCopy(const OffloadedStorage& one, std::string_view suffix) const {
    return step_.tensor(one.base).name + std::string(suffix);
  }

  // Backward ops read what was fetched.
  Status WriteOriginal(OpId op) {
    OpSpec spec = CopyOfOp(step_, op, made_);
    for (size_t i = 0; i < spec.inputs.size(); ++i) {
      const TensorId read = step_.op(op).inputs[i];
      const bool changed =
          step_.op(op).phase == Phase::kBackward && offloaded_[step_.tensor(read).storage];
      if (!changed) continue;
      PW_ASSIGN(spec.inputs[i], Fetched(read));
    }
    const auto waits = waits_.find(op);
    if (waits != waits_.end()) {
      for (const OffloadedStorage& one : waits->second->storages) {
        if (one.written < op) spec.after.push_back(NameOfCopy(one, kOut));
      }
    }
    return Add(op, std::move(spec), made_);
  }

  // The tensor as the backward pass reads it: what was fetched, or a view of that.
  Result<TensorId> Fetched(TensorId id) {
    const OpId maker = step_.tensor(id).producer;
    if (step_.op(maker).phase == Phase::kBackward) return made_[id];  // such a view itself
    if (again_[id].valid()) return again_[id];
    const Op& op = step_.op(maker);
    const auto input = std::find_if(op.inputs.begin(), op.inputs.end(), [&](TensorId one) {
      return step_.tensor(one).storage == step_.tensor(id).storage;
    });
    if (!op.is_view) {  // it was written in place there
      PW_ASSIGN(again_[id], Fetched(*input));
      return again_[id];
    }
    OpSpec spec = CopyOfOp(step_, maker, made_);
    PW_ASSIGN(spec.inputs[static_cast<size_t>(input - op.inputs.begin())], Fetched(*input));
    for (OutputSpec& output : spec.outputs) output.name += kBack;
    spec.name += kBack;
    spec.phase = Phase::kBackward;
    spec.after.clear();
    builder_.Colocate(op.name, spec.name);
    PW_RETURN_IF_ERROR(Add(maker, std::move(spec), again_));
    return again_[id];
  }

  OpSpec CopyOf(const OffloadedStorage& one, std::string_view suffix) const {
    const Tensor& base = step_.tensor(one.base);
    OpSpec spec{.name = NameOfCopy(one, suffix), .type = std::string(kCopyType)};
    spec.module = step_.module_path(step_.op(base.producer).module);
    spec.in_root = spec.module.empty();
    spec.args = {Value(InputRef{0})};
    spec.outputs = {{.name = spec.name, .dtype = base.dtype, .shape = base.shape}};
    return spec;
  }

  Status WriteOut(const OffloadedStorage& one) {
    OpSpec spec = CopyOf(one, kOut);
    spec.inputs = {made_[one.base]};
    PW_ASSIGN(out_[one.id], AddCopy(one, std::move(spec)));
    return Ok();
  }

  Status WriteBack(const OffloadedRegion& region) {
    const std::vector<std::string> gradients = GradientsOf(region.trigger);
    for (const OffloadedStorage& one : region.storages) {
      OpSpec spec = CopyOf(one, kBack);
      spec.phase = Phase::kBackward;
      spec.inputs = {out_.at(one.id)};
      spec.after = gradients;
      PW_ASSIGN(again_[one.base], AddCopy(one, std::move(spec)));
    }
    return Ok();
  }

  Result<TensorId> AddCopy(const OffloadedStorage& one, OpSpec spec) {
    builder_.Colocate(step_.op(step_.tensor(one.base).producer).name, spec.name);
    PW_ASSIGN(const std::vector<TensorId> added, builder_.AddOp(std::move(spec)));
    tensor_of_.push_back(one.base);
    op_of_.push_back(OpId());
    return added.front();
  }

  // Which ops made the gradients that the op reads; where it reads none, the op before it that computes.
  std::vector<std::string> GradientsOf(OpId id) const {
    const Op& op = step_.op(id);
    std::set<OpId> makers;
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      const auto& versions = step_.storage(step_.tensor(op.inputs[i]).storage).versions;
      const OpId maker = versions[static_cast<size_t>(op.input_versions[i])].writer;
      if (maker.valid() && step_.op(maker).phase == Phase::kBackward) makers.insert(maker);
    }
    for (size_t i = id.index(); i > 0 && makers.empty(); --i) {
      if (!step_.op(OpId(i - 1)).is_view) makers.insert(OpId(i - 1));
    }
    std::vector<std::string> names;
    for (const OpId maker : makers) names.push_back(step_.op(maker).name);
    return names;
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

  const Graph& step_;
  const std::vector<OffloadedRegion> regions_;
  GraphBuilder builder_;
  IdVector<TensorId, TensorId> made_,
      again_;  // by the step's tensor: as it is, and as it was fetched
  IdVector<StorageId, bool> offloaded_;
  std::map<StorageId, TensorId> out_;
  std::map<OpId, std::vector<const OffloadedStorage*>> out_behind_;
  std::map<OpId, std::vector<const OffloadedRegion*>> back_before_;
  std::map<OpId, const OffloadedRegion*> waits_;  // for its copies out
  std::vector<TensorId> tensor_of_;  // by the new graph's tensors and ops those of the step
  std::vector<OpId> op_of_;          // none: a copy
};

}  // namespace

Result<std::unique_ptr<Graph>> WithOffloading(const Graph& step,
                                              const std::vector<std::string>& set, Bytes smallest) {
  if (set.size() == 1 && (set.front() == "selective" || set.front() == "megatron")) {
    return MakeError(
        ErrorCode::kTransform,
        fmt::format("\"{}\" says what is computed again, not what is offloaded", set.front()),
        "offload", "Give full, or globs over modules.");
  }
  Result<RecomputedRegions> regions = FindRecomputedRegions(step, set);
  if (!regions.ok()) {
    Error error = regions.error();
    error.place = "offload";
    return error;
  }
  std::vector<OffloadedRegion> found = OffloadFinder(step, regions.value(), smallest).Find();
  if (found.empty()) return std::unique_ptr<Graph>();
  return OffloadWriter(step, std::move(found)).Write();
}

HostCopy HostCopyOf(const Op& op) {
  if (op.type != kCopyType) return HostCopy::kNone;
  if (op.name.ends_with(kOut)) return HostCopy::kToHost;
  return op.name.ends_with(kBack) ? HostCopy::kFromHost : HostCopy::kNone;
}

}  // namespace placewright
