// What fetches parameters, by layer (internal to rewrites/).
//
// A fetch is a collective of what parameters are before the step, or of casts of these. Those of one layer
// (graph/ownership/module_path.h) that are read one after the other are a unit, and so are those outside of layers. Units
// follow one another by their first reader, which counts each pass that fetches them.
#ifndef PLACEWRIGHT_COMPILE_REWRITES_FETCH_UNITS_H_
#define PLACEWRIGHT_COMPILE_REWRITES_FETCH_UNITS_H_

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "compile/step_arrays.h"
#include "graph/graph.h"

namespace placewright {

// Views and what moves pieces hand on what was fetched.
inline bool IsWork(const ArrayOp& op) { return op.IsInstance() && !op.is_view; }

class FetchUnits {
 public:
  // Places count the step's ops in its order.
  using FirstReaders = std::map<DeviceId, int32_t>;
  struct Fetch {
    CollectiveId id;
    StorageId parameter;
    std::string_view layer;
    int32_t at = 0;     // of its first member
    int32_t first = 0;  // of the first reader of all
    FirstReaders readers;
  };
  struct Unit {
    size_t begin, end;  // its fetches
    FirstReaders readers;
  };

  // `original` must outlive it. O(ops + edges).
  FetchUnits(const Graph& original, const StepArrays& arrays);

  // Those that are read, in the order of their first readers.
  const std::vector<Fetch>& fetches() const { return fetches_; }
  const std::vector<Unit>& units() const { return units_; }
  // Whether a fetch of a parameter outside of layers brought the tensor.
  bool IsOfRoot(TensorId tensor) const {
    const int32_t fetch = fetch_of_[tensor];
    return fetch >= 0 && in_root_[static_cast<size_t>(fetch)] != 0;
  }

 private:
  void Visit(int32_t place);
  int32_t FetchBy(const ArrayOp& op, int32_t place);
  void FindUnits();

  const Graph& original_;
  const StepArrays& arrays_;
  IdVector<CollectiveId, int32_t> number_;  // of fetches as they are found, or -1
  IdVector<TensorId, int32_t> fetch_of_;    // by tensor: what brought it, or -1
  std::vector<char> in_root_;               // by number
  std::vector<Fetch> fetches_;
  std::vector<Unit> units_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_COMPILE_REWRITES_FETCH_UNITS_H_
