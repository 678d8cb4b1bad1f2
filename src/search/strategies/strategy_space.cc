#include "search/strategies/strategy_space.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "search/layouts/layout_devices.h"
#include "search/layouts/model_structure.h"
#include "search/strategies/step_table.h"
#include "transforms/layers.h"
#include "transforms/recompute.h"

namespace placewright {
namespace {

constexpr int64_t kMaxWidthParts = 8;  // as mesh_strategies.h
constexpr std::array<std::string_view, 3> kRecomputations = {"selective", "megatron", "full"};
constexpr std::array<std::string_view, 3> kSchedules = {"1f1b", "interleaved", "zb-h1"};

// How a layout shares out samples and parameters.
struct LayoutFamily {
  std::string_view algorithm;
  bool shards = false, in_hosts = false, gathers_anew = false;
  enum Split : uint8_t { kSamples, kWidths, kHeadsOfTokens, kTokens, kExperts } split = kSamples;
};
constexpr std::array<LayoutFamily, 9> kFamilies = {{
    {.algorithm = "data-parallel"},
    {.algorithm = "zero-2", .shards = true},
    {.algorithm = "hybrid-zero-2", .shards = true, .in_hosts = true},
    {.algorithm = "fsdp", .shards = true, .gathers_anew = true},
    {.algorithm = "hsdp", .shards = true, .in_hosts = true, .gathers_anew = true},
    {.algorithm = "2d", .shards = true, .gathers_anew = true, .split = LayoutFamily::kWidths},
    {.algorithm = "ulysses", .shards = true, .split = LayoutFamily::kHeadsOfTokens},
    {.algorithm = "context", .shards = true, .split = LayoutFamily::kTokens},
    {.algorithm = "experts", .shards = true, .split = LayoutFamily::kExperts},
}};

Nanos Rounded(double nanos) {
  return Nanos(static_cast<int64_t>(std::min(nanos, static_cast<double>(kMaxQuantity))));
}

class StrategyEstimator {
 public:
  StrategyEstimator(const LayoutProblem& problem, std::vector<DeviceId> usable)
      : problem_(problem),
        graph_(problem.graph),
        facts_(problem, usable),
        structure_(facts_.structure()),
        hosts_(UsableGroups(problem.cluster.host_groups(), usable)) {
    for (const std::vector<DeviceId>& host : hosts_) {
      devices_.insert(devices_.end(), host.begin(), host.end());
    }
  }

  std::vector<StrategyEstimate> All(const StatedRewriting& stated) {
    std::vector<StrategyEstimate> all;
    for (const std::vector<std::string>& recompute : Recomputations(stated)) {
      for (const int64_t micro_batches : MicroBatches(stated)) {
        for (const LayoutFamily& family : kFamilies) {
          if (family.in_hosts && hosts_.size() < 2) continue;  // the same as over all GPUs
          all.push_back(OfFamily(family, {.micro_batches = micro_batches > 1 ? micro_batches : 0,
                                          .recompute = recompute}));
        }
        AddPipelines(micro_batches, recompute, all);
      }
    }
    return all;
  }

 private:
  // A recorded step with or without recomputation.
  struct Rewritten {
    std::unique_ptr<Graph> graph;  // nullptr: as it is
    std::string why_not;
    std::optional<FactsOfStep> facts;
    StepTable table;
    std::map<std::pair<int64_t, int64_t>, Result<ChunkTable>> chunks;  // by stages and chunks
  };

  bool Rewrites() const { return graph_.format() == "aten" && graph_.batch_scaling() != nullptr; }

  std::vector<std::vector<std::string>> Recomputations(const StatedRewriting& stated) const {
    if (stated.recompute) return {*stated.recompute};
    std::vector<std::vector<std::string>> sets = {{}};
    if (!Rewrites()) return sets;
    for (const std::string_view set : kRecomputations) sets.push_back({std::string(set)});
    return sets;
  }

