#include "search/strategies/strategy_space.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <string_view>
#include <tuple>
#include <utility>

#include "search/layouts/layout_devices.h"
#include "search/layouts/mesh_strategies.h"
#include "search/layouts/model_structure.h"
#include "search/layouts/offload.h"
#include "search/layouts/tensor_parallel.h"
#include "search/strategies/layout_estimates.h"
#include "search/strategies/offload_estimate.h"
#include "search/strategies/pipeline_estimates.h"
#include "search/strategies/pipeline_stages.h"
#include "search/strategies/recomputed_layers.h"
#include "search/strategies/some_gpus.h"
#include "search/strategies/step_table.h"
#include "transforms/layers.h"
#include "transforms/recompute.h"

namespace placewright {
namespace {

constexpr std::array<std::string_view, 3> kRecomputations = {"selective", "megatron", "full"};
// Of the memory that chosen layers may fill: as it is, and where the estimate is too low by some.
constexpr std::array<double, 2> kShares = {1.0, 0.95};
constexpr double kSavesSome = 0.99;  // of the activations that are kept
// How many pipelines have stages and layers chosen for them, and the largest of their floors, times the best estimate.
constexpr size_t kChosenPipelines = 40;
constexpr double kFarAbove = 1.1;
constexpr int64_t kPlaces =
    2;  // among equal estimates, of a rewriting on some GPUs: layouts, pipelines
constexpr std::array<std::string_view, 3> kSchedules = {"1f1b", "interleaved", "zb-h1"};

}  // namespace

class StrategyEstimator::Impl {
 public:
  Impl(const LayoutProblem& problem, const StatedRewriting& stated, DeviceTimes times,
       const std::vector<DeviceId>& usable)
      : problem_(problem),
        times_(std::move(times)),
        stated_(stated),
        graph_(problem.graph),
        facts_(problem, usable),
        structure_(facts_.structure()),
        sets_(SetsOfGpus(problem, times_, usable)),
        layers_(LayersOf(graph_).names) {
    const std::vector<DeviceId> host = FastestHost(problem, times_, usable);
    if (!host.empty()) fastest_host_.emplace(problem, times_, std::string(kEveryGpu), host);
  }

  std::vector<StrategyEstimate> Unpipelined() {
    ForEach([&](const Rewriting& rewriting) { AddOffload(rewriting); },
            [&](const SomeGpus& gpus, const Rewriting& rewriting) {
              for (const LayoutFamily& family : kLayoutFamilies) AddFamily(family, gpus, rewriting);
            });
    return Ranked();
  }

  std::vector<StrategyEstimate> All() {
    ForEach([](auto&&...) {},
            [&](const SomeGpus& gpus, const Rewriting& rewriting) {
              ++number_;  // behind the families
              if (Rewrites() && rewriting.micro_batches > 1) AddPipelines(gpus, rewriting);
            });
    AddChosenStages();
    return Ranked();
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

  // A pipeline whose stages have equal work, and its estimate.
  struct EqualStages {
    int64_t degree = 1;
    const SomeGpus* gpus = nullptr;
    size_t estimate = 0;
  };

  // Every rewriting, and every one on every set of GPUs, in the order in which equal estimates are ranked.
  template <class OfRewriting, class OnGpus>
  void ForEach(const OfRewriting& of_rewriting, const OnGpus& on_gpus) {
    int64_t place = 0;
    for (const std::vector<std::string>& recompute : Recomputations()) {
      for (const int64_t micro_batches : MicroBatches()) {
        const Rewriting rewriting{.micro_batches = micro_batches > 1 ? micro_batches : 0,
                                  .recompute = recompute};
        for (const SomeGpus& gpus : sets_) {
          number_ = place += kPlaces;
          on_gpus(gpus, rewriting);
        }
        number_ = place += kPlaces;
        of_rewriting(rewriting);
      }
    }
    number_ = place + kPlaces;
  }

  void Add(StrategyEstimate estimate) {
    all_.push_back(std::move(estimate));
    numbers_.push_back(number_);
  }

  // The fastest of those that fit first, then the others by memory, then those that are none.
  std::vector<StrategyEstimate> Ranked() const {
    std::vector<size_t> order(all_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    const auto rank = [&](size_t i) {
      const StrategyEstimate& one = all_[i];
      if (!one.why_not.empty()) return std::tuple(2, int64_t{0}, numbers_[i]);
      if (one.Fits()) return std::tuple(0, one.time.count, numbers_[i]);
      return std::tuple(1, one.memory.count - one.capacity.count, numbers_[i]);
    };
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return rank(a) < rank(b); });
    std::vector<StrategyEstimate> ranked;
    for (const size_t i : order) ranked.push_back(all_[i]);
    return ranked;
  }

