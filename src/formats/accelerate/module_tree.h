// The modules of a model with the devices of what lies in them.
#ifndef PLACEWRIGHT_FORMATS_ACCELERATE_MODULE_TREE_H_
#define PLACEWRIGHT_FORMATS_ACCELERATE_MODULE_TREE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace placewright {

// Leaves are parameters, buffers and modules without any; a leaf without a device goes with
// whatever is beside it.
class ModuleTree {
 public:
  // `path` has dots between its components; the empty path is the whole model.
  void Add(std::string_view path, std::optional<int32_t> device);

  // (path, device): every leaf is at or below exactly one path, no entry below another, and none
  // could be merged with all its siblings into their parent. In the order in which paths were
  // added.
  std::vector<std::pair<std::string, int32_t>> Cover() const;

 private:
  struct Node {
    std::string name;
    std::vector<size_t> children;  // in the order of their coming
    std::map<std::string, size_t, std::less<>> by_name;
    std::optional<int32_t> device;
    bool mixed = false;  // several devices at or below it
  };
  std::vector<Node> WithDevices() const;

  std::vector<Node> nodes_ = std::vector<Node>(1);  // parents before children; the root first
};

}  // namespace placewright

#endif  // PLACEWRIGHT_FORMATS_ACCELERATE_MODULE_TREE_H_
