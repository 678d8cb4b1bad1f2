// The computation graph of one training step (or inference pass): ops, tensors, storages, phases,
// module paths and colocation groups. Built once by a GraphBuilder, then const.
//
// Storages. A tensor names a byte range of a storage at a version. Views share their base's
// storage; an in-place op makes a new version of it. What is moved between devices and kept in
// memory is (storage, version, byte range), never "a tensor", so that forty views of one recurrent
// weight cross a link once.
//
// Edges. A data edge is a distinct pair (producer op, consumer op), plus the orders that the file
// itself states (`after`). Order edges that follow from storages (read after write, write after
// read, write after write) are kept apart and never counted as data edges.
#ifndef PLACEWRIGHT_GRAPH_GRAPH_H_
#define PLACEWRIGHT_GRAPH_GRAPH_H_

#include <placewright/base/ids.h>
#include <placewright/base/result.h>
#include <placewright/base/units.h>
#include <placewright/graph/batch/batch_scaling.h>
#include <placewright/graph/csr.h>
#include <placewright/graph/transform.h>
#include <placewright/graph/value.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace placewright {

enum class Phase : uint8_t { kForward, kBackward, kOptimizer };
enum class TensorKind : uint8_t {
  kParameter,
  kGradient,
  kOptimizerState,
  kBuffer,
  kInput,
  kActivation,
  kConstant
};
enum class DType : uint8_t {
  kF32,
  kF64,
  kF16,
  kBF16,
  kI64,
  kI32,
  kI16,
  kI8,
  kU8,
  kU16,
  kU32,
  kU64,
  kBool,
  kC64,
  kC128,
  kString,
  kOpaque  // kOpaque: a cost graph's tensor, of which only the bytes are known
};

std::string_view ToString(Phase phase);      // "forward", "backward", "optimizer"
std::string_view ToString(TensorKind kind);  // "parameter", ..., "constant"
std::string_view ToString(DType dtype);      // "f32", ...
int64_t SizeOf(DType dtype);                 // bytes of an element; strings and opaque: 0

// Lives for the whole step on its home device (rule 9): parameter, optimizer state, buffer,
// constant.
bool IsPersistent(TensorKind kind);

struct Tensor {
  std::string name;  // unique: the op's name, "op:k", or the input's name
  TensorKind kind = TensorKind::kActivation;
  DType dtype = DType::kF32;
  // An op that holds it, or none: what it shows then stays until that op has ended, as if it read it.
  OpId held_until;
  std::vector<int64_t> shape;    // empty for a scalar and for kOpaque
  std::vector<int64_t> strides;  // in elements; empty: row-major contiguous
  OpId producer;                 // invalid for graph inputs
  int32_t output_index = 0;      // of the producer
  Bytes bytes;                   // elements * SizeOf(dtype), or as given for kOpaque
  StorageId storage;
  int32_t version = 0;  // of the storage; 0 is the first content
  Bytes offset;         // of the first byte, within the storage
  Bytes length;         // from the first to behind the last byte touched (hull of strides)
  // Of an input of integers: its values lie in [0, below), so that ops may use them as indices; 0: not
  // stated.
  int64_t below = 0;
};

// One content of a storage, from the write that made it to the next write.
struct Version {
  OpId writer;  // invalid for version 0 of a graph input
};

struct Storage {
  TensorId first;  // the tensor that brought it into being (its name names the storage)
  TensorKind kind = TensorKind::kActivation;  // of `first`; kInput only while no op writes it
  Bytes bytes;
  std::vector<Version> versions;  // at least one
};

struct Op {
  std::string name;       // unique
  std::string_view type;  // "aten.mm.default", "Conv", "com.microsoft.FusedGelu"; interned
  Phase phase = Phase::kForward;
  bool is_view = false;          // occupies no device, takes no time, makes no bytes
  ModuleId module;               // always valid after Build; the root is the empty path
  std::vector<TensorId> inputs;  // as written: may repeat
  // Parallel to inputs: the version of its storage that the op reads there, which is the newest one
  // before the op in file order. It is later than the tensor's own version if another op has
  // written the storage since the tensor came to be (four gates activated in place on four slices
  // of one buffer: all their readers read the fourth version).
  std::vector<int32_t> input_versions;
  std::vector<TensorId> outputs;
  std::vector<TensorId> writes;        // inputs whose storage it writes (in-place, running buffers)
  std::vector<OpId> after;             // explicit order edges of the file
  std::vector<Value> args;             // executable arguments, positional
  std::vector<NamedValue> attributes;  // keyword arguments or ONNX attributes
};

// Ops on distinct devices that begin and end together, once all of them are ready (simulator rule
// 15): an all-reduce, say, with one member op on every device that takes part.
struct Collective {
  std::string name;           // unique among collectives
  std::vector<OpId> members;  // at least one, distinct
};

// Why an order edge exists.
enum class OrderKind : uint8_t { kReadAfterWrite, kWriteAfterRead, kWriteAfterWrite };
struct OrderEdge {
  OpId from, to;
  OrderKind kind;
  friend bool operator==(const OrderEdge&, const OrderEdge&) = default;
};

// The ops of each of `groups` groups, ascending. Every op has a group below `groups`.
Csr<GroupId, OpId> RowsByGroup(const IdVector<OpId, GroupId>& group_of, size_t groups);

