#include "compiled_step.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <initializer_list>
#include <utility>

#include "check_plan/distributed/distribution_check.h"
#include "formats/input.h"
#include "graph/graph_builder.h"
#include "norm_step.h"

namespace placewright::tests {
namespace {

RecordedStep WithAxes(std::string name, Graph graph) {
  RecordedStep step{std::move(name), std::make_unique<Graph>(std::move(graph)), nullptr};
  step.axes = std::make_unique<NamedAxes>(*step.graph);
  return step;
}

// y = x a, z = y b + c, with h = mean(z) and a loss of log-probabilities z, whose gradients are made up:
// dz = expand(h); db = y' dz, dc = sum(dz), each subtracted from its parameter.
class ByHand {
 public:
  Graph Build() {
    const TensorId x = Input("input:x", TensorKind::kInput, {6, 4});
    const TensorId target = Input("input:t", TensorKind::kInput, {6}, DType::kI64);
    const TensorId a = Input("param:a", TensorKind::kParameter, {4, 8});
    const TensorId b = Input("param:b", TensorKind::kParameter, {8, 2});
    const TensorId c = Input("param:c", TensorKind::kParameter, {2});
    const TensorId y = Add("y", "aten.mm.default", {x, a}, {6, 8});
    const TensorId z = Add("z", "aten.addmm.default", {c, y, b}, {6, 2});
    const TensorId mean = Add("mean", "aten.mean.default", {z}, {});
    const TensorId loss = Loss(z, target);
    const TensorId both = Add("both", "aten.add.Tensor", {mean, loss}, {});
    const TensorId dz = Add("dz", "aten.mul.Tensor", {z, both}, {6, 2});
    const TensorId yt = Add("yt", "aten.t.default", {y}, {8, 6}, AliasKind::kView);
    const TensorId db = Add("db", "aten.mm.default", {yt, dz}, {8, 2});
    const TensorId dc = Add("dc", "aten.sum.dim_IntList", {dz}, {2}, AliasKind::kFresh,
                            {Value(Value::List{Value(int64_t{0})}), Value(false)});
    const TensorId bt = Add("bt", "aten.t.default", {b}, {2, 8}, AliasKind::kView);
    const TensorId dy = Add("dy", "aten.mm.default", {dz, bt}, {6, 8});
    const TensorId xt = Add("xt", "aten.t.default", {x}, {4, 6}, AliasKind::kView);
    const TensorId da = Add("da", "aten.mm.default", {xt, dy}, {4, 8});
    phase_ = Phase::kOptimizer;
    Add("a1", "aten.sub_.Tensor", {a, da}, {4, 8}, AliasKind::kInPlace);
    Add("b1", "aten.sub_.Tensor", {b, db}, {8, 2}, AliasKind::kInPlace);
    Add("c1", "aten.sub_.Tensor", {c, dc}, {2}, AliasKind::kInPlace);
    builder_.SetOutputs({both});
    return std::move(builder_).Build().Take();
  }

 private:
  TensorId Input(const char* name, TensorKind kind, std::vector<int64_t> shape,
                 DType dtype = DType::kF32) {
    return builder_.AddInput(name, kind, dtype, std::move(shape)).Take();
  }

  TensorId Add(std::string name, std::string type, std::vector<TensorId> inputs,
               std::vector<int64_t> shape, AliasKind alias = AliasKind::kFresh,
               std::vector<Value> more = {}) {
    OpSpec op{.name = name, .type = std::move(type), .phase = phase_};
    for (size_t i = 0; i < inputs.size(); ++i) {
      op.args.push_back(Value(InputRef{static_cast<int32_t>(i)}));
    }
    op.args.insert(op.args.end(), more.begin(), more.end());
    op.inputs = std::move(inputs);
    op.outputs = {{.name = name, .shape = std::move(shape), .alias = alias}};
    if (alias != AliasKind::kFresh) op.outputs[0].alias_of = 0;
    return builder_.AddOp(std::move(op)).Take()[0];
  }

  // Its mean goes by the weight of the samples, the second result.
  TensorId Loss(TensorId scores, TensorId target) {
    OpSpec op{.name = "loss", .type = "aten.nll_loss_forward.default"};
    op.inputs = {scores, target};
    op.args = {Value(InputRef{0}), Value(InputRef{1}), Value(), Value(int64_t{1}),
               Value(int64_t{-100})};
    op.outputs = {{.name = "loss:0", .shape = {}}, {.name = "loss:1", .shape = {}}};
    return builder_.AddOp(std::move(op)).Take()[0];
  }

