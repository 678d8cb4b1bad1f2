#include "compile/test_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <sstream>
#include <utility>
#include <vector>

#include "base/check.h"
#include "cluster/cluster_builder.h"
#include "compile/emitter.h"
#include "cost/communication/coalesced_types.h"
#include "graph/graph_builder.h"

namespace placewright {
namespace {

using Words = std::vector<std::string>;
using Shape = std::vector<int64_t>;

Words Split(std::string_view text, char at) {
  Words parts;
  std::istringstream stream{std::string(text)};
  for (std::string part; std::getline(stream, part, at);) parts.push_back(part);
  return parts;
}

Words WordsOf(std::string_view text) {
  Words words;
  std::istringstream stream{std::string(text)};
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

// "word:3" -> the word and 3.
std::pair<std::string, int64_t> Numbered(const std::string& word) {
  const size_t colon = word.find(':');
  PW_CHECK(colon != std::string::npos);
  return {word.substr(0, colon), std::stoll(word.substr(colon + 1))};
}

// What a word of the text stands for, with shapes and arguments from what the op reads.
struct Operator {
  const char* type;
  AliasKind alias = AliasKind::kFresh;
};
const std::map<std::string, Operator> kOperators = {
    {"neg", {"aten.neg.default"}},
    {"relu", {"aten.relu.default"}},
    {"clone", {"aten.clone.default"}},
    {"mystery", {"aten.unheard_of.default"}},
    {"add", {"aten.add.Tensor"}},
    {"mul", {"aten.mul.Tensor"}},
    {"neg_", {"aten.neg_.default", AliasKind::kInPlace}},
    {"relu_", {"aten.relu_.default", AliasKind::kInPlace}},
    {"mystery_", {"aten.unheard_of_.default", AliasKind::kInPlace}},
    {"add_", {"aten.add_.Tensor", AliasKind::kInPlace}},
    {"sub_", {"aten.sub_.Tensor", AliasKind::kInPlace}},
    {"mm", {"aten.mm.default"}},
    {"addmm", {"aten.addmm.default"}},
    {"sum", {"aten.sum.default"}},
    {"mean", {"aten.mean.default"}},
    {"softmax", {"aten._softmax.default"}},
    {"cumprod", {"aten.cumprod.default"}},
    {"log_softmax", {"aten._log_softmax.default"}},
    {"log_softmax_back", {"aten._log_softmax_backward_data.default"}},
    {"nll_loss", {"aten.nll_loss_forward.default"}},
    {"nll_loss_back", {"aten.nll_loss_backward.default"}},
    {"norm", {"aten.linalg_vector_norm.default"}},
    {"amax", {"aten.amax.default"}},
    {"layer_norm", {"aten.native_layer_norm.default"}},
    {"layer_norm_back", {"aten.native_layer_norm_backward.default"}},
    {"t", {"aten.t.default", AliasKind::kView}},
    {"flatten", {"aten.view.default", AliasKind::kView}},
    {"second", {"aten.select.int", AliasKind::kView}},
    {"ones", {"aten.ones.default"}},
    {"randn", {"aten.randn.default"}},
    {"conv_back", {"aten.convolution_backward.default"}},
};

class StepReader {
 public:
  explicit StepReader(std::map<std::string, std::pair<TensorId, size_t>>& axes) : axes_(axes) {}

  Graph Read(std::string_view text) {
    for (const std::string& line : Split(text, '\n')) ReadLine(WordsOf(line));
    return std::move(builder_).Build().Take();
  }

 private:
  void ReadLine(const Words& words) {
    if (words.empty()) return;
    if (words[0] == "backward:") {
      phase_ = Phase::kBackward;
    } else if (words[0] == "optimizer:") {
      phase_ = Phase::kOptimizer;
    } else if (words[0] == "module") {
      module_ = words[1];
    } else if (words[0] == "input") {
      ReadInput(words, TensorKind::kInput);
    } else if (words[0] == "param") {
      ReadInput(words, TensorKind::kParameter);
    } else if (words[0] == "->") {
      builder_.SetOutputs(Tensors({words.begin() + 1, words.end()}));
    } else {
      ReadOp(words);
    }
  }

  void ReadInput(const Words& words, TensorKind kind) {
    const Words axes(words.begin() + 2, words.end());
    const Shape shape = ShapeOf(axes);
    const TensorId id = builder_.AddInput(words[1], kind, DType::kF32, shape).Take();
    tensors_[words[1]] = id;
    NoteAxes(axes, id);
  }

  // [NAME:] OUTPUT... = OPERATOR WORD... [after OP...] [holds TENSOR...]
  void ReadOp(const Words& words) {
    size_t at = words[0].back() == ':' ? 1 : 0;
    Words names;
    for (; words[at] != "="; ++at) names.push_back(words[at]);
    const std::string& word = words[at + 1];
    const auto holds = std::find(words.begin(), words.end(), "holds");
    const auto after = std::find(words.begin(), holds, "after");
    const Words read(words.begin() + static_cast<ptrdiff_t>(at) + 2, after);
    PW_CHECK(kOperators.contains(word));
    const Operator& of = kOperators.at(word);
    const bool named = words[0].back() == ':';
    OpSpec op{.name = named ? words[0].substr(0, words[0].size() - 1) : words[0]};
    op.module = module_;
    op.type = of.type;
    op.phase = phase_;
    if (after != holds) op.after.assign(after + 1, holds);
    const bool makes = word == "ones" || word == "randn";
    if (!makes) op.inputs = Tensors(read);
    op.args = ArgsOf(word, op.inputs);
    if (makes) op.args.push_back(IntegerList(ShapeOf(read)));
    const std::vector<Shape> shapes =
        makes ? std::vector<Shape>{ShapeOf(read)} : ShapesOf(word, op.inputs);
    PW_CHECK_EQ(shapes.size(), names.size());
    for (size_t i = 0; i < shapes.size(); ++i) {
      op.outputs.push_back({.name = named ? fmt::format("{}:{}", op.name, i) : names[i]});
      op.outputs.back().shape = shapes[i];
      op.outputs.back().alias = of.alias;
      if (of.alias != AliasKind::kFresh) op.outputs.back().alias_of = 0;
    }
    const std::vector<TensorId> made = builder_.AddOp(std::move(op)).Take();
    for (size_t i = 0; i < made.size(); ++i) tensors_[names[i]] = made[i];
    const OpId last(builder_.added().ops.size() - 1);
    if (holds != words.end()) {
      for (const TensorId held : Tensors({holds + 1, words.end()})) builder_.Hold(held, last);
    }
    if (makes) NoteAxes(read, made[0]);
  }

  std::vector<TensorId> Tensors(const Words& names) const {
    std::vector<TensorId> ids;
    for (const std::string& name : names) {
      PW_CHECK(tensors_.contains(name));
      ids.push_back(tensors_.at(name));
    }
    return ids;
  }

  Shape ShapeOf(const Words& axes) {
    Shape shape;
    for (const std::string& word : axes) {
      if (word.find(':') != std::string::npos) sizes_.insert(Numbered(word));
      const std::string axis = word.substr(0, word.find(':'));
      PW_CHECK(sizes_.contains(axis));
      shape.push_back(sizes_.at(axis));
    }
    return shape;
  }
  void NoteAxes(const Words& axes, TensorId id) {
    for (size_t i = 0; i < axes.size(); ++i) {
      axes_.insert({axes[i].substr(0, axes[i].find(':')), {id, i}});
    }
  }

  const Shape& shape(TensorId id) const { return builder_.added().tensors[id].shape; }

  std::vector<Shape> ShapesOf(const std::string& word, const std::vector<TensorId>& read) const {
    const Shape& first = shape(read[0]);
    if (word == "mm") return {{first[0], shape(read[1])[1]}};
    if (word == "addmm") return {{shape(read[1])[0], shape(read[2])[1]}};
    if (word == "sum" || word == "mean" || word == "norm") return {{}};
    if (word == "amax") return {{first[0]}};
    if (word == "layer_norm") return {first, {first[0], 1}, {first[0], 1}};
    if (word == "layer_norm_back") return {first, {first[1]}, {first[1]}};
    if (word == "t") return {{first[1], first[0]}};
    if (word == "flatten") return {{first[0] * first[1]}};
    if (word == "nll_loss") return {{}, {}};
    if (word == "nll_loss_back") return {shape(read[1])};
    if (word == "second") return {{first.begin() + 1, first.end()}};
    if (word == "conv_back") return {shape(read[1]), shape(read[2]), {shape(read[2])[0]}};
    return {first};
  }

  std::vector<Value> ArgsOf(const std::string& word, const std::vector<TensorId>& read) const {
    std::vector<Value> args = References(read.size());
    const Value zero(int64_t{0}), one(int64_t{1}), no(false), yes(true);
    const auto more = [&](const std::vector<Value>& values) {
      args.insert(args.end(), values.begin(), values.end());
    };
    const Value mean(int64_t{1}), none(int64_t{-100});
    if (word == "softmax") more({zero, no});
    if (word == "cumprod") more({zero});
    if (word == "log_softmax") more({one, no});
    if (word == "log_softmax_back") more({one, Value(std::string("torch.float32"))});
    if (word == "nll_loss") more({Value(), mean, none});
    // The weight of all stands last.
    if (word == "nll_loss_back") args = {args[0], args[1], args[2], Value(), mean, none, args[3]};
    if (word == "norm") more({Value(2.0)});
    if (word == "amax") more({IntegerList({1}), no});
    if (word == "layer_norm") {
      args = {args[0], IntegerList({shape(read[0])[1]}), args[1], args[2], Value(1e-5)};
    }
    if (word == "layer_norm_back") {
      args = {args[0], args[1], IntegerList({shape(read[0])[1]}), args[2], args[3],
              args[4], args[5], Value(Value::List{yes, yes, yes})};
    }
    if (word == "second") more({zero, one});
    if (word == "flatten") more({IntegerList(ShapesOf(word, read)[0])});
    if (word == "conv_back") {
      more({IntegerList({shape(read[2])[0]}), IntegerList({1, 1}), IntegerList({0, 0}),
            IntegerList({1, 1}), no, IntegerList({0, 0}), one, Value(Value::List{yes, yes, yes})});
    }
    return args;
  }

  GraphBuilder builder_{"step", "aten"};
  Phase phase_ = Phase::kForward;
  std::string module_;
  std::map<std::string, TensorId> tensors_;
  std::map<std::string, int64_t> sizes_;  // of axes
  std::map<std::string, std::pair<TensorId, size_t>>& axes_;
};

Cluster FourDevices() {
  ClusterBuilder builder("four");
  DeviceKind model{.name = "K"};
  model.peak.f32 = 1e12;
  model.memory_bandwidth = BytesPerSecond(int64_t{1} << 36);
  const int32_t kind = builder.AddKind(model).Take();
  for (const char* name : {"a", "b", "c", "d"}) {
    (void)builder.AddDevice({.name = name, .kind = kind, .capacity = Bytes(1 << 20)}).Take();
  }
  return std::move(builder).Build().Take();
}

std::string ShapeText(const Shape& shape) { return fmt::format("[{}]", fmt::join(shape, " ")); }

// "aten.mm.default" -> "mm"
std::string_view WordOf(std::string_view type) {
  const size_t dot = type.find('.');
  return type.substr(dot + 1, type.rfind('.') - dot - 1);
}

// What ops that cut and join say of the axis, behind what they read.
std::string PartText(const Op& op) {
  const std::string_view word = WordOf(op.type);
  const auto number = [&](size_t i) { return *op.args[i].AsInt(); };
  const auto times = [](int64_t outer) { return outer == 1 ? "" : fmt::format("x{}", outer); };
  if (word == "unpack") return fmt::format(" from {}", number(1));
  if (word == "concat") return fmt::format(" along {}{}", number(1), times(number(2)));
  const auto part = [&](size_t i) {
    return fmt::format("[{}:{}-{}/{}{}]", number(i), number(i + 3), number(i + 4), number(i + 2),
                       times(number(i + 1)));
  };
  if (word == "all_to_all") return fmt::format("{} of {}", part(6), part(1));
  if (word != "split" && word != "all_gather" && word != "reduce_scatter") return "";
  if (IsCoalesced(op.type)) {
    std::string parts;
    for (size_t tensor = 1; tensor < op.args.size(); ++tensor) {
      const Value::List& of = *op.args[tensor].AsList();
      const auto in = [&](size_t i) { return *of[i].AsInt(); };
      parts += fmt::format("[{}:{}-{}/{}{}]", in(0), in(3), in(4), in(2), times(in(1)));
    }
    return parts;
  }
  return part(1);
}

}  // namespace

TestStep::TestStep(std::string_view text)
    : graph_(std::make_unique<const Graph>(StepReader(axes_by_word_).Read(text))),
      axes_(std::make_unique<const NamedAxes>(*graph_)),
      cluster_(std::make_unique<const Cluster>(FourDevices())) {}

// Behind the colon: "batch a:3 b:5", "c", "a b", or boxes of one axis or several: "batch width a:0-4,0-3 b:0-4,3-6".
Layout TestStep::LayoutOf(std::string_view text) const {
  Words words = WordsOf(text);
  PW_CHECK(!words.empty());
  const auto device = [&](const std::string& name) {
    for (const DeviceId id : cluster_->devices()) {
      if (cluster_->device(id).name == name) return id;
    }
    PW_CHECK(false);  // no such device
    return DeviceId();
  };
  std::vector<DeviceId> devices;
  const auto first = std::find_if(words.begin(), words.end(), [](const std::string& word) {
    return word.find(':') != std::string::npos;
  });
  if (first == words.end()) {
    for (const std::string& name : words) devices.push_back(device(name));
    return CopiesOn(devices);
  }
  std::vector<AxisId> axes;
  for (auto word = words.begin(); word != first; ++word) {
    PW_CHECK(axes_by_word_.contains(*word));
    const auto [tensor, dimension] = axes_by_word_.at(*word);
    const auto factors = axes_->factors(tensor, dimension);
    PW_CHECK_EQ(factors.size(), size_t{1});
    axes.push_back(factors[0]);
  }
  if (first->find('-') != std::string::npos) {
    Layout layout;
    for (auto word = first; word != words.end(); ++word) {
      const Words halves = Split(*word, ':'), intervals = Split(halves[1], ',');
      std::vector<AxisInterval> box;
      for (size_t i = 0; i < axes.size(); ++i) {
        const Words ends = Split(intervals[i], '-');
        box.push_back({axes[i], {std::stoll(ends[0]), std::stoll(ends[1])}});
      }
      std::sort(box.begin(), box.end());
      layout.shares.push_back({device(halves[0]), {box.begin(), box.end()}});
    }
    return layout;
  }
  std::vector<int64_t> lengths;
  for (auto word = first; word != words.end(); ++word) {
    const auto [name, length] = Numbered(*word);
    devices.push_back(device(name));
    lengths.push_back(length);
  }
  return SplitOver(axes.front(), devices, lengths);
}

Layouts TestStep::LayoutsOf(std::string_view text) const {
  Layouts layouts;
  layouts.of_group = IdVector<GroupId, LayoutId>(graph_->group_count());
  for (const std::string& one : Split(text, ';')) {
    const size_t colon = one.find(':');
    PW_CHECK(colon != std::string::npos);
    const LayoutId id(layouts.layouts.size());
    layouts.layouts.push_back(LayoutOf(std::string_view(one).substr(colon + 1)));
    for (const std::string& name : WordsOf(std::string_view(one).substr(0, colon))) {
      for (const GroupId group : IdRange<GroupId>(graph_->group_count())) {
        if (name == "*") layouts.of_group[group] = id;
      }
      const OpId op = graph_->FindOp(name);
      PW_CHECK(op.valid() || name == "*");
      if (op.valid()) layouts.of_group[graph_->group(op)] = id;
    }
  }
  return layouts;
}

Result<DistributedStep> TestStep::CompileWith(std::string_view layouts,
                                              const CompileOptions& options) const {
  return Compile(*graph_, *axes_, LayoutsOf(layouts), *cluster_, options);
}

std::string TestStep::Compiled(std::string_view layouts, const CompileOptions& options) const {
  const Result<DistributedStep> step = CompileWith(layouts, options);
  return step.ok() ? LinesOf(step.value(), *cluster_) : "error: " + step.error().ToString();
}

std::string LinesOf(const DistributedStep& step, const Cluster& cluster) {
  const Graph& graph = step.graph;
  std::string text = "\n";
  for (const OpId id : graph.ops()) {
    const Op& op = graph.op(id);
    Words made, read, after;
    for (const TensorId tensor : op.outputs) {
      made.push_back(graph.tensor(tensor).name + " " + ShapeText(graph.tensor(tensor).shape));
    }
    if (made.empty()) made.push_back(op.name);
    for (const TensorId tensor : op.inputs) read.push_back(graph.tensor(tensor).name);
    for (const OpId earlier : op.after) after.push_back(graph.op(earlier).name);
    const CollectiveId together = graph.collective_of(id);
    text += fmt::format("{}: {} = {}{}({}){}{}\n", cluster.device(step.placement[id]).name,
                        fmt::join(made, ", "), WordOf(op.type),
                        together.valid() ? fmt::format("#{}", together.value()) : "",
                        fmt::join(read, ", "), PartText(op),
                        after.empty() ? "" : fmt::format(" after {}", fmt::join(after, " ")));
  }
  Words outputs;
  for (const TensorId id : graph.outputs()) outputs.push_back(graph.tensor(id).name);
  return text + fmt::format("-> {}\n", fmt::join(outputs, " "));
}

std::string InputLinesOf(const DistributedStep& step, const Graph& original) {
  std::string text = "\n";
  for (const DistributedStep::InputPiece& input : step.inputs) {
    const Tensor& piece = step.graph.tensor(input.piece);
    text += fmt::format("{} {} = {}", piece.name, ShapeText(piece.shape),
                        original.tensor(input.original).name);
    for (const auto& [place, interval] : input.box) {
      text += fmt::format("[{}:{}-{}/{}]", place.dimension, interval.from, interval.to, place.size);
    }
    text += "\n";
  }
  return text;
}

}  // namespace placewright
