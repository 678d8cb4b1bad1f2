#include "program/program.h"

namespace placewright {

std::string OperatorName(const ProgramNode& node) {
  return node.domain.empty() ? node.type : node.domain + "." + node.type;
}

}  // namespace placewright
