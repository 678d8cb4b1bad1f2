#include "graph/batch/proof.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "graph/batch/at_batch.h"
#include "graph/batch/batch_product.h"
#include "graph/batch/numbers.h"

namespace placewright {
namespace {

constexpr std::string_view kNoLaw =
    ", neither linear in the batch nor proportional to a product of such terms,";

bool SameBits(double a, double b) {
  return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b);
}

// One value in the three recordings.
template <class T>
struct Three {
  const T &a, &b, &c;
};

class Prover {
 public:
  Prover(const Graph& graph, const GraphBuilder& second, const GraphBuilder& third)
      : graph_(graph), others_{&second, &third} {
    laws_.sizes = {graph.batch(), second.added().batch, third.added().batch};
  }

  BatchScaling Run() && {
    laws_.dimensions.offsets.reserve(graph_.tensor_count() + 1);
    laws_.arguments.offsets.reserve(graph_.op_count() + 1);
    slopes_.resize(graph_.tensor_count());
    if (CompareInputs() && CompareOps()) {
      for (const TensorId id : graph_.tensors()) {
        for (DimensionLaw& item : slopes_[id]) laws_.dimensions.items.push_back(std::move(item));
        laws_.dimensions.offsets.push_back(static_cast<int32_t>(laws_.dimensions.items.size()));
      }
      return std::move(laws_);
    }
    PW_CHECK(!laws_.reason.empty());
    return BatchScaling{laws_.sizes, std::move(laws_.reason), {}, {}};
  }

 private:
  bool Fail(std::string reason) {
    laws_.reason = std::move(reason);
    return false;
  }
  std::string AtSizes() const {
    return fmt::format("at batch {}, {} and {}", laws_.sizes[0], laws_.sizes[1], laws_.sizes[2]);
  }
  // "op view_3 (aten.view.default)"
  std::string NameOf(OpId op) const {
    return fmt::format("op {} ({})", Printable(graph_.op(op).name, 120),
                       Printable(graph_.op(op).type, 80));
  }
  std::string NameOf(TensorId id) const {
    const Tensor& tensor = graph_.tensor(id);
    if (!tensor.producer.valid()) return "input " + Printable(tensor.name, 120);
    return fmt::format("output {} of {}", tensor.output_index, NameOf(tensor.producer));
  }
  bool Differ(const std::string& place, const std::string& a, const std::string& b,
              const std::string& c) {
    return Fail(fmt::format("{} is {}, {} and {} {}", place, Printable(a, 80), Printable(b, 80),
                            Printable(c, 80), AtSizes()));
  }
  const GraphData& Other(size_t i) const { return others_[i]->added(); }

  bool CompareInputs() {
    for (const TensorId id : graph_.tensors()) {
      const Tensor& tensor = graph_.tensor(id);
      if (tensor.producer.valid()) continue;
      for (size_t i = 0; i < 2; ++i) {
        const bool same = id.index() < Other(i).tensors.size() &&
                          Other(i).tensors[id].name == tensor.name &&
                          !Other(i).tensors[id].producer.valid();
        if (same) continue;
        return Fail(fmt::format("the input {} is not there at batch {}",
                                Printable(tensor.name, 120), laws_.sizes[i + 1]));
      }
      if (!CompareTensor(id)) return false;
    }
    return true;
  }

  bool CompareTensor(TensorId id) {
    const Three<Tensor> all{graph_.tensor(id), Other(0).tensors[id], Other(1).tensors[id]};
    const size_t rank = all.a.shape.size();
    if (all.b.dtype != all.a.dtype || all.c.dtype != all.a.dtype) {
      return Differ("the type of " + NameOf(id), std::string(ToString(all.a.dtype)),
                    std::string(ToString(all.b.dtype)), std::string(ToString(all.c.dtype)));
    }
    if (all.b.shape.size() != rank || all.c.shape.size() != rank) {
      return Differ("the number of dimensions of " + NameOf(id), std::to_string(rank),
                    std::to_string(all.b.shape.size()), std::to_string(all.c.shape.size()));
    }
    for (size_t d = 0; d < rank; ++d) {
      const std::array<int64_t, 3> sizes = {all.a.shape[d], all.b.shape[d], all.c.shape[d]};
      if (sizes[1] == sizes[0] && sizes[2] == sizes[0]) continue;
      DimensionLaw law{static_cast<int32_t>(d), 0};
      if (!FindLaw(sizes, law)) {
        return Differ(fmt::format("the size of dimension {} of {}", d, NameOf(id)),
                      std::to_string(sizes[0]), std::to_string(sizes[1]),
                      std::to_string(sizes[2]) + std::string(kNoLaw));
      }
      slopes_[id].push_back(std::move(law));
    }
    return true;
  }

