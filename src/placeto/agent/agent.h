// Placeto's agent on one graph (Addanki, Bojja Venkatakrishnan, Gupta, Mao, Alizadeh: Placeto,
// NeurIPS 2019), as the traversal-order study runs it (Wang, Payberah, Hagos, Vlassov, sec. II-B).
//
// An episode begins with a placement s_0 and visits every node once, in a fixed order; at each it
// draws a device for that node from the network's probabilities, s_(i+1). With the cost
// c_i = log(time of s_i) + penalty * (memory that s_i lacks), the return of step i is
//
//   G_i = sum over k >= i of discount^(k-i) (c_k - c_(k+1))      as Placeto has it,
//
// and with the opposite sign as the study's code has it, under the same loss: that one reinforces
// what makes the step slower. After an episode the network descends once
//
//   sum over i of -(G_i - b_i) log p(a_i) - entropy * H_i,  H = -sum p log(p + 0.001)
//
// where b_i is the mean of G_i over all episodes so far, this one included; or their moving average;
// or what the network itself expects (then it also descends half the squared error).
//
// Features of a node (5 + devices): its cost and the bytes that it sends, over the greatest of the
// graph; whether it has been placed in this episode; whether it is the one to be placed; when it
// begins under the present placement, less when the one to be placed does, over the greatest such
// difference; and its device, one-hot. Deviations: the study's code divides differences of starts by
// the greatest positive one (none where there is none) and hands in peaks of memory in their place.
//
// Every so many episodes, the first among them, devices are not drawn but the likeliest; nothing is
// learned then, and no episode begins with a placement from it. Episodes begin with the cheapest
// placement of all others, the first with the one that is given.
#ifndef PLACEWRIGHT_PLACETO_AGENT_AGENT_H_
#define PLACEWRIGHT_PLACETO_AGENT_AGENT_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/random.h"
#include "placeto/agent/environment.h"
#include "placeto/agent/learner.h"
#include "placeto/network/pass.h"

namespace placewright {

struct PlacetoOptions {
  enum class Reward { kImprovement, kSlowDown };
  enum class Baseline { kMean, kMoving, kLearned };
  Reward reward = Reward::kImprovement;
  Baseline baseline = Baseline::kMean;
  double baseline_decay = 0.9;  // of kMoving
  double entropy = 1;
  double discount = 1;
  double memory_penalty = 0;
  int64_t greedy_every = 5;  // 0: never
  bool remembers = false;    // evaluates no placement twice, as far as memory goes
  bool uniform = false;      // devices are drawn uniformly, and nothing is learned: the control
};

// What an agent places. All outlive it.
struct PlacetoTask {
  const PlacetoGraph* graph = nullptr;
  PlacetoEnvironment* environment = nullptr;
  // In the graph's first numbers: the devices that each node may have, ascending, and the nodes in
  // the order of visits. Those with one device are not visited.
  std::vector<std::vector<int32_t>> allowed;
  std::vector<int32_t> order;
};

class PlacetoAgent {
 public:
  // The learner's devices are those of the task. `first`: by node in the graph's first numbers.
  PlacetoAgent(PlacetoTask task, const PlacetoOptions& options,
               std::shared_ptr<PlacetoLearner> learner, Random random, std::vector<int32_t> first);

  // Visits the next node and evaluates the placement; where placements are remembered, visits nodes
  // until there is one to be evaluated or an episode ends. Before an episode whose beginning is not known it
  // evaluates that alone. Learns at an episode's end. False, and nothing, where no node has a choice.
  bool Step();

  // Between two episodes: goes on from another placement, without what it knows of returns. The next
  // Step evaluates it.
  void BeginAnew(std::vector<int32_t> first);

  // Of the last Step.
  const std::vector<int32_t>& device_of() const { return device_of_; }  // in the first numbers
  const PlacetoOutcome& outcome() const { return outcome_; }
  double cost() const { return cost_; }
  // The best placement's, of the first one and of all episodes that have ended, greedy ones left out.
  const PlacetoOutcome& best() const { return best_.outcome; }

  int64_t episodes() const { return episodes_; }     // that have ended
  bool has_learned() const { return learned_ > 0; }  // from one at least, since it began
  size_t visits() const { return order_.size(); }    // in an episode
  bool AtEpisodeEnd() const { return position_ == 0; }
  double entropy() const {
    return entropy_;
  }  // mean, of the decisions of the last episode that learned

  // What an agent goes on from, between two episodes, beside the learner.
  void Store(const std::string& prefix, StoredPolicy& policy) const;
  // Errors: kField, kPlanMismatch (another graph).
  Status Restore(const std::string& prefix, const StoredPolicy& policy);

 private:
  // A placement on the way and what it came to.
  struct Beginning {
    std::vector<int32_t> device_of;
    std::vector<double> starts;
    PlacetoOutcome outcome;
    double cost = std::numeric_limits<double>::infinity();
  };
  struct Visit {
    int32_t node = 0, device = 0;
    std::vector<float> starts;  // by node, before the visit
  };

  bool greedy() const {
    return options_.greedy_every > 0 && episodes_ % options_.greedy_every == 0;
  }
  // device_of_. False where it was known.
  bool Evaluate();
  void BeginEpisode();
  void EndEpisode();
  int32_t Choose(int32_t node);
  // The features of the state in which visit `i` chose.
  void FillFeatures(size_t i, std::span<const int32_t> device_of, int32_t state);
  // p over the devices; 0 for those that the node may not have; uniform where the network's numbers are
  // beyond what a float holds.
  void Probabilities(int32_t node, std::span<const float> logits, std::vector<double>& p) const;
  void Learn();
  std::vector<double> Returns() const;

  const PlacetoTask task_;
  const PlacetoOptions options_;
  const std::shared_ptr<PlacetoLearner> learner_;
  Random random_;
  PlacetoPass<float> pass_;
  int64_t version_ = -1;        // of the learner's values that the pass has
  std::vector<int32_t> order_;  // visited, in the graph's own numbers

  std::unordered_map<uint64_t, Beginning> known_;  // by the hash of device_of
  Beginning best_;                                 // where the next episode begins
  std::vector<int32_t> device_of_;
  std::vector<double> starts_;
  PlacetoOutcome outcome_;
  double cost_ = 0;
  bool begun_ = false;  // whether best_ has been evaluated
  size_t position_ = 0;
  int64_t episodes_ = 0, learned_ = 0;
  std::vector<Visit> visits_;
  std::vector<double> costs_;      // c_0 .. of the episode
  std::vector<double> baselines_;  // by step: sums of returns, or their moving averages
  Beginning found_;                // the cheapest of the episode
  double entropy_ = 0;
  std::vector<float> gradient_;
  std::vector<double> probabilities_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_PLACETO_AGENT_AGENT_H_
