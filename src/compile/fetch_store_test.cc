#include "compile/fetch_store.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "compile/test_steps.h"

namespace placewright {
namespace {

// z and u read y, one behind the other.
const TestStep& ForkStep() {
  static const TestStep* const step = new TestStep(R"(
    input x batch:8 width:6
    y = relu x
    z = neg y
    u = clone y
    -> z u)");
  return *step;
}

// What several devices have fetched at once, each of them has fetched: at this version, in this epoch.
TEST(FetchStore, KnowsPiecesThatWereFetchedAtOnce) {
  const TensorId id(0);
  const std::vector<DeviceId> devices = {DeviceId(0), DeviceId(1)};
  const AxisPlace rows{0, 1, 8, 1};
  const TensorBox first = {{rows, {0, 4}}}, second = {{rows, {4, 8}}};
  const PieceBoxes boxes({first, second});
  FetchStore store(1, /*keeps_users=*/false);
  store.SetRegathered(IdVector<TensorId, char>(1, 1));
  store.Begin(0);
  EXPECT_FALSE(store.IsFetched(id, 0));
  EXPECT_EQ(store.FindPieces(id, 0, devices, boxes), nullptr);
  store.AddPieces(id, {0, devices, boxes, {TensorId(7), TensorId(9)}});
  EXPECT_TRUE(store.IsFetched(id, 0));
  ASSERT_NE(store.FindPieces(id, 0, devices, PieceBoxes({first, second})), nullptr);
  EXPECT_EQ(store.FindPieces(id, 0, {DeviceId(1), DeviceId(0)}, boxes), nullptr);
  EXPECT_EQ(store.FindFetched(id, 0, DeviceId(1), second), TensorId(9));
  EXPECT_FALSE(store.FindFetched(id, 0, DeviceId(1), first).valid());
  EXPECT_FALSE(store.FindFetched(id, 0, DeviceId(2), second).valid());
  EXPECT_FALSE(store.IsFetched(id, 1));
  EXPECT_EQ(store.FindPieces(id, 1, devices, boxes), nullptr);
  store.SetEpoch(1);
  EXPECT_FALSE(store.IsFetched(id, 0));
  EXPECT_FALSE(store.FindFetched(id, 0, DeviceId(1), second).valid());
}

TEST(FetchStore, JoinsOnceForAllReadersOfADevice) {
  EXPECT_EQ(ForkStep().Compiled("y: batch a:3 b:5; z u: c"), R"(
a: y@a [3 6] = relu(x[0:0-3])
b: y@b [5 6] = relu(x[0:3-8])
c: y.concat@c [8 6] = concat(y@a, y@b) along 0
c: z [8 6] = neg(y.concat@c)
c: u [8 6] = clone(y.concat@c)
-> z u
)");
}

// Rows 0 to 2 were cut for z on c: u takes these, but where it has rows 0 and 1 alone, they are cut anew.
TEST(FetchStore, CutsOnceForEachIntervalAndDevice) {
  EXPECT_EQ(ForkStep().Compiled("y: a; z u: batch c:3 b:5"), R"(
a: y [8 6] = relu(x)
a: y.split@a [3 6] = split(y)[0:0-3/8]
a: y.split@a#1 [5 6] = split(y)[0:3-8/8]
c: z@c [3 6] = neg(y.split@a)
b: z@b [5 6] = neg(y.split@a#1)
c: u@c [3 6] = clone(y.split@a)
b: u@b [5 6] = clone(y.split@a#1)
-> z@c z@b u@c u@b
)");
  EXPECT_EQ(ForkStep().Compiled("y: a; z: batch c:3 b:5; u: batch c:2 b:6"), R"(
a: y [8 6] = relu(x)
a: y.split@a [3 6] = split(y)[0:0-3/8]
a: y.split@a#1 [5 6] = split(y)[0:3-8/8]
c: z@c [3 6] = neg(y.split@a)
b: z@b [5 6] = neg(y.split@a#1)
a: y.split@a#2 [2 6] = split(y)[0:0-2/8]
a: y.split@a#3 [6 6] = split(y)[0:2-8/8]
c: u@c [2 6] = clone(y.split@a#2)
b: u@b [6 6] = clone(y.split@a#3)
-> z@c z@b u@c u@b
)");
}

// What y was is not what it is once it was written in place.
TEST(FetchStore, FetchesWhatWasWrittenAgain) {
  const TestStep step(R"(
    input x batch:8 width:6
    y = relu x
    z = neg y
    y1 = neg_ y
    u = clone y
    -> z u)");
  EXPECT_EQ(step.Compiled("y: batch a:3 b:5; z u: c"), R"(
a: y@a [3 6] = relu(x[0:0-3])
b: y@b [5 6] = relu(x[0:3-8])
c: y.concat@c [8 6] = concat(y@a, y@b) along 0
c: z [8 6] = neg(y.concat@c)
a: y1@a [3 6] = neg_(y@a)
b: y1@b [5 6] = neg_(y@b)
c: y.concat@c#1 [8 6] = concat(y@a, y@b) along 0
c: u [8 6] = clone(y.concat@c#1)
-> z u
)");
}

// u on c takes what a has gathered, 8 rows from one device instead of 3 and 5 from two.
TEST(FetchStore, GathersOnceForAllThatReadLater) {
  EXPECT_EQ(ForkStep().Compiled("y: batch a:3 b:5; z: a b; u: a c"), R"(
a: y@a [3 6] = relu(x[0:0-3])
b: y@b [5 6] = relu(x[0:3-8])
a: y.all_gather@a [8 6] = all_gather#0(y@a)[0:0-3/8]
b: y.all_gather@b [8 6] = all_gather#0(y@b)[0:3-8/8]
a: z@a [8 6] = neg(y.all_gather@a)
b: z@b [8 6] = neg(y.all_gather@b)
a: u@a [8 6] = clone(y.all_gather@a)
c: u@c [8 6] = clone(y.all_gather@a)
-> z@a z@b u@a u@c
)");
}

// Who wants parts takes the pieces, though all of it is there, too.
TEST(FetchStore, LeavesPiecesToReadersOfParts) {
  EXPECT_EQ(ForkStep().Compiled("y: batch a:3 b:5; z: a b; u: batch c:3 b:5"), R"(
a: y@a [3 6] = relu(x[0:0-3])
b: y@b [5 6] = relu(x[0:3-8])
a: y.all_gather@a [8 6] = all_gather#0(y@a)[0:0-3/8]
b: y.all_gather@b [8 6] = all_gather#0(y@b)[0:3-8/8]
a: z@a [8 6] = neg(y.all_gather@a)
b: z@b [8 6] = neg(y.all_gather@b)
c: u@c [3 6] = clone(y@a)
b: u@b [5 6] = clone(y@b)
-> z@a z@b u@c u@b
)");
}

// b and c have copies: d alone is no broadcast.
TEST(FetchStore, BroadcastsOnce) {
  EXPECT_EQ(ForkStep().Compiled("y: a; z: b c; u: b c d"), R"(
a: y [8 6] = relu(x)
a: y.broadcast@a = broadcast#0(y)
b: y.broadcast@b [8 6] = broadcast#0()
c: y.broadcast@c [8 6] = broadcast#0()
b: z@b [8 6] = neg(y.broadcast@b)
c: z@c [8 6] = neg(y.broadcast@c)
b: u@b [8 6] = clone(y.broadcast@b)
c: u@c [8 6] = clone(y.broadcast@c)
d: u@d [8 6] = clone(y)
-> z@b z@c u@b u@c u@d
)");
}

// c is the only one that y has not reached.
TEST(FetchStore, BroadcastsToNoneThatHaveIt) {
  EXPECT_EQ(ForkStep().Compiled("y: a; z: b; u: b c"), R"(
a: y [8 6] = relu(x)
b: z [8 6] = neg(y)
b: u@b [8 6] = clone(y)
c: u@c [8 6] = clone(y)
-> z u@b u@c
)");
}

// The input of the step itself is that of its first reader; each other device has one of its own.
TEST(FetchStore, GivesEveryDeviceAnInputOfItsOwn) {
  const TestStep step(R"(
    input x batch:8 width:6
    y = relu x
    z = neg x
    -> y z)");
  EXPECT_EQ(step.Compiled("y: a b; z: a b c"), R"(
a: y@a [8 6] = relu(x)
b: y@b [8 6] = relu(x@b)
a: z@a [8 6] = neg(x)
b: z@b [8 6] = neg(x@b)
c: z@c [8 6] = neg(x@c)
-> y@a y@b z@a z@b z@c
)");
}

// A store of one tensor, of which ops at places fetch all, at one version and for one device.
class OneTensor {
 public:
  explicit OneTensor(bool keeps_users = true) : store(1, keeps_users) {}
  // The op at `place` is written; what it fetches is called `made`, nothing: -1. What End says has changed.
  size_t Write(int32_t place, int32_t made, bool all = false) {
    store.Begin(place);
    if (made >= 0) store.AddFetched(kTensor, {0, kDevice, {}, TensorId(made)});
    return store.End(all).size();
  }
  // What the op at `place` finds, or -1. It looks, no more.
  int32_t FoundBy(int32_t place) {
    store.Begin(place);
    const TensorId found = store.FindFetched(kTensor, 0, kDevice, {});
    store.End(false);
    return found.valid() ? found.value() : -1;
  }
  // The op at `place` completes the tensor to a whole one called `made`.
  void Complete(int32_t place, int32_t made) {
    store.Begin(place);
    store.SetCompleted(kTensor, 0, {{{kDevice, TensorId(made)}}});
    store.End(false);
  }
  int32_t StateSeenBy(int32_t place, int32_t version = 0) {
    store.Begin(place);
    const TensorState& state = store.StateAt(kTensor, version);
    store.End(false);
    return state.pieces.empty() ? -1 : state.pieces.front().tensor.value();
  }

  static constexpr TensorId kTensor{0};
  static constexpr DeviceId kDevice{2};
  FetchStore store;
};

// Ops may be written again in any order: what comes later in the step is not there for what comes earlier. Of two, the
// one that was there first is used.
TEST(FetchStore, ShowsWhatEarlierOpsFetched) {
  OneTensor one;
  EXPECT_EQ(one.Write(5, 15), 1u);
  EXPECT_EQ(one.FoundBy(4), -1);
  EXPECT_EQ(one.FoundBy(6), 15);
  EXPECT_EQ(one.Write(3, 13), 1u);
  EXPECT_EQ(one.FoundBy(2), -1);
  EXPECT_EQ(one.FoundBy(4), 13);
  EXPECT_EQ(one.FoundBy(6), 13);
  one.store.Begin(6);
  EXPECT_FALSE(one.store.FindFetched(one.kTensor, 1, one.kDevice, {}).valid());
  EXPECT_FALSE(one.store.FindFetched(one.kTensor, 0, DeviceId(1), {}).valid());
  EXPECT_FALSE(
      one.store.FindFetched(one.kTensor, 0, one.kDevice, {{{0, 1, 8, 1}, {0, 3}}}).valid());
  // Everybody that looked, in the step's order.
  const auto users = one.store.users(one.kTensor);
  EXPECT_EQ(std::vector<int32_t>(users.begin(), users.end()), (std::vector<int32_t>{2, 4, 6}));
}

// Of what was completed the newest: a copy on more devices takes the place of one on fewer.
TEST(FetchStore, ShowsWhatWasCompletedLast) {
  OneTensor one;
  EXPECT_EQ(one.StateSeenBy(9), -1);
  one.Complete(5, 15);
  one.Complete(3, 13);
  EXPECT_EQ(one.StateSeenBy(2), -1);
  EXPECT_EQ(one.StateSeenBy(4), 13);
  EXPECT_EQ(one.StateSeenBy(6), 15);
  EXPECT_EQ(one.StateSeenBy(6, /*version=*/1), -1);
}

// Readers are written again where End names the tensor.
TEST(FetchStore, SaysWhatIsFetchedOtherwise) {
  OneTensor one;
  EXPECT_EQ(one.Write(3, 13), 1u);
  EXPECT_EQ(one.Write(3, 13), 0u);
  EXPECT_EQ(one.Write(3, 13, /*all=*/true), 1u);
  EXPECT_EQ(one.Write(3, 14), 1u);
  EXPECT_EQ(one.FoundBy(4), 14);
  EXPECT_EQ(one.Write(3, -1), 1u);
  EXPECT_EQ(one.FoundBy(4), -1);
  EXPECT_EQ(one.Write(3, -1), 0u);
  one.Complete(3, 13);
  EXPECT_EQ(one.Write(3, -1), 1u);
  EXPECT_EQ(one.StateSeenBy(4), -1);
}

TEST(FetchStore, UndoesWhatFollowedARecord) {
  OneTensor one;
  one.Write(3, 13);
  one.Complete(4, 24);
  one.store.Record();
  one.Write(3, 14);
  one.Complete(4, 25);
  one.Write(7, 17);
  one.store.Undo();
  EXPECT_EQ(one.FoundBy(8), 13);
  EXPECT_EQ(one.StateSeenBy(8), 24);
  // What is there again can be taken back as before.
  EXPECT_EQ(one.Write(3, -1), 1u);
  EXPECT_EQ(one.FoundBy(8), -1);
}

// A part of an input is there for all ops, whichever asked first.
TEST(FetchStore, KeepsInputs) {
  OneTensor one;
  one.store.Begin(5);
  one.store.AddFetchedInput(one.kTensor, {0, one.kDevice, {}, TensorId(15)});
  one.store.End(false);
  EXPECT_EQ(one.Write(5, -1), 0u);
  EXPECT_EQ(one.FoundBy(1), 15);
}

// A step that is written once has a first reader; one that is written again may get another.
TEST(FetchStore, KnowsTheFirstReader) {
  OneTensor once(/*keeps_users=*/false), again;
  EXPECT_TRUE(once.store.IsFirstReader(once.kTensor, DeviceId(1)));
  EXPECT_FALSE(once.store.IsFirstReader(once.kTensor, DeviceId(0)));
  EXPECT_TRUE(once.store.IsFirstReader(once.kTensor, DeviceId(1)));
  EXPECT_FALSE(again.store.IsFirstReader(again.kTensor, DeviceId(1)));
}

}  // namespace
}  // namespace placewright
