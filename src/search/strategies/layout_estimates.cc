#include "search/strategies/layout_estimates.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "search/layouts/token_shares.h"
#include "search/strategies/expert_estimate.h"

namespace placewright {
namespace {

class LayoutReckoner {
 public:
  LayoutReckoner(const LayoutFamily& family, int64_t degree, const SomeGpus& gpus,
                 const StepFacts& facts, const StepTable& table, const ExpertTable& experts,
                 StrategyEstimate& estimate)
      : family_(family),
        experts_(experts),
        degree_(degree),
        gpus_(gpus),
        facts_(facts),
        table_(table),
        estimate_(estimate),
        micro_batches_(std::max<int64_t>(1, estimate.strategy.rewriting.micro_batches)),
        samples_(facts.problem().graph.batch() / micro_batches_),
        m_(static_cast<double>(micro_batches_)),
        widths_(family.split == LayoutFamily::kWidths),
        of_tokens_(family.split == LayoutFamily::kHeadsOfTokens ||
                   family.split == LayoutFamily::kTokens),
        parts_(widths_ || of_tokens_ ? degree : 1),
        // Beside widths tokens are split, where there are some.
        token_parts_(of_tokens_ || (widths_ && facts.has_tokens()) ? static_cast<double>(degree)
                                                                   : 1),
        cut_(widths_ ? static_cast<double>(degree) : 1),
        data_(gpus.count() / parts_),
        shards_over_(ShardsOver()),
        shards_(family.shards ? static_cast<double>(shards_over_.size()) : 1),
        own_(1 / (shards_ * cut_)) {
    for (const auto& [bytes, number] : table.sizes) parameters_ += number;
    FindShares();
  }

  void Reckon() {
    for (const auto& [device, share] : devices_) AddDevice(device, share);
    AddWithinPasses();
    AddExperts();
    estimate_.time = RoundedNanos(rest_ + (family_.shards ? WithShards() : WithCopies()));
    estimate_.floor = RoundedNanos(floor_);
    for (const auto& [device, share] : devices_) {
      TakeMemory(gpus_, device, MemoryOf(share), estimate_);
    }
  }

 private:
  // Of devices that are alike one, with the largest share of a micro-batch.
  void FindShares() {
    if (!family_.by_speed) {
      largest_ =
          static_cast<double>((samples_ + data_ - 1) / data_) / static_cast<double>(samples_);
      for (const DeviceId device : gpus_.each_sort()) devices_.emplace_back(device, largest_);
      return;
    }
    const std::vector<int64_t> shares = gpus_.Shares(samples_, true);
    std::set<std::pair<size_t, int64_t>> seen;
    for (size_t i = 0; i < shares.size(); ++i) {
      const DeviceId device = gpus_.devices()[i];
      if (!seen.emplace(gpus_.Kind(device), shares[i]).second) continue;
      devices_.emplace_back(device, static_cast<double>(shares[i]) / static_cast<double>(samples_));
      largest_ = std::max(largest_, devices_.back().second);
    }
  }

  // GPUs that have a part of a parameter each, of one part beside these.
  SomeGpus::Devices ShardsOver() const {
    if (family_.in_hosts && !widths_) return gpus_.hosts().front();
    SomeGpus::Devices devices = widths_ ? gpus_.FirstOf(degree_) : gpus_.devices();
    if (family_.in_hosts) devices.resize(static_cast<size_t>(gpus_.of_host() / degree_));
    return devices;
  }

  // What computing takes; the slowest device decides.
  void AddDevice(DeviceId device, double share) {
    const double of_all = share / m_;
    const double others = of_all / token_parts_,
                 widths = of_all / (cut_ * (of_tokens_ ? token_parts_ : 1));
    double f = gpus_.Pass(table_.forward, device, others, widths);
    double b = gpus_.Pass(table_.backward, device, others, widths) +
               gpus_.Pass(table_.gradient_casts, device, 1, 1 / cut_);
    if (family_.split == LayoutFamily::kTokens && !family_.by_work) {
      f += gpus_.LastTokens(table_.forward, device, others, token_parts_);
      b += gpus_.LastTokens(table_.backward, device, others, token_parts_);
    }
    floor_ = std::max(floor_, m_ * (gpus_.Divided(table_.forward, device, others, widths) +
                                    gpus_.Divided(table_.backward, device, others, widths)));
    if (family_.gathers_anew) {
      const double out = gpus_.Copies(table_.in_layers / cut_, parameters_, device);
      f += out;
      b += out + gpus_.Copies(table_.gradients / cut_, parameters_, device);
    }
    const double r = gpus_.Pass(table_.once, device, 1, 1 / cut_) +
                     gpus_.Whole(table_.update, device, own_) +
                     gpus_.Additions(table_.gradients * own_, parameters_, m_, device);
    if (f + b > forward_ + backward_) {
      forward_ = f;
      backward_ = b;
    }
    rest_ = std::max(rest_, r);
  }