  bool Rewrites() const { return graph_.format() == "aten" && graph_.batch_scaling() != nullptr; }

  std::vector<std::vector<std::string>> Recomputations() const {
    if (stated_.recompute) return {*stated_.recompute};
    std::vector<std::vector<std::string>> sets = {{}};
    if (!Rewrites()) return sets;
    for (const std::string_view set : kRecomputations) sets.push_back({std::string(set)});
    return sets;
  }

  std::vector<int64_t> MicroBatches() const {
    if (stated_.micro_batches) return {std::max<int64_t>(1, *stated_.micro_batches)};
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
    // As the core of attention where that is one operator.
    const bool saves =
        recompute.empty() || stated_.recompute || made.table.kept < kSavesSome * Of({}).table.kept;
    if (!saves) made.why_not = "computing that again saves next to nothing";
    return made;
  }

  const Result<ChunkTable>& ChunksOf(Rewritten& of, int64_t stages, int64_t chunks) {
    const auto it = of.chunks.find({stages, chunks});
    if (it != of.chunks.end()) return it->second;
    const Transform cut{.kind = Transform::kPipeline, .stages = stages, .chunks = chunks};
    return of.chunks.emplace(std::pair(stages, chunks), of.facts->MakeChunks(cut)).first->second;
  }

  static Strategy Named(std::string_view algorithm, const SomeGpus& gpus,
                        const Rewriting& rewriting) {
    Strategy strategy{std::string(algorithm), rewriting};
    if (gpus.setting() != kEveryGpu) strategy.settings.push_back("gpus=" + gpus.setting());
    return strategy;
  }

  // What a strategy is not on all GPUs is said once; what it is not on some of them, never.
  void AddNot(Strategy strategy, std::string why) {
    if (!strategy.settings.empty()) return;
    StrategyEstimate estimate;
    estimate.strategy = std::move(strategy);
    estimate.why_not = std::move(why);
    Add(std::move(estimate));
  }

  // ---- families

  // What --set calls its degree, and how much there is to share out.
  struct Degrees {
    std::string_view setting, what;
    int64_t size = 0;
  };
  Degrees DegreesOf(LayoutFamily::Split split) const {
    const bool attends = structure_.attends();
    const int64_t heads = attends ? CommonSize(problem_.axes, structure_.heads) : 0;
    switch (split) {
      case LayoutFamily::kSamples: break;
      case LayoutFamily::kWidths: return {"tensor", "heads of attention", heads};
      case LayoutFamily::kHeadsOfTokens: return {"context", "heads of attention", heads};
      case LayoutFamily::kTokens: return {"context", "tokens", attends ? facts_.tokens() : 0};
      case LayoutFamily::kExperts:
        return {"experts", "experts that are one dimension of their weights",
                CommonSize(problem_.axes, structure_.experts)};
    }
    return {};
  }

  // Where tokens are split, whether attention can be.
  const Status& AttentionSplits(const LayoutFamily& family) {
    const auto [it, is_new] = attention_splits_.try_emplace(family.split, Ok());
    const bool by_heads = family.split == LayoutFamily::kHeadsOfTokens;
    if (is_new && (by_heads || family.split == LayoutFamily::kTokens)) {
      const std::vector<AxisId> tokens = TokenAxes(graph_, problem_.axes);
      it->second = CheckAttentionSplits(graph_, problem_.axes, by_heads ? structure_.heads : tokens,
                                        family.algorithm);
    }
    return it->second;
  }

