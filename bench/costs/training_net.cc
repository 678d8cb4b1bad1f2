#include "bench/costs/training_net.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace placewright::bench {
namespace {

using Arg = placewright::Value;

Arg In(int32_t index) { return Arg(InputRef{index}); }
Arg Int(int64_t value) { return Arg(value); }
Arg Bool(bool value) { return Arg(value); }
Arg Ints(const std::vector<int64_t>& values) {
  Arg::List list;
  for (int64_t value : values) list.emplace_back(value);
  return Arg(std::move(list));
}

template <class T>
T Must(Result<T> result) {
  if (!result.ok()) CheckFailed(__FILE__, __LINE__, result.error().ToString());
  return result.Take();
}

int64_t Count(const std::vector<int64_t>& shape) {
  int64_t n = 1;
  for (int64_t d : shape) n *= d;
  return n;
}

std::vector<int64_t> Slid(const std::vector<int64_t>& x, int64_t channels, const Window& w,
                          bool round_up) {
  const int64_t extra = round_up ? w.stride - 1 : 0;
  return {x[0], channels, (x[2] + 2 * w.pad_height - w.height + extra) / w.stride + 1,
          (x[3] + 2 * w.pad_width - w.width + extra) / w.stride + 1};
}

std::vector<Arg> WindowArgs(const Window& w) {
  return {In(0), Ints({w.height, w.width}), Ints({w.stride, w.stride}),
          Ints({w.pad_height, w.pad_width})};
}

}  // namespace

TrainingNet::TrainingNet(std::string name, int64_t batch, int64_t image_size)
    : builder_(std::move(name), "aten") {
  builder_.set_batch(batch);
  image_.shape = {batch, 3, image_size, image_size};
  image_.id = Must(builder_.AddInput("input:image", TensorKind::kInput, DType::kF32, image_.shape));
}

TensorId TrainingNet::Parameter(const Shape& shape) {
  const std::string name = "param:" + std::to_string(parameters_.size());
  const TensorId id = Must(builder_.AddInput(name, TensorKind::kParameter, DType::kF32, shape));
  parameters_.push_back({id, shape});
  return id;
}

TensorId TrainingNet::Submit(OpSpec spec) { return Must(builder_.AddOp(std::move(spec))).front(); }

TensorId TrainingNet::Emit(const std::string& type, const std::vector<TensorId>& inputs,
                           const Shape& shape, std::vector<Arg> args, Alias alias) {
  OpSpec spec;
  spec.name = "op" + std::to_string(ops_++);
  spec.type = "aten." + type;
  spec.phase = phase_;
  spec.inputs = inputs;
  spec.args = std::move(args);
  if (spec.args.empty()) {
    for (size_t i = 0; i < inputs.size(); ++i) spec.args.push_back(In(static_cast<int32_t>(i)));
  }
  OutputSpec output;
  output.name = spec.name;
  output.shape = shape;
  if (alias != Alias::kFresh) {
    output.alias = alias == Alias::kView ? OutputSpec::Alias::kView : OutputSpec::Alias::kInPlace;
    output.alias_of = 0;
  }
  spec.outputs = {output};
  return Submit(std::move(spec));
}

std::vector<TensorId> TrainingNet::EmitMany(const std::string& type,
                                            const std::vector<TensorId>& inputs,
                                            const std::vector<Shape>& shapes, std::vector<Arg> args,
                                            int32_t first_output) {
  OpSpec spec;
  spec.name = "op" + std::to_string(ops_++);
  spec.type = "aten." + type;
  spec.phase = phase_;
  spec.inputs = inputs;
  spec.args = std::move(args);
  for (size_t i = 0; i < shapes.size(); ++i) {
    OutputSpec output;
    output.output_index = static_cast<int32_t>(i) + first_output;
    output.name = spec.name + ":" + std::to_string(output.output_index);
    output.shape = shapes[i];
    spec.outputs.push_back(output);
  }
  return Must(builder_.AddOp(std::move(spec)));
}

void TrainingNet::Accumulate(TensorId tensor, TensorId gradient, const Shape& shape) {
  for (auto& [known, sum] : gradients_) {
    if (known != tensor) continue;
    sum = Emit("add.Tensor", {sum, gradient}, shape);
    return;
  }
  gradients_.emplace_back(tensor, gradient);
}

