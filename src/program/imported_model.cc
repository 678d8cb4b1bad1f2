#include "program/imported_model.h"

namespace placewright {

std::string OperatorName(const ImportedNode& node) {
  return node.domain.empty() ? node.type : node.domain + "." + node.type;
}

}  // namespace placewright
