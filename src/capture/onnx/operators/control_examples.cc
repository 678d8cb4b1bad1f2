#include "capture/onnx/operators/operator_examples.h"

namespace placewright::lowering {
namespace {

// The graph's inputs are named as its first node reads them.
ImportedGraph Graph(std::vector<std::string> inputs, std::vector<ImportedNode> nodes,
                    std::vector<std::string> outputs) {
  ImportedGraph graph;
  graph.inputs = std::move(inputs);
  graph.nodes = std::move(nodes);
  graph.outputs = std::move(outputs);
  return graph;
}

Attributes Branches() {
  return {{"then_branch", GraphOf(Graph({}, {NodeOf("Neg", {"x1"}, {"a"})}, {"a"}))},
          {"else_branch", GraphOf(Graph({}, {NodeOf("Exp", {"x1"}, {"a"})}, {"a"}))}};
}

// s -> s + s, collecting s + s; goes on while the round's number is below `last`.
Attributes Doubling(int64_t last) {
  return {
      {"body", GraphOf(Graph({"i", "go", "s"},
                             {NodeOf("Constant", {}, {"last"}, {{"value_int", Int(last)}}),
                              NodeOf("Less", {"i", "last"}, {"on"}),
                              NodeOf("Add", {"s", "s"}, {"t"}), NodeOf("Identity", {"t"}, {"u"})},
                             {"on", "t", "u"}))}};
}

// s -> s + x of the step, collecting the sum so far.
Attributes Summing() {
  return {
      {"body", GraphOf(Graph({"s", "x"},
                             {NodeOf("Add", {"s", "x"}, {"t"}), NodeOf("Identity", {"t"}, {"u"})},
                             {"t", "u"}))},
      {"num_scan_inputs", Int(1)}};
}

// No example can be given a list: nodes in front of the operator make one of x0 and x1, nodes
// behind it take its result apart.
Example Lists(const char* type, std::vector<ImportedNode> nodes, Given result) {
  nodes.insert(nodes.begin(), NodeOf("SequenceConstruct", {"x0", "x1"}, {"list"}));
  return {type, {F({1}, {1}), F({1}, {2}), KI({0})}, {std::move(result)}, {}, 17, false, nodes};
}

std::vector<Example> ListExamples() {
  const Attributes along = {{"axis", Int(0)}};
  const ImportedNode joined = NodeOf("ConcatFromSequence", {"other"}, {"y0"}, along);
  return {
      Lists("SequenceConstruct", {NodeOf("SequenceLength", {"list"}, {"y0"})}, I({}, {2})),
      Lists("SequenceLength", {NodeOf("SequenceLength", {"list"}, {"y0"})}, I({}, {2})),
      Lists("ConcatFromSequence", {NodeOf("ConcatFromSequence", {"list"}, {"y0"}, along)},
            F({2}, {1, 2})),
      Lists("ConcatFromSequence",
            {NodeOf("ConcatFromSequence", {"list"}, {"y0"},
                    {{"axis", Int(-1)}, {"new_axis", Int(1)}})},
            F({1, 2}, {1, 2})),
      Lists("SequenceAt", {NodeOf("SequenceAt", {"list", "x2"}, {"y0"})}, F({1}, {1})),
      Lists("SequenceErase", {NodeOf("SequenceErase", {"list", "x2"}, {"other"}), joined},
            F({1}, {2})),
      Lists("SequenceInsert", {NodeOf("SequenceInsert", {"list", "x1", "x2"}, {"other"}), joined},
            F({3}, {2, 1, 2})),
      Lists("SequenceEmpty",
            {NodeOf("SequenceEmpty", {}, {"none"}),
             NodeOf("SequenceInsert", {"none", "x1"}, {"other"}), joined},
            F({1}, {2})),
      // Three, parted into one and two.
      {"SplitToSequence",
       {F({3}, {1, 2, 3}), KI({1, 2}), Known(I({}, {1}))},
       {F({2}, {2, 3})},
       {},
       17,
       false,
       {NodeOf("SplitToSequence", {"x0", "x1"}, {"list"}),
        NodeOf("SequenceAt", {"list", "x2"}, {"y0"})}},
  };
}

}  // namespace

std::vector<Example> ControlExamples() {
  Attributes backwards = Summing();
  backwards["scan_input_directions"] = IntList({1});
  backwards["scan_output_directions"] = IntList({1});
  std::vector<Example> all = {
      // `If` reads x1 from around it.
      {"If", {Known(B({}, {1})), F({1}, {2})}, {F({1}, {-2})}, Branches()},
      {"If", {Known(B({}, {0})), F({1}, {0})}, {F({1}, {1})}, Branches()},
      {"Loop",
       {Known(I({}, {3})), None(), F({1}, {1})},
       {F({1}, {8}), F({3, 1}, {2, 4, 8})},
       Doubling(0)},
      // The condition is false in the third round, after which it ends.
      {"Loop",
       {None(), Known(B({}, {1})), F({1}, {1})},
       {F({1}, {8}), F({3, 1}, {2, 4, 8})},
       Doubling(2)},
      {"Scan", {F({}, {1}), F({2}, {10, 100})}, {F({}, {111}), F({2}, {11, 111})}, Summing()},
      {"Scan", {F({}, {1}), F({2}, {10, 100})}, {F({}, {111}), F({2}, {111, 101})}, backwards},
  };
  for (const Example& example : ListExamples()) all.push_back(example);
  return all;
}

}  // namespace placewright::lowering
