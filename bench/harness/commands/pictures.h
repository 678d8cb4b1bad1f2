// The pictures of a study, a file each.
#ifndef PLACEWRIGHT_BENCH_HARNESS_COMMANDS_PICTURES_H_
#define PLACEWRIGHT_BENCH_HARNESS_COMMANDS_PICTURES_H_

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

#endif  // PLACEWRIGHT_BENCH_HARNESS_COMMANDS_PICTURES_H_
