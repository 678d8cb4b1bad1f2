// Factors of dimensions, as the named axes of a step are found with (internal to the module).
#ifndef PLACEWRIGHT_SHARDING_FACTORS_H_
#define PLACEWRIGHT_SHARDING_FACTORS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace placewright {

// Factors of dimensions as sets that grow together (union-find). A set may be refined into an outer and
// an inner factor, once and for all its members.
class Factors {
 public:
  using Factor = int32_t;
  using List = std::vector<Factor>;  // the outermost first

  Factor Add(int64_t size) {
    nodes_.push_back({size, static_cast<Factor>(nodes_.size()), -1, -1, false});
    return nodes_.back().parent;
  }
  // Will not be refined.
  void Pin(Factor factor) { nodes_[static_cast<size_t>(Root(factor))].pinned = true; }

  Factor Root(Factor factor) {
    Factor root = factor;
    while (at(root).parent != root) root = at(root).parent;
    while (at(factor).parent != root) factor = std::exchange(at(factor).parent, root);
    return root;
  }
  int64_t Size(Factor factor) { return at(Root(factor)).size; }

  // What the factor is made of, in sets that are not refined.
  void Expand(Factor factor, List& list) {
    const Factor root = Root(factor);
    if (at(root).outer < 0) {
      list.push_back(root);
      return;
    }
    Expand(at(root).outer, list);
    Expand(at(root).inner, list);
  }

  // Cuts `list` behind the outermost factors whose sizes multiply to `size`: what they are, and the rest in
  // `list`. False where no factor can be refined so.
  bool Cut(List& list, int64_t size, List& outer) {
    while (size > 1) {
      if (list.empty()) return false;
      ExpandFront(list);
      const Factor factor = list.front();
      const int64_t whole = at(factor).size;
      if (whole < 1) return false;
      if (size % whole == 0) {
        outer.push_back(factor);
        list.erase(list.begin());
        size /= whole;
      } else if (whole % size == 0 && Refine(factor, size)) {
        outer.push_back(Root(at(factor).outer));
        list.front() = Root(at(factor).inner);
        size = 1;
      } else {
        return false;
      }
    }
    return true;
  }

  // Both lists are one. False where their factors do not divide one another: then some of them may still
  // have been joined, which is right, since they stand at the same places.
  bool Unify(const List& a, const List& b) {
    if (a.size() == 1 && b.size() == 1 && JoinWhole(a.front(), b.front())) return true;
    rest_of_a_ = a;
    rest_of_b_ = b;
    while (!rest_of_a_.empty() && !rest_of_b_.empty()) {
      ExpandFront(rest_of_a_);
      ExpandFront(rest_of_b_);
      const int64_t size = std::min(at(rest_of_a_.front()).size, at(rest_of_b_.front()).size);
      part_of_a_.clear();
      part_of_b_.clear();
      if (!Cut(rest_of_a_, size, part_of_a_) || !Cut(rest_of_b_, size, part_of_b_)) return false;
      Join(part_of_a_.front(), part_of_b_.front());
    }
    return rest_of_a_.empty() && rest_of_b_.empty();
  }

 private:
  struct Node {
    int64_t size;
    Factor parent, outer, inner;
    bool pinned;
  };
  Node& at(Factor factor) { return nodes_[static_cast<size_t>(factor)]; }

  // What stands first may have been joined or refined since it was listed.
  void ExpandFront(List& list) {
    const Factor root = Root(list.front());
    if (at(root).outer < 0) {
      list.front() = root;
      return;
    }
    List parts;
    Expand(root, parts);
    list.erase(list.begin());
    list.insert(list.begin(), parts.begin(), parts.end());
  }

  // Of two factors of one size that are not refined: the common case.
  bool JoinWhole(Factor a, Factor b) {
    a = Root(a);
    b = Root(b);
    if (at(a).size != at(b).size || at(a).outer >= 0 || at(b).outer >= 0) return a == b;
    Join(a, b);
    return true;
  }

  bool Refine(Factor factor, int64_t outer) {
    if (at(factor).pinned) return false;
    const int64_t inner = at(factor).size / outer;
    const Factor first = Add(outer), second = Add(inner);
    at(factor).outer = first;
    at(factor).inner = second;
    return true;
  }

  void Join(Factor a, Factor b) {
    a = Root(a);
    b = Root(b);
    if (a == b) return;
    if (b < a) std::swap(a, b);
    at(b).parent = a;
    at(a).pinned |= at(b).pinned;
  }

  std::vector<Node> nodes_;
  List rest_of_a_, rest_of_b_, part_of_a_, part_of_b_;  // of Unify, kept for their memory
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SHARDING_FACTORS_H_
