#include "capture/onnx/operators/window.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>

namespace placewright::lowering {
namespace {

constexpr int64_t kMaxSize = int64_t{1} << 31;

Ints ReadList(const NodeCall& call, const char* name, size_t rank, int64_t otherwise) {
  Ints list = call.IntList(name).value_or(Ints(rank, otherwise));
  if (list.size() != rank) {
    call.Invalid(fmt::format("{} has {} items for {} dimensions", name, list.size(), rank));
  }
  for (const int64_t item : list) {
    if (item < 1 || item >= kMaxSize) call.Invalid(fmt::format("{} has the item {}", name, item));
  }
  return list;
}

// As many outputs as the stride lets fit, the padding shared between both sides.
void PadSame(const at::Tensor& input, bool upper, Window* window) {
  for (size_t d = 0; d < window->rank(); ++d) {
    const int64_t in = input.size(static_cast<int64_t>(d) + 2);
    const int64_t out = (in + window->stride[d] - 1) / window->stride[d];
    const int64_t total =
        std::max<int64_t>(0, (out - 1) * window->stride[d] + window->CandidateScope(d) - in);
    window->begin[d] = upper ? total / 2 : total - total / 2;
    window->end[d] = total - window->begin[d];
  }
}

}  // namespace

bool Window::Symmetric() const {
  return begin == end && std::all_of(begin.begin(), begin.end(), [](int64_t p) { return p >= 0; });
}

Window ReadWindow(const NodeCall& call, const at::Tensor& input, std::optional<Ints> kernel) {
  if (input.dim() < 3) call.Invalid(fmt::format("an input of {} dimensions", input.dim()));
  const auto rank = static_cast<size_t>(input.dim() - 2);
  Window window;
  window.kernel = kernel ? *kernel : ReadList(call, "kernel_shape", rank, 0);
  window.stride = ReadList(call, "strides", rank, 1);
  window.dilation = ReadList(call, "dilations", rank, 1);
  window.begin.assign(rank, 0);
  window.end.assign(rank, 0);
  const std::string mode = call.Text("auto_pad", "NOTSET");
  if (mode == "SAME_UPPER" || mode == "SAME_LOWER") {
    PadSame(input, mode == "SAME_UPPER", &window);
  } else if (mode == "NOTSET" || mode.empty()) {
    const Ints pads = call.IntList("pads").value_or(Ints(2 * rank, 0));
    if (pads.size() != 2 * rank) call.Invalid("pads has not two items for each dimension");
    for (size_t d = 0; d < rank; ++d) {
      window.begin[d] = pads[d];
      window.end[d] = pads[d + rank];
      if (std::max(std::abs(pads[d]), std::abs(pads[d + rank])) >= kMaxSize) {
        call.Invalid("pads has an item of 2^31 or more");
      }
    }
  } else if (mode != "VALID") {
    call.Invalid("auto_pad \"" + mode + "\"");
  }
  return window;
}

at::Tensor PadSpatial(const at::Tensor& input, const Ints& begin, const Ints& end, double value) {
  Ints pads;  // the last dimension first
  for (size_t d = begin.size(); d-- > 0;) {
    pads.push_back(begin[d]);
    pads.push_back(end[d]);
  }
  if (std::all_of(pads.begin(), pads.end(), [](int64_t p) { return p == 0; })) return input;
  return at::constant_pad_nd(input, pads, value);
}

}  // namespace placewright::lowering