  // Collectives that products wait for.
  void AddWithinPasses() {
    if (parts_ < 2) return;
    const SomeGpus::Devices group = gpus_.Group(parts_);
    const double part = largest_ / m_;
    if (widths_ && table_.forward_sums.tensors > 0) {
      const auto sums = static_cast<double>(table_.forward_sums.tensors);
      const double bytes = table_.forward_sums.bytes / sums * part;
      if (token_parts_ > 1) {
        // Tokens are gathered before, scattered behind; for gradients of weights they are gathered anew.
        const double gather = gpus_.Collective(CollectiveKind::kAllGather, bytes, group);
        const double scatter = gpus_.Collective(CollectiveKind::kReduceScatter, bytes, group);
        forward_ += sums * (gather + scatter);
        backward_ += sums * (2 * gather + scatter);
      } else {
        const double sum = gpus_.Collective(CollectiveKind::kAllReduce, bytes, group);
        forward_ += sums * sum;
        backward_ += sums * sum;
      }
    }
    if (of_tokens_) {
      const bool by_heads = family_.split == LayoutFamily::kHeadsOfTokens;
      const auto attentions = static_cast<double>(std::max<int64_t>(1, table_.attentions));
      const double bytes =
          (by_heads ? table_.attention_bytes : table_.keys_and_values) / attentions * part;
      const auto collective = [&](CollectiveKind kind) {
        return attentions * gpus_.Collective(kind, bytes, group);
      };
      forward_ += collective(by_heads ? CollectiveKind::kAllToAll : CollectiveKind::kAllGather);
      backward_ +=
          collective(by_heads ? CollectiveKind::kAllToAll : CollectiveKind::kReduceScatter);
    }
  }

  // Tokens of a group are gathered before its experts, what these give is scattered behind; their parameters are gathered
  // over the groups beside what computes, and so are their gradients scattered.
  void AddExperts() {
    if (experts_.parameters <= 0) return;
    const auto degree = static_cast<double>(degree_);
    if (experts_.sorts > 0) {
      const auto sorts = static_cast<double>(experts_.sorts);
      const double bytes = TokensOfGroup();
      const SomeGpus::Devices group = gpus_.Group(degree_);
      const double crossing =
          sorts * (gpus_.Collective(CollectiveKind::kAllGather, bytes, group) +
                   gpus_.Collective(CollectiveKind::kReduceScatter, bytes, group));
      forward_ += crossing;
      backward_ += crossing;
    }
    // Gathered one layer ahead, parameters are copied out of flat buffers, gradients into them.
    forward_ += CopiesOf(table_.parameters, parameters_);
    backward_ += CopiesOf(table_.gradients, parameters_);
    if (gpus_.count() == degree_) return;
    const SomeGpus::Devices over = gpus_.FirstOf(degree_);
    double gathers = 0, scatters = 0;
    int64_t tensors = 0;
    for (const auto& [bytes, number] : experts_.sizes) {
      tensors += number;
      const double own = static_cast<double>(bytes) / degree;
      const double times = std::min(degree, gpus_.sharing()) * static_cast<double>(number);
      gathers += times * gpus_.Collective(CollectiveKind::kAllGather, own, over);
      scatters += times * gpus_.Collective(CollectiveKind::kReduceScatter, own, over);
    }
    const double out = CopiesOf(experts_.parameters / degree, tensors);
    forward_ = gpus_.Beside(forward_ + out, gathers);
    backward_ = gpus_.Beside(backward_ + out + CopiesOf(experts_.gradients / degree, tensors),
                             gathers + scatters);
  }