  std::vector<int64_t> MicroBatches(const StatedRewriting& stated) const {
    if (stated.micro_batches) return {std::max<int64_t>(1, *stated.micro_batches)};
    std::vector<int64_t> numbers = {1};
    if (!Rewrites() || problem_.HasBatchNorms()) return numbers;
    for (int64_t m = 2; m <= graph_.batch(); ++m) {
      if (graph_.batch() % m == 0) numbers.push_back(m);
    }
    return numbers;
  }

  Rewritten& Of(const std::vector<std::string>& recompute) {
    const std::string key = fmt::format("{}", fmt::join(recompute, " "));
    const auto [it, is_new] = rewritten_.try_emplace(key);
    if (!is_new) return it->second;
    Rewritten& made = it->second;
    if (!recompute.empty()) {
      Result<std::unique_ptr<Graph>> graph = WithRecomputation(graph_, recompute);
      if (!graph.ok()) {
        made.why_not = graph.error().message;
        return made;
      }
      made.graph = graph.Take();
      if (made.graph == nullptr) {
        made.why_not = "nothing would be computed again";
        return made;
      }
    }
    made.facts.emplace(facts_, made.graph ? *made.graph : graph_);
    made.table = made.facts->MakeTable();
    return made;
  }

  const Result<ChunkTable>& ChunksOf(Rewritten& of, int64_t stages, int64_t chunks) {
    const auto it = of.chunks.find({stages, chunks});
    if (it != of.chunks.end()) return it->second;
    const Transform cut{.kind = Transform::kPipeline, .stages = stages, .chunks = chunks};
    return of.chunks.emplace(std::pair(stages, chunks), of.facts->MakeChunks(cut)).first->second;
  }

  // ---- what moves

  using Devices = std::vector<DeviceId>;

  // One device of each host.
  Devices Across() const {
    Devices across;
    for (const Devices& host : hosts_) across.push_back(host.front());
    return across;
  }
  double Collective(CollectiveKind kind, double bytes, const Devices& over) const {
    if (over.size() < 2 || bytes <= 0) return 0;
    const Bytes whole(static_cast<int64_t>(bytes));
    const Bytes piece((whole.count + static_cast<int64_t>(over.size()) - 1) /
                      static_cast<int64_t>(over.size()));
    const auto estimate = problem_.communication.Estimate({kind, whole, piece}, over);
    return estimate.ok() ? static_cast<double>(estimate.value().time.count)
                         : static_cast<double>(kMaxQuantity);
  }
  // One for every parameter, `share` of its size.
  double OfParameters(CollectiveKind kind, const StepTable& table, const Devices& over,
                      double share = 1) const {
    double nanos = 0;
    for (const auto& [bytes, count] : table.sizes) {
      nanos +=
          static_cast<double>(count) * Collective(kind, share * static_cast<double>(bytes), over);
    }
    return nanos;
  }
  double OfSums(const StepTable::Sums& sums, double parts, const Devices& over) const {
    if (sums.tensors == 0) return 0;
    const auto tensors = static_cast<double>(sums.tensors);
    return tensors * Collective(CollectiveKind::kAllReduce, sums.bytes / tensors / parts, over);
  }

  // ---- what is computed

  size_t Kind(DeviceId device) const {
    return static_cast<size_t>(problem_.cluster.device(device).kind);
  }
  double Launch(DeviceId device) const {
    return static_cast<double>(problem_.cluster.kind(device).launch_overhead.count);
  }
  // Of a micro-batch, `parts` parts of which run at a time.
  double Pass(const StepTable::Work& work, DeviceId device, double micro_batches,
              double parts) const {
    return work.launches * Launch(device) + work.nanos[Kind(device)] / (micro_batches * parts);
  }
  double Whole(const StepTable::Work& work, DeviceId device, double share) const {
    return work.launches * Launch(device) + work.nanos[Kind(device)] * share;
  }
  // In and out of flat buffers (compile/rewrites/flat_copies.h): all is read and written.
  double Copies(double bytes, int64_t tensors, DeviceId device) const {
    const auto bandwidth =
        static_cast<double>(problem_.cluster.kind(device).memory_bandwidth.count);
    return static_cast<double>(tensors) * Launch(device) + 2e9 * bytes / std::max(1.0, bandwidth);
  }
  // Sums of gradients over micro-batches: two are read, one is written.
  double Additions(double gradients, int64_t tensors, double micro_batches, DeviceId device) const {
    if (micro_batches < 2) return 0;
    const auto bandwidth =
        static_cast<double>(problem_.cluster.kind(device).memory_bandwidth.count);
    return (micro_batches - 1) * (static_cast<double>(tensors) * Launch(device) +
                                  3e9 * gradients / std::max(1.0, bandwidth));
  }