// The plain content of a Graph, as a GraphBuilder fills it in. Algorithms see `Graph`.
struct GraphData {
  std::string name, format;
  int64_t batch = 0;
  std::optional<BatchScaling> batch_scaling;
  Transforms transforms;
  IdVector<OpId, Op> ops;
  IdVector<TensorId, Tensor> tensors;
  IdVector<StorageId, Storage> storages;
  std::vector<TensorId> outputs;
  Csr<OpId, OpId> consumers, producers;
  std::vector<OrderEdge> order_edges;
  std::vector<OpId> topological_order;
  IdVector<CollectiveId, Collective> collectives;
  IdVector<OpId, CollectiveId> collective_of;  // empty without collectives
  IdVector<ModuleId, std::string> modules;
  IdVector<OpId, GroupId> group_of;
  size_t group_count = 0;
  IdVector<StorageId, OpId> home_op;
  IdVector<StorageId, DeviceId> given_homes;  // empty, or one per storage
  std::vector<OpId> ops_by_name;              // sorted by name
  std::vector<TensorId> tensors_by_name;
  std::vector<std::unique_ptr<std::string>> interned;  // backs Op::type; stable under moves
};

class Graph {
 public:
  const std::string& name() const { return data_.name; }
  std::string_view format() const { return data_.format; }  // "aten", "onnx", "costgraph", ...
  int64_t batch() const { return data_.batch; }  // 0: unknown; in micro-batches that of one
  int64_t samples() const;                       // of all of them
  // What is proven of the sizes at other batches; nullptr where it was not tried.
  const BatchScaling* batch_scaling() const {
    return data_.batch_scaling ? &*data_.batch_scaling : nullptr;
  }

  // What it was rewritten by since it was recorded, in this order.
  const Transforms& transforms() const { return data_.transforms; }

  size_t op_count() const { return data_.ops.size(); }
  size_t tensor_count() const { return data_.tensors.size(); }
  size_t storage_count() const { return data_.storages.size(); }
  const Op& op(OpId id) const { return data_.ops[id]; }
  const Tensor& tensor(TensorId id) const { return data_.tensors[id]; }
  const Storage& storage(StorageId id) const { return data_.storages[id]; }
  IdRange<OpId> ops() const { return IdRange<OpId>(data_.ops.size()); }
  IdRange<TensorId> tensors() const { return IdRange<TensorId>(data_.tensors.size()); }
  IdRange<StorageId> storages() const { return IdRange<StorageId>(data_.storages.size()); }
  std::span<const TensorId> outputs() const { return data_.outputs; }  // of the whole graph

  // Distinct data edges, `after` included; sorted by (producer, consumer) and the reverse.
  size_t edge_count() const { return data_.consumers.items.size(); }
  std::span<const OpId> consumers(OpId op) const { return data_.consumers[op]; }
  std::span<const OpId> producers(OpId op) const { return data_.producers[op]; }
  // Order edges between distinct ops that follow from storages and join no pair that is a data
  // edge already. Sorted by (from, to). At most one kind a pair (the first in OrderKind). A view
  // reads no bytes, so no write waits for it; it does come after the write whose version it names.
  std::span<const OrderEdge> order_edges() const { return data_.order_edges; }
  // A topological order over data and order edges (by op id among the ready). The members of a
  // collective come when the last of them may, one behind the other.
  std::span<const OpId> topological_order() const { return data_.topological_order; }

  size_t collective_count() const { return data_.collectives.size(); }
  IdRange<CollectiveId> collectives() const {
    return IdRange<CollectiveId>(data_.collectives.size());
  }
  const Collective& collective(CollectiveId id) const { return data_.collectives[id]; }
  // The one that the op is a member of, or none.
  CollectiveId collective_of(OpId op) const {
    return data_.collective_of.empty() ? CollectiveId() : data_.collective_of[op];
  }

  // Module paths: id 0 is the root, ""; separators as in the source ('.' ATen, '/' ONNX).
  size_t module_count() const { return data_.modules.size(); }
  const std::string& module_path(ModuleId id) const { return data_.modules[id]; }

  // Colocation groups: ops that share a storage by view or write, tied weights, and a parameter
  // with its optimizer state and its whole update. Dense; ordered by smallest op id.
  size_t group_count() const { return data_.group_count; }
  GroupId group(OpId op) const { return data_.group_of[op]; }
  Csr<GroupId, OpId> GroupMembers() const;  // ops ascending

  // By op: the tensors that it holds, ascending.
  Csr<OpId, TensorId> Held() const;
  // The version of what the tensor shows that is the newest before the op in file order.
  int32_t VersionBefore(OpId op, TensorId tensor) const;

  // The op whose device is the storage's home (simulator rule 3): a view or writer of it if there
  // is one (they share a group), else the reader with the smallest id; invalid if nothing touches
  // it.
  OpId home_op(StorageId id) const { return data_.home_op[id]; }
  // Home given by the file (cost graphs), as an index into the file's own device list; else
  // invalid.
  DeviceId given_home(StorageId id) const {
    return data_.given_homes.empty() ? DeviceId() : data_.given_homes[id];
  }

  OpId FindOp(std::string_view name) const;  // invalid if absent; O(log n)
  TensorId FindTensor(std::string_view name) const;

 private:
  friend class GraphBuilder;
  friend Result<Graph> WithBatchScaling(Graph graph, BatchScaling laws);
  friend Graph WithInputLimits(Graph graph, const IdVector<TensorId, int64_t>& below);
  friend Graph WithTransforms(Graph graph, Transforms transforms);
  friend struct GraphTestPeer;  // tests corrupt graphs through it
  GraphData data_;
};

// The graph as what these made of a recorded step.
Graph WithTransforms(Graph graph, Transforms transforms);

}  // namespace placewright

#endif  // PLACEWRIGHT_GRAPH_GRAPH_H_
