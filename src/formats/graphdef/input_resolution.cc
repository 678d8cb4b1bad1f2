#include "formats/graphdef/input_resolution.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <queue>

#include "base/text.h"
#include "formats/graphdef/roles.h"

namespace placewright::graphdef {
namespace {

constexpr size_t kMaxOutputs = 65536;       // of a node that does not list them
constexpr int64_t kMaxTensors = 8'000'000;  // of the file
constexpr int64_t kMaxUnread = 65'536;      // of these, below outputs that are read

class InputResolver {
 public:
  explicit InputResolver(const std::vector<Node>& nodes) : nodes_(nodes) {
    resolved_.data.resize(nodes.size());
    resolved_.control.resize(nodes.size());
    resolved_.outputs.resize(nodes.size(), 0);
  }

  Result<ResolvedInputs> Resolve() {
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (resolved_.by_name.emplace(nodes_[i].name, i).second) continue;
      return MakeError(
          ErrorCode::kDuplicateName,
          fmt::format("nodes[{}] has this name, too", resolved_.by_name.at(nodes_[i].name)),
          PlaceOfNode(i, nodes_[i].name));
    }
    SetListedOutputs();
    for (size_t i = 0; i < nodes_.size(); ++i) {
      for (size_t k = 0; k < nodes_[i].inputs.size(); ++k) PW_RETURN_IF_ERROR(AddInput(i, k));
    }
    PW_RETURN_IF_ERROR(CheckTensors());
    PW_RETURN_IF_ERROR(Sort());
    return std::move(resolved_);
  }

 private:
  // Files that list shapes list them for every node that has outputs.
  void SetListedOutputs() {
    const bool lists = std::any_of(nodes_.begin(), nodes_.end(),
                                   [](const Node& node) { return node.output_shapes.has_value(); });
    for (size_t i = 0; i < nodes_.size(); ++i) {
      const Node& node = nodes_[i];
      if (node.output_shapes) {
        resolved_.outputs[i] = node.output_shapes->size();
      } else {
        resolved_.outputs[i] = lists || ReturnsNothing(node.op) ? 0 : 1;
      }
    }
  }

  // How many outputs the node has at most.
  static size_t MaxOutputs(const Node& node) {
    if (node.output_shapes) return node.output_shapes->size();
    return HasOneOutput(node.op) ? 1 : kMaxOutputs;
  }

  static std::string WhyNoMore(const Node& node) {
    if (node.output_shapes) {
      return fmt::format("its _output_shapes lists {}", node.output_shapes->size());
    }
    if (HasOneOutput(node.op)) return fmt::format("{} has one", Printable(node.op, 80));
    return fmt::format("no node has {} of them", kMaxOutputs);
  }

  // A few bytes ("n:60000") make all outputs below the one that they name.
  Status CheckTensors() const {
    int64_t tensors = 0, unread = 0;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      const auto count = static_cast<int64_t>(resolved_.outputs[i]);
      tensors += count;
      if (!nodes_[i].output_shapes) unread += std::max<int64_t>(0, count - 1);
      for (const Source& source : resolved_.data[i]) {
        if (source.output > 0 && !nodes_[source.node].output_shapes) --unread;
      }
    }
    if (tensors <= kMaxTensors && unread <= kMaxUnread) return Ok();
    return MakeError(
        ErrorCode::kFileTooLarge,
        tensors > kMaxTensors
            ? fmt::format("more than {} outputs of nodes", kMaxTensors)
            : fmt::format("more than {} outputs of nodes that nothing lists or reads", kMaxUnread),
        "", "Check that the file is what it claims to be.");
  }

