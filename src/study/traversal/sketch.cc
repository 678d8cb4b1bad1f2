#include "study/traversal/sketch.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/random.h"

namespace placewright {
namespace {

// Images of a batch of 64, NHWC, 4 bytes each number.
struct Image {
  int64_t side = 32, channels = 24;
  int64_t numbers() const { return 64 * side * side * channels; }
  int64_t bytes() const { return 4 * numbers(); }
};

class CifarSketch {
 public:
  explicit CifarSketch(Random random) : random_(random) {
    blocks_ = 2 + static_cast<int>(random_.Below(2));
    cells_ = 8 + static_cast<int>(random_.Below(12));
    skips_ = 0.1 + 0.2 * random_.Unit();
    separable_ = 0.6 + 0.4 * random_.Unit();
  }

  Sketch Make() {
    const int32_t images = Op("images", "input", 0, {});
    AddVariables("stem");
    int32_t before = Conv("stem/conv", images, 9 * 3), last = Norm("stem/bn", before);
    before = -1;
    for (int cell = 0; cell < cells_; ++cell) {
      if (cell == cells_ / 3 || cell == 2 * cells_ / 3) {
        image_ = {image_.side / 2, image_.channels * 2};
        last = Conv(fmt::format("layer_{}/reduction", cell), last,
                    9 * static_cast<double>(image_.channels) / 2);
        before = -1;
      }
      AddVariables(fmt::format("layer_{}", cell));
      const int32_t output = Cell(fmt::format("layer_{}", cell), last, before);
      before = last;
      last = output;
    }
    const int32_t pooled = sketch_.Add({"head/pool", "pool", 64.0 * 8 * 8 * 96, 64 * 384, {last}});
    const int32_t logits =
        sketch_.Add({"head/dense", "matmul", 2.0 * 64 * 96 * 10, 64 * 40, {pooled}});
    sketch_.Add({"head/loss", "softmax", 64 * 30, 4, {logits}});
    return std::move(sketch_);
  }

 private:
  int32_t Op(const std::string& name, const char* type, double flops_per_number,
             std::vector<int32_t> inputs) {
    return sketch_.Add({name, type, flops_per_number * static_cast<double>(image_.numbers()),
                        image_.bytes(), std::move(inputs)});
  }
  // `depth`: multiply-adds for each number.
  int32_t Conv(const std::string& name, int32_t input, double depth) {
    return Op(name, "conv", 2 * depth, {input});
  }
  int32_t Norm(const std::string& name, int32_t input) {
    return Op(name, "norm", 10, {input, scales_});
  }
  // The variables that all layers of a cell read.
  void AddVariables(const std::string& name) {
    const int64_t bytes = 4 * image_.channels * image_.channels;
    weights_ = sketch_.Add({name + "/weights/read", "variable", 0, 10 * bytes, {}});
    scales_ = sketch_.Add({name + "/bn/read", "variable", 0, 40 * image_.channels, {}});
  }

  // A separable convolution with that probability, a pooling or nothing.
  int32_t Branch(const std::string& name, int32_t input, double separable) {
    const double draw = random_.Unit();
    if (draw < separable) {
      const double taps = random_.Below(2) == 0 ? 9 : 25;
      for (int twice = 0; twice < 2; ++twice) {
        const std::string part = fmt::format("{}/sep_conv_{}", name, twice);
        input = Op(part + "/relu", "relu", 1, {input});
        input = Op(part + "/depthwise", "depthwise", 2 * taps, {input});
        input = Op(part + "/pointwise", "conv", 2 * static_cast<double>(image_.channels),
                   {input, weights_});
        input = Norm(part + "/bn", input);
      }
      return input;
    }
    if (draw < separable + 0.25) return Op(name + "/pool", "pool", 9, {input});
    return input;
  }

