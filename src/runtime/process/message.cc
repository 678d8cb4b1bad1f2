#include "runtime/process/message.h"

#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "aten/failure.h"
#include "runtime/device/copy_slice.h"

namespace placewright {
namespace {

// A message begins with this many words, or as many as its item ever had in all: its head, and behind it the
// tensors' bytes, where both fit. What does not fit follows as messages of their own, each of which costs
// the way there and back (Gloo asks whether the other side is ready). More than kMostBytes are cheaper to
// send apart than to copy behind a head.
constexpr int64_t kFirstWords = 1024, kMostBytes = 1 << 20;
constexpr auto kWord = static_cast<int64_t>(sizeof(int64_t));
// item, bytes, words in all, tensors
constexpr size_t kFixedWords = 4;

std::vector<int64_t> HeadOf(int64_t item, std::span<const at::Tensor> tensors,
                            const SliceBytes& slice) {
  std::vector<int64_t> words = {item, slice.bytes.defined() ? slice.bytes.numel() : 0, 0,
                                static_cast<int64_t>(tensors.size())};
  for (size_t i = 0; i < tensors.size(); ++i) {
    const at::Tensor& tensor = tensors[i];
    words.push_back(static_cast<int64_t>(tensor.scalar_type()));
    words.push_back(slice.offsets[i]);
    words.push_back(tensor.dim());
    words.insert(words.end(), tensor.sizes().begin(), tensor.sizes().end());
    words.insert(words.end(), tensor.strides().begin(), tensor.strides().end());
  }
  words[2] = static_cast<int64_t>(words.size());
  return words;
}

Error Unexpected(int32_t from, const std::string& what) {
  return MakeError(ErrorCode::kExecution,
                   fmt::format("rank {} sends {}: the ranks disagree about the step", from, what));
}

using Lengths = std::map<std::pair<int32_t, int64_t>, int64_t>;

int64_t FirstWords(const Lengths* lengths, int32_t other, int64_t item) {
  if (lengths == nullptr) return kFirstWords;
  const auto last = lengths->find({other, item});
  return last == lengths->end() ? kFirstWords : std::max(kFirstWords, last->second);
}

bool GoesByLink(const MessageWays& ways, int64_t bytes) {
  return ways.link != nullptr && bytes > ways.link->threshold();
}

// Memory that is filled beside what the device computes.
at::Tensor BlockOf(int64_t bytes, RuntimeDevice* device, const DeviceLink* link) {
  const c10::Device on = device != nullptr ? device->torch_device() : link->device();
  at::Tensor block;
  OnCopyStream(on, on, [&] {
    block = device != nullptr ? device->Allocate(bytes)
                              : at::empty({bytes}, at::TensorOptions().dtype(at::kByte).device(on));
  });
  return block;
}

void Remember(Lengths* lengths, int32_t other, int64_t item, int64_t words, int64_t bytes) {
  if (lengths == nullptr) return;
  if (bytes > kMostBytes) return;
  int64_t& length = (*lengths)[{other, item}];
  length = std::max(length, words + (bytes + kWord - 1) / kWord);
}

// What a head says of a tensor; `at` moves behind it. Whether it is all there and fits the bytes.
struct TensorHead {
  c10::ScalarType type = c10::ScalarType::Undefined;
  int64_t offset = 0;
  std::vector<int64_t> sizes, strides;

