#include "graph/batch/batch_product.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>

#include "base/units.h"

namespace placewright {
namespace {

using Wide = __int128;

constexpr int64_t kLargestExactInteger = int64_t{1} << 53;  // below, every integer is a double
constexpr Wide kLargestParts = Wide{1} << 52;  // of a fraction that stands for a real number
constexpr size_t kMaxTerms = 8;
constexpr double kTolerance = 2 * std::numeric_limits<double>::epsilon();

std::optional<Wide> Times(Wide a, Wide b) {
  Wide product = 0;
  // Below 2^126, so that sums and negatives of such products are numbers, too.
  const bool overflows = __builtin_mul_overflow(a, b, &product);
  constexpr Wide kMax = Wide{1} << 126;
  if (overflows || product > kMax || product < -kMax) return std::nullopt;
  return product;
}

Wide Magnitude(Wide a) { return a < 0 ? -a : a; }

Wide CommonDivisor(Wide a, Wide b) {
  a = Magnitude(a);
  b = Magnitude(b);
  while (b != 0) {
    const Wide rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

// In lowest terms; bottom > 0.
struct Fraction {
  Wide top = 0, bottom = 1;
};

std::optional<Fraction> Reduced(std::optional<Wide> top, std::optional<Wide> bottom) {
  if (!top || !bottom || *bottom == 0) return std::nullopt;
  const Wide divisor = CommonDivisor(*top, *bottom) * (*bottom < 0 ? -1 : 1);
  return Fraction{*top / divisor, *bottom / divisor};
}

std::optional<Fraction> Times(const Fraction& a, const Fraction& b) {
  // Crosswise first, so that products stay small.
  const auto left = Reduced(a.top, b.bottom), right = Reduced(b.top, a.bottom);
  if (!left || !right) return std::nullopt;
  return Reduced(Times(left->top, right->top), Times(left->bottom, right->bottom));
}

std::optional<Fraction> Over(const Fraction& a, const Fraction& b) {
  if (b.top == 0) return std::nullopt;
  return Times(a, b.top > 0 ? Fraction{b.bottom, b.top} : Fraction{-b.bottom, -b.top});
}

bool IsRational(const BatchProduct& product) {
  return std::all_of(product.begin(), product.end(),
                     [](const BatchTerm& term) { return term.halves % 2 == 0; });
}

// 0 where it is not positive, or out of range: |a| and |b| are below 2^60.
Wide TermAt(const BatchTerm& term, int64_t size) {
  const Wide value = static_cast<Wide>(term.a) * size + term.b;
  return value > 0 ? value : 0;
}

bool IsPositive(const BatchProduct& product, int64_t size) {
  return std::all_of(product.begin(), product.end(),
                     [size](const BatchTerm& term) { return TermAt(term, size) > 0; });
}

// value * f(size)^sign, of a rational product.
std::optional<Fraction> Scaled(std::optional<Fraction> value, const BatchProduct& product,
                               int64_t size, bool inverse) {
  for (const BatchTerm& term : product) {
    const Fraction factor{TermAt(term, size), 1};
    if (factor.top == 0) return std::nullopt;
    for (int32_t power = std::abs(term.halves) / 2; power > 0 && value; --power) {
      value = (term.halves > 0) != inverse ? Times(*value, factor) : Over(*value, factor);
    }
  }
  return value;
}

std::optional<Fraction> Rescaled(std::optional<Fraction> value, const BatchProduct& product,
                                 int64_t from, int64_t to) {
  if (!IsRational(product)) return std::nullopt;
  return Scaled(Scaled(std::move(value), product, from, true), product, to, false);
}

// The first convergent of |value|'s continued fraction that stands for it: the nearest real number
// to it is |value|, or is within the tolerance, of a number that has been rounded twice.
std::optional<Fraction> FractionOf(double value, double tolerance) {
  const double magnitude = std::abs(value);
  constexpr double kMax = static_cast<double>(kLargestExactInteger);
  if (!(magnitude < kMax && magnitude > 1 / kMax)) return std::nullopt;
  int exponent = 0;
  const double digits = std::frexp(magnitude, &exponent);  // [0.5, 1)
  exponent -= 53;                                          // -106 to 0
  Wide top = static_cast<int64_t>(std::ldexp(digits, 53)), bottom = Wide{1} << -exponent;
  Wide p = 0, q = 1, next_p = 1, next_q = 0;
  while (bottom != 0) {
    const Wide whole = top / bottom;
    std::tie(p, q, next_p, next_q) =
        std::tuple(next_p, next_q, whole * next_p + p, whole * next_q + q);
    if (next_p >= kLargestParts || next_q >= kLargestParts || next_p * next_q >= kLargestParts) {
      return std::nullopt;
    }
    const double found = static_cast<double>(next_p) / static_cast<double>(next_q);
    if (std::abs(found - magnitude) <= tolerance * magnitude) {
      return Fraction{value < 0 ? -next_p : next_p, next_q};
    }
    std::tie(top, bottom) = std::tuple(bottom, top % bottom);
  }
  return std::nullopt;
}

std::optional<Wide> RootOf(Wide square) {
  Wide low = 0, high = Wide{1} << 60;
  while (low < high) {
    const Wide middle = (low + high + 1) / 2;
    if (middle * middle <= square) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low * low == square ? std::optional<Wide>(low) : std::nullopt;
}

// |b / a| first, then b / a.
bool ComesBefore(const BatchTerm& one, const BatchTerm& other) {
  const Wide left = static_cast<Wide>(one.b) * other.a, right = static_cast<Wide>(other.b) * one.a;
  return Magnitude(left) != Magnitude(right) ? Magnitude(left) < Magnitude(right) : left < right;
}

BatchProduct Canonical(const BatchProduct& terms) {
  BatchProduct product;
  for (const BatchTerm& term : terms) {
    const auto same = std::find_if(product.begin(), product.end(), [&](const BatchTerm& other) {
      return other.a == term.a && other.b == term.b;
    });
    if (same == product.end()) {
      product.push_back(term);
    } else {
      same->halves += term.halves;
    }
  }
  std::erase_if(product, [](const BatchTerm& term) { return term.halves == 0; });
  std::sort(product.begin(), product.end(), ComesBefore);
  return product;
}

// What stands beside the term that two numbers leave open: products of powers of N and N - 1 up to
// the second degree, the simplest first, and 1.
constexpr std::string_view kKnown[] = {
    "N",           "(N-1)",   "1/(N-1)",       "1/N",   "N*N",     "N*(N-1)",
    "(N-1)*(N-1)", "N/(N-1)", "1/(N-1)/(N-1)", "1/N/N", "(N-1)/N", "1/N/(N-1)"};
constexpr std::string_view kRoots[] = {
    "sqrt(N)",           "sqrt(N-1)",         "1/sqrt(N-1)",       "1/sqrt(N)",
    "sqrt(N)*sqrt(N-1)", "sqrt(N)/sqrt(N-1)", "sqrt(N-1)/sqrt(N)", "1/sqrt(N)/sqrt(N-1)"};

// Of the second degree or more, without a divisor.
bool IsOfPairs(const BatchProduct& product) {
  int32_t halves = 0;
  for (const BatchTerm& term : product) {
    if (term.halves < 0) return false;
    halves += term.halves;
  }
  return halves >= 4;
}

// The term of which the values are proportional to the power at the first two sizes.
std::optional<BatchTerm> TermThrough(const std::array<Fraction, 3>& values,
                                     const std::array<int64_t, 3>& sizes, int32_t power) {
  std::optional<Fraction> ratio =
      power > 0 ? Over(values[1], values[0]) : Over(values[0], values[1]);
  if (!ratio || ratio->top <= 0) return std::nullopt;
  if (std::abs(power) == 2) {
    ratio = Reduced(RootOf(ratio->top), RootOf(ratio->bottom));
    if (!ratio) return std::nullopt;
  }
  const std::optional<Wide> left = Times(ratio->bottom, sizes[1]);
  const std::optional<Wide> right = Times(ratio->top, sizes[0]);
  if (!left || !right) return std::nullopt;
  const auto offset = Reduced(*left - *right, ratio->top - ratio->bottom);  // both are positive
  if (!offset || offset->bottom > kMaxQuantity || Magnitude(offset->top) > kMaxQuantity) {
    return std::nullopt;
  }
  const BatchTerm term{static_cast<int64_t>(offset->bottom), static_cast<int64_t>(offset->top),
                       2 * power};
  const bool positive =
      std::all_of(sizes.begin(), sizes.end(), [&](int64_t size) { return TermAt(term, size) > 0; });
  return positive ? std::optional<BatchTerm>(term) : std::nullopt;
}

// Of a number one by an integer, so that rounded integers below a 1 are not taken for a law: divisors alone, which are N
// and N - 1, or all of the integer, as N (2 N - 1) of 2 N (2 N - 1).
bool IsReciprocal(const BatchProduct& product, const Fraction& value, int64_t size) {
  bool natural = true, roots = false, has_batch = false;
  for (const BatchTerm& term : product) {
    if (term.halves > 0) return false;
    natural = natural && term.a == 1 && (term.b == 0 || term.b == -1);
    roots = roots || term.halves % 2 != 0;
    has_batch = has_batch || (term.a == 1 && term.b == 0);
  }
  if (natural) return true;
  if (roots) return false;
  const std::optional<Fraction> rest = Scaled(value, product, size, true);
  if (!rest || Magnitude(rest->top) != 1) return false;
  return rest->bottom == 1 ||
         (has_batch && std::any_of(product.begin(), product.end(),
                                   [&](const BatchTerm& term) { return rest->bottom == term.a; }));
}

// `gives(product)`: whether the product takes the first number to the others; `of_pairs`: IsOfPairs alone.
template <class Gives>
std::optional<BatchProduct> Find(const std::optional<std::array<Fraction, 3>>& values,
                                 const std::array<int64_t, 3>& sizes, bool of_pairs,
                                 const Gives& any) {
  const bool reciprocals =
      values && !of_pairs && std::all_of(values->begin(), values->end(), [](const Fraction& value) {
        return Magnitude(value.top) == 1;
      });
  const auto gives = [&](const BatchProduct& product) {
    return (!of_pairs || IsOfPairs(product)) &&
           (!reciprocals || IsReciprocal(product, (*values)[0], sizes[0])) && any(product);
  };
  std::vector<BatchProduct> besides = {{}};
  for (const std::string_view text : kKnown) {
    BatchProduct known = *ParseBatchProduct(text);
    if (gives(known)) return known;
    besides.push_back(std::move(known));
  }
  for (const std::string_view text : kRoots) {
    BatchProduct roots = *ParseBatchProduct(text);
    if (gives(roots)) return roots;
  }
  if (!values) return std::nullopt;
  for (const BatchProduct& beside : besides) {
    for (const int32_t power : {1, -1, 2, -2}) {
      if (std::abs(power) == 2 && !beside.empty()) continue;
      std::array<Fraction, 3> rest;
      bool fits = true;
      for (size_t i = 0; i < 3 && fits; ++i) {
        const auto divided = Scaled((*values)[i], beside, sizes[i], true);
        fits = divided.has_value();
        if (fits) rest[i] = *divided;
      }
      if (!fits) continue;
      const std::optional<BatchTerm> term = TermThrough(rest, sizes, power);
      if (!term) continue;
      BatchProduct product = beside;
      product.push_back(*term);
      product = Canonical(product);
      if (!product.empty() && gives(product)) return product;
    }
  }
  return std::nullopt;
}

// The nearest real number, if numerator and denominator are real numbers.
std::optional<double> RealOf(const std::optional<Fraction>& value) {
  if (!value || Magnitude(value->top) > kLargestExactInteger ||
      value->bottom > kLargestExactInteger) {
    return std::nullopt;
  }
  return static_cast<double>(value->top) / static_cast<double>(value->bottom);
}

// Of a number that is the root of a fraction, by a product with roots: its square is scaled.
std::optional<double> RootAt(double value, BatchProduct product, int64_t from, int64_t to) {
  const std::optional<Fraction> square = FractionOf(value * value, kTolerance);
  const std::optional<double> real = RealOf(square);
  if (!real || std::sqrt(*real) != std::abs(value)) return std::nullopt;
  for (BatchTerm& term : product) term.halves *= 2;
  const std::optional<double> scaled = RealOf(Rescaled(square, product, from, to));
  if (!scaled) return std::nullopt;
  return std::copysign(std::sqrt(*scaled), value);
}

bool TakeText(std::string_view& text, std::string_view start) {
  if (!text.starts_with(start)) return false;
  text.remove_prefix(start.size());
  return true;
}

std::optional<int64_t> TakeInteger(std::string_view& text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number > kMaxQuantity || number < -kMaxQuantity) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return number;
}

// "N", "(N-1)", "(3*N-1)"; in a root "(N)", too.
std::optional<BatchTerm> TakeTerm(std::string_view& text, bool root) {
  BatchTerm term;
  if (!root && TakeText(text, "N")) return term;
  if (!TakeText(text, "(")) return std::nullopt;
  if (!text.starts_with('N')) {
    const std::optional<int64_t> a = TakeInteger(text);
    if (!a || *a < 1 || !TakeText(text, "*")) return std::nullopt;
    term.a = *a;
  }
  if (!TakeText(text, "N")) return std::nullopt;
  if (text.starts_with('+') || text.starts_with('-')) {
    if (text.starts_with('+')) {
      text.remove_prefix(1);
      if (text.starts_with('-')) return std::nullopt;
    }
    const std::optional<int64_t> b = TakeInteger(text);
    if (!b) return std::nullopt;
    term.b = *b;
  }
  if (!TakeText(text, ")") || std::gcd(term.a, term.b) != 1) return std::nullopt;
  return term;
}

}  // namespace

std::string ToText(const BatchProduct& product) {
  std::string text;
  for (const bool divisor : {false, true}) {
    for (const BatchTerm& term : product) {
      const int32_t halves = divisor ? -term.halves : term.halves;
      if (halves <= 0) continue;
      const std::string inner = (term.a == 1 ? "N" : fmt::format("{}*N", term.a)) +
                                (term.b == 0 ? "" : fmt::format("{:+}", term.b));
      const std::string factor = inner == "N" ? inner : "(" + inner + ")";
      for (int32_t i = 0; i < (halves + 1) / 2; ++i) {
        if (!text.empty() || divisor) text += divisor ? (text.empty() ? "1/" : "/") : "*";
        text += i < halves / 2 ? factor : "sqrt(" + inner + ")";
      }
    }
  }
  return text;
}

std::optional<BatchProduct> ParseBatchProduct(std::string_view text) {
  BatchProduct terms;
  bool divisor = TakeText(text, "1/");
  while (terms.size() < kMaxTerms) {
    const bool root = TakeText(text, "sqrt");
    std::optional<BatchTerm> term = TakeTerm(text, root);
    if (!term) return std::nullopt;
    term->halves = (root ? 1 : 2) * (divisor ? -1 : 1);
    terms.push_back(*term);
    if (text.empty()) {
      BatchProduct product = Canonical(terms);
      return product.empty() ? std::nullopt : std::optional<BatchProduct>(std::move(product));
    }
    divisor = TakeText(text, "/");
    if (!divisor && !TakeText(text, "*")) return std::nullopt;
  }
  return std::nullopt;
}

std::optional<int64_t> IntegerAt(int64_t value, const BatchProduct& product, int64_t from,
                                 int64_t to) {
  if (!IsPositive(product, from) || !IsPositive(product, to)) return std::nullopt;
  const std::optional<Fraction> scaled = Rescaled(Fraction{value, 1}, product, from, to);
  constexpr Wide kMax = std::numeric_limits<int64_t>::max();
  if (!scaled || scaled->bottom != 1 || Magnitude(scaled->top) > kMax) return std::nullopt;
  return static_cast<int64_t>(scaled->top);
}

std::optional<double> RealAt(double value, const BatchProduct& product, int64_t from, int64_t to) {
  if (!IsPositive(product, from) || !IsPositive(product, to)) return std::nullopt;
  const std::optional<double> exact =
      IsRational(product) ? RealOf(Rescaled(FractionOf(value, 0), product, from, to))
                          : RootAt(value, product, from, to);
  if (exact) return exact;
  for (const BatchTerm& term : product) {
    const double ratio =
        static_cast<double>(TermAt(term, to)) / static_cast<double>(TermAt(term, from));
    double power = term.halves % 2 != 0 ? std::sqrt(ratio) : 1.0;
    for (int32_t i = std::abs(term.halves) / 2; i > 0; --i) power *= ratio;
    value = term.halves > 0 ? value * power : value / power;
  }
  constexpr double kMax = std::numeric_limits<double>::max();
  if (!(value >= -kMax && value <= kMax)) return std::nullopt;
  return value;
}

std::optional<BatchProduct> ProductThrough(const std::array<int64_t, 3>& values,
                                           const std::array<int64_t, 3>& sizes) {
  if (std::any_of(values.begin(), values.end(), [](int64_t value) { return value == 0; })) {
    return std::nullopt;
  }
  const auto gives = [&](const BatchProduct& product) {
    return IntegerAt(values[0], product, sizes[0], sizes[1]) == values[1] &&
           IntegerAt(values[0], product, sizes[0], sizes[2]) == values[2];
  };
  const std::array<Fraction, 3> parts = {Fraction{values[0], 1}, {values[1], 1}, {values[2], 1}};
  return Find(parts, sizes, /*of_pairs=*/true, gives);
}

std::optional<BatchProduct> ProductThrough(const std::array<double, 3>& values,
                                           const std::array<int64_t, 3>& sizes) {
  std::array<Fraction, 3> parts;
  bool fractions = true, whole = true;
  for (size_t i = 0; i < 3; ++i) {
    if (!std::isfinite(values[i]) || values[i] == 0) return std::nullopt;
    const std::optional<Fraction> part = FractionOf(values[i], kTolerance);
    fractions = fractions && part;
    whole = whole && std::trunc(values[i]) == values[i];
    if (part) parts[i] = *part;
  }
  const auto gives = [&](const BatchProduct& product) {
    for (size_t i = 1; i < 3; ++i) {
      const std::optional<double> found = RealAt(values[0], product, sizes[0], sizes[i]);
      if (!found || std::abs(*found - values[i]) > kTolerance * std::abs(values[i])) return false;
    }
    return true;
  };
  for (const std::string_view text : {"N", "1/N"}) {
    BatchProduct simple = *ParseBatchProduct(text);
    if (gives(simple)) return simple;
  }
  return Find(fractions ? std::optional(parts) : std::nullopt, sizes, /*of_pairs=*/whole, gives);
}

}  // namespace placewright