  // The slope through the first two values, if the third lies on the line.
  std::optional<int64_t> WholeSlope(int64_t a, int64_t b, int64_t c) const {
    const __int128 rise = static_cast<__int128>(b) - a;
    const int64_t run = laws_.sizes[1] - laws_.sizes[0];
    const __int128 slope = rise / run;
    if (rise % run != 0 || slope > kMaxQuantity || slope < -kMaxQuantity) return std::nullopt;
    const auto linear = LinearAt(a, static_cast<int64_t>(slope), laws_.sizes[0], laws_.sizes[2]);
    return linear == c ? std::optional<int64_t>(static_cast<int64_t>(slope)) : std::nullopt;
  }

  bool SameCount() {
    const size_t count = graph_.op_count();
    const size_t second = Other(0).ops.size(), third = Other(1).ops.size();
    if (count == second && count == third) return true;
    return Differ("the number of ops", std::to_string(count), std::to_string(second),
                  std::to_string(third));
  }

  bool CompareOps() {
    for (const OpId id : graph_.ops()) {
      for (size_t i = 0; i < 2; ++i) {
        if (id.index() >= Other(i).ops.size()) return SameCount();
        if (!SameCall(id, i)) return false;
      }
      if (!CompareArguments(id)) return false;
      laws_.arguments.offsets.push_back(static_cast<int32_t>(laws_.arguments.items.size()));
      for (const TensorId output : graph_.op(id).outputs) {
        if (!CompareTensor(output)) return false;
      }
    }
    if (!SameCount()) return false;
    if (Other(0).outputs == Outputs() && Other(1).outputs == Outputs()) return true;
    return Fail("the step returns other tensors at another batch");
  }

  std::vector<TensorId> Outputs() const {
    return {graph_.outputs().begin(), graph_.outputs().end()};
  }

  // Everything of a call but its numbers and its outputs' sizes.
  bool SameCall(OpId id, size_t i) {
    const Op& op = graph_.op(id);
    const Op& other = Other(i).ops[id];
    const std::optional<std::string>& module = others_[i]->stated_module(id);
    const char* what = nullptr;
    if (op.type != other.type || op.name != other.name) {
      return Fail(fmt::format("{} is {} ({}) at batch {}", NameOf(id), Printable(other.name, 120),
                              Printable(other.type, 80), laws_.sizes[i + 1]));
    }
    if (op.inputs != other.inputs) what = "reads other tensors";
    if (op.outputs != other.outputs || !SameOutputs(op, i)) what = "has other outputs";
    if (op.writes != other.writes) what = "writes other tensors";
    if (op.phase != other.phase) what = "runs in another phase";
    if (module && *module != graph_.module_path(op.module)) what = "is of another module";
    if (what == nullptr) return true;
    return Fail(fmt::format("{} {} at batch {}", NameOf(id), what, laws_.sizes[i + 1]));
  }

  // Positions, and what they view or write.
  bool SameOutputs(const Op& op, size_t i) const {
    for (const TensorId id : op.outputs) {
      const Tensor& tensor = graph_.tensor(id);
      const TensorAlias& alias = others_[i]->alias(id);
      if (tensor.output_index != Other(i).tensors[id].output_index) return false;
      const bool fresh = graph_.storage(tensor.storage).first == id;
      if (fresh != (alias.kind == AliasKind::kFresh)) {
        if (alias.kind != AliasKind::kViewIfPossible) return false;
      } else if (!fresh && tensor.storage != graph_.tensor(alias.base).storage) {
        return false;
      }
    }
    return true;
  }

  bool CompareArguments(OpId id) {
    const Op& op = graph_.op(id);
    const Op &b = Other(0).ops[id], &c = Other(1).ops[id];
    op_ = id;
    number_ = 0;
    NumberPlace place;
    if (op.args.size() != b.args.size() || op.args.size() != c.args.size() ||
        op.attributes.size() != b.attributes.size() ||
        op.attributes.size() != c.attributes.size()) {
      return Fail(fmt::format("{} has more arguments at one batch than at another", NameOf(id)));
    }
    place.path.push_back(0);
    for (size_t i = 0; i < op.args.size(); ++i) {
      place.path.back() = static_cast<int64_t>(i);
      if (!CompareValues({op.args[i], b.args[i], c.args[i]}, place)) return false;
    }
    place.path.clear();
    for (size_t i = 0; i < op.attributes.size(); ++i) {
      const NamedValue& named = op.attributes[i];
      place.keyword = &named.name;
      if (named.name != b.attributes[i].name || named.name != c.attributes[i].name) {
        return Fail(fmt::format("{} has other keyword arguments at another batch", NameOf(id)));
      }
      if (!CompareValues({named.value, b.attributes[i].value, c.attributes[i].value}, place)) {
        return false;
      }
    }
    return true;
  }

