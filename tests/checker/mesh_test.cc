// Steps whose devices have boxes of batch x hidden, on a mesh of 2 x 2 and where hosts have unequal shares, written by
// hand: they hold, and what is broken in one place is named.
//
//   y = x a;  z = y b + c;  dz = z z;  db = y' dz;  dc = sum of dz over the batch;  da = x' (dz b');  each gradient is
//   subtracted from its parameter. Outputs: z and y.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "compiled_step.h"
#include "step_by_hand.h"
#include "step_editor.h"

namespace placewright::tests {
namespace {

constexpr int64_t kIn = 6, kOut = 2;

struct MeshBox {
  Interval batch, hidden;
};

RecordedStep Product(int64_t batch, int64_t hidden) {
  GraphByHand graph;
  const TensorId x = graph.Input("input:x", TensorKind::kInput, {batch, kIn});
  const TensorId a = graph.Input("param:a", TensorKind::kParameter, {kIn, hidden});
  const TensorId b = graph.Input("param:b", TensorKind::kParameter, {hidden, kOut});
  const TensorId c = graph.Input("param:c", TensorKind::kParameter, {kOut});
  const TensorId y = graph.Add("y", "aten.mm.default", {x, a}, {batch, hidden});
  const TensorId z = graph.Add("z", "aten.addmm.default", {c, y, b}, {batch, kOut});
  graph.set_phase(Phase::kBackward);
  const TensorId dz = graph.Add("dz", "aten.mul.Tensor", {z, z}, {batch, kOut});
  const TensorId yt = graph.Add("yt", "aten.t.default", {y}, {hidden, batch}, {}, AliasKind::kView);
  const TensorId db = graph.Add("db", "aten.mm.default", {yt, dz}, {hidden, kOut});
  const TensorId dc =
      graph.Add("dc", "aten.sum.dim_IntList", {dz}, {kOut}, {ListOf({0}), Value(false)});
  const TensorId bt = graph.Add("bt", "aten.t.default", {b}, {kOut, hidden}, {}, AliasKind::kView);
  const TensorId dy = graph.Add("dy", "aten.mm.default", {dz, bt}, {batch, hidden});
  const TensorId xt = graph.Add("xt", "aten.t.default", {x}, {kIn, batch}, {}, AliasKind::kView);
  const TensorId da = graph.Add("da", "aten.mm.default", {xt, dy}, {kIn, hidden});
  graph.set_phase(Phase::kOptimizer);
  graph.Add("a1", "aten.sub_.Tensor", {a, da}, {kIn, hidden}, {}, AliasKind::kInPlace);
  graph.Add("b1", "aten.sub_.Tensor", {b, db}, {hidden, kOut}, {}, AliasKind::kInPlace);
  graph.Add("c1", "aten.sub_.Tensor", {c, dc}, {kOut}, {}, AliasKind::kInPlace);
  RecordedStep step{"product", std::make_unique<Graph>(std::move(graph).Build({z, y})), nullptr};
  step.axes = std::make_unique<NamedAxes>(*step.graph);
  return step;
}

TensorBox BoxAt(int32_t dimension, int64_t size, Interval interval) {
  if (interval == Interval{0, size}) return {};
  return {{{dimension, 1, size, 1}, interval}};
}

// One device for each box.
class Mesh {
 public:
  Mesh(std::vector<MeshBox> boxes, int64_t batch, int64_t hidden)
      : boxes_(std::move(boxes)),
        batch_(batch),
        hidden_(hidden),
        original_(Product(batch, hidden)),
        cluster_(DevicesAlike(boxes_.size())) {}

  const RecordedStep& original() const { return original_; }

