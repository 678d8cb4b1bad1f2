#include "runtime/profiler/exchange_chain.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "graph/graph_builder.h"

namespace placewright {
namespace {

constexpr int kHops = 4, kCollectives = 5;

class ChainMaker {
 public:
  ChainMaker(const Exchange& exchange, Bytes bytes)
      : devices_(exchange.devices), members_(static_cast<int64_t>(devices_.size())) {
    const int64_t elements = bytes.count / SizeOf(DType::kF32);
    part_ = std::max<int64_t>(1, (elements + members_ - 1) / members_);
    // Each sends every member an equal part of its own.
    if (exchange.collective == CollectiveKind::kAllToAll) {
      part_ = (part_ + members_ - 1) / members_ * members_;
    }
    all_ = part_ * members_;
  }

  Result<ExchangeChain> MakeTransfers() {
    PW_ASSIGN(TensorId now, AddInput(all_));
    // The first makes what is sent, the last only receives.
    for (int hop = 0; hop <= kHops; ++hop) {
      PW_ASSIGN(now, AddOp("aten.neg.default", {now}, devices_[static_cast<size_t>(hop) % 2],
                           {all_}, {Value(InputRef{0})}));
      if (hop > 0 && hop < kHops) between_.push_back(last_);
    }
    return Finish({now}, kHops);
  }

  Result<ExchangeChain> MakeCollectives(CollectiveKind kind) {
    std::vector<TensorId> now;
    for (const DeviceId device : devices_) {
      PW_ASSIGN(const TensorId input, AddInput(GivenOf(kind)));
      PW_ASSIGN(const TensorId made,
                AddOp("aten.neg.default", {input}, device, {GivenOf(kind)}, {Value(InputRef{0})}));
      now.push_back(made);
    }
    size_t root = 0;
    for (int i = 0; i < kCollectives; ++i) {
      if (kind == CollectiveKind::kBroadcast) {
        PW_RETURN_IF_ERROR(AddBroadcast(root, now));
        // Who gets it last sends it on.
        root = root + 1 == devices_.size() ? root - 1 : devices_.size() - 1;
      } else {
        PW_RETURN_IF_ERROR(AddMembers(kind, now));
        if (i + 1 < kCollectives) PW_RETURN_IF_ERROR(AddBetween(kind, now));
      }
    }
    return Finish(std::move(now), kCollectives - 1);
  }

 private:
  // Of each member's input.
  int64_t GivenOf(CollectiveKind kind) const {
    return kind == CollectiveKind::kAllGather || kind == CollectiveKind::kAllToAll ? part_ : all_;
  }

  Result<TensorId> AddInput(int64_t elements) {
    return builder_.AddInput(fmt::format("input:x{}", inputs_++), TensorKind::kInput, DType::kF32,
                             {elements});
  }

  // `shape` empty: it makes none, and the result is no tensor.
  Result<TensorId> AddOp(const std::string& type, std::vector<TensorId> inputs, DeviceId device,
                         std::vector<int64_t> shape, std::vector<Value> args, bool view = false) {
    OpSpec op;
    op.name = fmt::format("op{}", placement_.size());
    op.type = type;
    op.inputs = std::move(inputs);
    op.args = std::move(args);
    if (!shape.empty()) {
      OutputSpec output{.name = op.name, .dtype = DType::kF32, .shape = std::move(shape)};
      if (view) {
        output.alias = AliasKind::kView;
        output.alias_of = 0;
      }
      op.outputs = {std::move(output)};
    }
    PW_ASSIGN(const std::vector<TensorId> made, builder_.AddOp(std::move(op)));
    last_ = OpId(placement_.size());
    placement_.push_back(device);
    return made.empty() ? TensorId() : made.front();
  }

  std::vector<Value> PartOf(size_t member) const {
    const auto from = static_cast<int64_t>(member);
    return {Value(InputRef{0}), Value(int64_t{0}), Value(int64_t{1}),
            Value(members_),    Value(from),       Value(from + 1)};
  }

