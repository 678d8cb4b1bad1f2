// Builds a Graph: readers add inputs and ops, `Build` derives everything else.
//
// Build derives, in this order: versions and byte ranges of storages; data edges; order edges from
// storages; a topological order (or kGraphCycle naming ops on the cycle); the kinds of produced
// tensors (a tensor that an optimizer op reads and a backward op made is a gradient); modules of
// backward and optimizer ops; colocation groups; homes. It ends with CheckGraphConsistent.
#ifndef PLACEWRIGHT_GRAPH_GRAPH_BUILDER_H_
#define PLACEWRIGHT_GRAPH_GRAPH_BUILDER_H_

#include <placewright/base/result.h>
#include <placewright/graph/aliasing/storages.h>
#include <placewright/graph/graph.h>
#include <placewright/graph/name_index.h>

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace placewright {

// One output of an op, and how it relates to the op's inputs.
struct OutputSpec {
  using Alias = AliasKind;
  std::string name;  // unique
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;  // all >= 0
  Alias alias = Alias::kFresh;
  int32_t alias_of = -1;      // input index, for all but kFresh
  int32_t output_index = -1;  // where the op leaves out (null) outputs; -1: the position
  Bytes opaque_bytes;         // for DType::kOpaque
};

struct OpSpec {
  std::string name;
  std::string type;
  Phase phase = Phase::kForward;
  std::string module;    // leaf module path, or empty if the file does not say
  bool in_root = false;  // the file says that it lies in no module but the root: `module` is empty
  std::vector<TensorId> inputs;
  std::vector<OutputSpec> outputs;  // an absent (null) output is left out
  std::vector<int32_t> writes;      // indices of inputs that it writes without returning them
  std::vector<std::string> after;   // names of ops
  std::vector<Value> args;
  std::vector<NamedValue> attributes;
  DeviceId
      device;  // of a compiled step's op, where it lies: what lies apart is not joined by what it serves
};

class GraphBuilder {
 public:
  GraphBuilder(std::string name, std::string format);

  void set_batch(int64_t batch) { data_.batch = batch; }

  // A tensor that no op produces. `given_home` for cost graphs only. Errors: kDuplicateName,
  // kField.
  Result<TensorId> AddInput(std::string name, TensorKind kind, DType dtype,
                            std::vector<int64_t> shape, Bytes opaque_bytes = Bytes(0),
                            DeviceId given_home = DeviceId());

  // Tensor::below of an input.
  void SetBelow(TensorId input, int64_t below) { data_.tensors[input].below = below; }

  // How an input lies in memory: its strides, in elements, one for each dimension, >= 0.
  void SetStrides(TensorId input, std::vector<int64_t> strides) {
    data_.tensors[input].strides = std::move(strides);
  }

  // Adds an op and its outputs. Inputs must exist already (in-place semantics need file order).
  // Returns the ids of its outputs, in order. Errors: kDuplicateName, kField.
  Result<std::vector<TensorId>> AddOp(OpSpec spec);

  // Tensor::held_until. Precondition: the op comes behind the tensor.
  void Hold(TensorId tensor, OpId until);

  // For formats whose ops come in any order: declares a tensor before its producer is known (its
  // storage is fresh); storage ids follow the order of declaration.
  Result<TensorId> DeclareTensor(std::string name, DType dtype, std::vector<int64_t> shape,
                                 Bytes opaque_bytes = Bytes(0));
  // Adds an op whose outputs were declared. `spec.outputs` is empty, or has one entry for each
  // output, of which only `alias` and `alias_of` count (no kInPlace, no `writes`: they need file
  // order). Errors: kDuplicateName (a tensor with two producers), kField.
  Status AddOpWithDeclaredOutputs(OpSpec spec, std::vector<TensorId> outputs);

  // Declares that both parameters (or state and parameter) belong together: one colocation group.
  void Tie(TensorId a, TensorId b);
  // Ties the optimizer state "opt_state:PATH.SLOT" to the input "param:PATH", the longest such PATH
  // (a slot's name may have several components). Other tensors, and states of none, stay untied.
  void TieStateByName(TensorId state);
  // Declares that both ops belong in one colocation group, whatever they read. Build refuses names
  // of no op (kUnknownName).
  void Colocate(std::string a, std::string b);

  // Declares that these ops begin and end together. They have been added; no op is a member of two
  // collectives. Errors: kDuplicateName, kField (no members, an op twice).
  Status AddCollective(std::string name, std::vector<OpId> members);

  TensorId Lookup(std::string_view tensor_name) const;        // invalid if there is none
  Result<TensorId> Find(std::string_view tensor_name) const;  // kUnknownName, with near names
  void SetOutputs(std::vector<TensorId> outputs);

  // What was added: nothing is derived yet (edges, storages, modules, groups, names of `after`).
  const GraphData& added() const { return data_; }
  const TensorAlias& alias(TensorId tensor) const { return aliases_[tensor]; }
  // Nothing where the file does not say; "" is the root.
  const std::optional<std::string>& stated_module(OpId op) const {
    return module_names_[op.index()];
  }

  // Errors: kGraphCycle (naming ops on the cycle), kUnknownName (in `after`), kField (a declared
  // tensor that no op produces), kGraphInconsistent.
  Result<Graph> Build() &&;

 private:
  Result<TensorId> AddTensor(std::string name, DType dtype, std::vector<int64_t> shape,
                             Bytes opaque_bytes);
  Result<OpId> StartOp(OpSpec& spec);
  Status CheckAlias(const OutputSpec& output, const OpSpec& spec) const;
  void RecordWrites(Op& op, const OpSpec& spec);
  std::string_view Intern(const std::string& type);
  OpId LookupOp(std::string_view name) const;
  Status ResolveAfter();
  Result<std::vector<std::pair<OpId, OpId>>> ResolveColocated() const;
  Status CheckAllDeclaredProduced() const;
  Status CheckNoWrites() const;

  GraphData data_;
  IdVector<TensorId, TensorAlias> aliases_;
  IdVector<TensorId, bool> declared_;
  std::vector<std::vector<std::string>> after_;           // by op
  std::vector<std::optional<std::string>> module_names_;  // by op
  IdVector<OpId, DeviceId> devices_;
  std::vector<std::pair<TensorId, TensorId>> ties_;
  std::vector<std::pair<std::string, std::string>> colocated_;
  IdVector<TensorId, DeviceId> given_homes_;
  bool has_given_homes_ = false;
  NameIndex tensor_ids_, op_ids_;
  std::unordered_map<std::string, std::string_view> types_;
  std::unordered_set<std::string> collective_names_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_GRAPH_GRAPH_BUILDER_H_
