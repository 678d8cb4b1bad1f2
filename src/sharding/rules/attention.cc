// Fused attention, softmax(q k^T + bias) v of every sample and head by itself, and its backward: "b h s d" or,
// of the kernels below, "b s h d". Where keys and values have fewer heads than queries, a head of theirs has
// several of the queries': "b [h g] s d" (Ainslie et al. 2023, GQA).
//
// Parts of samples and of heads are parts of the result. So are parts of the queries' places, each with all
// keys; gradients of keys, values are sums over them. A causal mask ties queries to keys by their distance from the
// first: a part of the places is computed by an operator that knows which ones it has, for the CPU's kernel, which
// steps are recorded with; of other kernels they are whole. Places of keys are whole: their parts would have to be
// normalised together.
//
// Dropout is drawn inside of the kernel, from a seed and an offset that it returns for its backward. Each part draws
// for itself, as every replica of a data-parallel step does elsewhere: the numbers are others than the whole's.
#include <algorithm>
#include <utility>

#include "sharding/rules/forms.h"

namespace placewright {
namespace {

constexpr size_t kNowhere = kByName - 1;

// What stands at the arguments, by position: q queries, their results or gradients of these, k keys, v values,
// l logarithms of sums, m masks or biases; else something of no sample. A mask may be given by the keyword
// attn_mask.
struct AttentionForm {
  std::string_view name;
  std::string_view arguments;
  bool backward = false;
  bool heads_first = true;
  // Positions; kNowhere: it has none.
  size_t causal = kNowhere;
  size_t lengths = kNowhere;    // of packed sequences, two tensors
  size_t longest = kNowhere;    // the sequences' lengths as numbers, two
  bool rounded_places = false;  // logarithms have the places of queries rounded up
  // What computes a part of the places under a causal mask, with the arguments up to that flag; "": nothing.
  std::string_view causal_part = "";
};

constexpr AttentionForm kForms[] = {
    {"_scaled_dot_product_flash_attention", "qkv", false, true, 4},
    {"_scaled_dot_product_flash_attention_backward", "qqkvql", true, true, 11, 6, 8},
    {"_scaled_dot_product_flash_attention_for_cpu", "qkv", false, true, 4, kNowhere, kNowhere,
     false, "placewright.causal_attention_part.default"},
    {"_scaled_dot_product_flash_attention_for_cpu_backward", "qqkvql", true, true, 7, kNowhere,
     kNowhere, false, "placewright.causal_attention_backward_part.default"},
    {"_scaled_dot_product_efficient_attention", "qkvm", false, true, 6, kNowhere, kNowhere, true},
    {"_scaled_dot_product_efficient_attention_backward", "qqkvmql", true, true, 11, kNowhere,
     kNowhere, true},
    {"_scaled_dot_product_cudnn_attention", "qkvm", false, true, 6},
    {"_scaled_dot_product_cudnn_attention_backward", "qqkvql..m", true, true, 14, 9, 11},
    {"_scaled_dot_product_fused_attention_overrideable", "qkvm", false, true, 5},
    {"_scaled_dot_product_fused_attention_overrideable_backward", "qqkvm.ql", true, true, 13, 8,
     10},
    {"_scaled_dot_product_attention_math", "qkvm..m", false, true, 5},
    {"_flash_attention_forward", "qkv", false, false, 8, 3, 5},
    {"_flash_attention_backward", "qqkvql", true, false, 11, 6, 8},
    {"_efficient_attention_forward", "qkvm", false, false, 9, 4, 6, true},
    {"_efficient_attention_backward", "qqkvmq....l", true, false, 14, 6, 8, true},
    {"_cudnn_attention_forward", "qkvm", false, true, 10, 4, 6},
    {"_cudnn_attention_backward", "qqkvql..m", true, true, 14, 9, 11}};

const AttentionForm* FormOf(std::string_view type) {
  type.remove_prefix(std::min(type.size(), std::string_view("aten.").size()));
  type = type.substr(0, type.rfind('.'));
  for (const AttentionForm& form : kForms) {
    if (form.name == type) return &form;
  }
  return nullptr;
}

class Attention {
 public:
  Attention(RuleMaker& maker, const AttentionForm& form) : maker_(maker), form_(form) {}

