// A plan as one HTML file for people who would rather look than read.
#ifndef PLACEWRIGHT_REPORT_PLAN_PAGE_H_
#define PLACEWRIGHT_REPORT_PLAN_PAGE_H_

#include <string>
#include <string_view>

#include "plan/plan.h"

namespace placewright {

// Self-contained: no scripts, fonts or files of others. `timeline_svg` as RenderTimelineSvg made
// it; `explanation` is plain text (bottlenecks, peak memory), shown as it is.
std::string RenderPlanPage(const Plan& plan, std::string_view timeline_svg,
                           std::string_view explanation);

}  // namespace placewright

#endif  // PLACEWRIGHT_REPORT_PLAN_PAGE_H_
