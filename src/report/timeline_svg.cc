#include "report/timeline_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iterator>
#include <set>

#include "report/page/alike_devices.h"
#include "report/table.h"
#include "transforms/accumulate.h"

namespace placewright {
namespace {

// Pixels.
constexpr double kWidth = 1280, kLeft = 150, kMarginRight = 24;
constexpr double kPlot = kWidth - kLeft - kMarginRight;
constexpr double kHeader = 94, kOpLane = 26, kMemoryLane = 44, kGap = 16, kLinkLane = 9,
                 kLinkGap = 5, kAxis = 34;
constexpr size_t kMaxLinks = 12;
constexpr size_t kMaxLanesEach = 10;  // devices up to which each has a lane
// Two ops nearer than this become one box.
constexpr double kEye = 0.4;

constexpr std::array<const char*, 3> kPhaseColor = {"#4c78a8", "#f28e2b", "#59a14f"};
constexpr const char* kTransferColor = "#9467bd";
// Of memory. The reserve's stripes are defined once.
constexpr const char *kTensors = "#c7d5e5", *kWorkspace = "#a9b6c6", *kContext = "#7f8b99",
                     *kReserve = "url(#reserve)", *kFree = "#f8f8f8", *kOver = "#c62828";
constexpr const char* kDefinitions =
    "<defs><pattern id=\"reserve\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" "
    "patternTransform=\"rotate(45)\"><rect width=\"6\" height=\"6\" fill=\"#f8f8f8\"/>"
    "<rect width=\"2\" height=\"6\" fill=\"#b9a98a\"/></pattern></defs>\n";

// Consecutive ops of one phase, and of one micro-batch, on one device, drawn as one box.
struct Box {
  Phase phase = Phase::kForward;
  int32_t micro_batch = 0;  // from 1; 0: of none
  Nanos start, end;
  int64_t ops = 0;
  OpId first, last;
};

class Painter {
 public:
  explicit Painter(const TimelineInput& input) : in_(input) {}

  std::string Paint() {
    double y = kHeader;
    std::string body;
    for (const std::vector<DeviceId>& alike : Lanes()) {
      y += PaintDevice(alike, y, body) + kGap;
    }
    PaintLinks(y, body);
    PaintCollectives(y, body);
    const double bottom = y;
    PaintAxis(bottom, body);
    const double height = bottom + kAxis;
    std::string svg = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
        "width=\"{0:.0f}\" height=\"{1:.0f}\" font-family=\"sans-serif\" font-size=\"12\">\n"
        "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
        kWidth, height);
    svg += kDefinitions;
    PaintHeader(svg);
    return svg + body + "</svg>\n";
  }

 private:
  double X(Nanos time) const {
    if (Span().count <= 0) return kLeft;
    return kLeft + kPlot * (static_cast<double>(time.count) / static_cast<double>(Span().count));
  }
  // What the width stands for.
  Nanos Span() const { return std::max(in_.step_time, in_.scale); }

  static void Text(std::string& out, double x, double y, std::string_view text,
                   std::string_view attributes = "") {
    fmt::format_to(std::back_inserter(out),
                   "<text x=\"{:.1f}\" y=\"{:.1f}\" fill=\"#222222\" {}>{}</text>\n", x, y,
                   attributes, EscapeXml(text));
  }

  static void Rectangle(std::string& out, double x, double y, double width, double height,
                        std::string_view color, std::string_view tip) {
    fmt::format_to(std::back_inserter(out),
                   "<rect x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{:.1f}\" "
                   "fill=\"{}\">",
                   x, y, width, height, color);
    if (!tip.empty()) out += "<title>" + EscapeXml(tip) + "</title>";
    out += "</rect>\n";
  }

