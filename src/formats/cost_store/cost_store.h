// The file in which measured times are kept: one SQLite database, which several programs may read and
// write at once. docs/formats/cost-store.md has its tables.
#ifndef PLACEWRIGHT_FORMATS_COST_STORE_COST_STORE_H_
#define PLACEWRIGHT_FORMATS_COST_STORE_COST_STORE_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "cost/communication/measured_collectives.h"
#include "cost/measured_links.h"

namespace placewright {

class CostStore {
 public:
  static constexpr int kSchema = 2;

  // With `create` an absent file is made, and its folder, and one of schema 1 becomes one of this.
  // Errors: kFileUnreadable, kFileUnwritable,
  // kFileCorrupt (no SQLite database, or a damaged one), kField (another schema, another database).
  static Result<CostStore> Open(const std::string& path, bool create);
  ~CostStore();
  CostStore(CostStore&&) noexcept;

  // All or none; what was measured before in the same environment for the same signature is replaced.
  // Waits for other writers. Errors: kFileUnwritable (a full disk, a locked or read-only file),
  // kFileCorrupt, kField (a number that Read would refuse).
  Status Put(const std::vector<MeasuredDevice>& devices,
             const std::vector<MeasuredTransfers>& transfers);
  // The same for collectives: what was measured before with the same backend, devices and bytes is
  // replaced.
  Status PutCollectives(const std::vector<MeasuredCollectives>& collectives);

  // Of the LibTorch and BLAS that were measured last, and what was imported from traces; newest first.
  // Errors: kFileUnreadable, kFileCorrupt.
  Result<std::vector<MeasuredDevice>> Read(const std::string& kind, int64_t cores) const;
  Result<std::vector<MeasuredTransfers>> ReadTransfers(const std::string& kind,
                                                       int64_t cores) const;
  // What a backend ("nccl", "gloo") was measured with, by devices. Errors: as Read.
  Result<std::vector<MeasuredCollectives>> ReadCollectives(const std::string& backend) const;

 private:
  struct Database;
  explicit CostStore(std::unique_ptr<Database> database);
  Status Transact(const std::function<Status()>& put);  // all of it, or nothing
  std::unique_ptr<Database> database_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_FORMATS_COST_STORE_COST_STORE_H_