  bool Read(const std::vector<int64_t>& words, size_t& at, int64_t bytes) {
    if (words.size() < at + 3) return false;
    const int64_t number = words[at], dims = words[at + 2];
    offset = words[at + 1];
    at += 3;
    if (number < 0 || number >= static_cast<int64_t>(c10::ScalarType::NumOptions)) return false;
    type = static_cast<c10::ScalarType>(number);
    if (dims < 0 || words.size() < at + 2 * static_cast<size_t>(dims)) return false;
    const auto begin = words.begin() + static_cast<int64_t>(at);
    sizes.assign(begin, begin + dims);
    strides.assign(begin + dims, begin + 2 * dims);
    at += 2 * static_cast<size_t>(dims);
    return offset >= 0 && offset <= bytes;
  }
};

}  // namespace

Status SendTensors(Channel& channel, int32_t to, int64_t item, std::span<const at::Tensor> tensors,
                   const MessageWays& ways) {
  SliceBytes slice;
  bool linked = false;
  std::vector<int64_t> words;
  PW_RETURN_IF_ERROR(CatchAllFailures([&] {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    if (!tensors.empty()) {
      slice = BytesOfSlice(tensors);
      linked = GoesByLink(ways, slice.bytes.numel());
      if (!linked) slice.bytes = slice.bytes.to(at::kCPU);
    }
    words = HeadOf(item, tensors, slice);
  }));
  Lengths* const sent = ways.lengths == nullptr ? nullptr : &ways.lengths->sent;
  const int64_t first = FirstWords(sent, to, item), head = words[2], bytes = words[1];
  Remember(sent, to, item, head, linked ? 0 : bytes);
  const bool fits = !linked && bytes <= (first - head) * kWord;
  words.resize(static_cast<size_t>(std::max(first, head)));
  if (fits && bytes > 0) {
    std::memcpy(words.data() + head, slice.bytes.data_ptr(), static_cast<size_t>(bytes));
  }
  PW_RETURN_IF_ERROR(channel.Send(to, words.data(), first * kWord));
  if (head > first) {
    PW_RETURN_IF_ERROR(channel.Send(to, words.data() + first, (head - first) * kWord));
  }
  if (fits || bytes == 0) return Ok();
  if (linked) return ways.link->Send(slice.bytes);
  return channel.Send(to, slice.bytes.data_ptr(), bytes);
}

Result<std::vector<at::Tensor>> ReceiveTensors(Channel& channel, int32_t from, int64_t item,
                                               RuntimeDevice* device, const MessageWays& ways) {
  Lengths* const received = ways.lengths == nullptr ? nullptr : &ways.lengths->received;
  const int64_t first = FirstWords(received, from, item);
  std::vector<int64_t> words(static_cast<size_t>(first));
  PW_RETURN_IF_ERROR(channel.Receive(from, words.data(), first * kWord));
  constexpr int64_t kMaxHead = 1 << 24;
  const int64_t bytes = words[1], head = words[2];
  if (words[0] != item) {
    return Unexpected(from, fmt::format("message {} where {} is next", words[0], item));
  }
  if (bytes < 0 || head < static_cast<int64_t>(kFixedWords) || head > kMaxHead || words[3] < 0) {
    return Unexpected(from, "a message that is none");
  }
  const bool linked = GoesByLink(ways, bytes);
  Remember(received, from, item, head, linked ? 0 : bytes);
  words.resize(static_cast<size_t>(std::max(first, head)));
  if (head > first) {
    PW_RETURN_IF_ERROR(channel.Receive(from, words.data() + first, (head - first) * kWord));
  }
  at::Tensor block;
  PW_RETURN_IF_ERROR(CatchAllFailures([&] {
    const bool in_place = linked || (device != nullptr && device->torch_device().is_cpu());
    block = in_place ? BlockOf(bytes, device, ways.link) : at::empty({bytes}, at::kByte);
  }));
  if (linked) {
    PW_RETURN_IF_ERROR(ways.link->Receive(block));
  } else if (bytes > 0 && bytes <= (first - head) * kWord) {
    std::memcpy(block.data_ptr(), words.data() + head, static_cast<size_t>(bytes));
  } else if (bytes > 0) {
    PW_RETURN_IF_ERROR(channel.Receive(from, block.data_ptr(), bytes));
  }
  std::vector<at::Tensor> tensors;
  bool legal = true;
  PW_RETURN_IF_ERROR(CatchAllFailures([&] {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    if (device != nullptr && !linked && !device->torch_device().is_cpu()) {
      block = CopySlice(std::span(&block, 1), *device).front();
    }
    size_t at = kFixedWords;
    for (int64_t i = 0; i < words[3] && legal; ++i) {
      TensorHead one;
      legal = one.Read(words, at, bytes);
      if (legal) {
        tensors.push_back(TensorInBytes(block, one.offset, one.type, one.sizes, one.strides));
      }
    }
  }));
  if (!legal) return Unexpected(from, "a message that is none");
  return tensors;
}

}  // namespace placewright
