// Runs a program node by node through LibTorch: on tensors with content, or below a recorder on
// tensors without. What follows from shapes and constants alone is computed outside of the step
// (value.h), as long as it stays small; the rest becomes ops of the step in the module that the
// node's name says.
#ifndef PLACEWRIGHT_CAPTURE_ONNX_INTERPRETER_H_
#define PLACEWRIGHT_CAPTURE_ONNX_INTERPRETER_H_

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "capture/onnx/node_call.h"
#include "capture/onnx/value.h"
#include "program/imported_model.h"

namespace placewright::lowering {

class Interpreter {
 public:
  // A tensor computed ahead has at most so many elements; all of them together kMaxHostBudget.
  static constexpr int64_t kMaxHostElements = int64_t{1} << 22;
  static constexpr int64_t kMaxHostBudget = int64_t{1} << 26;
  // Nodes that run, those of unrolled loops and steps of recurrent nodes counted each time.
  static constexpr int64_t kMaxNodes = 1'000'000;

  struct Options {
    bool training = false;
    // Whether results are held to ImportedModel::shapes, which are those of the program's own
    // batch.
    bool check_shapes = false;
  };
  // `program` must outlive the interpreter.
  Interpreter(const ImportedModel& program, const Options& options)
      : program_(program), options_(options) {}

  // Runs the program's graph; `known` are its inputs and parameters, by name. Throws TorchFailure
  // naming the node: kOnnxOperator, kDataDependent, kField, kGraphShape, those of the recorder.
  std::vector<at::Tensor> Run(std::unordered_map<std::string, Value> known);

  // A sub-graph of a node that runs: sees the names around it. Its inputs get `inputs`.
  Values RunSubGraph(const ImportedGraph& graph, Values inputs);

  // What a value holds: a host tensor's content, or what its source gives. Undefined where it is not
  // known.
  at::Tensor ContentOf(const Value& value);
  // Inputs of given content that something of the step depends on.
  const std::set<std::string>& used_contents() const { return used_contents_; }

  // Counts nodes before they run. Refuses more than kMaxNodes (kNotRecordable).
  void Charge(int64_t nodes, const std::string& place);

 private:
  struct Scope {
    std::unordered_map<std::string, Value> values;
    Scope* outer = nullptr;
  };
  using LastReads = std::vector<std::vector<std::string>>;  // by node: names no later one reads

  void RunNodes(const ImportedGraph& graph, Scope& scope);
  void RunNode(const ImportedNode& node, Scope& scope);
  Values Lower(const ImportedNode& node, const Values& inputs);
  Values Lower(const ImportedNode& node, const Values& inputs, bool only_host);
  // Makes results of traced inputs with sources ones with a source.
  static void AddSources(const ImportedNode& node, const Values& inputs, Values& outputs);
  bool FitsHost(const ImportedNode& node, const Values& inputs) const;
  void CheckShape(const ImportedNode& node, const std::string& name, const Value& value) const;
  const LastReads& LastReadsOf(const ImportedGraph& graph);
  static Value* Find(Scope* scope, const std::string& name);
  Value& Get(const std::string& name, Scope& scope, const std::string& place) const;

  const ImportedModel& program_;
  Options options_;
  Scope* scope_ = nullptr;  // of the node that runs
  int64_t nodes_ = 0;
  int64_t host_elements_ = 0;
  std::unordered_map<const ImportedGraph*, LastReads> last_reads_;
  std::set<std::string> used_contents_;
};

}  // namespace placewright::lowering

#endif  // PLACEWRIGHT_CAPTURE_ONNX_INTERPRETER_H_
