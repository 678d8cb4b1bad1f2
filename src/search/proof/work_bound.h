// The bound by the work that devices share (internal to the module's proofs).
#ifndef PLACEWRIGHT_SEARCH_PROOF_WORK_BOUND_H_
#define PLACEWRIGHT_SEARCH_PROOF_WORK_BOUND_H_

#include <cstddef>
#include <cstdint>
#include <span>

namespace placewright {

// A lower bound on the time T by which devices of some sorts, of each so many (`counts`, at least 1), do jobs that may be
// shared out in any way, each device one at a time: for any weights w_d >= 0, here equal within a sort,
//
//   T * sum_d w_d  >=  sum over jobs of  min over d of  w_d * t(job, d)
//
// because device d works for at most T. `times`: t by job and sort, job-major, in ns; negative: not there.
// Jobs that no device can do count nothing. Equal speeds give total / devices; weights are improved by
// multiplicative steps (Plotkin, Shmoys and Tardos 1995) in integers, so that the bound is exact. At most
// 400 passes over `times`, about 0.02 s or one pass.
int64_t WorkBound(std::span<const int64_t> times, std::span<const size_t> counts);

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_PROOF_WORK_BOUND_H_
