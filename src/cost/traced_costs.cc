#include "cost/traced_costs.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <tuple>

#include "cost/signature.h"

namespace placewright {
namespace {

// Ops of ATen that run under another name on GPUs, or whose caller's name is the one that traces have.
constexpr std::array<std::pair<std::string_view, std::string_view>, 10> kOtherNames = {{
    {"convolution", "cudnn_convolution"},
    {"convolution", "_convolution"},
    {"convolution_backward", "cudnn_convolution_backward"},
    {"native_batch_norm", "cudnn_batch_norm"},
    {"native_batch_norm", "_batch_norm_impl_index"},
    {"native_batch_norm_backward", "cudnn_batch_norm_backward"},
    {"native_batch_norm_backward", "_batch_norm_impl_index_backward"},
    {"native_layer_norm", "layer_norm"},
    {"_to_copy", "to"},
    {"native_dropout", "dropout"},
}};

// "aten.addmm.default" -> "aten::addmm", and what else it may be called; other types as they are.
std::vector<std::string> TracedNames(std::string_view type) {
  constexpr std::string_view kAten = "aten.";
  if (!type.starts_with(kAten)) return {std::string(type)};
  std::string_view base = type.substr(kAten.size());
  base = base.substr(0, base.find('.'));
  std::vector<std::string> names = {"aten::" + std::string(base)};
  for (const auto& [op, other] : kOtherNames) {
    if (op == base) names.push_back("aten::" + std::string(other));
  }
  return names;
}

void AddInputs(const Graph& graph, const Op& op, const Value& value,
               std::vector<TracedTensor>& inputs) {
  if (const InputRef* input = value.AsInput()) {
    const Tensor& tensor = graph.tensor(op.inputs[static_cast<size_t>(input->index)]);
    inputs.push_back({tensor.dtype, tensor.shape});
  } else if (const Value::List* list = value.AsList()) {
    for (const Value& item : *list) AddInputs(graph, op, item, inputs);
  }
}

std::vector<TracedTensor> InputsOf(const Graph& graph, const Op& op) {
  std::vector<TracedTensor> inputs;
  for (const Value& value : op.args) AddInputs(graph, op, value, inputs);
  if (!op.args.empty()) return inputs;
  for (const TensorId id : op.inputs) {
    inputs.push_back({graph.tensor(id).dtype, graph.tensor(id).shape});
  }
  return inputs;
}

bool AreTheSame(const TracedTensor& wanted, const TracedTensor& traced) {
  return wanted.shape == traced.shape && (!traced.dtype || wanted.dtype == traced.dtype);
}

// `longer`: the traced op may take more behind.
bool Agree(const std::vector<TracedTensor>& wanted, const std::vector<TracedTensor>& traced,
           bool longer) {
  if (wanted.size() <= traced.size() && (longer || wanted.size() == traced.size()) &&
      std::equal(wanted.begin(), wanted.end(), traced.begin(), AreTheSame)) {
    return true;
  }
  // Without the numbers that PyTorch made tensors of.
  std::vector<TracedTensor> tensors;
  for (const TracedTensor& one : traced) {
    if (!one.shape.empty()) tensors.push_back(one);
  }
  return tensors.size() < traced.size() &&
         std::equal(wanted.begin(), wanted.end(), tensors.begin(), tensors.end(), AreTheSame);
}

// What is wanted of an op that may have been run without some of its weights among the inputs.
struct Wanted {
  std::vector<TracedTensor> inputs, outputs;
  std::vector<bool> weight;  // of each input: it may be missing
};

Wanted WantedOf(const Graph& graph, const Op& op) {
  Wanted wanted;
  for (const TensorId id : op.inputs) {
    const Tensor& tensor = graph.tensor(id);
    wanted.inputs.push_back({tensor.dtype, tensor.shape});
    const bool given = tensor.kind == TensorKind::kParameter ||
                       tensor.kind == TensorKind::kBuffer || tensor.kind == TensorKind::kConstant;
    wanted.weight.push_back(given && !tensor.producer.valid());
  }
  for (const TensorId id : op.outputs) {
    wanted.outputs.push_back({graph.tensor(id).dtype, graph.tensor(id).shape});
  }
  return wanted;
}

// Inputs from `at` on are those of the run from `run_at` on, but for weights.
bool AgreeFrom(const Wanted& wanted, size_t at, const std::vector<TracedTensor>& run,
               size_t run_at) {
  if (at == wanted.inputs.size()) return run_at == run.size();
  if (wanted.inputs.size() - at < run.size() - run_at) return false;
  if (run_at < run.size() && AreTheSame(wanted.inputs[at], run[run_at]) &&
      AgreeFrom(wanted, at + 1, run, run_at + 1)) {
    return true;
  }
  return wanted.weight[at] && AgreeFrom(wanted, at + 1, run, run_at);
}

constexpr size_t kMostInputs =
    16;  // of an op of which weights may be missing: trials double with each

bool AgreeWithoutWeights(const Wanted& wanted, const TracedOp& run) {
  if (wanted.inputs.size() > kMostInputs || run.inputs.size() >= wanted.inputs.size()) return false;
  if (!run.outputs.empty() && !std::equal(wanted.outputs.begin(), wanted.outputs.end(),
                                          run.outputs.begin(), run.outputs.end(), AreTheSame)) {
    return false;
  }
  return AgreeFrom(wanted, 0, run.inputs, 0);
}

class Matcher {
 public:
  Matcher(const Graph& graph, const OpTrace& trace)
      : trace_(trace), used_(trace.ops.size(), false) {
    if (trace.leaves_weights_out) {
      for (const OpId id : graph.ops()) {
        const Op& op = graph.op(id);
        if (op.is_view) continue;
        wanted_[std::string(op.type)].try_emplace(SignatureOf(graph, id).text, WantedOf(graph, op));
      }
    }
    for (size_t i = 0; i < trace.ops.size(); ++i) {
      const TracedOp& op = trace.ops[i];
      by_type_[op.type].push_back(i);
      if (!op.name.empty()) by_name_[op.name].push_back(i);
    }
  }

