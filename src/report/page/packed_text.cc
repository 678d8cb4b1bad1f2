#include "report/page/packed_text.h"

#include <zlib.h>

#include <cstdint>

#include "base/check.h"

namespace placewright {
namespace {

std::string Base64(std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t three = 0;
    for (size_t k = 0; k < 3; ++k) {
      three = three << 8 | (i + k < bytes.size() ? static_cast<uint8_t>(bytes[i + k]) : 0U);
    }
    for (size_t k = 0; k < 4; ++k) {
      const bool padding = i + k > bytes.size();
      out += padding ? '=' : kDigits[three >> (18 - 6 * k) & 63U];
    }
  }
  return out;
}

}  // namespace

std::string PackText(std::string_view text) {
  uLongf size = compressBound(text.size());
  std::string packed(size, '\0');
  const int code = compress2(reinterpret_cast<Bytef*>(packed.data()), &size,
                             reinterpret_cast<const Bytef*>(text.data()), text.size(), 9);
  PW_CHECK_EQ(code, Z_OK);
  packed.resize(size);
  return Base64(packed);
}

}  // namespace placewright