  int32_t Cell(const std::string& name, int32_t last, int32_t before) {
    const auto calibrate = [&](int which, int32_t input) {
      const std::string prefix = fmt::format("{}/calibrate_{}", name, which);
      const double depth = static_cast<double>(image_.channels);
      return Norm(prefix + "/bn", Op(prefix + "/conv", "conv", 2 * depth, {input, weights_}));
    };
    std::vector<int32_t> made = {calibrate(0, last)};
    if (before >= 0 && random_.Unit() < skips_) made.push_back(calibrate(1, before));
    std::vector<char> loose(made.size(), 0);
    for (int block = 0; block < blocks_; ++block) {
      const std::string prefix = fmt::format("{}/block_{}", name, block);
      // The first takes the input that nothing has read, so that no cell is without a path.
      const size_t x = block < static_cast<int>(made.size()) && block < 2
                           ? made.size() - 1 - static_cast<size_t>(block)
                           : made.size() - 1;
      const size_t y = random_.Below(made.size());
      std::vector<int32_t> branches = {Branch(prefix + "/x", made[x], separable_)};
      loose[x] = 0;
      if (random_.Unit() < 0.6) {
        branches.push_back(Branch(prefix + "/y", made[y], separable_ / 3));
        loose[y] = 0;
      }
      made.push_back(Op(prefix + "/add", "add", 1, std::move(branches)));
      loose.push_back(1);
    }
    std::vector<int32_t> ends;
    for (size_t i = 0; i < made.size(); ++i) {
      if (loose[i] != 0) ends.push_back(made[i]);
    }
    if (ends.size() == 1) return ends.front();
    return Op(name + "/final_combine/concat", "concat", 0, ends);
  }

