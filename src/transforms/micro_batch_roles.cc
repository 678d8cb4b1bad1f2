#include "transforms/micro_batch_roles.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "sharding/axis_places.h"
#include "sharding/batch_norm_call.h"

namespace placewright {
namespace {

bool IsWritten(const Op& op, TensorId tensor) {
  return std::find(op.writes.begin(), op.writes.end(), tensor) != op.writes.end();
}

bool IsClassLoss(const Op& op) {
  return op.type == "aten.nll_loss_forward.default" || op.type == "aten.nll_loss2d_forward.default";
}

// A product is done once, of the sum; what moves, casts and adds goes on in parts, so that a parameter that is read
// twice has one sum.
bool IsProduct(std::string_view type) {
  return type.find("mm") != std::string_view::npos || type.find("mv") != std::string_view::npos ||
         type.find("convolution") != std::string_view::npos;
}

class RoleFinder {
 public:
  RoleFinder(const Graph& step, const NamedAxes& axes, const IdVector<OpId, int32_t>& chunk_of)
      : step_(step), axes_(axes), chunk_of_(chunk_of), before_(step.op_count(), false) {}

  Result<MicroBatchRoles> Find() {
    do {
      again_ = false;
      roles_ = {};
      roles_.ops.assign(step_.op_count(), OpTurn::kAfter);
      roles_.split.assign(step_.op_count(), RuleAxisId());
      roles_.tensors.assign(step_.tensor_count(), TensorTurn::kBefore);
      roles_.batch.assign(step_.tensor_count(), AxisPlace());
      roles_.added_up.assign(step_.tensor_count(), false);
      roles_.weighs_targets.assign(step_.op_count(), false);
      for (const OpId op : step_.ops()) PW_RETURN_IF_ERROR(Visit(op));
    } while (again_);
    PW_RETURN_IF_ERROR(VisitOutputs());
    KeepBefore();
    return std::move(roles_);
  }

 private:
  TensorTurn& TurnOf(TensorId id) { return roles_.tensors[id]; }

  Error Refuse(OpId op, std::string why, std::string remedy) const {
    return MakeError(ErrorCode::kTransform, std::move(why),
                     fmt::format("op {} ({})", Printable(step_.op(op).name, 80),
                                 Printable(step_.op(op).type, 80)),
                     std::move(remedy));
  }
  Error NeedsAll(OpId op, TensorId sum) const {
    return Refuse(op,
                  fmt::format("it computes samples with \"{}\", which is known only when all "
                              "micro-batches are done",
                              Printable(step_.tensor(sum).name, 80)),
                  "Take one micro-batch, or record the step without what couples its samples.");
  }

  // What an op may read of the batch: its named axes hold it, or its size follows it.
  bool HasBatch(TensorId id) const {
    return axes_.Holds(id, axes_.batch()) || !step_.batch_scaling()->dimensions[id].empty();
  }
  // Of it the type alone counts.
  bool IsUnread(OpId op, size_t input) const {
    constexpr std::string_view kLike[] = {"aten.ones_like.default", "aten.zeros_like.default",
                                          "aten.empty_like.default", "aten.full_like.default"};
    const OpRule* const rule = axes_.rule(op);
    return (rule != nullptr && placewright::IsUnread(*rule, input)) ||
           std::find(std::begin(kLike), std::end(kLike), step_.op(op).type) != std::end(kLike);
  }

  Status Visit(OpId id) {
    const RuleAxisId split = axes_.SplitBy(id, axes_.batch());
    if (before_[id]) return SetOutputs(id, OpTurn::kBefore, TensorTurn::kBefore);
    return split.valid() ? VisitSplit(id, split) : VisitWhole(id);
  }

  Status SetOutputs(OpId id, OpTurn op, TensorTurn tensors) {
    roles_.ops[id] = op;
    for (const TensorId output : step_.op(id).outputs) TurnOf(output) = tensors;
    return Ok();
  }

