#include "compile/rewrites/fuse_all_reduces.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "compile/emitter.h"
#include "compile/rewrites/buckets.h"
#include "compile/step_copy.h"

namespace placewright {
namespace {

constexpr std::string_view kAllReduceType = "placewright.all_reduce.default";

class SumFinder {
 public:
  explicit SumFinder(const DistributedStep& step) : step_(step), graph_(step.graph) {}

  std::vector<GradientSum> Find() {
    std::vector<GradientSum> sums;
    for (const CollectiveId id : graph_.collectives()) {
      const OpId member = graph_.collective(id).members.front();
      if (graph_.op(member).type == kAllReduceType && IsOfUpdate(member)) {
        sums.push_back(SumOf(id));
      }
    }
    return sums;
  }

 private:
  GradientSum SumOf(CollectiveId id) const {
    const std::vector<OpId>& members = graph_.collective(id).members;
    GradientSum one{id, -1, members.front().value(), Bytes(), DType::kF32, {}};
    one.dtype = graph_.tensor(graph_.op(members.front()).outputs.front()).dtype;
    for (const OpId member : members) {
      const Op& op = graph_.op(member);
      one.first = std::min(one.first, member.value());
      one.ready = std::max(one.ready, WriterOf(op).value());
      one.bytes = std::max(one.bytes, graph_.tensor(op.outputs.front()).bytes);
      one.devices.push_back(step_.placement[member]);
    }
    return one;
  }

  // Whether nothing but the update waits for the sum, perhaps through views: other sums, such as those of
  // batch norms, would wait for gradients that have nothing to do with them.
  bool IsOfUpdate(OpId member) const {
    const auto readers = graph_.consumers(member);
    return !readers.empty() && std::all_of(readers.begin(), readers.end(), [&](OpId reader) {
      const Op& op = graph_.op(reader);
      return op.phase == Phase::kOptimizer || (op.is_view && IsOfUpdate(reader));
    });
  }

  // Of the version that the op reads.
  OpId WriterOf(const Op& member) const {
    const Tensor& input = graph_.tensor(member.inputs.front());
    const auto version = static_cast<size_t>(member.input_versions.front());
    return std::max(input.producer, graph_.storage(input.storage).versions[version].writer);
  }

  const DistributedStep& step_;
  const Graph& graph_;
};

class Fuser {
 public:
  Fuser(DistributedStep step, std::vector<SumBucket> buckets)
      : copy_(std::move(step)), buckets_(std::move(buckets)) {}

  Result<DistributedStep> Fuse() {
    IdVector<OpId, bool> fused(graph().op_count(), false);
    IdVector<OpId, const SumBucket*> bucket_at(graph().op_count(), nullptr);
    for (const SumBucket& bucket : buckets_) {
      bucket_at[OpId(bucket.at)] = &bucket;
      for (const GradientSum& one : bucket.sums) {
        for (const OpId member : graph().collective(one.id).members) fused[member] = true;
      }
    }
    PW_RETURN_IF_ERROR(copy_.CopyInputs());
    for (const OpId op : graph().ops()) {
      if (bucket_at[op] != nullptr) PW_RETURN_IF_ERROR(AddBucket(*bucket_at[op]));
      if (!fused[op]) PW_RETURN_IF_ERROR(copy_.CopyOp(op));
    }
    return std::move(copy_).Finish();
  }

 private:
  const Graph& graph() const { return copy_.graph(); }

  // Members of all reductions stand in the order of the same devices.
  Status AddBucket(const SumBucket& bucket) {
    const std::vector<OpId>& first = graph().collective(bucket.sums.front().id).members;
    std::vector<OpId> joined;
    for (size_t m = 0; m < first.size(); ++m) {
      std::vector<OpId> members;
      for (const GradientSum& one : bucket.sums) {
        members.push_back(graph().collective(one.id).members[m]);
      }
      PW_ASSIGN(const OpId member, AddMember(members));
      joined.push_back(member);
    }
    return copy_.AddCollective(fmt::format("bucket{}", count_++), std::move(joined));
  }

  // What one device has of a bucket: pack, reduce, and a view for each tensor.
  Result<OpId> AddMember(const std::vector<OpId>& members) {
    const Op& like = graph().op(members.front());
    const auto spec_of = [&](std::string_view word, std::string type) {
      OpSpec spec;
      spec.name = fmt::format("{}.{}", like.name, word);
      spec.type = std::move(type);
      spec.phase = like.phase;
      spec.in_root = true;
      return spec;
    };
    const DType dtype = graph().tensor(like.outputs.front()).dtype;
    OpSpec pack = spec_of("pack", "placewright.pack.default");
    int64_t length = 0;
    for (const OpId member : members) {
      const Op& op = graph().op(member);
      pack.inputs.push_back(copy_.made()[op.inputs.front()]);
      length += ElementsOf(op);
    }
    pack.args = {Value(References(pack.inputs.size()))};
    pack.outputs = {{.name = pack.name, .dtype = dtype, .shape = {length}}};
    PW_ASSIGN(const std::vector<TensorId> packed,
              copy_.Add(std::move(pack), members.front(), OpId()));
    OpSpec reduce = spec_of("fused", std::string(kAllReduceType));
    reduce.inputs = packed;
    reduce.args = References(1);
    reduce.outputs = {{.name = reduce.name, .dtype = dtype, .shape = {length}}};
    PW_ASSIGN(const std::vector<TensorId> sum,
              copy_.Add(std::move(reduce), members.front(), OpId()));
    const OpId made = copy_.last();
    int64_t from = 0;
    for (const OpId member : members) {
      PW_RETURN_IF_ERROR(AddView(member, sum.front(), from));
      from += ElementsOf(graph().op(member));
    }
    return made;
  }

  Status AddView(OpId member, TensorId sum, int64_t from) {
    const Op& op = graph().op(member);
    const Tensor& tensor = graph().tensor(op.outputs.front());
    OpSpec view = copy_.SpecOf(member);
    view.type = "placewright.unpack.default";
    view.inputs = {sum};
    view.after.clear();
    view.args = {Value(InputRef{0}), Value(from), IntegerList(tensor.shape)};
    view.outputs[0].alias = AliasKind::kView;
    view.outputs[0].alias_of = 0;
    PW_ASSIGN(const std::vector<TensorId> made, copy_.Add(std::move(view), member, OpId(), member));
    copy_.made()[op.outputs.front()] = made.front();
    return Ok();
  }

  int64_t ElementsOf(const Op& member) const {
    int64_t count = 1;
    for (const int64_t size : graph().tensor(member.outputs.front()).shape) count *= size;
    return count;
  }

  StepCopy copy_;
  const std::vector<SumBucket> buckets_;
  int64_t count_ = 0;
};

}  // namespace

Result<DistributedStep> FuseAllReduces(DistributedStep step, Bytes limit) {
  std::vector<SumBucket> buckets = FormBuckets(SumFinder(step).Find(), limit);
  if (buckets.empty()) return step;
  return Fuser(std::move(step), std::move(buckets)).Fuse();
}

}  // namespace placewright
