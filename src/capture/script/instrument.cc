#include "capture/script/instrument.h"

#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/passes/inline_fork_wait.h>

#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "aten/failure.h"
#include "base/text.h"
#include "capture/script/script_ops.h"
#include "capture/script/traceback.h"

namespace placewright {
namespace {

using torch::jit::Block;
using torch::jit::Graph;
using torch::jit::Node;

// An attribute of every module: two modules of one class share their functions.
constexpr const char* kPath = "placewright_module_path";

c10::Symbol Ours(const std::string& name) {
  return c10::Symbol::fromQualString("placewright::" + name);
}

[[noreturn]] void Refuse(const Node& node, const std::string& reason,
                         const std::string& remedy = "Leave it out of the module's functions.") {
  const torch::jit::SourceRange& in_module = node.sourceRange();
  const auto written = in_module.findSourceRangeThatGenerated();
  const std::string code = PlaceInCode((written ? *written : in_module).str());
  throw TorchFailure(MakeError(
      ErrorCode::kNotRecordable, reason,
      std::string("op ") + node.kind().toQualString() + (code.empty() ? "" : ", ") + code, remedy));
}

class Instrumenter {
 public:
  Instrumenter(c10::Device device, std::set<std::string>& named) : device_(device), named_(named) {}

  void AddClass(const c10::ClassTypePtr& type) {
    if (!type || !classes_.insert(type.get()).second) return;
    for (torch::jit::Function* method : type->methods()) AddFunction(*method);
    for (const c10::ClassAttribute& attribute : type->getAttributes()) {
      AddClass(attribute.getType()->cast<c10::ClassType>());
    }
  }

 private:
  void AddFunction(torch::jit::Function& function) {
    torch::jit::GraphFunction* known = torch::jit::tryToGraphFunction(function);
    if (known == nullptr || !functions_.insert(known).second) return;
    known->ensure_defined();
    const std::shared_ptr<Graph> graph = known->graph();
    torch::jit::InlineForkWait(graph);
    Visit(graph->block());
    if (graph->inputs().empty()) return;
    const auto self = graph->inputs()[0]->type()->cast<c10::ClassType>();
    if (self && self->is_module()) MarkModule(*graph);
  }

  static void MarkModule(Graph& graph) {
    Node* first = *graph.nodes().begin();
    const torch::jit::WithInsertPoint begin(first);
    torch::jit::Value* path = graph.insertGetAttr(graph.inputs()[0], kPath);
    graph.insertNode(graph.create(Ours("enter_module"), {path}, 0));
    graph.block()->appendNode(graph.create(Ours("leave_module"), 0));
  }

  void Visit(Block* block) {
    for (auto it = block->nodes().begin(); it != block->nodes().end();) {
      Node* node = *it++;
      for (Block* inner : node->blocks()) Visit(inner);
      VisitNode(node);
    }
  }

