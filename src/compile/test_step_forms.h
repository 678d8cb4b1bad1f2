// For tests: a compiled step as a graph and as arrays (step_arrays.h), which have to be the same step.
#ifndef PLACEWRIGHT_COMPILE_TEST_STEP_FORMS_H_
#define PLACEWRIGHT_COMPILE_TEST_STEP_FORMS_H_

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "compile/array_changes.h"
#include "compile/array_writer.h"
#include "compile/rewrites/fetching.h"
#include "compile/rewrites/fuse_all_reduces.h"
#include "compile/rewrites/separate_gradients.h"
#include "compile/test_steps.h"

namespace placewright {

// What both forms have of a step, op by op: where, when and what it is, which bytes of which storages it reads and
// makes, who wrote these, and what it waits for. Storages and collectives are numbered as they come: names are the
// graph's alone, and in arrays tensors that became parts of a buffer stay other tensors.
class FormText {
 public:
  void Begin(const std::string& device, Phase phase, std::string_view type) {
    text_ += fmt::format("{} {} {}", device, ToString(phase), type);
  }
  void Read(const std::vector<int64_t>& shape, StorageId storage, Bytes offset, Bytes length,
            size_t version, OpId writer) {
    AddBytes(shape, storage, offset, length);
    text_ += fmt::format(" v{}", version);
    if (writer.valid()) text_ += fmt::format(" by {}", ops_.at(writer));
  }
  void Make(const std::vector<int64_t>& shape, StorageId storage, Bytes offset, Bytes length) {
    text_ += " ->";
    AddBytes(shape, storage, offset, length);
  }
  void Join(CollectiveId id) {
    if (id.valid()) text_ += fmt::format(" in {}", NumberOf(collectives_, id));
  }
  // Of what there is.
  void Hold(const std::vector<StorageId>& held) {
    std::set<size_t> numbers;
    for (const StorageId id : held) {
      if (const auto at = storages_.find(id); at != storages_.end()) numbers.insert(at->second);
    }
    if (!numbers.empty()) text_ += fmt::format(" holds {}", fmt::join(numbers, " "));
  }
  void End(OpId op, OpId origin, const std::vector<OpId>& after) {
    text_ += fmt::format(" of {}", origin.value());
    for (const OpId earlier : after) text_ += fmt::format(" after {}", ops_.at(earlier));
    NumberOf(ops_, op);
    text_ += "\n";
  }
  // With how many waits there are in all.
  std::string Finish(size_t waits) const { return fmt::format("{}{} waits\n", text_, waits); }

 private:
  // "[4 6] s3+24/96": 96 bytes from byte 24 of storage 3.
  void AddBytes(const std::vector<int64_t>& shape, StorageId storage, Bytes offset, Bytes length) {
    text_ += fmt::format(" [{}] s{}+{}/{}", fmt::join(shape, " "), NumberOf(storages_, storage),
                         offset.count, length.count);
  }
  template <class Key>
  static size_t NumberOf(std::map<Key, size_t>& numbers, Key key) {
    return numbers.emplace(key, numbers.size()).first->second;
  }

  std::string text_;
  std::map<StorageId, size_t> storages_;
  std::map<CollectiveId, size_t> collectives_;
  std::map<OpId, size_t> ops_;
};

inline std::string FormOf(const DistributedStep& step, const Cluster& cluster) {
  FormText text;
  size_t waits = 0;
  const Csr<OpId, TensorId> held_by = step.graph.Held();
  for (const OpId id : step.graph.ops()) {
    const Op& op = step.graph.op(id);
    waits += op.after.size();
    text.Begin(cluster.device(step.placement[id]).name, op.phase, op.type);
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      const Tensor& tensor = step.graph.tensor(op.inputs[i]);
      const auto version = static_cast<size_t>(op.input_versions[i]);
      text.Read(tensor.shape, tensor.storage, tensor.offset, tensor.length, version,
                step.graph.storage(tensor.storage).versions[version].writer);
    }
    for (const TensorId output : op.outputs) {
      const Tensor& tensor = step.graph.tensor(output);
      text.Make(tensor.shape, tensor.storage, tensor.offset, tensor.length);
    }
    text.Join(step.graph.collective_of(id));
    std::vector<StorageId> held;
    for (const TensorId tensor : held_by[id]) held.push_back(step.graph.tensor(tensor).storage);
    text.Hold(held);
    text.End(id, step.origin[id], op.after);
  }
  return text.Finish(waits);
}