  // ---- families

  static StrategyEstimate Not(Strategy strategy, std::string why) {
    StrategyEstimate estimate;
    estimate.strategy = std::move(strategy);
    estimate.why_not = std::move(why);
    return estimate;
  }

  int64_t SizeOfAll(const std::vector<AxisId>& axes) const {
    int64_t size = 0;
    for (const AxisId axis : axes) size = std::gcd(size, problem_.axes.axis(axis).size);
    return size;
  }
  // As many GPUs of a host as divide these and the host's: those of mesh_strategies.h.
  static int64_t WidthParts(int64_t of_host, int64_t size) {
    int64_t parts = std::min(of_host, kMaxWidthParts);
    while (parts > 1 && (size % parts != 0 || of_host % parts != 0)) --parts;
    return parts;
  }

  StrategyEstimate OfFamily(const LayoutFamily& family, Rewriting rewriting) {
    Strategy strategy{std::string(family.algorithm), std::move(rewriting)};
    const Rewritten& of = Of(strategy.rewriting.recompute);
    if (!of.why_not.empty()) return Not(std::move(strategy), of.why_not);
    const auto count = static_cast<int64_t>(devices_.size());
    const auto of_host = static_cast<int64_t>(hosts_.front().size());
    const bool equal = std::all_of(hosts_.begin(), hosts_.end(), [&](const Devices& host) {
      return static_cast<int64_t>(host.size()) == of_host;
    });
    if ((family.in_hosts || family.split != LayoutFamily::kSamples) && !equal) {
      return Not(std::move(strategy), "hosts have unequal numbers of GPUs");
    }
    int64_t parts = 1;  // of a sample
    if (family.split == LayoutFamily::kWidths || family.split == LayoutFamily::kHeadsOfTokens) {
      parts = WidthParts(of_host, SizeOfAll(structure_.heads));
      if (structure_.kind != ModelKind::kAttention || parts < 2) {
        return Not(std::move(strategy), "GPUs of a host divide no heads");
      }
    }
    if (family.split == LayoutFamily::kTokens) {
      if (structure_.kind != ModelKind::kAttention || of_host < 2) {
        return Not(std::move(strategy), "there are no tokens to split within a host");
      }
      parts = std::min(of_host, kMaxWidthParts);
    }
    if (family.split == LayoutFamily::kExperts && structure_.experts.empty()) {
      return Not(std::move(strategy), "there are no experts that are one dimension of a weight");
    }
    const int64_t micro_batches = std::max<int64_t>(1, strategy.rewriting.micro_batches);
    const int64_t data = count / parts;
    const int64_t samples = graph_.batch() / micro_batches;
    if (samples < data) {
      return Not(std::move(strategy), fmt::format("{} samples for {} parts", samples, data));
    }
    StrategyEstimate estimate;
    estimate.strategy = std::move(strategy);
    Reckon(family, of.table, static_cast<double>(data), static_cast<double>(parts), estimate);
    return estimate;
  }

