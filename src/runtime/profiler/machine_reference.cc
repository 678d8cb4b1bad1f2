#include "runtime/profiler/machine_reference.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "graph/graph_builder.h"
#include "runtime/profiler/turns.h"

namespace placewright {
namespace {

constexpr int64_t kSide = 256;
// A core's own cache holds one, with what is made of it.
constexpr int64_t kCached = int64_t{256} << 10;
constexpr int64_t kPassed = int64_t{64} << 20;
// Of a turn medians: about 0.3, 0.004 and 4 ms of a core each. Of a look the mean of its turns: where a
// virtual machine's core has the other's thread beside it for tenths of a second, a step has the mean, too.
constexpr int kProducts = 31, kCachedPasses = 201, kPasses = 3, kTurns = 4;

Result<Graph> ReferenceStep(int64_t bytes) {
  GraphBuilder builder("reference", "aten");
  PW_ASSIGN(const TensorId matrix,
            builder.AddInput("input:matrix", TensorKind::kInput, DType::kF32, {kSide, kSide}));
  const std::vector<int64_t> many = {bytes / SizeOf(DType::kF32)};
  const std::vector<int64_t> few = {kCached / SizeOf(DType::kF32)};
  PW_ASSIGN(const TensorId all,
            builder.AddInput("input:all", TensorKind::kInput, DType::kF32, many));
  PW_ASSIGN(const TensorId some,
            builder.AddInput("input:some", TensorKind::kInput, DType::kF32, few));
  const auto add = [&](std::string name, std::string type, std::vector<TensorId> inputs,
                       std::vector<int64_t> shape) -> Status {
    OpSpec op;
    op.name = name;
    op.type = std::move(type);
    for (int64_t i = 0; i < static_cast<int64_t>(inputs.size()); ++i) {
      op.args.emplace_back(InputRef{static_cast<int32_t>(i)});
    }
    op.inputs = std::move(inputs);
    op.outputs = {{std::move(name), DType::kF32, std::move(shape), OutputSpec::Alias::kFresh}};
    PW_ASSIGN([[maybe_unused]] const std::vector<TensorId> made, builder.AddOp(std::move(op)));
    return Ok();
  };
  for (int i = 0; i < kPasses; ++i) {
    PW_RETURN_IF_ERROR(add(fmt::format("memory{}", i), "aten.neg.default", {all}, many));
  }
  for (int i = 0; i < kProducts; ++i) {
    PW_RETURN_IF_ERROR(
        add(fmt::format("product{}", i), "aten.mm.default", {matrix, matrix}, {kSide, kSide}));
  }
  for (int i = 0; i < kCachedPasses; ++i) {
    PW_RETURN_IF_ERROR(add(fmt::format("cache{}", i), "aten.neg.default", {some}, few));
  }
  return std::move(builder).Build();
}

class Reference : public MachineReference {
 public:
  explicit Reference(Graph graph) : graph_(std::move(graph)) {}

  Status Start(const std::vector<ExecutionDevice>& devices, const std::vector<bool>& alone,
               bool loaded) {
    alone_ = alone;
    loaded_ = loaded;
    PW_ASSIGN(turns_, Turns::Start(graph_, devices, alone, loaded, 0));
    for (int64_t turn = 0; turn < kWarmUpTurns; ++turn) PW_RETURN_IF_ERROR(turns_->Run(false));
    return Ok();
  }

  Result<std::vector<DeviceState>> Measure() override {
    std::vector<std::vector<MachineState>> alone(turns_->devices()), loaded(turns_->devices());
    for (int turn = 0; turn < kTurns; ++turn) {
      for (size_t i = 0; i < turns_->devices(); ++i) {
        turns_->alone(i).Clear();
        turns_->loaded(i).Clear();
      }
      PW_RETURN_IF_ERROR(turns_->Run(true));
      for (size_t i = 0; i < turns_->devices(); ++i) {
        if (alone_[i]) alone[i].push_back(StateOf(turns_->alone(i).Profile()));
        if (loaded_) loaded[i].push_back(StateOf(turns_->loaded(i).Profile()));
      }
    }
    std::vector<DeviceState> states;
    for (size_t i = 0; i < turns_->devices(); ++i) {
      states.push_back({MeanOf(alone[i]), MeanOf(loaded[i])});
    }
    return states;
  }

 private:
  MachineState StateOf(const StepProfile& profile) const {
    std::vector<int64_t> products, cached, passes;
    for (const OpId op : graph_.ops()) {
      const std::string& name = graph_.op(op).name;
      (name.starts_with("product") ? products
       : name.starts_with("cache") ? cached
                                   : passes)
          .push_back(profile.ops[op].median.count);
    }
    return {Nanos(Quantile(products, 0.5)), Nanos(Quantile(cached, 0.5)),
            Nanos(Quantile(passes, 0.5))};
  }

  const Graph graph_;
  std::vector<bool> alone_;
  bool loaded_ = false;
  std::unique_ptr<Turns> turns_;
};

}  // namespace

Result<std::unique_ptr<MachineReference>> StartReference(
    const std::vector<ExecutionDevice>& devices, const std::vector<bool>& alone, bool loaded) {
  int64_t bytes = kPassed;
  for (const ExecutionDevice& device : devices) {
    if (device.memory_limit > 0) bytes = std::min(bytes, device.memory_limit / 8);
  }
  PW_ASSIGN(Graph graph, ReferenceStep(std::max<int64_t>(bytes, 4096)));
  auto reference = std::make_unique<Reference>(std::move(graph));
  // The limits are the plan's.
  std::vector<ExecutionDevice> unlimited = devices;
  for (ExecutionDevice& device : unlimited) device.memory_limit = 0;
  PW_RETURN_IF_ERROR(reference->Start(unlimited, alone, loaded));
  return std::unique_ptr<MachineReference>(std::move(reference));
}

}  // namespace placewright