  void AddFamily(const LayoutFamily& family, const SomeGpus& gpus, const Rewriting& rewriting) {
    if (family.in_hosts && gpus.hosts().size() < 2) return;  // the same as over all GPUs
    if (family.by_speed && gpus.of_one_kind()) return;       // the same as in equal shares
    if (family.by_work && !facts_.has_causal()) return;      // so it is
    if (gpus.count() == 1 && family.algorithm != "data-parallel") return;
    Strategy strategy = Named(family.algorithm, gpus, rewriting);
    const bool splits = family.split != LayoutFamily::kSamples;
    if (splits && family.in_hosts) strategy.settings.emplace_back("shards=hosts");
    if (family.by_work) strategy.settings.emplace_back("tokens=work");
    if (family.by_speed && family.algorithm != "data-parallel-p") {
      strategy.settings.push_back("shares=speed");
    }
    if ((family.in_hosts || splits) && gpus.of_host() == 0) {
      return AddNot(std::move(strategy), "hosts have unequal numbers of GPUs");
    }
    if (!splits) return AddLayout(family, 1, gpus, std::move(strategy));
    const Degrees degrees = DegreesOf(family.split);
    const Result<int64_t> usual = ChooseDegree(
        {family.algorithm, degrees.setting, degrees.what, degrees.size, gpus.of_host(), 0});
    if (!usual.ok()) return AddNot(std::move(strategy), usual.error().message);
    const Status& attention = AttentionSplits(family);
    if (!attention.ok()) return AddNot(std::move(strategy), attention.error().message);
    for (const int64_t degree : PossibleDegrees(degrees.size, gpus.of_host())) {
      // Else there is no shard: that is `tensor`.
      const bool has_shards =
          !family.in_hosts || family.split != LayoutFamily::kWidths || degree < gpus.of_host();
      if (!has_shards) continue;
      Strategy one = strategy;
      if (degree != usual.value()) {
        one.settings.push_back(fmt::format("{}={}", degrees.setting, degree));
      }
      AddLayout(family, degree, gpus, std::move(one));
    }
  }

  void AddLayout(const LayoutFamily& family, int64_t degree, const SomeGpus& gpus,
                 Strategy strategy) {
    const Rewritten& of = Of(strategy.rewriting.recompute);
    if (!of.why_not.empty()) return AddNot(std::move(strategy), of.why_not);
    const int64_t groups =
        family.split == LayoutFamily::kExperts ? gpus.count() : gpus.count() / degree;
    const int64_t samples = graph_.batch() / std::max<int64_t>(1, strategy.rewriting.micro_batches);
    if (samples < groups) {
      return AddNot(std::move(strategy), fmt::format("{} samples for {} parts", samples, groups));
    }
    StrategyEstimate estimate;
    estimate.strategy = std::move(strategy);
    EstimateLayout(family, degree, gpus, facts_, of.table, estimate);
    const RecomputedLayers* const layers =
        IsFull(estimate.strategy.rewriting) ? LayersToChoose() : nullptr;
    if (layers != nullptr) {
      StrategyEstimate kept;
      kept.strategy = estimate.strategy;
      kept.strategy.rewriting.recompute.clear();
      EstimateLayout(family, degree, gpus, facts_, Of({}).table, kept);
      for (const double share : kShares) {
        if (auto chosen = layers->Choose(kept, estimate, share)) Add(*std::move(chosen));
      }
    }
    Add(std::move(estimate));
  }

  static bool IsFull(const Rewriting& rewriting) {
    return rewriting.recompute == std::vector<std::string>{"full"};
  }

  // nullptr: what is computed again is stated, or there are no layers to choose among.
  const RecomputedLayers* LayersToChoose() {
    const auto count = static_cast<int64_t>(layers_.size());
    if (stated_.recompute || count < 2) return nullptr;
    if (!chosen_layers_) {
      const Result<ChunkTable>& kept = ChunksOf(Of({}), count, 1);
      const Result<ChunkTable>& again = ChunksOf(Of({"full"}), count, 1);
      if (!kept.ok() || !again.ok()) return nullptr;
      chosen_layers_.emplace(layers_, kept.value(), again.value());
    }
    return &*chosen_layers_;
  }

  // On the GPUs that `offload` takes: of the host whose are the fastest together.
  void AddOffload(const Rewriting& rewriting) {
    const Rewritten& of = Of(rewriting.recompute);
    if (!of.why_not.empty() || !fastest_host_) return;
    std::vector<std::string> before;
    for (const double share : kShares) {
      auto estimate =
          EstimateOffload(*fastest_host_, facts_, of.table, share, {"offload", rewriting});
      // A layer is much: less memory may mean the same number of them.
      if (!estimate || estimate->strategy.settings == before) continue;
      before = estimate->strategy.settings;
      Add(*std::move(estimate));
    }
  }

