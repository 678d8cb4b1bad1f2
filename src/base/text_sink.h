// Where a long text goes piece by piece, so that all of it is never held at once.
#ifndef PLACEWRIGHT_BASE_TEXT_SINK_H_
#define PLACEWRIGHT_BASE_TEXT_SINK_H_

#include <functional>
#include <string_view>

#include "base/result.h"

namespace placewright {

// Takes the next piece of the text, of any size. The first error ends the writing.
using TextSink = std::function<Status(std::string_view piece)>;

}  // namespace placewright

#endif  // PLACEWRIGHT_BASE_TEXT_SINK_H_