  void Make() {
    const int32_t query = InputOf('q', form_.backward ? 1 : 0), key = InputOf('k'),
                  value = InputOf('v');
    if (query < 0 || key < 0 || value < 0 || maker_.output_count() < 1 || HasOtherTensors() ||
        !FindAxes(query, key)) {
      return maker_.Fail();
    }
    for (size_t i = 0; i < maker_.input_count(); ++i) {
      maker_.input(i) = maker_.AxesOf(maker_.in(i), Parts::kWhole);
    }
    for (size_t i = 0; i < form_.arguments.size(); ++i)
      SetInput(form_.arguments[i], maker_.InputAt(i));
    SetInput('m', Named("attn_mask"));
    for (size_t i = 0; i < maker_.output_count(); ++i) {
      const char role = OutputRole(maker_.ResultOf(i));
      maker_.output(i) = AxesOf(role, maker_.out(i));
      if (form_.backward && role == 'm') KeepWholeWhatLacks(maker_.output(i));
    }
    if (form_.longest != kNowhere && !places_.empty()) {
      maker_.Size(form_.longest, "max_q", 0, places_);
    }
  }

 private:
  // The input at the `nth` argument of that role, or -1.
  int32_t InputOf(char role, size_t nth = 0) const {
    for (size_t i = 0; i < form_.arguments.size(); ++i) {
      if (form_.arguments[i] == role && nth-- == 0) return maker_.InputAt(i);
    }
    return -1;
  }
  int32_t Named(std::string_view name) const {
    const Value* const value = maker_.Argument(kByName, name);
    const InputRef* const input = value == nullptr ? nullptr : value->AsInput();
    return input == nullptr ? -1 : input->index;
  }
  // Slopes of heads, lengths of samples: by keyword.
  bool HasOtherTensors() const {
    return std::any_of(maker_.op().attributes.begin(), maker_.op().attributes.end(),
                       [](const NamedValue& named) {
                         return named.name != "attn_mask" && named.value.AsInput() != nullptr;
                       });
  }
  bool IsPacked() const {
    return form_.lengths != kNowhere &&
           (maker_.InputAt(form_.lengths) >= 0 || maker_.InputAt(form_.lengths + 1) >= 0);
  }
  bool IsCausal() const {
    // "custom_mask_type" of the kernels below is a number. A window is given by its sizes, -1: none.
    const auto is_window = [&](std::string_view name) {
      const Value* const value = maker_.Argument(kByName, name);
      return value != nullptr && !value->IsNone() && maker_.Integer(kByName, name, 0) >= 0;
    };
    return maker_.Flag(form_.causal, "is_causal", false) ||
           maker_.Integer(form_.causal, "custom_mask_type", 0) != 0 ||
           is_window("window_size_left") || is_window("window_size_right") ||
           is_window("window_size");
  }

  // A mask beside the causal one would have to be cut, too; arguments before the place are by position.
  bool HasCausalPart() const {
    const std::vector<Value>& args = maker_.op().args;
    return !form_.causal_part.empty() && args.size() == form_.causal + 1 &&
           Named("attn_mask") < 0 && maker_.InputAt(0) == 0;
  }

  bool FindAxes(int32_t query, int32_t key) {
    q_ = maker_.in(static_cast<size_t>(query));
    const std::vector<int64_t>& k = maker_.in(static_cast<size_t>(key));
    const size_t heads_at = form_.heads_first ? 1 : 2, places_at = form_.heads_first ? 2 : 1;
    if (q_.size() != 4 || k.size() != 4 || IsPacked() || q_[0] != k[0] || k[heads_at] < 1 ||
        q_[heads_at] % k[heads_at] != 0) {
      return false;
    }
    const Parts outside = form_.backward ? Parts::kSum : Parts::kSplit;
    samples_ = {maker_.Axis(q_[0])};
    key_heads_ = {maker_.Axis(k[heads_at])};
    heads_ = key_heads_;
    if (q_[heads_at] != k[heads_at]) {
      heads_.push_back(maker_.Axis(q_[heads_at] / k[heads_at], outside));
    }
    const bool causal = IsCausal();
    const bool by_part = causal && HasCausalPart() && q_[places_at] == k[places_at];
    const bool tied = (causal && !by_part) || form_.rounded_places;
    places_ = {maker_.Axis(q_[places_at], tied ? Parts::kWhole : outside)};
    key_places_ = {maker_.Axis(k[places_at], Parts::kWhole)};
    if (by_part) {
      // The places are those of the output, or of its gradient, input 0.
      maker_.rule().axis_parts = {{places_.front(), std::string(form_.causal_part),
                                   static_cast<int32_t>(form_.causal) + 1, !form_.backward,
                                   /*keywords=*/true, /*uneven=*/true}};
    }
    return true;
  }

