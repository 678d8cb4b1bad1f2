// Blocks of a model that are equal forward must be equal backward and in the update. For tests.
#ifndef PLACEWRIGHT_GRAPH_TEST_BLOCKS_H_
#define PLACEWRIGHT_GRAPH_TEST_BLOCKS_H_

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "graph/ownership/module_path.h"

namespace placewright {

// Blocks are modules whose last component ends in a number ("7", "layer7"); those of one parent
// whose names differ in it alone are compared. Two blocks are equal if they run the same forward
// ops in the same of their modules and in the same order and, because autograd makes ops by these
// three,
//   * the same tensors from outside depend on a parameter: no gradient is made for others. (The
//     input of the first layer may be the model's.)
//   * of the same of these, all ops that read them lie in the block: the gradients of a tensor that
//     n ops read are added n - 1 times, where they are (module_attribution.h).
//   * as many ops outside of the block read each tensor that it makes, where the block adds the
//     gradients up.
class BlockCensus {
 public:
  explicit BlockCensus(const Graph& graph)
      : graph_(graph), differentiable_(graph.tensor_count(), false) {
    Follow();
    for (OpId id : graph.ops()) {
      const std::string& path = graph.module_path(graph.op(id).module);
      for (const std::string& block : BlocksOf(path)) Add(id, block, path.substr(block.size()));
    }
    Compare();
  }

  size_t compared() const { return compared_; }  // blocks that have an equal one
  // "m.layers: 0 and 7 differ in backward .attn: 12, 9"
  const std::vector<std::string>& differences() const { return differences_; }

 private:
  using Counts = std::map<std::pair<std::string, std::string>, int>;  // by phase, module
  struct Block {
    std::string forward;  // all that two equal blocks have in common
    Counts counts;
  };

  void Follow() {
    for (TensorId id : graph_.tensors()) {
      differentiable_[id] =
          graph_.storage(graph_.tensor(id).storage).kind == TensorKind::kParameter;
    }
    for (OpId id : graph_.topological_order()) {
      const Op& op = graph_.op(id);
      bool any = false;
      for (TensorId input : op.inputs) any = any || differentiable_[input];
      for (TensorId output : op.outputs) differentiable_[output] = any;
    }
  }

  static bool EndsInNumber(std::string_view text) {
    return !text.empty() && text.back() >= '0' && text.back() <= '9';
  }
  static std::vector<std::string> BlocksOf(const std::string& path) {
    std::vector<std::string> blocks;
    for (size_t begin = 0; begin <= path.size();) {
      const size_t end = std::min(path.find('.', begin), path.size());
      if (EndsInNumber(std::string_view(path).substr(begin, end - begin))) {
        blocks.push_back(path.substr(0, end));
      }
      begin = end + 1;
    }
    return blocks;
  }

  bool IsIn(OpId id, const std::string& block) const {
    const std::string& path = graph_.module_path(graph_.op(id).module);
    return path == block || path.starts_with(block + ".");
  }

  void Add(OpId id, const std::string& block, const std::string& module) {
    const Op& op = graph_.op(id);
    Block& entry = blocks_[block];
    ++entry.counts[{std::string(ToString(op.phase)), module}];
    if (op.phase != Phase::kForward) return;
    std::string& text = entry.forward;
    text += module + " " + std::string(op.type);
    for (TensorId input : op.inputs) {
      const OpId producer = graph_.tensor(input).producer;
      const bool inside = producer.valid() && IsIn(producer, block);
      text += inside ? " i" : !differentiable_[input] ? " n" : AddsUp(block, input) ? " s" : " d";
    }
    for (TensorId output : op.outputs) {
      const std::string& maker = graph_.module_path(op.module);
      int readers = 0;
      for (OpId reader : ReadersOf(output)) readers += IsIn(reader, block) ? 0 : 1;
      const bool here = readers == 0 || IsWithinModule(maker, CommonModuleOfReaders(output));
      text += " " + std::to_string(here ? readers : 0);
    }
    text += "\n";
  }

  std::vector<OpId> ReadersOf(TensorId tensor) const {
    std::vector<OpId> readers;
    for (OpId consumer : graph_.consumers(graph_.tensor(tensor).producer)) {
      const Op& op = graph_.op(consumer);
      const bool reads = std::find(op.inputs.begin(), op.inputs.end(), tensor) != op.inputs.end();
      if (op.phase == Phase::kForward && reads) readers.push_back(consumer);
    }
    return readers;
  }

  std::string_view CommonModuleOfReaders(TensorId tensor) const {
    std::string_view common;
    bool first = true;
    for (OpId reader : ReadersOf(tensor)) {
      const std::string_view path = graph_.module_path(graph_.op(reader).module);
      common = first ? path : CommonModule(common, path);
      first = false;
    }
    return common;
  }

  // Whether the gradients of a tensor from outside are added up in the block.
  bool AddsUp(const std::string& block, TensorId tensor) const {
    return graph_.tensor(tensor).producer.valid() &&
           IsWithinModule(CommonModuleOfReaders(tensor), block);
  }

  void Compare() {
    std::map<std::pair<std::string, std::string>, std::pair<std::string, const Block*>> first;
    std::set<const Block*> counted;
    for (const auto& [path, block] : blocks_) {
      const std::string stem = path.substr(0, path.find_last_not_of("0123456789") + 1);
      const auto [it, added] = first.try_emplace({stem, block.forward}, path, &block);
      if (added) continue;
      compared_ += counted.insert(it->second.second).second ? 2 : 1;
      Differ(it->second.first, *it->second.second, path, block);
    }
  }

  void Differ(const std::string& path_a, const Block& a, const std::string& path_b,
              const Block& b) {
    const auto count = [](const Counts& counts, const Counts::key_type& key) {
      const auto found = counts.find(key);
      return found == counts.end() ? 0 : found->second;
    };
    for (const Counts* counts : {&a.counts, &b.counts}) {
      for (const auto& [key, unused] : *counts) {
        const int in_a = count(a.counts, key), in_b = count(b.counts, key);
        if (in_a == in_b) continue;
        differences_.push_back(path_a + " and " + path_b + " differ in " + key.first + " " +
                               key.second + ": " + std::to_string(in_a) + ", " +
                               std::to_string(in_b));
      }
    }
  }

  const Graph& graph_;
  IdVector<TensorId, bool> differentiable_;
  std::map<std::string, Block> blocks_;  // by path
  size_t compared_ = 0;
  std::vector<std::string> differences_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_GRAPH_TEST_BLOCKS_H_