  Status VisitSplit(OpId id, RuleAxisId split) {
    const Op& op = step_.op(id);
    const OpRule& rule = *axes_.rule(id);
    const bool norm = rule.axes[split].parts == Parts::kSynchronised;
    if (norm && !BatchNormCallOf(op)) {
      return Refuse(id, "its statistics are over all samples of the batch",
                    "Take one micro-batch, or another norm.");
    }
    if (rule.draws_random) {
      return Refuse(
          id,
          "it draws from one generator after the other, so that no micro-batch can draw its part",
          "Apply counted-draws before accumulate, or take dropout out of the step.");
    }
    roles_.ops[id] = OpTurn::kEach;
    roles_.split[id] = split;
    for (size_t i = 0; i < op.inputs.size(); ++i) PW_RETURN_IF_ERROR(CheckSplitInput(id, split, i));
    for (size_t i = 0; i < op.outputs.size(); ++i) SetSplitOutput(id, split, i);
    if (IsClassLoss(op)) return WeighTargets(id);
    return Ok();
  }

  Status CheckSplitInput(OpId id, RuleAxisId split, size_t input) {
    const Op& op = step_.op(id);
    const OpRule& rule = *axes_.rule(id);
    const TensorId tensor = op.inputs[input];
    if (IsUnread(id, input)) return Ok();
    const bool holds = Holds(rule.inputs[input], split);
    const AxisPlace place =
        holds ? PlaceInRule(axes_, id, split, axes_.batch(), rule.inputs[input]) : AxisPlace();
    switch (TurnOf(tensor)) {
      case TensorTurn::kSums:
      case TensorTurn::kAfter:
        if (DoBefore(tensor)) return Ok();
        return NeedsAll(id, tensor);
      case TensorTurn::kParts:
        if (holds && place == roles_.batch[tensor]) return Ok();
        // A mask looks samples up by their numbers, in all of what it is made of.
        if (!holds && DoBefore(tensor)) return Ok();
        return Refuse(id,
                      fmt::format("it reads \"{}\" along another axis than its samples",
                                  Printable(step_.tensor(tensor).name, 80)),
                      "Take one micro-batch, or record the step without what couples its samples.");
      case TensorTurn::kBefore:
        return holds ? CheckCut(id, tensor) : CheckWritten(id, split, input);
      case TensorTurn::kOwn:
      case TensorTurn::kAlike: break;
    }
    return holds ? Status(NeedsAll(id, tensor)) : Ok();
  }

  // An interval of what there is before the micro-batches.
  Status CheckCut(OpId id, TensorId tensor) const {
    const std::string name = Printable(step_.tensor(tensor).name, 80);
    if (!IsWritten(step_.op(id), tensor)) return Ok();
    return Refuse(id, fmt::format("it writes \"{}\" in place, which the step is given", name),
                  "Record the step with an op that makes a new tensor.");
  }

  // All of it is read: running statistics may be written, and what is added into.
  Status CheckWritten(OpId id, RuleAxisId split, size_t input) const {
    const Op& op = step_.op(id);
    const OpRule& rule = *axes_.rule(id);
    if (!IsWritten(op, op.inputs[input]) || BatchNormCallOf(op)) return Ok();
    const std::pair<RuleAxisId, int32_t> once(split, static_cast<int32_t>(input));
    if (std::find(rule.once.begin(), rule.once.end(), once) != rule.once.end() &&
        !IsPersistent(step_.tensor(op.inputs[input]).kind)) {
      return Ok();
    }
    return Refuse(id,
                  fmt::format("each micro-batch would write \"{}\" in place",
                              Printable(step_.tensor(op.inputs[input]).name, 80)),
                  "Record the step with an op that makes a new tensor.");
  }

