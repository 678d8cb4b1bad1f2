// Why a plan cannot be expressed as a device_map, and the options that would plan one that can.
#ifndef PLACEWRIGHT_FORMATS_ACCELERATE_REFUSALS_H_
#define PLACEWRIGHT_FORMATS_ACCELERATE_REFUSALS_H_

#include <cstdint>
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
  // A small one alone is no reason to refuse the plan.
  enum class Weight : uint8_t { kSmall, kGreat };

  // `about`: a module, of which the first reason counts. `options` may be "".
  void Add(std::string_view about, std::string reason, std::string options,
           Weight weight = Weight::kGreat);
  bool empty() const { return great_.about.empty() && small_.about.empty(); }
  bool any_great() const { return !great_.about.empty(); }
  // Of all: "--colocate-each 'm.layers.*' --colocate 'm.norm'", or "".
  std::string Options() const;

  // kNotExpressible: the first reason, the number of the others, and their options; great reasons
  // alone, if there are any.
  Error ToError() const;

 private:
  struct Reasons {
    std::set<std::string, std::less<>> about;
    std::string first;
    std::vector<std::string> options;  // distinct, in the order of their coming
  };
  Reasons great_, small_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_FORMATS_ACCELERATE_REFUSALS_H_