  void PaintHeader(std::string& out) const {
    Text(out, kLeft, 26, in_.title, "font-size=\"18\" font-weight=\"bold\"");
    Text(out, kLeft, 46, in_.subtitle);
    double x = kLeft;
    const auto legend = [&](std::string_view color, std::string_view name, double width) {
      Rectangle(out, x, 57, 12, 10, color, "");
      Text(out, x + 17, 66, name);
      x += width;
    };
    legend(kPhaseColor[0], "forward", 80);
    legend(kPhaseColor[1], "backward", 88);
    legend(kPhaseColor[2], "optimizer", 90);
    legend(kTransferColor, "transfer", 82);
    if (!memory_drawn_) return;
    legend(kTensors, "tensors", 74);
    if (shown_.count(kWorkspace) > 0) legend(kWorkspace, "workspace", 92);
    if (shown_.count(kContext) > 0) legend(kContext, "runtime context", 122);
    if (shown_.count(kReserve) > 0) legend(kReserve, "memory reserve", 124);
    Text(out, x, 66, "- - usable; a lane is as high as the device's memory");
  }

  std::vector<Box> BoxesOf(DeviceId device) const {
    std::vector<OpId> ops;
    for (OpId op : in_.graph.ops()) {
      const bool occupies = !in_.graph.op(op).is_view && !in_.graph.collective_of(op).valid();
      if (occupies && in_.placement[op] == device) ops.push_back(op);
    }
    std::sort(ops.begin(), ops.end(), [&](OpId a, OpId b) {
      const Nanos start_a = in_.schedule.ops[a].start, start_b = in_.schedule.ops[b].start;
      return start_a != start_b ? start_a < start_b : a < b;
    });
    std::vector<Box> boxes;
    for (OpId op : ops) {
      const OpSpan& span = in_.schedule.ops[op];
      if (span.start == span.end) continue;
      const Phase phase = in_.graph.op(op).phase;
      const int32_t micro_batch = MicroBatchOf(in_.graph.op(op));
      const bool joins =
          !boxes.empty() && boxes.back().phase == phase &&
          boxes.back().micro_batch == micro_batch && X(span.start) - X(boxes.back().end) < kEye &&
          (X(span.end) - X(span.start) < 3 || X(boxes.back().end) - X(boxes.back().start) < 3);
      if (!joins) boxes.push_back({phase, micro_batch, span.start, span.end, 0, op, op});
      boxes.back().end = std::max(boxes.back().end, span.end);
      boxes.back().last = op;
      ++boxes.back().ops;
    }
    return boxes;
  }

  // Each pass of a micro-batch has its number, where there is room, and a gap before it.
  void NumberMicroBatches(const std::vector<Box>& boxes, double y, std::string& out) const {
    constexpr double kRoom = 14;
    for (size_t i = 0, end = 0; i < boxes.size(); i = end) {
      const Box& first = boxes[i];
      while (end < boxes.size() && boxes[end].phase == first.phase &&
             boxes[end].micro_batch == first.micro_batch) {
        ++end;
      }
      const double from = X(first.start), to = X(boxes[end - 1].end);
      if (first.micro_batch == 0 || to - from < kRoom) continue;
      Rectangle(out, from, y, 0.8, kOpLane, "#f3f3f3", "");
      Text(out, (from + to) / 2, y + kOpLane / 2 + 3, fmt::format("{}", first.micro_batch),
           "text-anchor=\"middle\" font-size=\"9\" style=\"fill:#fff\"");
    }
  }

  std::string TipOf(const Box& box) const {
    const Op& first = in_.graph.op(box.first);
    const std::string when =
        fmt::format("{} from {}", FormatNanos(box.end - box.start), FormatNanos(box.start));
    if (box.ops == 1) {
      return fmt::format("{} ({}) {}\n{}, {}", first.name, first.type,
                         in_.graph.module_path(first.module), ToString(box.phase), when);
    }
    return fmt::format("{}, {} to {}\n{}, {}", CountOf(box.ops, "op"), first.name,
                       in_.graph.op(box.last).name, ToString(box.phase), when);
  }

  // Of many devices those that do the same are one lane.
  std::vector<std::vector<DeviceId>> Lanes() const {
    if (in_.cluster.device_count() > kMaxLanesEach) {
      return FindAlikeDevices(in_.graph, in_.cluster, in_.placement, in_.schedule, in_.devices);
    }
    std::vector<std::vector<DeviceId>> lanes;
    for (const DeviceId device : in_.cluster.devices()) lanes.push_back({device});
    return lanes;
  }

