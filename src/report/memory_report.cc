#include "report/memory_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "base/text.h"

namespace placewright {
namespace {

constexpr int kMemoryBarWidth = 20;

bool AreClose(Bytes a, Bytes b) {
  return std::abs(a.count - b.count) <= std::max(a.count, b.count) / 100;
}

bool AreAlike(const DevicePeaks& a, const DevicePeaks& b) {
  return a.fits == b.fits && a.offered == b.offered && AreClose(a.allocated, b.allocated) &&
         AreClose(a.reserved, b.reserved) && AreClose(a.Device(), b.Device());
}

std::string NamesOf(const AlikeMemory& alike, const Cluster& cluster) {
  std::vector<std::string> names;
  for (const DeviceId id : alike.devices) names.push_back(Printable(cluster.device(id).name));
  return FoldNames(names);
}

std::string LibraryText(const LibraryUse& use) {
  std::string text;
  if (use.communicators > 0) text = CountOf(use.communicators, "communicator");
  if (use.senders > 0) {
    text += (text.empty() ? "" : ", ") + CountOf(use.senders, "sender");
  }
  return text;
}

struct MemoryLine {
  std::string name;
  Bytes bytes;
  std::string note = "";
};

// Those that are there, the largest first.
std::vector<MemoryLine> Sorted(std::vector<MemoryLine> parts) {
  std::erase_if(parts, [](const MemoryLine& part) { return part.bytes.count == 0; });
  std::stable_sort(parts.begin(), parts.end(),
                   [](const MemoryLine& a, const MemoryLine& b) { return a.bytes > b.bytes; });
  return parts;
}

// What the device has beside what the allocator holds.
std::vector<MemoryLine> BesideReserved(const DevicePeaks& memory) {
  return Sorted(
      {{"NCCL", memory.library.bytes, LibraryText(memory.library)}, {"context", memory.context}});
}

std::vector<MemoryLine> OfAllocated(const DevicePeaks& memory) {
  std::vector<MemoryLine> parts;
  for (const MemoryUse use : kMemoryUses) {
    parts.push_back({std::string(ToString(use)), memory.Of(use)});
  }
  return Sorted(std::move(parts));
}

// Each peak, and behind it what it has beside the next one, which is a part of it.
std::string RenderOne(const std::string& names, const DevicePeaks& memory, bool gpu,
                      const Style& style) {
  Table table({{names},
               {"peak", Table::Align::kRight},
               {fmt::format("of {}", FormatBytes(memory.offered))},
               {"", Table::Align::kLeft, true}});
  const auto add = [&](const std::string& name, const MemoryLine& line, Tone tone) {
    const double share = ShareOf(line.bytes.count, memory.offered.count);
    table.AddRow({name,
                  FormatBytesLike(line.bytes, memory.Device()),
                  {Bar(share, kMemoryBarWidth, style), tone},
                  {line.note, Tone::kFaint}});
  };
  const Tone tone = memory.fits ? Tone::kGood : Tone::kBad;
  const std::string tensors =
      fmt::format("tensors and workspace, at {}", FormatNanos(memory.peak_time));
  const auto add_parts = [&](const std::vector<MemoryLine>& parts) {
    for (const MemoryLine& part : parts) add("  " + part.name, part, Tone::kPlain);
  };
  add("device", {"", memory.Device(), gpu ? "reserved, context and NCCL's buffers" : tensors},
      tone);
  add_parts(BesideReserved(memory));
  if (gpu) {
    add("reserved", {"", memory.reserved, "held by PyTorch's caching allocator"}, tone);
    add_parts(Sorted({{"between tensors", memory.reserved - memory.allocated}}));
    add("allocated", {"", memory.allocated, tensors}, tone);
  }
  add_parts(OfAllocated(memory));
  return table.Render(style);
}

std::string WhyNot(const DevicePeaks& memory) {
  const Bytes over = memory.Device() - memory.offered;
  if (over > Bytes(0)) return fmt::format("over by {}", FormatBytesLike(over, memory.offered));
  if (memory.into_reserve == Bytes(0)) return "too fragmented";
  return fmt::format("{} into the memory reserve",
                     FormatBytesLike(memory.into_reserve, memory.offered));
}

}  // namespace

std::vector<AlikeMemory> FoldMemory(const IdVector<DeviceId, DevicePeaks>& memories,
                                    const Cluster& cluster) {
  std::vector<AlikeMemory> groups;
  for (const DeviceId id : cluster.devices()) {
    const DevicePeaks& memory = memories[id];
    if (memory.allocated.count == 0) continue;
    const auto group = std::find_if(groups.begin(), groups.end(), [&](const AlikeMemory& one) {
      return &cluster.kind(one.fullest) == &cluster.kind(id) &&
             AreAlike(memories[one.fullest], memory);
    });
    if (group == groups.end()) {
      groups.push_back({id, {id}});
      continue;
    }
    group->devices.push_back(id);
    if (memory.Device() > memories[group->fullest].Device()) group->fullest = id;
  }
  return groups;
}

std::string DescribeCrowding(const std::string& device, const DevicePeaks& memory) {
  return fmt::format(
      "{} has {}, and tensors take {}, the allocator {} between them, NCCL {} and the runtime {}",
      device, FormatBytes(memory.offered), FormatBytes(memory.allocated),
      FormatBytes(memory.reserved - memory.allocated), FormatBytes(memory.library.bytes),
      FormatBytes(memory.context));
}

std::string RenderMemory(const IdVector<DeviceId, DevicePeaks>& memories, const Cluster& cluster,
                         const Style& style) {
  std::string text;
  for (const AlikeMemory& alike : FoldMemory(memories, cluster)) {
    const DevicePeaks& memory = memories[alike.fullest];
    if (!text.empty()) text += "\n";
    const bool gpu = cluster.kind(alike.fullest).device_class == DeviceClass::kGpu;
    text += RenderOne(NamesOf(alike, cluster), memory, gpu, style);
    if (!memory.fits) {
      text += Paint(WhyNot(memory), Tone::kBad, style) + "\n";
    } else if (memory.retries > 0) {
      text += Wrap(fmt::format("fits because the allocator gives cached segments back, {} in two "
                               "steps: each stalls the device\n",
                               CountOf(memory.retries, "time")),
                   style);
    }
  }
  return text;
}

}  // namespace placewright
