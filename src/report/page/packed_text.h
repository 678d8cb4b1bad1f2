// Text as a part of a page: deflated (zlib), then in base64, for DecompressionStream("deflate").
#ifndef PLACEWRIGHT_REPORT_PAGE_PACKED_TEXT_H_
#define PLACEWRIGHT_REPORT_PAGE_PACKED_TEXT_H_

#include <string>
#include <string_view>

namespace placewright {

// Letters, digits, '+', '/' and '=' alone.
std::string PackText(std::string_view text);

}  // namespace placewright

#endif  // PLACEWRIGHT_REPORT_PAGE_PACKED_TEXT_H_
