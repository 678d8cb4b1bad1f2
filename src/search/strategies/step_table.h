// What a recorded step takes, from the step, its named axes and its costs alone: what StrategyEstimates reckon with. A step
// with recomputation has a table of its own, since what is computed again is in its ops and what is kept in its lifetimes.
#ifndef PLACEWRIGHT_SEARCH_STRATEGIES_STEP_TABLE_H_
#define PLACEWRIGHT_SEARCH_STRATEGIES_STEP_TABLE_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "search/layouts/model_structure.h"
#include "search/problem/layout_problem.h"

namespace placewright {

// By the kinds of a cluster (Device::kind).
using ByKind = std::vector<double>;

struct StepTable {
  // Ops that take time, of all samples. Of every kind of device: the time that parts divide, and what a product takes
  // however small its parts are (fill: cost/cost_model.h).
  struct Work {
    ByKind nanos;
    ByKind by_width;  // of `nanos`, of ops that heads or inner widths split
    ByKind
        causal;  // of `nanos`, of ops whose last part of the tokens takes more than the first (AxisPartOp::uneven)
    ByKind fill;
    double launches = 0;
  };
  // A work by what divides it: samples (of the forward and the backward pass); not samples, once a step (parameters in
  // another type) and with every micro-batch (gradients in another type); shards of parameters.
  Work forward, backward, once, gradient_casts, update;

  // Bytes alive at some moment of the step in the order of the program, beside what is there for the whole step.
  struct Moment {
    double samples = 0;    // what the batch divides
    double widths = 0;     // of that, what heads or inner widths divide, too
    double gradients = 0;  // of parameters, until their update
    double casts = 0;      // of parameters, on every device that reads them
    double others = 0;     // temporaries of the update, casts of parameters where their shards lie
    Moment& operator+=(const Moment& more) {
      samples += more.samples;
      widths += more.widths;
      gradients += more.gradients;
      casts += more.casts;
      others += more.others;
      return *this;
    }
    Moment& operator-=(const Moment& less) {
      samples -= less.samples;
      widths -= less.widths;
      gradients -= less.gradients;
      casts -= less.casts;
      others -= less.others;
      return *this;
    }
  };
  std::vector<Moment> moments;  // none is nowhere above another one
  // The largest sum of these, each times the part of it that a device has.
  double Peak(const Moment& parts) const;
  // Of the activations that a forward pass leaves behind: what its backward pass reads.
  double kept = 0;

  double parameters = 0, gradients = 0, state = 0;  // bytes; state: of the optimizer
  double by_width = 0;                      // of the parameters, what heads or inner widths divide
  double in_layers = 0, largest_layer = 0;  // of the parameters
  int64_t layers = 0;
  // Of parameters that have gradients how many have so many bytes, in the type in which they cross.
  std::map<int64_t, int64_t> sizes;
  double casts = 0;  // of parameters, on every device that reads them
  // Of parameters that passes read, each of their views for itself, but for what is cast on every device.
  double copied = 0;
  double first_read = 0;  // the parameter that is read first, and whose gradient is the last

  // What heads and inner widths make partial sums of, by pass: bytes of all samples, and of how many tensors.
  struct Sums {
    double bytes = 0;
    int64_t tensors = 0;
  };
  Sums forward_sums, backward_sums;
  // Read and made by attention in one operator in the forward pass, of all samples.
  double attention_bytes = 0;
  double keys_and_values = 0;  // of these
  int64_t attentions = 0;
};

// The same of the chunks that a pipeline cuts the step into.
struct ChunkTable {
  struct Chunk {
    // ns of a micro-batch that samples divide, and that nothing divides (launches, fill); weights: part of `backward`.
    ByKind forward, backward, weights;
    ByKind forward_fixed, backward_fixed, weights_fixed;
    ByKind casts,
        gradient_casts;  // ns that tensor groups divide, of a step and of a micro-batch: part of no other
    // Bytes that samples divide: kept for the backward pass; at the highest, these included.
    double kept = 0, peak = 0;
    double parameters = 0, gradients = 0, state = 0, cast = 0;
    double largest = 0;   // of the gradients
    int64_t tensors = 0;  // that have gradients
    double again = 0;     // of its layers that were chosen to be computed again, the share
    // What other stages read of it, by pass: of all samples, and what they do not divide.
    struct Sent {
      double samples = 0, others = 0;
    } sent_forward, sent_backward;
  };
  std::vector<Chunk> chunks;
};

// Its times, one after the other.
std::array<ByKind*, 8> NanosOfChunk(ChunkTable::Chunk& chunk);
void AddNanos(ChunkTable::Chunk more, ChunkTable::Chunk& sums);

// Of the problem's step: what tables of all that is made of it read. It must outlive them; devices of a kind are alike. Of
// the update there are the times of hosts, too, which may compute it.
class StepFacts {
 public:
  StepFacts(const LayoutProblem& problem, const std::vector<DeviceId>& devices);

