// The whole of a Transformer-XL placer by the formulas of its header, in loops over numbers; its other
// tests are in independent_test.cc.
#include "learn/placer/transformer_xl.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "learn/nn/gradient_check.h"

namespace placewright {
namespace {

using Vector = std::vector<double>;
using Vectors = std::vector<Vector>;  // [unit]

class PlacerByFormula {
 public:
  PlacerByFormula(const Parameters& parameters, const TransformerXlOptions& options)
      : options_(options) {
    for (const auto& [name, tensor] : parameters.named()) named_[name] = tensor;
  }

  // Scores of the units [unit][device]; `devices` are their features, empty where they are numbers.
  Vectors Scores(const Vectors& embeddings, const Vectors& devices) const {
    Vectors x;
    for (const Vector& embedding : embeddings) x.push_back(Affine(".input", embedding));
    Vectors c(x.size());  // of eq. 5; empty: no superposition
    if (options_.superposition) c = Layer(".conditioning", x, c);
    for (int i = 0; i < options_.layers; ++i) x = Layer(".layer" + std::to_string(i), x, c);
    Vectors scores;
    for (size_t u = 0; u < x.size(); ++u) {
      const Vector output = Affine(".output", Conditioned(".before_output", c[u], x[u]));
      scores.push_back(devices.empty() ? output : Vector());
      for (const Vector& features : devices) {
        const Vector key = Affine(".key", Relu(Affine(".key_hidden", features)));
        scores[u].push_back(Dot(output, key, 0, options_.width) / std::sqrt(options_.width));
      }
    }
    return options_.centred ? Centred(scores, devices) : scores;
  }

 private:
  static double Dot(const Vector& a, const Vector& b, int64_t begin, int64_t count) {
    double sum = 0;
    for (int64_t i = begin; i < begin + count; ++i) {
      sum += a[static_cast<size_t>(i)] * b[static_cast<size_t>(i)];
    }
    return sum;
  }
  static Vector Plus(Vector a, const Vector& b) {
    for (size_t i = 0; i < a.size(); ++i) a[i] += b[i];
    return a;
  }
  static Vector Relu(Vector x) {
    for (double& value : x) value = std::max(value, 0.0);
    return x;
  }

  const at::Tensor& Named(const std::string& name) const { return named_.at("placer" + name); }
  Vector ValuesOf(const std::string& name) const {
    const at::Tensor& tensor = Named(name);
    return {tensor.data_ptr<double>(), tensor.data_ptr<double>() + tensor.numel()};
  }
  Vector Times(const std::string& name, const Vector& x) const {  // W x
    const Vector w = ValuesOf(name);
    EXPECT_EQ(w.size(), static_cast<size_t>(Named(name).size(0)) * x.size()) << name;
    Vector product(w.size() / x.size(), 0);
    for (size_t i = 0; i < w.size(); ++i) product[i / x.size()] += w[i] * x[i % x.size()];
    return product;
  }
  Vector Affine(const std::string& name, const Vector& x) const {
    return Plus(Times(name, x), ValuesOf(name + "_bias"));
  }
  // c(x0) * x, brought to the width of x: (1 + M c) * x. What the dense layer g then takes.
  Vector Conditioned(const std::string& name, const Vector& c, Vector x) const {
    if (c.empty()) return x;
    const Vector factor = Times(name, c);
    for (size_t i = 0; i < x.size(); ++i) x[i] *= 1 + factor[i];
    return x;
  }
  Vector LayerNorm(const std::string& name, Vector x) const {
    const auto n = static_cast<double>(x.size());
    double mean = 0, variance = 0;
    for (const double value : x) mean += value / n;
    for (const double value : x) variance += (value - mean) * (value - mean) / n;
    const Vector scale = ValuesOf(name + "_scale"), shift = ValuesOf(name + "_shift");
    for (size_t i = 0; i < x.size(); ++i) {
      x[i] = (x[i] - mean) / std::sqrt(variance + 1e-5) * scale[i] + shift[i];
    }
    return x;
  }

