#include "report/chart.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <utility>

namespace placewright {
namespace {

constexpr std::array<const char*, 7> kColors = {"#4c78a8", "#f28e2b", "#59a14f", "#c62828",
                                                "#9467bd", "#8c564b", "#17becf"};
constexpr double kChartWidth = 860, kChartHeight = 420;
// Where its axes lie.
constexpr double kPlotLeft = 70, kPlotTop = 46, kPlotWidth = 560, kPlotHeight = 328;
constexpr double kPlotRight = kPlotLeft + kPlotWidth, kPlotBottom = kPlotTop + kPlotHeight;
constexpr double kRounded = 1.0001;  // the last tick may lie behind the end by that much

std::string Escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    out += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : std::string(1, c);
  }
  return out;
}

// 1, 2 or 5 times a power of ten, at least a fifth of `range`.
double TickOf(double range) {
  const double base = std::pow(10, std::floor(std::log10(range / 5)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (base * factor >= range / 5) return base * factor;
  }
  return base * 10;
}

const char* ColorOf(size_t series) { return kColors[series % kColors.size()]; }

}  // namespace

Chart::Chart(Axes axes) : axes_(std::move(axes)) {
  svg_ = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" "
      "height=\"{1:.0f}\" font-family=\"sans-serif\" font-size=\"12\">\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
      "<text x=\"{2:.0f}\" y=\"22\" font-size=\"15\">{3}</text>\n",
      kChartWidth, kChartHeight, kPlotLeft, Escaped(axes_.title));
  NumberY();
  svg_ += fmt::format(
      "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n"
      "<text transform=\"translate(16 {:.1f}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n",
      kPlotLeft + kPlotWidth / 2, kChartHeight - 8, Escaped(axes_.x), kPlotTop + kPlotHeight / 2,
      Escaped(axes_.y));
}

double Chart::PlaceX(double x) const { return kPlotLeft + kPlotWidth * x / axes_.x_end; }
double Chart::PlaceY(double y) const { return kPlotTop + kPlotHeight * (1 - y / axes_.y_end); }

void Chart::NumberY() {
  const double step = TickOf(axes_.y_end);
  for (int i = 0; i * step <= axes_.y_end * kRounded; ++i) {
    const double at = PlaceY(i * step);
    svg_ += fmt::format(
        "<line x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#e0e0e0\"/>\n"
        "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{:g}</text>\n",
        kPlotLeft, kPlotRight, at, at, kPlotLeft - 6, at + 4, i * step);
  }
}

void Chart::NumberX() {
  const double step = TickOf(axes_.x_end);
  for (int i = 0; i * step <= axes_.x_end * kRounded; ++i) {
    NameX(i * step, fmt::format("{:g}", i * step));
  }
}

void Chart::NameX(double x, std::string_view name) {
  svg_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n",
                      PlaceX(x), kPlotBottom + 18, Escaped(name));
}

size_t Chart::AddSeries(std::string_view name) {
  const double at = kPlotTop + 14 + 20 * static_cast<double>(series_);
  svg_ += fmt::format(
      "<line x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\" "
      "stroke-width=\"3\"/>\n<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n",
      kPlotRight + 14, kPlotRight + 34, at, at, ColorOf(series_), kPlotRight + 40, at + 4,
      Escaped(name));
  return series_++;
}

void Chart::AddCurve(size_t series, std::span<const std::pair<double, double>> points) {
  std::string path;
  for (const auto& [x, y] : points) {
    path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", PlaceX(x), PlaceY(y));
  }
  svg_ += fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.6\"/>\n", path,
                      ColorOf(series));
}

void Chart::AddBar(size_t series, double from, double to, double y) {
  svg_ += fmt::format(
      "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\"/>\n",
      PlaceX(from), PlaceY(y), PlaceX(to) - PlaceX(from), PlaceY(0) - PlaceY(y), ColorOf(series));
}

std::string Chart::Finish() && { return std::move(svg_) + "</svg>\n"; }

}  // namespace placewright
