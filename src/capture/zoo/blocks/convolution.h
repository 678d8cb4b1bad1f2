// Layers of convolutional networks, on tensors [batch, channels, height, width].
#ifndef PLACEWRIGHT_CAPTURE_ZOO_BLOCKS_CONVOLUTION_H_
#define PLACEWRIGHT_CAPTURE_ZOO_BLOCKS_CONVOLUTION_H_

#include <array>

#include "capture/zoo/module.h"

namespace placewright {

struct ConvolutionShape {
  std::array<int64_t, 2> kernel = {1, 1}, stride = {1, 1}, padding = {0, 0};
  int64_t groups = 1;
  bool bias = true;
};
// A square kernel with one stride and one padding.
ConvolutionShape Square(int64_t kernel, int64_t stride = 1, int64_t padding = 0, bool bias = true);

class Conv2d : public Module {
 public:
  Conv2d(int64_t in, int64_t out, const ConvolutionShape& shape);
  at::Tensor Forward(const at::Tensor& x);

 private:
  ConvolutionShape shape_;
  at::Tensor weight_, bias_;
};

// Batch normalisation (Ioffe, Szegedy 2015); its running mean and variance are buffers.
class BatchNorm2d : public Module {
 public:
  explicit BatchNorm2d(int64_t channels, double epsilon = 1e-5, double momentum = 0.1);
  at::Tensor Forward(const at::Tensor& x);

 private:
  double epsilon_, momentum_;
  at::Tensor weight_, bias_, mean_, variance_;
};

// Convolution without bias, batch normalisation and ReLU; not `normalized` with a bias in the place of the norm.
class ConvBnRelu : public Module {
 public:
  ConvBnRelu(int64_t in, int64_t out, ConvolutionShape shape, double epsilon = 1e-5,
             bool normalized = true);
  at::Tensor Forward(const at::Tensor& x);

 private:
  std::shared_ptr<Conv2d> convolution_;
  std::shared_ptr<BatchNorm2d> norm_;  // or none
};

// Random images and their classes: "images" [batch, 3, size, size] and "targets" [batch].
at::Tensor RandomImages(int64_t batch, int64_t size);
at::Tensor RandomClasses(int64_t batch, int64_t classes);

}  // namespace placewright

#endif  // PLACEWRIGHT_CAPTURE_ZOO_BLOCKS_CONVOLUTION_H_