TrainingNet::Value TrainingNet::Convolution(const Value& x, int64_t channels, const Window& w,
                                            bool bias) {
  const Shape weight_shape = {channels, x.shape[1], w.height, w.width};
  const TensorId weight = Parameter(weight_shape);
  std::vector<TensorId> inputs = {x.id, weight};
  if (bias) inputs.push_back(Parameter({channels}));
  const std::vector<Arg> geometry = {Ints({w.stride, w.stride}),
                                     Ints({w.pad_height, w.pad_width}),
                                     Ints({1, 1}),
                                     Bool(false),
                                     Ints({0, 0}),
                                     Int(1)};
  std::vector<Arg> args = {In(0), In(1), bias ? In(2) : Arg()};
  args.insert(args.end(), geometry.begin(), geometry.end());
  const Value y{TensorId(), Slid(x.shape, channels, w, false)};
  const TensorId id = Emit("convolution.default", inputs, y.shape, std::move(args));
  const bool wants_input = x.id != image_.id;
  const TensorId bias_id = bias ? inputs[2] : TensorId();
  tape_.push_back({id, [=, this](TensorId dy) {
                     std::vector<Arg> back = {In(0), In(1), In(2), bias ? Ints({channels}) : Arg()};
                     back.insert(back.end(), geometry.begin(), geometry.end());
                     back.push_back(Arg(Arg::List{Bool(wants_input), Bool(true), Bool(bias)}));
                     std::vector<Shape> shapes = {weight_shape};
                     if (wants_input) shapes.insert(shapes.begin(), x.shape);
                     if (bias) shapes.push_back({channels});
                     const auto out = EmitMany("convolution_backward.default", {dy, x.id, weight},
                                               shapes, std::move(back), wants_input ? 0 : 1);
                     size_t next = 0;
                     if (wants_input) Accumulate(x.id, out[next++], x.shape);
                     Accumulate(weight, out[next++], weight_shape);
                     if (bias) Accumulate(bias_id, out[next], {channels});
                   }});
  return {id, y.shape};
}

TrainingNet::Value TrainingNet::BatchNorm(const Value& x) {
  const Shape channels = {x.shape[1]};
  const std::string stem = "buffer:" + std::to_string(parameters_.size());
  const TensorId weight = Parameter(channels), bias = Parameter(channels);
  const TensorId mean =
      Must(builder_.AddInput(stem + ".mean", TensorKind::kBuffer, DType::kF32, channels));
  const TensorId variance =
      Must(builder_.AddInput(stem + ".var", TensorKind::kBuffer, DType::kF32, channels));
  const TensorId batches =
      Must(builder_.AddInput(stem + ".batches", TensorKind::kBuffer, DType::kI64, {}));
  Emit("add_.Tensor", {batches}, {}, {In(0), Int(1)}, Alias::kInPlace);
  const auto out = EmitMany("native_batch_norm.default", {x.id, weight, bias, mean, variance},
                            {x.shape, channels, channels},
                            {In(0), In(1), In(2), In(3), In(4), Bool(true), Arg(0.1), Arg(1e-5)});
  const TensorId saved_mean = out[1], saved_scale = out[2];
  tape_.push_back({out[0], [=, this](TensorId dy) {
                     const auto back =
                         EmitMany("native_batch_norm_backward.default",
                                  {dy, x.id, weight, mean, variance, saved_mean, saved_scale},
                                  {x.shape, channels, channels},
                                  {In(0), In(1), In(2), In(3), In(4), In(5), In(6), Bool(true),
                                   Arg(1e-5), Arg(Arg::List{Bool(true), Bool(true), Bool(true)})});
                     Accumulate(x.id, back[0], x.shape);
                     Accumulate(weight, back[1], channels);
                     Accumulate(bias, back[2], channels);
                   }});
  return {out[0], x.shape};
}

TrainingNet::Value TrainingNet::Relu(const Value& x) {
  const TensorId id = Emit("relu_.default", {x.id}, x.shape, {}, Alias::kInPlace);
  tape_.push_back(
      {id, [=, this](TensorId dy) {
         Accumulate(x.id,
                    Emit("threshold_backward.default", {dy, id}, x.shape, {In(0), In(1), Int(0)}),
                    x.shape);
       }});
  return {id, x.shape};
}