  // Time and memory of the device that needs the most of each.
  void Reckon(const LayoutFamily& family, const StepTable& table, double data, double parts,
              StrategyEstimate& estimate) {
    const double micro_batches =
        static_cast<double>(std::max<int64_t>(1, estimate.strategy.rewriting.micro_batches));
    const bool widths = family.split == LayoutFamily::kWidths;
    const bool tokens =
        family.split == LayoutFamily::kHeadsOfTokens || family.split == LayoutFamily::kTokens;
    // Of the whole of a pass: what is not split by widths is split by tokens.
    const double sample_parts = tokens || widths ? data * parts : data;
    const double cut = widths ? parts : 1;  // parts of a parameter beside its shards
    const Devices& host = hosts_.front();
    const Devices groups = SecondsOf(static_cast<int64_t>(parts));
    const Devices& shards_over = family.in_hosts ? host : widths ? groups : devices_;
    const double shards = family.shards ? static_cast<double>(shards_over.size()) : 1;
    const double layers = static_cast<double>(std::max<int64_t>(1, table.layers));
    // The parameters that a device has its part of, as a share of all.
    const double own = 1 / (shards * cut);
    int64_t parameters = 0;
    for (const auto& [bytes, number] : table.sizes) parameters += number;

    double forward = 0, backward = 0, rest = 0, floor = 0;
    for (const DeviceId device : devices_) {
      double f = Pass(table.forward, device, micro_batches, sample_parts);
      double b = Pass(table.backward, device, micro_batches, sample_parts);
      const double launches = table.forward.launches + table.backward.launches;
      floor = std::max(floor, micro_batches * (f + b - launches * Launch(device)));
      if (family.gathers_anew) {
        const double out = Copies(table.in_layers / cut, parameters, device);
        f += out;
        b += out + (micro_batches > 1 ? 0 : Copies(table.gradients / cut, parameters, device));
      }
      const double r = Whole(table.once, device, 1) + Whole(table.update, device, own) +
                       Additions(table.gradients * own, parameters, micro_batches, device);
      if (f + b > forward + backward) {
        forward = f;
        backward = b;
      }
      rest = std::max(rest, r);
    }
    // Within a pass, not hidden.
    if (widths) {
      const Devices group(host.begin(), host.begin() + static_cast<int64_t>(parts));
      forward += OfSums(table.forward_sums, data * micro_batches, group);
      backward += OfSums(table.backward_sums, data * micro_batches, group);
    }
    if (tokens) {
      const Devices group(host.begin(), host.begin() + static_cast<int64_t>(parts));
      const auto kind = family.split == LayoutFamily::kTokens ? CollectiveKind::kAllGather
                                                              : CollectiveKind::kAllToAll;
      const double attentions = static_cast<double>(std::max<int64_t>(1, table.attentions));
      const double bytes = table.attention_bytes / attentions / (data * micro_batches);
      const double once = attentions * Collective(kind, bytes, group);
      forward += once;
      backward += once;
    }
    double time = 0;
    if (!family.shards) {
      const double sums = OfParameters(CollectiveKind::kAllReduce, table, devices_);
      time = micro_batches * (forward + backward) + rest + std::max(0.0, sums - backward) +
             sums / static_cast<double>(std::max<int64_t>(1, parameters));
    } else {
      const double gathers = OfParameters(CollectiveKind::kAllGather, table, shards_over, 1 / cut);
      double scatters = OfParameters(CollectiveKind::kReduceScatter, table, shards_over, 1 / cut);
      if (family.in_hosts) {
        scatters += OfParameters(CollectiveKind::kAllReduce, table, Across(), 1 / shards);
      }
      const double in_layers = table.parameters > 0 ? table.in_layers / table.parameters : 0;
      if (family.gathers_anew) {
        const double anew = gathers * in_layers;
        // Of a micro-batch nothing hides the first layer's gather, or the scatter of the last and of what lies outside.
        const double bare =
            std::min(1.0, 3 / layers) * (anew + scatters) + (1 - in_layers) * scatters;
        time =
            micro_batches * (std::max(forward, anew) + std::max(backward, anew + scatters) + bare) +
            gathers * (1 - in_layers);
      } else {
        // All are asked for at once, in no order: the first layer waits for about all of them.
        time = gathers + micro_batches * (forward + std::max(backward, scatters));
      }
      time += rest + (gathers + scatters) / layers;
    }
    estimate.time = Rounded(time);
    estimate.floor = Rounded(floor);

    double memory = table.parameters * own + table.state * own;
    if (family.gathers_anew) {
      memory += (table.parameters - table.in_layers + 2 * table.largest_layer) / cut;
    } else if (family.shards) {
      // Products read a matrix as it is and transposed: two copies, of which one batch without recomputation gives the
      // first up while it fills memory with activations.
      const bool again = !estimate.strategy.rewriting.recompute.empty();
      memory += table.parameters * (micro_batches > 1 ? 2 : again ? 1.5 : 1);
    }
    if (micro_batches > 1) memory += table.gradients * own;
    const double part = 1 / (micro_batches * sample_parts);
    memory += table.Peak(part, part, own);
    if (family.shards) memory += table.largest_layer / cut;  // gradients before they are scattered
    SetMemory(memory, devices_, estimate);
  }