  // W_o attention(W_q x; W_k [m, x], W_v [m, x]) of unit `u`: [m, x] are its segment and the one before.
  Vector AttentionOf(const std::string& name, const Vectors& x, const Vectors& c, size_t u) const {
    const auto length = static_cast<size_t>(options_.segment), segment = u / length;
    const size_t begin = segment == 0 ? 0 : (segment - 1) * length;
    const size_t end = std::min(x.size(), (segment + 1) * length);
    const auto project = [&](const char* of, size_t unit) {
      return Times(name + of, Conditioned(name + ".before_heads", c[unit], x[unit]));
    };
    const Vector query = project(".query", u);
    Vector joined(query.size(), 0);
    for (int64_t head = 0; head < options_.heads; ++head) {
      const int64_t first = head * options_.head_width;
      Vector weights;
      double sum = 0;
      for (size_t v = begin; v < end; ++v) {
        const double dot = Dot(query, project(".key", v), first, options_.head_width);
        weights.push_back(std::exp(dot / std::sqrt(options_.head_width)));
        sum += weights.back();
      }
      for (size_t v = begin; v < end; ++v) {
        const Vector value = project(".value", v);
        for (auto i = static_cast<size_t>(first);
             i < static_cast<size_t>(first + options_.head_width); ++i) {
          joined[i] += weights[v - begin] / sum * value[i];
        }
      }
    }
    return Times(name + ".joined", Conditioned(name + ".before_joined", c[u], joined));
  }

  Vectors Layer(const std::string& name, const Vectors& x, const Vectors& c) const {
    Vectors z;
    for (size_t u = 0; u < x.size(); ++u) {
      const Vector y = LayerNorm(
          name + ".first", options_.attention ? Plus(x[u], AttentionOf(name, x, c, u)) : x[u]);
      const Vector inner =
          Relu(Affine(name + ".inner", Conditioned(name + ".before_inner", c[u], y)));
      const Vector outer =
          Affine(name + ".outer", Conditioned(name + ".before_outer", c[u], inner));
      z.push_back(LayerNorm(name + ".second", Plus(y, outer)));
    }
    return z;
  }

  // Less their mean over the units, and ten times a device's preference.
  Vectors Centred(const Vectors& scores, const Vectors& devices) const {
    Vectors centred = scores;
    for (size_t d = 0; d < scores[0].size(); ++d) {
      const Vector p = ValuesOf(".preference");
      const double preference =
          devices.empty() ? p[d] : Dot(p, devices[d], 0, options_.device_features);
      double mean = 0;
      for (const Vector& unit : scores) mean += unit[d] / static_cast<double>(scores.size());
      for (Vector& unit : centred) unit[d] += 10 * preference - mean;
    }
    return centred;
  }

  const TransformerXlOptions options_;
  std::map<std::string, at::Tensor> named_;
};

// Two heads; 8 units in segments of 3: two segments have one before, and the last is shorter.
TEST(TransformerXl, IsItsFormula) {
  struct Variant {
    int layers;
    bool attention, superposition, centred;
    int64_t device_features;
  };
  for (const Variant& of : {Variant{1, true, false, false, 0},
                            {1, true, true, false, 0},
                            {1, true, true, true, 0},
                            {2, true, true, true, 2},
                            {2, false, true, false, 0}}) {
    TransformerXlOptions options{6, of.layers, 2, 3, 5, 3};
    options.attention = of.attention;
    options.superposition = of.superposition;
    options.centred = of.centred;
    options.device_features = of.device_features;
    Parameters parameters(Random(3), kDoubles);
    const TransformerXlPlacer placer(2, 4, options, "placer", parameters);
    int seed = 10;
    for (const auto& [name, tensor] : parameters.named()) {
      const at::NoGradGuard no_gradients;
      tensor.copy_(Leaf(tensor.sizes(), ++seed));
      if (name.ends_with("_scale")) tensor.mul_(0.5).add_(1);
    }
    const at::Tensor x = Leaf({1, 8, 2}, 1).detach(), devices = Leaf({4, 2}, 2).detach();
    const auto rows = [](const at::Tensor& matrix) {
      Vectors all;
      const auto width = matrix.size(1);
      for (int64_t i = 0; i < matrix.size(0); ++i) {
        const double* const row = matrix.data_ptr<double>() + i * width;
        all.emplace_back(row, row + width);
      }
      return all;
    };
    const Vectors expected =
        PlacerByFormula(parameters, options)
            .Scores(rows(x[0]), of.device_features > 0 ? rows(devices) : Vectors());
    const PlacerInputs inputs{x, at::Tensor(), at::zeros({8, 4}, kDoubles), devices};
    for (const bool learning : {true, false}) {  // which remember in ways of their own
      const at::AutoGradMode mode(learning);
      const at::Tensor scores = placer.Logits(inputs, at::zeros({1, 1, 8}, at::kLong))[0][0];
      const Vectors found = rows(scores.detach().contiguous());
      for (size_t u = 0; u < found.size(); ++u) {
        for (size_t d = 0; d < 4; ++d) {
          EXPECT_NEAR(found[u][d], expected[u][d], 1e-10) << "unit " << u << ", device " << d;
        }
      }
    }
  }
}

}  // namespace
}  // namespace placewright
