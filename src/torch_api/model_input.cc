#include "torch_api/model_input.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/text.h"

namespace placewright {
namespace {

constexpr std::array kDTypes = {DType::kF32, DType::kF64, DType::kF16, DType::kBF16, DType::kI64,
                                DType::kI32, DType::kI16, DType::kI8,  DType::kU8,   DType::kBool};
// More would not fit any machine, and products of sizes stay far from overflow with it.
constexpr int64_t kMaxElements = int64_t{1} << 50;
constexpr size_t kMaxSizes = 64;

Error BadInput(std::string_view text, std::string reason) {
  return MakeError(ErrorCode::kUsage,
                   fmt::format("--input {}: {}", Printable(text, 80), std::move(reason)), "",
                   "Such as --input 'x=f32[B,3,224,224]' or --input 'ids=i64[B,128]<30522'.");
}

Result<DType> ReadDType(std::string_view whole, std::string_view text) {
  if (text.empty()) return DType::kF32;
  std::vector<std::string> names;
  for (const DType dtype : kDTypes) {
    if (ToString(dtype) == text) return dtype;
    names.emplace_back(ToString(dtype));
  }
  return BadInput(whole,
                  fmt::format("\"{}\" is no type of elements{}; these are: {}", Printable(text, 40),
                              DidYouMean(text, names), fmt::join(names, ", ")));
}

bool ReadNumber(std::string_view text, int64_t min, int64_t* number) {
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && rest == text.data() + text.size() && *number >= min;
}

std::string_view Trim(std::string_view text) {
  const size_t first = text.find_first_not_of(' ');
  if (first == text.npos) return "";
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

// "B,3,224" -> sizes.
Result<std::vector<int64_t>> ReadSizes(std::string_view whole, std::string_view text) {
  std::vector<int64_t> sizes;
  if (Trim(text).empty()) return sizes;
  int64_t elements = 1;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view item = Trim(text.substr(begin, end - begin));
    int64_t size = ModelInput::kBatch;
    if (item != "B" && !ReadNumber(item, 1, &size)) {
      return BadInput(whole, fmt::format("the size \"{}\" is neither a positive integer nor B",
                                         Printable(item, 40)));
    }
    if (size > kMaxElements / elements) {
      return BadInput(whole, "the sizes multiply to more than 2^50");
    }
    elements *= std::max<int64_t>(size, 1);
    sizes.push_back(size);
    if (sizes.size() > kMaxSizes) return BadInput(whole, "it has more than 64 sizes");
    begin = end + 1;
  }
  return sizes;
}

bool IsWhole(DType dtype) {
  return dtype == DType::kI64 || dtype == DType::kI32 || dtype == DType::kI16 ||
         dtype == DType::kI8 || dtype == DType::kU8;
}

}  // namespace

bool ModelInput::HasBatch() const {
  return std::find(sizes.begin(), sizes.end(), kBatch) != sizes.end();
}

Result<ModelInput> ParseModelInput(std::string_view text) {
  ModelInput input;
  std::string_view rest = Trim(text);
  const size_t open = rest.find('['), equals = rest.find('=');
  if (equals != rest.npos && equals < open) {
    input.name = Trim(rest.substr(0, equals));
    if (input.name.empty()) return BadInput(text, "the name before '=' is missing");
  }
  const size_t close = rest.find(']');
  if (open == rest.npos || close == rest.npos || close < open) {
    return BadInput(text, "it has no sizes in brackets");
  }
  const size_t type = equals != rest.npos && equals < open ? equals + 1 : 0;
  PW_ASSIGN(input.dtype, ReadDType(text, Trim(rest.substr(type, open - type))));
  PW_ASSIGN(input.sizes, ReadSizes(text, rest.substr(open + 1, close - open - 1)));
  const std::string_view tail = Trim(rest.substr(close + 1));
  if (tail.empty()) return input;
  if (tail[0] != '<' || !ReadNumber(Trim(tail.substr(1)), 1, &input.below)) {
    return BadInput(text, "behind the sizes only <N with a positive integer N may follow");
  }
  if (!IsWhole(input.dtype)) return BadInput(text, "<N is for integers");
  return input;
}

std::string ToString(const ModelInput& input) {
  std::vector<std::string> sizes;
  for (const int64_t size : input.sizes) {
    sizes.push_back(size == ModelInput::kBatch ? "B" : fmt::format("{}", size));
  }
  return fmt::format("{}{}{}[{}]{}", input.name, input.name.empty() ? "" : "=",
                     ToString(input.dtype), fmt::join(sizes, ","),
                     input.below == 1 ? "" : fmt::format("<{}", input.below));
}

Result<int64_t> BatchOf(const std::vector<ModelInput>& inputs, std::optional<int64_t> asked) {
  if (asked) return *asked;
  int64_t batch = 0;
  bool agree = true;
  for (const ModelInput& input : inputs) {
    if (input.HasBatch()) {
      return MakeError(ErrorCode::kUsage,
                       fmt::format("--input {} has the size B, and the batch is not given",
                                   Printable(ToString(input), 80)),
                       "", "Give --batch N.");
    }
    if (input.sizes.empty()) continue;
    if (batch == 0) batch = input.sizes[0];
    agree = agree && batch == input.sizes[0];
  }
  return agree ? batch : 0;
}

std::vector<int64_t> SizesAt(const ModelInput& input, bool any_has_batch, int64_t batch) {
  std::vector<int64_t> sizes = input.sizes;
  std::replace(sizes.begin(), sizes.end(), ModelInput::kBatch, batch);
  if (!any_has_batch && batch != 0 && !sizes.empty()) sizes[0] = batch;
  return sizes;
}

}  // namespace placewright
