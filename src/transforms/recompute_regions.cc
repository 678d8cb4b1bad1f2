#include "transforms/recompute_regions.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "graph/module_globs.h"
#include "transforms/layers.h"

namespace placewright {
namespace {

constexpr std::string_view kFull = "full", kSelective = "selective", kMegatron = "megatron";

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// "aten.mm.default" -> "mm"
std::string_view OperatorOf(const Op& op) {
  const size_t from = op.type.find('.') + 1;
  return op.type.substr(from, op.type.find('.', from) - from);
}

bool IsOneOf(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool IsFusedAttention(const Op& op) {
  return Contains(op.type, "scaled_dot_product") || Contains(op.type, "_attention_forward");
}
bool MultipliesMatrices(const Op& op) { return IsOneOf(OperatorOf(op), {"mm", "addmm", "linear"}); }
bool MultipliesActivations(const Op& op) {
  return IsOneOf(OperatorOf(op), {"bmm", "baddbmm", "matmul"});
}
bool IsProduct(const Op& op) {
  return MultipliesMatrices(op) || MultipliesActivations(op) ||
         IsOneOf(OperatorOf(op), {"convolution", "_scaled_mm", "_grouped_mm"});
}

class RegionFinder {
 public:
  explicit RegionFinder(const Graph& step) : step_(step) {
    found_.of_op.assign(step.op_count(), -1);
    found_.kept.assign(step.op_count(), false);
  }

  Result<RecomputedRegions> Find(const std::vector<std::string>& set) {
    const std::string word = set.size() == 1 ? set.front() : "";
    if (word == kMegatron) {
      PW_RETURN_IF_ERROR(FindAttention());
    } else if (word == kFull || word == kSelective) {
      PW_RETURN_IF_ERROR(FindLayers(word));
      if (word == kSelective) KeepAsTorchtitan();
    } else {
      PW_RETURN_IF_ERROR(FindModules(set));
    }
    std::sort(found_.regions.begin(), found_.regions.end(),
              [](const auto& a, const auto& b) { return a.ops.front() < b.ops.front(); });
    for (size_t r = 0; r < found_.regions.size(); ++r) {
      for (const OpId op : found_.regions[r].ops) found_.of_op[op] = static_cast<int32_t>(r);
    }
    return std::move(found_);
  }

 private:
  bool IsForward(OpId op) const { return step_.op(op).phase == Phase::kForward; }

  // A region for every call of what `module_of` [op] names: a call ends where another module computes.
  template <class ModuleOf>
  void AddCalls(const ModuleOf& module_of) {
    std::map<std::string_view, int32_t> modules;
    std::string_view open;
    for (const OpId op : step_.ops()) {
      if (!IsForward(op)) continue;
      const std::optional<std::string_view> module = module_of(op);
      if (!module) {
        if (!step_.op(op).is_view) open = {};
        continue;
      }
      if (*module != open) {
        const auto number = static_cast<int32_t>(modules.size());
        const int32_t same = modules.try_emplace(*module, number).first->second;
        found_.regions.push_back({std::string(*module), same, {}});
        open = *module;
      }
      found_.regions.back().ops.push_back(op);
    }
  }

  Status FindModules(const std::vector<std::string>& globs) {
    std::vector<bool> used(globs.size(), false);
    AddCalls([&](OpId op) {
      std::optional<std::string_view> outermost;
      for (size_t i = 0; i < globs.size(); ++i) {
        const std::optional<std::string_view> match =
            OutermostMatch(globs[i], step_.module_path(step_.op(op).module));
        if (!match) continue;
        used[i] = true;
        if (!outermost || match->size() < outermost->size()) outermost = match;
      }
      return outermost;
    });
    for (size_t i = 0; i < globs.size(); ++i) {
      if (used[i]) continue;
      return MakeError(
          ErrorCode::kUnknownName,
          fmt::format("\"{}\" matches no module with ops of the forward pass{}",
                      Printable(globs[i], 80), DidYouMean(globs[i], ModulePaths(step_))),
          "recompute", "`placewright inspect --modules` lists them.");
    }
    return Ok();
  }

  Status FindLayers(std::string_view word) {
    const StepLayers layers = LayersOf(step_);
    if (layers.names.empty()) {
      return MakeError(
          ErrorCode::kTransform,
          fmt::format("\"{}\" finds no layers: no list of modules has modules within", word),
          "recompute", "Name the modules by globs: `inspect --modules` lists them.");
    }
    AddCalls([&](OpId op) -> std::optional<std::string_view> {
      const int32_t layer = layers.of_module[step_.op(op).module];
      if (layer < 0) return std::nullopt;
      return layers.names[static_cast<size_t>(layer)];
    });
    return Ok();
  }

  // torchtitan/distributed/activation_checkpoint.py: compute-intensive operators, what communicates, the maximum
  // that scales a tensor of 8 bits; of products of matrices the second, fourth, ... of a layer are not kept.
  void KeepAsTorchtitan() {
    for (const RecomputedRegion& region : found_.regions) {
      int products = 0;
      for (const OpId id : region.ops) {
        const Op& op = step_.op(id);
        const bool communicates = op.type.starts_with("_c10d_functional.");
        found_.kept[id] =
            IsProduct(op) || IsFusedAttention(op) || communicates || op.type == "aten.max.default";
        if (MultipliesMatrices(op) && ++products % 2 == 0) found_.kept[id] = false;
      }
    }
  }

  Status FindAttention() {
    for (const OpId id : step_.ops()) {
      const Op& op = step_.op(id);
      if (!IsForward(id)) continue;
      if (IsFusedAttention(op)) {
        AddRegion({id});
      } else if (Contains(op.type, "softmax")) {
        AddCore(id);
      }
    }
    if (!found_.regions.empty()) return Ok();
    return MakeError(ErrorCode::kTransform,
                     fmt::format("\"{}\" finds no attention in the forward pass", kMegatron),
                     "recompute",
                     "Name modules by globs: `placewright inspect --modules` lists them.");
  }

  void AddRegion(std::vector<OpId> ops) {
    const auto number = static_cast<int32_t>(found_.regions.size());
    found_.regions.push_back({step_.op(ops.front()).name, number, std::move(ops)});
  }

  // What lies between a product of activations before the softmax and one behind it.
  void AddCore(OpId softmax) {
    const std::set<OpId> before = UpToProducts(softmax, /*forwards=*/false);
    const std::set<OpId> behind = UpToProducts(softmax, /*forwards=*/true);
    std::set<OpId> firsts, lasts;
    for (const OpId op : before) {
      if (MultipliesActivations(step_.op(op))) firsts.insert(op);
    }
    for (const OpId op : behind) {
      if (MultipliesActivations(step_.op(op))) lasts.insert(op);
    }
    if (firsts.empty() || lasts.empty()) return;
    std::set<OpId> from = firsts;  // reached from the first product, the last one included
    for (OpId op(firsts.begin()->index()); op <= *lasts.rbegin(); op = OpId(op.index() + 1)) {
      if (!IsForward(op) || (IsProduct(step_.op(op)) && !lasts.contains(op))) continue;
      const auto producers = step_.producers(op);
      if (std::any_of(producers.begin(), producers.end(), [&](OpId producer) {
            return from.contains(producer) && !lasts.contains(producer);
          })) {
        from.insert(op);
      }
    }
    std::set<OpId> core = lasts;  // of these what leads to the last one
    for (auto at = from.rbegin(); at != from.rend(); ++at) {
      const auto consumers = step_.consumers(*at);
      if (std::any_of(consumers.begin(), consumers.end(), [&](OpId consumer) {
            return core.contains(consumer) && !firsts.contains(consumer);
          })) {
        core.insert(*at);
      }
    }
    AddRegion({core.begin(), core.end()});
  }

  // Forward ops that lead to the op, or follow from it, with the products at which the way ends.
  std::set<OpId> UpToProducts(OpId start, bool forwards) const {
    std::set<OpId> reached;
    std::vector<OpId> open = {start};
    while (!open.empty()) {
      const OpId op = open.back();
      open.pop_back();
      for (const OpId next : forwards ? step_.consumers(op) : step_.producers(op)) {
        if (!IsForward(next) || !reached.insert(next).second) continue;
        if (!IsProduct(step_.op(next))) open.push_back(next);
      }
    }
    return reached;
  }

  const Graph& step_;
  RecomputedRegions found_;
};

}  // namespace

Result<RecomputedRegions> FindRecomputedRegions(const Graph& step,
                                                const std::vector<std::string>& set) {
  return RegionFinder(step).Find(set);
}

}  // namespace placewright
