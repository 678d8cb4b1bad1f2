// Why a plan cannot be expressed as a device_map, and the options that would plan one that can.
#ifndef PLACEWRIGHT_FORMATS_ACCELERATE_REFUSALS_H_
#define PLACEWRIGHT_FORMATS_ACCELERATE_REFUSALS_H_

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace placewright {

// The option of `plan` that keeps a module whole, by its path in the graph: for one in a block, a
// module whose name is a number, that of all such blocks ("--colocate-each 'm.layers.*'" for
// "m.layers.3.attn"), else "--colocate 'm.norm'"; "" for the model itself.
std::string KeepWhole(std::string_view path);

class Refusals {
 public:
  // `about`: a module, of which the first reason counts. `options` may be "".
  void Add(std::string_view about, std::string reason, std::string options);
  bool empty() const { return about_.empty(); }

  // kNotExpressible: the first reason, the number of the others, and all options.
  Error ToError() const;

 private:
  std::set<std::string, std::less<>> about_;
  std::string first_;
  std::vector<std::string> options_;  // distinct, in the order of their coming
};

}  // namespace placewright

#endif  // PLACEWRIGHT_FORMATS_ACCELERATE_REFUSALS_H_