  GraphBuilder builder_{"by-hand", "aten"};
  Phase phase_ = Phase::kForward;
};

// y = conv(x, a), z = conv(y, b) and the gradients of all but x for a made up dz = z z.
class ConvolutionsByHand {
 public:
  Graph Build() {
    const TensorId x = Input("input:x", TensorKind::kInput, {6, 3, 5, 5});
    const TensorId a = Input("param:a", TensorKind::kParameter, {4, 3, 3, 3});
    const TensorId b = Input("param:b", TensorKind::kParameter, {8, 4, 1, 1});
    const TensorId y = Convolve("y", {x, a}, {6, 4, 3, 3});
    const TensorId z = Convolve("z", {y, b}, {6, 8, 3, 3});
    const TensorId dz =
        Add({.name = "dz", .type = "aten.mul.Tensor", .inputs = {z, z}}, {{6, 8, 3, 3}})[0];
    const std::vector<TensorId> of_z =
        Gradients("dzs", {dz, y, b}, {true, true, false}, {{6, 4, 3, 3}, {8, 4, 1, 1}});
    const TensorId dy =
        Add({.name = "dy", .type = "aten.mul.Tensor", .inputs = {of_z[0], y}}, {{6, 4, 3, 3}})[0];
    const TensorId da =
        Gradients("dys", {dy, x, a}, {false, true, false}, {{4, 3, 3, 3}}, /*first=*/1)[0];
    phase_ = Phase::kOptimizer;
    Update("a1", a, da, {4, 3, 3, 3});
    Update("b1", b, of_z[1], {8, 4, 1, 1});
    builder_.SetOutputs({z});
    return std::move(builder_).Build().Take();
  }

 private:
  TensorId Input(const char* name, TensorKind kind, std::vector<int64_t> shape) {
    return builder_.AddInput(name, kind, DType::kF32, std::move(shape)).Take();
  }

  static Value Numbers(std::initializer_list<int64_t> numbers) {
    Value::List list;
    for (const int64_t number : numbers) list.push_back(Value(number));
    return Value(list);
  }

  // The inputs come first among the arguments.
  std::vector<TensorId> Add(OpSpec op, const std::vector<std::vector<int64_t>>& shapes,
                            int32_t first = 0) {
    std::vector<Value> args;
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      args.push_back(Value(InputRef{static_cast<int32_t>(i)}));
    }
    op.args.insert(op.args.begin(), args.begin(), args.end());
    op.phase = phase_;
    for (const std::vector<int64_t>& shape : shapes) {
      const bool only = shapes.size() == 1 && first == 0;
      OutputSpec output{.name = only ? op.name : op.name + ":" + std::to_string(first)};
      output.shape = shape;
      output.output_index = first++;
      op.outputs.push_back(output);
    }
    return builder_.AddOp(std::move(op)).Take();
  }

  TensorId Convolve(const char* name, std::vector<TensorId> inputs, std::vector<int64_t> shape) {
    OpSpec op{.name = name, .type = "aten.convolution.default", .inputs = std::move(inputs)};
    op.args = {Value(),      Numbers({1, 1}), Numbers({0, 0}),  Numbers({1, 1}),
               Value(false), Numbers({0, 0}), Value(int64_t{1})};
    return Add(std::move(op), {std::move(shape)})[0];
  }

  std::vector<TensorId> Gradients(const char* name, std::vector<TensorId> inputs,
                                  std::array<bool, 3> mask,
                                  const std::vector<std::vector<int64_t>>& shapes,
                                  int32_t first = 0) {
    phase_ = Phase::kBackward;
    OpSpec op{.name = name, .type = "aten.convolution_backward.default"};
    op.inputs = std::move(inputs);
    op.args = {
        Value(),           Numbers({1, 1}),
        Numbers({0, 0}),   Numbers({1, 1}),
        Value(false),      Numbers({0, 0}),
        Value(int64_t{1}), Value(Value::List{Value(mask[0]), Value(mask[1]), Value(mask[2])})};
    return Add(std::move(op), shapes, first);
  }

