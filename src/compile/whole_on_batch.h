// What a split of the batch leaves whole: ops outside the update that read or make something with
// the batch, but whose rule does not let it be split. Every device of a data-parallel step computes
// all of them.
#ifndef PLACEWRIGHT_COMPILE_WHOLE_ON_BATCH_H_
#define PLACEWRIGHT_COMPILE_WHOLE_ON_BATCH_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "cluster/cluster.h"
#include "graph/graph.h"
#include "sharding/named_axes.h"

namespace placewright {

// On which kind of device the shares of time are modelled where nothing else is said; it makes no difference to
// what is whole. One that computes in all types: where products in bfloat16 take no time, no share means anything.
inline constexpr std::string_view kWholeReferenceKind = "A100-80GB";

// Why the op is whole on the batch; "" where it can be split, or none of its tensors has the batch.
// A tensor has the batch if its named axes hold it, or if it is proven to follow the batch. `unsplit`: what
// FindUnsplitWrites (unsplit_writes.h) says of the batch.
std::string_view WhyWholeOnBatch(const Graph& graph, const NamedAxes& axes, OpId op,
                                 const IdVector<GroupId, bool>& unsplit);

struct WholeOnBatch {
  // Ops of one type with one reason.
  struct Row {
    std::string type;
    int64_t ops = 0;
    int64_t macs = 0;  // multiply-accumulates
    Nanos time;
    double share = 0;  // of the time of all ops outside the update, one after the other
    std::string_view reason;
  };
  std::vector<Row> rows;    // the longest time first, then by type
  double share = 0;         // of all rows
  std::string times_of;     // the kind of device
  int64_t unsupported = 0;  // ops that the kind cannot compute: in no share
};

// Nothing is listed where no axis is known to be the batch. `axes` are the graph's. `kind`: where the time is
// modelled; nullptr: kWholeReferenceKind. Errors: those of ModelCosts.
Result<WholeOnBatch> FindWholeOnBatch(const Graph& graph, const NamedAxes& axes,
                                      const DeviceKind* kind = nullptr);

}  // namespace placewright

#endif  // PLACEWRIGHT_COMPILE_WHOLE_ON_BATCH_H_
