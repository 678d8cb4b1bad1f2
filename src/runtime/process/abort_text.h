// What ranks write for one another in their store, as text: what they have, and what has ended the run.
#ifndef PLACEWRIGHT_RUNTIME_PROCESS_ABORT_TEXT_H_
#define PLACEWRIGHT_RUNTIME_PROCESS_ABORT_TEXT_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace placewright {

// An error and whose it is; -1: what is known of the run, and no rank's own.
struct AbortText {
  int32_t rank = -1;
  std::string host;
  Error error;

  std::string Text() const;
  // Of a text that is none: kInternal with all of it as message.
  static AbortText Parse(const std::string& text);
  // As `reader` reports it: an error of another rank's begins with its number and machine.
  Error AsError(int32_t reader) const;
};

struct Published {
  std::string host;
  std::vector<std::pair<std::string, std::string>> facts;  // neither has line breaks

  std::string Text() const;
  static Published Parse(const std::string& text);
  // The first fact in which rank 0's, these, differ from those of `rank`, as a sentence; "": none.
  std::string Difference(const Published& theirs, int32_t rank) const;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_RUNTIME_PROCESS_ABORT_TEXT_H_
