#include "formats/torch_archive/archive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <map>

namespace placewright {
namespace {

using testing::HasSubstr;

void Append(std::string& bytes, uint64_t value, int width) {
  for (int i = 0; i < width; ++i, value >>= 8) bytes += static_cast<char>(value);
}

std::string Deflated(const std::string& content) {
  std::string packed(content.size() + 64, '\0');
  z_stream stream = {};
  deflateInit2(&stream, 6, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

// A zip archive, as PyTorch writes it: the code deflated, everything else stored.
class Zip {
 public:
  void Add(const std::string& name, const std::string& content, bool packed = false) {
    const std::string stored = packed ? Deflated(content) : content;
    const uint64_t sum =
        crc32(0, reinterpret_cast<const Bytef*>(content.data()), static_cast<uInt>(content.size()));
    const uint64_t header = bytes_.size();
    std::string common;  // both headers have it
    Append(common, 20, 2);
    Append(common, 0, 2);
    Append(common, packed ? 8 : 0, 2);
    Append(common, 0, 4);
    Append(common, sum, 4);
    Append(common, stored.size(), 4);
    Append(common, content.size(), 4);
    Append(common, name.size(), 2);
    bytes_ += "PK\x03\x04" + common;
    Append(bytes_, 0, 2);
    bytes_ += name;
    contents[name] = {bytes_.size(), bytes_.size() + stored.size()};
    bytes_ += stored;
    directory_ += "PK\x01\x02";
    Append(directory_, 20, 2);
    directory_ += common;
    Append(directory_, 0, 12);
    Append(directory_, header, 4);
    directory_ += name;
    ++count_;
  }

  // With the directory's place in a zip64 end, too, if asked.
  std::string Finish(bool zip64 = false) const {
    std::string bytes = bytes_ + directory_;
    if (zip64) {
      const uint64_t end = bytes.size();
      bytes += "PK\x06\x06";
      Append(bytes, 44, 8);
      Append(bytes, 0, 12);
      Append(bytes, count_, 8);
      Append(bytes, count_, 8);
      Append(bytes, directory_.size(), 8);
      Append(bytes, bytes_.size(), 8);
      bytes += "PK\x06\x07";
      Append(bytes, 0, 4);
      Append(bytes, end, 8);
      Append(bytes, 1, 4);
    }
    bytes += "PK\x05\x06";
    Append(bytes, 0, 4);
    Append(bytes, count_, 2);
    Append(bytes, count_, 2);
    Append(bytes, zip64 ? 0xffffffff : directory_.size(), 4);
    Append(bytes, zip64 ? 0xffffffff : bytes_.size(), 4);
    Append(bytes, 0, 2);
    return bytes;
  }

  std::map<std::string, std::pair<int64_t, int64_t>> contents;

 private:
  std::string bytes_, directory_;
  uint64_t count_ = 0;
};

Zip ScriptZip() {
  Zip zip;
  zip.Add("net/data/0", std::string(5000, 'w'));
  zip.Add("net/data/1", "few");
  zip.Add("net/data.pkl", "pickle");
  zip.Add("net/code/__torch__.py", std::string(300, 'c'), true);
  zip.Add("net/constants/0", std::string(4097, 'k'));
  zip.Add("net/constants.pkl", "more");
  return zip;
}

class TorchArchives : public ::testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }
  Result<TorchArchive> Read(const std::string& bytes) const {
    std::ofstream(path_, std::ios::binary) << bytes;
    return ReadTorchArchive(path_);
  }
  std::string path_ =
      (std::filesystem::temp_directory_path() / ("placewright_archive_" + std::to_string(getpid())))
          .string();
};

TEST_F(TorchArchives, ScriptModulesAreRecognisedWithTheirWeights) {
  const Zip zip = ScriptZip();
  for (const bool zip64 : {false, true}) {
    const Result<TorchArchive> archive = Read(zip.Finish(zip64));
    ASSERT_TRUE(archive.ok()) << archive.error().ToString();
    EXPECT_EQ(archive.value().kind, TorchArchive::Kind::kScript);
    const std::vector<std::pair<int64_t, int64_t>> weights = {zip.contents.at("net/data/0"),
                                                              zip.contents.at("net/constants/0")};
    EXPECT_EQ(archive.value().weights, weights);
    EXPECT_TRUE(IsTorchFile(path_).value());
  }
}

TEST_F(TorchArchives, OtherFilesAreDistinguished) {
  Zip state;
  state.Add("net/data.pkl", "pickle");
  state.Add("net/data/0", "few");
  EXPECT_EQ(Read(state.Finish()).value().kind, TorchArchive::Kind::kPickled);
  Zip other;
  other.Add("readme.txt", "text");
  EXPECT_EQ(Read(other.Finish()).value().kind, TorchArchive::Kind::kOther);
  EXPECT_EQ(Read("\x80\x02}q").value().kind, TorchArchive::Kind::kPickled);
  EXPECT_EQ(ReadTorchArchive("/no/such/file").error().code, ErrorCode::kFileUnreadable);
  EXPECT_FALSE(IsTorchFile("/no/such/file").ok());
  EXPECT_THAT(TorchArchiveError("a.pt", TorchArchive::Kind::kPickled).remedy,
              HasSubstr("torch.jit.save"));
  EXPECT_THAT(TorchArchiveError("a.pt", TorchArchive::Kind::kScript).remedy,
              HasSubstr("placewright capture a.pt"));
}

TEST_F(TorchArchives, TruncatedFilesAreDamaged) {
  const std::string bytes = ScriptZip().Finish();
  for (size_t size = 4; size < bytes.size(); size += 7) {
    const Result<TorchArchive> archive = Read(bytes.substr(0, size));
    ASSERT_FALSE(archive.ok()) << size;
    EXPECT_EQ(archive.error().code, ErrorCode::kFileCorrupt) << size;
    EXPECT_EQ(archive.error().file, path_);
  }
}

// Weights are not read; every other byte of content is under a sum.
TEST_F(TorchArchives, DamagedContentIsNamed) {
  const Zip zip = ScriptZip();
  for (const auto& [name, place] : zip.contents) {
    std::string bytes = zip.Finish();
    bytes[static_cast<size_t>(place.first) + 1] ^= 4;
    const Result<TorchArchive> archive = Read(bytes);
    const bool weight = place.second - place.first > 4096;
    EXPECT_EQ(archive.ok(), weight) << name;
    if (archive.ok()) continue;
    EXPECT_EQ(archive.error().code, ErrorCode::kFileCorrupt);
    EXPECT_THAT(archive.error().message, HasSubstr(name));
  }
}

// Whatever byte of the headers is another one: no crash, no memory for sizes that were never
// written.
TEST_F(TorchArchives, DamagedHeadersAreErrorsOrHarmless) {
  const Zip zip = ScriptZip();
  for (const bool zip64 : {false, true}) {
    const std::string bytes = zip.Finish(zip64);
    const auto end_of_content = static_cast<size_t>(zip.contents.at("net/constants.pkl").second);
    for (size_t at = end_of_content; at < bytes.size(); ++at) {
      for (const int bit : {0, 6, 7}) {
        std::string damaged = bytes;
        damaged[at] = static_cast<char>(damaged[at] ^ (1 << bit));
        const Result<TorchArchive> archive = Read(damaged);
        if (archive.ok()) continue;
        EXPECT_TRUE(archive.error().code == ErrorCode::kFileCorrupt ||
                    archive.error().code == ErrorCode::kFileTooLarge)
            << at;
      }
    }
  }
}

}  // namespace
}  // namespace placewright
