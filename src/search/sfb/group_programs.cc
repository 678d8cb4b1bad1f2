#include "search/sfb/group_programs.h"

#include <algorithm>

namespace placewright {

GroupPrograms::GroupPrograms(const ReplicatedStep& step,
                             const IdVector<GroupId, int32_t>& op_groups, BytesPerSecond bandwidth)
    : step_(step),
      reads_(step.nodes.size()),
      makes_(step.nodes.size()),
      op_of_(step.nodes.size(), -1) {
  made_.program.devices = static_cast<int64_t>(step.devices.size());
  made_.program.bandwidth = bandwidth;
  for (const ReplicatedStep::Node& node : step.nodes) op_group_.push_back(op_groups[node.group]);
  for (size_t i = 0; i < step.tensors.size(); ++i) {
    const ReplicatedStep::Tensor& tensor = step.tensors[i];
    if (tensor.from >= 0) makes_[static_cast<size_t>(tensor.from)].push_back(i);
    for (const int32_t reader : tensor.readers) {
      reads_[static_cast<size_t>(reader)].push_back(i);
    }
  }
}

void GroupPrograms::Visit(int32_t node) {
  int32_t& op = op_of_[static_cast<size_t>(node)];
  if (op >= 0) return;
  op = static_cast<int32_t>(made_.nodes.size());
  made_.nodes.push_back(node);
}

const GroupProgram& GroupPrograms::Make(size_t index) {
  for (const int32_t node : made_.nodes) op_of_[static_cast<size_t>(node)] = -1;
  made_.nodes.clear();
  made_.gradient = step_.gradients[index];
  const ReplicatedStep::Tensor& gradient = step_.tensors[made_.gradient];
  const int32_t own = OpGroup(gradient.from);
  Visit(gradient.from);
  for (size_t next = 0; next < made_.nodes.size(); ++next) {
    const auto node = static_cast<size_t>(made_.nodes[next]);
    for (const size_t i : reads_[node]) {
      const ReplicatedStep::Tensor& tensor = step_.tensors[i];
      if (!tensor.completed && tensor.from >= 0 && OpGroup(tensor.from) == own) Visit(tensor.from);
    }
    for (const size_t i : makes_[node]) {
      for (const int32_t adder : step_.tensors[i].adders) {
        if (OpGroup(adder) == own) Visit(adder);
      }
    }
  }
  SfbProgram& program = made_.program;
  program.gradient = 0;
  program.gradient_bytes = gradient.whole;
  program.exchange = step_.servers ? GradientExchange::kServers : GradientExchange::kAllReduce;
  AddTensors();
  return made_;
}

void GroupPrograms::AddTensors() {
  SfbProgram& program = made_.program;
  program.times.clear();
  program.tensors.clear();
  program.together.clear();
  for (size_t k = 0; k < made_.nodes.size(); ++k) {
    const auto op = static_cast<int32_t>(k);
    const auto node = static_cast<size_t>(made_.nodes[k]);
    program.times.push_back(step_.nodes[node].part);
    for (const size_t i : reads_[node]) {
      const ReplicatedStep::Tensor& tensor = step_.tensors[i];
      if (tensor.completed) continue;
      const int32_t from = tensor.from >= 0 ? op_of_[static_cast<size_t>(tensor.from)] : -1;
      program.tensors.push_back({from, op, tensor.slice});
    }
    if (step_.nodes[node].pinned) program.together.push_back({op, SfbProgram::kOutside});
    for (const size_t i : makes_[node]) {
      for (const int32_t adder : step_.tensors[i].adders) {
        program.together.push_back({op, op_of_[static_cast<size_t>(adder)]});
      }
    }
  }
}

BytesPerSecond BottleneckOf(const Cluster& cluster, const std::vector<DeviceId>& devices) {
  BytesPerSecond lowest(kMaxQuantity);
  for (const DeviceId from : devices) {
    for (const DeviceId to : devices) {
      if (from != to) lowest = std::min(lowest, cluster.route(from, to).bandwidth);
    }
  }
  return lowest;
}

}  // namespace placewright
