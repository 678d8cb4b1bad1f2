// Short notation for hand-made graphs in tests of this module. All tensors are f32.
#ifndef PLACEWRIGHT_GRAPH_TEST_GRAPHS_H_
#define PLACEWRIGHT_GRAPH_TEST_GRAPHS_H_

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "graph/graph_builder.h"

namespace placewright {

struct GraphTestPeer {
  static GraphData& Data(Graph& graph) { return graph.data_; }
};

inline Value Int(int64_t v) { return Value(v); }
inline Value Ref(int32_t v) { return Value(InputRef{v}); }
inline Value Ints(const std::vector<int64_t>& numbers) {
  Value::List list;
  for (int64_t number : numbers) list.push_back(Value(number));
  return Value(std::move(list));
}

// Adds ops one after the other; a failure to build fails the test.
class TinyGraph {
 public:
  using Shape = std::vector<int64_t>;

  TensorId Input(const std::string& name, TensorKind kind, Shape shape) {
    Result<TensorId> id = builder_.AddInput(name, kind, DType::kF32, std::move(shape));
    EXPECT_TRUE(id.ok());
    return id.ok() ? id.value() : TensorId();
  }
  // phase and module of the ops that follow
  TinyGraph& In(Phase phase, const std::string& module = "") {
    phase_ = phase;
    module_ = module;
    return *this;
  }
  TensorId Fresh(const std::string& name, std::vector<TensorId> inputs, Shape shape = {4}) {
    return Add(name, "aten.test.default", std::move(inputs), std::move(shape), AliasKind::kFresh);
  }
  TensorId View(const std::string& name, const std::string& type, TensorId base, Shape shape,
                std::vector<Value> args = {}) {
    args.insert(args.begin(), Ref(0));
    return Add(name, type, {base}, std::move(shape), AliasKind::kView, std::move(args));
  }
  // Writes inputs[0] and returns it.
  TensorId InPlace(const std::string& name, std::vector<TensorId> inputs, Shape shape = {4}) {
    return Add(name, "aten.test_.default", std::move(inputs), std::move(shape),
               AliasKind::kInPlace);
  }
  // Writes inputs[written] and returns a fresh tensor.
  TensorId Writing(const std::string& name, std::vector<TensorId> inputs, int32_t written,
                   Shape shape = {4}) {
    writes_ = {written};
    return Fresh(name, std::move(inputs), std::move(shape));
  }
  TinyGraph& After(std::vector<std::string> ops) {  // of the next op
    after_ = std::move(ops);
    return *this;
  }
  GraphBuilder& builder() { return builder_; }

  Result<Graph> TryBuild() { return std::move(builder_).Build(); }
  Graph Build() {
    Result<Graph> graph = TryBuild();
    EXPECT_TRUE(graph.ok()) << graph.error().ToString();
    return graph.ok() ? std::move(graph).Take() : Graph();
  }

 private:
  TensorId Add(const std::string& name, const std::string& type, std::vector<TensorId> inputs,
               Shape shape, AliasKind alias, std::vector<Value> args = {}) {
    OpSpec spec;
    spec.name = name;
    spec.type = type;
    spec.phase = phase_;
    spec.module = module_;
    spec.inputs = std::move(inputs);
    spec.args = std::move(args);
    spec.after = std::exchange(after_, {});
    spec.writes = std::exchange(writes_, {});
    OutputSpec output;
    output.name = name;
    output.shape = std::move(shape);
    output.alias = alias;
    output.alias_of = alias == AliasKind::kFresh ? -1 : 0;
    spec.outputs.push_back(std::move(output));
    Result<std::vector<TensorId>> ids = builder_.AddOp(std::move(spec));
    EXPECT_TRUE(ids.ok()) << ids.error().ToString();
    return ids.ok() ? ids.value()[0] : TensorId();
  }

  GraphBuilder builder_{"tiny", "aten"};
  Phase phase_ = Phase::kForward;
  std::string module_;
  std::vector<std::string> after_;
  std::vector<int32_t> writes_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_GRAPH_TEST_GRAPHS_H_
