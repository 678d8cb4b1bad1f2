// TensorBoard's event files: curves that grow while something runs. A record is its length, a
// checksum of that, the message, and a checksum of that (TFRecord); the message is TensorFlow's
// `Event` with a `Summary` of scalars.
#ifndef PLACEWRIGHT_FORMATS_TENSORBOARD_EVENT_FILE_H_
#define PLACEWRIGHT_FORMATS_TENSORBOARD_EVENT_FILE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace placewright {

// With what a file begins. `wall_time`: seconds since 1970.
std::string FirstEvent(double wall_time);
// The scalars of one step, by tag.
std::string ScalarEvent(double wall_time, int64_t step,
                        const std::vector<std::pair<std::string, float>>& scalars);

// Castagnoli's CRC of 32 bits, as in RFC 3720, appendix B.4.
uint32_t Crc32c(std::string_view bytes);

// A file that TensorBoard finds below its --logdir, written as it grows.
class EventFile {
 public:
  // Makes the folder and, in it, events.out.tfevents.SECONDS.placewright. Errors: kFileUnwritable.
  static Result<EventFile> Create(const std::string& folder);
  EventFile(EventFile&& other) noexcept;
  EventFile& operator=(EventFile&&) = delete;
  ~EventFile();

  // Errors: kFileUnwritable.
  Status Add(int64_t step, const std::vector<std::pair<std::string, float>>& scalars);
  const std::string& path() const { return path_; }

 private:
  EventFile(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}
  Status Write(std::string_view record);

  std::string path_;
  int descriptor_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_FORMATS_TENSORBOARD_EVENT_FILE_H_