  void SetSplitOutput(OpId id, RuleAxisId split, size_t output) {
    const OpRule& rule = *axes_.rule(id);
    const TensorId tensor = step_.op(id).outputs[output];
    const bool norm = rule.axes[split].parts == Parts::kSynchronised;
    if (Holds(rule.outputs[output], split)) {
      TurnOf(tensor) = TensorTurn::kParts;
      roles_.batch[tensor] = PlaceInRule(axes_, id, split, axes_.batch(), rule.outputs[output]);
    } else if (rule.form == PartForm::kBatchNormBackward ||
               VerdictOf(rule, split, output) == PartVerdict::kSum) {
      TurnOf(tensor) = TensorTurn::kSums;
    } else {
      TurnOf(tensor) = norm || axes_.in_own_order(tensor) ? TensorTurn::kOwn : TensorTurn::kAlike;
    }
  }

  // The gradient needs the weight of the whole batch, which follows from the targets.
  Status WeighTargets(OpId id) {
    const Op& op = step_.op(id);
    const auto weight = std::find_if(op.outputs.begin(), op.outputs.end(), [&](TensorId output) {
      return step_.tensor(output).output_index == 1;
    });
    if (axes_.rule(id)->form == PartForm::kWeightedMean && weight == op.outputs.end()) {
      return Refuse(id, "the loss does not give its total weight",
                    "Record the step with all of its results.");
    }
    if (weight == op.outputs.end() || TurnOf(*weight) != TensorTurn::kSums) return Ok();
    const InputRef* const target = op.args.size() > 1 ? op.args[1].AsInput() : nullptr;
    if (target == nullptr) return Ok();
    const TensorId targets = op.inputs[static_cast<size_t>(target->index)];
    if (TurnOf(targets) != TensorTurn::kBefore && !DoBefore(targets)) {
      return Refuse(id,
                    "its targets depend on parameters, so that their weight is not known before "
                    "the first micro-batch",
                    "Take one micro-batch, or give the step its targets.");
    }
    TurnOf(*weight) = TensorTurn::kBefore;
    roles_.weighs_targets[id] = true;
    return Ok();
  }

  Status VisitWhole(OpId id) {
    const Op& op = step_.op(id);
    bool own = false, sums = false, after = false;
    size_t read = 0;
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      const TensorTurn turn = TurnOf(op.inputs[i]);
      if (IsUnread(id, i)) continue;
      ++read;
      after = after || turn == TensorTurn::kAfter;
      own = own || turn == TensorTurn::kOwn;
      sums = sums || turn == TensorTurn::kSums;
      const bool samples =
          turn == TensorTurn::kParts || (turn == TensorTurn::kBefore && HasBatch(op.inputs[i]));
      if (!samples) continue;
      // What follows from the step's inputs alone, as numbers of samples for a mask, is done once, of all samples.
      const bool known = axes_.rule(id) != nullptr && !op.outputs.empty();
      if (known && DoBefore(op.outputs.front())) {
        return SetOutputs(id, OpTurn::kBefore, TensorTurn::kBefore);
      }
      return RefuseWhole(id, op.inputs[i]);
    }
    if (own && (read > 1 || sums || after)) {
      return Refuse(id, "it reads what every micro-batch has of its own",
                    "Take one micro-batch, or record the step without what couples its samples.");
    }
    if (own) return SetOutputs(id, OpTurn::kEach, TensorTurn::kOwn);
    if (sums && !after && GoesOnInParts(id))
      return SetOutputs(id, OpTurn::kEach, TensorTurn::kSums);
    if (sums) PW_RETURN_IF_ERROR(AddUp(id));
    if (sums || after) return SetOutputs(id, OpTurn::kAfter, TensorTurn::kAfter);
    if (CountsBatches(id)) return SetOutputs(id, OpTurn::kEach, TensorTurn::kAfter);
    return SetOutputs(id, OpTurn::kBefore, TensorTurn::kBefore);
  }

