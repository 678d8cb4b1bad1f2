// A chart as an SVG: curves or bars over axes that begin at zero, their names beside it.
#ifndef PLACEWRIGHT_REPORT_CHART_H_
#define PLACEWRIGHT_REPORT_CHART_H_

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace placewright {

class Chart {
 public:
  struct Axes {
    std::string title, x, y;
    double x_end = 1, y_end = 1;  // above 0
  };
  explicit Chart(Axes axes);

  void NumberX();
  // A word below the axis.
  void NameX(double x, std::string_view name);
  // What is drawn in one colour and named in the legend; its number.
  size_t AddSeries(std::string_view name);
  void AddCurve(size_t series, std::span<const std::pair<double, double>> points);
  void AddBar(size_t series, double from, double to, double y);
  std::string Finish() &&;

 private:
  double PlaceX(double x) const;
  double PlaceY(double y) const;
  void NumberY();

  Axes axes_;
  size_t series_ = 0;
  std::string svg_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_REPORT_CHART_H_
