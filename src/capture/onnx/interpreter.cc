#include "capture/onnx/interpreter.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <unordered_set>

#include "aten/failure.h"
#include "base/text.h"
#include "capture/onnx/operators/table.h"
#include "capture/recorder/dispatch.h"

namespace placewright::lowering {
namespace {

// Operators that draw random numbers are part of the step even where all they need is known, and so
// are products and those that can make much of little; those that run sub-graphs decide by
// themselves.
bool RunsOutsideStep(const ImportedNode& node) {
  static const std::unordered_set<std::string> kInside = {"RandomNormal",  "RandomNormalLike",
                                                          "RandomUniform", "RandomUniformLike",
                                                          "Bernoulli",     "Multinomial",
                                                          "Dropout",       "If",
                                                          "Loop",          "Scan",
                                                          "LSTM",          "GRU",
                                                          "RNN",           "Conv",
                                                          "ConvTranspose", "AveragePool",
                                                          "MaxPool",       "LpPool",
                                                          "Resize",        "Upsample",
                                                          "GridSample",    "MatMul",
                                                          "Gemm",          "Einsum"};
  return kInside.count(node.type) == 0;
}

// "layer1/conv1" -> "layer1.conv1", as paths of recorded modules are spelt.
std::string ModulePathOf(const ImportedNode& node) {
  std::string path = node.module;
  for (char& c : path) {
    if (c == '/') c = '.';
  }
  return path;
}

void AddReads(const ImportedNode& node, std::vector<std::string>* reads) {
  reads->insert(reads->end(), node.inputs.begin(), node.inputs.end());
  for (const auto& [name, attribute] : node.attributes) {
    const auto* graph = std::get_if<std::shared_ptr<const ImportedGraph>>(&attribute);
    if (graph == nullptr) continue;
    for (const ImportedNode& inner : (*graph)->nodes) AddReads(inner, reads);
    reads->insert(reads->end(), (*graph)->outputs.begin(), (*graph)->outputs.end());
  }
}

// Adds to an error where in the program it happened.
[[noreturn]] void FailAt(Error error, const ImportedNode& node) {
  if (error.place.empty()) {
    error.place = node.place;
  } else if (error.place.rfind("node", 0) != 0) {
    error.place = node.place + ", " + error.place;
  }
  if (error.code == ErrorCode::kNotRecordable && error.remedy.empty()) {
    error.remedy = "Check the node's attributes and the shapes of its inputs.";
  }
  throw TorchFailure(std::move(error));
}

}  // namespace

std::vector<at::Tensor> Interpreter::Run(std::unordered_map<std::string, Value> known) {
  Scope scope{std::move(known), nullptr};
  RunNodes(program_.graph, scope);
  std::vector<at::Tensor> outputs;
  for (const std::string& name : program_.graph.outputs) {
    const Value& value = Get(name, scope, "graph.output");
    if (value.list() != nullptr) {
      for (const Value& item : *value.list()) outputs.push_back(item.InStep());
    } else {
      outputs.push_back(value.InStep());
    }
  }
  return outputs;
}

Values Interpreter::RunSubGraph(const ImportedGraph& graph, Values inputs) {
  Scope scope{{}, scope_};
  for (size_t i = 0; i < graph.inputs.size() && i < inputs.size(); ++i) {
    scope.values[graph.inputs[i]] = std::move(inputs[i]);
  }
  Scope* const outer = scope_;
  RunNodes(graph, scope);
  scope_ = outer;
  Values outputs;
  for (const std::string& name : graph.outputs) {
    outputs.push_back(Get(name, scope, "output of a sub-graph"));
  }
  return outputs;
}

void Interpreter::Charge(int64_t nodes, const std::string& place) {
  nodes_ = SaturatingAdd(nodes_, nodes);
  if (nodes_ <= kMaxNodes) return;
  throw TorchFailure(MakeError(
      ErrorCode::kNotRecordable,
      fmt::format("unrolled, the model has more than {} nodes and steps", kMaxNodes), place,
      "Give the loop or the sequence fewer steps (--dim), or plan the ONNX file itself."));
}

const Interpreter::LastReads& Interpreter::LastReadsOf(const ImportedGraph& graph) {
  const auto found = last_reads_.find(&graph);
  if (found != last_reads_.end()) return found->second;
  LastReads last(graph.nodes.size());
  std::unordered_set<std::string> later(graph.outputs.begin(), graph.outputs.end());
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    std::vector<std::string> reads;
    AddReads(graph.nodes[i], &reads);
    for (std::string& name : reads) {
      if (!name.empty() && later.insert(name).second) last[i].push_back(std::move(name));
    }
  }
  return last_reads_.emplace(&graph, std::move(last)).first->second;
}

void Interpreter::RunNodes(const ImportedGraph& graph, Scope& scope) {
  for (const NamedImportedTensor& constant : graph.constants) {
    scope.values[constant.name] = ConstantOf(constant.tensor);
  }
  const LastReads& last = LastReadsOf(graph);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    scope_ = &scope;
    Charge(1, graph.nodes[i].place);
    RunNode(graph.nodes[i], scope);
    // What the graph around this one knows stays there.
    for (const std::string& name : last[i]) scope.values.erase(name);
  }
}

void Interpreter::RunNode(const ImportedNode& node, Scope& scope) {
  Values inputs;
  for (const std::string& name : node.inputs) {
    inputs.push_back(name.empty() ? Value() : Get(name, scope, node.place));
  }
  Values outputs;
  const Status status = CatchFailure([&] {
    const std::string path = ModulePathOf(node);
    const ModuleScope module(path);
    outputs = Lower(node, inputs);
  });
  if (!status.ok()) FailAt(status.error(), node);
  AddSources(node, inputs, outputs);
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i].empty() || i >= outputs.size() || !outputs[i].defined()) continue;
    CheckShape(node, node.outputs[i], outputs[i]);
    scope.values[node.outputs[i]] = std::move(outputs[i]);
  }
}