  // The first of devices that do the same. The height it took: an idle device has no memory lane.
  double PaintDevice(const std::vector<DeviceId>& alike, double y, std::string& out) {
    const DeviceId device = alike.front();
    Text(out, kLeft - 8, y + 12, NamesOfDevices(alike, in_.cluster),
         "text-anchor=\"end\" font-weight=\"bold\"");
    std::string kind = in_.cluster.kind(device).name;
    if (alike.size() > 1) kind += fmt::format(" x {}", alike.size());
    Text(out, kLeft - 8, y + 25, kind, "text-anchor=\"end\" font-size=\"10\"");
    Rectangle(out, kLeft, y, kPlot, kOpLane, "#f3f3f3", "");
    const std::vector<Box> boxes = BoxesOf(device);
    for (const Box& box : boxes) {
      const double x = X(box.start);
      Rectangle(out, x, y, std::max(0.3, X(box.end) - x), kOpLane,
                kPhaseColor[static_cast<size_t>(box.phase)], TipOf(box));
    }
    NumberMicroBatches(boxes, y, out);
    const MemoryCurve& curve = in_.memory[device.index()];
    const bool holds = std::any_of(curve.begin(), curve.end(),
                                   [](const MemoryPoint& point) { return point.bytes.count > 0; });
    if (boxes.empty() && !holds) {
      Text(out, kLeft + 8, y + 17, "idle", "font-style=\"italic\"");
      return kOpLane;
    }
    memory_drawn_ = true;
    PaintMemory(device, y + kOpLane + 2, out);
    return kOpLane + kMemoryLane;
  }

  // One lane: its height is the device's whole memory, whatever is used of it. From below: runtime
  // context, workspace, tensors; what is more than the memory is cut off. On top: the reserve.
  void PaintMemory(DeviceId device, double y, std::string& out) {
    const Device& d = in_.cluster.device(device);
    const DeviceResult& result = in_.devices[device.index()];
    const double lane = kMemoryLane - 4, bottom = y + lane;
    const auto memory = static_cast<double>(std::max<int64_t>(1, (d.capacity + d.reserve).count));
    const auto height = [&](Bytes bytes) {
      return lane * std::min(1.0, static_cast<double>(bytes.count) / memory);
    };
    Rectangle(out, kLeft, y, kPlot, lane, kFree, "");
    const Bytes context = result.runtime_context, fixed = context + result.workspace;
    const bool over = result.over.count > 0;
    PaintCurve(device, bottom, fixed, height, over, out);
    const auto band = [&](Bytes from, Bytes to, const char* color, std::string_view name) {
      if (to <= from) return;
      Rectangle(out, kLeft, bottom - height(to), kPlot, height(to) - height(from), color,
                fmt::format("{}: {}", name, FormatBytes(to - from)));
      shown_.insert(color);
    };
    band(context, fixed, kWorkspace, "largest workspace of an op");
    band(Bytes(0), context, kContext, "runtime context");
    band(d.capacity, d.capacity + d.reserve, kReserve, "memory reserve");
    fmt::format_to(std::back_inserter(out),
                   "<line x1=\"{0:.1f}\" x2=\"{1:.1f}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" "
                   "stroke=\"{3}\" stroke-dasharray=\"4 3\"/>\n",
                   kLeft, kLeft + kPlot, bottom - height(d.capacity), over ? kOver : "#888888");
    const auto label = [&](double up, std::string_view text, std::string_view color) {
      Text(out, kLeft - 8, bottom - up, text,
           fmt::format("text-anchor=\"end\" font-size=\"10\"{}", color));
    };
    label(19, fmt::format("{} of {}", FormatBytes(result.peak), FormatBytes(d.capacity)), "");
    if (over) {
      label(7, fmt::format("{} too much", FormatBytes(result.over)),
            fmt::format(" style=\"fill:{}\"", kOver));
    } else if (d.reserve.count > 0) {
      label(7, fmt::format("+ {} reserve", FormatBytes(d.reserve)), "");
    }
  }

