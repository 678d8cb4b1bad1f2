#include "graph/same_graph.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace placewright {
namespace {

template <class Items, class Others, class Same>
bool AllSame(const Items& a, const Others& b, const Same& same) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), same);
}
template <class Items, class Others>
bool AllEqual(const Items& a, const Others& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}
template <class Ids, class Same>
bool AllOf(const Ids& ids, const Same& same) {
  for (const auto id : ids) {
    if (!same(id)) return false;
  }
  return true;
}

bool SameNumber(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b);
}

bool SameValue(const Value& a, const Value& b) {
  if (a.variant().index() != b.variant().index()) return false;
  if (const double* number = a.AsDouble()) return SameNumber(*number, *b.AsDouble());
  if (const Value::List* list = a.AsList()) return AllSame(*list, *b.AsList(), SameValue);
  return a == b;
}

bool SameNamedValue(const NamedValue& a, const NamedValue& b) {
  return a.name == b.name && SameValue(a.value, b.value);
}

bool SameOp(const Graph& graph_a, const Graph& graph_b, OpId id) {
  const Op &a = graph_a.op(id), &b = graph_b.op(id);
  return a.name == b.name && a.type == b.type && a.phase == b.phase && a.is_view == b.is_view &&
         a.inputs == b.inputs && a.input_versions == b.input_versions && a.outputs == b.outputs &&
         a.writes == b.writes && a.after == b.after &&
         graph_a.module_path(a.module) == graph_b.module_path(b.module) &&
         AllSame(a.args, b.args, SameValue) &&
         AllSame(a.attributes, b.attributes, SameNamedValue) &&
         AllEqual(graph_a.consumers(id), graph_b.consumers(id)) &&
         graph_a.group(id) == graph_b.group(id);
}

bool SameTensor(const Tensor& a, const Tensor& b) {
  return a.name == b.name && a.kind == b.kind && a.dtype == b.dtype && a.shape == b.shape &&
         a.strides == b.strides && a.producer == b.producer && a.output_index == b.output_index &&
         a.bytes == b.bytes && a.storage == b.storage && a.version == b.version &&
         a.held_until == b.held_until && a.offset == b.offset && a.length == b.length;
}

bool SameVersion(const Version& a, const Version& b) { return a.writer == b.writer; }

bool SameStorage(const Storage& a, const Storage& b) {
  return a.first == b.first && a.kind == b.kind && a.bytes == b.bytes &&
         AllSame(a.versions, b.versions, SameVersion);
}

bool SameCollectives(const Graph& a, const Graph& b) {
  return a.collective_count() == b.collective_count() &&
         AllOf(a.collectives(), [&](CollectiveId id) {
           return a.collective(id).name == b.collective(id).name &&
                  a.collective(id).members == b.collective(id).members;
         });
}

bool SameLaws(const BatchScaling* a, const BatchScaling* b) {
  return (a == nullptr) == (b == nullptr) && (a == nullptr || *a == *b);
}

}  // namespace

bool SameGraph(const Graph& a, const Graph& b) {
  if (a.op_count() != b.op_count() || a.tensor_count() != b.tensor_count() ||
      a.storage_count() != b.storage_count() || a.group_count() != b.group_count()) {
    return false;
  }
  return a.name() == b.name() && a.batch() == b.batch() &&
         SameLaws(a.batch_scaling(), b.batch_scaling()) && SameCollectives(a, b) &&
         AllOf(a.ops(), [&](OpId id) { return SameOp(a, b, id); }) &&
         AllOf(a.tensors(), [&](TensorId id) { return SameTensor(a.tensor(id), b.tensor(id)); }) &&
         AllOf(a.storages(),
               [&](StorageId id) {
                 return SameStorage(a.storage(id), b.storage(id)) &&
                        a.home_op(id) == b.home_op(id) && a.given_home(id) == b.given_home(id);
               }) &&
         AllEqual(a.outputs(), b.outputs()) && AllEqual(a.order_edges(), b.order_edges()) &&
         AllEqual(a.topological_order(), b.topological_order());
}

}  // namespace placewright