  const LayoutProblem& problem() const { return problem_; }
  const ModelStructure& structure() const { return structure_; }
  size_t kinds() const { return kinds_; }
  int64_t tokens() const {
    return tokens_;
  }  // of a sample (layouts/tensor_parallel.h); 0: no such axis
  bool has_tokens() const { return tokens_ > 1; }
  bool samples(OpId op) const { return (op_[op] & kSamples) != 0; }  // split it
  bool widths(OpId op) const { return (op_[op] & kWidths) != 0; }    // heads, too
  bool sums(OpId op) const {
    return (op_[op] & kSums) != 0;
  }  // its first output, over widths, of samples
  bool causal(OpId op) const { return (op_[op] & kCausal) != 0; }
  bool has_causal() const {
    return std::any_of(op_.begin(), op_.end(), [](uint8_t of) { return (of & kCausal) != 0; });
  }
  bool samples(TensorId id) const { return (tensor_[id] & kSamples) != 0; }
  bool widths(TensorId id) const { return (tensor_[id] & kWidths) != 0; }
  // Of every kind, without a launch and fill; 0 where it does not run the op.
  const double* nanos(OpId op) const { return &nanos_[op.index() * kinds_]; }
  const double* fill(OpId op) const { return &fill_[op.index() * kinds_]; }
  double launch(size_t kind) const { return launch_[kind]; }

 private:
  static constexpr uint8_t kSamples = 1, kWidths = 2, kSums = 4, kCausal = 8;

  const LayoutProblem& problem_;
  const ModelStructure structure_;
  const size_t kinds_;
  const int64_t tokens_;
  IdVector<OpId, uint8_t> op_;
  IdVector<TensorId, uint8_t> tensor_;
  std::vector<double> nanos_, fill_;
  ByKind launch_;
};

// A step, and which ops and tensors of the facts its own are, or are copies of.
class FactsOfStep {
 public:
  // `step`: the problem's graph, or what WithRecomputation makes of it.
  FactsOfStep(const StepFacts& facts, const Graph& step);

  // Complexity: O(ops + edges), and of one moment for every other one.
  StepTable MakeTable() const;
  // `pipeline`: stages and chunks. Errors: those of PipelineChunks.
  Result<ChunkTable> MakeChunks(const Transform& pipeline) const;

 private:
  void AddWork(StepTable& table) const;
  void AddBytes(StepTable& table) const;
  void AddParameters(StepTable& table) const;
  bool Samples(TensorId id) const { return known_[id].valid() && facts_.samples(known_[id]); }
  bool Widths(TensorId id) const { return known_[id].valid() && facts_.widths(known_[id]); }
  // Made within the step: from the op that makes it to the last that reads or writes it.
  bool IsTransient(StorageId id) const;
  OpId First(StorageId id) const { return step_.tensor(step_.storage(id).first).producer; }
  OpId Last(StorageId id) const { return std::max(First(id), last_[id]); }
  void AddSent(const IdVector<GroupId, int32_t>& chunk_by_group, int64_t stages,
               ChunkTable& table) const;
  bool IsKept(StorageId id) const;  // by a forward pass, for its backward pass
  void AddReads(StepTable& table) const;
  void AddPasses(const IdVector<OpId, int32_t>& chunk_of, ChunkTable& table) const;
  bool IsParameter(StorageId id) const;
  // Made of a parameter on every device that reads it, not where the parameter lies.
  bool IsCastApart(StorageId id) const;
  // Bytes that cross where a parameter is gathered: of its cast, where that is made of its shards.
  std::map<StorageId, double> BytesToGather() const;
  // What the forward pass or gradients of a micro-batch's samples make.
  IdVector<OpId, bool> FollowSamples() const;

  const StepFacts& facts_;
  const Graph& step_;
  IdVector<OpId, OpId> original_;
  IdVector<TensorId, TensorId> known_;
  IdVector<StorageId, OpId> last_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_STRATEGIES_STEP_TABLE_H_
