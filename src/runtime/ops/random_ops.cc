#include "runtime/ops/random_ops.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <torch/library.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "runtime/ops/philox.h"

namespace placewright {
namespace {

// The elements of a part, row-major, in the whole: an index is a number of these digits, the first counts the most.
struct Digit {
  int64_t length = 1;           // of the part: [from, from + length)
  int64_t whole = 1, from = 0;  // of [0, whole)
};

class Places {
 public:
  // `place`: of each axis that is cut dimension, outer, size, from and to, as they are in the whole; none: it is whole.
  Places(const at::Tensor& part, at::IntArrayRef place) {
    TORCH_CHECK(place.size() % 5 == 0, "a place has five numbers for each axis");
    for (int64_t dimension = 0; dimension < part.dim(); ++dimension) {
      std::vector<std::array<int64_t, 4>> cuts;
      for (size_t i = 0; i < place.size(); i += 5) {
        TORCH_CHECK(place[i] >= 0 && place[i] < part.dim(), "no place of a tensor of ",
                    part.sizes());
        if (place[i] != dimension) continue;
        cuts.push_back({place[i + 1], place[i + 2], place[i + 3], place[i + 4]});
      }
      std::sort(cuts.begin(), cuts.end());
      int64_t left = part.size(dimension), outer = 1;
      for (const auto& [before, size, from, to] : cuts) {
        const bool fits = before > 0 && before % outer == 0 && from >= 0 && from < to &&
                          to <= size && left % (before / outer * (to - from)) == 0;
        TORCH_CHECK(fits, "no place of a tensor of ", part.sizes());
        Add({before / outer, before / outer, 0});
        Add({to - from, size, from});
        left /= before / outer * (to - from);
        outer = before * size;
      }
      Add({std::max<int64_t>(left, 1), std::max<int64_t>(left, 1), 0});
    }
  }

  int64_t IndexOf(int64_t element) const {
    int64_t index = 0, unit = 1;
    for (auto digit = digits_.rbegin(); digit != digits_.rend(); ++digit) {
      index += (element % digit->length + digit->from) * unit;
      element /= digit->length;
      unit *= digit->whole;
    }
    return index;
  }

 private:
  // All of what comes behind makes one digit with what stands there.
  void Add(const Digit& digit) {
    const bool all = digit.length == digit.whole;
    if (!all || digits_.empty()) {
      digits_.push_back(digit);
      return;
    }
    Digit& last = digits_.back();
    last = {last.length * digit.whole, last.whole * digit.whole, last.from * digit.whole};
  }

  std::vector<Digit> digits_;
};

struct Stream {
  uint64_t step, seed;
  uint32_t draw;

