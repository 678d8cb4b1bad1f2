#include "runtime/process/message.h"

#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "aten/failure.h"
#include "runtime/device/copy_slice.h"

namespace placewright {
namespace {

// A message begins with this many words: its head, and behind it the tensors' bytes, where both fit. What does not
// fit follows as messages of their own, each of which costs the way there and back (Gloo asks whether the
// other side is ready): small tensors, and the state of a random generator, take one such way and not two.
constexpr size_t kFirstWords = 1024;
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

// Whether the tensors' bytes are behind a head of so many words.
bool FitsFirst(int64_t words, int64_t bytes) {
  constexpr auto kWord = static_cast<int64_t>(sizeof(int64_t));
  return bytes <= (static_cast<int64_t>(kFirstWords) - words) * kWord;
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

Status SendTensors(Channel& channel, int32_t to, int64_t item,
                   std::span<const at::Tensor> tensors) {
  SliceBytes slice;
  std::vector<int64_t> words;
  PW_RETURN_IF_ERROR(CatchAllFailures([&] {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    if (!tensors.empty()) {
      slice = BytesOfSlice(tensors);
      slice.bytes = slice.bytes.to(at::kCPU);
    }
    words = HeadOf(item, tensors, slice);
  }));
  std::array<int64_t, kFirstWords> first{};
  std::copy_n(words.begin(), std::min(words.size(), kFirstWords), first.begin());
  const bool fits = FitsFirst(words[2], words[1]);
  if (fits && words[1] > 0) {
    std::memcpy(first.data() + words.size(), slice.bytes.data_ptr(), static_cast<size_t>(words[1]));
  }
  PW_RETURN_IF_ERROR(channel.Send(to, first.data(), sizeof first));
  if (words.size() > kFirstWords) {
    PW_RETURN_IF_ERROR(
        channel.Send(to, words.data() + kFirstWords,
                     static_cast<int64_t>((words.size() - kFirstWords) * sizeof(int64_t))));
  }
  if (fits || words[1] == 0) return Ok();
  return channel.Send(to, slice.bytes.data_ptr(), words[1]);
}

Result<std::vector<at::Tensor>> ReceiveTensors(Channel& channel, int32_t from, int64_t item,
                                               RuntimeDevice* device) {
  std::vector<int64_t> words(kFirstWords);
  PW_RETURN_IF_ERROR(channel.Receive(from, words.data(), kFirstWords * sizeof(int64_t)));
  constexpr int64_t kMaxWords = 1 << 24;
  const int64_t bytes = words[1], all = words[2];
  if (words[0] != item) {
    return Unexpected(from, fmt::format("message {} where {} is next", words[0], item));
  }
  if (bytes < 0 || all < static_cast<int64_t>(kFixedWords) || all > kMaxWords || words[3] < 0) {
    return Unexpected(from, "a message that is none");
  }
  words.resize(std::max(static_cast<size_t>(all), kFirstWords));
  if (words.size() > kFirstWords) {
    PW_RETURN_IF_ERROR(
        channel.Receive(from, words.data() + kFirstWords,
                        static_cast<int64_t>((words.size() - kFirstWords) * sizeof(int64_t))));
  }
  at::Tensor block;
  PW_RETURN_IF_ERROR(CatchAllFailures([&] {
    const bool here = device == nullptr || !device->torch_device().is_cpu();
    block = here ? at::empty({bytes}, at::kByte) : device->Allocate(bytes);
  }));
  if (bytes > 0 && FitsFirst(all, bytes)) {
    std::memcpy(block.data_ptr(), words.data() + all, static_cast<size_t>(bytes));
  } else if (bytes > 0) {
    PW_RETURN_IF_ERROR(channel.Receive(from, block.data_ptr(), bytes));
  }
  std::vector<at::Tensor> tensors;
  bool legal = true;
  PW_RETURN_IF_ERROR(CatchAllFailures([&] {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    if (device != nullptr && !device->torch_device().is_cpu()) {
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