  // Walks as VisitNumbers does.
  bool CompareValues(const Three<Value>& all, NumberPlace& place) {
    const Value::List *a = all.a.AsList(), *b = all.b.AsList(), *c = all.c.AsList();
    if (a != nullptr && b != nullptr && c != nullptr && a->size() == b->size() &&
        a->size() == c->size()) {
      place.path.push_back(0);
      for (size_t i = 0; i < a->size(); ++i) {
        place.path.back() = static_cast<int64_t>(i);
        if (!CompareValues({(*a)[i], (*b)[i], (*c)[i]}, place)) return false;
      }
      place.path.pop_back();
      return true;
    }
    bool known = all.a == all.b && all.a == all.c;
    if (all.a.AsInt() != nullptr) known = known || FindWholeLaw(all);
    if (all.a.AsDouble() != nullptr) known = FindRealLaw(all);
    if (all.a.AsInt() != nullptr || all.a.AsDouble() != nullptr) ++number_;
    if (known) return true;
    return Differ(fmt::format("{} of {}", ToString(place), NameOf(op_)), ToString(all.a),
                  ToString(all.b), ToString(all.c) + std::string(kNoLaw));
  }

  // Of three integers that are not all equal: a line, else a product.
  template <class Law>
  bool FindLaw(const std::array<int64_t, 3>& values, Law& law) const {
    if (const auto slope = WholeSlope(values[0], values[1], values[2]); slope && *slope != 0) {
      law.slope = *slope;
      return true;
    }
    const std::optional<BatchProduct> product = ProductThrough(values, laws_.sizes);
    if (product) law.product = *product;
    return product.has_value();
  }

  bool FindWholeLaw(const Three<Value>& all) {
    if (all.b.AsInt() == nullptr || all.c.AsInt() == nullptr) return false;
    ArgumentLaw law{number_, 0};
    if (!FindLaw({*all.a.AsInt(), *all.b.AsInt(), *all.c.AsInt()}, law)) return false;
    laws_.arguments.items.push_back(std::move(law));
    return true;
  }

  bool FindRealLaw(const Three<Value>& all) {
    const double *a = all.a.AsDouble(), *b = all.b.AsDouble(), *c = all.c.AsDouble();
    if (b == nullptr || c == nullptr) return false;
    if (SameBits(*a, *b) && SameBits(*a, *c)) return true;
    ArgumentLaw law{number_, 0};
    const double slope = (*b - *a) / static_cast<double>(laws_.sizes[1] - laws_.sizes[0]);
    if (std::abs(slope) >= 1 && std::abs(slope) < 9e15) law.slope = static_cast<int64_t>(slope);
    const auto gives = [&](int64_t to, double expected) {
      return NumberAt(Value(*a), law, laws_.sizes[0], to) == Value(expected);
    };
    if (law.slope == 0 || !gives(laws_.sizes[1], *b) || !gives(laws_.sizes[2], *c)) {
      law.slope = 0;
      std::optional<BatchProduct> product =
          ProductThrough(std::array<double, 3>{*a, *b, *c}, laws_.sizes);
      if (!product) return false;
      law.product = *std::move(product);
    }
    laws_.arguments.items.push_back(std::move(law));
    return true;
  }

  const Graph& graph_;
  const GraphBuilder* others_[2];
  BatchScaling laws_;
  IdVector<TensorId, std::vector<DimensionLaw>> slopes_;
  OpId op_;
  int32_t number_ = 0;
};

}  // namespace

BatchScaling DeriveBatchScaling(const Graph& graph, const GraphBuilder& second,
                                const GraphBuilder& third) {
  return Prover(graph, second, third).Run();
}

bool FollowsLaws(const BatchScaling& laws, const Graph& graph, const GraphBuilder& second,
                 const GraphBuilder& further) {
  const BatchScaling found = DeriveBatchScaling(graph, second, further);
  return found.reason.empty() && found.dimensions == laws.dimensions &&
         found.arguments == laws.arguments;
}

}  // namespace placewright
