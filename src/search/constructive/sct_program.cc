#include "search/constructive/sct_program.h"

#include <ClpEventHandler.hpp>
#include <ClpSimplex.hpp>
#include <algorithm>
#include <limits>
#include <memory>
#include <numeric>

namespace placewright {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::max();

struct EdgeRef {
  int32_t from, to;
  double weight;
};

// The program by columns: s_0 .. s_n-1, w, x_0 .. x_m-1.
class Columns {
 public:
  Columns(const WeightedGraph& dag, double scale) : nodes_(dag.nodes()) {
    for (int32_t i = 0; i < nodes_; ++i) {
      time_.push_back(static_cast<double>(dag.weights[0][i]) / scale);
      for (int32_t k = dag.offsets[i]; k < dag.offsets[i + 1]; ++k) {
        edges_.push_back({i, dag.edges[k].to, static_cast<double>(dag.edges[k].weight) / scale});
      }
    }
    Rows();
    Fill();
  }

  void Load(ClpSimplex* model) const {
    std::vector<double> objective(start_.size() - 1, 0), low(start_.size() - 1, 0),
        high(start_.size() - 1, 1);
    std::fill(high.begin(), high.begin() + nodes_ + 1, kInfinity);
    objective[nodes_] = 1;
    model->loadProblem(static_cast<int>(start_.size()) - 1, static_cast<int>(row_low_.size()),
                       start_.data(), index_.data(), value_.data(), low.data(), high.data(),
                       objective.data(), row_low_.data(), row_high_.data());
  }
  const std::vector<EdgeRef>& edges() const { return edges_; }

 private:
  // Row e of edge e: s_j - s_i - c x >= p_i. Then of node i: w - s_i >= p_i. Then the two sums.
  void Rows() {
    for (const EdgeRef& edge : edges_) row_low_.push_back(time_[edge.from]);
    for (double time : time_) row_low_.push_back(time);
    std::vector<int32_t> out(nodes_, 0), in(nodes_, 0);
    for (const EdgeRef& edge : edges_) ++out[edge.from], ++in[edge.to];
    for (int32_t degree : out) row_low_.push_back(degree - 1);
    for (int32_t degree : in) row_low_.push_back(degree - 1);
    row_high_.assign(row_low_.size(), kInfinity);
  }

  void Fill() {
    const auto edge_count = static_cast<int32_t>(edges_.size());
    std::vector<std::vector<std::pair<int, double>>> of_start(nodes_);
    for (int32_t e = 0; e < edge_count; ++e) {
      of_start[edges_[e].from].emplace_back(e, -1);
      of_start[edges_[e].to].emplace_back(e, 1);
    }
    for (int32_t i = 0; i < nodes_; ++i) {
      of_start[i].emplace_back(edge_count + i, -1);
      for (const auto& [row, value] : of_start[i]) Put(row, value);
      Close();
    }
    for (int32_t i = 0; i < nodes_; ++i) Put(edge_count + i, 1);
    Close();
    for (int32_t e = 0; e < edge_count; ++e) {
      Put(e, -edges_[e].weight);
      Put(edge_count + nodes_ + edges_[e].from, 1);
      Put(edge_count + 2 * nodes_ + edges_[e].to, 1);
      Close();
    }
  }
  void Put(int row, double value) {
    index_.push_back(row);
    value_.push_back(value);
  }
  void Close() { start_.push_back(static_cast<int>(index_.size())); }

  const int32_t nodes_;
  std::vector<double> time_;
  std::vector<EdgeRef> edges_;
  std::vector<double> row_low_, row_high_, value_;
  std::vector<int> start_{0}, index_;
};

std::vector<int32_t> HeaviestEdges(const std::vector<EdgeRef>& edges, int32_t nodes) {
  std::vector<int32_t> by_weight(edges.size());
  std::iota(by_weight.begin(), by_weight.end(), 0);
  std::stable_sort(by_weight.begin(), by_weight.end(),
                   [&](int32_t a, int32_t b) { return edges[a].weight > edges[b].weight; });
  std::vector<int32_t> child(nodes, -1);
  std::vector<char> taken(nodes, 0);
  for (int32_t e : by_weight) {
    if (child[edges[e].from] >= 0 || taken[edges[e].to]) continue;
    child[edges[e].from] = edges[e].to;
    taken[edges[e].to] = 1;
  }
  return child;
}

// Times in the program are divided by this, so that its numbers are near 1.
double MeanTime(const WeightedGraph& dag) {
  double sum = 0;
  for (int64_t time : dag.weights[0]) sum += static_cast<double>(time);
  return std::max(1.0, sum / std::max(1, dag.nodes()));
}

// Asks the budget after every iteration: a clock read beside a tenth of a millisecond.
class StopHandler : public ClpEventHandler {
 public:
  explicit StopHandler(const Budget& budget) : budget_(budget) {}
  ClpEventHandler* clone() const override { return new StopHandler(*this); }
  int event(Event what) override {
    constexpr int kGoOn = -1, kStop = 5;
    return what == endOfIteration && budget_.Expired() ? kStop : kGoOn;
  }

 private:
  Budget budget_;
};

}  // namespace

SctSolution SolveSct(const WeightedGraph& dag, int64_t iteration_limit, const Budget& budget) {
  SctSolution solution;
  solution.favourite_child.assign(dag.nodes(), -1);
  if (dag.edges.empty()) return solution;
  const double scale = MeanTime(dag);
  const Columns columns(dag, scale);
  ClpSimplex model;
  const StopHandler handler(budget);
  model.passInEventHandler(&handler);
  model.setLogLevel(0);
  columns.Load(&model);
  model.setMaximumIterations(static_cast<int>(std::min<int64_t>(iteration_limit, 1 << 30)));
  model.dual(0);
  solution.iterations = model.numberIterations();
  solution.status = model.status();
  constexpr int kOptimal = 0, kAtLimit = 3, kByHandler = 5;
  if (solution.status != kOptimal) {
    solution.end = solution.status == kAtLimit     ? SctSolution::End::kIterationLimit
                   : solution.status == kByHandler ? SctSolution::End::kBudget
                                                   : SctSolution::End::kFailure;
    solution.favourite_child = HeaviestEdges(columns.edges(), dag.nodes());
    return solution;
  }
  solution.objective = model.objectiveValue() * scale;
  constexpr double kTolerance = 1e-6;  // of the solver
  const double* x = model.primalColumnSolution() + dag.nodes() + 1;
  for (size_t e = 0; e < columns.edges().size(); ++e) {
    const EdgeRef& edge = columns.edges()[e];
    if (x[e] < 0.5 - kTolerance) solution.favourite_child[edge.from] = edge.to;
  }
  return solution;
}

std::string DescribeEnd(const SctSolution& solution, int64_t iteration_limit) {
  if (solution.end == SctSolution::End::kOptimal) return "";
  const std::string why =
      solution.end == SctSolution::End::kIterationLimit
          ? "the linear program met its limit of " + std::to_string(iteration_limit) + " iterations"
      : solution.end == SctSolution::End::kBudget
          ? "the linear program was ended after " + std::to_string(solution.iterations) +
                " iterations, before it was done"
          : "Clp ended with status " + std::to_string(solution.status) + " after " +
                std::to_string(solution.iterations) + " iterations of the linear program";
  return "m-sct: " + why + "; the heaviest edges took its place";
}

}  // namespace placewright
