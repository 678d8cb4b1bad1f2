#include "cost/signature.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <span>
#include <vector>

#include "graph/batch/batch_product.h"

namespace placewright {
namespace {

// What a number is at batch n, the graph's batch being `batch`.
std::string Linear(int64_t value, int64_t slope, int64_t batch) {
  const int64_t rest = value - slope * batch;
  return rest == 0 ? fmt::format("{}n", slope) : fmt::format("{}+{}n", rest, slope);
}

// "1/n", "~n", "1/(n-1)"
std::string Proportional(const BatchProduct& product) {
  std::string text = ToText(product);
  if (text == "N") return "~n";
  std::replace(text.begin(), text.end(), 'N', 'n');
  return text;
}

class Writer {
 public:
  Writer(const Graph& graph, OpId id, const Op& op, bool family)
      : graph_(graph), op_(op), family_(family) {
    if (family) {
      scaling_ = graph.batch_scaling();
      laws_ = scaling_->arguments[id];
    }
  }

  std::string Write() {
    out_ = std::string(op_.type) + "(";
    bool first = true;
    const auto next = [&] {
      if (!first) out_ += ", ";
      first = false;
    };
    for (const Value& value : op_.args) {
      next();
      Append(value);
    }
    // Ops of other formats name their inputs by position alone.
    if (op_.args.empty()) {
      for (const TensorId input : op_.inputs) {
        next();
        Append(input);
      }
    }
    for (const NamedValue& named : op_.attributes) {
      next();
      out_ += named.name + "=";
      Append(named.value);
    }
    return std::move(out_) + ")";
  }

 private:
  void Append(const Value& value) {
    if (const InputRef* input = value.AsInput()) {
      Append(op_.inputs[static_cast<size_t>(input->index)]);
    } else if (const Value::List* list = value.AsList()) {
      out_ += '[';
      for (size_t i = 0; i < list->size(); ++i) {
        if (i > 0) out_ += ',';
        Append((*list)[i]);
      }
      out_ += ']';
    } else if (value.AsInt() != nullptr || value.AsDouble() != nullptr) {
      AppendNumber(value);
    } else {
      out_ += ToString(value);
    }
  }

  void AppendNumber(const Value& value) {
    const int32_t number = numbers_++;
    const auto law = std::find_if(laws_.begin(), laws_.end(),
                                  [&](const ArgumentLaw& one) { return one.number == number; });
    if (law == laws_.end()) {
      out_ += ToString(value);
    } else if (!law->product.empty()) {
      out_ += Proportional(law->product);
    } else {
      out_ += value.AsInt() != nullptr ? Linear(*value.AsInt(), law->slope, graph_.batch()) : "~n";
    }
  }

  void Append(TensorId id) {
    const Tensor& tensor = graph_.tensor(id);
    out_ += ToString(tensor.dtype);
    out_ += '[';
    for (size_t d = 0; d < tensor.shape.size(); ++d) {
      if (d > 0) out_ += ',';
      const DimensionLaw* const law = LawOf(id, static_cast<int32_t>(d));
      out_ += law == nullptr         ? fmt::format("{}", tensor.shape[d])
              : law->product.empty() ? Linear(tensor.shape[d], law->slope, graph_.batch())
                                     : Proportional(law->product);
    }
    if (!tensor.strides.empty()) AppendLayout(tensor);
    out_ += ']';
  }

  void AppendLayout(const Tensor& tensor) {
    out_ += ';';
    std::vector<int64_t> layout = tensor.strides;
    if (family_) {
      std::iota(layout.begin(), layout.end(), 0);
      std::stable_sort(layout.begin(), layout.end(), [&](int64_t a, int64_t b) {
        return tensor.strides[static_cast<size_t>(a)] > tensor.strides[static_cast<size_t>(b)];
      });
    }
    out_ += fmt::format("{}", fmt::join(layout, ","));
  }

  const DimensionLaw* LawOf(TensorId id, int32_t dimension) const {
    if (scaling_ == nullptr) return nullptr;
    for (const DimensionLaw& law : scaling_->dimensions[id]) {
      if (law.dimension == dimension) return &law;
    }
    return nullptr;
  }

  const Graph& graph_;
  const Op& op_;
  const bool family_;
  const BatchScaling* scaling_ = nullptr;
  std::span<const ArgumentLaw> laws_;
  int32_t numbers_ = 0;  // as VisitNumbers counts them
  std::string out_;
};

}  // namespace

Signature SignatureOf(const Graph& graph, OpId op) { return SignatureOf(graph, op, graph.op(op)); }

Signature SignatureOf(const Graph& graph, OpId op, const Op& as) {
  const BatchScaling* const scaling = graph.batch_scaling();
  const bool scales = scaling != nullptr && scaling->reason.empty() && graph.batch() > 0;
  return {Writer(graph, op, as, false).Write(), scales ? Writer(graph, op, as, true).Write() : ""};
}

}  // namespace placewright
