#include "capture/onnx/operators/table.h"

#include <algorithm>

namespace placewright::lowering {
namespace {

const OperatorTable& Table() {
  static const OperatorTable table = [] {
    OperatorTable all;
    AddUnaryOperators(all);
    AddBinaryOperators(all);
    AddProductOperators(all);
    AddConvolutionOperators(all);
    AddPoolingOperators(all);
    AddNormalizationOperators(all);
    AddReductionOperators(all);
    AddLayoutOperators(all);
    AddSelectionOperators(all);
    AddScatterOperators(all);
    AddGeneratorOperators(all);
    AddResizeOperators(all);
    AddLossOperators(all);
    AddQuantizationOperators(all);
    AddRecurrentOperators(all);
    AddControlOperators(all);
    return all;
  }();
  return table;
}

}  // namespace

Lowering FindOperator(const std::string& name) {
  const auto it = Table().find(name);
  return it == Table().end() ? nullptr : it->second;
}

std::vector<std::string> OperatorNames() {
  std::vector<std::string> names;
  for (const auto& [name, lowering] : Table()) names.push_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace placewright::lowering