  void VisitNode(Node* node) {
    const std::string kind = node->kind().toQualString();
    if (kind == "prim::CallFunction") {
      const auto type = node->input(0)->type()->cast<c10::FunctionType>();
      if (type) AddFunction(*type->function());
    } else if (kind == "prim::CallMethod") {
      AddClass(node->input(0)->type()->cast<c10::ClassType>());
    } else if (kind == "prim::CreateObject") {
      AddClass(node->output()->type()->cast<c10::ClassType>());
    } else if (kind == "prim::Loop") {
      Create(*node, "turn")->insertBefore(*node->blocks().at(0)->nodes().begin());
    } else if (kind == "aten::tensor" || kind == "aten::as_tensor") {
      WrapTensor(node);
    } else if (kind == "prim::tolist") {
      Create(*node, "read_values")->insertBefore(node);
    } else if (kind == "prim::Print" || kind == "aten::warn") {
      node->destroy();
    } else if (kind == "aten::cuda" || kind == "aten::cpu") {
      if (kind == "aten::cuda") named_.insert("cuda");
      node->output()->replaceAllUsesWith(node->input(0));
      node->destroy();
    } else if (kind == "aten::device" || IsDevice(*node)) {
      ReplaceDevice(node);
    } else if (kind.starts_with("prim::is_") && IsTensor(node->input(0))) {
      ReplaceBy(node, kind == "prim::is_cpu");
    } else if (kind == "prim::type" && node->input(0)->type() == c10::DeviceObjType::get()) {
      ReplaceBy(node, std::string("cpu"));
    } else if ((kind == "aten::eq" || kind == "aten::ne") &&
               node->input(0)->type() == c10::DeviceObjType::get()) {
      CompareDevices(node);
    } else if (kind == "aten::str" || kind == "aten::format") {
      TellDevice(node);
    } else if (kind == "prim::Enter") {
      CheckContext(*node);
    } else if (kind == "aten::repeat_interleave") {
      TellSize(node);
    } else if (kind == "aten::_convolution") {
      CallConvolution(node);
    } else if (kind == "aten::lstm" || kind == "aten::gru" || kind == "aten::rnn_tanh" ||
               kind == "aten::rnn_relu") {
      if (device_.is_meta()) CallRecurrentLayer(node);
    } else if (kind == "prim::fork" || kind == "aten::wait") {
      Refuse(*node, "a fork whose wait is in another function cannot be recorded");
    } else if (kind == "aten::save" || kind == "aten::from_file" || kind.find("rpc") == 6) {
      Refuse(*node, "the module reaches beyond its step, into files or other machines");
    }
  }

  // Without inputs and outputs; messages say of it what they say of `at`, or where LibTorch knows
  // no line of that one, of what its first input comes from.
  static Node* Create(Node& at, const char* name) {
    Node* made = at.owningGraph()->create(Ours(name), 0);
    const bool known = at.sourceRange().source() != nullptr || at.inputs().empty();
    made->setSourceRange(known ? at.sourceRange() : at.input(0)->node()->sourceRange());
    return made;
  }

  // All devices are `device_`; what they were is kept for comparisons.
  void ReplaceDevice(Node* node) {
    const c10::optional<c10::IValue> value = torch::jit::toIValue(
        node->kind() == c10::prim::Constant ? node->output() : node->inputs().at(0));
    std::string name;
    if (value && value->isDevice()) name = value->toDevice().str();
    if (value && value->isString()) name = value->toStringRef();
    if (!name.empty() && !name.starts_with("cpu")) named_.insert(name);
    const torch::jit::WithInsertPoint here(node);
    torch::jit::Value* constant = node->owningGraph()->insertConstant(device_);
    if (!name.empty()) devices_[constant] = name;
    node->output()->replaceAllUsesWith(constant);
  }

  // What the code says of a device, or "cpu" for that of a tensor; "" if neither is known.
  std::string DeviceOf(const torch::jit::Value* value) const {
    if (value->node()->kind() == c10::prim::device) return "cpu";
    const auto known = devices_.find(value);
    return known == devices_.end() ? "" : known->second;
  }

  // device == device, device != device
  void CompareDevices(Node* node) {
    const std::string a = DeviceOf(node->input(0)), b = DeviceOf(node->input(1));
    if (a.empty() || b.empty()) return;
    const bool same = a == b || (a.starts_with("cpu") && b.starts_with("cpu"));
    ReplaceBy(node, same == (node->kind() == c10::aten::eq));
  }

  // In texts the device of a tensor is the CPU.
  static void TellDevice(Node* node) {
    const torch::jit::WithInsertPoint here(node);
    for (size_t i = 0; i < node->inputs().size(); ++i) {
      if (node->input(i)->node()->kind() != c10::prim::device) continue;
      node->replaceInput(i, node->owningGraph()->insertConstant(c10::Device(c10::kCPU)));
    }
  }

  static bool IsTensor(const torch::jit::Value* value) {
    return value->type()->isSubtypeOf(*c10::TensorType::get());
  }

  static void ReplaceBy(Node* node, const c10::IValue& value) {
    const torch::jit::WithInsertPoint here(node);
    node->output()->replaceAllUsesWith(node->owningGraph()->insertConstant(value));
  }