  // Tensors over time, on top of what is there all the time.
  template <class Height>
  void PaintCurve(DeviceId device, double bottom, Bytes fixed, const Height& height, bool over,
                  std::string& out) const {
    const MemoryCurve& curve = in_.memory[device.index()];
    // One column per pixel: the largest of the curve there.
    std::string path = fmt::format("M{:.1f} {:.1f}", kLeft, bottom);
    size_t next = 0;
    Bytes now;
    for (int column = 0; column < static_cast<int>(kPlot); ++column) {
      Bytes max = now;
      while (next < curve.size() && X(curve[next].time) < kLeft + column + 1) {
        now = curve[next++].bytes;
        max = std::max(max, now);
      }
      fmt::format_to(std::back_inserter(path), "L{:.0f} {:.1f}", kLeft + column,
                     bottom - height(Bytes(SaturatingAdd(fixed.count, max.count))));
    }
    fmt::format_to(std::back_inserter(path), "V{:.1f}Z", bottom);
    const DeviceResult& result = in_.devices[device.index()];
    fmt::format_to(std::back_inserter(out),
                   "<path d=\"{}\" fill=\"{}\"><title>tensors: at most {}; peak {} of {}</title>"
                   "</path>\n",
                   path, over ? "#f2b8b5" : kTensors, FormatBytes(result.tensor_peak),
                   FormatBytes(result.peak), FormatBytes(in_.cluster.device(device).capacity));
  }

  void PaintLinks(double& y, std::string& out) const {
    // A transfer is drawn on every link of its route.
    std::vector<std::vector<const TransferSpan*>> by_link(in_.cluster.link_count());
    std::vector<int64_t> busy(in_.cluster.link_count(), 0);
    for (const TransferSpan& span : in_.schedule.transfers) {
      for (LinkId link : in_.cluster.route(span.from, span.to).links) {
        by_link[link.index()].push_back(&span);
        busy[link.index()] += (span.end - span.start).count;
      }
    }
    std::vector<size_t> shown;
    for (size_t i = 0; i < by_link.size(); ++i) {
      if (!by_link[i].empty()) shown.push_back(i);
    }
    std::stable_sort(shown.begin(), shown.end(),
                     [&](size_t a, size_t b) { return busy[a] > busy[b]; });
    const size_t hidden = shown.size() > kMaxLinks ? shown.size() - kMaxLinks : 0;
    shown.resize(shown.size() - hidden);
    std::sort(shown.begin(), shown.end());
    for (size_t i : shown) {
      PaintLink(in_.cluster.link(LinkId(i)).name, by_link[i], y, out);
      y += kLinkLane + kLinkGap;
    }
    if (hidden > 0) {
      Text(
          out, kLeft, y + 8,
          fmt::format("and {} more that carry less", CountOf(static_cast<int64_t>(hidden), "link")),
          "font-size=\"10\"");
      y += kLinkLane + kLinkGap;
    }
  }

  // One lane for all, whatever links they hold.
  void PaintCollectives(double& y, std::string& out) const {
    std::vector<CollectiveSpan> spans(in_.schedule.collectives.begin(),
                                      in_.schedule.collectives.end());
    if (spans.empty()) return;
    Text(out, kLeft - 8, y + 8, "collectives", "text-anchor=\"end\" font-size=\"9\"");
    Rectangle(out, kLeft, y, kPlot, kLinkLane, "#f3f3f3", "");
    std::sort(spans.begin(), spans.end(),
              [](const CollectiveSpan& a, const CollectiveSpan& b) { return a.start < b.start; });
    for (size_t i = 0; i < spans.size();) {
      const Nanos start = spans[i].start;
      Nanos end = spans[i].end;
      size_t count = 1;
      for (; i + count < spans.size() && X(spans[i + count].start) - X(end) < kEye; ++count) {
        end = std::max(end, spans[i + count].end);
      }
      Rectangle(out, X(start), y, std::max(0.3, X(end) - X(start)), kLinkLane, kTransferColor,
                fmt::format("{}, {} from {}", CountOf(static_cast<int64_t>(count), "collective"),
                            FormatNanos(end - start), FormatNanos(start)));
      i += count;
    }
    y += kLinkLane + kLinkGap;
  }

