#include "capture/script/unshared_storages.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_strided.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>
#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/ir/ir.h>

#include <map>
#include <unordered_map>
#include <unordered_set>

#include "aten/failure.h"
#include "base/text.h"
#include "capture/recorder/arguments.h"

namespace placewright {
namespace {

class TensorOwner {
 public:
  explicit TensorOwner(bool on_meta) : on_meta_(on_meta) {}

  // `state`: a parameter or a buffer, which the step may write.
  at::Tensor Own(const at::Tensor& tensor, bool state, const std::string& name) {
    if (!tensor.defined() || owned_.count(tensor.unsafeGetTensorImpl()) != 0) return tensor;
    if (on_meta_ && !state && IsHostNumber(tensor)) return tensor;
    if (tensor.layout() != c10::kStrided || !tensor.has_storage()) {
      throw TorchFailure(MakeError(ErrorCode::kNotRecordable, "a tensor has no dense memory",
                                   "tensor " + Printable(name, 200),
                                   "Use dense tensors: tensor.to_dense()."));
    }
    std::vector<Place>& places = storages_[tensor.storage().unsafeGetStorageImpl()];
    const auto [begin, end] = Extent(tensor);
    for (const Place& place : places) {
      if (place.Is(tensor)) return place.own;
      if (begin < place.end && place.begin < end) {
        throw TorchFailure(
            MakeError(ErrorCode::kNotRecordable,
                      fmt::format("\"{}\" and \"{}\" share memory but are two tensors",
                                  Printable(place.name, 200), Printable(name, 200)),
                      "", "Tie weights by using one tensor in both places."));
      }
    }
    places.push_back({begin, end, tensor, Fresh(tensor), name});
    owned_.insert(places.back().own.unsafeGetTensorImpl());
    return places.back().own;
  }

  // Tensors in lists, tuples and dicts, too.
  c10::IValue OwnAll(const c10::IValue& value, bool state, const std::string& name) {
    if (value.isTensor()) return Own(value.toTensor(), state, name);
    if (value.isTensorList()) {
      c10::List<at::Tensor> list = value.toTensorList();
      for (size_t i = 0; i < list.size(); ++i) list.set(i, Own(list.get(i), state, name));
    } else if (value.isList()) {
      for (const c10::IValue& item : value.toListRef()) OwnAll(item, state, name);
    } else if (value.isTuple()) {
      std::vector<c10::IValue> items;
      for (const c10::IValue& item : value.toTupleRef().elements()) {
        items.push_back(OwnAll(item, state, name));
      }
      value.toTuple()->setElements(std::move(items));
    } else if (value.isGenericDict()) {
      c10::Dict<c10::IValue, c10::IValue> dict = value.toGenericDict();
      for (const auto& item : dict) item.setValue(OwnAll(item.value(), state, name));
    }
    return value;
  }

 private:
  struct Place {
    int64_t begin, end;  // bytes in the storage
    at::Tensor tensor, own;
    std::string name;
    bool Is(const at::Tensor& other) const {
      return tensor.scalar_type() == other.scalar_type() && tensor.sizes() == other.sizes() &&
             tensor.strides() == other.strides() &&
             tensor.storage_offset() == other.storage_offset();
    }
  };

  static std::pair<int64_t, int64_t> Extent(const at::Tensor& tensor) {
    const auto bytes = static_cast<int64_t>(tensor.element_size());
    const int64_t begin = tensor.storage_offset() * bytes;
    if (tensor.numel() == 0) return {begin, begin};
    int64_t last = 0;
    for (int64_t d = 0; d < tensor.dim(); ++d) last += (tensor.size(d) - 1) * tensor.stride(d);
    return {begin, begin + (last + 1) * bytes};
  }

  at::Tensor Fresh(const at::Tensor& tensor) const {
    const c10::Device device = on_meta_ ? c10::Device(c10::kMeta) : tensor.device();
    at::Tensor fresh =
        at::empty_strided(tensor.sizes(), tensor.strides(), tensor.options().device(device));
    if (!on_meta_) fresh.copy_(tensor.detach());
    fresh.set_requires_grad(tensor.requires_grad());
    return fresh;
  }

  bool on_meta_;
  std::unordered_map<const void*, std::vector<Place>> storages_;
  std::unordered_set<const void*> owned_;
};

class ConstantOwner {
 public:
  explicit ConstantOwner(TensorOwner& owner) : owner_(owner) {}

  void AddClass(const c10::ClassTypePtr& type) {
    if (!type || !seen_.insert(type.get()).second) return;
    for (torch::jit::Function* method : type->methods()) AddFunction(*method);
  }

 private:
  void AddFunction(torch::jit::Function& function) {
    torch::jit::GraphFunction* known = torch::jit::tryToGraphFunction(function);
    if (known == nullptr || !seen_.insert(known).second) return;
    known->ensure_defined();
    Visit(known->graph()->block());
  }

  void Visit(torch::jit::Block* block) {
    for (torch::jit::Node* node : block->nodes()) {
      for (torch::jit::Block* inner : node->blocks()) Visit(inner);
      const bool call = node->kind() == c10::prim::CallMethod;
      if (call) AddClass(node->input(0)->type()->cast<c10::ClassType>());
      if (node->kind() == c10::prim::CallFunction) {
        const auto type = node->input(0)->type()->cast<c10::FunctionType>();
        if (type) AddFunction(*type->function());
      }
      if (node->kind() != c10::prim::Constant || !node->hasAttribute(c10::attr::value)) continue;
      const torch::jit::AttributeKind kind = node->kindOf(c10::attr::value);
      if (kind == torch::jit::AttributeKind::t) {
        node->t_(c10::attr::value, owner_.Own(node->t(c10::attr::value), false, "a constant"));
      } else if (kind == torch::jit::AttributeKind::ival) {
        owner_.OwnAll(node->ival(c10::attr::value), false, "a constant");
      }
    }
  }

  TensorOwner& owner_;
  std::unordered_set<const void*> seen_;
};

}  // namespace

void UnsharedStorages(torch::jit::Module& module, bool on_meta) {
  const c10::NoGradGuard guard;
  TensorOwner owner(on_meta);
  ConstantOwner constants(owner);
  for (const auto& item : module.named_modules()) {
    const torch::jit::Module part = item.value;
    const c10::ClassTypePtr type = part.type();
    for (size_t slot = 0; slot < type->numAttributes(); ++slot) {
      if (type->getAttribute(slot)->is_module()) continue;
      const std::string name =
          (item.name.empty() ? "" : item.name + ".") + type->getAttributeName(slot);
      const bool state = type->is_parameter(slot) || type->is_buffer(slot);
      part._ivalue()->setSlot(slot, owner.OwnAll(part._ivalue()->getSlot(slot), state, name));
    }
    constants.AddClass(type);
  }
}

}  // namespace placewright
