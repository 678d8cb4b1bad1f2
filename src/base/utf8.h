// Whether bytes are text.
#ifndef PLACEWRIGHT_BASE_UTF8_H_
#define PLACEWRIGHT_BASE_UTF8_H_

#include <string_view>

namespace placewright {

// Well-formed UTF-8: no overlong forms, no surrogates, nothing above U+10FFFF.
bool IsUtf8(std::string_view text);

}  // namespace placewright

#endif  // PLACEWRIGHT_BASE_UTF8_H_