  // `collectives`: sums and gathers in sub-groups, which need a grid; else Split, Concat and AddN.
  DistributedStep Compile(bool collectives) {
    collectives_ = collectives;
    StepByHand step(*original_.graph);
    step_ = &step;
    Pieces x, a, b, c, y, z, dz, db, dc, da;
    for (size_t d = 0; d < boxes_.size(); ++d) {
      x.push_back(step.Input("input:x", d, BoxAt(0, batch_, boxes_[d].batch)));
      a.push_back(step.Input("param:a", d, BoxAt(1, hidden_, boxes_[d].hidden)));
      b.push_back(step.Input("param:b", d, BoxAt(0, hidden_, boxes_[d].hidden)));
      c.push_back(step.Input("param:c", d, {}));
    }
    for (size_t d = 0; d < boxes_.size(); ++d) {
      y.push_back(step.Run("y", d, {x[d], a[d]}, {Rows(d), Columns(d)}));
      TensorId bias = c[d];
      if (boxes_[d].hidden.from > 0) {
        bias = step.Move("c.zeros", "aten.zeros_like.default", d, {c[d]}, {kOut});
      }
      z.push_back(step.Run("z", d, {bias, y[d], b[d]}, {Rows(d), kOut}));
    }
    z = SumRows("z.sum", z);
    for (size_t d = 0; d < boxes_.size(); ++d) {
      dz.push_back(step.Run("dz", d, {z[d], z[d]}, {Rows(d), kOut}));
      const TensorId yt = step.Run("yt", d, {y[d]}, {Columns(d), Rows(d)});
      db.push_back(step.Run("db", d, {yt, dz[d]}, {Columns(d), kOut}));
      dc.push_back(step.Run("dc", d, {dz[d]}, {kOut}));
      const TensorId bt = step.Run("bt", d, {b[d]}, {kOut, Columns(d)});
      const TensorId dy = step.Run("dy", d, {dz[d], bt}, {Rows(d), Columns(d)});
      const TensorId xt = step.Run("xt", d, {x[d]}, {kIn, Rows(d)});
      da.push_back(step.Run("da", d, {xt, dy}, {kIn, Columns(d)}));
    }
    db = SumColumns("db.sum", db, 0);
    dc = SumColumns("dc.sum", dc, -1);
    da = collectives ? ScatteredColumns(da) : SumColumns("da.sum", da, 1);
    Pieces outputs = collectives ? GatheredRows(y) : y;
    for (size_t d = 0; d < boxes_.size(); ++d) {
      step.Run("a1", d, {a[d], da[d]}, {kIn, Columns(d)});
      step.Run("b1", d, {b[d], db[d]}, {Columns(d), kOut});
      step.Run("c1", d, {c[d], dc[d]}, {kOut});
    }
    outputs.insert(outputs.end(), z.begin(), z.end());
    return std::move(step).Build(std::move(outputs));
  }

  DistributionSpec Spec() const {
    LayoutSpec spec{.groups = "*"};
    spec.option = LayoutOption::kAllReduce;
    for (size_t d = 0; d < boxes_.size(); ++d) {
      const auto& [rows, columns] = boxes_[d];
      spec.devices.push_back(
          {"d" + std::to_string(d),
           {{"input:x[0]", rows.from, rows.to}, {"param:a[1]", columns.from, columns.to}}});
    }
    return {{spec}, {}, {}};
  }

  std::string Verdict(const DistributedStep& step, std::string* message = nullptr) const {
    return VerdictOn(original_, step, cluster_, Spec(), message);
  }
  std::string Verdict(const DistributedStep& step, const DistributionSpec& spec) const {
    return VerdictOn(original_, step, cluster_, spec);
  }

 private:
  using Pieces = std::vector<TensorId>;

  int64_t Rows(size_t d) const { return boxes_[d].batch.length(); }
  int64_t Columns(size_t d) const { return boxes_[d].hidden.length(); }
  // Devices with the same samples, or with the same columns.
  std::vector<size_t> RowOf(size_t d) const {
    std::vector<size_t> row;
    for (size_t i = 0; i < boxes_.size(); ++i) {
      if (boxes_[i].batch == boxes_[d].batch) row.push_back(i);
    }
    return row;
  }
  std::vector<size_t> ColumnOf(size_t d) const {
    std::vector<size_t> column;
    for (size_t i = 0; i < boxes_.size(); ++i) {
      if (boxes_[i].hidden == boxes_[d].hidden) column.push_back(i);
    }
    return column;
  }

