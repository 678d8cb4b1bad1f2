#include <algorithm>
#include <array>

#include "cost/cost_model.h"

namespace placewright {
namespace {

// Types that work on text, whatever their tensors claim.
constexpr std::array<std::string_view, 9> kStringTypes = {"StringNormalizer",
                                                          "StringConcat",
                                                          "StringSplit",
                                                          "RegexFullMatch",
                                                          "TfIdfVectorizer",
                                                          "ImageDecoder",
                                                          "ai.onnx.ml.LabelEncoder",
                                                          "ai.onnx.ml.CategoryMapper",
                                                          "ai.onnx.ml.DictVectorizer"};

// Embedding lookups and their gradients: TensorFlow 1 graphs keep them on CPUs (docs/costs.md).
constexpr std::array<std::string_view, 11> kLookups = {
    "aten.embedding.",
    "aten.embedding_dense_backward.",
    "aten.embedding_backward.",
    "aten.embedding_bag.",
    "aten._embedding_bag.",
    "aten._embedding_bag_backward.",
    "aten.embedding_renorm_.",
    "aten._embedding_bag_dense_backward.",
    "aten._embedding_bag_forward_only.",
    "placewright.embedding_part.",
    "placewright.embedding_dense_backward_part."};

}  // namespace

bool IsCostProfile(std::string_view profile) { return profile == "default" || profile == "tf1"; }

bool Supports(std::string_view op_type, const DeviceKind& kind, std::string_view profile) {
  if (kind.device_class == DeviceClass::kCpu) return true;
  const auto is = [&](std::string_view type) { return op_type == type; };
  if (std::any_of(kStringTypes.begin(), kStringTypes.end(), is)) return false;
  if (profile != "tf1") return true;
  const auto begins = [&](std::string_view type) {
    return op_type.starts_with(type) || op_type == type.substr(0, type.size() - 1);
  };
  return std::none_of(kLookups.begin(), kLookups.end(), begins);
}

}  // namespace placewright
