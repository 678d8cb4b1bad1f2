// Records what LibTorch runs below autograd as a Graph: forward, backward and optimizer ops of a
// training step, or an inference pass. The graph is the one that the ATen reader makes of the same
// step (docs/formats/aten-graph.md), so that a file of it reads back to the same.
//
//   Recorder recorder({.name = "mlp", .batch = 32});
//   recorder.AddInput("param:fc.weight", TensorKind::kParameter, weight);
//   recorder.Run(Phase::kForward, [&] { loss = Loss(); });
//   recorder.Run(Phase::kBackward, [&] { loss.backward(); });
//   Result<RecordedStep> step = std::move(recorder).Finish({loss});
//
// What becomes of what LibTorch does:
//   tensor        identified by storage and place (tensor_table.h); one that was not announced is a
//                 constant (in the optimizer phase: an optimizer state), or a number where it is
//                 one of the host; ops on such numbers alone that give such numbers are left out.
//                 Where a number would not do (in lists, for its type), an op `scalar_tensor` is
//                 put in
//   view, write   an output in the storage of an argument; writes by the operator's schema and by
//                 graph/aliasing/op_schema.h, which knows those that schemas hide
//   module        path of the innermost ModuleScope, for forward ops; the graph derives the others
//   detach, lift_fresh   left out: their result is their argument
//   a tensor without maker in a known storage (autograd remakes views): `as_strided`
// Refused: reading a value (kDataDependent), tensors without strided memory, two announced tensors
// in one storage (kNotRecordable).
#ifndef PLACEWRIGHT_CAPTURE_RECORDER_RECORDER_H_
#define PLACEWRIGHT_CAPTURE_RECORDER_RECORDER_H_

#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "capture/recorder/arguments.h"
#include "capture/recorder/dispatch.h"
#include "capture/recorder/operator_facts.h"
#include "capture/recorder/tensor_table.h"
#include "graph/graph_builder.h"
#include "graph/name_index.h"

namespace placewright {

struct RecordedStep {
  Graph graph;
  IdVector<OpId, bool> module_stated;                   // by a ModuleScope
  std::vector<OpId> random_ops;                         // the chain: they draw in this order
  std::vector<std::pair<TensorId, at::Tensor>> inputs;  // what the inputs of the graph were
};

class Recorder : public CallHandler {
 public:
  struct Options {
    std::string name;
    int64_t batch = 0;                               // 0: unknown
    bool on_meta = false;                            // nothing is computed: see meta/meta_run.h
    const std::atomic<bool>* interrupted = nullptr;  // ends the recording once it is set
  };
  explicit Recorder(Options options);

  // Announces a tensor that the step finds there. An optimizer state "opt_state:PATH.SLOT" belongs
  // to the parameter "param:PATH". Errors: kNotRecordable, kDuplicateName.
  Status AddInput(std::string name, TensorKind kind, const at::Tensor& tensor);

  // Records what `body` runs. After an error the recorder is of no more use.
  Status Run(Phase phase, const std::function<void()>& body);

  // True if an op of the step made the newest content of the tensor.
  bool HasMade(const at::Tensor& tensor) const;

  // The graph; `outputs` are what the step leaves behind. `wanted` are tensors whose ids are of
  // interest; those of undefined tensors are invalid. Errors: those of GraphBuilder;
  // kNotRecordable for tensors that the step neither made nor found.
  Result<RecordedStep> Finish(const std::vector<at::Tensor>& outputs,
                              const std::vector<at::Tensor>& wanted = {},
                              std::vector<TensorId>* wanted_ids = nullptr) &&;

  // The same before anything is derived of it: enough to compare recordings, and cheaper.
  Result<GraphBuilder> Assemble(const std::vector<at::Tensor>& outputs) &&;

  void Handle(TorchCall& call) override;
  void EnterModule(const std::string& path) override { modules_.push_back(path); }
  void LeaveModule() override { modules_.pop_back(); }
  void FailModule(const std::string& path) override {
    if (failed_module_.empty()) failed_module_ = path;
  }
  bool OnMeta() const override { return options_.on_meta; }
  std::string ModulePath() const override { return Module(); }
  CallPlace Place(const TorchCall& call) const override {
    return CallPlace(call.schema(), &Module());
  }

 private:
  // What a tensor is: an input of the graph, or an output of an op.
  struct Record {
    int32_t input = -1;
    int32_t op = -1, output = 0;  // position among the outputs that were computed
  };
  struct Input {
    std::string name;
    TensorKind kind;
    DType dtype;
    std::vector<int64_t> shape;
    at::Tensor tensor;
  };
  struct RecordedOp {
    OpSpec spec;                  // without inputs
    std::vector<int32_t> inputs;  // records
    bool random = false;
  };

  Status Fill(GraphBuilder& builder, RecordedStep& step, const std::vector<at::Tensor>& outputs,
              const std::vector<at::Tensor>& wanted, std::vector<TensorId>* wanted_ids);
  // The tensors that a call returned.
  struct Results {
    std::vector<at::Tensor> tensors;
    bool listed = false;  // as a list
  };
  void AddOp(const OperatorFacts& facts, CallArguments arguments, std::vector<int32_t> inputs,
             const Results& results);
  // A number of the host that no op of the step made.
  bool IsUnknownNumber(const at::Tensor& tensor) const;
  // Runs a call on such numbers alone that gives such numbers. False, and nothing is changed, for
  // others.
  bool RunsOnHost(TorchCall& call);
  // Numbers among the arguments become tensors by ops of their own, `scalar_tensor`, unless they
  // may stay numbers. Throws TorchFailure: kNotRecordable for one that the call writes.
  void MakeTensorsOfNumbers(TorchCall& call, const CallPlace& place);
  void MakeTensorsOfNumbers(c10::IValue& list, c10::DispatchKeySet keys);
  at::Tensor TensorOf(const at::Tensor& number, c10::DispatchKeySet keys);
  int32_t RecordOf(const at::Tensor& tensor);
  Result<int32_t> Locate(const at::Tensor& tensor) const;
  int32_t RecordRemadeView(const at::Tensor& tensor, int32_t base);
  int32_t AddInputRecord(std::string name, TensorKind kind, const at::Tensor& tensor);
  void AddOutputs(RecordedOp& op, const CallArguments& arguments, const Results& results);
  Result<std::vector<TensorId>> BuildInputs(GraphBuilder& builder, RecordedStep& step) const;
  // By op: whether an op or the caller reads one of its outputs.
  std::vector<char> ReadOps(const std::vector<at::Tensor>& asked) const;
  std::string NewName(const std::string& base);  // of the op that is added next
  const std::string& Module() const;

  Options options_;
  Phase phase_ = Phase::kForward;
  std::vector<std::string> modules_;
  std::string failed_module_;
  TensorTable table_;
  std::vector<Record> records_;
  std::vector<Input> inputs_;
  std::vector<RecordedOp> ops_;
  OperatorTable operators_;
  std::unordered_map<std::string, int> names_;  // base name -> next number
  NameIndex used_names_;                        // of ops
  int constants_ = 0;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_CAPTURE_RECORDER_RECORDER_H_