TrainingNet::Value TrainingNet::MaxPool(const Value& x, const Window& w, bool round_up) {
  const Shape shape = Slid(x.shape, x.shape[1], w, round_up);
  OpSpec spec;
  spec.name = "op" + std::to_string(ops_++);
  spec.type = "aten.max_pool2d_with_indices.default";
  spec.inputs = {x.id};
  spec.args = WindowArgs(w);
  for (int32_t k : {0, 1}) {
    OutputSpec output;
    output.name = spec.name + ":" + std::to_string(k);
    output.dtype = k == 0 ? DType::kF32 : DType::kI64;
    output.shape = shape;
    output.output_index = k;
    spec.outputs.push_back(output);
  }
  const auto out = Must(builder_.AddOp(std::move(spec)));
  const TensorId indices = out[1];
  tape_.push_back({out[0], [=, this](TensorId dy) {
                     std::vector<Arg> args = {In(0),
                                              In(1),
                                              Ints({w.height, w.width}),
                                              Ints({w.stride, w.stride}),
                                              Ints({w.pad_height, w.pad_width}),
                                              Ints({1, 1}),
                                              Bool(round_up),
                                              In(2)};
                     Accumulate(x.id,
                                Emit("max_pool2d_with_indices_backward.default",
                                     {dy, x.id, indices}, x.shape, std::move(args)),
                                x.shape);
                   }});
  return {out[0], shape};
}

TrainingNet::Value TrainingNet::AveragePool(const Value& x, const Window& w) {
  const Shape shape = Slid(x.shape, x.shape[1], w, false);
  const TensorId id = Emit("avg_pool2d.default", {x.id}, shape, WindowArgs(w));
  tape_.push_back(
      {id, [=, this](TensorId dy) {
         Accumulate(x.id, Emit("avg_pool2d_backward.default", {dy, x.id}, x.shape), x.shape);
       }});
  return {id, shape};
}

TrainingNet::Value TrainingNet::GlobalAveragePool(const Value& x) {
  const Shape shape = {x.shape[0], x.shape[1], 1, 1};
  const TensorId id = Emit("mean.dim", {x.id}, shape, {In(0), Ints({-1, -2}), Bool(true)});
  tape_.push_back(
      {id, [=, this](TensorId dy) {
         const TensorId wide =
             Emit("expand.default", {dy}, x.shape, {In(0), Ints(x.shape)}, Alias::kView);
         const int64_t pixels = x.shape[2] * x.shape[3];
         Accumulate(x.id, Emit("div.Scalar", {wide}, x.shape, {In(0), Int(pixels)}), x.shape);
       }});
  return {id, shape};
}

TrainingNet::Value TrainingNet::Add(const Value& x, const Value& y) {
  const TensorId id = Emit("add_.Tensor", {x.id, y.id}, x.shape, {}, Alias::kInPlace);
  tape_.push_back({id, [=, this](TensorId dy) {
                     Accumulate(x.id, dy, x.shape);
                     Accumulate(y.id, dy, y.shape);
                   }});
  return {id, x.shape};
}

TrainingNet::Value TrainingNet::Concatenate(const std::vector<Value>& parts) {
  Shape shape = parts[0].shape;
  shape[1] = 0;
  OpSpec spec;
  Arg::List references;
  for (const Value& part : parts) {
    shape[1] += part.shape[1];
    references.push_back(In(static_cast<int32_t>(spec.inputs.size())));
    spec.inputs.push_back(part.id);
  }
  const TensorId id = Emit("cat.default", spec.inputs, shape, {Arg(std::move(references)), Int(1)});
  tape_.push_back({id, [=, this](TensorId dy) {
                     int64_t from = 0;
                     for (const Value& part : parts) {
                       const int64_t to = from + part.shape[1];
                       Accumulate(part.id,
                                  Emit("slice.Tensor", {dy}, part.shape,
                                       {In(0), Int(1), Int(from), Int(to)}, Alias::kView),
                                  part.shape);
                       from = to;
                     }
                   }});
  return {id, shape};
}