  // A collective of `type` for each group of devices.
  template <class GroupOf, class Make>
  Pieces InGroups(const GroupOf& group_of, const Make& make) {
    Pieces made(boxes_.size());
    for (size_t d = 0; d < boxes_.size(); ++d) {
      const std::vector<size_t> group = group_of(d);
      if (group.front() != d) continue;
      Pieces together;
      for (size_t i = 0; i < group.size(); ++i) {
        together.push_back(made[group[i]] = make(group[i], i, group.size()));
      }
      step_->Together(together);
    }
    return made;
  }

  Pieces SumRows(const std::string& name, const Pieces& shares) {
    if (collectives_) {
      return InGroups([&](size_t d) { return RowOf(d); },
                      [&](size_t d, size_t, size_t) {
                        return step_->Move(name, "all_reduce", d, {shares[d]},
                                           step_->shape(shares[d]));
                      });
    }
    Pieces sums;
    for (size_t d = 0; d < boxes_.size(); ++d) {
      Pieces all;
      for (const size_t i : RowOf(d)) all.push_back(shares[i]);
      sums.push_back(step_->Move(name, "add_n", d, all, step_->shape(shares[d])));
    }
    return sums;
  }

  // Of shares of the samples, each of its device's columns, which lie in `dimension` (-1: of none of them).
  Pieces SumColumns(const std::string& name, const Pieces& shares, int32_t dimension) {
    if (collectives_) {
      return InGroups([&](size_t d) { return ColumnOf(d); },
                      [&](size_t d, size_t, size_t) {
                        return step_->Move(name, "all_reduce", d, {shares[d]},
                                           step_->shape(shares[d]));
                      });
    }
    Pieces sums;
    for (size_t d = 0; d < boxes_.size(); ++d) {
      Pieces all = {shares[d]};
      for (size_t i = 0; i < boxes_.size(); ++i) {
        const std::vector<size_t> row = RowOf(i);
        if (boxes_[i].batch == boxes_[d].batch || row.front() != i) continue;
        all.push_back(dimension < 0 ? shares[i] : Columns(name, shares, row, d, dimension));
      }
      sums.push_back(step_->Move(name, "add_n", d, all, step_->shape(shares[d])));
    }
    return sums;
  }

  // What the devices of a row have of the columns of device d, brought together there.
  TensorId Columns(const std::string& name, const Pieces& shares, const std::vector<size_t>& row,
                   size_t d, int32_t dimension) {
    Pieces parts;
    const Interval due = boxes_[d].hidden;
    const auto at = static_cast<size_t>(dimension);
    for (const size_t i : row) {
      const Interval has = boxes_[i].hidden;
      const Interval common = {std::max(has.from, due.from), std::min(has.to, due.to)};
      if (common.length() <= 0) continue;
      TensorId part = shares[i];
      if (common != has) {
        Shape shape = step_->shape(part);
        shape[at] = common.length();
        part =
            step_->Move(name + ".split" + std::to_string(i), "split", d, {part}, std::move(shape),
                        {dimension, 1, has.length(), common.from - has.from, common.to - has.from});
      }
      parts.push_back(part);
    }
    if (parts.size() == 1) return parts[0];
    return step_->Move(name + ".concat" + std::to_string(row[0]), "concat", d, parts,
                       step_->shape(shares[d]), {dimension, 1});
  }

  // Each of a column's devices gets some of the rows of a gradient, and then all of them.
  Pieces ScatteredColumns(const Pieces& shares) {
    const auto numbers = [](size_t at, size_t count) -> std::vector<int64_t> {
      const auto from = static_cast<int64_t>(at) * kIn / static_cast<int64_t>(count);
      const auto to = static_cast<int64_t>(at + 1) * kIn / static_cast<int64_t>(count);
      return {0, 1, kIn, from, to};
    };
    const auto column_of = [&](size_t d) { return ColumnOf(d); };
    const Pieces parts = InGroups(column_of, [&](size_t d, size_t at, size_t count) {
      const std::vector<int64_t> own = numbers(at, count);
      return step_->Move("da.scatter", "reduce_scatter", d, {shares[d]},
                         {own[4] - own[3], Columns(d)}, own);
    });
    return InGroups(column_of, [&](size_t d, size_t at, size_t count) {
      return step_->Move("da.gather", "all_gather", d, {parts[d]}, {kIn, Columns(d)},
                         numbers(at, count));
    });
  }