  double CopiesOf(double bytes, int64_t tensors) const {
    double nanos = 0;
    for (const auto& [device, share] : devices_) {
      nanos = std::max(nanos, gpus_.Copies(bytes, tensors, device));
    }
    return nanos;
  }

  // Of one sort, of the samples of a group's micro-batch.
  double TokensOfGroup() const {
    const auto sorts = static_cast<double>(std::max<int64_t>(1, experts_.sorts));
    return experts_.tokens / sorts * largest_ / m_ * static_cast<double>(degree_);
  }

  // Its part with what updates it, two layers of what is gathered over the groups, and the tokens of one layer: those and,
  // for each of the experts that one has, what it is given, in either pass.
  double MemoryOfExperts() const {
    if (experts_.parameters <= 0) return 0;
    const double layers = static_cast<double>(std::max<int64_t>(1, table_.layers));
    const double gathered =
        gpus_.count() == degree_ ? 0 : 2 / layers / static_cast<double>(degree_);
    return (experts_.parameters + experts_.state) / shards_ + experts_.parameters * gathered +
           (experts_.sorts > 0 ? 5 * TokensOfGroup() : 0);
  }

  // Collectives over the groups, one for each part of parameters, that share a host's way to the others.
  double AtOnce() const {
    return widths_ && !family_.in_hosts ? std::min(cut_, gpus_.sharing()) : 1;
  }

  double OfParameters(CollectiveKind kind) const {
    return AtOnce() * gpus_.OfParameters(kind, table_, shards_over_, 1 / cut_);
  }
  double OfUnits(CollectiveKind kind) const {
    return AtOnce() * gpus_.OfUnits(kind, table_, shards_over_, 1 / cut_);
  }
  // What the first product waits for.
  double FirstUnit() const { return std::max(table_.first_read, SomeGpus::BytesOfLayer(table_)); }
  // Before it, and behind the last one: nothing hides that.
  double OfFirstUnit(CollectiveKind kind) const {
    return AtOnce() * gpus_.Collective(kind, FirstUnit() / cut_, shards_over_);
  }
  // Before the first product, and behind the last one: nothing hides that.
  double OfFirst(CollectiveKind kind) const {
    return AtOnce() * gpus_.Collective(kind, table_.first_read / cut_, shards_over_);
  }

  // Gradients are all-reduced beside the backward pass.
  double WithCopies() const {
    const double last = OfFirst(CollectiveKind::kAllReduce);
    const double sums = OfParameters(CollectiveKind::kAllReduce) - last;
    return m_ * forward_ + (m_ - 1) * backward_ + gpus_.Beside(backward_, sums) + last;
  }

  double WithShards() const {
    const double gathers = OfUnits(CollectiveKind::kAllGather);
    const double first = OfFirstUnit(CollectiveKind::kAllGather);
    double scatters = OfUnits(CollectiveKind::kReduceScatter);
    double last = OfFirstUnit(CollectiveKind::kReduceScatter);
    if (family_.in_hosts) {
      const auto across = gpus_.Across();
      scatters += gpus_.sharing() * gpus_.OfUnits(CollectiveKind::kAllReduce, table_, across, own_);
      last += gpus_.sharing() *
              gpus_.Collective(CollectiveKind::kAllReduce, FirstUnit() * own_, across);
    }
    const double in_layers = table_.parameters > 0 ? table_.in_layers / table_.parameters : 0;
    const double anew = family_.gathers_anew ? gathers * in_layers : 0;
    return first + gpus_.Beside(forward_, gathers - first) +
           (m_ - 1) * gpus_.Beside(forward_, anew) +
           m_ * (gpus_.Beside(backward_, anew + scatters - last) + last);
  }

  // Of a sample's tokens the share of the GPU that has the first ones, which takes as long as the others.
  double LargestTokens() const {
    const size_t kind = gpus_.Kind(devices_.front().first);
    const double causal = table_.forward.causal[kind] + table_.backward.causal[kind];
    const double all = table_.forward.nanos[kind] + table_.backward.nanos[kind];
    const int64_t tokens = facts_.tokens();
    const int64_t first = EndsOfEqualWork(tokens, degree_, causal, std::max(1.0, all - causal))[0];
    return static_cast<double>(first) / static_cast<double>(tokens);
  }

