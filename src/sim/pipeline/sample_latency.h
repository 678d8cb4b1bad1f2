// The latency objective of the dnn-partitioning benchmarks: how long one sample takes through a
// split model.
//
// Pieces. The nodes S of an accelerator run in pieces, cut where a path leaves S and comes back:
//
//   L(v) = max( [v in S],  max over edges (u,v) of L(u) + [v in S and u not in S] )
//
// for all nodes v in topological order; those of S with L(v) = l are its piece l, an accelerator of
// its own from here on. Every CPU node is a piece of its own, too.
//
//   CPU node v:  finish(v) = cpu_time(v) + max over edges (u,v) of finish(u)
//   piece P:     finish    = max over In(P) of finish(u) + sum over In(P) of c(u)
//                          + sum over P of accelerator_time + sum over Out(P) of c(u)
//   value        = the largest finish
//
// In(P): nodes outside P with an edge into it; Out(P): nodes of P with an edge out of it; c(u): the
// cost of moving what u produces. A piece starts when all its inputs are there, reads them one by
// one, computes, and writes; its results appear together. CPUs are unlimited and move for nothing.
//
// Colour classes, support and numbers of devices are not looked at: the split is taken as it is.
// Source: Tarnawski et al., "Efficient algorithms for device placement of DNN graph operators",
// NeurIPS 2020, section 5, and the evaluator of its package, whose values these are.
#ifndef PLACEWRIGHT_SIM_PIPELINE_SAMPLE_LATENCY_H_
#define PLACEWRIGHT_SIM_PIPELINE_SAMPLE_LATENCY_H_

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "plan/pipeline_workload.h"
#include "plan/split.h"

namespace placewright {

struct SampleLatencyResult {
  double value = 0;
  // No accelerator has more bytes than it may; a split that has them is evaluated all the same.
  bool memory_ok = true;
  std::vector<double> finish;  // by node; 0 for a node that was left out
  struct Accelerator {
    int64_t nodes = 0;
    int32_t pieces = 0;
    double size = 0;  // bytes
  };
  std::vector<Accelerator> accelerators;  // as the split lists them
};

// Every node is listed exactly once; only a node without any edge may be left out, and then counts
// nothing. Errors: kGraphCycle; kSplitIncomplete (a node is not listed, or twice, or is not there);
// kSplitCyclic (pieces wait for one another); kFileTooLarge (accelerators * edges beyond 2^32).
// O(accelerators * (nodes + edges)).
Result<SampleLatencyResult> SampleLatency(const PipelineWorkload& workload, const Split& split);

}  // namespace placewright

#endif  // PLACEWRIGHT_SIM_PIPELINE_SAMPLE_LATENCY_H_