  void Update(const char* name, TensorId parameter, TensorId gradient, std::vector<int64_t> shape) {
    OpSpec op{.name = name, .type = "aten.sub_.Tensor", .inputs = {parameter, gradient}};
    op.phase = phase_;
    op.args = {Value(InputRef{0}), Value(InputRef{1})};
    op.outputs = {{.name = name, .shape = std::move(shape), .alias = AliasKind::kInPlace}};
    op.outputs[0].alias_of = 0;
    (void)builder_.AddOp(std::move(op)).Take();
  }

  GraphBuilder builder_{"convolutions-by-hand", "aten"};
  Phase phase_ = Phase::kForward;
};

// PLACEWRIGHT_STEPS: a folder with more of them.
std::vector<std::string> Files() {
  std::vector<std::string> files = {std::string(PLACEWRIGHT_EXAMPLES) +
                                    "/tiny_transformer_adam.json.gz"};
  for (const char* name : {"tiny_bert_l2_b2_s64_adam", "tiny_rnnlm_1x64_b2_t3_sgd"}) {
    files.push_back(std::string(PLACEWRIGHT_SHARED_DATA) + "/fx/" + name + ".json.gz");
  }
  std::error_code ignored;
  if (const char* const folder = std::getenv("PLACEWRIGHT_STEPS")) {
    for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
      if (entry.path().extension() == ".gz") files.push_back(entry.path().string());
    }
    std::sort(files.begin(), files.end());
  }
  std::erase_if(files,
                [&](const std::string& path) { return !std::filesystem::exists(path, ignored); });
  return files;
}

LayoutSpec SpecOf(GroupId group, const Layout& layout, const NamedAxes& axes,
                  const Cluster& cluster) {
  LayoutSpec spec;
  spec.group = group;
  const bool whole = layout.shares.front().box.empty(), one_axis = layout.axis().valid();
  if (one_axis) spec.axis = axes.axis(layout.axis()).name;
  for (const Share& share : layout.shares) {
    LayoutSpec::Device device{cluster.device(share.device).name, {}};
    for (const auto& [axis, interval] : share.box) {
      device.box.push_back({one_axis ? "" : axes.axis(axis).name, interval.from, interval.to});
    }
    spec.devices.push_back(device);
  }
  if (whole && layout.shares.size() > 1) spec.option = LayoutOption::kDuplicate;
  if (!whole) spec.option = LayoutOption::kAllReduce;
  return spec;
}

Layout LayoutOf(AxisId axis, const std::vector<int64_t>& lengths) {
  std::vector<DeviceId> devices;
  for (size_t i = 0; i < lengths.size(); ++i) devices.push_back(DeviceId(i));
  return axis.valid() ? SplitOver(axis, devices, lengths) : CopiesOn(devices);
}

Layout RandomLayout(const NamedAxes& axes, size_t devices, Random& random) {
  std::vector<DeviceId> some;
  for (size_t d = 0; d < devices; ++d) {
    if (random.Below(3) > 0) some.push_back(DeviceId(d));
  }
  if (some.empty()) some.push_back(DeviceId(random.Below(devices)));
  const AxisId axis = random.Below(2) == 0 && axes.batch().valid()
                          ? axes.batch()
                          : AxisId(random.Below(axes.axis_count()));
  const auto count = static_cast<int64_t>(some.size());
  const int64_t size = axes.axis(axis).size;
  const bool split = random.Below(4) > 0 && count > 1 && size >= count;
  return split ? SplitOver(axis, some, RandomLengths(random, some.size(), size)) : CopiesOn(some);
}

}  // namespace

std::vector<RecordedStep> RecordedSteps() {
  std::vector<RecordedStep> steps;
  steps.push_back(WithAxes("by-hand", ByHand().Build()));
  steps.push_back(WithAxes("norms", NormStep()));
  steps.push_back(WithAxes("convolutions-by-hand", ConvolutionsByHand().Build()));
  for (const std::string& path : Files()) {
    steps.push_back(WithAxes(path, std::move(LoadGraph(path).Take().graph)));
  }
  return steps;
}

StatedLayouts State(const RecordedStep& step, Layouts layouts, size_t devices) {
  StatedLayouts stated{std::move(layouts), {}};
  const Cluster cluster = DevicesAlike(devices);
  for (const GroupId group : IdRange<GroupId>(step.graph->group_count())) {
    stated.spec.layouts.push_back(SpecOf(group, stated.layouts.Of(group), *step.axes, cluster));
  }
  return stated;
}