  // `with torch.autocast(...)` is a pass of LibTorch's optimizer over whole functions.
  static void CheckContext(const Node& node) {
    const auto type = node.input(0)->type()->cast<c10::ClassType>();
    if (!type || !type->name() || type->name()->name().find("autocast") == std::string::npos)
      return;
    Refuse(node, "torch.autocast cannot be recorded",
           "Convert weights and inputs, as by module.to(torch.bfloat16), and save without it.");
  }

  static bool IsDevice(const Node& node) {
    return node.kind() == c10::prim::Constant &&
           node.output()->type()->kind() == c10::TypeKind::DeviceObjType;
  }

  // What traced code calls: a convolution with settings of libraries behind its nine arguments.
  static void CallConvolution(Node* node) {
    Graph* graph = node->owningGraph();
    Node* plain = graph->create(c10::Symbol::aten("convolution"), node->inputs().slice(0, 9), 1);
    plain->insertBefore(node);
    plain->output()->setType(node->output()->type());
    node->output()->replaceAllUsesWith(plain->output());
    node->destroy();
  }

  // Of whole sequences (recurrent_layers.h); packed ones have their weights where these have a
  // flag.
  static void CallRecurrentLayer(Node* node) {
    if (node->inputs().size() != 9 || node->input(3)->type() != c10::BoolType::get()) return;
    node->replaceWithNewSymbol(Ours(node->kind().toUnqualString()));
    node->destroy();
  }

  // repeat_interleave(self, repeats, dim, output_size) of a number of repeats
  static void TellSize(Node* node) {
    if (node->inputs().size() != 4 || node->input(1)->type()->kind() != c10::TypeKind::IntType ||
        !node->input(3)->mustBeNone()) {
      return;
    }
    Graph* graph = node->owningGraph();
    const torch::jit::WithInsertPoint here(node);
    torch::jit::Value* size =
        node->input(2)->mustBeNone()
            ? graph->insert(c10::Symbol::aten("numel"), {node->input(0)})
            : graph->insert(c10::Symbol::aten("size"), {node->input(0), node->input(2)});
    node->replaceInput(3, graph->insert(c10::Symbol::aten("mul"), {size, node->input(1)}));
  }

  // Made on the host.
  static void WrapTensor(Node* node) {
    if (node->input(0)->type()->isSubtypeOf(*c10::TensorType::get())) return;
    Graph* graph = node->owningGraph();
    const torch::jit::WithInsertPoint here(node);
    for (size_t i = 1; i < node->inputs().size(); ++i) {
      const c10::TypePtr type = node->input(i)->type();
      const bool device = type->kind() == c10::TypeKind::DeviceObjType ||
                          (type->kind() == c10::TypeKind::OptionalType && i == 2);
      if (device) node->replaceInput(i, graph->insertConstant(c10::IValue()));
    }
    graph->create(Ours("begin_tensor"), 0)->insertBefore(node);
    Node* end = graph->create(Ours("end_tensor"), 1);
    end->insertAfter(node);
    end->output()->setType(node->output()->type());
    node->output()->replaceAllUsesWith(end->output());
    end->addInput(node->output());
  }

  c10::Device device_;
  std::set<std::string>& named_;
  std::unordered_map<const torch::jit::Value*, std::string> devices_;  // that were replaced
  std::unordered_set<const c10::ClassType*> classes_;
  std::unordered_set<const torch::jit::GraphFunction*> functions_;
};

}  // namespace

void Instrument(torch::jit::Module& module, c10::Device device, std::set<std::string>& named) {
  RegisterScriptOps();
  std::set<const void*> marked;  // a module in two places has the path of the first
  for (const auto& item : module.named_modules()) {
    torch::jit::Module part = item.value;
    if (!marked.insert(part._ivalue().get()).second) continue;
    part.register_attribute(kPath, c10::StringType::get(), item.name);
  }
  Instrumenter instrumenter(device, named);
  for (const torch::jit::Module& part : module.modules()) instrumenter.AddClass(part.type());
}

}  // namespace placewright
