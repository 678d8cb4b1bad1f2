// Where files that come with the library lie: trained policies, records, the exporter.
#ifndef PLACEWRIGHT_BASE_LIBRARY_FOLDER_H_
#define PLACEWRIGHT_BASE_LIBRARY_FOLDER_H_

#include <string>
#include <vector>

namespace placewright {

// `places`, each relative to the folder of libplacewright.so, as absolute paths: ../share/placewright
// of an installation or a Python package, ../.. of the repository that it was built in. They do not
// depend on the program that has loaded it, which can be a Python. Debian's lib/x86_64-linux-gnu
// counts as lib. Empty where the system does not say which file the library is.
std::vector<std::string> BesideLibrary(const std::vector<std::string>& places);

}  // namespace placewright

#endif  // PLACEWRIGHT_BASE_LIBRARY_FOLDER_H_