TrainingNet::Value TrainingNet::Dropout(const Value& x) {
  const TensorId empty = Emit("empty_like.default", {x.id}, x.shape);
  const TensorId drawn = Emit("bernoulli_.float", {empty}, x.shape, {}, Alias::kInPlace);
  const TensorId mask = Emit("div_.Scalar", {drawn}, x.shape, {In(0), Arg(0.5)}, Alias::kInPlace);
  const TensorId id = Emit("mul.Tensor", {x.id, mask}, x.shape);
  tape_.push_back({id, [=, this](TensorId dy) {
                     Accumulate(x.id, Emit("mul.Tensor", {dy, mask}, x.shape), x.shape);
                   }});
  return {id, x.shape};
}

TrainingNet::Value TrainingNet::Linear(const Value& x, int64_t features) {
  const int64_t rows = x.shape[0], depth = Count(x.shape) / rows;
  const Shape flat = {rows, depth}, weight_shape = {features, depth}, out = {rows, features};
  const TensorId input =
      x.shape == flat ? x.id
                      : Emit("view.default", {x.id}, flat, {In(0), Ints(flat)}, Alias::kView);
  const TensorId weight = Parameter(weight_shape), bias = Parameter({features});
  const TensorId turned = Emit("t.default", {weight}, {depth, features}, {}, Alias::kView);
  const TensorId id = Emit("addmm.default", {bias, input, turned}, out);
  tape_.push_back(
      {id, [=, this](TensorId dy) {
         const TensorId back = Emit("t.default", {turned}, weight_shape, {}, Alias::kView);
         TensorId dx = Emit("mm.default", {dy, back}, flat);
         const TensorId dy_turned = Emit("t.default", {dy}, {features, rows}, {}, Alias::kView);
         Accumulate(weight, Emit("mm.default", {dy_turned, input}, weight_shape), weight_shape);
         Accumulate(bias, Emit("sum.dim_IntList", {dy}, {features}, {In(0), Ints({0})}),
                    {features});
         if (x.shape != flat) {
           dx = Emit("view.default", {dx}, x.shape, {In(0), Ints(x.shape)}, Alias::kView);
         }
         Accumulate(x.id, dx, x.shape);
       }});
  return {id, out};
}

void TrainingNet::UpdateParameters() {
  phase_ = Phase::kOptimizer;
  for (const Trained& parameter : parameters_) {
    const auto found = std::find_if(gradients_.begin(), gradients_.end(), [&](const auto& pair) {
      return pair.first == parameter.tensor;
    });
    if (found == gradients_.end()) continue;
    const Shape& shape = parameter.shape;
    const TensorId momentum = Must(builder_.AddInput(
        "opt_state:" + std::to_string(ops_), TensorKind::kOptimizerState, DType::kF32, shape));
    const TensorId decayed = Emit("add.Tensor", {found->second, parameter.tensor}, shape);
    const TensorId scaled =
        Emit("mul_.Tensor", {momentum}, shape, {In(0), Arg(0.9)}, Alias::kInPlace);
    const TensorId moved = Emit("add_.Tensor", {scaled, decayed}, shape, {}, Alias::kInPlace);
    Emit("add_.Tensor", {parameter.tensor, moved}, shape, {}, Alias::kInPlace);
  }
}

Graph TrainingNet::Finish(const Value& logits) {
  const TensorId target =
      Must(builder_.AddInput("input:target", TensorKind::kInput, DType::kI64, {logits.shape[0]}));
  const TensorId log =
      Emit("_log_softmax.default", {logits.id}, logits.shape, {In(0), Int(1), Bool(false)});
  const auto loss = EmitMany("nll_loss_forward.default", {log, target}, {{}, {}},
                             {In(0), In(1), Arg(), Int(1), Int(-100)});
  phase_ = Phase::kBackward;
  const TensorId one = Emit("ones_like.default", {loss[0]}, {});
  const TensorId dlog = Emit("nll_loss_backward.default", {one, log, target, loss[1]}, logits.shape,
                             {In(0), In(1), In(2), Arg(), Int(1), Int(-100), In(3)});
  Accumulate(logits.id, Emit("_log_softmax_backward_data.default", {dlog, log}, logits.shape),
             logits.shape);
  for (auto step = tape_.rbegin(); step != tape_.rend(); ++step) {
    for (size_t i = 0; i < gradients_.size(); ++i) {
      if (gradients_[i].first != step->output) continue;
      const TensorId gradient = gradients_[i].second;
      step->backward(gradient);
      break;
    }
  }
  UpdateParameters();
  return Must(std::move(builder_).Build());
}

}  // namespace placewright::bench
