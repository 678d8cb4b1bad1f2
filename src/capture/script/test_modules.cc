#include "capture/script/test_modules.h"

#include <ATen/ATen.h>
#include <unistd.h>

#include <filesystem>

namespace placewright {
namespace {

using torch::jit::CompilationUnit;
using ScriptModule = torch::jit::Module;

using CodeUnit = std::shared_ptr<CompilationUnit>;

ScriptModule Empty(const std::string& name, const CodeUnit& unit) {
  ScriptModule module(c10::QualifiedName("__torch__." + name), unit, true);
  module.register_attribute("training", c10::BoolType::get(), true);
  return module;
}

void AddParameter(ScriptModule& module, const std::string& name, at::IntArrayRef sizes) {
  module.register_parameter(name, (at::randn(sizes) * 0.3).requires_grad_(), false);
}

ScriptModule MakeLinear(const CodeUnit& unit, int64_t in, int64_t out) {
  ScriptModule module = Empty("Linear", unit);
  AddParameter(module, "weight", {out, in});
  AddParameter(module, "bias", {out});
  module.define("def forward(self, x):\n  return torch.linear(x, self.weight, self.bias)\n");
  return module;
}

ScriptModule MakeLayerNorm(const CodeUnit& unit, int64_t width) {
  ScriptModule module = Empty("LayerNorm", unit);
  AddParameter(module, "weight", {width});
  AddParameter(module, "bias", {width});
  module.define(
      "def forward(self, x):\n"
      "  return torch.layer_norm(x, [x.size(-1)], self.weight, self.bias)\n");
  return module;
}

ScriptModule MakeBlock(const CodeUnit& unit, int64_t width) {
  ScriptModule module = Empty("Block", unit);
  for (const char* name : {"query", "key", "value", "out"}) {
    module.register_module(name, MakeLinear(unit, width, width));
  }
  module.register_module("inner", MakeLinear(unit, width, 2 * width));
  module.register_module("outer", MakeLinear(unit, 2 * width, width));
  module.register_module("norm", MakeLayerNorm(unit, width));
  module.define(R"(
def split(self, x):
  return x.view(x.size(0), x.size(1), 2, -1).transpose(1, 2)

def forward(self, x):
  q = self.split(self.query.forward(x))
  k = self.split(self.key.forward(x))
  v = self.split(self.value.forward(x))
  scores = torch.matmul(q, k.transpose(2, 3)) / 2.0
  weights = torch.dropout(torch.softmax(scores, -1), 0.3, self.training)
  mixed = torch.matmul(weights, v).transpose(1, 2).reshape(x.size(0), x.size(1), -1)
  x = self.norm.forward(x + self.out.forward(mixed))
  return x + self.outer.forward(torch.relu(self.inner.forward(x)))
)");
  return module;
}

}  // namespace

ScriptModule MakeConvNet() {
  const CodeUnit unit = std::make_shared<CompilationUnit>();
  ScriptModule conv = Empty("Conv", unit);
  AddParameter(conv, "weight", {4, 3, 3, 3});
  AddParameter(conv, "bias", {4});
  conv.define(
      "def forward(self, x):\n"
      "  return torch.conv2d(x, self.weight, self.bias, [1, 1], [1, 1])\n");
  ScriptModule norm = Empty("Norm", unit);
  AddParameter(norm, "weight", {4});
  AddParameter(norm, "bias", {4});
  norm.register_buffer("running_mean", at::zeros({4}));
  norm.register_buffer("running_var", at::ones({4}));
  norm.register_buffer("num_batches_tracked", at::zeros({}, at::kLong));
  norm.define(R"(
def forward(self, x):
  if self.training:
    self.num_batches_tracked.add_(1)
  return torch.batch_norm(x, self.weight, self.bias, self.running_mean, self.running_var,
                          self.training, 0.1, 1e-05, False)
)");
  ScriptModule net = Empty("ConvNet", unit);
  net.register_module("conv", conv);
  net.register_module("norm", norm);
  net.register_module("fc", MakeLinear(unit, 4, 5));
  net.define(R"(
def forward(self, x):
  y = torch.relu(self.norm.forward(self.conv.forward(x)))
  y = torch.dropout(y, 0.3, self.training)
  return self.fc.forward(torch.mean(y, [2, 3]))
)");
  return net;
}

ScriptModule MakeTransformer() {
  const CodeUnit unit = std::make_shared<CompilationUnit>();
  ScriptModule embed = Empty("Embed", unit);
  AddParameter(embed, "weight", {11, 16});
  embed.define("def forward(self, ids):\n  return torch.embedding(self.weight, ids)\n");
  ScriptModule head = Empty("Head", unit);
  head.register_parameter("weight", embed.attr("weight").toTensor(), false);
  head.define("def forward(self, x):\n  return torch.linear(x, self.weight)\n");
  ScriptModule net = Empty("Transformer", unit);
  net.register_module("embed", embed);
  net.register_module("block0", MakeBlock(unit, 16));
  net.register_module("block1", MakeBlock(unit, 16));
  net.register_module("head", head);
  net.define(R"(
def forward(self, ids):
  x = self.block1.forward(self.block0.forward(self.embed.forward(ids)))
  return self.head.forward(x)
)");
  return net;
}

ScriptModule MakeRecurrent(const std::string& op, const RecurrentOptions& options) {
  ScriptModule net = Empty("Recurrent", std::make_shared<CompilationUnit>());
  const bool lstm = op == "lstm";
  const int gates = lstm ? 4 : op == "gru" ? 3 : 1;
  const int directions = options.bidirectional ? 2 : 1;
  const int out = options.projected > 0 ? options.projected : 4;
  std::string weights;
  const auto add = [&](const std::string& name, at::IntArrayRef sizes) {
    AddParameter(net, name, sizes);
    weights += (weights.empty() ? "self." : ", self.") + name;
  };
  for (int i = 0; i < options.layers * directions; ++i) {
    const std::string end =
        (i % directions == 0 ? "_l" : "_reverse_l") + std::to_string(i / directions);
    add("weight_ih" + end, {4 * gates, i < directions ? 3 : out * directions});
    add("weight_hh" + end, {4 * gates, out});
    if (options.biases) add("bias_ih" + end, {4 * gates});
    if (options.biases) add("bias_hh" + end, {4 * gates});
    if (options.projected > 0) add("weight_hr" + end, {out, 4});
  }
  const auto flag = [](bool value) { return value ? "True" : "False"; };
  const auto zeros = [&](int width) {
    return "torch.zeros([" + std::to_string(options.layers * directions) + ", x.size(" +
           (options.batch_first ? "0" : "1") + "), " + std::to_string(width) +
           "], dtype=x.dtype, device=x.device)";
  };
  const std::string states = lstm ? "[" + zeros(out) + ", " + zeros(4) + "]" : zeros(4);
  net.define("def forward(self, x):\n  return torch." + op + "(x, " + states + ", [" + weights +
             "], " + flag(options.biases) + ", " + std::to_string(options.layers) + ", " +
             std::to_string(options.dropout) + ", self.training, " + flag(options.bidirectional) +
             ", " + flag(options.batch_first) + ")\n");
  return net;
}

ScriptModule MakeModule(const std::string& code, const std::vector<std::string>& parameters) {
  const CodeUnit unit = std::make_shared<CompilationUnit>();
  ScriptModule module = Empty("Small", unit);
  for (const std::string& name : parameters) AddParameter(module, name, {4});
  module.define(code);
  return module;
}

std::string Saved(const ScriptModule& module, const std::string& name) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("placewright_script_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  const std::string path = (folder / (name + ".pt")).string();
  module.save(path);
  return path;
}

}  // namespace placewright
