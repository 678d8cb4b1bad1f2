// Some of a cluster's GPUs, and what passes, copies and collectives take on them: what estimates of strategies are made
// of.
#ifndef PLACEWRIGHT_SEARCH_STRATEGIES_SOME_GPUS_H_
#define PLACEWRIGHT_SEARCH_STRATEGIES_SOME_GPUS_H_

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "cost/slowest.h"
#include "search/layouts/layout_devices.h"
#include "search/problem/layout_problem.h"
#include "search/strategies/step_table.h"

namespace placewright {

class SomeGpus {
 public:
  using Devices = std::vector<DeviceId>;

  // `setting`: a value of GpusSetting; `devices`: what it means. `problem` and `times` outlive it.
  SomeGpus(const LayoutProblem& problem, const DeviceTimes& times, std::string setting,
           const Devices& devices);

  const std::string& setting() const { return setting_; }
  const Devices& devices() const { return devices_; }  // host after host
  const std::vector<Devices>& hosts() const { return hosts_; }
  int64_t count() const { return static_cast<int64_t>(devices_.size()); }
  int64_t of_host() const { return of_host_; }  // of every host; 0: unequal numbers
  bool of_one_kind() const { return of_one_kind_; }
  // How many of a host's GPUs share a link on their ways to another host.
  double sharing() const { return sharing_; }
  // Of devices that are alike in kind and memory one.
  const Devices& each_sort() const { return each_sort_; }

  Devices Across() const;                // one device of each host
  Devices Group(int64_t parts) const;    // the first `parts`
  Devices FirstOf(int64_t parts) const;  // of groups of `parts`, the first of each
  // The devices of a stage of a pipeline (layouts/pipelines.h).
  Devices OfStage(int64_t stage, int64_t stages) const;
  int64_t LargestStage(int64_t stages) const;  // how many devices it has

  // Of every device, so many of a number of samples: equal numbers, or in proportion to speed.
  std::vector<int64_t> Shares(int64_t samples, bool by_speed) const;

  // ns.
  double Launch(DeviceId device) const;
  // Of equal GPUs side by side each is as slow as the slowest of them (cost/slowest.h): times the time of one alone.
  double Slower(DeviceId device) const { return Slower(device, devices_); }
  double Slower(DeviceId device, const Devices& among) const;
  // `samples`: of a micro-batch, the share that a device has; `widths`: of what heads and inner widths split.
  double Pass(const StepTable::Work& work, DeviceId device, double samples, double widths) const;
  // Of that, what parts divide, on a GPU alone.
  double Divided(const StepTable::Work& work, DeviceId device, double samples, double widths) const;
  // What the last of `parts` equal parts of the tokens takes more than the mean one, which has `share` of all samples'
  // tokens: of queries that see the keys up to their own the last part has (2 parts - 1) / parts times the mean.
  double LastTokens(const StepTable::Work& work, DeviceId device, double share, double parts) const;
  double Whole(const StepTable::Work& work, DeviceId device, double share) const;
  // In and out of flat buffers (compile/rewrites/flat_copies.h): all is read and written.
  double Copies(double bytes, int64_t tensors, DeviceId device) const;
  // Sums of gradients over micro-batches: two are read, one is written.
  double Additions(double gradients, int64_t tensors, double micro_batches, DeviceId device) const;
  double Collective(CollectiveKind kind, double bytes, const Devices& over) const;
  // One for every parameter, `share` of its size.
  double OfParameters(CollectiveKind kind, const StepTable& table, const Devices& over,
                      double share = 1) const;
  // One for every layer, and one for what is outside of layers (compile/rewrites/unit_collectives.h).
  double OfUnits(CollectiveKind kind, const StepTable& table, const Devices& over,
                 double share = 1) const;
  // Of the parameters of a layer, in the type in which they cross.
  static double BytesOfLayer(const StepTable& table);
  // A device computes while collectives are under way that it does not wait for: what ends later. Where these take some of
  // its multiprocessors, the ops beside them take longer.
  double Beside(double computing, double collectives) const;
  double Transfer(double bytes, DeviceId from, DeviceId to) const;
  // Of each of some devices so many to one of as many others, at once.
  double Transfers(double bytes, const Devices& from, const Devices& to) const;

  size_t Kind(DeviceId device) const {
    return static_cast<size_t>(problem_.cluster.device(device).kind);
  }
  Bytes Context(DeviceId device) const { return problem_.cluster.kind(device).runtime_context; }
  Bytes Capacity(DeviceId device) const { return problem_.cluster.device(device).capacity; }

 private:
  // Of transfers at once: routes of each length and width, and links of each width that so many of them share.
  struct Ways {
    std::vector<std::pair<int64_t, int64_t>> routes;  // ns, bytes a second
    std::vector<std::pair<double, double>> links;     // how many, bytes a second
  };
  const Ways& WaysBetween(const Devices& from, const Devices& to) const;
  double NanosToMove(double bytes, DeviceId device) const;

  const LayoutProblem& problem_;
  const DeviceTimes& times_;
  const std::string setting_;
  const std::vector<Devices> hosts_;
  Devices devices_, each_sort_;
  int64_t of_host_ = 0;
  bool of_one_kind_ = true;
  double sharing_ = 1;
  mutable std::map<std::pair<Devices, Devices>, Ways> ways_;
  // By kind, bytes and members, which the first, the second and their number say.
  mutable std::map<std::tuple<CollectiveKind, int64_t, DeviceId, DeviceId, size_t>, double>
      collectives_;
  mutable SlowestOfMany slowest_;
};

// All, each kind with those that are faster than it, and of hosts that are alike the first: what a strategy may take.
std::vector<SomeGpus> SetsOfGpus(const LayoutProblem& problem, const DeviceTimes& times,
                                 const std::vector<DeviceId>& usable);

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_STRATEGIES_SOME_GPUS_H_
