#include <fmt/format.h>

#include "aten/failure.h"
#include "capture/zoo/model.h"

namespace placewright {
namespace {

[[noreturn]] void Contradict(std::string message) {
  throw TorchFailure(MakeError(ErrorCode::kField, std::move(message), "",
                               "Change one of them with --param NAME=NUMBER."));
}

}  // namespace

void Settings::RequireMultiple(const std::string& name, const std::string& of) const {
  if (Whole(name) % Whole(of) == 0) return;
  Contradict(fmt::format("{} = {} is not a multiple of {} = {}", name, Whole(name), of, Whole(of)));
}

void Settings::RequireMultiple(const std::string& name, int64_t of) const {
  if (Whole(name) % of == 0) return;
  Contradict(fmt::format("{} = {} is not a multiple of {}", name, Whole(name), of));
}

void Settings::RequireAtMost(const std::string& name, const std::string& limit) const {
  if (Whole(name) <= Whole(limit)) return;
  Contradict(fmt::format("{} = {} exceeds {} = {}", name, Whole(name), limit, Whole(limit)));
}

}  // namespace placewright