  Random random_;
  Sketch sketch_;
  Image image_;
  int32_t weights_ = -1, scales_ = -1;
  int blocks_ = 0, cells_ = 0;
  double skips_ = 0, separable_ = 0;
};

// A batch of 64 rows, `width` wide.
struct Samples {
  int64_t width = 0;
  int64_t bytes() const { return 4 * 64 * width; }
  double Matmul(int64_t from) const {
    return 2.0 * 64 * static_cast<double>(from) * static_cast<double>(width);
  }
};

Sketch PtbSketch(Random random) {
  const int64_t size = 600 + 8 * static_cast<int64_t>(random.Below(65));
  const Samples hidden{size}, wide{2 * size}, words_out{2000};  // sampled
  const int cell_nodes = 4 + static_cast<int>(random.Below(6));
  const int steps = std::max(
      8, static_cast<int>(500 / (2 * cell_nodes + 5)) + static_cast<int>(random.Below(7)) - 3);
  // The cell that all steps share: what each node takes, mostly the one before it.
  std::vector<int> takes(static_cast<size_t>(cell_nodes), -1);
  std::vector<char> gated(static_cast<size_t>(cell_nodes),
                          0);  // the highway's gate passes on what it took
  for (int node = 1; node < cell_nodes; ++node) {
    const bool chain = random.Unit() < 0.75;
    takes[static_cast<size_t>(node)] =
        chain ? node - 1 : static_cast<int>(random.Below(static_cast<uint64_t>(node)));
  }
  Sketch sketch;
  std::vector<int32_t> weights;
  for (int node = 0; node < cell_nodes; ++node) {
    gated[static_cast<size_t>(node)] = random.Unit() < 0.4 ? 1 : 0;
    weights.push_back(sketch.Add({fmt::format("rnn/w_{}/read", node),
                                  "variable",
                                  0,
                                  4 * size * (node == 0 ? 4 : 2) * size,
                                  {}}));
  }
  const int32_t table = sketch.Add({"embedding/read", "variable", 0, 4 * 10000 * size, {}});
  const int32_t mask = sketch.Add(
      {"rnn/dropout_mask", "random", 64.0 * static_cast<double>(size), hidden.bytes(), {}});
  const int32_t words = sketch.Add({"words", "input", 0, 64 * 8 * steps, {}});
  int32_t state = sketch.Add({"rnn/zero_state", "constant", 0, hidden.bytes(), {}});
  const int32_t softmax =
      sketch.Add({"softmax/w/read", "variable", 0, 4 * size * words_out.width, {}});
  std::vector<int32_t> losses;
  for (int step = 0; step < steps; ++step) {
    const auto name = [&](const std::string& part) {
      return fmt::format("rnn/step_{}/{}", step, part);
    };
    const int32_t x = sketch.Add({name("lookup"),
                                  "gather",
                                  64.0 * static_cast<double>(size),
                                  hidden.bytes(),
                                  {table, words, mask}});
    const int32_t both = sketch.Add({name("concat"), "concat", 0, wide.bytes(), {x, state, mask}});
    std::vector<int32_t> nodes;
    std::vector<char> loose(static_cast<size_t>(cell_nodes), 1);
    for (int node = 0; node < cell_nodes; ++node) {
      const auto i = static_cast<size_t>(node);
      const int32_t from = node == 0 ? both : nodes[static_cast<size_t>(takes[i])];
      if (node > 0) loose[static_cast<size_t>(takes[i])] = 0;
      std::vector<int32_t> multiplied = {from, weights[i]};
      if (gated[i] == 0) multiplied.push_back(mask);
      const int32_t product = sketch.Add({name(fmt::format("node_{}/matmul", node)), "matmul",
                                          wide.Matmul(node == 0 ? 2 * size : size), wide.bytes(),
                                          std::move(multiplied)});
      std::vector<int32_t> mixed = {product, mask};
      if (gated[i] != 0) mixed.push_back(from);
      nodes.push_back(
          sketch.Add({name(fmt::format("node_{}/highway", node)), "highway",
                      64.0 * static_cast<double>(size) * 12, hidden.bytes(), std::move(mixed)}));
    }
    std::vector<int32_t> ends = {mask};
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (loose[i] != 0) ends.push_back(nodes[i]);
    }
    state = sketch.Add({name("average"), "average",
                        64.0 * static_cast<double>(size) * static_cast<double>(ends.size()),
                        hidden.bytes(), ends});
    const int32_t logits = sketch.Add({name("softmax/matmul"),
                                       "matmul",
                                       words_out.Matmul(size),
                                       words_out.bytes(),
                                       {state, softmax, mask}});
    losses.push_back(
        sketch.Add({name("softmax/loss"), "softmax", 64.0 * 2000 * 5, 4, {logits, words}}));
  }
  sketch.Add({"loss", "add", static_cast<double>(steps), 4, losses});
  return sketch;
}

Sketch NmtSketch(Random random) {
  const int64_t size = 256 + 8 * static_cast<int64_t>(random.Below(65));
  const Samples hidden{size};
  const int64_t gates = 4 * size;
  // Mostly near the longest.
  const auto length = [&] {
    const double draw = random.Unit();
    return 33 - static_cast<int>(12 * draw * draw);
  };
  const int from_steps = length(), to_steps = length();
  constexpr int kEncoderDepth = 2, kDecoderDepth = 3;
  Sketch sketch;
  const auto weights = [&](const std::string& name, int64_t from) {
    return sketch.Add({name, "variable", 0, 4 * from * gates, {}});
  };
  const auto cell = [&](const std::string& name, std::vector<int32_t> inputs, int64_t from) {
    return sketch.Add({name, "lstm", 2.0 * 64 * static_cast<double>(from * gates), hidden.bytes(),
                       std::move(inputs)});
  };
  const int32_t source = sketch.Add({"placeholders/source", "input", 0, 64 * 8 * from_steps, {}});
  const int32_t target = sketch.Add({"placeholders/target", "input", 0, 64 * 8 * to_steps, {}});
  const int32_t in_words = sketch.Add({"encoder/slicing_layer/strided_slice",
                                       "gather",
                                       64.0 * from_steps * static_cast<double>(size),
                                       from_steps * hidden.bytes(),
                                       {source}});
  const int32_t out_words = sketch.Add({"decoder/slicing_layer/strided_slice",
                                        "gather",
                                        64.0 * to_steps * static_cast<double>(size),
                                        to_steps * hidden.bytes(),
                                        {target}});
  std::vector<int32_t> below(static_cast<size_t>(from_steps), in_words);
  std::vector<int32_t> last;
  for (int depth = 0; depth < kEncoderDepth; ++depth) {
    const int32_t w =
        weights(fmt::format("encoder/depth_{}/lstm_cell/kernel/read", depth), 2 * size);
    int32_t state = -1;
    for (int step = 0; step < from_steps; ++step) {
      std::vector<int32_t> inputs = {below[static_cast<size_t>(step)], w};
      if (state >= 0) inputs.push_back(state);
      state = cell(fmt::format("encoder/depth_{}/static_rnn_{}/add_1", depth, step),
                   std::move(inputs), 2 * size);
      below[static_cast<size_t>(step)] = state;
    }
    last.push_back(state);
  }
  const int32_t memory =
      sketch.Add({"encoder/attention/Reshape_1", "concat", 0, from_steps * hidden.bytes(), below});
  const int32_t keys = sketch.Add({"encoder/attention/keys",
                                   "matmul",
                                   2.0 * 64 * from_steps * static_cast<double>(size * size),
                                   from_steps * hidden.bytes(),
                                   {memory}});
  // The other layers' kernels lie with their first cells.
  const int32_t kernel = weights("decoder/depth_0/lstm_cell/kernel/read", 2 * size);
  std::vector<int32_t> states;
  for (int depth = 0; depth < kDecoderDepth; ++depth) {
    states.push_back(last[static_cast<size_t>(depth % kEncoderDepth)]);
  }
  std::vector<int32_t> outputs;
  for (int step = 0; step < to_steps; ++step) {
    int32_t input = out_words;
    for (int depth = 0; depth < kDecoderDepth; ++depth) {
      const auto d = static_cast<size_t>(depth);
      std::vector<int32_t> inputs = {input, states[d]};
      if (depth == 0) inputs.push_back(kernel);
      states[d] = input = cell(fmt::format("decoder/depth_{}/static_rnn_{}/add_1", depth, step),
                               std::move(inputs), 2 * size);
    }
    outputs.push_back(sketch.Add({fmt::format("decoder/attention_decoder/attn_{}/concat", step),
                                  "attention",
                                  64.0 * from_steps * static_cast<double>(size) * 8,
                                  2 * hidden.bytes(),
                                  {input, keys}}));
  }
  const int32_t all =
      sketch.Add({"decoder/concat", "concat", 0, 2 * to_steps * hidden.bytes(), outputs});
  const int32_t logits = sketch.Add({"decoder/projection",
                                     "matmul",
                                     2.0 * 64 * to_steps * 2.0 * static_cast<double>(size) * 8000,
                                     static_cast<int64_t>(64) * to_steps * 32000,
                                     {all}});
  sketch.Add({"decoder/loss", "softmax", 64.0 * to_steps * 8000 * 5, 4, {logits, target}});
  return sketch;
}

struct Range {
  double low, high;
  bool Holds(double x) const { return x >= low && x <= high; }
};

// Table I: nodes and degrees near the family's averages, diameters in its range.
struct Wanted {
  Range nodes, degree, diameter;
};
Wanted WantedOf(GraphFamily family) {
  switch (family) {
    case GraphFamily::kCifar10: return {{250, 360}, {1.42, 1.52}, {76, 154}};
    case GraphFamily::kPtb: return {{440, 560}, {2.46, 2.66}, {216, 450}};
    case GraphFamily::kNmt: return {{110, 215}, {2.55, 2.75}, {41, 69}};
    case GraphFamily::kReal: break;
  }
  return {};
}

Sketch DrawSketch(GraphFamily family, Random random) {
  switch (family) {
    case GraphFamily::kCifar10: return CifarSketch(random).Make();
    case GraphFamily::kPtb: return PtbSketch(random);
    case GraphFamily::kNmt: return NmtSketch(random);
    case GraphFamily::kReal: break;
  }
  return {};
}

double Diameter(const std::vector<SketchNode>& nodes) {
  std::vector<std::vector<int32_t>> children(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (const int32_t input : nodes[i].inputs) {
      children[static_cast<size_t>(input)].push_back(static_cast<int32_t>(i));
    }
  }
  int32_t diameter = 0;
  for (size_t start = 0; start < nodes.size(); ++start) {
    std::vector<int32_t> distance(nodes.size(), -1), reached = {static_cast<int32_t>(start)};
    distance[start] = 0;
    for (size_t next = 0; next < reached.size(); ++next) {
      const auto node = static_cast<size_t>(reached[next]);
      for (const int32_t child : children[node]) {
        if (distance[static_cast<size_t>(child)] >= 0) continue;
        distance[static_cast<size_t>(child)] = distance[node] + 1;
        reached.push_back(child);
      }
    }
    diameter = std::max(diameter, distance[static_cast<size_t>(reached.back())]);
  }
  return diameter;
}

}  // namespace

Sketch SketchOf(GraphFamily family, int index) {
  constexpr int kAttempts = 500;
  const Wanted wanted = WantedOf(family);
  const Random random =
      Random(2109).Fork(static_cast<uint64_t>(family)).Fork(static_cast<uint64_t>(index));
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    Sketch sketch = DrawSketch(family, random.Fork(static_cast<uint64_t>(attempt)));
    const auto nodes = static_cast<double>(sketch.nodes().size());
    double edges = 0;
    for (const SketchNode& node : sketch.nodes()) edges += static_cast<double>(node.inputs.size());
    if (wanted.nodes.Holds(nodes) && wanted.degree.Holds(edges / nodes) &&
        wanted.diameter.Holds(Diameter(sketch.nodes()))) {
      return sketch;
    }
  }
  PW_CHECK(false);
  return {};
}

}  // namespace placewright
