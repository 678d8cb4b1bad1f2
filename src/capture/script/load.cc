#include "capture/script/load.h"

#include <caffe2/serialize/inline_container.h>
#include <caffe2/serialize/read_adapter_interface.h>
#include <torch/csrc/jit/serialization/import.h>

#include <algorithm>
#include <fstream>
#include <string_view>

#include "aten/failure.h"
#include "base/text.h"
#include "base/utf8.h"
#include "capture/recorder/dispatch.h"
#include "capture/script/instrument.h"
#include "capture/script/unshared_storages.h"

namespace placewright {
namespace {

// The file, in which weights need not be read: LibTorch gives a weight the memory it asks of the
// system in one piece, which stays untouched and so costs nothing.
class SparseFile : public caffe2::serialize::ReadAdapterInterface {
 public:
  SparseFile(const ScriptFile& file, bool skip)
      : stream_(file.path, std::ios::binary),
        skipped_(skip ? file.weights : std::vector<std::pair<int64_t, int64_t>>()) {
    stream_.seekg(0, std::ios::end);
    size_ = stream_ ? static_cast<int64_t>(stream_.tellg()) : 0;
  }
  size_t size() const override { return static_cast<size_t>(size_); }
  size_t read(uint64_t at, void* buffer, size_t count, const char* /*what*/) const override {
    const auto begin = static_cast<int64_t>(at), end = begin + static_cast<int64_t>(count);
    for (const auto& [from, to] : skipped_) {
      if (from <= begin && end <= to) return count;
    }
    stream_.clear();
    stream_.seekg(begin);
    stream_.read(static_cast<char*>(buffer), static_cast<std::streamsize>(count));
    return static_cast<size_t>(stream_.gcount());
  }

 private:
  mutable std::ifstream stream_;
  std::vector<std::pair<int64_t, int64_t>> skipped_;
  int64_t size_ = 0;
};

// The first line; a damaged file's bytes stand in it as they are.
std::string Reason(const std::string& message) {
  std::string line = Printable(message.substr(0, message.find('\n')), 300);
  if (!IsUtf8(line)) {
    std::replace_if(
        line.begin(), line.end(), [](char c) { return static_cast<unsigned char>(c) > 126; }, '?');
  }
  return line;
}

// The pickles say of every weight where it was: "X", four bytes of length, "cuda:1".
void FindDevicesOfWeights(caffe2::serialize::PyTorchStreamReader& reader,
                          std::set<std::string>& devices) {
  for (const char* name : {"data.pkl", "constants.pkl"}) {
    if (!reader.hasRecord(name)) continue;
    const auto [data, size] = reader.getRecord(name);
    const std::string_view text(static_cast<const char*>(data.get()), size);
    for (size_t at = text.find("cuda", 5); at < text.size(); at = text.find("cuda", at + 4)) {
      const auto length = static_cast<unsigned char>(text[at - 4]);
      const std::string_view device = text.substr(at, length);
      if (text.substr(at - 3, 3) != std::string_view("\0\0\0", 3) || text[at - 5] != 'X') continue;
      const bool index = device.size() > 5 && device.size() < 9 && device[4] == ':' &&
                         device.find_first_not_of("0123456789", 5) == device.npos;
      if (index || device == "cuda") devices.emplace(device);
    }
  }
}

}  // namespace

LoadedScript LoadScript(const ScriptFile& file, bool on_meta) {
  // Reading writes into tensors, and is no part of any step.
  const c10::impl::ExcludeDispatchKeyGuard unrecorded(kRecorderKey);
  LoadedScript loaded;
  torch::jit::Module& module = loaded.module;
  try {
    module = torch::jit::load(std::make_shared<SparseFile>(file, on_meta), c10::Device(c10::kCPU));
    caffe2::serialize::PyTorchStreamReader reader(std::make_shared<SparseFile>(file, true));
    FindDevicesOfWeights(reader, loaded.devices);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    Error failure =
        MakeError(ErrorCode::kFileCorrupt, "LibTorch cannot read it: " + Reason(error.what()), "",
                  "Save the module again, with torch.jit.save of a PyTorch that is no newer than "
                  "the LibTorch here.");
    failure.file = file.path;
    throw TorchFailure(std::move(failure));
  }
  UnsharedStorages(module, on_meta);
  Instrument(module, c10::Device(on_meta ? c10::kMeta : c10::kCPU), loaded.devices);
  return loaded;
}

}  // namespace placewright
