// The files that PyTorch writes, recognised without LibTorch: zip archives whose records all lie in
// one folder, as torch.jit.save and torch.save make them, and the pickles of older torch.save. Of
// zip's format only what these use: no encryption, no several disks, methods 0 and 8, zip64.
// Reference: PKWARE's APPNOTE 6.3, sections 4.3 and 4.5.3.
#ifndef PLACEWRIGHT_FORMATS_TORCH_ARCHIVE_ARCHIVE_H_
#define PLACEWRIGHT_FORMATS_TORCH_ARCHIVE_ARCHIVE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace placewright {

// True if the file begins as a zip archive or a pickle (protocol 2 to 5). Errors: kFileUnreadable.
Result<bool> IsTorchFile(const std::string& path);

struct TorchArchive {
  enum class Kind : uint8_t {
    kScript,   // a module with its code: torch.jit.save
    kPickled,  // Python objects (a state dict, a whole nn.Module): torch.save
    kOther     // something else in a zip archive
  };
  Kind kind = Kind::kOther;
  // Where the contents of tensors of more than 4 KiB lie, [begin, end), ascending.
  std::vector<std::pair<int64_t, int64_t>> weights;
};

// Reads the directory of an archive, and checks the sums of all records but `weights`. Errors:
// kFileUnreadable, kFileCorrupt (not an archive, truncated, damaged), kFileTooLarge (records other
// than weights of more than 1 GiB), all naming the file. A pickle gives kPickled.
Result<TorchArchive> ReadTorchArchive(const std::string& path);

// What a model file that is no script module, or a script module where a graph is expected, is, and
// what to do with it: kFormatUnknown.
Error TorchArchiveError(const std::string& path, TorchArchive::Kind kind);

}  // namespace placewright

#endif  // PLACEWRIGHT_FORMATS_TORCH_ARCHIVE_ARCHIVE_H_
