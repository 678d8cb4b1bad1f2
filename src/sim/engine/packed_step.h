// A step as the event loop reads it: what belongs to one op or slice lies in one small record, rows are contiguous in
// the order in which ops usually run, and what only some ops have is kept apart. A simulated step is bound by memory
// traffic: about 90 bytes an op.
#ifndef PLACEWRIGHT_SIM_ENGINE_PACKED_STEP_H_
#define PLACEWRIGHT_SIM_ENGINE_PACKED_STEP_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "graph/csr.h"
#include "sim/engine/sim_graph.h"
#include "sim/engine/sim_ids.h"

namespace placewright {

// Row starts; the next record's are the ends.
struct PackedOp {
  // Bytes of the storages that it allocates at home, a multiple of 512, plus kSpecial; negative:
  // not to be expressed in 62 bits, see PackedStep::wide_births.
  int64_t birth = 0;
  int32_t edge = 0;   // an edge is one slice, not of an input, that the op reads
  int32_t slice = 0;  // the slices that it makes

  static constexpr int64_t kSpecial = 1;  // something in PackedStep's rare rows
  bool special() const { return (birth & kSpecial) != 0; }
  int64_t birth_bytes() const { return birth & ~kSpecial; }
};

struct PackedSlice {
  int64_t length = 0;
  int32_t reader = 0;  // row start in `readers`
  int32_t storage_flags = 0;

  // The only slice of the only version of a transient storage: its uses alone keep it at home.
  static constexpr int32_t kAlone = 1;
  static constexpr int32_t kOverwritten = 2;  // some op makes a next version
  static constexpr int32_t kFlagBits = 2;
  StorageId storage() const { return StorageId(storage_flags >> kFlagBits); }
  bool alone() const { return (storage_flags & kAlone) != 0; }
  bool overwritten() const { return (storage_flags & kOverwritten) != 0; }
};

struct PackedReader {
  ExecOpId op;
  int32_t edge = -1;  // -1: a slice of an input
};

struct PackedRoute {
  int64_t latency = 0, bandwidth = 1;
  int32_t link = 0, end = 0;  // row of the items of SimGraph::route_links
  // Its only link, which no other route and no collective uses, or none. Such a link never has to look at others.
  LinkId private_link;
};

struct PackedStep {
  PackedStep() = default;  // nothing, until StepPacker of `search` fills it
  explicit PackedStep(const SimGraph& sim_graph);

  // Rows end where these say, or a row behind the last does: vectors may be longer than the step.
  int32_t op_count = 0, storages = 0;
  std::vector<PackedOp> ops;              // and one behind the last
  std::vector<PackedSlice> slices;        // and one behind the last
  std::vector<PackedReader> readers;      // rows by slice, ascending
  IdVector<ExecOpId, int32_t> base_need;  // slices made in the step that it reads, waits,
                                          // overwritings
  std::vector<ExecOpId> first_ready;      // ops without any base need
  std::vector<SliceId> edge_slice;        // by edge
  IdVector<RouteId, PackedRoute> routes;

  // Devices on which every op takes the same time share a row.
  std::vector<int64_t> times;
  IdVector<DeviceId, size_t> time_row;  // start in `times`
  int64_t Time(ExecOpId op, DeviceId device) const { return times[time_row[device] + op.index()]; }

  // Rare rows.
  IdVector<SliceId, ExecOpId> overwriter;       // op that makes the next version, or none
  IdVector<SliceId, uint8_t> overwriter_reads;  // whether that op also reads the slice
  Csr<ExecOpId, ExecOpId> ends;                 // ops that lose a requirement when it ends
  Csr<ExecOpId, StorageId> tokens;              // storages of which it made a version, where not
                                                // their slices' uses alone keep them
  std::vector<StorageId> shared_storages;       // transient storages whose slices are not alone
  std::vector<int32_t> shared_left;             // versions to come of each

  std::vector<std::pair<ExecOpId, __int128>> wide_births;  // bytes; ascending
  __int128 WideBirth(ExecOpId op) const;

  IdVector<StorageId, int64_t> storage_bytes;  // that its end at home frees: 0 unless transient
  std::vector<StorageId> persistent;
  std::vector<SliceId> input_slices, initial_slices;  // ascending
  bool any_workspace = false;

  std::span<const PackedReader> ReadersOf(SliceId slice) const {
    return Readers(slice.index(), slice.index() + 1);
  }
  // Of all that it makes.
  std::span<const PackedReader> ReadersOf(ExecOpId op) const {
    return Readers(static_cast<size_t>(ops[op.index()].slice),
                   static_cast<size_t>(ops[op.index() + 1].slice));
  }

  // Steps of filling that both ways share.
  using Waits =
      std::vector<std::pair<ExecOpId, ExecOpId>>;  // the second waits for the end of the first
  void CheckSize() const;                          // there are not too many storages
  // Op by op, ascending.
  void SetBirth(ExecOpId op, __int128 bytes) {
    constexpr __int128 kNarrow = __int128{1} << 62;
    const bool wide = bytes >= kNarrow;
    ops[op.index()].birth = static_cast<int64_t>(wide ? -kNarrow : bytes);
    if (wide) wide_births.emplace_back(op, bytes);
  }
  // Once ops, and needs of what they read, are there.
  void AddWaits(const Waits& waits);
  void AddRoutes(const SimGraph& p);

 private:
  template <class Item>
  using Pairs = std::vector<std::pair<ExecOpId, Item>>;  // row, item
  template <class Item>
  static void MakeRows(size_t rows, const Pairs<Item>& pairs, Csr<ExecOpId, Item>& csr);

  std::span<const PackedReader> Readers(size_t from, size_t to) const {
    return {readers.data() + slices[from].reader, readers.data() + slices[to].reader};
  }

  void AddOps(const SimGraph& p);
  void AddTimes(const SimGraph& p);
  IdVector<StorageId, char> AddStorages(const SimGraph& p);  // those whose slices are not alone
  void AddSlices(const SimGraph& p, const IdVector<StorageId, char>& shared);
  void AddNeeds(const SimGraph& p);
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SIM_ENGINE_PACKED_STEP_H_
