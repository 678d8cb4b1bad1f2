#include "learn/tag/tag_network.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/check.h"

namespace placewright {
namespace {

constexpr double kSlope = 0.2, kNormEpsilon = 1e-5;

void Append(std::vector<float>& all, const std::vector<float>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

// Rows added up by the number that `to` has for each: [count, ...].
at::Tensor SumBy(const at::Tensor& rows, const at::Tensor& to, int64_t count) {
  std::vector<int64_t> sizes = rows.sizes().vec();
  sizes[0] = count;
  return at::zeros(sizes, rows.options()).index_add(0, to, rows);
}

at::Tensor Indices(const std::vector<int64_t>& of, const at::Device& device) {
  return at::tensor(of, at::kLong).to(device);
}

// The rows of a batch as they come.
class TagBatchRows {
 public:
  void AddGraph(const TagGraph& graph) {
    units_ += graph_units_;
    devices_ += graph_devices_;
    graph_units_ = static_cast<int64_t>(graph.units);
    graph_devices_ = static_cast<int64_t>(graph.devices);
    Append(unit_, graph.unit);
    Append(device_, graph.device);
    Append(machine_, graph.machine);
    Append(data_numbers_, graph.data_features);
    Append(place_, graph.place);
    const auto add_pairs = [&](Ends& ends, int64_t first, int64_t rows) {
      for (int64_t a = 0; a < rows; ++a) {
        for (int64_t b = 0; b < graph_devices_; ++b) {
          ends.first.push_back(first + a);
          ends.second.push_back(devices_ + b);
        }
      }
    };
    add_pairs(machines_, devices_, graph_devices_);
    add_pairs(places_, units_, graph_units_);
    for (const TagGraph::Data& edge : graph.data) {
      data_.first.push_back(units_ + edge.from);
      data_.second.push_back(units_ + edge.to);
    }
    graph_of_device_.insert(graph_of_device_.end(), graph.devices, graphs_);
    devices_of_graph_.push_back(graph_devices_);
    ++graphs_;
  }

  // Of the graph that was added last.
  void AddLesson(size_t next) {
    next_.push_back(units_ + static_cast<int64_t>(next));
    graph_of_lesson_.push_back(graphs_ - 1);
  }
  // Of the lesson that was added last.
  void AddSlice(const Slice& slice, float target) {
    for (const int32_t group : slice.groups) {
      members_.first.push_back(static_cast<int64_t>(of_slice_.size()));
      members_.second.push_back(devices_ + group);
    }
    of_slice_.push_back(static_cast<int64_t>(next_.size()) - 1);
    option_.push_back(static_cast<int64_t>(slice.option));
    target_.push_back(target);
  }

  void Fill(const at::TensorOptions& numbers, TagBatch& batch) const {
    const at::Device place = numbers.device();
    const auto floats = [&](const std::vector<float>& of, size_t columns) {
      return at::tensor(of, at::kFloat).reshape({-1, static_cast<int64_t>(columns)}).to(numbers);
    };
    batch.graphs = graphs_;
    batch.lessons = static_cast<int64_t>(next_.size());
    batch.unit = floats(unit_, kUnitFeatures);
    batch.device = floats(device_, kDeviceFeatures);
    const auto set = [&](TagEdge type, const std::vector<int64_t>& sources,
                         const std::vector<int64_t>& to, int64_t nodes,
                         const at::Tensor& features) {
      batch.edges[static_cast<size_t>(type)] = {Indices(sources, place), RowSets(to, nodes, place),
                                                features};
    };
    const int64_t units = units_ + graph_units_, devices = devices_ + graph_devices_;
    const at::Tensor of_data = floats(data_numbers_, kDataFeatures);
    const at::Tensor of_places = floats(place_, kPlaceFeatures);
    set(TagEdge::kLink, machines_.first, machines_.second, devices,
        floats(machine_, kMachineFeatures));
    set(TagEdge::kPrev, data_.first, data_.second, units, of_data);
    set(TagEdge::kSucc, data_.second, data_.first, units, of_data);
    set(TagEdge::kPlace, places_.first, places_.second, devices, of_places);
    set(TagEdge::kServe, places_.second, places_.first, units, of_places);
    batch.graph_of_device = Indices(graph_of_device_, place);
    batch.devices_of_graph = Indices(devices_of_graph_, place).to(numbers);
    batch.next = Indices(next_, place);
    batch.graph_of_lesson = Indices(graph_of_lesson_, place);
    batch.slices = RowSets(of_slice_, batch.lessons, place);
    batch.option_of_slice = Indices(option_, place);
    batch.target = at::tensor(target_, at::kFloat).to(numbers);
    batch.slice_of_member = Indices(members_.first, place);
    batch.device_of_member = Indices(members_.second, place);
  }

 private:
  struct Ends {
    std::vector<int64_t> first, second;
  };
  int64_t graphs_ = 0;
  int64_t units_ = 0, devices_ = 0;  // of the graphs before the last
  int64_t graph_units_ = 0, graph_devices_ = 0;
  std::vector<float> unit_, device_, machine_, data_numbers_, place_, target_;
  Ends machines_, data_, places_, members_;
  std::vector<int64_t> graph_of_device_, devices_of_graph_, next_, graph_of_lesson_, of_slice_,
      option_;
};

}  // namespace

at::Tensor LogSoftmaxBy(const at::Tensor& rows, const RowSets& sets) {
  at::Tensor most;
  {
    const at::NoGradGuard no_gradients;
    std::vector<int64_t> sizes = rows.sizes().vec();
    sizes[0] = 1;
    const at::Tensor fill =
        at::full(sizes, -std::numeric_limits<double>::infinity(), rows.options());
    const at::Tensor filled = at::cat({rows, fill}).index_select(0, sets.table.flatten());
    sizes[0] = sets.table.size(1);
    sizes.insert(sizes.begin(), sets.sets);
    most = filled.reshape(sizes).amax(1);
  }
  const at::Tensor shifted = rows - most.index_select(0, sets.set_of);
  const at::Tensor sums = SumBy(shifted.exp(), sets.set_of, sets.sets);
  return shifted - sums.log().index_select(0, sets.set_of);
}

RowSets::RowSets(const std::vector<int64_t>& all, int64_t count, const at::Device& device)
    : sets(count), set_of(Indices(all, device)) {
  std::vector<std::vector<int64_t>> rows(static_cast<size_t>(count));
  size_t most = 1;
  for (size_t row = 0; row < all.size(); ++row) {
    std::vector<int64_t>& own = rows[static_cast<size_t>(all[row])];
    own.push_back(static_cast<int64_t>(row));
    most = std::max(most, own.size());
  }
  std::vector<int64_t> filled;
  for (std::vector<int64_t>& own : rows) {
    own.resize(most, static_cast<int64_t>(all.size()));
    filled.insert(filled.end(), own.begin(), own.end());
  }
  table = Indices(filled, device).reshape({count, static_cast<int64_t>(most)});
}

TagBatch::TagBatch(std::span<const TagLesson* const> all, const at::TensorOptions& numbers) {
  PW_CHECK(!all.empty());
  TagBatchRows rows;
  for (const TagLesson* const lesson : all) {
    rows.AddGraph(lesson->graph);
    rows.AddLesson(lesson->next);
    for (size_t i = 0; i < lesson->slices.size(); ++i) {
      rows.AddSlice(lesson->slices[i], lesson->target[i]);
    }
  }
  rows.Fill(numbers, *this);
}

TagBatch::TagBatch(const TagGraph& graph, std::span<const TagChoice> choices,
                   const at::TensorOptions& numbers) {
  PW_CHECK(!choices.empty());
  TagBatchRows rows;
  rows.AddGraph(graph);
  for (const TagChoice& choice : choices) {
    rows.AddLesson(choice.unit);
    for (const Slice* const slice : choice.slices) rows.AddSlice(*slice, 0);
  }
  rows.Fill(numbers, *this);
}

TagAutogradNetwork::TagAutogradNetwork(const TagNetworkSize& size, Parameters& parameters)
    : size_(size) {
  for (const auto& [name, sizes] : TagParameters(size)) {
    at::Tensor& parameter = parameters_[name];
    if (sizes.size() == 2) {
      parameter = parameters.Glorot(name, sizes[0], sizes[1]);
    } else if (name.ends_with(".left") || name.ends_with(".right")) {
      // Of each head, one row.
      parameter =
          parameters.Uniform(name, sizes, std::sqrt(6.0 / static_cast<double>(size.head + 1)));
    } else {
      parameter = parameters.Constant(name, sizes, name.ends_with(".scale") ? 1 : 0);
    }
  }
}

at::Tensor TagAutogradNetwork::Dense(const std::string& name, const at::Tensor& x) const {
  return at::linear(x, Of(name + ".weight"), Of(name + ".bias"));
}

at::Tensor TagAutogradNetwork::Attend(const std::string& name, const at::Tensor& sources,
                                      const at::Tensor& targets, const TagBatch::Edges& edges,
                                      const at::Tensor& edge_numbers) const {
  const at::Tensor& weight = Of(name + ".source");
  const auto heads = [&](const at::Tensor& rows) {
    return rows.reshape({-1, size_.heads, size_.head});
  };
  // W x of every node once.
  const at::Tensor of_source = at::linear(sources, weight.narrow(1, 0, size_.width));
  const at::Tensor message =
      heads(of_source.index_select(0, edges.sources) +
            at::linear(edge_numbers, weight.narrow(1, size_.width, size_.edge)));
  const at::Tensor left = heads(Of(name + ".left")), right = heads(Of(name + ".right"));
  const at::Tensor of_target = (heads(at::linear(targets, Of(name + ".target"))) * right).sum(2);
  const at::Tensor score = at::leaky_relu(
      (message * left).sum(2) + of_target.index_select(0, edges.targets.set_of), kSlope);
  const at::Tensor weights = LogSoftmaxBy(score, edges.targets).exp();
  return SumBy((weights.unsqueeze(2) * message).flatten(1), edges.targets.set_of,
               edges.targets.sets);
}

at::Tensor TagAutogradNetwork::Update(const std::string& name, const at::Tensor& nodes,
                                      const at::Tensor& mean, bool last) const {
  const at::Tensor change = Dense(name, mean);
  return at::layer_norm(nodes + (last ? change : change.tanh()), {size_.width}, Of(name + ".scale"),
                        Of(name + ".shift"), kNormEpsilon);
}

at::Tensor TagAutogradNetwork::Scores(const TagBatch& batch) const {
  at::Tensor units = Dense("in.unit", batch.unit).tanh();
  at::Tensor devices = Dense("in.device", batch.device).tanh();
  std::array<at::Tensor, 5> numbers;
  for (size_t type = 0; type < numbers.size(); ++type) {
    const std::string name = fmt::format("in.{}", kTagEdgeNames[type]);
    numbers[type] = Dense(name, batch.edges[type].features).tanh();
  }
  for (int64_t layer = 0; layer < size_.layers; ++layer) {
    const auto attend = [&](TagEdge edge, const at::Tensor& sources, const at::Tensor& targets) {
      const auto type = static_cast<size_t>(edge);
      return Attend(fmt::format("layer{}.{}", layer, kTagEdgeNames[type]), sources, targets,
                    batch.edges[type], numbers[type]);
    };
    const at::Tensor to_units = attend(TagEdge::kPrev, units, units) +
                                attend(TagEdge::kSucc, units, units) +
                                attend(TagEdge::kServe, devices, units);
    const at::Tensor to_devices =
        attend(TagEdge::kLink, devices, devices) + attend(TagEdge::kPlace, units, devices);
    const bool last = layer + 1 == size_.layers;
    units = Update(fmt::format("layer{}.unit", layer), units, to_units / 3, last);
    devices = Update(fmt::format("layer{}.device", layer), devices, to_devices / 2, last);
  }
  return Decode(batch, units, devices);
}

// What the hidden numbers have of devices in no set comes once for each graph, and what a device changes there once
// for all slices.
at::Tensor TagAutogradNetwork::Decode(const TagBatch& batch, const at::Tensor& units,
                                      const at::Tensor& devices) const {
  const at::Tensor& first = Of("out.device.first.weight");
  const at::Tensor seen =
      at::linear(devices, first.narrow(1, 0, size_.width), Of("out.device.first.bias"));
  const at::Tensor bit = first.select(1, size_.width);
  const at::Tensor& hidden = Of("out.hidden.weight");
  const at::Tensor count = batch.devices_of_graph.index_select(0, batch.graph_of_device);
  const auto decoded = [&](const at::Tensor& rows) {
    const at::Tensor mean_part = Dense("out.device.second", rows.tanh()).tanh();
    return at::linear(mean_part / count.unsqueeze(1), hidden.narrow(1, 0, size_.width));
  };
  const at::Tensor out = decoded(seen), in = decoded(seen + bit);
  const at::Tensor of_unit =
      at::linear(units.index_select(0, batch.next), hidden.narrow(1, size_.width, size_.width),
                 Of("out.hidden.bias"));
  const at::Tensor of_graph = SumBy(out, batch.graph_of_device, batch.graphs);
  const at::Tensor of_lesson = of_unit + of_graph.index_select(0, batch.graph_of_lesson);
  const at::Tensor of_option =
      hidden.narrow(1, 2 * size_.width, static_cast<int64_t>(kSliceOptionCount)).t();
  const at::Tensor in_set = SumBy((in - out).index_select(0, batch.device_of_member),
                                  batch.slice_of_member, batch.target.size(0));
  const at::Tensor sum = of_lesson.index_select(0, batch.slices.set_of) + in_set +
                         of_option.index_select(0, batch.option_of_slice);
  return Dense("out.score", sum.tanh()).squeeze(1);
}

at::Tensor TagAutogradNetwork::Loss(const TagBatch& batch) const {
  const at::Tensor priors = LogSoftmaxBy(Scores(batch), batch.slices);
  return -(batch.target * priors).sum() / static_cast<double>(batch.lessons);
}

}  // namespace placewright
