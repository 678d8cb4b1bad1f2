#include "torch_api/learned_algorithms.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "search/tag/tag_planner.h"

namespace placewright {
namespace {

// As a structural setting.
AgentSetting OfPolicy(AgentSetting setting) {
  setting.structural = true;
  return setting;
}

// Of every algorithm; the values are those of Mars (sec. 4.2).
std::vector<AgentSetting> TrainingSettings() {
  return {
      OfPolicy(WordSetting(
          "values", {"tuned", "published"},
          "where settings come from that are not stated: tuned on another model, or those "
          "of the paper")),
      WordSetting("training", {"ppo", "reinforce", "ppo+ce"}, "how rewards become gradients"),
      WordSetting("order",
                  {"topo", "reversed-topo", "dfs-preorder", "dfs-postorder", "bfs", "lexico"},
                  "in which order of the graph's ops sequences hold units"),
      IntegerSetting("draw", 10, 1, 4096, "placements drawn at a time"),
      IntegerSetting("update", 20, 1, 65'536,
                     "placements learned from at a time, a multiple of `draw`"),
      IntegerSetting("minibatches", 4, 1, 4096, "parts of an update"),
      IntegerSetting("epochs", 3, 1, 1000, "passes over an update"),
      RealSetting("clip", 0.2, 0, 10, "of PPO's ratio"),
      WordSetting("ratio", {"decision", "joint"},
                  "PPO's ratio: one for each decision, or one for all"),
      RealSetting("entropy", 0.001, 0, 100, "weight of the entropy of decisions"),
      RealSetting("learning-rate", 3e-4, 0, 10, "of Adam"),
      RealSetting("gradient-norm", 1, 0, 1e9, "bound of the gradient's norm; 0: none"),
      RealSetting("baseline-decay", 0.99, 0, 1,
                  "of the moving average of rewards; 1: the mean of all so far"),
      IntegerSetting("elite-interval", 50, 1, 1'000'000,
                     "ppo+ce: placements between two steps on elites"),
      IntegerSetting("elites", 5, 1, 4096, "ppo+ce: best placements so far"),
      RealSetting("first-baseline", 0, -1e6, 1e6,
                  "the moving average before the first reward; 0: that of the first"),
      RealSetting("explore", 0, 0, 1e6,
                  "decisions of a placement drawn uniformly, on average, but at most a fifth; of a "
                  "grouper, of each kind"),
      IntegerSetting("replay", 0, 0, 4096,
                     "best placements so far that every update learns from again"),
      RealSetting("logit-noise", 0, 0, 100, "deviation of normal noise on the placer's logits"),
      IntegerSetting("noise-until", -1, -1, 1'000'000'000, "samples that have that noise"),
      IntegerSetting("greedy-from", -1, -1, 1'000'000'000,
                     "samples after which the likeliest choice is taken; -1: never"),
      IntegerSetting("decay-from", -1, -1, 1'000'000'000,
                     "samples after which the learning rate falls by 5% every 50; -1: never"),
      WordSetting(
          "repair", {"on", "off"},
          "plan --policy: whether the policy's likeliest placement, its first, is made to fit"),
      WordSetting("graphs", {"turns", "together"},
                  "train: updates on one graph after the other, or steps on all of them at once"),
      IntegerSetting("imitation", 100, 0, 1'000'000,
                     "plan --init: steps that teach the policy the plan to start from"),
      IntegerSetting(
          "restart", 0, 0, 1'000'000'000,
          "plan: samples without a better one after which the policy begins anew; 0: never"),
      WordSetting(
          "repeats", {"kept", "varied"},
          "plan: placements sampled before stand as they are, or have single decisions changed "
          "until they are new"),
      RealSetting("invalid-seconds", 0, 0, 1e6,
                  "what a placement that does not fit counts as; 0: `invalid-steps`"),
      RealSetting("invalid-steps", 10, 1, 1e6,
                  "the same in steps on one device without a memory limit"),
      WordSetting(
          "invalid", {"fixed", "graded"},
          "what placements that do not fit count as: all the same, or the more the more memory "
          "they "
          "lack"),
      WordSetting(
          "reward", {"relative", "seconds"},
          "unit of the step time below the root: the step on one device without a memory limit, or "
          "a second"),
      WordSetting(
          "advantages", {"raw", "scaled", "centred", "ranked"},
          "as they are; divided by their standard deviation in an update; less their mean, too; or "
          "by their ranks in the update alone"),
      WordSetting("device", {"cpu", "cuda"}, "where the policy is computed"),
  };
}

// Of algorithms that place units as they are.
std::vector<AgentSetting> UnitSettings() {
  std::vector<AgentSetting> settings = {
      WordSetting(
          "unit", {"group", "op"},
          "what is placed: colocation groups, or single ops, which vote on the devices of their "
          "groups"),
      IntegerSetting(
          "parts", 0, 0, 1'000'000,
          "what is placed as one: so many parts of the colocation groups; 0: each group by "
          "itself, up to 2,048 of them, beyond that up to 1,024 parts"),
      WordSetting("partition", {"metis", "fluid"}, "what makes parts: METIS, or fluid communities"),
  };
  const std::vector<AgentSetting> training = TrainingSettings();
  settings.insert(settings.end(), training.begin(), training.end());
  return settings;
}

AgentSetting& SettingOf(LearnedAlgorithm& algorithm, std::string_view name) {
  const auto setting = std::find_if(algorithm.settings.begin(), algorithm.settings.end(),
                                    [&](const AgentSetting& each) { return each.name == name; });
  PW_CHECK(setting != algorithm.settings.end());
  return *setting;
}

// Names of settings and values.
using Values = std::initializer_list<std::pair<std::string_view, std::string_view>>;

void Change(LearnedAlgorithm& algorithm, Values values) {
  for (const auto& [name, value] : values) SettingOf(algorithm, name).value = value;
}

// Defaults of our own, beside the published ones (docs/lab/2026-11-22-learned-settings.md says how they were found).
void Tune(LearnedAlgorithm& algorithm, Values values) {
  for (const auto& [name, value] : values) {
    AgentSetting& setting = SettingOf(algorithm, name);
    if (setting.published.empty()) setting.published = setting.value;
    setting.value = value;
  }
}

// Of all algorithms. Ranks take no notice of how much worse one bad placement is; a few decisions
// drawn uniformly keep a policy that has settled from drawing the same for ever.
void TuneForAll(LearnedAlgorithm& algorithm) {
  Tune(algorithm, {{"advantages", "ranked"},
                   {"invalid", "graded"},
                   {"explore", "2"},
                   {"clip", "0.5"},
                   {"restart", "500"},
                   {"replay", "1"},
                   {"repeats", "varied"}});
}

// Of placers that decide all units independently. Where the seq2seq placer has `switches`, they have these two.
AgentSetting Scores() {
  return OfPolicy(WordSetting(
      "scores", {"plain", "centred"},
      "of devices: as the placer has them, or less their mean over the units and with a "
      "preference for each device"));
}
AgentSetting Draws() {
  return WordSetting(
      "draws", {"single", "shared"},
      "of units: each by itself, or with the same random numbers in a region of the graph");
}

void AddPlacer(LearnedAlgorithm& algorithm, int64_t segment) {
  algorithm.settings.push_back(
      OfPolicy(WordSetting("placer", {"seq2seq", "transformer-xl", "gcn", "mlp"},
                           "network that turns representations into devices")));
  algorithm.settings.push_back(OfPolicy(IntegerSetting(
      "segment", segment, 0, 65'536, "units in a segment of the sequence; 0: all are one")));
  algorithm.settings.push_back(OfPolicy(
      WordSetting("attention", {"before", "after"}, "where the context enters the decoder")));
  algorithm.settings.push_back(
      OfPolicy(IntegerSetting("width", 512, 2, 8192,
                              "of the decoder (each direction of the encoder has "
                              "half), or of the mlp's or gcn's hidden layer")));
  algorithm.settings.push_back(OfPolicy(RealSetting(
      "logit-bound", 0, 0, 1e6, "c of c tanh(logit) in the seq2seq placer; 0: no bound")));
  algorithm.settings.push_back(OfPolicy(RealSetting(
      "switches", 0, 0, 1e6,
      "changes of device along the sequence that the seq2seq placer begins with, on average; "
      "0: no preference for the device before")));
  algorithm.settings.push_back(Scores());
  algorithm.settings.push_back(Draws());
}

// The values are those of EAGLE (sec. IV-C).
LearnedAlgorithm Eagle() {
  LearnedAlgorithm eagle{
      "eagle", "feed-forward grouper, bridge and seq2seq placer, PPO (Lan et al., IPDPS 2021)",
      TrainingSettings()};
  Change(eagle, {{"update", "10"},
                 {"minibatches", "1"},
                 {"epochs", "4"},
                 {"clip", "0.3"},
                 {"entropy", "0.01"},
                 {"learning-rate", "0.01"}});
  const auto add = [&](AgentSetting setting) { eagle.settings.push_back(std::move(setting)); };
  add(OfPolicy(WordSetting("grouper", {"learned", "metis", "fluid"}, "what makes the groups")));
  add(IntegerSetting("parts", 256, 0, 1024, "groups; 0: 20 for each device, at most 256"));
  add(OfPolicy(IntegerSetting("grouper-hidden", 64, 1, 8192,
                              "width of the learned grouper's hidden layer")));
  add(OfPolicy(
      RealSetting("grouper-blocks", 0, 0, 1000,
                  "how much the learned grouper prefers equal blocks of the sequence as groups: "
                  "what its logits fall for each group's width from a unit's place")));
  add(OfPolicy(IntegerSetting("bridge", 64, 0, 8192, "width of the bridge; 0: none")));
  AddPlacer(eagle, 0);
  return eagle;
}

LearnedAlgorithm TunedEagle() {
  LearnedAlgorithm eagle = Eagle();
  TuneForAll(eagle);
  Tune(eagle, {{"learning-rate", "0.0003"},
               {"minibatches", "2"},
               {"grouper-blocks", "4"},
               {"switches", "16"}});
  return eagle;
}

// The values are those of its public code, as EAGLE reproduces it.
LearnedAlgorithm HierarchicalPlanner(const LearnedAlgorithm& eagle) {
  LearnedAlgorithm hdp = eagle;
  hdp.name = "hdp";
  hdp.description =
      "Hierarchical Planner: feed-forward grouper, seq2seq placer, REINFORCE (Mirhoseini et al., "
      "2018)";
  Change(hdp, {{"training", "reinforce"},
               {"draw", "1"},
               {"update", "1"},
               {"epochs", "1"},
               {"entropy", "0"},
               {"learning-rate", "0.1"},
               {"baseline-decay", "0.9"},
               {"first-baseline", "-3.1622776601683795"},
               {"logit-noise", "0.5"},
               {"noise-until", "750"},
               {"greedy-from", "500"},
               {"decay-from", "400"},
               {"bridge", "0"},
               {"attention", "after"},
               {"logit-bound", "1"},
               {"parts", "0"}});
  TuneForAll(hdp);
  Tune(hdp, {{"learning-rate", "0.001"},
             {"draw", "10"},
             {"update", "10"},
             {"logit-noise", "0"},
             {"greedy-from", "-1"},
             {"decay-from", "-1"},
             {"logit-bound", "0"},
             {"grouper-blocks", "4"},
             {"switches", "16"}});
  return hdp;
}

LearnedAlgorithm Mars() {
  LearnedAlgorithm mars{
      "mars", "GCN encoder pre-trained by contrast, segment-level seq2seq, PPO (Lan et al., 2021)",
      UnitSettings()};
  const auto add = [&](AgentSetting setting) { mars.settings.push_back(std::move(setting)); };
  add(OfPolicy(WordSetting("encoder", {"gcn", "graphsage"},
                           "network that turns units into representations")));
  add(OfPolicy(IntegerSetting("encoder-layers", 3, 1, 64, "graph convolutions")));
  add(OfPolicy(IntegerSetting("encoder-width", 256, 2, 8192, "of each convolution")));
  add(IntegerSetting("pretraining", 1000, 0, 1'000'000,
                     "iterations of Deep Graph Infomax; 0: none"));
  add(WordSetting("representations", {"trained", "frozen"},
                  "whether rewards train the encoder, too"));
  AddPlacer(mars, 128);
  TuneForAll(mars);
  Tune(mars, {{"update", "10"}, {"minibatches", "2"}, {"epochs", "2"}, {"switches", "16"}});
  return mars;
}

LearnedAlgorithm Post() {
  LearnedAlgorithm post{"post",
                        "table of softmaxes, PPO and cross-entropy minimisation (Gao et al., 2018)",
                        UnitSettings()};
  post.settings.push_back(Draws());
  Change(post, {{"training", "ppo+ce"}, {"learning-rate", "0.1"}});
  // A row of its table is one unit.
  for (const std::string_view name : {"unit", "parts", "partition", "order"}) {
    SettingOf(post, name).structural = true;
  }
  TuneForAll(post);
  Tune(post, {{"explore", "1"}, {"elite-interval", "20"}});
  return post;
}

// The values are those of GDP (sec. 4.1 and 6.2). The paper's learning rate is 0.5, of stochastic
// gradient ascent.
LearnedAlgorithm Gdp() {
  LearnedAlgorithm gdp{
      "gdp", "GraphSAGE and Transformer-XL placer, all units at once, PPO (Zhou et al., 2019)",
      UnitSettings()};
  const auto add = [&](AgentSetting setting) { gdp.settings.push_back(std::move(setting)); };
  add(OfPolicy(IntegerSetting("encoder-layers", 4, 1, 64, "of GraphSAGE")));
  add(OfPolicy(IntegerSetting("encoder-width", 128, 2, 8192, "of each layer of GraphSAGE")));
  add(OfPolicy(IntegerSetting("neighbours", 5, 0, 1000,
                              "that GraphSAGE looks at, drawn where there are more; 0: all")));
  add(OfPolicy(
      IntegerSetting("segment", 128, 0, 65'536,
                     "units in a segment of the sequence; attention also looks at the one before; "
                     "0: all are one")));
  add(OfPolicy(WordSetting("attention", {"on", "off"}, "of the placer; off: the ablation")));
  add(OfPolicy(WordSetting("superposition", {"on", "off"},
                           "whether the placer's dense layers are conditioned on the graph")));
  add(Scores());
  add(OfPolicy(
      WordSetting("places", {"off", "on"},
                  "whether features say where in the order a unit stands; its neighbours' places "
                  "relative to its own they always say")));
  add(OfPolicy(
      WordSetting("costs", {"off", "on"},
                  "whether features say what units cost and where in the step they stand")));
  add(OfPolicy(WordSetting(
      "devices", {"numbered", "described"},
      "what scores know of devices: their numbers, so that a policy is of one cluster's "
      "number of devices, or what they are")));
  add(OfPolicy(
      WordSetting("plans", {"unseen", "followed"},
                  "whether the policy may follow a plan for the whole graph: all on one device, "
                  "expert, m-etf, metis or layered")));
  add(OfPolicy(
      WordSetting("features", {"own", "shuffled", "none"},
                  "of units; shuffled: those of others, none: zeros, the controls of what is "
                  "learned from them")));
  add(Draws());
  add(IntegerSetting(
      "lessons", 0, 0, 1'000'000,
      "train: steps toward a teacher's plans of each graph, before the first sample"));
  add(IntegerSetting(
      "teacher", 0, 0, 1'000'000'000,
      "train: moves of local-search from the best constructive plan to the teacher's; 0: all "
      "constructive plans, the better the more"));
  add(WordSetting("optimizer", {"adam", "sgd"}, "what moves the policy"));
  Change(gdp, {{"draw", "400"},
               {"update", "400"},
               {"minibatches", "40"},
               {"epochs", "5"},
               {"entropy", "0.05"},
               {"learning-rate", "0.5"},
               {"gradient-norm", "0"},
               {"baseline-decay", "1"},
               {"invalid-steps", "100"}});
  TuneForAll(gdp);
  Change(gdp, {{"graphs", "together"}});
  SettingOf(gdp, "optimizer").published = "sgd";
  Tune(gdp, {{"places", "on"},
             {"costs", "on"},
             {"devices", "described"},
             {"plans", "followed"},
             {"scores", "centred"},
             {"draws", "shared"},
             {"draw", "10"},
             {"update", "10"},
             {"minibatches", "2"},
             {"epochs", "4"},
             {"entropy", "0.001"},
             {"learning-rate", "0.003"},
             {"gradient-norm", "1"},
             {"invalid-steps", "10"}});
  return gdp;
}

// Published are the values of the traversal-order study's code and configuration.
LearnedAlgorithm Placeto() {
  LearnedAlgorithm placeto{
      "placeto",
      "message passing and one visit of every node, REINFORCE (Addanki et al., 2019)",
      {OfPolicy(WordSetting("values", {"tuned", "published"},
                            "where settings come from that are not stated: ours, or those of the "
                            "traversal-order study")),
       WordSetting("order",
                   {"topo", "reversed-topo", "dfs-preorder", "dfs-postorder", "bfs", "lexico"},
                   "in which order of the graph's ops an episode visits units"),
       WordSetting("simulator", {"ours", "placeto"}, "what step times are rewarded by"),
       WordSetting(
           "reward", {"improvement", "slowdown"},
           "a visit's reward: by how much the step became shorter, as Placeto has it, or longer, "
           "as the study's code has it"),
       OfPolicy(
           WordSetting("baseline", {"mean", "moving", "learned"},
                       "of a visit's return: the mean over episodes, their moving average, or what "
                       "the network expects")),
       RealSetting("baseline-decay", 0.9, 0, 1, "of the moving average"),
       WordSetting("policy", {"learned", "uniform"},
                   "what draws devices; uniform learns nothing: the control"),
       RealSetting("entropy", 1, 0, 100, "weight of the entropy of a visit's decision"),
       RealSetting("learning-rate", 1e-3, 0, 10, "of Adam"),
       RealSetting("gradient-norm", 1.25, 0, 1e9, "bound of the gradient's norm; 0: none"),
       RealSetting("discount", 1, 0, 1, "of later rewards"),
       RealSetting(
           "memory-penalty", 0, 0, 1e6,
           "what a placement costs for each 10^9 bytes that it lacks, beside the logarithm of its "
           "step time"),
       IntegerSetting(
           "greedy-every", 5, 0, 1'000'000,
           "of so many episodes, one takes the likeliest devices and learns nothing; 0: none"),
       IntegerSetting(
           "restart", 0, 0, 1'000'000'000,
           "plan: episodes without a better placement after which it begins anew; 0: never"),
       IntegerSetting(
           "parts", 0, 0, 1024,
           "what is placed as one: so many parts of the colocation groups; 0: each group by "
           "itself, up to 2,048 of them, beyond that up to 1,024 parts"),
       WordSetting("partition", {"metis", "fluid"},
                   "what makes parts: METIS, or fluid communities")},
      false,
      false};
  SettingOf(placeto, "simulator").published = "placeto";
  SettingOf(placeto, "reward").published = "slowdown";
  Tune(placeto, {{"order", "reversed-topo"},
                 {"entropy", "0.01"},
                 {"memory-penalty", "1"},
                 {"restart", "80"}});
  return placeto;
}

// Ours: TAG says nothing of how its authors trained HeteroG.
LearnedAlgorithm Heterog() {
  LearnedAlgorithm heterog{
      "heterog",
      "one-shot graph network over strategies, REINFORCE (HeteroG, Yi et al., 2020)",
      {OfPolicy(WordSetting("size", {"small", "paper"},
                            "of the network: 0.23 million parameters, or 14.3 million")),
       OfPolicy(WordSetting("feedback", {"on", "off"},
                            "whether the network sees what the step of data parallelism did")),
       RealSetting("preference", 4, -100, 100,
                   "what is added to the score of data parallelism, for every unit"),
       IntegerSetting("update", 10, 1, 4096, "strategies drawn at a time, and learned from"),
       RealSetting("entropy", 0.001, 0, 100, "weight of the entropy of decisions"),
       RealSetting("learning-rate", 3e-3, 0, 10, "of Adam"),
       RealSetting("gradient-norm", 1, 0, 1e9, "bound of the gradient's norm; 0: none"),
       RealSetting("baseline-decay", 0.9, 0, 1, "of the moving average of rewards"),
       RealSetting("invalid-steps", 8, 1, 1e6,
                   "what a strategy that does not fit counts as, in steps of data parallelism"),
       WordSetting("device", {"cpu", "cuda"}, "where the network is computed")}};
  heterog.strategies = true;
  return heterog;
}

}  // namespace

const std::vector<LearnedAlgorithm>& LearnedAlgorithms() {
  static const std::vector<LearnedAlgorithm> algorithms = {
      Mars(),
      TunedEagle(),
      HierarchicalPlanner(Eagle()),
      Post(),
      Gdp(),
      Placeto(),
      LearnedAlgorithm{TagAlgorithm(), /*torch=*/false, /*torch_training=*/true,
                       /*strategies=*/true},
      Heterog()};
  return algorithms;
}

std::vector<LearnedAlgorithm> TorchPlacers() {
  std::vector<LearnedAlgorithm> algorithms;
  for (const LearnedAlgorithm& algorithm : LearnedAlgorithms()) {
    if (algorithm.torch && !algorithm.strategies) algorithms.push_back(algorithm);
  }
  return algorithms;
}

const LearnedAlgorithm* FindLearnedAlgorithm(std::string_view name) {
  for (const LearnedAlgorithm& algorithm : LearnedAlgorithms()) {
    if (algorithm.name == name) return &algorithm;
  }
  return nullptr;
}

}  // namespace placewright
