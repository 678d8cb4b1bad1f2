// What NVIDIA's nccl-tests (all_reduce_perf, all_gather_perf, ...) print: times of a collective by size.
#ifndef PLACEWRIGHT_FORMATS_COSTS_NCCL_TESTS_LOG_H_
#define PLACEWRIGHT_FORMATS_COSTS_NCCL_TESTS_LOG_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cost/communication/collective_kind.h"
#include "cost/communication/measured_collectives.h"

namespace placewright {

struct NcclTestsLog {
  struct Rank {
    std::string host, gpu;  // as the log names them: "node3", "NVIDIA H100 80GB HBM3"
  };
  CollectiveKind kind = CollectiveKind::kAllReduce;
  std::vector<Rank> ranks;
  // Out of place, ascending; of the whole tensor, which of an all-to-all is what all ranks have together. `runs`: the
  // iterations of a line; of equal sizes the median counts.
  std::vector<MeasuredCollective> sizes;
};

// `kind`: for logs of versions that do not name their test (before 2.14). What mpirun (`[1,0]<stdout>:`) and srun (`0: `)
// put before a line is left out. Errors: kField and kSyntax with the line: no test is named, one that is no collective of
// a step (sendrecv, reduce, ...), no ranks, several of number 0 (built without MPI), no table, a line that is none of it.
Result<NcclTestsLog> ParseNcclTestsLog(std::string_view text, std::optional<CollectiveKind> kind);

}  // namespace placewright

#endif  // PLACEWRIGHT_FORMATS_COSTS_NCCL_TESTS_LOG_H_
