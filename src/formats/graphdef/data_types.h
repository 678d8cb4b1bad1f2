// TensorFlow's DataType numbers.
#ifndef PLACEWRIGHT_FORMATS_GRAPHDEF_DATA_TYPES_H_
#define PLACEWRIGHT_FORMATS_GRAPHDEF_DATA_TYPES_H_

#include <cstdint>
#include <string_view>

#include "graph/graph.h"

namespace placewright::graphdef {

inline constexpr int64_t kDtFloat = 1, kDtInt32 = 3, kDtString = 7, kDtInt64 = 9, kDtBool = 10,
                         kDtResource = 20, kDtVariant = 21;

// Of "DT_FLOAT" or "DT_FLOAT_REF"; 0 if there is none of that name.
int64_t DataTypeByName(std::string_view name);

// References count as what they refer to. Resources, variants and numbers without a
// meaning are kOpaque.
DType ToDType(int64_t data_type);

}  // namespace placewright::graphdef

#endif  // PLACEWRIGHT_FORMATS_GRAPHDEF_DATA_TYPES_H_
