#include "compile/rewrites/separate_gradients.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "compile/step_copy.h"
#include "sharding/separable_results.h"

namespace placewright {
namespace {

constexpr GradientMask kOfInput = {true, false, false};

GradientMask WithoutInput(GradientMask mask) {
  mask[0] = false;
  return mask;
}

// Which gradients come first, and which then.
struct Order {
  GradientMask first{}, second{};
};

class InstanceFinder {
 public:
  explicit InstanceFinder(const DistributedStep& step) : step_(step) {}

  // By op of the step: nothing where it stays one.
  std::map<OpId, Order> Find() const {
    std::map<OpId, std::vector<OpId>> instances;
    for (const OpId op : step_.graph.ops()) {
      const bool separable = step_.origin[op].valid() && MakesBoth(step_.graph.op(op));
      if (separable) instances[step_.origin[op]].push_back(op);
    }
    std::map<OpId, Order> orders;
    for (const auto& [origin, all] : instances) {
      if (all.size() < 2) continue;
      const auto leaves = [&](bool input) {
        return std::any_of(all.begin(), all.end(), [&](OpId op) { return Leaves(op, input); });
      };
      const bool input = leaves(true), others = leaves(false);
      if (input == others) continue;
      for (const OpId op : all) {
        const GradientMask rest = WithoutInput(*SeparableResults(step_.graph.op(op)));
        orders[op] = input ? Order{kOfInput, rest} : Order{rest, kOfInput};
      }
    }
    return orders;
  }

 private:
  // The gradient of the input and that of the weight: a bias alone is no product.
  bool MakesBoth(const Op& op) const {
    const auto mask = SeparableResults(op);
    if (!mask || !(*mask)[0] || !(*mask)[1]) return false;
    const auto makes = [&](int32_t result) {
      return std::any_of(op.outputs.begin(), op.outputs.end(), [&](TensorId output) {
        return step_.graph.tensor(output).output_index == result;
      });
    };
    return makes(0) && makes(1);
  }

  // Whether the gradient of the input, or another one, does.
  bool Leaves(OpId op, bool input) const {
    const std::vector<TensorId>& outputs = step_.graph.op(op).outputs;
    return std::any_of(outputs.begin(), outputs.end(), [&](TensorId output) {
      return (step_.graph.tensor(output).output_index == 0) == input && IsSent(output);
    });
  }

  // Read by another device or by a collective, perhaps through views and parts, as another type (mixed
  // precision) or added to other gradients.
  bool IsSent(TensorId tensor) const {
    const OpId maker = step_.graph.tensor(tensor).producer;
    for (const OpId reader : step_.graph.consumers(maker)) {
      const Op& op = step_.graph.op(reader);
      if (std::find(op.inputs.begin(), op.inputs.end(), tensor) == op.inputs.end()) continue;
      if (step_.graph.collective_of(reader).valid()) return true;
      if (step_.placement[reader] != step_.placement[maker]) return true;
      const bool passes = op.is_view || op.type.starts_with("placewright.") ||
                          op.type == "aten._to_copy.default" || op.type == "aten.add.Tensor";
      if (passes && std::any_of(op.outputs.begin(), op.outputs.end(),
                                [&](TensorId output) { return IsSent(output); })) {
        return true;
      }
    }
    return false;
  }

  const DistributedStep& step_;
};

class Separator {
 public:
  Separator(DistributedStep step, std::map<OpId, Order> orders)
      : copy_(std::move(step)), orders_(std::move(orders)) {}

  Result<DistributedStep> Separate() {
    PW_RETURN_IF_ERROR(copy_.CopyInputs());
    for (const OpId op : graph().ops()) {
      const auto order = orders_.find(op);
      if (order == orders_.end()) {
        PW_RETURN_IF_ERROR(copy_.CopyOp(op));
        continue;
      }
      PW_ASSIGN(const std::string first, Add(op, order->second.first, ""));
      PW_RETURN_IF_ERROR(Add(op, order->second.second, first));
    }
    return std::move(copy_).Finish();
  }

 private:
  const Graph& graph() const { return copy_.graph(); }

  // "y_backward@gpu1" becomes "y_backward.weight@gpu1".
  std::string NameOf(OpId op, const GradientMask& mask) const {
    const std::string& name = graph().op(op).name;
    const size_t at = std::min(name.rfind('@'), name.size());
    std::string word = mask[0] ? ".input" : ".weight";
    const auto full = [&] { return name.substr(0, at) + word + name.substr(at); };
    while (graph().FindOp(full()).valid() || graph().FindTensor(full()).valid()) word += "'";
    return full();
  }

  // The op with that mask, behind `earlier`, if there is one; its name.
  Result<std::string> Add(OpId op, const GradientMask& mask, const std::string& earlier) {
    const Op part = WithResults(graph(), graph().op(op), mask);
    OpSpec spec = copy_.SpecOf(op);
    spec.name = NameOf(op, mask);
    spec.args = part.args;
    std::vector<OutputSpec> outputs;
    for (size_t i = 0; i < spec.outputs.size(); ++i) {
      const TensorId output = graph().op(op).outputs[i];
      const bool made =
          std::find(part.outputs.begin(), part.outputs.end(), output) != part.outputs.end();
      if (!made) continue;
      outputs.push_back(spec.outputs[i]);
      outputs.back().name = fmt::format("{}:{}", spec.name, spec.outputs[i].output_index);
    }
    spec.outputs = std::move(outputs);
    if (!earlier.empty()) spec.after.push_back(earlier);
    std::string name = spec.name;
    PW_ASSIGN(const std::vector<TensorId> made,
              copy_.Add(std::move(spec), op, copy_.step().origin[op], op));
    for (size_t i = 0; i < made.size(); ++i) copy_.made()[part.outputs[i]] = made[i];
    return name;
  }

  StepCopy copy_;
  const std::map<OpId, Order> orders_;
};

}  // namespace

Result<DistributedStep> SeparateGradients(DistributedStep step) {
  std::map<OpId, Order> orders = InstanceFinder(step).Find();
  if (orders.empty()) return step;
  return Separator(std::move(step), std::move(orders)).Separate();
}

}  // namespace placewright