  Pieces GatheredRows(const Pieces& pieces) {
    return InGroups([&](size_t d) { return RowOf(d); },
                    [&](size_t d, size_t, size_t) {
                      const Interval own = boxes_[d].hidden;
                      return step_->Move("y.gather", "all_gather", d, {pieces[d]},
                                         {Rows(d), hidden_}, {1, 1, hidden_, own.from, own.to});
                    });
  }

  const std::vector<MeshBox> boxes_;
  const int64_t batch_, hidden_;
  const RecordedStep original_;
  const Cluster cluster_;
  bool collectives_ = false;
  StepByHand* step_ = nullptr;
};

// Devices 0 and 1 have the first three of eight samples; 0 and 2 the first two of eight columns.
Mesh TwoByTwo() {
  return {{{{0, 3}, {0, 2}}, {{0, 3}, {2, 8}}, {{3, 8}, {0, 2}}, {{3, 8}, {2, 8}}}, 8, 8};
}

// Two devices share three samples, three devices one.
Mesh Uneven() {
  return {
      {{{0, 3}, {0, 6}}, {{0, 3}, {6, 12}}, {{3, 4}, {0, 4}}, {{3, 4}, {4, 8}}, {{3, 4}, {8, 12}}},
      4,
      12};
}

TEST(Mesh, HoldsWithCollectivesInSubGroups) {
  Mesh mesh = TwoByTwo();
  std::string message;
  EXPECT_EQ(mesh.Verdict(mesh.Compile(true), &message), "holds") << message;
}

TEST(Mesh, HoldsWithSlices) {
  for (const bool uneven : {false, true}) {
    Mesh mesh = uneven ? Uneven() : TwoByTwo();
    std::string message;
    EXPECT_EQ(mesh.Verdict(mesh.Compile(false), &message), "holds") << message;
  }
}

// With the collective of the op of that name.
std::vector<OpId>& MembersWith(StepEditor& editor, const DistributedStep& step,
                               const std::string& name) {
  return editor.collectives[step.graph.collective_of(OpCalled(step, name)).index()];
}

// The first members, or the second ones, of two collectives change places.
void SwapMembers(StepEditor& editor, const DistributedStep& step, const std::string& a,
                 const std::string& b) {
  const OpId of_a = OpCalled(step, a), of_b = OpCalled(step, b);
  std::vector<OpId>& all_a = MembersWith(editor, step, a);
  std::vector<OpId>& all_b = MembersWith(editor, step, b);
  std::replace(all_a.begin(), all_a.end(), of_a, of_b);
  std::replace(all_b.begin(), all_b.end(), of_b, of_a);
}

TensorId MadeBy(const DistributedStep& step, const std::string& name) {
  return step.graph.op(OpCalled(step, name)).outputs[0];
}

class BrokenMesh : public ::testing::Test {
 protected:
  std::string Verdict() {
    const auto broken = editor_.Build();
    return broken ? mesh_.Verdict(*broken, &message_) : "no graph";
  }

