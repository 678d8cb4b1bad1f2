// Placeto's simulator, slowly: written straight from docs/simulator-placeto.md with heaps, names
// and maps, to hold the fast one to. The numbers are those of the rules.
#ifndef PLACEWRIGHT_TESTS_SIMULATOR_PLACETO_REFERENCE_H_
#define PLACEWRIGHT_TESTS_SIMULATOR_PLACETO_REFERENCE_H_

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "plan/placeto_case.h"

namespace placewright {

class PlacetoReference {
 public:
  explicit PlacetoReference(const PlacetoCase& problem) : problem_(problem) {
    for (const PlacetoOp& op : problem.ops) ops_[op.name].op = &op;
    for (size_t i = 0; i < problem.ops.size(); ++i) {  // consumers in the order of the ops
      ops_[problem.ops[i].name].device = problem.devices[problem.placement[i]];
      for (const PlacetoEdge& edge : problem.edges) {
        if (edge.to == static_cast<int32_t>(i)) AddEdge(edge);
      }
    }
  }

  void Run() {
    for (const PlacetoOp& op : problem_.ops) {  // rule 3
      if (ops_[op.name].parents.empty()) {
        Enqueue(problem_.params.init_offset, "run_dev", ops_[op.name].device, {op.name, 0, {}});
      }
    }
    while (!events_.empty()) {
      const auto [t, kind, payload] = events_.top();
      events_.pop();
      run_time = std::max(run_time, t);
      if (kind == "remove_dependency") {
        RemoveDependency(t, payload[0], payload[1]);
      } else if (queues_[payload[0]].empty()) {
        in_queue_.erase(payload[0]);
      } else if (kind == "run_dev") {
        RunDevice(t, payload[0]);
      } else {
        RunBus(t, payload[0]);
      }
    }
  }

  double run_time = 0;
  std::map<std::string, std::vector<double>> starts;  // by op; one unless something is wrong

 private:
  struct Node {
    const PlacetoOp* op = nullptr;
    std::string device;
    std::set<std::string> parents;
    std::vector<std::pair<std::string, int32_t>> children;  // name, output
  };
  using Element = std::tuple<std::string, double, std::vector<std::string>>;
  using Item = std::pair<std::pair<double, int>, Element>;
  using Event = std::tuple<double, std::string, std::vector<std::string>>;
  template <class T>
  using Heap = std::priority_queue<T, std::vector<T>, std::greater<T>>;

  void AddEdge(const PlacetoEdge& edge) {
    const std::string& child = problem_.ops[edge.to].name;
    Node& parent = ops_[problem_.ops[edge.from].name];
    ops_[child].parents.insert(parent.op->name);
    for (auto& [name, output] : parent.children) {
      if (name != child) continue;
      output = edge.output;
      return;
    }
    parent.children.emplace_back(child, edge.output);
  }

  void Enqueue(double t, const std::string& kind, const std::string& device, Element element) {
    queues_[device].push({{t, ++counter_}, std::move(element)});
    if (in_queue_.insert(device).second) events_.push({t, kind, {device}});
  }

  void RunDevice(double t, const std::string& device) {
    const std::string name = std::get<0>(queues_[device].top().second);
    queues_[device].pop();
    const Node& node = ops_[name];
    starts[name].push_back(t);
    const double end = t + node.op->cost_us;
    events_.push({end + (node.op->no_rest ? 0 : problem_.params.delta1), "run_dev", {device}});
    std::vector<std::pair<int32_t, std::vector<std::string>>> groups;
    for (const auto& [child, output] : node.children) {
      if (ops_[child].device == device) {
        events_.push({end, "remove_dependency", {name, child}});
        continue;
      }
      auto it = std::find_if(groups.begin(), groups.end(),
                             [&, o = output](const auto& group) { return group.first == o; });
      if (it == groups.end()) it = groups.insert(it, {output, {}});
      it->second.push_back(child);
    }
    for (const auto& [output, children] : groups) {
      const std::vector<double>& bytes = node.op->output_bytes;
      const double size = output < static_cast<int32_t>(bytes.size()) ? bytes[output] : 0;
      Enqueue(end, "run_bus", "/bus" + device,
              {name, size / problem_.params.transfer_speed, children});
    }
  }

  void RunBus(double t, const std::string& bus) {
    const auto [at, element] = queues_[bus].top();
    if (at.first > t) {
      events_.push({at.first, "run_bus", {bus}});
      return;
    }
    queues_[bus].pop();
    const auto& [name, delay, children] = element;
    for (const std::string& child : children) {
      events_.push({t + delay, "remove_dependency", {name, child}});
    }
    events_.push({t + delay + problem_.params.delta2, "run_bus", {bus}});
  }

  void RemoveDependency(double t, const std::string& parent, const std::string& child) {
    Node& node = ops_[child];
    node.parents.erase(parent);
    if (node.parents.empty()) Enqueue(t, "run_dev", node.device, {child, 0, {}});
  }

  const PlacetoCase& problem_;
  std::map<std::string, Node> ops_;
  int counter_ = 0;
  Heap<Event> events_;
  std::map<std::string, Heap<Item>> queues_;
  std::set<std::string> in_queue_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_TESTS_SIMULATOR_PLACETO_REFERENCE_H_
