#include "search/tag/tag_planner.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "search/tag/mcts_planner.h"

namespace placewright {
namespace {

AgentSetting OfPolicy(AgentSetting setting) {
  setting.structural = true;
  return setting;
}

AgentSetting Published(AgentSetting setting, std::string value) {
  setting.published = std::move(value);
  return setting;
}

SettableAlgorithm MakeAlgorithm() {
  SettableAlgorithm tag{
      "tag",
      "tree search over strategies that follows a graph network (TAG, sec. 4.2)",
      {OfPolicy(WordSetting("values", {"tuned", "published", "code"},
                            "where settings come from that are not stated: ours, the paper, or its "
                            "authors' program")),
       OfPolicy(Published(WordSetting("size", {"small", "paper"},
                                      "of the network: 0.23 million parameters, or 14.3 million"),
                          "paper")),
       OfPolicy(WordSetting("feedback", {"on", "off"},
                            "whether the network sees what simulated steps did")),
       OfPolicy(WordSetting("features", {"own", "edgeless", "shuffled"},
                            "of the step; edgeless: zeros of edges, shuffled: of device groups "
                            "those of others, the controls of what is learned from them"))}};
  for (const AgentSetting& setting : MctsSearchSettings()) tag.settings.push_back(setting);
  const std::vector<AgentSetting> of_training = {
      IntegerSetting("games", 256, 0, 1'000'000,
                     "train: of the first round, which follow the prior of floors; on one graph "
                     "after the other"),
      IntegerSetting("epochs", 20, 0, 100'000, "train: passes over the lessons of the first round"),
      IntegerSetting("rounds", 3, 0, 10'000,
                     "train: after the first, whose games follow the network"),
      IntegerSetting("round-games", 64, 0, 1'000'000, "train: of each of these rounds"),
      IntegerSetting("round-epochs", 5, 0, 100'000,
                     "train: passes behind the games of such a round"),
      IntegerSetting("replay", 4, 1, 10'000, "train: last rounds whose lessons are learned from"),
      IntegerSetting("held-out", 0, 0, 10'000,
                     "train: the last so many graphs, from whose games nothing is learned: how the "
                     "network does on others"),
      IntegerSetting("visits", 20, 1, 1'000'000,
                     "train: of a game's tree for each slice of a unit"),
      Published(IntegerSetting("choices", 64, 0, 1'000'000,
                               "train: slices that a unit may have in games; 0: all"),
                "0"),
      Published(IntegerSetting("batch", 16, 1, 4096, "train: lessons of a step"), "1"),
      RealSetting("learning-rate", 1e-4, 0, 10, "train: of Adam"),
      RealSetting("gradient-norm", 0.6, 0, 1e9, "train: bound of the gradient's norm; 0: none"),
      WordSetting("device", {"cpu", "cuda"}, "train: where the network is computed")};
  tag.settings.insert(tag.settings.end(), of_training.begin(), of_training.end());
  return tag;
}

}  // namespace

const SettableAlgorithm& TagAlgorithm() {
  static const SettableAlgorithm tag = MakeAlgorithm();
  return tag;
}

TagNetworkSize TagSizeOf(const AgentSettings& settings) {
  return settings.Is("size", "paper") ? TagNetworkSize::Paper() : TagNetworkSize::Small();
}

TagView TagViewOf(const AgentSettings& settings) {
  return settings.Is("features", "own")        ? TagView::kOwn
         : settings.Is("features", "edgeless") ? TagView::kEdgeless
                                               : TagView::kShuffled;
}

Result<std::unique_ptr<PlannerRun>> TagPlanner::Start(const Problem& problem, Evaluator& evaluator,
                                                      const PlannerOptions& options) const {
  if (settings_.policy == nullptr && !settings_.untrained) {
    return MakeError(ErrorCode::kUsage, "tag has no policy to follow", "",
                     "Train one (`placewright train tag`) and give it with --policy, or use --algo "
                     "mcts, which follows what steps take by their arithmetic and bytes.");
  }
  auto start = [&]() -> Result<std::unique_ptr<PlannerRun>> {
    const StoredPolicy* const policy = settings_.policy.get();
    PW_ASSIGN(const AgentSettings settings,
              policy == nullptr
                  ? AgentSettings::Parse(TagAlgorithm(), settings_.agent)
                  : AgentSettings::OfPolicy(TagAlgorithm(), *policy, settings_.agent));
    const TagNetworkSize size = TagSizeOf(settings);
    PW_ASSIGN(TagNetwork network, policy == nullptr ? TagNetwork::Untrained(size, options.seed)
                                                    : TagNetwork::FromPolicy(size, *policy));
    MctsOptions mcts = MctsOptionsOf(settings);
    mcts.prior = MctsOptions::Prior::kNetwork;
    mcts.network = std::make_shared<const TagNetwork>(std::move(network));
    mcts.untrained = policy == nullptr;
    mcts.feedback = settings.Is("feedback", "on");
    mcts.view = TagViewOf(settings);
    return StartMcts(problem, evaluator, options, mcts, name());
  };
  Result<std::unique_ptr<PlannerRun>> run = start();
  const bool of_policy = !run.ok() && (run.error().code == ErrorCode::kPlanMismatch ||
                                       run.error().code == ErrorCode::kField);
  return of_policy ? std::move(run).InFile(settings_.policy_file) : std::move(run);
}

}  // namespace placewright
