// Builds the whole training step of a convolutional network (forward, loss, backward, SGD with
// momentum and weight decay) op by op, as a recorder of PyTorch would list it. For rows of the
// accuracy table whose model has no recorded graph, and for any batch.
#ifndef PLACEWRIGHT_BENCH_COSTS_TRAINING_NET_H_
#define PLACEWRIGHT_BENCH_COSTS_TRAINING_NET_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "graph/graph_builder.h"

namespace placewright::bench {

struct Window {
  int64_t height = 1, width = 1, stride = 1, pad_height = 0, pad_width = 0;
};
// A square window.
inline Window Square(int64_t size, int64_t stride = 1, int64_t pad = 0) {
  return {size, size, stride, pad, pad};
}

class TrainingNet {
 public:
  // An image tensor of (at least) a value and its shape.
  struct Value {
    TensorId id;
    std::vector<int64_t> shape;
  };

  TrainingNet(std::string name, int64_t batch, int64_t image_size);

  Value image() const { return image_; }
  Value Convolution(const Value& x, int64_t channels, const Window& window, bool bias);
  Value BatchNorm(const Value& x);
  Value Relu(const Value& x);  // in place
  Value MaxPool(const Value& x, const Window& window, bool round_up = false);
  Value AveragePool(const Value& x, const Window& window);
  Value GlobalAveragePool(const Value& x);
  Value Add(const Value& x, const Value& y);
  Value Concatenate(const std::vector<Value>& parts);
  Value Dropout(const Value& x);
  Value Linear(const Value& x, int64_t features);  // flattens x

  // conv, batch norm, relu; and conv with bias, relu.
  Value ConvolutionNormRelu(const Value& x, int64_t channels, const Window& window) {
    return Relu(BatchNorm(Convolution(x, channels, window, false)));
  }
  Value ConvolutionRelu(const Value& x, int64_t channels, const Window& window) {
    return Relu(Convolution(x, channels, window, true));
  }

  // Loss over the logits, the backward pass, one SGD update of every parameter.
  Graph Finish(const Value& logits);

 private:
  using Shape = std::vector<int64_t>;
  enum class Alias { kFresh, kView, kInPlace };

  TensorId Parameter(const Shape& shape);
  // One op with one output; a view or an in-place op aliases input 0.
  TensorId Emit(const std::string& type, const std::vector<TensorId>& inputs, const Shape& shape,
                std::vector<placewright::Value> args = {}, Alias alias = Alias::kFresh);
  // One op with several fresh outputs; `first_output` 1: output 0 is null.
  std::vector<TensorId> EmitMany(const std::string& type, const std::vector<TensorId>& inputs,
                                 const std::vector<Shape>& shapes,
                                 std::vector<placewright::Value> args, int32_t first_output = 0);
  TensorId Submit(OpSpec spec);
  void Accumulate(TensorId tensor, TensorId gradient, const Shape& shape);
  void UpdateParameters();

  struct Trained {
    TensorId tensor;
    Shape shape;
  };
  struct Step {
    TensorId output;
    std::function<void(TensorId gradient)> backward;
  };

  GraphBuilder builder_;
  Phase phase_ = Phase::kForward;
  int64_t ops_ = 0;
  Value image_;
  std::vector<Trained> parameters_;
  std::vector<Step> tape_;
  std::vector<std::pair<TensorId, TensorId>> gradients_;  // tensor, its gradient so far
};

}  // namespace placewright::bench

#endif  // PLACEWRIGHT_BENCH_COSTS_TRAINING_NET_H_