StatedLayouts ForAll(const RecordedStep& step, const std::string& axis,
                     const std::vector<int64_t>& lengths) {
  Layouts layouts;
  layouts.layouts.push_back(LayoutOf(step.axes->Find(axis), lengths));
  layouts.of_group = IdVector<GroupId, LayoutId>(step.graph->group_count(), LayoutId(0));
  return State(step, std::move(layouts), lengths.size());
}

StatedLayouts ParameterServer(const RecordedStep& step, const std::string& axis,
                              const std::vector<int64_t>& lengths) {
  Layouts layouts = ForAll(step, axis, lengths).layouts;
  size_t next = 0;
  for (const TensorId id : step.graph->tensors()) {
    const Tensor& tensor = step.graph->tensor(id);
    if (tensor.kind != TensorKind::kParameter || tensor.producer.valid()) continue;
    const OpId home = step.graph->home_op(tensor.storage);
    if (!home.valid()) continue;
    layouts.layouts.push_back(PlacedOn(DeviceId(next++ % lengths.size())));
    layouts.of_group[step.graph->group(home)] = LayoutId(layouts.layouts.size() - 1);
  }
  return State(step, std::move(layouts), lengths.size());
}

StatedLayouts SplitUpdates(const RecordedStep& step, const std::string& axis,
                           const std::vector<int64_t>& lengths) {
  Layouts layouts = ForAll(step, axis, lengths).layouts;
  const auto devices = static_cast<int64_t>(lengths.size());
  for (const TensorId id : step.graph->tensors()) {
    const Tensor& tensor = step.graph->tensor(id);
    if (tensor.kind != TensorKind::kParameter || tensor.producer.valid()) continue;
    const OpId home = step.graph->home_op(tensor.storage);
    AxisId own;
    for (size_t d = 0; home.valid() && d < tensor.shape.size(); ++d) {
      for (const AxisId factor : step.axes->factors(id, d)) {
        if (!own.valid() && step.axes->axis(factor).size >= devices) own = factor;
      }
    }
    if (!own.valid()) continue;
    std::vector<int64_t> parts(lengths.size(), 1);
    parts.front() += step.axes->axis(own).size - devices;
    layouts.layouts.push_back(LayoutOf(own, parts));
    layouts.of_group[step.graph->group(home)] = LayoutId(layouts.layouts.size() - 1);
  }
  return State(step, std::move(layouts), lengths.size());
}

StatedLayouts AtRandom(const RecordedStep& step, size_t devices, Random& random) {
  Layouts layouts;
  for (size_t group = 0; group < step.graph->group_count(); ++group) {
    layouts.of_group.push_back(LayoutId(group));
    layouts.layouts.push_back(RandomLayout(*step.axes, devices, random));
  }
  return State(step, std::move(layouts), devices);
}

StatedLayouts BoxesAtRandom(const RecordedStep& step, size_t devices, Random& random) {
  Layouts layouts = AtRandom(step, devices, random).layouts;
  // Few different ones, so that neighbours often have the same.
  std::vector<Layout> boxes;
  for (int i = 0; i < 3; ++i) {
    std::vector<DeviceId> all;
    for (size_t d = 0; d < devices; ++d) all.push_back(DeviceId(d));
    for (size_t d = devices; d > 1; --d) std::swap(all[d - 1], all[random.Below(d)]);
    boxes.push_back(RandomBoxes(random, *step.axes, std::move(all)));
  }
  for (Layout& layout : layouts.layouts) {
    if (random.Below(4) > 0) layout = boxes[random.Below(boxes.size())];
  }
  return State(step, std::move(layouts), devices);
}

std::string VerdictOn(const RecordedStep& original, const DistributedStep& step,
                      const Cluster& cluster, const DistributionSpec& spec, std::string* message) {
  const check::Findings findings = check::CheckDistribution(*original.graph, step, cluster, spec);
  const check::Violation* const first = findings.violation ? &*findings.violation
                                        : !findings.not_proven.empty()
                                            ? &findings.not_proven.front()
                                            : nullptr;
  if (first == nullptr) return "holds";
  if (message != nullptr) *message = first->place + ": " + first->message;
  return std::string(check::ToString(first->kind));
}

}  // namespace placewright::tests
