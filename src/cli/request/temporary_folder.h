// A folder of its own for files that are gone with it.
#ifndef PLACEWRIGHT_CLI_REQUEST_TEMPORARY_FOLDER_H_
#define PLACEWRIGHT_CLI_REQUEST_TEMPORARY_FOLDER_H_

#include <string>

namespace placewright {

class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }  // empty: there is none

 private:
  std::string path_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_REQUEST_TEMPORARY_FOLDER_H_
