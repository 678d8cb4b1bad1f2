// Writes script modules into a folder: what the program is given in capture_file_test.cc.
#include <torch/csrc/jit/api/module.h>

#include <string>

#include "capture/script/test_modules.h"

int main(int count, char** arguments) {
  using placewright::MakeModule;
  if (count != 2) return 2;
  const std::string folder = std::string(arguments[1]) + "/";
  placewright::MakeConvNet().save(folder + "conv.pt");
  placewright::MakeTransformer().save(folder + "transformer.pt");
  torch::jit::Module net = placewright::MakeConvNet();
  net.eval();
  torch::jit::freeze(net).save(folder + "frozen.pt");
  const auto save = [&](const std::string& name, const std::string& body) {
    MakeModule("def forward(self, x):\n" + body).save(folder + name);
  };
  save("branch.pt", "  y = x * self.w\n  if bool(y.sum() > 0):\n    y = y * 2\n  return y\n");
  save("histogram.pt", "  return torch.histc(x * self.w)\n");
  save("cuda.pt", "  return x.to(torch.device(\"cuda:3\")) * self.w\n");
  save("endless.pt", "  n = 0\n  while n < 1:\n    n = n * 1\n  return x * self.w\n");
  save("out_of_memory.pt", "  l = [1]\n  while len(l) > 0:\n    l = l + l\n  return x * self.w\n");
  return 0;
}
