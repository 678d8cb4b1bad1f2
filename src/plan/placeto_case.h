// A problem of Placeto's simulator: ops with fixed times, what they send each other, where each
// runs, and perhaps what the simulator is known to answer. docs/simulator-placeto.md has the rules,
// docs/formats/placeto.md the file.
#ifndef PLACEWRIGHT_PLAN_PLACETO_CASE_H_
#define PLACEWRIGHT_PLAN_PLACETO_CASE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace placewright {

// Times in microseconds. The defaults are those of Placeto's simulator.
struct PlacetoParams {
  double delta1 = 5.7;           // a device rests this long after an op
  double delta2 = 25;            // a bus rests this long after a transfer
  double init_offset = 0;        // when ops that wait for nothing become ready
  double transfer_speed = 7600;  // bytes per microsecond
};

struct PlacetoOp {
  std::string name;  // unique; decides ties
  double cost_us = 0;
  bool no_rest = false;              // written as the integer 0 (not 0.0): no delta1 after it
  std::vector<double> output_bytes;  // outputs beyond the list have none
};

struct PlacetoEdge {
  int32_t from = 0;
  int32_t output = 0;  // of `from`
  int32_t to = 0;
};

// Invariants (what ReadPlacetoCase accepts): names of ops and of devices are distinct, and no
// device is called as the bus of another ("/bus" before its name); indices are within their lists;
// no number is negative but init_offset, transfer_speed is above 0; no sum of times overflows.
struct PlacetoCase {
  PlacetoParams params;
  std::vector<std::string> devices;
  std::vector<PlacetoOp> ops;
  std::vector<PlacetoEdge> edges;  // may repeat a pair of ops
  std::vector<int32_t> placement;  // by op: the device
  std::optional<double> expected_runtime_us;
  std::optional<std::vector<double>> expected_start_us;  // by op
};

}  // namespace placewright

#endif  // PLACEWRIGHT_PLAN_PLACETO_CASE_H_
