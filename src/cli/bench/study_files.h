// Files of a study: its store of runs, and its pictures, one each.
#ifndef PLACEWRIGHT_CLI_BENCH_STUDY_FILES_H_
#define PLACEWRIGHT_CLI_BENCH_STUDY_FILES_H_

#include <span>
#include <string>

#include "base/result.h"

namespace placewright {

struct Picture {
  std::string name, svg;
};

// Into the folder, which is made where there is none; those without content are left out. Errors:
// kFileUnwritable.
Status WritePictures(const std::string& folder, std::span<const Picture> pictures);

// Errors: kFileUnreadable (no file has that name).
Status NeedsStore(const std::string& path);

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_BENCH_STUDY_FILES_H_