  Error RefuseWhole(OpId id, TensorId input) const {
    const bool known = axes_.rule(id) != nullptr;
    return Refuse(
        id,
        fmt::format(
            "it reads samples (\"{}\"), and {}", Printable(step_.tensor(input).name, 80),
            known ? "needs all of them at once" : "no rule says how a part of them is computed"),
        "Take one micro-batch, or record the step with operators that `placewright "
        "inspect --axes` lists as concat or sum.");
  }

  // What is linear in shares of sums gives shares of a sum. Updates are done once.
  bool GoesOnInParts(OpId id) {
    const Op& op = step_.op(id);
    const OpRule* const rule = axes_.rule(id);
    if (rule == nullptr || op.phase == Phase::kOptimizer || IsProduct(op.type)) return false;
    std::vector<int32_t> shares;
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      if (TurnOf(op.inputs[i]) == TensorTurn::kSums) {
        shares.push_back(static_cast<int32_t>(i));
      } else if (IsWritten(op, op.inputs[i])) {
        return false;
      }
    }
    if (!AreOfOneChunk(op, shares)) return false;
    return std::any_of(
        rule->linear.begin(), rule->linear.end(), [&](std::vector<int32_t> together) {
          std::sort(together.begin(), together.end());
          together.erase(std::unique(together.begin(), together.end()), together.end());
          return together == shares;
        });
  }

  // Shares of a tied weight's gradient from two stages would cross between them for every micro-batch.
  bool AreOfOneChunk(const Op& op, const std::vector<int32_t>& inputs) const {
    if (chunk_of_.empty()) return true;
    const auto chunk = [&](int32_t input) {
      return chunk_of_[step_.tensor(op.inputs[static_cast<size_t>(input)]).producer];
    };
    return std::all_of(inputs.begin(), inputs.end(),
                       [&](int32_t input) { return chunk(input) == chunk(inputs.front()); });
  }

