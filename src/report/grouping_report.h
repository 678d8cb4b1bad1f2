// A grouping of ops as a table.
#ifndef PLACEWRIGHT_REPORT_GROUPING_REPORT_H_
#define PLACEWRIGHT_REPORT_GROUPING_REPORT_H_

#include <string>

#include "graph/partition/op_grouping.h"
#include "report/table.h"
#include "sim/one_device.h"

namespace placewright {

// `source` says where the times of the ops are from.
std::string RenderGrouping(const OpGrouping& grouping, const OpTimes& times, const Style& style);

}  // namespace placewright

#endif  // PLACEWRIGHT_REPORT_GROUPING_REPORT_H_
