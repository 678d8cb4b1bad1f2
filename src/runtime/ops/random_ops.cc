#include "runtime/ops/random_ops.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <torch/library.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "runtime/ops/philox.h"

namespace placewright {
namespace {

// The elements of a part as runs of the whole, row-major.
struct Runs {
  int64_t length = 0;          // of a run
  int64_t from = 0, step = 0;  // where the first run begins in the whole, and from one to the next

  int64_t IndexOf(int64_t element) const {
    return from + element / length * step + element % length;
  }
};

Runs RunsOf(const at::Tensor& part, at::IntArrayRef place) {
  const int64_t elements = std::max<int64_t>(part.numel(), 1);
  if (place.empty()) return {elements, 0, elements};
  TORCH_CHECK(place.size() == 5, "a place has five numbers");
  const int64_t dimension = place[0], outer = place[1], size = place[2], from = place[3],
                to = place[4];
  TORCH_CHECK(dimension >= 0 && dimension < part.dim() && outer > 0 && from >= 0 && from < to &&
                  to <= size && part.size(dimension) % (outer * (to - from)) == 0,
              "no place of a tensor of ", part.sizes());
  int64_t inner = part.size(dimension) / (outer * (to - from));
  for (int64_t d = dimension + 1; d < part.dim(); ++d) inner *= part.size(d);
  inner = std::max<int64_t>(inner, 1);
  return {(to - from) * inner, from * inner, size * inner};
}

struct Stream {
  uint64_t step, seed;
  uint32_t draw;

  PhiloxCounter Block(uint64_t block) const {
    return Philox({static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32), draw,
                   static_cast<uint32_t>(step)},
                  {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
  }
};

// True with probability p, of the shape of `like`, on the host.
at::Tensor DrawMask(const at::Tensor& like, const at::Tensor& step, int64_t seed, int64_t draw,
                    double p, at::IntArrayRef place) {
  TORCH_CHECK(p >= 0 && p <= 1, "a probability is expected, not ", p);
  const Runs runs = RunsOf(like, place);
  const Stream stream{static_cast<uint64_t>(step.item<int64_t>()), static_cast<uint64_t>(seed),
                      static_cast<uint32_t>(draw)};
  const auto below = static_cast<uint64_t>(std::llround(p * 4294967296.0));
  at::Tensor mask = at::empty(like.sizes(), at::TensorOptions().dtype(at::kBool));
  bool* const out = mask.data_ptr<bool>();
  at::parallel_for(0, mask.numel(), 1 << 14, [&](int64_t begin, int64_t end) {
    PhiloxCounter words{};
    uint64_t held = ~uint64_t{0};
    for (int64_t i = begin; i < end; ++i) {
      const auto index = static_cast<uint64_t>(runs.IndexOf(i));
      if (index / 4 != held) {
        held = index / 4;
        words = stream.Block(held);
      }
      out[i] = words[index % 4] < below;
    }
  });
  return mask;
}

at::Tensor& CounterBernoulli(at::Tensor& self, const at::Tensor& step, int64_t seed, int64_t draw,
                             double p, at::IntArrayRef place) {
  return self.copy_(DrawMask(self, step, seed, draw, p, place));
}

std::tuple<at::Tensor, at::Tensor> CounterDropout(const at::Tensor& x, const at::Tensor& step,
                                                  int64_t seed, int64_t draw, double p,
                                                  at::IntArrayRef place) {
  const at::Tensor mask = DrawMask(x, step, seed, draw, 1 - p, place).to(x.device());
  const double scale = p == 1 ? 0 : 1 / (1 - p);
  return {x.mul(mask).mul_(scale), mask};
}

}  // namespace

void RegisterRandomOps() {
  static const auto* const registered = [] {
    auto* const library = new torch::Library(torch::Library::FRAGMENT, "placewright", c10::nullopt,
                                             __FILE__, __LINE__);
    library->def(
        "counter_bernoulli_(Tensor(a!) self, Tensor step, int seed, int draw, float p, int[] place)"
        " -> Tensor(a!)");
    library->def(
        "counter_dropout(Tensor x, Tensor step, int seed, int draw, float p, int[] place)"
        " -> (Tensor, Tensor)");
    auto* const kernels =
        new torch::Library(torch::Library::IMPL, "placewright",
                           c10::DispatchKey::CompositeExplicitAutograd, __FILE__, __LINE__);
    kernels->impl("counter_bernoulli_", CounterBernoulli);
    kernels->impl("counter_dropout", CounterDropout);
    return library;
  }();
  (void)registered;
}

}  // namespace placewright