  // Runs that are the op's, by index; none where nothing agrees.
  std::vector<size_t> Find(const Graph& graph, const Op& op, const std::string& signature) {
    const std::vector<TracedTensor> inputs = InputsOf(graph, op);
    std::vector<size_t> found;
    if (const auto named = by_name_.find(op.name); named != by_name_.end()) {
      for (const size_t i : named->second) {
        const TracedOp& run = trace_.ops[i];
        if (run.type != op.type || !Counts(run)) continue;
        if (run.inputs.empty() || Agree(inputs, run.inputs, false) ||
            (trace_.leaves_weights_out && AgreeWithoutWeights(WantedOf(graph, op), run))) {
          found.push_back(i);
        }
      }
    }
    const std::vector<std::string> types = TracedNames(op.type);
    for (size_t k = 0; k < types.size() && found.empty(); ++k) {
      const auto runs = by_type_.find(types[k]);
      if (runs == by_type_.end()) continue;
      for (const size_t i : runs->second) {
        const TracedOp& run = trace_.ops[i];
        if (Counts(run) && Agree(inputs, run.inputs, k > 0)) found.push_back(i);
      }
    }
    if (found.empty() && trace_.leaves_weights_out) {
      found = WithoutWeights(std::string(op.type), signature);
    }
    for (const size_t i : found) used_[i] = true;
    return found;
  }

