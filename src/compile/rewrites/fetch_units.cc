#include "compile/rewrites/fetch_units.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "graph/ownership/module_path.h"
#include "transforms/precision.h"

namespace placewright {

FetchUnits::FetchUnits(const Graph& original, const StepArrays& arrays)
    : original_(original),
      arrays_(arrays),
      number_(arrays.collectives.size(), -1),
      fetch_of_(arrays.tensors.size(), -1) {
  for (size_t i = 0; i < arrays_.order.size(); ++i) Visit(static_cast<int32_t>(i));
  for (const Fetch& fetch : fetches_) in_root_.push_back(fetch.layer.empty() ? 1 : 0);
  std::erase_if(fetches_, [](const Fetch& fetch) { return fetch.readers.empty(); });
  std::stable_sort(fetches_.begin(), fetches_.end(),
                   [](const Fetch& a, const Fetch& b) { return a.first < b.first; });
  FindUnits();
}

void FetchUnits::Visit(int32_t place) {
  const ArrayOp& op = arrays_.ops[arrays_.order[static_cast<size_t>(place)]];
  int32_t fetch = FetchBy(op, place);
  for (const ArrayRead& read : arrays_.ReadsOf(op)) {
    const int32_t of = fetch_of_[read.tensor];
    if (of < 0) continue;
    if (fetch < 0) fetch = of;
    if (!IsWork(op)) continue;
    Fetch& read_from = fetches_[static_cast<size_t>(of)];
    if (read_from.readers.empty()) read_from.first = place;
    read_from.readers.emplace(op.device, place);
  }
  if (IsWork(op)) return;
  for (const TensorId made : arrays_.MadeBy(op)) fetch_of_[made] = fetch;
}

// The fetch that the op is a member of, or -1.
int32_t FetchUnits::FetchBy(const ArrayOp& op, int32_t place) {
  if (!op.collective.valid()) return -1;
  if (op.reads.begin == op.reads.end) return number_[op.collective];  // of a broadcast to it
  const ArrayVersion& content = arrays_.versions[arrays_.ReadsOf(op).front().version];
  StorageId storage = arrays_.storages[content.storage].original;
  if (!storage.valid()) return -1;
  if (const StorageId cast = CastParameter(original_, storage); cast.valid()) {
    storage = cast;
  } else if (content.writer.valid() || original_.storage(storage).kind != TensorKind::kParameter) {
    return -1;
  }
  int32_t& number = number_[op.collective];
  if (number < 0) {
    number = static_cast<int32_t>(fetches_.size());
    const std::string& name = original_.tensor(original_.storage(storage).first).name;
    fetches_.push_back({op.collective, storage, LayerOf(ModuleOfParameter(name)), place, 0, {}});
  }
  return number;
}

// What fetches a parameter again, on one of the same devices, is of the next unit.
void FetchUnits::FindUnits() {
  std::set<std::pair<StorageId, DeviceId>> fetched;
  for (size_t i = 0; i < fetches_.size(); ++i) {
    const OpId member = arrays_.MembersOf(arrays_.collectives[fetches_[i].id]).front();
    const std::pair what(fetches_[i].parameter, arrays_.ops[member].device);
    if (i == 0 || fetches_[i].layer != fetches_[i - 1].layer || fetched.contains(what)) {
      units_.push_back({i, i, {}});
      fetched.clear();
    }
    fetched.insert(what);
    units_.back().end = i + 1;
    for (const auto& [device, place] : fetches_[i].readers) {
      const auto at = units_.back().readers.emplace(device, place).first;
      at->second = std::min(at->second, place);
    }
  }
}

}  // namespace placewright