  void PaintLink(const std::string& name, std::vector<const TransferSpan*> spans, double y,
                 std::string& out) const {
    Text(out, kLeft - 8, y + 8, name, "text-anchor=\"end\" font-size=\"9\"");
    Rectangle(out, kLeft, y, kPlot, kLinkLane, "#f3f3f3", "");
    std::sort(spans.begin(), spans.end(),
              [](const TransferSpan* a, const TransferSpan* b) { return a->start < b->start; });
    for (size_t i = 0; i < spans.size();) {
      const Nanos start = spans[i]->start;
      Nanos end = spans[i]->end;
      int64_t bytes = spans[i]->length.count;
      size_t count = 1;
      for (; i + count < spans.size() && X(spans[i + count]->start) - X(end) < kEye; ++count) {
        end = std::max(end, spans[i + count]->end);
        bytes = SaturatingAdd(bytes, spans[i + count]->length.count);
      }
      Rectangle(
          out, X(start), y, std::max(0.3, X(end) - X(start)), kLinkLane, kTransferColor,
          fmt::format("{}, {}, {} from {}", CountOf(static_cast<int64_t>(count), "transfer"),
                      FormatBytes(Bytes(bytes)), FormatNanos(end - start), FormatNanos(start)));
      i += count;
    }
  }

  void PaintAxis(double bottom, std::string& out) const {
    // About eight ticks at 1, 2 or 5 times a power of ten.
    int64_t step = 1;
    const int64_t aim = std::max<int64_t>(1, Span().count / 8);
    for (int64_t decade = 1; step < aim; decade *= 10) {
      for (int64_t factor : {1, 2, 5}) {
        if (step < aim) step = decade * factor;
      }
    }
    for (int64_t tick = 0; tick <= Span().count; tick += step) {
      const double x = X(Nanos(tick));
      fmt::format_to(std::back_inserter(out),
                     "<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1:.1f}\" y2=\"{2:.1f}\" "
                     "stroke=\"#bbbbbb\" stroke-width=\"0.5\"/>\n",
                     x, kHeader - 4, bottom + 4);
      Text(out, x, bottom + 18, tick == 0 ? "0" : FormatNanos(Nanos(tick)),
           "text-anchor=\"middle\" font-size=\"10\"");
      if (step <= 0) break;
    }
    if (in_.step_time < Span()) {
      fmt::format_to(std::back_inserter(out),
                     "<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1:.1f}\" y2=\"{2:.1f}\" "
                     "stroke=\"#222222\"><title>the step ends: {3}</title></line>\n",
                     X(in_.step_time), kHeader - 4, bottom + 4, FormatNanos(in_.step_time));
    }
    if (in_.lower_bound.count <= 0 || in_.lower_bound > in_.step_time) return;
    const double x = X(in_.lower_bound);
    fmt::format_to(std::back_inserter(out),
                   "<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1:.1f}\" y2=\"{2:.1f}\" "
                   "stroke=\"#c62828\" stroke-dasharray=\"6 3\"><title>bound: no {4} ends before "
                   "{3}</title></line>\n",
                   x, kHeader - 4, bottom + 4, FormatNanos(in_.lower_bound), in_.bound_of);
    Text(out, x, kHeader - 8, "lower bound", "text-anchor=\"middle\" font-size=\"10\"");
  }

  const TimelineInput& in_;
  bool memory_drawn_ = false;         // any lane
  std::set<std::string_view> shown_;  // colours of bands
};

}  // namespace

std::string EscapeXml(std::string_view text) {
  std::string out;
  for (char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&apos;"; break;
      default: out += static_cast<unsigned char>(c) < 0x20 && c != '\n' ? '?' : c;
    }
  }
  return out;
}

std::string RenderTimelineSvg(const TimelineInput& input) { return Painter(input).Paint(); }

std::string StackPictures(const std::vector<std::string>& pictures) {
  constexpr double kBetween = 12;
  double height = 0;
  std::string body;
  for (std::string picture : pictures) {
    // Definitions are those of the first picture, for all.
    if (height > 0) {
      const size_t at = picture.find(kDefinitions);
      if (at != std::string::npos) picture.erase(at, std::string_view(kDefinitions).size());
    }
    constexpr std::string_view kTag = "<svg ", kHeight = " height=\"";
    const size_t stated = picture.find(kHeight);
    picture.insert(kTag.size(), fmt::format("y=\"{:.0f}\" ", height));
    height +=
        kBetween + std::atof(picture.c_str() + picture.find(kHeight, stated) + kHeight.size());
    body += picture;
  }
  return fmt::format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
             "width=\"{0:.0f}\" height=\"{1:.0f}\">\n"
             "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
             kWidth, height) +
         body + "</svg>\n";
}

}  // namespace placewright
