#include "formats/graphdef/data_types.h"

#include <array>

namespace placewright::graphdef {
namespace {

struct Row {
  std::string_view name;
  DType dtype;
};

// By number; the quantised types are as wide as the integers they are stored in.
constexpr std::array<Row, 26> kTypes = {{{"", DType::kOpaque},
                                         {"DT_FLOAT", DType::kF32},
                                         {"DT_DOUBLE", DType::kF64},
                                         {"DT_INT32", DType::kI32},
                                         {"DT_UINT8", DType::kU8},
                                         {"DT_INT16", DType::kI16},
                                         {"DT_INT8", DType::kI8},
                                         {"DT_STRING", DType::kString},
                                         {"DT_COMPLEX64", DType::kC64},
                                         {"DT_INT64", DType::kI64},
                                         {"DT_BOOL", DType::kBool},
                                         {"DT_QINT8", DType::kI8},
                                         {"DT_QUINT8", DType::kU8},
                                         {"DT_QINT32", DType::kI32},
                                         {"DT_BFLOAT16", DType::kBF16},
                                         {"DT_QINT16", DType::kI16},
                                         {"DT_QUINT16", DType::kU16},
                                         {"DT_UINT16", DType::kU16},
                                         {"DT_COMPLEX128", DType::kC128},
                                         {"DT_HALF", DType::kF16},
                                         {"DT_RESOURCE", DType::kOpaque},
                                         {"DT_VARIANT", DType::kOpaque},
                                         {"DT_UINT32", DType::kU32},
                                         {"DT_UINT64", DType::kU64},
                                         {"DT_FLOAT8_E5M2", DType::kU8},
                                         {"DT_FLOAT8_E4M3FN", DType::kU8}}};
constexpr int64_t kReference = 100;

}  // namespace

int64_t DataTypeByName(std::string_view name) {
  const bool reference = name.ends_with("_REF");
  if (reference) name.remove_suffix(4);
  for (size_t i = 1; i < kTypes.size(); ++i) {
    if (kTypes[i].name == name) return static_cast<int64_t>(i) + (reference ? kReference : 0);
  }
  return 0;
}

DType ToDType(int64_t data_type) {
  if (data_type > kReference) data_type -= kReference;
  return data_type > 0 && data_type < static_cast<int64_t>(kTypes.size())
             ? kTypes[static_cast<size_t>(data_type)].dtype
             : DType::kOpaque;
}

}  // namespace placewright::graphdef
