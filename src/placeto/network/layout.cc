#include "placeto/network/layout.h"

#include <cmath>

#include "placeto/network/kernels.h"

namespace placewright {
namespace {

class Adder {
 public:
  explicit Adder(size_t& size) : size_(size) {}

  PlacetoLayer Layer(std::string name, int32_t inputs, int32_t outputs) {
    PlacetoLayer layer{std::move(name), inputs, outputs, PaddedWidth(outputs), size_, 0};
    size_ += static_cast<size_t>(inputs) * static_cast<size_t>(layer.columns);
    layer.biases = size_;
    size_ += static_cast<size_t>(layer.columns);
    return layer;
  }

  PlacetoAggregator Aggregator(const std::string& name, int32_t width) {
    return {{Layer(name + ".f.0", width, width), Layer(name + ".f.1", width, width)},
            {Layer(name + ".g.0", width, width), Layer(name + ".g.1", width, width)}};
  }

 private:
  size_t& size_;
};

}  // namespace

PlacetoLayout::PlacetoLayout(int32_t with_devices, bool learned_baseline)
    : devices(with_devices), width(5 + with_devices), has_value(learned_baseline) {
  Adder add(size);
  for (int i = 0; i < 3; ++i) {
    transform[i] = add.Layer("transform." + std::to_string(i), width, width);
  }
  forward = add.Aggregator("forward", width);
  backward = add.Aggregator("backward", width);
  ancestors = add.Aggregator("ancestors", 2 * width);
  descendants = add.Aggregator("descendants", 2 * width);
  peers = add.Aggregator("peers", 2 * width);
  classifier[0] = add.Layer("classifier.0", 8 * width, 16 * width);
  classifier[1] = add.Layer("classifier.1", 16 * width, 8 * width);
  classifier[2] = add.Layer("classifier.2", 8 * width, devices);
  if (!has_value) return;
  value[0] = add.Layer("value.0", 8 * width, 8 * width);
  value[1] = add.Layer("value.1", 8 * width, 1);
}

std::vector<const PlacetoLayer*> PlacetoLayout::layers() const {
  std::vector<const PlacetoLayer*> all;
  for (const PlacetoLayer& layer : transform) all.push_back(&layer);
  for (const PlacetoAggregator* of : {&forward, &backward, &ancestors, &descendants, &peers}) {
    for (const PlacetoLayer& layer : of->f) all.push_back(&layer);
    for (const PlacetoLayer& layer : of->g) all.push_back(&layer);
  }
  for (const PlacetoLayer& layer : classifier) all.push_back(&layer);
  if (!has_value) return all;
  for (const PlacetoLayer& layer : value) all.push_back(&layer);
  return all;
}

template <class Real>
std::vector<Real> FirstPlacetoValues(const PlacetoLayout& layout, Random random) {
  std::vector<Real> values(layout.size, 0);
  for (const PlacetoLayer* layer : layout.layers()) {
    const double bound = std::sqrt(6.0 / (layer->inputs + layer->outputs));
    for (int32_t input = 0; input < layer->inputs; ++input) {
      Real* const row =
          values.data() + layer->weights + static_cast<size_t>(input * layer->columns);
      for (int32_t output = 0; output < layer->outputs; ++output) {
        row[output] = static_cast<Real>((2 * random.Unit() - 1) * bound);
      }
    }
  }
  return values;
}

template std::vector<float> FirstPlacetoValues(const PlacetoLayout&, Random);
template std::vector<double> FirstPlacetoValues(const PlacetoLayout&, Random);

}  // namespace placewright
