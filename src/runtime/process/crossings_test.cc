// Steps of several ranks: each an executor of its own with some of the devices, here on threads of one
// process, whose messages end when they have been received (MakeLocalChannels).
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "runtime/executor/made_step.h"
#include "runtime/process/crossing_order.h"
#include "runtime/process/fake_nccl.h"
#include "runtime/process/test_channels.h"

namespace placewright {
namespace {

constexpr std::chrono::milliseconds kTimeout{60'000};

IdVector<DeviceId, int32_t> RandomRanks(size_t devices, int32_t ranks, Random& random) {
  IdVector<DeviceId, int32_t> rank_of;
  for (size_t d = 0; d < devices; ++d) {
    // Every rank has a device.
    rank_of.push_back(d < static_cast<size_t>(ranks)
                          ? static_cast<int32_t>(d)
                          : static_cast<int32_t>(random.Below(static_cast<uint64_t>(ranks))));
  }
  return rank_of;
}

// One rank of a step.
class Rank {
 public:
  Rank(const MadeStep& step, const Graph& graph, const IdVector<DeviceId, int32_t>& rank_of,
       Channel& channel, const Schedule* predicted, bool queued, std::vector<int64_t> limits = {},
       DeviceLinks* links = nullptr)
      : step_(step) {
    std::vector<std::unique_ptr<RuntimeDevice>> devices;
    limits.resize(rank_of.size(), 0);
    for (const DeviceId device : IdRange<DeviceId>(rank_of.size())) {
      const CpuDeviceOptions options{fmt::format("sim:{}", device.value()), 1,
                                     limits[device.index()]};
      if (rank_of[device] != channel.rank()) {
        devices.push_back(nullptr);
      } else {
        devices.push_back(queued ? MakeSimulatedDevice(options) : MakeCpuDevice(options));
      }
    }
    ExecutorOptions options;
    options.channel = &channel;
    options.links = links;
    options.rank_of = rank_of;
    options.predicted = predicted;
    auto made = Executor::Create(graph, step.placement, std::move(devices), options);
    EXPECT_TRUE(made.ok()) << made.error().ToString();
    executor = made.Take();
  }

  Status Step() {
    PW_RETURN_IF_ERROR(step_.Set(*executor));
    return executor->Step();
  }

  std::unique_ptr<Executor> executor;

 private:
  const MadeStep& step_;
};

// Starts that fit nothing.
Schedule RandomSchedule(const Graph& graph, Random& random) {
  Schedule schedule;
  const auto some = [&] { return Nanos(static_cast<int64_t>(random.Below(1000))); };
  for (size_t i = 0; i < graph.op_count(); ++i) schedule.ops.push_back({some(), some()});
  for (size_t i = 0; i < graph.collective_count(); ++i) {
    schedule.collectives.push_back({some(), some(), some()});
  }
  return schedule;
}

// Every rank on a thread of its own.
std::vector<Status> StepAll(std::vector<std::unique_ptr<Rank>>& ranks) {
  std::vector<Status> ended(ranks.size(), Ok());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < ranks.size(); ++i) {
    threads.emplace_back([&, i] { ended[i] = ranks[i]->Step(); });
  }
  for (std::thread& thread : threads) thread.join();
  return ended;
}

// Copies, writes in place behind them, and all collectives, over devices that lie on ranks at random, in
// orders that a random schedule asks for: no step waits for ever, and all have the bits of one thread. Every other step
// crosses by links, too, as between GPUs.
TEST(Crossings, RandomStepsOfRanksGiveTheBitsOfOneThread) {
  FakeNccl nccl;
  const NcclLibrary library = FakeNccl::Library();
  for (uint64_t seed = 0; seed < 200 && !HasFailure(); ++seed) {
    Random random(1000 + seed);
    const size_t devices = 2 + random.Below(3);
    const auto count = static_cast<int32_t>(2 + random.Below(std::min<uint64_t>(3, devices - 1)));
    const RandomStep made(devices, seed);
    const auto rank_of = RandomRanks(devices, count, random);
    const Schedule schedule = RandomSchedule(*made.graph, random);
    const auto channels = MakeLocalChannels(count, {kTimeout});
    std::vector<std::unique_ptr<DeviceLinks>> links;
    std::vector<std::unique_ptr<Rank>> ranks;
    for (const auto& channel : channels) {
      const bool linked = seed % 4 < 2;
      links.push_back(linked
                          ? MakeNcclLinks(library, *channel, FakeGpus(rank_of, count), kFakeLinks)
                          : nullptr);
      ranks.push_back(std::make_unique<Rank>(
          made.step, *made.graph, rank_of, *channel, seed % 3 == 0 ? nullptr : &schedule,
          /*queued=*/seed % 2 == 0, std::vector<int64_t>(), links.back().get()));
    }
    for (int repeat = 0; repeat < 2; ++repeat) {
      for (const Status& ended : StepAll(ranks)) {
        ASSERT_TRUE(ended.ok()) << "seed " << seed << ": " << ended.error().ToString();
      }
      for (size_t i = 0; i < made.now.size(); ++i) {
        const at::Tensor output =
            ranks[static_cast<size_t>(rank_of[DeviceId(i)])]->executor->Output(i);
        ASSERT_TRUE(output.defined());
        EXPECT_TRUE(SameBits(output, made.step.values.at(made.now[i]))) << "seed " << seed;
        for (const auto& rank : ranks) {
          if (rank != ranks[static_cast<size_t>(rank_of[DeviceId(i)])]) {
            EXPECT_FALSE(rank->executor->Output(i).defined());
          }
        }
      }
    }
  }
  EXPECT_GT(nccl.moved_bytes(), 0);
}

// What each rank takes part in, in turn, ends: with everything that a crossing waits for before it.
TEST(CrossingOrder, IsTopologicalWhateverTheSchedule) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    Random random(seed);
    const size_t devices = 3 + random.Below(2);
    const RandomStep made(devices, seed);
    const auto rank_of = RandomRanks(devices, 3, random);
    const Schedule schedule = RandomSchedule(*made.graph, random);
    const IdVector<OpId, bool> no_op(made.graph->op_count(), false);
    const Executable executable =
        MakeExecutable(*made.graph, made.step.placement, devices, no_op).Take();
    const IdVector<TaskId, bool> random_tasks(executable.tasks.size(), false);
    const auto order = CrossingOrder(executable, rank_of, random_tasks, &schedule);
    // One after the other, and what they make possible behind each; in the end every task has run.
    IdVector<TaskId, int32_t> waits;
    IdVector<CopyId, int32_t> copy_waits;
    for (const auto& task : executable.tasks) waits.push_back(task.waits);
    for (const auto& copy : executable.copies) copy_waits.push_back(copy.waits);
    IdVector<TaskId, bool> run(waits.size(), false);
    IdVector<CopyId, bool> copied(copy_waits.size(), false);
    const auto rank = [&](TaskId task) { return rank_of[executable.tasks[task].device]; };
    const auto end = [&](TaskId id) {
      run[id] = true;
      for (const TaskId next : executable.tasks[id].next) --waits[next];
      for (const TaskId next : executable.tasks[id].elsewhere) {
        if (rank(next) == rank(id)) --waits[next];
      }
      for (const CopyId copy : executable.tasks[id].copies) --copy_waits[copy];
    };
    const auto carry = [&](CopyId id) {
      copied[id] = true;
      for (const TaskId reader : executable.copies[id].readers) --waits[reader];
      for (const TaskId writer : executable.copies[id].writers) --waits[writer];
    };
    const auto members_wait = [&](CollectiveId id) {
      const auto& members = executable.collectives[id].members;
      return std::any_of(members.begin(), members.end(),
                         [&](TaskId member) { return waits[member] > 0; });
    };
    const auto crosses = [&](CollectiveId id) {
      const auto& members = executable.collectives[id].members;
      return std::any_of(members.begin(), members.end(),
                         [&](TaskId member) { return rank(member) != rank(members[0]); });
    };
    const auto go_on = [&] {
      for (bool again = true; again;) {
        again = false;
        for (const TaskId id : IdRange<TaskId>(run.size())) {
          const CollectiveId collective = executable.tasks[id].collective;
          if (run[id] || waits[id] > 0) continue;
          if (collective.valid() && (crosses(collective) || members_wait(collective))) continue;
          end(id);
          again = true;
        }
        for (const CopyId id : IdRange<CopyId>(copied.size())) {
          const auto& copy = executable.copies[id];
          if (copied[id] || copy_waits[id] > 0 || rank_of[copy.from] != rank_of[copy.to]) continue;
          carry(id);
          again = true;
        }
      }
    };
    go_on();
    for (const Crossing& one : order) {
      ASSERT_TRUE(std::is_sorted(one.ranks.begin(), one.ranks.end()));
      ASSERT_GE(one.ranks.size(), 2U);
      switch (one.kind) {
        case Crossing::Kind::kCopy:
          ASSERT_EQ(copy_waits[one.copy], 0) << "seed " << seed;
          carry(one.copy);
          break;
        case Crossing::Kind::kSignal:
          ASSERT_TRUE(run[one.from]) << "seed " << seed;
          --waits[one.to];
          break;
        case Crossing::Kind::kCollective:
          ASSERT_FALSE(members_wait(one.collective)) << "seed " << seed;
          for (const TaskId member : executable.collectives[one.collective].members) end(member);
          break;
      }
      go_on();
    }
    EXPECT_EQ(std::count(run.begin(), run.end(), false), 0) << "seed " << seed;
  }
}