  Mesh mesh_ = TwoByTwo();
  DistributedStep step_ = mesh_.Compile(true);
  StepEditor editor_{step_};
  std::string message_;
};

TEST_F(BrokenMesh, MemberThatIsMissing) {
  std::vector<OpId>& members = MembersWith(editor_, step_, "z.sum@1");
  std::erase(members, OpCalled(step_, "z.sum@1"));
  EXPECT_EQ(Verdict(), "missing-collective") << message_;
}

TEST_F(BrokenMesh, ShareInPlaceOfTheSum) {
  editor_.Replace(MadeBy(step_, "z.sum@3"), MadeBy(step_, "z@3"));
  EXPECT_EQ(Verdict(), "lost-sum") << message_;
}

// Devices 0 and 1 have the same share of dc.
TEST_F(BrokenMesh, ReplicasAddedUp) {
  SwapMembers(editor_, step_, "dc.sum@2", "dc.sum@1");
  EXPECT_EQ(Verdict(), "doubled-sum") << message_;
}

TEST_F(BrokenMesh, AllAddedUpWhereReplicasAreAmongThem) {
  std::vector<OpId>& some = MembersWith(editor_, step_, "dc.sum@0");
  std::vector<OpId>& others = MembersWith(editor_, step_, "dc.sum@1");
  some.insert(some.end(), others.begin(), others.end());
  others.clear();
  EXPECT_EQ(Verdict(), "doubled-sum") << message_;
}

// Other samples, and other columns.
TEST_F(BrokenMesh, SubGroupsOfOtherParts) {
  SwapMembers(editor_, step_, "z.sum@1", "z.sum@3");
  EXPECT_NE(Verdict(), "holds");
  EXPECT_THAT(message_, testing::HasSubstr("z.sum"));
  StepEditor columns(step_);
  SwapMembers(columns, step_, "db.sum@2", "db.sum@3");
  EXPECT_EQ(mesh_.Verdict(*columns.Build()), "wrong-part");
}

TEST_F(BrokenMesh, PieceThatIsStale) {
  editor_.op(OpCalled(step_, "a1@2")).removed = true;
  EXPECT_EQ(Verdict(), "stale-parameter") << message_;
}

TEST_F(BrokenMesh, BiasThatEntersTwiceOrNever) {
  editor_.Replace(MadeBy(step_, "c.zeros@3"),
                  step_.graph.op(OpCalled(step_, "c.zeros@3")).inputs[0]);
  EXPECT_EQ(Verdict(), "doubled-sum") << message_;
  StepEditor never(step_);
  never.op(OpCalled(step_, "z@2")).spec.inputs[0] = MadeBy(step_, "c.zeros@1");
  EXPECT_EQ(mesh_.Verdict(*never.Build()), "lost-sum");
}

TEST_F(BrokenMesh, SamplesThatAreShifted) {
  for (DistributedStep::InputPiece& input : editor_.inputs) {
    if (step_.graph.tensor(input.piece).name == "input:x@2") {
      input.box = {{{0, 1, 8, 1}, {2, 7}}};
    }
  }
  EXPECT_EQ(Verdict(), "doubled-sample") << message_;
}

TEST_F(BrokenMesh, GatherOfOtherParts) {
  SwapMembers(editor_, step_, "y.gather@1", "y.gather@3");
  EXPECT_EQ(Verdict(), "wrong-part") << message_;
  StepEditor stated(step_);
  std::vector<Value>& args = stated.op(OpCalled(step_, "y.gather@1")).spec.args;
  args[4] = Value(int64_t{0});
  args[5] = Value(int64_t{6});
  EXPECT_EQ(mesh_.Verdict(*stated.Build()), "wrong-argument");
}

TEST_F(BrokenMesh, ScatterThatGivesAPartTwice) {
  std::vector<Value>& args = editor_.op(OpCalled(step_, "da.scatter@2")).spec.args;
  args[4] = Value(int64_t{2});
  args[5] = Value(int64_t{5});
  EXPECT_EQ(Verdict(), "wrong-part") << message_;
}

// A layout whose boxes are those of other devices, have a gap or something in common, or are of other axes.
TEST_F(BrokenMesh, LayoutsThatAreNotThoseOfTheStep) {
  DistributionSpec swapped = mesh_.Spec(), gap = swapped, common = swapped, other = swapped;
  std::swap(swapped.layouts[0].devices[1].box, swapped.layouts[0].devices[2].box);
  EXPECT_EQ(mesh_.Verdict(step_, swapped), "wrong-part");
  gap.layouts[0].devices[0].box[0].to = 2;
  EXPECT_EQ(mesh_.Verdict(step_, gap), "wrong-part");
  common.layouts[0].devices[0].box[1].to = 3;
  EXPECT_EQ(mesh_.Verdict(step_, common), "wrong-part");
  other.layouts[0].devices[0].box.pop_back();
  EXPECT_EQ(mesh_.Verdict(step_, other), "wrong-part");
}

TEST(UnevenMesh, SlicesOfOtherColumns) {
  Mesh mesh = Uneven();
  const DistributedStep step = mesh.Compile(false);
  // Device 0 has columns [0, 6): of those of device 3, [4, 8), the first half.
  StepEditor shifted(step);
  std::vector<Value>& args = shifted.op(OpCalled(step, "db.sum.split3@0")).spec.args;
  args[4] = Value(int64_t{1});
  args[5] = Value(int64_t{3});
  EXPECT_EQ(mesh.Verdict(*shifted.Build()), "wrong-part");
  // Device 3 has [4, 8), of which device 0 has the last two, [4, 6).
  StepEditor twice(step);
  OpSpec& sum = twice.op(OpCalled(step, "dc.sum@0")).spec;
  sum.inputs[1] = MadeBy(step, "dc@1");
  EXPECT_EQ(mesh.Verdict(*twice.Build()), "doubled-sum");
}

// What is drawn of a mask is stated axis by axis.
TEST(Boxes, OfDrawsAreStated) {
  GraphByHand graph;
  const TensorId x = graph.Input("input:x", TensorKind::kInput, {4, 6});
  const TensorId counter = graph.Input("buffer:s", TensorKind::kBuffer, {}, DType::kI64);
  const TensorId mask = graph.Add(
      "mask", "placewright.counter_draw_like.default", {x, counter}, {4, 6},
      {Value(int64_t{7}), Value(int64_t{0}), Value("uniform"), Value(0.0), Value(1.0), ListOf({})});
  RecordedStep original{"draws", std::make_unique<Graph>(std::move(graph).Build({mask})), nullptr};
  original.axes = std::make_unique<NamedAxes>(*original.graph);
  const auto verdict = [&](const std::vector<int64_t>& last, std::string* message) {
    StepByHand step(*original.graph);
    std::vector<TensorId> masks;
    LayoutSpec spec{.groups = "*"};
    spec.option = LayoutOption::kAllReduce;
    for (int64_t d = 0; d < 4; ++d) {
      const Interval rows = {d / 2 * 2, d / 2 * 2 + 2}, columns = {d % 2 * 3, d % 2 * 3 + 3};
      const auto device = static_cast<size_t>(d);
      const TensorId piece =
          step.Input("input:x", device, {{{0, 1, 4, 1}, rows}, {{1, 1, 6, 1}, columns}});
      const TensorId count = step.Input("buffer:s", device, {});
      std::vector<int64_t> place = {0, 1, 4, rows.from, rows.to, 1, 1, 6, columns.from, columns.to};
      if (d == 3) place = last;
      masks.push_back(step.RunAs("mask", "placewright.counter_draw_like.default", device,
                                 {piece, count}, {2, 3},
                                 {Value(int64_t{7}), Value(int64_t{0}), Value("uniform"),
                                  Value(0.0), Value(1.0), ListOf(place)}));
      spec.devices.push_back(
          {"d" + std::to_string(d),
           {{"input:x[0]", rows.from, rows.to}, {"input:x[1]", columns.from, columns.to}}});
    }
    const DistributedStep built = std::move(step).Build(std::move(masks));
    return VerdictOn(original, built, DevicesAlike(4), {{spec}, {}, {}}, message);
  };
  std::string message;
  EXPECT_EQ(verdict({0, 1, 4, 2, 4, 1, 1, 6, 3, 6}, &message), "holds") << message;
  EXPECT_EQ(verdict({0, 1, 4, 2, 4, 1, 1, 6, 0, 3}, &message), "wrong-argument") << message;
  EXPECT_EQ(verdict({0, 1, 4, 2, 4}, &message), "wrong-argument") << message;
}

}  // namespace
}  // namespace placewright::tests
