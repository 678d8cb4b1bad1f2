#include "bench/costs/networks.h"

#include <array>
#include <functional>

#include "bench/costs/training_net.h"

namespace placewright::bench {
namespace {

using Value = TrainingNet::Value;

// He et al. 2015 (arXiv:1512.03385), table 1; the stride lies in the 3x3 convolution.
Graph ResNet(const std::string& name, int64_t batch, const std::array<int, 4>& blocks) {
  TrainingNet net(name, batch, 224);
  Value x = net.ConvolutionNormRelu(net.image(), 64, Square(7, 2, 3));
  x = net.MaxPool(x, Square(3, 2, 1));
  for (size_t stage = 0; stage < blocks.size(); ++stage) {
    const int64_t width = int64_t{64} << stage;
    for (int block = 0; block < blocks[stage]; ++block) {
      const int64_t stride = stage > 0 && block == 0 ? 2 : 1;
      Value y = net.ConvolutionNormRelu(x, width, Square(1));
      y = net.ConvolutionNormRelu(y, width, Square(3, stride, 1));
      y = net.BatchNorm(net.Convolution(y, 4 * width, Square(1), false));
      if (block == 0) x = net.BatchNorm(net.Convolution(x, 4 * width, Square(1, stride), false));
      x = net.Relu(net.Add(y, x));
    }
  }
  return net.Finish(net.Linear(net.GlobalAveragePool(x), 1000));
}

// Simonyan & Zisserman 2014 (arXiv:1409.1556), table 1, columns D and E.
Graph Vgg(const std::string& name, int64_t batch, const std::array<int, 5>& convolutions) {
  constexpr std::array<int64_t, 5> kWidths = {64, 128, 256, 512, 512};
  TrainingNet net(name, batch, 224);
  Value x = net.image();
  for (size_t stage = 0; stage < kWidths.size(); ++stage) {
    for (int i = 0; i < convolutions[stage]; ++i) {
      x = net.ConvolutionRelu(x, kWidths[stage], Square(3, 1, 1));
    }
    x = net.MaxPool(x, Square(2, 2));
  }
  x = net.Dropout(net.Relu(net.Linear(x, 4096)));
  x = net.Dropout(net.Relu(net.Linear(x, 4096)));
  return net.Finish(net.Linear(x, 1000));
}

// The one-tower version: Krizhevsky 2014 (arXiv:1404.5997).
Graph AlexNet(const std::string& name, int64_t batch) {
  TrainingNet net(name, batch, 224);
  Value x = net.MaxPool(net.ConvolutionRelu(net.image(), 64, Square(11, 4, 2)), Square(3, 2));
  x = net.MaxPool(net.ConvolutionRelu(x, 192, Square(5, 1, 2)), Square(3, 2));
  x = net.ConvolutionRelu(x, 384, Square(3, 1, 1));
  x = net.ConvolutionRelu(x, 256, Square(3, 1, 1));
  x = net.MaxPool(net.ConvolutionRelu(x, 256, Square(3, 1, 1)), Square(3, 2));
  x = net.Relu(net.Linear(net.Dropout(x), 4096));
  x = net.Relu(net.Linear(net.Dropout(x), 4096));
  return net.Finish(net.Linear(x, 1000));
}

// Szegedy et al. 2014 (arXiv:1409.4842), table 1, without the auxiliary classifiers.
Graph GoogLeNet(const std::string& name, int64_t batch) {
  struct Widths {
    int64_t one, reduce3, three, reduce5, five, pool;
  };
  constexpr std::array<Widths, 9> kBlocks = {{{64, 96, 128, 16, 32, 32},
                                              {128, 128, 192, 32, 96, 64},
                                              {192, 96, 208, 16, 48, 64},
                                              {160, 112, 224, 24, 64, 64},
                                              {128, 128, 256, 24, 64, 64},
                                              {112, 144, 288, 32, 64, 64},
                                              {256, 160, 320, 32, 128, 128},
                                              {256, 160, 320, 32, 128, 128},
                                              {384, 192, 384, 48, 128, 128}}};
  TrainingNet net(name, batch, 224);
  const auto conv = [&](const Value& x, int64_t channels, const Window& window) {
    return net.ConvolutionRelu(x, channels, window);
  };
  Value x = net.MaxPool(conv(net.image(), 64, Square(7, 2, 3)), Square(3, 2), true);
  x = net.MaxPool(conv(conv(x, 64, Square(1)), 192, Square(3, 1, 1)), Square(3, 2), true);
  for (size_t i = 0; i < kBlocks.size(); ++i) {
    const Widths& w = kBlocks[i];
    x = net.Concatenate({conv(x, w.one, Square(1)),
                         conv(conv(x, w.reduce3, Square(1)), w.three, Square(3, 1, 1)),
                         conv(conv(x, w.reduce5, Square(1)), w.five, Square(5, 1, 2)),
                         conv(net.MaxPool(x, Square(3, 1, 1)), w.pool, Square(1))});
    if (i == 1 || i == 6) x = net.MaxPool(x, Square(3, 2), true);
  }
  return net.Finish(net.Linear(net.Dropout(net.GlobalAveragePool(x)), 1000));
}

constexpr Window kRow7{1, 7, 1, 0, 3}, kColumn7{7, 1, 1, 3, 0};
constexpr Window kRow3{1, 3, 1, 0, 1}, kColumn3{3, 1, 1, 1, 0};

// A chain of convolutions, each with batch norm and relu.
struct Link {
  int64_t channels;
  Window window;
};
Value Chain(TrainingNet& net, Value x, const std::vector<Link>& links) {
  for (const Link& link : links) x = net.ConvolutionNormRelu(x, link.channels, link.window);
  return x;
}

// Szegedy et al. 2015 (arXiv:1512.00567) without the auxiliary classifier.
Graph Inception3(const std::string& name, int64_t batch) {
  TrainingNet net(name, batch, 299);
  const Window one = Square(1), three = Square(3, 1, 1), five = Square(5, 1, 2),
               down = Square(3, 2);
  Value x = Chain(net, net.image(), {{32, down}, {32, Square(3)}, {64, three}});
  x = Chain(net, net.MaxPool(x, down), {{80, one}, {192, Square(3)}});
  x = net.MaxPool(x, down);
  for (int64_t pooled : {32, 64, 64}) {
    x = net.Concatenate({Chain(net, x, {{64, one}}), Chain(net, x, {{48, one}, {64, five}}),
                         Chain(net, x, {{64, one}, {96, three}, {96, three}}),
                         Chain(net, net.AveragePool(x, three), {{pooled, one}})});
  }
  x = net.Concatenate({Chain(net, x, {{384, down}}),
                       Chain(net, x, {{64, one}, {96, three}, {96, down}}), net.MaxPool(x, down)});
  for (int64_t w : {128, 160, 160, 192}) {
    x = net.Concatenate(
        {Chain(net, x, {{192, one}}), Chain(net, x, {{w, one}, {w, kRow7}, {192, kColumn7}}),
         Chain(net, x, {{w, one}, {w, kColumn7}, {w, kRow7}, {w, kColumn7}, {192, kRow7}}),
         Chain(net, net.AveragePool(x, three), {{192, one}})});
  }
  x = net.Concatenate({Chain(net, x, {{192, one}, {320, down}}),
                       Chain(net, x, {{192, one}, {192, kRow7}, {192, kColumn7}, {192, down}}),
                       net.MaxPool(x, down)});
  for (int i = 0; i < 2; ++i) {
    const Value a = Chain(net, x, {{384, one}}), b = Chain(net, x, {{448, one}, {384, three}});
    x = net.Concatenate({Chain(net, x, {{320, one}}), Chain(net, a, {{384, kRow3}}),
                         Chain(net, a, {{384, kColumn3}}), Chain(net, b, {{384, kRow3}}),
                         Chain(net, b, {{384, kColumn3}}),
                         Chain(net, net.AveragePool(x, three), {{192, one}})});
  }
  return net.Finish(net.Linear(net.Dropout(net.GlobalAveragePool(x)), 1000));
}

Value Inception4Stem(TrainingNet& net) {
  const Window one = Square(1), three = Square(3, 1, 1), down = Square(3, 2);
  Value x = Chain(net, net.image(), {{32, down}, {32, Square(3)}, {64, three}});
  x = net.Concatenate({net.MaxPool(x, down), Chain(net, x, {{96, down}})});
  x = net.Concatenate({Chain(net, x, {{64, one}, {96, Square(3)}}),
                       Chain(net, x, {{64, one}, {64, kRow7}, {64, kColumn7}, {96, Square(3)}})});
  return net.Concatenate({Chain(net, x, {{192, down}}), net.MaxPool(x, down)});
}

// Szegedy et al. 2016 (arXiv:1602.07261), figures 3 to 9.
Graph Inception4(const std::string& name, int64_t batch) {
  TrainingNet net(name, batch, 299);
  const Window one = Square(1), three = Square(3, 1, 1), down = Square(3, 2);
  Value x = Inception4Stem(net);
  for (int i = 0; i < 4; ++i) {
    x = net.Concatenate({Chain(net, x, {{96, one}}), Chain(net, x, {{64, one}, {96, three}}),
                         Chain(net, x, {{64, one}, {96, three}, {96, three}}),
                         Chain(net, net.AveragePool(x, three), {{96, one}})});
  }
  x = net.Concatenate({Chain(net, x, {{384, down}}),
                       Chain(net, x, {{192, one}, {224, three}, {256, down}}),
                       net.MaxPool(x, down)});
  for (int i = 0; i < 7; ++i) {
    x = net.Concatenate(
        {Chain(net, x, {{384, one}}), Chain(net, x, {{192, one}, {224, kRow7}, {256, kColumn7}}),
         Chain(net, x, {{192, one}, {192, kColumn7}, {224, kRow7}, {224, kColumn7}, {256, kRow7}}),
         Chain(net, net.AveragePool(x, three), {{128, one}})});
  }
  x = net.Concatenate({Chain(net, x, {{192, one}, {192, down}}),
                       Chain(net, x, {{256, one}, {256, kRow7}, {320, kColumn7}, {320, down}}),
                       net.MaxPool(x, down)});
  for (int i = 0; i < 3; ++i) {
    const Value a = Chain(net, x, {{384, one}});
    const Value b = Chain(net, x, {{384, one}, {448, kColumn3}, {512, kRow3}});
    x = net.Concatenate({Chain(net, x, {{256, one}}), Chain(net, a, {{256, kRow3}}),
                         Chain(net, a, {{256, kColumn3}}), Chain(net, b, {{256, kRow3}}),
                         Chain(net, b, {{256, kColumn3}}),
                         Chain(net, net.AveragePool(x, three), {{256, one}})});
  }
  return net.Finish(net.Linear(net.Dropout(net.GlobalAveragePool(x)), 1000));
}

struct Network {
  std::string name;
  std::function<Graph(const std::string&, int64_t)> build;
};

std::vector<Network> Networks() {
  const auto resnet = [](std::array<int, 4> blocks) {
    return [blocks](const std::string& n, int64_t b) { return ResNet(n, b, blocks); };
  };
  const auto vgg = [](std::array<int, 5> convolutions) {
    return [convolutions](const std::string& n, int64_t b) { return Vgg(n, b, convolutions); };
  };
  return {{"alexnet", AlexNet},
          {"googlenet", GoogLeNet},
          {"inception3", Inception3},
          {"inception4", Inception4},
          {"resnet50", resnet({3, 4, 6, 3})},
          {"resnet101", resnet({3, 4, 23, 3})},
          {"resnet152", resnet({3, 8, 36, 3})},
          {"vgg16", vgg({2, 2, 3, 3, 3})},
          {"vgg19", vgg({2, 2, 4, 4, 4})}};
}

}  // namespace

std::optional<Graph> BuildNetwork(std::string_view name, int64_t batch) {
  for (const Network& network : Networks()) {
    if (network.name == name) return network.build(network.name, batch);
  }
  return std::nullopt;
}

std::vector<std::string> NetworkNames() {
  std::vector<std::string> names;
  for (const Network& network : Networks()) names.push_back(network.name);
  return names;
}

}  // namespace placewright::bench