  // Of the groups of `parts` GPUs, the first of each.
  Devices SecondsOf(int64_t parts) const {
    Devices firsts;
    for (size_t i = 0; i < devices_.size(); i += static_cast<size_t>(parts)) {
      firsts.push_back(devices_[i]);
    }
    return firsts;
  }

  void SetMemory(double bytes, const Devices& devices, StrategyEstimate& estimate) const {
    for (const DeviceId device : devices) {
      const auto needs = Rounded(bytes).count + problem_.cluster.kind(device).runtime_context.count;
      const Bytes capacity = problem_.cluster.device(device).capacity;
      const bool first = estimate.capacity.count == 0;
      const double before = static_cast<double>(estimate.memory.count) /
                            static_cast<double>(std::max<int64_t>(1, estimate.capacity.count));
      const double now =
          static_cast<double>(needs) / static_cast<double>(std::max<int64_t>(1, capacity.count));
      if (!first && now <= before) continue;
      estimate.memory = Bytes(needs);
      estimate.capacity = capacity;
    }
  }

  // ---- pipelines

  void AddPipelines(int64_t micro_batches, const std::vector<std::string>& recompute,
                    std::vector<StrategyEstimate>& all) {
    const auto count = static_cast<int64_t>(devices_.size());
    const auto layers = static_cast<int64_t>(LayersOf(graph_).names.size());
    if (!Rewrites() || micro_batches < 2) return;
    for (int64_t stages = 2; stages <= std::min(count, layers); ++stages) {
      if (count % stages != 0 || micro_batches < stages) continue;
      for (const std::string_view schedule : kSchedules) {
        const bool interleaved = schedule == "interleaved";
        const int64_t chunks = interleaved ? 2 : 1;
        if (stages * chunks > layers || (interleaved && micro_batches % stages != 0)) continue;
        Strategy strategy{std::string(schedule),
                          {micro_batches, recompute, std::string(schedule), stages, chunks}};
        all.push_back(OfPipeline(std::move(strategy)));
      }
    }
  }