  Status AddMembers(CollectiveKind kind, std::vector<TensorId>& now) {
    std::vector<OpId> members;
    for (size_t i = 0; i < devices_.size(); ++i) {
      std::string type = "placewright.all_reduce.default";
      std::vector<Value> args = {Value(InputRef{0})};
      int64_t makes = all_;
      if (kind == CollectiveKind::kAllToAll) {
        type = "placewright.all_to_all.default";
        args = PartOf(i);
        const std::vector<Value> taken = PartOf(i);
        args.insert(args.end(), taken.begin() + 1, taken.end());
        makes = part_;
      } else if (kind != CollectiveKind::kAllReduce) {
        const bool gathers = kind == CollectiveKind::kAllGather;
        type = gathers ? "placewright.all_gather.default" : "placewright.reduce_scatter.default";
        args = PartOf(i);
        makes = gathers ? all_ : part_;
      }
      PW_ASSIGN(now[i], AddOp(type, {now[i]}, devices_[i], {makes}, std::move(args)));
      members.push_back(last_);
    }
    return Join(std::move(members));
  }

  Status AddBroadcast(size_t root, std::vector<TensorId>& now) {
    const std::string type = "placewright.broadcast.default";
    std::vector<OpId> members;
    for (size_t i = 0; i < devices_.size(); ++i) {
      if (i == root) {
        PW_ASSIGN([[maybe_unused]] const TensorId none,
                  AddOp(type, {now[i]}, devices_[i], {}, {Value(InputRef{0})}));
      } else {
        PW_ASSIGN(now[i], AddOp(type, {}, devices_[i], {all_}, {}));
      }
      members.push_back(last_);
    }
    return Join(std::move(members));
  }

  // What a collective gives becomes what the next one takes.
  Status AddBetween(CollectiveKind kind, std::vector<TensorId>& now) {
    if (kind == CollectiveKind::kAllReduce || kind == CollectiveKind::kAllToAll) return Ok();
    for (size_t i = 0; i < devices_.size(); ++i) {
      if (kind == CollectiveKind::kAllGather) {
        const int64_t from = static_cast<int64_t>(i) * part_;
        PW_ASSIGN(now[i],
                  AddOp("aten.slice.Tensor", {now[i]}, devices_[i], {part_},
                        {Value(InputRef{0}), Value(int64_t{0}), Value(from), Value(from + part_)},
                        /*view=*/true));
        continue;
      }
      PW_ASSIGN(now[i], AddOp("aten.repeat.default", {now[i]}, devices_[i], {all_},
                              {Value(InputRef{0}), Value(Value::List{Value(members_)})}));
      if (i == 0) between_.push_back(last_);
    }
    return Ok();
  }

  Status Join(std::vector<OpId> members) {
    return builder_.AddCollective(fmt::format("collective{}", collectives_++), std::move(members));
  }

  Result<ExchangeChain> Finish(std::vector<TensorId> outputs, int repeats) {
    builder_.SetOutputs(std::move(outputs));
    PW_ASSIGN(Graph graph, std::move(builder_).Build());
    return ExchangeChain{std::move(graph), std::move(placement_), Bytes(all_ * SizeOf(DType::kF32)),
                         repeats, std::move(between_)};
  }

  GraphBuilder builder_{"exchange", "aten"};
  const std::vector<DeviceId> devices_;
  const int64_t members_;
  int64_t part_ = 0, all_ = 0;  // elements
  Placement placement_;
  std::vector<OpId> between_;
  OpId last_;
  int inputs_ = 0, collectives_ = 0;
};

}  // namespace

Nanos ExchangeChain::TimeOf(const Schedule& schedule) const {
  Nanos first, last;
  if (graph.collective_count() > 0) {
    first = schedule.collectives[CollectiveId(0)].end;
    last = schedule.collectives[CollectiveId(graph.collective_count() - 1)].end;
  } else {
    first = schedule.ops[OpId(0)].end;
    last = schedule.ops[OpId(graph.op_count() - 1)].start;
  }
  int64_t time = (last - first).count;
  for (const OpId op : between) time -= (schedule.ops[op].end - schedule.ops[op].start).count;
  return Nanos(std::max<int64_t>(0, time / repeats));
}

Result<ExchangeChain> MakeExchangeChain(const Exchange& exchange, Bytes bytes) {
  ChainMaker maker(exchange, bytes);
  return exchange.collective ? maker.MakeCollectives(*exchange.collective) : maker.MakeTransfers();
}

}  // namespace placewright