  double MemoryOf(double share) const {
    double memory = (table_.parameters + table_.state) * own_;
    if (family_.gathers_anew) {
      memory += (table_.parameters - table_.in_layers + 2 * table_.largest_layer) / cut_;
    } else if (family_.shards) {
      // Products read a matrix as it is and transposed: two copies, of which one batch without recomputation gives the
      // first up while it fills memory with activations.
      const bool again = !estimate_.strategy.rewriting.recompute.empty();
      memory += table_.copied * (micro_batches_ > 1 ? 1 : again ? 0.75 : 0.5);
    }
    const double part = share / m_;
    const double tokens = family_.by_work ? LargestTokens() : 1 / token_parts_;
    StepTable::Moment parts{part * tokens, part * std::min(1 / cut_, tokens), own_, 1 / cut_, own_};
    if (micro_batches_ > 1) {
      // Sums and casts are there all the time, and a micro-batch's gradient goes when it is added.
      memory += table_.gradients * own_ + table_.casts / cut_;
      parts.gradients = parts.casts = 0;
    }
    memory += table_.Peak(parts);
    if (family_.shards)
      memory += table_.largest_layer / cut_;  // gradients before they are scattered
    if (widths_) memory += GatheredTokens(table_, estimate_.strategy.rewriting, parts_) * part;
    return memory + MemoryOfExperts();
  }

  const LayoutFamily& family_;
  const ExpertTable& experts_;  // empty: they lie as the other parameters do
  const int64_t degree_;
  const SomeGpus& gpus_;
  const StepFacts& facts_;
  const StepTable& table_;
  StrategyEstimate& estimate_;
  const int64_t micro_batches_, samples_;
  const double m_;
  const bool widths_, of_tokens_;
  const int64_t parts_;             // of a sample
  const double token_parts_, cut_;  // cut_: parts of a parameter beside its shards
  const int64_t data_;
  const SomeGpus::Devices shards_over_;
  const double shards_,
      own_;  // own_: the parameters that a device has its part of, as a share of all
  int64_t parameters_ = 0;
  std::vector<std::pair<DeviceId, double>> devices_;  // with its share of a micro-batch's samples
  double largest_ = 0;                                // of these shares
  double forward_ = 0, backward_ = 0, rest_ = 0, floor_ = 0;
};

}  // namespace

double GatheredTokens(const StepTable& table, const Rewriting& rewriting, int64_t degree) {
  const auto sums = static_cast<double>(std::max<int64_t>(1, table.forward_sums.tensors));
  const bool kept =
      rewriting.recompute.empty() || rewriting.recompute == std::vector<std::string>{"megatron"};
  const double held = kept ? sums : std::min(2.0, sums);
  return held / sums * table.forward_sums.bytes * (1 - 1 / static_cast<double>(degree));
}

void EstimateLayout(const LayoutFamily& family, int64_t degree, const SomeGpus& gpus,
                    const StepFacts& facts, const StepTable& table, StrategyEstimate& estimate) {
  if (family.split != LayoutFamily::kExperts) {
    return LayoutReckoner(family, degree, gpus, facts, table, {}, estimate).Reckon();
  }
  const ExpertTable experts = ExpertsOfStep(facts);
  const StepTable others = WithoutExperts(table, experts);
  LayoutReckoner(family, degree, gpus, facts, others, experts, estimate).Reckon();
}

void TakeMemory(const SomeGpus& gpus, DeviceId device, double bytes, StrategyEstimate& estimate) {
  const Bytes needs(RoundedNanos(bytes).count + gpus.Context(device).count);
  const Bytes capacity = gpus.Capacity(device);
  const auto share = [](Bytes used, Bytes of) {
    return static_cast<double>(used.count) / static_cast<double>(std::max<int64_t>(1, of.count));
  };
  if (estimate.capacity.count > 0 &&
      share(needs, capacity) <= share(estimate.memory, estimate.capacity)) {
    return;
  }
  estimate.memory = needs;
  estimate.capacity = capacity;
}

Nanos RoundedNanos(double nanos) {
  return Nanos(static_cast<int64_t>(std::min(nanos, static_cast<double>(kMaxQuantity))));
}

}  // namespace placewright