  // ---- pipelines

  void AddPipelines(const SomeGpus& gpus, const Rewriting& rewriting) {
    const auto layers = static_cast<int64_t>(layers_.size());
    const int64_t heads = DegreesOf(LayoutFamily::kWidths).size;
    for (int64_t stages = 2; stages <= std::min(gpus.count(), layers); ++stages) {
      const bool equal_runs = gpus.count() % stages == 0;
      const bool of_hosts = std::ssize(gpus.hosts()) == stages;
      if ((!equal_runs && !of_hosts) || rewriting.micro_batches < stages) continue;
      const int64_t of_stage = gpus.count() / stages;
      for (const std::string_view schedule : kSchedules) {
        const bool interleaved = schedule == "interleaved";
        const int64_t chunks = interleaved ? 2 : 1;
        if (stages * chunks > layers) continue;
        if (interleaved && rewriting.micro_batches % stages != 0) continue;
        Rewriting pipelined = rewriting;
        pipelined.schedule = schedule;
        pipelined.stages = stages;
        pipelined.chunks = chunks;
        AddPipeline(1, gpus, Named(schedule, gpus, pipelined));
        // Groups of GPUs of one host: as many as divide a host's and a stage's.
        const int64_t of_host = std::gcd(gpus.of_host(), of_stage);
        const std::vector<int64_t> degrees =
            gpus.of_host() == 0 ? std::vector<int64_t>() : PossibleDegrees(heads, of_host);
        for (const int64_t degree : degrees) {
          Strategy strategy = Named("3d", gpus, pipelined);
          strategy.settings.push_back(fmt::format("tensor={}", degree));
          AddPipeline(degree, gpus, std::move(strategy));
        }
      }
    }
  }

  void AddPipeline(int64_t degree, const SomeGpus& gpus, Strategy strategy) {
    Rewritten& of = Of(strategy.rewriting.recompute);
    if (!of.why_not.empty()) return AddNot(std::move(strategy), of.why_not);
    const Rewriting& rewriting = strategy.rewriting;
    const int64_t groups = gpus.LargestStage(rewriting.stages) / degree;
    const int64_t samples = graph_.batch() / rewriting.micro_batches;
    if (samples < groups) {
      return AddNot(std::move(strategy),
                    fmt::format("{} samples for {} parts of a stage", samples, groups));
    }
    const Result<ChunkTable>& cut = ChunksOf(of, rewriting.stages, rewriting.chunks);
    if (!cut.ok()) return AddNot(std::move(strategy), cut.error().message);
    StrategyEstimate estimate;
    estimate.strategy = std::move(strategy);
    const PipelineOnGpus pipeline = {degree, gpus, facts_, of.table, estimate.strategy.rewriting};
    EstimatePipeline(pipeline, cut.value(), orders_, estimate);
    if (estimate.strategy.rewriting.recompute.empty() || stated_.recompute) {
      equal_stages_.push_back({degree, &gpus, all_.size()});
    }
    Add(std::move(estimate));
  }