  Status AddInput(size_t reader, size_t position) {
    const std::string& input = nodes_[reader].inputs[position];
    const auto bad = [&](ErrorCode code, std::string message) {
      return MakeError(
          code, std::move(message),
          fmt::format("{}.input[{}]", PlaceOfNode(reader, nodes_[reader].name), position));
    };
    const bool control = input.starts_with('^');
    std::string_view name = std::string_view(input).substr(control ? 1 : 0);
    size_t output = 0;
    const size_t colon = control ? std::string_view::npos : name.rfind(':');
    if (colon != std::string_view::npos) {
      const std::string_view digits = name.substr(colon + 1);
      const auto [end, error] =
          std::from_chars(digits.data(), digits.data() + digits.size(), output);
      if (error != std::errc() || end != digits.data() + digits.size() || digits.empty()) {
        return bad(ErrorCode::kField, fmt::format("\"{}\" is neither NODE, NODE:NUMBER nor ^NODE",
                                                  Printable(input, 120)));
      }
      name = name.substr(0, colon);
    }
    const auto found = resolved_.by_name.find(name);
    if (found == resolved_.by_name.end()) {
      return bad(ErrorCode::kUnknownName,
                 fmt::format("there is no node \"{}\"{}", Printable(name, 120), NearNodes(name)));
    }
    const size_t source = found->second;
    if (control) {
      ++resolved_.control_edges;
      resolved_.control[reader].push_back(source);
      return Ok();
    }
    if (IsMerge(nodes_[reader].op) && IsNextIteration(nodes_[source].op)) {
      resolved_.loops.push_back(reader);
      return Ok();
    }
    if (output >= MaxOutputs(nodes_[source])) {
      return bad(ErrorCode::kUnknownName,
                 fmt::format("\"{}\" has no output {}: {}", Printable(name, 120), output,
                             WhyNoMore(nodes_[source])));
    }
    resolved_.outputs[source] = std::max(resolved_.outputs[source], output + 1);
    resolved_.data[reader].push_back({source, output});
    return Ok();
  }

  std::string NearNodes(std::string_view name) const {
    constexpr size_t kMaxCandidates = 20000;  // each costs an edit distance
    std::vector<std::string> candidates;
    for (size_t i = 0; i < std::min(nodes_.size(), kMaxCandidates); ++i) {
      candidates.push_back(nodes_[i].name);
    }
    return DidYouMean(name.substr(0, 1000), candidates);
  }

  template <class Visit>
  void ForEachProducer(size_t node, Visit visit) const {
    for (const Source& source : resolved_.data[node]) visit(source.node);
    for (const size_t source : resolved_.control[node]) visit(source);
  }

  Status Sort() {
    std::vector<std::vector<size_t>> readers(nodes_.size());
    std::vector<size_t> waits(nodes_.size(), 0);
    std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      ForEachProducer(i, [&](size_t producer) {
        readers[producer].push_back(i);
        ++waits[i];
      });
      if (waits[i] == 0) ready.push(i);
    }
    while (!ready.empty()) {
      const size_t node = ready.top();
      ready.pop();
      resolved_.order.push_back(node);
      for (const size_t reader : readers[node]) {
        if (--waits[reader] == 0) ready.push(reader);
      }
    }
    return resolved_.order.size() == nodes_.size() ? Ok() : Status(Cycle(waits));
  }

  // Every node that waits has a producer that waits; the way back through them ends in a cycle.
  Error Cycle(const std::vector<size_t>& waits) const {
    size_t node = 0;
    while (waits[node] == 0) ++node;
    std::vector<size_t> path;
    std::vector<char> seen(nodes_.size(), 0);
    while (!seen[node]) {
      seen[node] = 1;
      path.push_back(node);
      size_t next = node;
      ForEachProducer(node, [&](size_t producer) {
        if (waits[producer] > 0) next = producer;
      });
      node = next;
    }
    path.erase(path.begin(), std::find(path.begin(), path.end(), node));
    std::reverse(path.begin(), path.end());
    std::rotate(path.begin(), std::min_element(path.begin(), path.end()), path.end());
    std::string text;
    constexpr size_t kMaxNamed = 8;
    for (size_t i = 0; i < std::min(path.size(), kMaxNamed); ++i) {
      text += fmt::format("{} -> ", Printable(nodes_[path[i]].name, 80));
    }
    if (path.size() > kMaxNamed) text += fmt::format("{} more -> ", path.size() - kMaxNamed);
    return MakeError(ErrorCode::kGraphCycle,
                     fmt::format("nodes need each other's results: {}{}", text,
                                 Printable(nodes_[path.front()].name, 80)),
                     PlaceOfNode(path.front(), nodes_[path.front()].name),
                     "Only loops through NextIteration and Merge may lead back; unroll others.");
  }

  const std::vector<Node>& nodes_;
  ResolvedInputs resolved_;
};

}  // namespace

Result<ResolvedInputs> ResolveInputs(const std::vector<Node>& nodes) {
  return InputResolver(nodes).Resolve();
}

}  // namespace placewright::graphdef