// Two copies that may go at once: the one that the schedule has first is first, without it the one whose
// reader is.
TEST(CrossingOrder, FollowsTheSchedule) {
  MadeStep step;
  const DeviceId here(0), there(1);
  std::vector<TensorId> read;
  for (const char* const name : {"a", "b"}) {
    const TensorId input = step.Input(name, at::ones({2}, at::kFloat));
    const TensorId made = step.Op("aten.tanh.default", {input}, here, step.values[input].tanh());
    read.push_back(step.Op("aten.tanh.default", {made}, there, step.values[made].tanh()));
  }
  const Graph& graph = step.Finish(read);
  const IdVector<OpId, bool> no_op(graph.op_count(), false);
  const Executable executable = MakeExecutable(graph, step.placement, 2, no_op).Take();
  ASSERT_EQ(executable.copies.size(), 2U);
  IdVector<DeviceId, int32_t> rank_of;
  rank_of.push_back(0);
  rank_of.push_back(1);
  const IdVector<TaskId, bool> random_tasks(executable.tasks.size(), false);
  const auto first = [&](const Schedule* schedule) {
    const auto order = CrossingOrder(executable, rank_of, random_tasks, schedule);
    EXPECT_EQ(order.size(), 2U);
    return order.front().copy;
  };
  EXPECT_EQ(first(nullptr), CopyId(0));
  Schedule schedule;
  schedule.ops = IdVector<OpId, OpSpan>(graph.op_count(), {Nanos(0), Nanos(0)});
  for (const CopyId id : IdRange<CopyId>(2)) {
    const Executable::Copy& copy = executable.copies[id];
    const Nanos start(id == CopyId(0) ? 20 : 10);
    schedule.transfers.push_back({copy.storage, copy.version, copy.offset, copy.length, copy.from,
                                  copy.to, start, start, start});
  }
  EXPECT_EQ(first(&schedule), CopyId(1));
}