  TensorAxes Ordered(const std::vector<RuleAxisId>& heads, const std::vector<RuleAxisId>& places,
                     int64_t width) {
    const std::vector<RuleAxisId> inner = {maker_.Axis(width, Parts::kWhole)};
    if (form_.heads_first) return {samples_, heads, places, inner};
    return {samples_, places, heads, inner};
  }

  char OutputRole(int32_t result) const {
    if (form_.backward) return result == 0 ? 'q' : result == 1 ? 'k' : result == 2 ? 'v' : 'm';
    if (result == 0) return 'q';
    if (result != 1) return '.';
    return form_.name.ends_with("_math") ? 'm' : 'l';
  }

  // A tensor of what a role is; Fail where it is none.
  TensorAxes AxesOf(char role, const std::vector<int64_t>& shape) {
    if (role == '.' || shape == std::vector<int64_t>{0}) {
      return maker_.AxesOf(shape, Parts::kWhole);
    }
    switch (role) {
      case 'q':
      case 'k':
      case 'v':
        if (shape.size() != 4) break;
        return role == 'q' ? Ordered(heads_, places_, shape[3])
                           : Ordered(key_heads_, key_places_, shape[3]);
      case 'l': return OfLogarithms(shape);
      case 'm': return OfMask(shape);
      default: break;
    }
    maker_.Fail();
    return {};
  }

  // [b h s], behind it dimensions of size 1, or the places rounded up.
  TensorAxes OfLogarithms(const std::vector<int64_t>& shape) {
    if (shape.size() < 3) {
      maker_.Fail();
      return {};
    }
    TensorAxes axes = {samples_, heads_};
    for (size_t i = 2; i < shape.size(); ++i) {
      const bool places = i == 2 && !form_.rounded_places;
      axes.push_back(places ? places_ : std::vector{maker_.Axis(shape[i], Parts::kWhole)});
    }
    return axes;
  }

  // Broadcast to [b h s_q s_k]. Masks of kernels may be longer than the keys, for their alignment.
  TensorAxes OfMask(const std::vector<int64_t>& shape) {
    const std::vector<std::vector<RuleAxisId>> full = {samples_, heads_, places_, key_places_};
    TensorAxes axes;
    for (size_t i = 0; i < shape.size() && shape.size() <= full.size(); ++i) {
      const std::vector<RuleAxisId>& here = full[full.size() - shape.size() + i];
      int64_t size = 1;
      for (const RuleAxisId axis : here) size *= maker_.rule().axes[axis].size;
      if (shape[i] == size) {
        axes.push_back(here);
      } else if (shape[i] == 1) {
        axes.emplace_back();
      } else {
        axes.push_back({maker_.Axis(shape[i], Parts::kWhole)});
      }
    }
    if (shape.size() > full.size()) maker_.Fail();
    return axes;
  }

  // The gradient of a mask that is broadcast is a sum over the samples or heads that it lacks.
  void KeepWholeWhatLacks(const TensorAxes& gradient) {
    for (const std::vector<RuleAxisId>* const axes : {&samples_, &heads_}) {
      for (const RuleAxisId axis : *axes) {
        if (!Holds(gradient, axis)) maker_.SetParts(axis, Parts::kWhole);
      }
    }
  }

  void SetInput(char role, int32_t input) {
    if (role == '.' || input < 0) return;
    const auto at = static_cast<size_t>(input);
    maker_.input(at) = AxesOf(role, maker_.in(at));
  }

  RuleMaker& maker_;
  const AttentionForm& form_;
  std::vector<int64_t> q_;
  std::vector<RuleAxisId> samples_, heads_, key_heads_, places_, key_places_;
};

void FusedAttention(RuleMaker& maker) {
  const AttentionForm* const form = FormOf(maker.op().type);
  if (form == nullptr) return maker.Fail();
  Attention(maker, *form).Make();
}

}  // namespace

std::vector<RuleRow> AttentionRules() {
  std::vector<RuleRow> rows;
  for (const AttentionForm& form : kForms) rows.push_back({form.name, FusedAttention, "default"});
  return rows;
}

}  // namespace placewright
