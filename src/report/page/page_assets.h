// What every page contains, made by CMake from web/ and third_party/uplot/.
#ifndef PLACEWRIGHT_REPORT_PAGE_PAGE_ASSETS_H_
#define PLACEWRIGHT_REPORT_PAGE_PAGE_ASSETS_H_

#include <string_view>

namespace placewright {

std::string_view PageStyle();     // web/plan_page.css
std::string_view PageScript();    // web/plan_page.js
std::string_view ChartLicence();  // of uPlot
std::string_view ChartStyle();
std::string_view ChartScript();

}  // namespace placewright

#endif  // PLACEWRIGHT_REPORT_PAGE_PAGE_ASSETS_H_
