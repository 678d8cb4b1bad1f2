#include "graph/text_form.h"

#include <fmt/format.h>

#include <iterator>
#include <string_view>

#include "graph/batch/at_batch.h"
#include "graph/batch/batch_product.h"

namespace placewright {
namespace {

using Out = std::back_insert_iterator<std::string>;

std::string_view ToText(OrderKind kind) {
  switch (kind) {
    case OrderKind::kReadAfterWrite: return "read after write";
    case OrderKind::kWriteAfterRead: return "write after read";
    case OrderKind::kWriteAfterWrite: return "write after write";
  }
  return "?";
}

void PutTensor(Out out, const Tensor& tensor) {
  fmt::format_to(out, "{} s{}.{} [{},{})", TypeText(tensor), tensor.storage.value(), tensor.version,
                 tensor.offset.count, tensor.offset.count + tensor.length.count);
  if (!tensor.strides.empty()) fmt::format_to(out, " strides [{}]", fmt::join(tensor.strides, ","));
  if (tensor.below > 0) fmt::format_to(out, " below {}", tensor.below);
  fmt::format_to(out, "\n");
}

// Names of ops or tensors, separated by commas.
template <class Ids, class NameOf>
std::string Names(const Ids& ids, const NameOf& name_of) {
  std::string text;
  for (const auto& id : ids) text += (text.empty() ? "" : ", ") + name_of(id);
  return text;
}

void PutOp(Out out, const Graph& graph, OpId id, std::span<const TensorId> held) {
  const Op& op = graph.op(id);
  std::string inputs;
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    const Tensor& tensor = graph.tensor(op.inputs[i]);
    inputs += (i ? ", " : "") + tensor.name;
    if (op.input_versions[i] != tensor.version) inputs += fmt::format(".{}", op.input_versions[i]);
  }
  fmt::format_to(out, "op {} = {}({}) {}", op.name, op.type, inputs, ToString(op.phase));
  if (op.module != ModuleId(0)) fmt::format_to(out, " @{}", graph.module_path(op.module));
  fmt::format_to(out, " g{}{}\n", graph.group(id).value(), op.is_view ? " view" : "");
  const auto tensor_name = [&](TensorId tensor) { return graph.tensor(tensor).name; };
  const auto op_name = [&](OpId other) { return graph.op(other).name; };
  if (!op.writes.empty()) fmt::format_to(out, "  writes {}\n", Names(op.writes, tensor_name));
  if (!op.after.empty()) fmt::format_to(out, "  after {}\n", Names(op.after, op_name));
  if (!held.empty()) fmt::format_to(out, "  holds {}\n", Names(held, tensor_name));
  for (TensorId output : op.outputs) {
    const Tensor& tensor = graph.tensor(output);
    fmt::format_to(out, "  {} ", tensor.name);
    PutTensor(out, tensor);
  }
}

void PutStorage(Out out, const Graph& graph, StorageId id) {
  const Storage& storage = graph.storage(id);
  const auto writer = [&](const Version& version) {
    return version.writer.valid() ? graph.op(version.writer).name : std::string("start");
  };
  fmt::format_to(out, "storage s{} {} {} {} B, written by: {}\n", id.value(),
                 graph.tensor(storage.first).name, ToString(storage.kind), storage.bytes.count,
                 Names(storage.versions, writer));
}

// "linear 3", "1/(N-1)"
std::string TextOf(int64_t slope, const BatchProduct& product) {
  return product.empty() ? fmt::format("linear {}", slope) : ToText(product);
}

void PutBatchScaling(Out out, const Graph& graph, const BatchScaling& laws) {
  fmt::format_to(out, "batch {}{}: {}\n", fmt::join(laws.sizes, ", "),
                 laws.smaller > 0 ? fmt::format(", {}", laws.smaller) : "",
                 laws.reason.empty() ? "scales" : laws.reason);
  if (!laws.reason.empty()) return;
  for (TensorId id : graph.tensors()) {
    for (const DimensionLaw& item : laws.dimensions[id]) {
      fmt::format_to(out, "slope {}[{}] {}\n", graph.tensor(id).name, item.dimension,
                     item.product.empty() ? std::to_string(item.slope) : ToText(item.product));
    }
  }
  for (OpId id : graph.ops()) {
    VisitLaws(graph.op(id), laws.arguments[id],
              [&](const NumberPlace& place, const ArgumentLaw& law) {
                fmt::format_to(out, "law {}.{} {}\n", graph.op(id).name, ToString(place),
                               TextOf(law.slope, law.product));
              });
  }
}

}  // namespace

std::string TypeText(const Tensor& tensor) {
  return fmt::format("{}[{}]", ToString(tensor.dtype), fmt::join(tensor.shape, ","));
}

std::string ToText(const Graph& graph) {
  std::string text;
  const Out out(text);
  fmt::format_to(out, "graph {} ({}), batch {}: {} ops, {} edges, {} groups\n", graph.name(),
                 graph.format(), graph.batch(), graph.op_count(), graph.edge_count(),
                 graph.group_count());
  for (TensorId id : graph.tensors()) {
    const Tensor& tensor = graph.tensor(id);
    if (tensor.producer.valid()) continue;
    fmt::format_to(out, "input {} {} ", tensor.name, ToString(tensor.kind));
    PutTensor(out, tensor);
  }
  const Csr<OpId, TensorId> held = graph.Held();
  for (OpId id : graph.ops()) PutOp(out, graph, id, held[id]);
  const auto member_name = [&](OpId op) { return graph.op(op).name; };
  for (CollectiveId id : graph.collectives()) {
    const Collective& collective = graph.collective(id);
    fmt::format_to(out, "collective {}: {}\n", collective.name,
                   Names(collective.members, member_name));
  }
  for (StorageId id : graph.storages()) PutStorage(out, graph, id);
  for (const OrderEdge& edge : graph.order_edges()) {
    fmt::format_to(out, "order {} -> {} {}\n", graph.op(edge.from).name, graph.op(edge.to).name,
                   ToText(edge.kind));
  }
  const Csr<GroupId, OpId> members = graph.GroupMembers();
  for (GroupId group : IdRange<GroupId>(graph.group_count())) {
    const auto op_name = [&](OpId op) { return graph.op(op).name; };
    fmt::format_to(out, "group g{}: {}\n", group.value(), Names(members[group], op_name));
  }
  if (const BatchScaling* laws = graph.batch_scaling()) PutBatchScaling(out, graph, *laws);
  return text;
}

}  // namespace placewright
