// The op types that learned planners distinguish, the same for any graph: a fixed list, and behind it
// a few places that all other types share by their hash, so that a type that no policy has seen
// still has features. A policy keeps the version it was trained with.
#ifndef PLACEWRIGHT_LEARN_FEATURES_VOCABULARY_H_
#define PLACEWRIGHT_LEARN_FEATURES_VOCABULARY_H_

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace placewright::vocabulary {

// Raised with every change of the list, of kShared or of Word.
inline constexpr int kVersion = 1;
// Places for types that the list does not name.
inline constexpr size_t kShared = 32;

// The list, ascending.
std::span<const std::string_view> Words();
// Places in all: the list's and kShared.
size_t Size();
// Below Size(), for any op type: "aten.add_.Tensor", "MatMul", "com.microsoft.FusedGelu".
size_t IndexOf(std::string_view op_type);
// What IndexOf looks up: without namespace and overload, without the "_" of ops in place, in lower
// case: "add", "matmul", "fusedgelu".
std::string Word(std::string_view op_type);

}  // namespace placewright::vocabulary

#endif  // PLACEWRIGHT_LEARN_FEATURES_VOCABULARY_H_
