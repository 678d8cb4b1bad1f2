#include "learn/tag/stored_lessons.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "base/check.h"

namespace placewright {
namespace {

// The numbers of a graph, in the order in which they are stored.
template <class Graph>
auto NumbersOf(Graph& graph) {
  return std::array{&graph.unit, &graph.device, &graph.data_features, &graph.machine, &graph.place};
}

std::array<size_t, 5> CountsOf(size_t units, size_t devices, size_t edges) {
  return {units * kUnitFeatures, devices * kDeviceFeatures, edges * kDataFeatures,
          devices * devices * kMachineFeatures, units * devices * kPlaceFeatures};
}

Error Damaged() {
  return MakeError(ErrorCode::kField, "the training's lessons do not fit together", "state",
                   "Train it again, or leave --resume out.");
}

}  // namespace

void StoreLessons(std::span<const TagLesson> lessons, StateWriter& state) {
  PW_CHECK(!lessons.empty());
  const TagGraph& graph = lessons.front().graph;
  const auto count = static_cast<int64_t>(lessons.size());
  std::vector<int64_t> data, next;
  for (const TagGraph::Data& edge : graph.data) data.insert(data.end(), {edge.from, edge.to});
  std::map<std::pair<std::vector<int32_t>, SliceOption>, size_t> table;
  std::vector<float> numbers;
  for (const TagLesson& lesson : lessons) {
    PW_CHECK(lesson.graph.units == graph.units && lesson.graph.devices == graph.devices &&
             lesson.graph.data.size() == graph.data.size());
    for (const std::vector<float>* part : NumbersOf(lesson.graph)) {
      numbers.insert(numbers.end(), part->begin(), part->end());
    }
    for (const Slice& slice : lesson.slices) table[{slice.groups, slice.option}];
    next.push_back(static_cast<int64_t>(lesson.next));
  }
  std::vector<uint8_t> groups(table.size() * graph.devices, 0), options;
  for (auto& [slice, number] : table) {
    number = options.size();
    for (const int32_t group : slice.first) {
      groups[number * graph.devices + static_cast<size_t>(group)] = 1;
    }
    options.push_back(static_cast<uint8_t>(slice.second));
  }
  std::vector<uint8_t> has(lessons.size() * table.size(), 0);
  std::vector<float> targets;
  for (size_t i = 0; i < lessons.size(); ++i) {
    std::map<size_t, float> target_of;
    for (size_t s = 0; s < lessons[i].slices.size(); ++s) {
      const Slice& slice = lessons[i].slices[s];
      target_of[table.at({slice.groups, slice.option})] = lessons[i].target[s];
    }
    for (const auto& [number, target] : target_of) {
      has[i * table.size() + number] = 1;
      targets.push_back(target);
    }
  }
  const at::Tensor rows = at::tensor(numbers, at::kFloat).reshape({count, -1});
  const at::Tensor differs = rows.ne(rows[0]).any(0);
  state.Tensor("nodes", at::tensor({static_cast<int64_t>(graph.units),
                                    static_cast<int64_t>(graph.devices)}));
  state.Tensor("data", at::tensor(data, at::kLong).reshape({-1, 2}));
  state.Tensor("alike", rows[0]);
  state.Tensor("differs", differs.to(at::kByte));
  state.Tensor("others", rows.index_select(1, differs.nonzero().flatten()));
  state.Tensor("groups", at::tensor(groups, at::kByte)
                             .reshape({static_cast<int64_t>(table.size()),
                                       static_cast<int64_t>(graph.devices)}));
  state.Tensor("options", at::tensor(options, at::kByte));
  state.Tensor("has", at::tensor(has, at::kByte).reshape({count, -1}));
  state.Tensor("targets", at::tensor(targets, at::kFloat));
  state.Tensor("next", at::tensor(next, at::kLong));
}

Result<std::vector<TagLesson>> RestoreLessons(const StateReader& state) {
  PW_ASSIGN(const at::Tensor nodes, state.Tensor("nodes", at::kLong, 1));
  PW_ASSIGN(const at::Tensor data, state.Tensor("data", at::kLong, 2));
  PW_ASSIGN(const at::Tensor alike, state.Tensor("alike", at::kFloat, 1));
  PW_ASSIGN(const at::Tensor differs, state.Tensor("differs", at::kByte, 1));
  PW_ASSIGN(const at::Tensor others, state.Tensor("others", at::kFloat, 2));
  PW_ASSIGN(const at::Tensor groups, state.Tensor("groups", at::kByte, 2));
  PW_ASSIGN(const at::Tensor options, state.Tensor("options", at::kByte, 1));
  PW_ASSIGN(const at::Tensor has, state.Tensor("has", at::kByte, 2));
  PW_ASSIGN(const at::Tensor targets, state.Tensor("targets", at::kFloat, 1));
  PW_ASSIGN(const at::Tensor next, state.Tensor("next", at::kLong, 1));
  if (nodes.size(0) != 2) return Damaged();
  const int64_t units = nodes[0].item<int64_t>(), devices = nodes[1].item<int64_t>();
  constexpr int64_t kMostNodes = 1 << 20;
  if (units < 1 || devices < 1 || units > kMostNodes || devices > kMostNodes) return Damaged();
  const auto counts = CountsOf(static_cast<size_t>(units), static_cast<size_t>(devices),
                               static_cast<size_t>(data.size(0)));
  int64_t numbers = 0;
  for (const size_t of : counts) numbers += static_cast<int64_t>(of);
  const int64_t lessons = next.size(0), slices = options.size(0);
  const bool fits =
      data.size(1) == 2 && alike.size(0) == numbers && differs.size(0) == numbers &&
      others.size(0) == lessons && others.size(1) == differs.ne(0).sum().item<int64_t>() &&
      groups.size(0) == slices && groups.size(1) == devices && has.size(0) == lessons &&
      has.size(1) == slices && targets.size(0) == has.ne(0).sum().item<int64_t>() &&
      (data.numel() == 0 || (data.ge(0) & data.lt(units)).all().item<bool>()) &&
      (next.ge(0) & next.lt(units)).all().item<bool>() &&
      options.lt(static_cast<int64_t>(kSliceOptionCount)).all().item<bool>();
  if (!fits) return Damaged();
  const at::Tensor where = differs.nonzero().flatten();
  std::vector<Slice> table(static_cast<size_t>(slices));
  for (int64_t s = 0; s < slices; ++s) {
    Slice& slice = table[static_cast<size_t>(s)];
    slice.option = static_cast<SliceOption>(options.data_ptr<uint8_t>()[s]);
    for (int64_t group = 0; group < devices; ++group) {
      if (groups.data_ptr<uint8_t>()[s * devices + group] != 0) {
        slice.groups.push_back(static_cast<int32_t>(group));
      }
    }
  }
  std::vector<TagLesson> all;
  const float* target = targets.data_ptr<float>();
  for (int64_t i = 0; i < lessons; ++i) {
    TagLesson& lesson = all.emplace_back();
    lesson.next = static_cast<size_t>(next.data_ptr<int64_t>()[i]);
    TagGraph& graph = lesson.graph;
    graph.units = static_cast<size_t>(units);
    graph.devices = static_cast<size_t>(devices);
    for (int64_t edge = 0; edge < data.size(0); ++edge) {
      const int64_t* const ends = data.data_ptr<int64_t>() + 2 * edge;
      graph.data.push_back({static_cast<int32_t>(ends[0]), static_cast<int32_t>(ends[1])});
    }
    const at::Tensor row = alike.index_copy(0, where, others[i]);
    const float* from = row.data_ptr<float>();
    const auto parts = NumbersOf(graph);
    for (size_t part = 0; part < parts.size(); ++part) {
      parts[part]->assign(from, from + counts[part]);
      from += counts[part];
    }
    for (int64_t s = 0; s < slices; ++s) {
      if (has.data_ptr<uint8_t>()[i * slices + s] == 0) continue;
      lesson.slices.push_back(table[static_cast<size_t>(s)]);
      lesson.target.push_back(*target++);
    }
  }
  return all;
}

}  // namespace placewright
