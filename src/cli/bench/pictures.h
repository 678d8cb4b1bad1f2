// Pictures of a study, a file each.
#ifndef PLACEWRIGHT_CLI_BENCH_PICTURES_H_
#define PLACEWRIGHT_CLI_BENCH_PICTURES_H_

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

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_BENCH_PICTURES_H_