  StrategyEstimate OfPipeline(Strategy strategy) {
    Rewritten& of = Of(strategy.rewriting.recompute);
    if (!of.why_not.empty()) return Not(std::move(strategy), of.why_not);
    const Rewriting& rewriting = strategy.rewriting;
    const int64_t stages = rewriting.stages, chunks = rewriting.chunks;
    const int64_t of_stage = static_cast<int64_t>(devices_.size()) / stages;
    const int64_t samples = graph_.batch() / rewriting.micro_batches;
    if (samples < of_stage) {
      return Not(std::move(strategy),
                 fmt::format("{} samples for {} GPUs of a stage", samples, of_stage));
    }
    const Result<ChunkTable>& cut = ChunksOf(of, stages, chunks);
    if (!cut.ok()) return Not(std::move(strategy), cut.error().message);
    StrategyEstimate estimate;
    const bool zero_bubble = rewriting.schedule == "zb-h1";
    const double m = static_cast<double>(rewriting.micro_batches);
    const double share = 1 / (m * static_cast<double>(of_stage));
    double slowest = 0, bubble = 0, tail = 0, floor = 0;
    for (int64_t stage = 0; stage < stages; ++stage) {
      const Devices own(devices_.begin() + stage * of_stage,
                        devices_.begin() + (stage + 1) * of_stage);
      double forward = 0, backward = 0, weights = 0, rest = 0;
      double parameters = 0, gradients = 0, state = 0, kept = 0, peak = 0;
      int64_t tensors = 0;
      for (int64_t c = stage; c < stages * chunks; c += stages) {
        const ChunkTable::Chunk& chunk = cut.value().chunks[static_cast<size_t>(c)];
        double f = 0, b = 0, w = 0;
        for (const DeviceId device : own) {
          const double launches = chunk.launches * Launch(device);
          f = std::max(f, chunk.forward[Kind(device)] * share + launches / 3);
          b = std::max(b, chunk.backward[Kind(device)] * share + launches * 2 / 3);
          w = std::max(w, chunk.weights[Kind(device)] * share);
        }
        forward += f;
        backward += b;
        weights += w;
        parameters += chunk.parameters;
        gradients += chunk.gradients;
        state += chunk.state;
        kept += chunk.kept;
        peak = std::max(peak, chunk.peak - chunk.kept);
        tensors += chunk.tensors;
      }
      const double part = of.table.parameters > 0 ? parameters / of.table.parameters : 0;
      for (const DeviceId device : own) {
        rest = std::max(rest, Additions(gradients, tensors, m, device) +
                                  Whole(of.table.update, device, part) -
                                  of.table.update.launches * Launch(device) * (1 - part));
      }
      const double sums =
          static_cast<double>(tensors) *
          Collective(CollectiveKind::kAllReduce,
                     gradients / static_cast<double>(std::max<int64_t>(1, tensors)), own);
      tail = std::max(tail, rest + std::max(0.0, sums - backward));
      const double wait =
          zero_bubble ? backward - weights + std::max(0.0, forward - weights) : forward + backward;
      bubble += wait / static_cast<double>(chunks);
      if (forward + backward > slowest) {
        slowest = forward + backward;
        floor = m * slowest;
      }
      SetMemory(
          parameters + state + 2 * gradients + share * (kept * InFlight(rewriting, stage) + peak),
          own, estimate);
    }
    const double mean = bubble / static_cast<double>(stages);
    estimate.time = Rounded(m * slowest + bubble - mean + tail);
    estimate.floor = Rounded(floor);
    estimate.strategy = std::move(strategy);
    return estimate;
  }

  // Micro-batches whose activations a stage holds at a time.
  static double InFlight(const Rewriting& of, int64_t stage) {
    if (of.schedule == "zb-h1") return static_cast<double>(std::min(of.stages, of.micro_batches));
    const double v = static_cast<double>(of.chunks);
    if (of.chunks == 1) return static_cast<double>(std::min(of.stages - stage, of.micro_batches));
    const int64_t passes = 2 * (of.stages - 1 - stage) + (of.chunks - 1) * of.stages + 1;
    return static_cast<double>(std::min(passes, of.micro_batches * of.chunks)) / v;
  }

  const LayoutProblem& problem_;
  const Graph& graph_;
  const StepFacts facts_;
  const ModelStructure& structure_;
  const std::vector<Devices> hosts_;
  Devices devices_;  // host after host
  std::map<std::string, Rewritten> rewritten_;
};

}  // namespace

Result<std::vector<StrategyEstimate>> EstimateStrategies(const LayoutProblem& problem,
                                                         const StatedRewriting& stated) {
  PW_ASSIGN(std::vector<DeviceId> devices, DevicesToSplitOver(problem, TimesOf(problem)));
  std::vector<StrategyEstimate> all = StrategyEstimator(problem, std::move(devices)).All(stated);
  const auto rank = [](const StrategyEstimate& one) {
    if (!one.why_not.empty()) return std::tuple(2, int64_t{0});
    if (one.Fits()) return std::tuple(0, one.time.count);
    return std::tuple(1, one.memory.count - one.capacity.count);
  };
  std::stable_sort(
      all.begin(), all.end(),
      [&](const StrategyEstimate& a, const StrategyEstimate& b) { return rank(a) < rank(b); });
  return all;
}

}  // namespace placewright