  void Account(TraceMatch& match) const {
    std::vector<int64_t> own;
    for (const TracedOp& op : trace_.ops) own.push_back(op.time.count);
    for (const TracedOp& op : trace_.ops) {
      if (op.parent >= 0) own[static_cast<size_t>(op.parent)] -= op.time.count;
    }
    std::map<std::string_view, int64_t> unused;
    std::vector<bool> in_used = used_;  // it, or one that called it
    int64_t used = 0, total = trace_.lost.count;
    if (trace_.lost.count > 0) unused["kernels of no op"] = trace_.lost.count;
    for (size_t i = 0; i < own.size(); ++i) {
      const int32_t parent = trace_.ops[i].parent;
      if (parent >= 0 && in_used[static_cast<size_t>(parent)]) in_used[i] = true;
      const int64_t time = std::max<int64_t>(0, own[i]);
      total = SaturatingAdd(total, time);
      int64_t& sum = in_used[i] ? used : unused[trace_.ops[i].type];
      sum = SaturatingAdd(sum, time);
    }
    match.used = Nanos(used);
    match.total = Nanos(total);
    for (const auto& [type, time] : unused) {
      if (time > 0) match.unused.emplace_back(type, Nanos(time));
    }
    std::stable_sort(match.unused.begin(), match.unused.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
  }

 private:
  // Runs of the type that can be of this signature alone.
  std::vector<size_t> WithoutWeights(const std::string& type, const std::string& signature) const {
    std::vector<size_t> found;
    const auto runs = by_type_.find(type);
    const auto wanted = wanted_.find(type);
    if (runs == by_type_.end() || wanted == wanted_.end()) return found;
    for (const size_t i : runs->second) {
      const TracedOp& run = trace_.ops[i];
      if (run.inputs.empty() || !Counts(run)) continue;
      const auto agrees = [&](const auto& one) { return AgreeWithoutWeights(one.second, run); };
      const bool own = agrees(*wanted->second.find(signature));
      const auto all = std::count_if(wanted->second.begin(), wanted->second.end(), agrees);
      if (own && all == 1) found.push_back(i);
    }
    return found;
  }

  // An op without kernels says nothing about a device: they were captured into a graph, or lost.
  bool Counts(const TracedOp& run) const { return !trace_.on_device || run.time.count > 0; }

  const OpTrace& trace_;
  std::vector<bool> used_;
  std::map<std::string, std::vector<size_t>> by_type_, by_name_;
  std::map<std::string, std::map<std::string, Wanted>> wanted_;  // by type and signature
};

// The value below which that share of the sorted times lies.
Nanos At(const std::vector<int64_t>& sorted, size_t numerator, size_t denominator) {
  return Nanos(sorted[(sorted.size() - 1) * numerator / denominator]);
}

}  // namespace

TraceMatch MatchTrace(const Graph& graph, const OpTrace& trace) {
  TraceMatch match;
  Matcher matcher(graph, trace);
  struct Row {
    MeasuredOp op;
    std::vector<int64_t> times;
  };
  std::map<std::string, Row> rows;
  std::map<std::string, bool>
      known;  // signatures: ops of one have the same runs, unless they are named
  for (const OpId id : graph.ops()) {
    const Op& op = graph.op(id);
    if (op.is_view) continue;
    const Work work = WorkOf(graph, id);
    TraceMatch::Share& share = match.classes[work.op_class];
    ++share.ops;
    const Signature signature = SignatureOf(graph, id);
    const auto seen = known.find(signature.text);
    const bool named = !trace.ops.empty() && !trace.ops.front().name.empty();
    if (seen != known.end() && !named) {
      share.matched += seen->second ? 1 : 0;
      continue;
    }
    const std::vector<size_t> runs = matcher.Find(graph, op, signature.text);
    known[signature.text] = known[signature.text] || !runs.empty();
    share.matched += runs.empty() ? 0 : 1;
    if (runs.empty()) continue;
    Row& row = rows[signature.text];
    row.op.signature = signature.text;
    row.op.family = signature.family;
    row.op.batch = graph.batch();
    row.op.workspace = work.workspace;
    for (const size_t i : runs) row.times.push_back(trace.ops[i].time.count);
  }
  for (auto& [text, row] : rows) {
    std::sort(row.times.begin(), row.times.end());
    row.op.time = At(row.times, 1, 2);
    row.op.low = At(row.times, 1, 10);
    row.op.high = At(row.times, 9, 10);
    row.op.runs = static_cast<int64_t>(row.times.size());
    match.rows.push_back(std::move(row.op));
  }
  matcher.Account(match);
  return match;
}

}  // namespace placewright
