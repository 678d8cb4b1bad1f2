#include "study/traversal/families.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/random.h"
#include "cluster/catalogue.h"
#include "cluster/cluster_builder.h"
#include "cost/cost_model.h"
#include "formats/input.h"
#include "graph/graph_builder.h"

namespace placewright {
namespace {

constexpr std::array kFamilies{GraphFamily::kCifar10, GraphFamily::kPtb, GraphFamily::kNmt,
                               GraphFamily::kReal};
constexpr std::array<std::string_view, 4> kNames{"cifar10", "ptb", "nmt", "real"};

// What one chip of a K80 does in a microsecond in layers of this size, about (a tenth of what it is
// sold for), and what it takes to begin an op.
constexpr double kFlopsPerMicrosecond = 0.4e6, kBytesPerMicrosecond = 120e3;
constexpr double kLaunchMicroseconds = 12;

// A forward op to be.
struct Node {
  std::string name, type;
  double flops = 0;   // forward
  int64_t bytes = 0;  // of its output
  std::vector<int32_t> inputs;
};

class Sketch {
 public:
  int32_t Add(Node node) {
    std::sort(node.inputs.begin(), node.inputs.end());
    node.inputs.erase(std::unique(node.inputs.begin(), node.inputs.end()), node.inputs.end());
    nodes_.push_back(std::move(node));
    return static_cast<int32_t>(nodes_.size()) - 1;
  }
  const std::vector<Node>& nodes() const { return nodes_; }