  PhiloxCounter Block(uint64_t block) const {
    return Philox({static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32), draw,
                   static_cast<uint32_t>(step)},
                  {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
  }
};

// What is drawn of one element: of that many words of Philox.
template <int kWords, class Number, class Draw>
void ForEach(at::Tensor& made, const Places& places, const Stream& stream, const Draw& draw) {
  constexpr uint64_t kOfBlock = 4 / kWords;
  Number* const out = made.data_ptr<Number>();
  at::parallel_for(0, made.numel(), 1 << 14, [&](int64_t begin, int64_t end) {
    PhiloxCounter words{};
    uint64_t held = ~uint64_t{0};
    for (int64_t i = begin; i < end; ++i) {
      const auto index = static_cast<uint64_t>(places.IndexOf(i));
      if (index / kOfBlock != held) {
        held = index / kOfBlock;
        words = stream.Block(held);
      }
      out[i] = draw(&words[index % kOfBlock * kWords], i);
    }
  });
}

Stream StreamOf(const at::Tensor& step, int64_t seed, int64_t draw) {
  return {static_cast<uint64_t>(step.item<int64_t>()), static_cast<uint64_t>(seed),
          static_cast<uint32_t>(draw)};
}

// The words below which a draw of probability p is 1.
uint64_t Below(double p) {
  TORCH_CHECK(p >= 0 && p <= 1, "a probability is expected, not ", p);
  return static_cast<uint64_t>(std::llround(p * 4294967296.0));
}

// True with probability p, of the shape of `like`, on the host.
at::Tensor DrawMask(const at::Tensor& like, const at::Tensor& step, int64_t seed, int64_t draw,
                    double p, at::IntArrayRef place) {
  const uint64_t below = Below(p);
  at::Tensor mask = at::empty(like.sizes(), at::TensorOptions().dtype(at::kBool));
  ForEach<1, bool>(mask, Places(like, place), StreamOf(step, seed, draw),
                   [&](const uint32_t* words, int64_t) { return *words < below; });
  return mask;
}

// In (0, 1).
double Between(uint32_t word) { return (word + 0.5) / 4294967296.0; }

// In [0, 1) as many digits as a type has, at most 24, so that none is rounded up to 1.
double UniformOf(uint32_t word, int digits) {
  return std::ldexp(static_cast<double>(word >> (32 - digits)), -digits);
}

int DigitsOf(at::ScalarType type) {
  return type == at::kHalf ? 11 : type == at::kBFloat16 ? 8 : 24;
}

double Normal(const uint32_t* words) {
  constexpr double kTurn = 6.283185307179586;
  return std::sqrt(-2 * std::log(Between(words[0]))) * std::cos(kTurn * (words[1] / 4294967296.0));
}

// Overwrites `made`, which has any type, with numbers that are drawn on the host in double precision.
void DrawInto(at::Tensor& made, const at::Tensor& step, int64_t seed, int64_t draw,
              std::string_view distribution, double a, double b, at::IntArrayRef place) {
  at::Tensor numbers = at::empty(made.sizes(), at::TensorOptions().dtype(at::kDouble));
  const Places places(made, place);
  const Stream stream = StreamOf(step, seed, draw);
  const auto one = [&](const auto& of) {
    ForEach<1, double>(numbers, places, stream,
                       [&](const uint32_t* word, int64_t) { return of(*word); });
  };
  const auto two = [&](const auto& of) {
    ForEach<2, double>(numbers, places, stream,
                       [&](const uint32_t* words, int64_t) { return of(words); });
  };
  if (distribution == "uniform") {
    const int digits = DigitsOf(made.scalar_type());
    one([&](uint32_t word) { return a + (b - a) * UniformOf(word, digits); });
  } else if (distribution == "exponential") {
    one([&](uint32_t word) { return -std::log(Between(word)) / a; });
  } else if (distribution == "cauchy") {
    constexpr double kHalfTurn = 3.141592653589793;
    one([&](uint32_t word) { return a + b * std::tan(kHalfTurn * (Between(word) - 0.5)); });
  } else if (distribution == "geometric") {
    one([&](uint32_t word) {
      return std::max(1.0, std::ceil(std::log(Between(word)) / std::log1p(-a)));
    });
  } else if (distribution == "normal") {
    two([&](const uint32_t* words) { return a + b * Normal(words); });
  } else if (distribution == "log_normal") {
    two([&](const uint32_t* words) { return std::exp(a + b * Normal(words)); });
  } else if (distribution == "integers") {
    TORCH_CHECK(a < b, "no integers are between ", a, " and ", b);
    const auto range = static_cast<unsigned __int128>(b - a);
    two([&](const uint32_t* words) {
      const uint64_t word = uint64_t{words[0]} << 32 | words[1];
      return a + static_cast<double>(static_cast<uint64_t>(word * range >> 64));
    });
  } else {
    TORCH_CHECK(false, "no distribution is called ", std::string(distribution));
  }
  made.copy_(numbers);
}

// torch::Library takes no std::string_view in all versions.
std::string_view DistributionOf(c10::string_view text) { return {text.data(), text.size()}; }

at::Tensor& CounterDraw(at::Tensor& self, const at::Tensor& step, int64_t seed, int64_t draw,
                        c10::string_view distribution, double a, double b, at::IntArrayRef place) {
  DrawInto(self, step, seed, draw, DistributionOf(distribution), a, b, place);
  return self;
}

at::Tensor CounterDrawLike(const at::Tensor& x, const at::Tensor& step, int64_t seed, int64_t draw,
                           c10::string_view distribution, double a, double b, at::IntArrayRef place,
                           c10::optional<at::ScalarType> dtype, c10::optional<at::Layout>,
                           c10::optional<at::Device>, c10::optional<bool>,
                           c10::optional<at::MemoryFormat> format) {
  at::Tensor made = at::empty_like(x, x.options().dtype(dtype.value_or(x.scalar_type())), format);
  DrawInto(made, step, seed, draw, DistributionOf(distribution), a, b, place);
  return made;
}

at::Tensor CounterDrawNew(at::IntArrayRef size, const at::Tensor& step, int64_t seed, int64_t draw,
                          c10::string_view distribution, double a, double b, at::IntArrayRef place,
                          c10::optional<at::ScalarType> dtype, c10::optional<at::Layout>,
                          c10::optional<at::Device> device, c10::optional<bool>) {
  const bool integers = DistributionOf(distribution) == "integers";
  const at::ScalarType otherwise = integers ? at::kLong : c10::get_default_dtype_as_scalartype();
  at::Tensor made = at::empty(
      size,
      at::TensorOptions().dtype(dtype.value_or(otherwise)).device(device.value_or(step.device())));
  DrawInto(made, step, seed, draw, DistributionOf(distribution), a, b, place);
  return made;
}

// 1 with the probability that p has there.
at::Tensor CounterBernoulliOf(const at::Tensor& p, const at::Tensor& step, int64_t seed,
                              int64_t draw, at::IntArrayRef place) {
  const at::Tensor given = p.to(at::kCPU, at::kDouble).contiguous();
  const double* const probability = given.data_ptr<double>();
  at::Tensor mask = at::empty(p.sizes(), at::TensorOptions().dtype(at::kBool));
  ForEach<1, bool>(mask, Places(p, place), StreamOf(step, seed, draw),
                   [&](const uint32_t* word, int64_t i) { return *word < Below(probability[i]); });
  return at::empty_like(p).copy_(mask);
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
    const std::string numbers =
        "Tensor step, int seed, int draw, str distribution, float first, "
        "float second, int[] place";
    const std::string options =
        "*, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
        "pin_memory=None";
    const auto define = [&](const std::string& schema) { library->def(schema.c_str()); };
    define("counter_draw_(Tensor(a!) self, " + numbers + ") -> Tensor(a!)");
    define("counter_draw_like(Tensor x, " + numbers + ", " + options +
           ", MemoryFormat? memory_format=None) -> Tensor");
    define("counter_draw_new(int[] size, " + numbers + ", " + options + ") -> Tensor");
    library->def(
        "counter_bernoulli_of(Tensor p, Tensor step, int seed, int draw, int[] place) -> Tensor");
    auto* const kernels =
        new torch::Library(torch::Library::IMPL, "placewright",
                           c10::DispatchKey::CompositeExplicitAutograd, __FILE__, __LINE__);
    kernels->impl("counter_bernoulli_", CounterBernoulli);
    kernels->impl("counter_dropout", CounterDropout);
    kernels->impl("counter_draw_", CounterDraw);
    kernels->impl("counter_draw_like", CounterDrawLike);
    kernels->impl("counter_draw_new", CounterDrawNew);
    kernels->impl("counter_bernoulli_of", CounterBernoulliOf);
    return library;
  }();
  (void)registered;
}

}  // namespace placewright