// An op of one rank fails: the others learn of it by what watches the ranks (Rendezvous), which this thread does
// here, and end, too.
TEST(Crossings, AFailureEndsTheStepOfARankAndAbortTheOthers) {
  MadeStep step;
  std::vector<std::pair<DeviceId, TensorId>> given;
  for (const DeviceId device : {DeviceId(0), DeviceId(1)}) {
    const TensorId x = step.Input(fmt::format("x{}", device.value()), at::ones({100}, at::kFloat));
    given.emplace_back(device, step.Op("aten.mul.Tensor", {x, x}, device, step.values[x]));
  }
  const Graph& graph = step.Finish(step.AllReduce(given));
  IdVector<DeviceId, int32_t> rank_of;
  rank_of.push_back(0);
  rank_of.push_back(1);
  const auto channels = MakeLocalChannels(2, {kTimeout});
  Rank first(step, graph, rank_of, *channels[0], nullptr, true);
  Rank second(step, graph, rank_of, *channels[1], nullptr, true, {5000, 500});
  Status of_first = Ok();
  std::thread other([&] { of_first = first.Step(); });
  const Status of_second = second.Step();
  ASSERT_FALSE(of_second.ok());
  EXPECT_EQ(of_second.error().code, ErrorCode::kDeviceMemory);
  channels[0]->Abort(MakeError(ErrorCode::kExecution, "rank 1 has failed"));
  other.join();
  ASSERT_FALSE(of_first.ok());
  EXPECT_NE(of_first.error().message.find("rank 1 has failed"), std::string::npos);
  EXPECT_EQ(of_first.error().place, "collective collective0");
}

// A rank that does not come is named when the time is over.
TEST(Crossings, AMissingRankIsNamed) {
  MadeStep step;
  const TensorId x = step.Input("x", at::ones({2}, at::kFloat));
  const TensorId made = step.Op("aten.tanh.default", {x}, DeviceId(1), step.values[x].tanh());
  const Graph& graph =
      step.Finish({step.Op("aten.tanh.default", {made}, DeviceId(0), step.values[made].tanh())});
  IdVector<DeviceId, int32_t> rank_of;
  rank_of.push_back(0);
  rank_of.push_back(1);
  const auto channels = MakeLocalChannels(2, {std::chrono::milliseconds(50)});
  Rank first(step, graph, rank_of, *channels[0], nullptr, true);
  const Status ended = first.Step();
  ASSERT_FALSE(ended.ok());
  EXPECT_NE(ended.error().message.find("rank 1"), std::string::npos) << ended.error().ToString();
  EXPECT_EQ(channels[0]->lost(), 1);
}

}  // namespace
}  // namespace placewright