 private:
  std::vector<Node> nodes_;
};

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
struct Rows {
  int64_t width = 0;
  int64_t bytes() const { return 4 * 64 * width; }
  double Matmul(int64_t from) const {
    return 2.0 * 64 * static_cast<double>(from) * static_cast<double>(width);
  }
};

Sketch PtbSketch(Random random) {
  const int64_t size = 600 + 8 * static_cast<int64_t>(random.Below(65));
  const Rows hidden{size}, wide{2 * size}, words_out{2000};  // sampled
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
  const Rows hidden{size};
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

double Diameter(const std::vector<Node>& nodes) {
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

// Draws until one is as the family is.
Sketch SketchOf(GraphFamily family, int index) {
  constexpr int kAttempts = 500;
  const Wanted wanted = WantedOf(family);
  const Random random =
      Random(2109).Fork(static_cast<uint64_t>(family)).Fork(static_cast<uint64_t>(index));
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    Sketch sketch = DrawSketch(family, random.Fork(static_cast<uint64_t>(attempt)));
    const auto nodes = static_cast<double>(sketch.nodes().size());
    double edges = 0;
    for (const Node& node : sketch.nodes()) edges += static_cast<double>(node.inputs.size());
    if (wanted.nodes.Holds(nodes) && wanted.degree.Holds(edges / nodes) &&
        wanted.diameter.Holds(Diameter(sketch.nodes()))) {
      return sketch;
    }
  }
  PW_CHECK(false);
  return {};
}

// How often the bytes of an op's output go to or from memory: kernels of depthwise convolutions are
// far from what the chip can do.
double PassesOf(const std::string& type) {
  if (type == "variable" || type == "input" || type == "constant") return 0;
  if (type == "depthwise") return 12;
  if (type == "norm" || type == "pool") return 4;
  return 2;
}

// `times` its forward work.
int64_t Nanoseconds(const Node& node, double times) {
  const double work =
      std::max(node.flops / kFlopsPerMicrosecond,
               PassesOf(node.type) * static_cast<double>(node.bytes) / kBytesPerMicrosecond);
  return static_cast<int64_t>(std::floor((kLaunchMicroseconds + times * work) * 1000 + 0.5));
}

template <class T>
T Checked(Result<T> result) {
  if (!result.ok()) CheckFailed(__FILE__, __LINE__, result.error().ToString());
  return std::move(result).Take();
}
void Checked(const Status& status) {
  if (!status.ok()) CheckFailed(__FILE__, __LINE__, status.error().ToString());
}

OutputSpec Bytes4(std::string name, int64_t bytes) {
  OutputSpec output;
  output.name = std::move(name);
  output.shape = {bytes / 4};
  return output;
}

struct TimedGraph {
  Graph graph;
  std::vector<std::pair<std::string, int64_t>> times;  // by op, ns
};

// Each node's forward op, then, backwards, the ops that give gradients of their inputs from those of
// their outputs. What is given (variables, batches) has none: gradients of variables stay where they
// are made.
TimedGraph BuildGraph(const Sketch& sketch, const std::string& name) {
  const std::vector<Node>& nodes = sketch.nodes();
  GraphBuilder builder(name, "family");
  TimedGraph made;
  std::vector<TensorId> outputs;
  for (const Node& node : nodes) {
    OpSpec spec;
    spec.name = node.name;
    spec.type = node.type;
    for (const int32_t input : node.inputs) {
      spec.inputs.push_back(outputs[static_cast<size_t>(input)]);
    }
    spec.outputs = {Bytes4(node.name + ":0", node.bytes)};
    outputs.push_back(Checked(builder.AddOp(std::move(spec))).front());
    made.times.emplace_back(node.name, Nanoseconds(node, 1));
  }
  std::vector<std::vector<TensorId>> gradients(nodes.size());  // by node, of its output
  const auto given = [](const Node& node) { return node.inputs.empty(); };
  for (size_t i = nodes.size(); i-- > 0;) {
    const Node& node = nodes[i];
    if (given(node)) continue;
    OpSpec spec;
    spec.name = node.name + "/gradient";
    spec.type = node.type + "_backward";
    spec.phase = Phase::kBackward;
    spec.inputs = gradients[i];
    spec.inputs.push_back(outputs[i]);
    std::vector<int32_t> wanted;
    for (const int32_t input : node.inputs) {
      const Node& from = nodes[static_cast<size_t>(input)];
      if (given(from)) continue;
      spec.outputs.push_back(Bytes4(fmt::format("{}:{}", spec.name, wanted.size()), from.bytes));
      wanted.push_back(input);
    }
    const std::string op = spec.name;
    const std::vector<TensorId> results = Checked(builder.AddOp(std::move(spec)));
    for (size_t k = 0; k < results.size(); ++k) {
      gradients[static_cast<size_t>(wanted[k])].push_back(results[k]);
    }
    builder.Colocate(node.name, op);
    made.times.emplace_back(op, Nanoseconds(node, 2));
  }
  made.graph = Checked(std::move(builder).Build());
  return made;
}

Cluster EqualDevices(int devices) {
  ClusterBuilder builder("placeto");
  DeviceKind kind;
  kind.name = "equal";
  const int32_t kind_index = Checked(builder.AddKind(kind));
  for (int d = 0; d < devices; ++d) {
    Device device;
    device.name = fmt::format("/device:GPU:{}", d);
    device.kind = kind_index;
    device.capacity = Bytes(12'000'000'000);
    Checked(builder.AddDevice(device));
  }
  for (int from = 0; from < devices; ++from) {
    for (int to = 0; to < devices; ++to) {
      if (from == to) continue;
      Link link;
      link.name = fmt::format("{}>{}", from, to);
      link.bandwidth = BytesPerSecond(7'600'000'000);
      link.latency = Nanos(25'000);
      link.source = "given";
      const LinkId id = Checked(builder.AddLink(link));
      Checked(builder.AddRoute(DeviceId(from), DeviceId(to), {id}));
    }
  }
  return Checked(std::move(builder).Build());
}

}  // namespace

std::span<const GraphFamily> AllGraphFamilies() { return std::span(kFamilies).first(3); }

std::span<const GraphFamily> StudiedFamilies() { return kFamilies; }

std::string_view ToString(GraphFamily family) { return kNames[static_cast<size_t>(family)]; }

std::optional<GraphFamily> ParseGraphFamily(std::string_view name) {
  for (const GraphFamily family : kFamilies) {
    if (ToString(family) == name) return family;
  }
  return std::nullopt;
}

CostGraph MakeFamilyGraph(GraphFamily family, int index, int devices) {
  PW_CHECK(family != GraphFamily::kReal && index >= 0 && index < kFamilySize && devices >= 1);
  TimedGraph made =
      BuildGraph(SketchOf(family, index), fmt::format("{} {}", ToString(family), index));
  CostGraph result{std::move(made.graph), EqualDevices(devices), {}, std::nullopt};
  result.costs = CostTable(result.graph.op_count(), static_cast<size_t>(devices));
  for (const OpId op : result.graph.ops()) {
    const auto& [name, time] = made.times[op.index()];
    PW_CHECK(result.graph.op(op).name == name);
    for (int d = 0; d < devices; ++d) result.costs.SetTime(op, DeviceId(d), Nanos(time));
    result.costs.SetSource(op, CostSource::kGiven);
  }
  return result;
}

std::span<const std::string_view> RealGraphFiles() {
  static constexpr std::array<std::string_view, 6> kFiles{
      "alexnet_b4_sgd.json.gz",   "tiny_rnnlm_1x64_b2_t3_sgd.json.gz",
      "vgg19_b96_sgd.json.gz",    "tiny_bert_l2_b2_s64_adam.json.gz",
      "resnet50_b32_sgd.json.gz", "mobilenet_v3_large_b64_sgd.json.gz"};
  return kFiles;
}

GroupGraphStatistics RealGraphStatistics(int index) {
  struct Counted {
    int64_t nodes, edges, diameter;
  };
  static constexpr std::array<Counted, 6> kCounted{{{64, 94, 24},
                                                   {98, 176, 13},
                                                   {123, 179, 49},
                                                   {204, 292, 27},
                                                   {504, 692, 52},
                                                   {604, 818, 74}}};
  const auto& [nodes, edges, diameter] = kCounted[static_cast<size_t>(index)];
  return {nodes, edges, static_cast<double>(edges) / static_cast<double>(nodes), diameter, true};
}

Result<CostGraph> LoadRealGraph(const std::string& folder, int index, int devices) {
  const std::string_view file = RealGraphFiles()[static_cast<size_t>(index)];
  PW_ASSIGN(LoadedGraph loaded, LoadGraph((std::filesystem::path(folder) / file).string()));
  PW_ASSIGN(const Cluster host, MakePreset("2xP100-16GB"));
  PW_ASSIGN(const CostTable modelled, ModelCosts(loaded.graph, host, {}));
  const DeviceId gpu = host.FindDevice("host0/gpu0");
  IdVector<OpId, Nanos> times(loaded.graph.op_count(), Nanos(0));
  for (const OpId op : loaded.graph.ops()) {
    if (modelled.Supports(op, gpu)) times[op] = modelled.time(op, gpu);
  }
  CostGraph result{std::move(loaded.graph), EqualDevices(devices), {}, std::nullopt};
  result.costs = GivenTimes(times, result.cluster);
  return result;
}

}  // namespace placewright
