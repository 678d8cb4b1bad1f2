// Text files with a line of JSON for each entry, which several processes may fill at a time.
#ifndef PLACEWRIGHT_STUDY_LINE_STORE_H_
#define PLACEWRIGHT_STUDY_LINE_STORE_H_

#include <functional>
#include <string>

#include "base/result.h"
#include "formats/text/json.h"

namespace placewright {

// Calls `take` with the JSON of each line that is not empty and its place, "line 3"; none where there
// is no file. Errors: kSyntax, kFileUnreadable, those of `take`; naming the file.
Status ReadLines(const std::string& path,
                 const std::function<Status(const Json&, const std::string& place)>& take);

// Errors: kFileUnreadable (no file has that name).
Status NeedsStore(const std::string& path);

// Appends to what the file holds by then. Errors: kFileUnwritable, kFileUnreadable.
Status AppendLine(const std::string& path, const Json& json);

}  // namespace placewright

#endif  // PLACEWRIGHT_STUDY_LINE_STORE_H_