  // Stages and layers by dynamic programming, of pipelines that may come to be the best then: those that would be if stages
  // had work in proportion to their speed.
  void AddChosenStages() {
    const auto count = static_cast<int64_t>(layers_.size());
    if (equal_stages_.empty() || count < 2) return;
    Rewritten& of = Of(all_[equal_stages_.front().estimate].strategy.rewriting.recompute);
    const Result<ChunkTable>& kept = ChunksOf(of, count, 1);
    const Result<ChunkTable>* const again =
        stated_.recompute || !Of({"full"}).facts ? nullptr : &ChunksOf(Of({"full"}), count, 1);
    if (!kept.ok()) return;
    const bool may_choose = again != nullptr && again->ok();
    const PipelineStages stages(kept.value(), may_choose ? &again->value() : nullptr);
    std::vector<std::pair<int64_t, EqualStages>> by_floor;
    for (const EqualStages& one : equal_stages_) {
      const Rewriting& rewriting = all_[one.estimate].strategy.rewriting;
      const PipelineOnGpus pipeline = {one.degree, *one.gpus, facts_, of.table, rewriting};
      by_floor.emplace_back(stages.Floor(pipeline).count, one);
    }
    std::stable_sort(by_floor.begin(), by_floor.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    int64_t best = kMaxQuantity;
    for (const StrategyEstimate& one : all_) {
      if (one.Fits()) best = std::min(best, one.time.count);
    }
    if (by_floor.size() > kChosenPipelines) by_floor.resize(kChosenPipelines);
    for (const auto& [floor, one] : by_floor) {
      if (static_cast<double>(floor) > kFarAbove * static_cast<double>(best)) break;
      const Rewriting& rewriting = all_[one.estimate].strategy.rewriting;
      const PipelineOnGpus pipeline = {one.degree, *one.gpus, facts_, of.table, rewriting};
      const std::optional<Nanos> fastest =
          may_choose ? stages.Fastest(pipeline) : std::optional<Nanos>();
      for (const double share : kShares) {
        if (!AddChosen(stages, of.table, one, share, fastest)) break;
      }
    }
  }

  // Whether it may be another one with less memory.
  bool AddChosen(const PipelineStages& stages, const StepTable& table, const EqualStages& equal,
                 double share, std::optional<Nanos> fastest) {
    StrategyEstimate chosen;
    chosen.strategy = all_[equal.estimate].strategy;
    Rewriting& rewriting = chosen.strategy.rewriting;
    PipelineOnGpus pipeline = {equal.degree, *equal.gpus, facts_, table, rewriting};
    const std::optional<StageChoice> choice = stages.Choose(pipeline, share, fastest);
    if (!choice) return false;
    std::vector<std::string> modules;
    for (size_t i = 0; i < layers_.size(); ++i) {
      if (choice->again[i]) modules.push_back(layers_[i]);
    }
    rewriting.layers = choice->layers;
    pipeline.chosen_layers = !modules.empty();
    if (!modules.empty()) rewriting.recompute = GlobsOfLayers(modules);
    if (modules.size() == layers_.size()) rewriting.recompute = {"full"};
    EstimatePipeline(pipeline, stages.Joined(*choice), orders_, chosen);
    chosen.layer_optimum = choice->optimum;
    const StrategyEstimate& before = all_[equal.estimate];
    const bool is_better = !before.Fits() || chosen.time < before.time;
    const bool is_new = Describe(all_.back().strategy) != Describe(chosen.strategy);
    if (is_better && is_new) Add(std::move(chosen));
    return is_better && is_new;
  }

  const LayoutProblem& problem_;
  const DeviceTimes times_;  // sets of GPUs refer to them
  const StatedRewriting stated_;
  const Graph& graph_;
  const StepFacts facts_;
  const ModelStructure& structure_;
  const std::vector<SomeGpus> sets_;  // all first
  std::optional<SomeGpus> fastest_host_;
  const std::vector<std::string> layers_;
  std::optional<RecomputedLayers> chosen_layers_;
  std::map<std::string, Rewritten> rewritten_;
  std::map<LayoutFamily::Split, Status> attention_splits_;
  PipelineOrders orders_;
  std::vector<StrategyEstimate> all_;
  int64_t number_ = 0;
  std::vector<int64_t> numbers_;           // of `all_`: of equal estimates the smallest comes first
  std::vector<EqualStages> equal_stages_;  // of which nothing is computed again, or what is stated
};

StrategyEstimator::StrategyEstimator(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
StrategyEstimator::StrategyEstimator(StrategyEstimator&&) noexcept = default;
StrategyEstimator::~StrategyEstimator() = default;

Result<StrategyEstimator> StrategyEstimator::Make(const LayoutProblem& problem,
                                                  const StatedRewriting& stated) {
  DeviceTimes times = TimesOf(problem);
  PW_ASSIGN(const std::vector<DeviceId> devices, DevicesToSplitOver(problem, times));
  return StrategyEstimator(std::make_unique<Impl>(problem, stated, std::move(times), devices));
}

std::vector<StrategyEstimate> StrategyEstimator::Unpipelined() { return impl_->Unpipelined(); }
std::vector<StrategyEstimate> StrategyEstimator::All() { return impl_->All(); }

}  // namespace placewright
