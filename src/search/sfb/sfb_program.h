// Sufficient factor broadcasting for one gradient: TAG's integer program (Zhang et al., sec. 4.2.3, Table 2) as
// data, and its solution as a minimum cut.
//
//   min  (D-1) sum_i alpha_i T_i + D (D-1) sum_(j,i) b_ji L_ji / tau - alpha_g S
//   s.t. alpha_k <= sum_((k,i) in E) alpha_i    for every k in V but l
//        b_ji >= alpha_i - alpha_j              for every (j, i) in E;  alpha, b in {0, 1}
//
//   alpha_i  op i is computed whole on all D devices ("duplicate") and not in parts
//   T_i      its time on one replica's slice; L_ji: the bytes of one replica's slice of the tensor
//   tau      the lowest bandwidth between two of the devices
//   S        what synchronising the gradient takes, which duplicating g saves:
//              AllReduce          2 (D-1)/D L_gl / tau     (ring, as printed)
//              parameter servers  2 (D-1) L_gl / tau       (D-1 replicas push it over the server's link, and pull
//                                                           the parameter that it updates)
//
// V has a node l, the contracted optimizer sub-graph of the gradient's parameter with T_l = 0, and E the tensor
// (g, l). Ops outside V have alpha = 0; what is whole on every device already costs nothing to have and is no
// tensor of E.
//
// The cut. Let the source's side be the duplicated ops, l among them:
//   i -> sink    (D-1) T_i
//   i -> j       D (D-1) L_ji / tau of every tensor (j, i); i -> sink where j lies outside
//   source -> g  S
// The value of the cut is the objective + S, if the first constraint holds by itself. It does: take a solution
// without it, and let k be a duplicated op of which no consumer is duplicated, so that k is not g (whose
// consumer l is). No b_ki and no S depends on alpha_k; setting it to 0 saves (D-1) T_k and tensors into k and
// costs nothing. Repeated, this gives a solution with the constraint that is no worse. With alpha_l free as in
// the paper, alpha_l = 0 forces alpha_g = 0 and an objective of at least 0, which all-zero has in both; and
// alpha_l = 1 with alpha_g = 0 only adds b_gl, so that not to pay (g, l) loses nothing.
// The smallest source's side is taken: no op is duplicated that gains nothing, and the constraint holds.
//
// Deviation: an op whose output is a sum over the samples may not be duplicated while an op that adds up
// such parts stays replicated (`together`): it would count the whole D times. Of an op that is duplicated for
// that reason the first constraint is not asked: it need not lead to the gradient.
//
// Costs are whole picoseconds, rounded once for each coefficient (what is paid up, S down), so that the cut and
// integer programming solvers see the same numbers. Sums saturate at 2^60.
#ifndef PLACEWRIGHT_SEARCH_SFB_SFB_PROGRAM_H_
#define PLACEWRIGHT_SEARCH_SFB_SFB_PROGRAM_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/units.h"
#include "search/sfb/minimum_cut.h"

namespace placewright {

enum class GradientExchange : uint8_t { kAllReduce, kServers };

struct SfbProgram {
  static constexpr int32_t kOutside = -1;

  struct Tensor {
    int32_t from, to;  // ops; `from` may be kOutside
    Bytes slice;       // L_ji
  };
  // Where op `one` is duplicated, `reader` is, too; kOutside: `one` never is.
  struct Together {
    int32_t one, reader;
  };

  int64_t devices = 2;             // D
  BytesPerSecond bandwidth;        // tau, at least 1
  std::vector<Nanos> times;        // [op] T_i; l is no op here
  std::vector<Tensor> tensors;     // E without (g, l)
  std::vector<Together> together;  // the deviation
  int32_t gradient = 0;            // g
  Bytes gradient_bytes;            // L_gl
  GradientExchange exchange = GradientExchange::kAllReduce;

  // The coefficients in picoseconds.
  int64_t CostOfOp(int32_t op) const;                // (D-1) T_i
  int64_t CostOfTensor(const Tensor& tensor) const;  // D (D-1) L_ji / tau
  int64_t Synchronisation() const;                   // S
};

struct SfbSolution {
  int64_t objective = 0;         // ps, at most 0
  std::vector<bool> duplicated;  // [op] alpha_i
};

// Keeps its memory from program to program.
class SfbSolver {
 public:
  const SfbSolution& Solve(const SfbProgram& program);

 private:
  MinimumCut cut_;
  SfbSolution solution_;
};

// The objective of any choice, b_ji as small as they may be.
int64_t ObjectiveOf(const SfbProgram& program, const std::vector<bool>& duplicated);

// The program as printed, l and its alpha included, for other solvers: CPLEX LP format, variables a0, a1, ...
// (alpha_i), al (alpha_l) and b0, b1, ... (parallel to `tensors`), picoseconds.
std::string FormatLp(const SfbProgram& program);

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_SFB_SFB_PROGRAM_H_