  Status AddUp(OpId id) {
    const Op& op = step_.op(id);
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      const TensorId tensor = op.inputs[i];
      if (TurnOf(tensor) != TensorTurn::kSums || IsUnread(id, i)) continue;
      const Tensor& sum = step_.tensor(tensor);
      const OpId writer =
          step_.storage(sum.storage).versions[static_cast<size_t>(op.input_versions[i])].writer;
      if (op.input_versions[i] != sum.version && roles_.ops[writer] == OpTurn::kEach) {
        return Refuse(id,
                      fmt::format("it reads \"{}\" as \"{}\" has left it", Printable(sum.name, 80),
                                  Printable(step_.op(writer).name, 80)),
                      "Record the step with ops that make new tensors of gradients.");
      }
      roles_.added_up[tensor] = true;
      if (!IsWritten(op, tensor)) continue;
      for (const TensorId other : step_.tensors()) {
        if (other == tensor || !roles_.added_up[other] ||
            step_.tensor(other).storage != sum.storage)
          continue;
        return Refuse(id,
                      fmt::format("it writes \"{}\" in place, which is read as \"{}\", too",
                                  Printable(sum.name, 80), Printable(step_.tensor(other).name, 80)),
                      "Record the step with ops that make new tensors of gradients.");
      }
    }
    return Ok();
  }

  // A batch norm counts its batches: PyTorch would do it in every micro-batch.
  bool CountsBatches(OpId id) const {
    const Op& op = step_.op(id);
    return op.phase == Phase::kForward && op.inputs.size() == 1 && IsWritten(op, op.inputs[0]) &&
           step_.tensor(op.inputs[0]).name.ends_with(".num_batches_tracked");
  }

  // A tensor that follows from the step's inputs alone, not from parameters: all that leads to it is done once, of the
  // whole batch. False where it does not.
  bool DoBefore(TensorId tensor) {
    std::set<OpId> leading;
    std::vector<OpId> next;
    const auto add = [&](OpId op) {
      if (op.valid() && leading.insert(op).second) next.push_back(op);
    };
    add(step_.tensor(tensor).producer);
    while (!next.empty()) {
      const OpId id = next.back();
      next.pop_back();
      const Op& op = step_.op(id);
      if (op.phase != Phase::kForward) return false;
      for (size_t i = 0; i < op.inputs.size(); ++i) {
        const Storage& storage = step_.storage(step_.tensor(op.inputs[i]).storage);
        const TensorKind kind = step_.tensor(op.inputs[i]).kind;
        if (kind == TensorKind::kParameter || kind == TensorKind::kOptimizerState) return false;
        add(step_.tensor(op.inputs[i]).producer);
        add(storage.versions[static_cast<size_t>(op.input_versions[i])].writer);
      }
    }
    for (const OpId op : leading) before_[op] = true;
    again_ = true;
    return true;
  }

  Status VisitOutputs() {
    for (const TensorId id : step_.outputs()) {
      const Tensor& tensor = step_.tensor(id);
      if (TurnOf(id) == TensorTurn::kSums) roles_.added_up[id] = true;
      const bool scattered = TurnOf(id) == TensorTurn::kParts && roles_.batch[id].outer != 1;
      if (TurnOf(id) != TensorTurn::kOwn && !scattered) continue;
      return Refuse(tensor.producer,
                    fmt::format("the step gives \"{}\", whose parts cannot be put together",
                                Printable(tensor.name, 80)),
                    "Take one micro-batch, or record the step without this output.");
    }
    return Ok();
  }

  // Of what is done once, what no micro-batch reads comes behind them, as the update does.
  void KeepBefore() {
    std::set<StorageId> written;  // by ops that stay, behind the one that is looked at
    IdVector<OpId, bool> read(step_.op_count(), false);
    for (size_t i = step_.op_count(); i-- > 0;) {
      const OpId id(i);
      const Op& op = step_.op(id);
      OpTurn& turn = roles_.ops[id];
      const auto is_written = [&](TensorId tensor) {
        return written.contains(step_.tensor(tensor).storage);
      };
      if (turn == OpTurn::kBefore) {
        const bool stays = read[id] ||
                           std::any_of(op.inputs.begin(), op.inputs.end(), is_written) ||
                           std::any_of(op.outputs.begin(), op.outputs.end(), is_written);
        if (!stays) turn = OpTurn::kAfter;
      }
      if (turn == OpTurn::kAfter) continue;
      for (const OpId earlier : op.after) read[earlier] = true;
      for (size_t input = 0; input < op.inputs.size(); ++input) {
        const Tensor& tensor = step_.tensor(op.inputs[input]);
        const OpId writer = step_.storage(tensor.storage)
                                .versions[static_cast<size_t>(op.input_versions[input])]
                                .writer;
        for (const OpId maker : {tensor.producer, writer}) {
          if (maker.valid()) read[maker] = true;
        }
      }
      if (turn != OpTurn::kBefore) continue;
      for (const TensorId one : op.writes) written.insert(step_.tensor(one).storage);
    }
  }

  const Graph& step_;
  const NamedAxes& axes_;
  const IdVector<OpId, int32_t>& chunk_of_;  // empty: there is no pipeline
  MicroBatchRoles roles_;
  IdVector<OpId, bool> before_;  // done once, of the whole batch
  bool again_ = false;           // before_ has grown
};

}  // namespace

bool MicroBatchRoles::IsAddedInto(const Graph& graph, const NamedAxes& axes, OpId op,
                                  size_t input) const {
  if (!split[op].valid() || tensors[graph.op(op).inputs[input]] != TensorTurn::kBefore)
    return false;
  const OpRule& rule = *axes.rule(op);
  const std::pair<RuleAxisId, int32_t> once(split[op], static_cast<int32_t>(input));
  return std::find(rule.once.begin(), rule.once.end(), once) != rule.once.end();
}

Result<MicroBatchRoles> RolesOverMicroBatches(const Graph& step, const NamedAxes& axes,
                                              const IdVector<OpId, int32_t>& chunk_of) {
  return RoleFinder(step, axes, chunk_of).Find();
}

}  // namespace placewright
