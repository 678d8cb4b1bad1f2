// Trees. Two binary ones over the same devices, each for half of the bytes, through which chunks are
// passed on as in a pipeline, for all-reduces (Sanders, Speck, Traeff, "Two-tree algorithms for full bandwidth
// broadcast, reduction and scan", Parallel Computing 35, 2009; NCCL's double binary trees since
// 2.4).
//
// The first tree: of positions 1 .. n the one that the highest power of two divides is above the
// others, so that odd positions are leaves. The second one is the first shifted by one position:
// with an even number of devices the leaves of one tree are the inner devices of the other.
#ifndef PLACEWRIGHT_COST_COMMUNICATION_TREE_H_
#define PLACEWRIGHT_COST_COMMUNICATION_TREE_H_

#include <cstdint>
#include <vector>

#include "cost/communication/round.h"

namespace placewright {

struct TreePair {
  int depth = 0;  // routes from a root to the farthest device, of the deeper tree
  // Every device passes a chunk of each tree on to its children and one up to its parent.
  Round both;
};
// Over one order of devices, or over several at once, all of one length and with bytes of their
// own.
TreePair MakeTrees(const Cluster& cluster, const std::vector<DeviceId>& order);
TreePair MakeTrees(const Cluster& cluster, const std::vector<std::vector<DeviceId>>& orders);

// A binomial tree from the first of the devices: in round k the first 2^k hand all bytes on to those 2^k
// places behind them. ceil(log2 n) rounds.
std::vector<Round> BinomialRounds(const Cluster& cluster, const std::vector<DeviceId>& order);
// One behind the other, each of so many bytes.
double NanosOfRounds(const std::vector<Round>& rounds, double bytes);

// Rounds of a pipeline: `fill` for the first chunk and one more for each of the others,
//
//   time(c) = (fill + c - 1) * round(bytes / c)
//
// with the number of chunks c near sqrt((fill - 1) * bytes * nanos_per_byte / latency), where it is
// smallest; a chunk has 4 KiB or more. Rounds count as if every transfer went on in each of them.
double PipelineNanos(const Round& round, int fill, double bytes);
// That c.
int64_t PipelineChunks(const Round& round, int fill, double bytes);

}  // namespace placewright

#endif  // PLACEWRIGHT_COST_COMMUNICATION_TREE_H_
