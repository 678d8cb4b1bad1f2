// How much equal devices differ.
#ifndef PLACEWRIGHT_COST_SLOWEST_H_
#define PLACEWRIGHT_COST_SLOWEST_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace placewright {

// How much longer a step takes on the slowest of `devices` GPUs of one kind than on a single one, taken
// to be the median: 1 + s m, with m the expected largest of so many standard normal numbers, by Blom's
// approximation
//
//   m = Phi^-1((devices - 3/8) / (devices + 1/4))
//
// (Blom, "Statistical estimates and transformed beta-variables", 1958), and s their standard
// deviation. Sinha et al., "Not All GPUs Are Created Equal", SC 2022 (arXiv:2208.11035), found a
// performance variation of 8% on average between equal GPUs of five clusters, over applications.
// We take it for the distance of a box plot's whiskers, 5.4 standard deviations of normal numbers,
// so that s is 1.5%. Rounded to four digits. Of one device: 1; of 8: 1.021; of 128: 1.039.
double SlowestOf(int32_t devices);

// The same for numbers that come again; none of 0 devices is slow.
class SlowestOfMany {
 public:
  double Of(size_t devices) {
    while (known_.size() <= devices) {
      known_.push_back(SlowestOf(static_cast<int32_t>(known_.size())));
    }
    return known_[devices];
  }

 private:
  std::vector<double> known_ = {1, 1};
};

}  // namespace placewright

#endif  // PLACEWRIGHT_COST_SLOWEST_H_