bool Interpreter::FitsHost(const ImportedNode& node, const Values& inputs) const {
  int64_t largest = 1;
  for (const Value& input : inputs) {
    if (!input.defined()) continue;
    if (!input.is_host()) return false;
    largest = SaturatingMultiply(largest, std::max<int64_t>(1, input.tensor().numel()));
  }
  if (inputs.empty() && node.type != "Constant") return false;
  if (largest > kMaxHostElements) {
    // What the inputs together could become; a known shape says it better.
    for (const std::string& name : node.outputs) {
      const auto known = program_.shapes.find(name);
      if (known == program_.shapes.end()) return false;
      int64_t count = 1;
      for (const int64_t size : known->second) count = SaturatingMultiply(count, size);
      if (count > kMaxHostElements) return false;
    }
  }
  return host_elements_ <= kMaxHostBudget;
}

void Interpreter::AddSources(const ImportedNode& node, const Values& inputs, Values& outputs) {
  int depth = 0;
  bool given = false;
  for (const Value& input : inputs) {
    if (!input.defined() || input.is_host()) continue;
    if (input.source() == nullptr) return;
    given = true;
    depth = std::max(depth, input.source()->depth + 1);
  }
  if (!given || depth > Value::Source::kMaxDepth || !RunsOutsideStep(node)) return;
  Values known;
  for (const Value& input : inputs) {
    Value& kept = known.emplace_back();
    if (input.is_host()) kept = input;
    if (input.source() != nullptr) kept.SetSource(input.source());
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].tensor().defined() || outputs[i].is_host()) continue;
    auto source = std::make_shared<Value::Source>();
    source->node = &node;
    source->output = i;
    source->inputs = known;
    source->depth = depth;
    outputs[i].SetSource(std::move(source));
  }
}

at::Tensor Interpreter::ContentOf(const Value& value) {
  if (value.is_host()) return value.tensor();
  if (value.source() == nullptr) return {};
  Value::Source& source = *value.source();
  if (!source.input.empty()) used_contents_.insert(source.input);
  if (source.content.defined()) return source.content;
  Values inputs;
  for (const Value& input : source.inputs) {
    if (!input.is_host() && input.source() == nullptr) {
      inputs.emplace_back();  // absent
      continue;
    }
    const at::Tensor content = ContentOf(input);
    if (!content.defined()) return {};
    inputs.push_back(Value::Host(content));
  }
  const Values outputs = Lower(*source.node, inputs, /*only_host=*/true);
  if (source.output >= outputs.size() || !outputs[source.output].is_host()) return {};
  source.content = outputs[source.output].tensor();
  return source.content;
}

Values Interpreter::Lower(const ImportedNode& node, const Values& inputs) {
  return Lower(node, inputs, /*only_host=*/false);
}

Values Interpreter::Lower(const ImportedNode& node, const Values& inputs, bool only_host) {
  const std::string name = OperatorName(node);
  const Lowering lowering = FindOperator(name);
  if (lowering == nullptr) {
    throw TorchFailure(MakeError(
        ErrorCode::kOnnxOperator,
        fmt::format("the operator {} has no counterpart in LibTorch here", Printable(name, 80)),
        node.place));
  }
  const auto version = program_.versions.find(node.domain);
  NodeCall call{
      node,  inputs, version == program_.versions.end() ? 1 : version->second, options_.training,
      false, *this};
  if (RunsOutsideStep(node) && FitsHost(node, inputs)) {
    call.on_host = true;
    try {
      const OutsideStep outside;
      Values outputs;
      for (Value& output : lowering(call)) {
        const bool tensor = output.tensor().defined();
        if (tensor) host_elements_ += output.tensor().numel();
        outputs.push_back(tensor && !output.is_host() ? Value::Host(output.tensor())
                                                      : std::move(output));
      }
      return outputs;
    } catch (const TooLargeForHost&) {
      call.on_host = false;
    }
  }
  return only_host ? Values() : lowering(call);
}

void Interpreter::CheckShape(const ImportedNode& node, const std::string& name,
                             const Value& value) const {
  if (!options_.check_shapes || scope_->outer != nullptr || !value.tensor().defined()) return;
  const auto known = program_.shapes.find(name);
  if (known == program_.shapes.end() || value.tensor().sizes() == known->second) return;
  throw TorchFailure(MakeError(
      ErrorCode::kGraphShape,
      fmt::format("{} makes '{}' of shape [{}], but by the model's shapes it is [{}]",
                  OperatorName(node), Printable(name), fmt::join(value.tensor().sizes(), ", "),
                  fmt::join(known->second, ", ")),
      node.place, "Export the model again: its stored shapes contradict it."));
}

Value* Interpreter::Find(Scope* scope, const std::string& name) {
  for (; scope != nullptr; scope = scope->outer) {
    const auto found = scope->values.find(name);
    if (found != scope->values.end()) return &found->second;
  }
  return nullptr;
}

Value& Interpreter::Get(const std::string& name, Scope& scope, const std::string& place) const {
  if (Value* value = Find(&scope, name)) return *value;
  throw TorchFailure(
      MakeError(ErrorCode::kOnnxOperator,
                fmt::format("the tensor '{}' is not there: it is of a type that LibTorch does not "
                            "have, or an output that is not supported",
                            Printable(name)),
                place));
}

}  // namespace placewright::lowering