inline std::string FormOf(const StepArrays& arrays, const PartPrices& prices,
                          const Cluster& cluster) {
  FormText text;
  for (const OpId id : arrays.order) {
    const ArrayOp& op = arrays.ops[id];
    text.Begin(cluster.device(op.device).name, op.phase, prices.part(op.part).op.type);
    for (const ArrayRead& read : arrays.ReadsOf(op)) {
      const ArrayTensor& tensor = arrays.tensors[read.tensor];
      size_t version = 0;
      ArrayVersionId at = arrays.storages[tensor.storage].first;
      for (; at.valid() && at != read.version; at = arrays.versions[at].next) ++version;
      EXPECT_TRUE(at.valid());  // it is one of the storage's
      text.Read(prices.type(tensor.type).shape, tensor.storage, tensor.offset, tensor.length,
                version, arrays.versions[read.version].writer);
    }
    for (const TensorId made : arrays.MadeBy(op)) {
      const ArrayTensor& tensor = arrays.tensors[made];
      text.Make(prices.type(tensor.type).shape, tensor.storage, tensor.offset, tensor.length);
    }
    text.Join(op.collective);
    std::vector<StorageId> held;
    for (const auto& [holder, read] : arrays.holds) {
      if (holder == id) held.push_back(arrays.tensors[read.tensor].storage);
    }
    text.Hold(held);
    std::vector<OpId> after;
    for (const auto& [first, second] : arrays.after) {
      if (second == id) after.push_back(first);
    }
    text.End(id, op.origin, after);
  }
  return text.Finish(arrays.after.size());
}

inline StepSwitches Passes(bool apart, int64_t fusion) {
  StepSwitches switches;
  switches.gradients_apart = apart;
  switches.fusion = Bytes(fusion);
  return switches;
}

// One step, its arrays written again for each layout.
class BothForms {
 public:
  explicit BothForms(const TestStep& step, const CompileOptions& options = {})
      : step_(step),
        options_(options),
        prices_(step.cluster(), CostOptions(), step.graph().batch()),
        writer_(step.graph(), step.axes(), options, prices_) {}

  std::string Graph(const Layouts& layouts, const StepSwitches& switches) const {
    CompileOptions options = options_;
    options.switches.gradients_apart = switches.gradients_apart;
    options.switches.fusion = switches.fusion;
    const auto made = Compile(step_.graph(), step_.axes(), layouts, step_.cluster(), options);
    return made.ok() ? FormOf(made.value(), step_.cluster()) : made.error().ToString();
  }
  std::string Arrays(const Layouts& layouts, const StepSwitches& switches) {
    const Status written = writer_.Write(Grown(layouts));
    if (!written.ok()) return written.error().ToString();
    prices_.PriceNew();
    const std::string before = FormOf(writer_.arrays(), prices_, step_.cluster());
    std::string text;
    {
      ArrayChanges changes(writer_);
      if (*switches.gradients_apart) SeparateGradients(prices_, writer_, changes);
      if (switches.fusion > Bytes(0)) FuseAllReduces(switches.fusion, prices_, writer_, changes);
      PassOverFetching(options_.switches, step_.graph(), prices_, writer_, changes);
      text = FormOf(writer_.arrays(), prices_, step_.cluster());
    }
    EXPECT_EQ(FormOf(writer_.arrays(), prices_, step_.cluster()), before);
    return text;
  }
  // Returns the arrays'.
  std::string ExpectSame(const Layouts& layouts, const StepSwitches& switches) {
    const std::string arrays = Arrays(layouts, switches);
    EXPECT_EQ(arrays, Graph(layouts, switches));
    return arrays;
  }

 private:
  // Layouts only grow from call to call.
  const Layouts& Grown(const Layouts& more) {
    const size_t before = layouts_.layouts.size();
    layouts_.layouts.insert(layouts_.layouts.end(), more.layouts.begin(), more.layouts.end());
    layouts_.of_group = more.of_group;
    for (GroupId group : IdRange<GroupId>(more.of_group.size())) {
      layouts_.of_group[group] = LayoutId(more.of_group[group].index() + before);
    }
    return layouts_;
  }

  const TestStep& step_;
  const CompileOptions options_;
  PartPrices prices_;
  Layouts layouts_;
  ArrayWriter writer_;
};

// The compiled step as the graph has it; the arrays' is held to it.
inline std::string InBothForms(const TestStep& step, std::string_view layouts,
                               const StepSwitches& switches) {
  BothForms forms(step);
  (void)forms.ExpectSame(step.LayoutsOf(layouts), switches);
  return step.Compiled(layouts, {.switches = switches});
}

}  // namespace placewright

#endif  // PLACEWRIGHT_COMPILE_TEST_STEP_FORMS_H_
