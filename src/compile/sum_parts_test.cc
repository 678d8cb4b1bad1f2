#include "compile/sum_parts.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "sharding/test_product.h"

namespace placewright {
namespace {

// Rows and columns of y = x w, of 64 each.
struct RowsAndColumns {
  RowsAndColumns() {
    graph = std::make_unique<Graph>(GraphOfOneProduct());
    axes = std::make_unique<NamedAxes>(*graph);
    rows = axes->Find("input:x[0]");
    columns = axes->Find("param:w[1]");
  }
  Box Cell(Interval of_rows, Interval of_columns) const {
    if (rows < columns) return {{rows, of_rows}, {columns, of_columns}};
    return {{columns, of_columns}, {rows, of_rows}};
  }
  // `down` x `across` equal cells, row by row.
  std::vector<Box> Grid(int64_t down, int64_t across) const {
    std::vector<Box> cells;
    for (int64_t i = 0; i < down; ++i) {
      for (int64_t j = 0; j < across; ++j) {
        cells.push_back(
            Cell({i * 64 / down, (i + 1) * 64 / down}, {j * 64 / across, (j + 1) * 64 / across}));
      }
    }
    return cells;
  }

  std::unique_ptr<Graph> graph;
  std::unique_ptr<NamedAxes> axes;
  AxisId rows, columns;
};

TEST(SumParts, CellsOfAGridAreAllInAnyOrder) {
  const RowsAndColumns of;
  std::vector<Box> cells = of.Grid(3, 4);
  std::swap(cells[0], cells[7]);
  EXPECT_TRUE(AreAllOnce(*of.axes, cells));
  EXPECT_EQ(ChosenOnce(*of.axes, cells).size(), 12u);
}

// 64 x 64 cells, as of 4,096 devices: a choice of one after another would not end.
TEST(SumParts, LargeGridsAreAll) {
  const RowsAndColumns of;
  EXPECT_TRUE(AreAllOnce(*of.axes, of.Grid(64, 64)));
}

TEST(SumParts, WithoutACellOrWithOneTwiceTheyAreNotAll) {
  const RowsAndColumns of;
  std::vector<Box> some = of.Grid(2, 2), twice = some, meeting = some;
  some.pop_back();
  twice.push_back(twice.front());
  meeting.back() = of.Cell({16, 64}, {32, 64});  // rows 16 to 32 of the columns are of another, too
  EXPECT_FALSE(AreAllOnce(*of.axes, some));
  EXPECT_FALSE(AreAllOnce(*of.axes, twice));
  EXPECT_FALSE(AreAllOnce(*of.axes, meeting));
  EXPECT_EQ(ChosenOnce(*of.axes, twice), (std::vector<size_t>{0, 1, 2, 3}));
}

// Two cells above one of all columns: no grid, and all of it.
TEST(SumParts, UnevenCellsMayBeAll) {
  const RowsAndColumns of;
  const std::vector<Box> cells = {of.Cell({0, 16}, {0, 32}), of.Cell({0, 16}, {32, 64}),
                                  of.Cell({16, 64}, {0, 64})};
  EXPECT_TRUE(AreAllOnce(*of.axes, cells));
}

}  // namespace
}  // namespace placewright
