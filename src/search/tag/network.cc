#include "search/tag/network.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/elementary.h"
#include "base/random.h"

namespace placewright {
namespace {

constexpr float kSlope = 0.2F, kNormEpsilon = 1e-5F;

float Tanh(float x) {
  const double e = PortableExp(-2 * std::abs(static_cast<double>(x)));
  const double y = (1 - e) / (1 + e);
  return static_cast<float>(x < 0 ? -y : y);
}

void Tanh(std::vector<float>& numbers) {
  for (float& number : numbers) number = Tanh(number);
}

int64_t FeaturesOf(TagEdge type) {
  switch (type) {
    case TagEdge::kLink: return kMachineFeatures;
    case TagEdge::kPrev:
    case TagEdge::kSucc: return kDataFeatures;
    case TagEdge::kPlace:
    case TagEdge::kServe: return kPlaceFeatures;
  }
  return 0;
}

}  // namespace

std::vector<std::pair<std::string, std::vector<int64_t>>> TagParameters(
    const TagNetworkSize& size) {
  std::vector<std::pair<std::string, std::vector<int64_t>>> all;
  const auto dense = [&](const std::string& name, int64_t inputs, int64_t outputs) {
    all.push_back({name + ".weight", {outputs, inputs}});
    all.push_back({name + ".bias", {outputs}});
  };
  dense("in.unit", kUnitFeatures, size.width);
  dense("in.device", kDeviceFeatures, size.width);
  for (size_t type = 0; type < kTagEdgeNames.size(); ++type) {
    dense(fmt::format("in.{}", kTagEdgeNames[type]), FeaturesOf(static_cast<TagEdge>(type)),
          size.edge);
  }
  for (int64_t layer = 0; layer < size.layers; ++layer) {
    for (const char* const type : kTagEdgeNames) {
      const std::string name = fmt::format("layer{}.{}", layer, type);
      all.push_back({name + ".source", {size.inner(), size.width + size.edge}});
      all.push_back({name + ".target", {size.inner(), size.width}});
      all.push_back({name + ".left", {size.inner()}});
      all.push_back({name + ".right", {size.inner()}});
    }
    for (const char* const node : {"unit", "device"}) {
      const std::string name = fmt::format("layer{}.{}", layer, node);
      dense(name, size.inner(), size.width);
      all.push_back({name + ".scale", {size.width}});
      all.push_back({name + ".shift", {size.width}});
    }
  }
  dense("out.device.first", size.width + 1, size.width);
  dense("out.device.second", size.width, size.width);
  dense("out.hidden", 2 * size.width + static_cast<int64_t>(kSliceOptionCount), size.width);
  dense("out.score", size.width, 1);
  return all;
}

TagNetwork TagNetwork::Untrained(const TagNetworkSize& size, uint64_t seed) {
  StoredPolicy policy;
  Random random(seed);
  for (const auto& [name, sizes] : TagParameters(size)) {
    const bool attends = name.ends_with(".left") || name.ends_with(".right");
    const double inputs_and_outputs =
        static_cast<double>(sizes.size() == 2 ? sizes[0] + sizes[1] : size.head + 1);
    const double bound = sizes.size() == 2 || attends ? std::sqrt(6 / inputs_and_outputs) : 0;
    int64_t count = 1;
    for (const int64_t of : sizes) count *= of;
    StoredTensor& tensor = policy.parameters[name];
    tensor.sizes = sizes;
    for (int64_t i = 0; i < count; ++i) {
      const double drawn = bound * (2 * random.Unit() - 1);
      const auto value = static_cast<float>(bound > 0 ? drawn : name.ends_with(".scale") ? 1 : 0);
      tensor.bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
    }
  }
  return FromPolicy(size, policy).Take();
}

Result<TagNetwork> TagNetwork::FromPolicy(const TagNetworkSize& size, const StoredPolicy& policy) {
  std::map<std::string, std::vector<float>> read;
  for (const auto& [name, sizes] : TagParameters(size)) {
    const auto found = policy.parameters.find(name);
    const bool fits = found != policy.parameters.end() &&
                      found->second.type == StoredTensor::Type::kF32 &&
                      found->second.sizes == sizes;
    if (!fits) {
      return MakeError(ErrorCode::kField,
                       fmt::format("the policy's parameter {} is missing or of another size", name),
                       "", "Train it again with this version.");
    }
    std::vector<float> numbers(found->second.bytes.size() / sizeof(float));
    std::memcpy(numbers.data(), found->second.bytes.data(), numbers.size() * sizeof(float));
    read[name] = std::move(numbers);
  }
  const auto matrix = [&](const std::string& name, int64_t inputs, int64_t outputs) {
    Dense dense{inputs, outputs, {}, {}};
    const std::vector<float>& by_output = read[name];
    for (int64_t i = 0; i < inputs; ++i) {
      for (int64_t o = 0; o < outputs; ++o) {
        dense.by_input.push_back(by_output[static_cast<size_t>(o * inputs + i)]);
      }
    }
    return dense;
  };
  const auto dense = [&](const std::string& name, int64_t inputs, int64_t outputs) {
    Dense made = matrix(name + ".weight", inputs, outputs);
    made.bias = read[name + ".bias"];
    return made;
  };
  TagNetwork network;
  network.size_ = size;
  network.unit_ = dense("in.unit", kUnitFeatures, size.width);
  network.device_ = dense("in.device", kDeviceFeatures, size.width);
  for (size_t type = 0; type < kTagEdgeNames.size(); ++type) {
    network.edges_[type] = dense(fmt::format("in.{}", kTagEdgeNames[type]),
                                 FeaturesOf(static_cast<TagEdge>(type)), size.edge);
  }
  for (int64_t number = 0; number < size.layers; ++number) {
    Layer& layer = network.layers_.emplace_back();
    for (size_t type = 0; type < kTagEdgeNames.size(); ++type) {
      const std::string name = fmt::format("layer{}.{}", number, kTagEdgeNames[type]);
      layer.types[type] = {matrix(name + ".source", size.width + size.edge, size.inner()),
                           matrix(name + ".target", size.width, size.inner()), read[name + ".left"],
                           read[name + ".right"]};
    }
    const std::string unit = fmt::format("layer{}.unit", number);
    const std::string device = fmt::format("layer{}.device", number);
    layer.unit = dense(unit, size.inner(), size.width);
    layer.device = dense(device, size.inner(), size.width);
    layer.unit_scale = read[unit + ".scale"];
    layer.unit_shift = read[unit + ".shift"];
    layer.device_scale = read[device + ".scale"];
    layer.device_shift = read[device + ".shift"];
  }
  network.device_first_ = dense("out.device.first", size.width + 1, size.width);
  network.device_second_ = dense("out.device.second", size.width, size.width);
  network.hidden_ =
      dense("out.hidden", 2 * size.width + static_cast<int64_t>(kSliceOptionCount), size.width);
  network.score_ = dense("out.score", size.width, 1);
  return network;
}

void TagNetwork::Dense::AddTo(const float* x, int64_t from, int64_t count, float* out) const {
  for (int64_t i = 0; i < count; ++i) {
    const float* const row = &by_input[static_cast<size_t>((from + i) * outputs)];
    const float factor = x[i];
    for (int64_t o = 0; o < outputs; ++o) out[o] += factor * row[o];
  }
}

void TagNetwork::Dense::Apply(const float* x, float* out) const {
  std::copy(bias.begin(), bias.end(), out);
  AddTo(x, 0, inputs, out);
}

// Of one type, by target: edges [offsets[i], offsets[i + 1]) lead to node i.
struct TagNetwork::Edges {
  std::vector<size_t> offsets{0};
  std::vector<size_t> sources;
  std::vector<float> numbers;  // [edge][size.edge]
};

void TagNetwork::Attend(const Attention& attention, const Edges& edges,
                        const std::vector<float>& sources, const std::vector<float>& targets,
                        std::vector<float>& sum) const {
  const auto width = static_cast<size_t>(size_.width), inner = static_cast<size_t>(size_.inner());
  const auto heads = static_cast<size_t>(size_.heads), head = static_cast<size_t>(size_.head);
  // W x of every source once.
  std::vector<float> of_source(sources.size() / width * inner, 0);
  for (size_t node = 0; node * width < sources.size(); ++node) {
    attention.source.AddTo(&sources[node * width], 0, size_.width, &of_source[node * inner]);
  }
  std::vector<float> messages, scores, target(inner);
  for (size_t node = 0; node + 1 < edges.offsets.size(); ++node) {
    const size_t from = edges.offsets[node], to = edges.offsets[node + 1];
    if (from == to) continue;
    std::fill(target.begin(), target.end(), 0.0F);
    attention.target.AddTo(&targets[node * width], 0, size_.width, target.data());
    messages.assign((to - from) * inner, 0);
    scores.assign((to - from) * heads, 0);
    for (size_t e = from; e < to; ++e) {
      float* const message = &messages[(e - from) * inner];
      std::copy_n(&of_source[edges.sources[e] * inner], inner, message);
      attention.source.AddTo(&edges.numbers[e * static_cast<size_t>(size_.edge)], size_.width,
                             size_.edge, message);
      for (size_t h = 0; h < heads; ++h) {
        float score = 0;
        for (size_t k = h * head; k < (h + 1) * head; ++k) {
          score += attention.left[k] * message[k] + attention.right[k] * target[k];
        }
        scores[(e - from) * heads + h] = score > 0 ? score : kSlope * score;
      }
    }
    for (size_t h = 0; h < heads; ++h) {
      float most = -std::numeric_limits<float>::infinity();
      for (size_t e = 0; e < to - from; ++e) most = std::max(most, scores[e * heads + h]);
      double all = 0;
      for (size_t e = 0; e < to - from; ++e) {
        const double weight = PortableExp(static_cast<double>(scores[e * heads + h] - most));
        scores[e * heads + h] = static_cast<float>(weight);
        all += weight;
      }
      for (size_t e = 0; e < to - from; ++e) {
        const auto weight = static_cast<float>(static_cast<double>(scores[e * heads + h]) / all);
        for (size_t k = h * head; k < (h + 1) * head; ++k) {
          sum[node * inner + k] += weight * messages[e * inner + k];
        }
      }
    }
  }
}

void TagNetwork::Update(const Dense& dense, const std::vector<float>& scale,
                        const std::vector<float>& shift, const std::vector<float>& sum,
                        double types, bool last, std::vector<float>& nodes) const {
  const auto width = static_cast<size_t>(size_.width), inner = static_cast<size_t>(size_.inner());
  std::vector<float> mean(inner), out(width);
  for (size_t node = 0; node * width < nodes.size(); ++node) {
    for (size_t k = 0; k < inner; ++k) mean[k] = sum[node * inner + k] / static_cast<float>(types);
    dense.Apply(mean.data(), out.data());
    float* const x = &nodes[node * width];
    double average = 0, square = 0;
    for (size_t k = 0; k < width; ++k) {
      x[k] += last ? out[k] : Tanh(out[k]);
      average += static_cast<double>(x[k]);
    }
    average /= static_cast<double>(width);
    for (size_t k = 0; k < width; ++k) {
      const double off = static_cast<double>(x[k]) - average;
      square += off * off;
    }
    const double deviation =
        std::sqrt(square / static_cast<double>(width) + static_cast<double>(kNormEpsilon));
    for (size_t k = 0; k < width; ++k) {
      x[k] = static_cast<float>((static_cast<double>(x[k]) - average) / deviation) * scale[k] +
             shift[k];
    }
  }
}

std::vector<float> TagNetwork::Scores(const TagGraph& graph, size_t next,
                                      std::span<const Slice* const> slices) const {
  const auto width = static_cast<size_t>(size_.width), inner = static_cast<size_t>(size_.inner());
  const auto embed = [&](const Dense& dense, const std::vector<float>& features) {
    const auto inputs = static_cast<size_t>(dense.inputs);
    const auto outputs = static_cast<size_t>(dense.outputs);
    std::vector<float> out(features.size() / inputs * outputs);
    for (size_t i = 0; i * inputs < features.size(); ++i) {
      dense.Apply(&features[i * inputs], &out[i * outputs]);
    }
    Tanh(out);
    return out;
  };
  std::vector<float> units = embed(unit_, graph.unit), devices = embed(device_, graph.device);
  // The edges of each type by their target.
  std::array<Edges, 5> edges;
  std::array<std::vector<size_t>, 5> rows;  // of features
  const auto end_of_target = [&](TagEdge type) {
    Edges& of = edges[static_cast<size_t>(type)];
    of.offsets.push_back(of.sources.size());
  };
  const auto add = [&](TagEdge type, size_t source, size_t row) {
    edges[static_cast<size_t>(type)].sources.push_back(source);
    rows[static_cast<size_t>(type)].push_back(row);
  };
  for (size_t to = 0; to < graph.devices; ++to) {
    for (size_t from = 0; from < graph.devices; ++from) {
      add(TagEdge::kLink, from, from * graph.devices + to);
    }
    end_of_target(TagEdge::kLink);
    for (size_t unit = 0; unit < graph.units; ++unit) {
      add(TagEdge::kPlace, unit, unit * graph.devices + to);
    }
    end_of_target(TagEdge::kPlace);
  }
  for (size_t unit = 0; unit < graph.units; ++unit) {
    for (size_t i = 0; i < graph.data.size(); ++i) {
      if (static_cast<size_t>(graph.data[i].to) == unit) {
        add(TagEdge::kPrev, static_cast<size_t>(graph.data[i].from), i);
      }
      if (static_cast<size_t>(graph.data[i].from) == unit) {
        add(TagEdge::kSucc, static_cast<size_t>(graph.data[i].to), i);
      }
    }
    end_of_target(TagEdge::kPrev);
    end_of_target(TagEdge::kSucc);
    for (size_t device = 0; device < graph.devices; ++device) {
      add(TagEdge::kServe, device, unit * graph.devices + device);
    }
    end_of_target(TagEdge::kServe);
  }
  for (size_t type = 0; type < edges.size(); ++type) {
    const Dense& dense = edges_[type];
    const auto inputs = static_cast<size_t>(dense.inputs);
    const std::vector<float>& features =
        type == static_cast<size_t>(TagEdge::kLink) ? graph.machine
        : type == static_cast<size_t>(TagEdge::kPrev) || type == static_cast<size_t>(TagEdge::kSucc)
            ? graph.data_features
            : graph.place;
    edges[type].numbers.resize(rows[type].size() * static_cast<size_t>(size_.edge));
    for (size_t e = 0; e < rows[type].size(); ++e) {
      dense.Apply(&features[rows[type][e] * inputs],
                  &edges[type].numbers[e * static_cast<size_t>(size_.edge)]);
    }
    Tanh(edges[type].numbers);
  }
  const auto edges_of = [&](TagEdge type) -> const Edges& {
    return edges[static_cast<size_t>(type)];
  };
  for (size_t number = 0; number < layers_.size(); ++number) {
    const Layer& layer = layers_[number];
    const auto of = [&](TagEdge type) -> const Attention& {
      return layer.types[static_cast<size_t>(type)];
    };
    std::vector<float> to_units(graph.units * inner, 0), to_devices(graph.devices * inner, 0);
    Attend(of(TagEdge::kPrev), edges_of(TagEdge::kPrev), units, units, to_units);
    Attend(of(TagEdge::kSucc), edges_of(TagEdge::kSucc), units, units, to_units);
    Attend(of(TagEdge::kServe), edges_of(TagEdge::kServe), devices, units, to_units);
    Attend(of(TagEdge::kLink), edges_of(TagEdge::kLink), devices, devices, to_devices);
    Attend(of(TagEdge::kPlace), edges_of(TagEdge::kPlace), units, devices, to_devices);
    const bool last = number + 1 == layers_.size();
    Update(layer.unit, layer.unit_scale, layer.unit_shift, to_units, 3, last, units);
    Update(layer.device, layer.device_scale, layer.device_shift, to_devices, 2, last, devices);
  }
  // What a device adds to the hidden numbers if it is in the set.
  std::vector<float> base(width), out(width), in(width), first(width), node(width + 1);
  hidden_.Apply(std::vector<float>(static_cast<size_t>(hidden_.inputs), 0).data(), base.data());
  hidden_.AddTo(&units[next * width], size_.width, size_.width, base.data());
  std::vector<float> differences(graph.devices * width, 0);
  for (size_t device = 0; device < graph.devices; ++device) {
    std::copy_n(&devices[device * width], width, node.data());
    const auto decode = [&](float bit, std::vector<float>& to) {
      node[width] = bit;
      device_first_.Apply(node.data(), first.data());
      Tanh(first);
      device_second_.Apply(first.data(), to.data());
      Tanh(to);
      for (float& number : to) number /= static_cast<float>(graph.devices);
    };
    decode(0, out);
    decode(1, in);
    hidden_.AddTo(out.data(), 0, size_.width, base.data());
    for (size_t k = 0; k < width; ++k) in[k] -= out[k];
    hidden_.AddTo(in.data(), 0, size_.width, &differences[device * width]);
  }
  std::vector<float> scores, sum(width);
  for (const Slice* const slice : slices) {
    sum = base;
    for (const int32_t group : slice->groups) {
      const float* const difference = &differences[static_cast<size_t>(group) * width];
      for (size_t k = 0; k < width; ++k) sum[k] += difference[k];
    }
    const float one = 1;
    hidden_.AddTo(&one, 2 * size_.width + static_cast<int64_t>(slice->option), 1, sum.data());
    Tanh(sum);
    float score = 0;
    score_.Apply(sum.data(), &score);
    scores.push_back(score);
  }
  return scores;
}

}  // namespace placewright
