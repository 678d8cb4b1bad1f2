// What the pieces of a tensor have of it, piece by piece (internal to the module). Most tensors of a step are cut as
// others are: copies share one list.
#ifndef PLACEWRIGHT_COMPILE_PIECE_BOXES_H_
#define PLACEWRIGHT_COMPILE_PIECE_BOXES_H_

#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/small_vector.h"
#include "plan/box.h"
#include "plan/layout.h"

namespace placewright {

class PieceBoxes {
 public:
  PieceBoxes() = default;
  PieceBoxes(std::vector<TensorBox> boxes)  // NOLINT(google-explicit-constructor): it is a list
      : list_(boxes.empty() ? nullptr : std::make_shared<List>(std::move(boxes))) {}

  const std::vector<TensorBox>& all() const { return list_ ? list_->boxes : None(); }
  bool empty() const { return list_ == nullptr; }
  size_t size() const { return all().size(); }
  const TensorBox& operator[](size_t piece) const { return list_->boxes[piece]; }
  const TensorBox& front() const { return list_->boxes.front(); }
  auto begin() const { return all().begin(); }
  auto end() const { return all().end(); }
  void clear() { list_.reset(); }

  // Whether it is plain to see that any two of them are equal or have nothing in common: along each axis their
  // intervals are. Found out once for all copies.
  bool AreApart() const;

  // Whether one of them is of the same axes as this box. Found out once for all copies.
  bool HaveAxesOf(const TensorBox& box) const;

  friend bool operator==(const PieceBoxes& a, const PieceBoxes& b) {
    return a.list_ == b.list_ || a.all() == b.all();
  }

 private:
  struct List {
    explicit List(std::vector<TensorBox> of) : boxes(std::move(of)) {}
    const std::vector<TensorBox> boxes;
    std::optional<bool> apart;
    std::vector<size_t> firsts;  // of each set of axes, among the boxes; empty: not found yet
  };
  static const std::vector<TensorBox>& None() {
    static const std::vector<TensorBox> none;
    return none;
  }
  std::shared_ptr<List> list_;
};

// By layout, and the axes by which it is split with where these lie in a tensor.
using BoxesOfSplits =
    std::map<std::pair<const Layout*, SmallVector<std::pair<AxisId, AxisPlace>>>, PieceBoxes>;

}  // namespace placewright

#endif  // PLACEWRIGHT_COMPILE_PIECE_BOXES_H_
