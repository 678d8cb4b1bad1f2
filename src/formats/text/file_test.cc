#include "formats/text/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <filesystem>
#include <string>
#include <string_view>

namespace placewright {
namespace {

using ::testing::HasSubstr;

constexpr size_t kMiB = 1 << 20;

std::string Gzip(std::string_view text) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string Repeat(std::string_view text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}

ErrorCode CodeOf(const Result<std::string>& result) {
  return result.ok() ? ErrorCode::kInternal : result.error().code;
}

TEST(Expand, AllMembersOfAFile) {
  EXPECT_EQ(Expand("plain").Take(), "plain");
  EXPECT_EQ(Expand(Gzip("")).Take(), "");
  EXPECT_EQ(Expand(Gzip("one") + Gzip("") + Gzip("two")).Take(), "onetwo");
  // Several times the size of a piece.
  std::string long_text;
  for (int i = 0; i < 50'000; ++i) long_text += std::to_string(i);
  EXPECT_EQ(Expand(Gzip(long_text)).Take(), long_text);
}

TEST(Expand, DamageIsNoEnd) {
  const std::string good = Gzip("some text that is long enough");
  EXPECT_EQ(CodeOf(Expand(good.substr(0, good.size() - 1))), ErrorCode::kFileCorrupt);
  EXPECT_EQ(CodeOf(Expand(good + "x")), ErrorCode::kFileCorrupt);
  std::string size = good;  // the trailer's size: one byte more than there is
  ++size[size.size() - 4];
  EXPECT_EQ(CodeOf(Expand(size)), ErrorCode::kFileCorrupt);
}

// A mebibyte of spaces takes about 1 KiB, so the 64 MiB that any file may have rule here.
TEST(Expand, ABombIsRefused) {
  const std::string member = Gzip(std::string(kMiB, ' '));
  ASSERT_LT(member.size(), 2048u);
  const Result<std::string> largest = Expand(Repeat(member, 64));
  ASSERT_TRUE(largest.ok()) << largest.error().ToString();
  EXPECT_EQ(largest.value().size(), 64 * kMiB);
  const Result<std::string> bomb = Expand(Repeat(member, 65));
  ASSERT_FALSE(bomb.ok());
  EXPECT_EQ(bomb.error().code, ErrorCode::kFileTooLarge);
  EXPECT_THAT(bomb.error().message, HasSubstr("67108864"));  // 64 x 1024 x 1024
}

// 200 x 1 MiB = 209,715,200; 200 x 10 MiB would be above 1 GiB = 1,073,741,824.
TEST(Expand, TheLimitGrowsWithTheFile) {
  const ReadLimits limits;
  EXPECT_EQ(limits.ExpandedOf(0), 67'108'864);
  EXPECT_EQ(limits.ExpandedOf(335'544), 67'108'864);
  EXPECT_EQ(limits.ExpandedOf(335'545), 67'109'000);
  EXPECT_EQ(limits.ExpandedOf(1 << 20), 209'715'200);
  EXPECT_EQ(limits.ExpandedOf(10 << 20), 1'073'741'824);
  EXPECT_EQ(limits.ExpandedOf(limits.stored), 1'073'741'824);
}

TEST(Expand, TheRatioRulesWhereItIsMore) {
  const std::string stored = Gzip(std::string(kMiB, ' '));
  const auto code = [&](int64_t ratio) {
    return CodeOf(Expand(stored, {.ratio = ratio, .small = 1}));
  };
  const int64_t min = static_cast<int64_t>((kMiB + stored.size() - 1) / stored.size());
  EXPECT_EQ(code(min - 1), ErrorCode::kFileTooLarge);
  EXPECT_EQ(Expand(stored, {.ratio = min, .small = 1}).Take().size(), kMiB);
}

// The name asks for gzip: whole files, pieces, and what is gzip already.
TEST(AtomicFile, CompressesByTheName) {
  const std::string folder = testing::TempDir(), text(3 << 20, 'x');
  const std::string packed = folder + "placewright_named.json.gz";
  ASSERT_TRUE(WriteFileAtomically(packed, text).ok());
  const std::string stored = ReadFileRaw(packed).Take();
  EXPECT_LT(stored.size(), text.size() / 100);
  EXPECT_EQ(ReadFile(packed).Take(), text);
  {
    AtomicFile file = AtomicFile::Create(packed).Take();
    for (size_t at = 0; at < text.size(); at += 1000) {
      ASSERT_TRUE(file.Append(std::string_view(text).substr(at, 1000)).ok());
    }
    ASSERT_TRUE(file.Commit().ok());
    EXPECT_EQ(file.stored_bytes(), static_cast<int64_t>(ReadFileRaw(packed).Take().size()));
  }
  EXPECT_EQ(ReadFile(packed).Take(), text);
  ASSERT_TRUE(WriteFileAtomically(packed, Gzip(text)).ok());
  EXPECT_EQ(ReadFileRaw(packed).Take(), Gzip(text));  // not twice
  ASSERT_TRUE(WriteFileAtomically(packed, "").ok());
  EXPECT_EQ(ReadFileRaw(packed).Take(), "");
  const std::string plain = folder + "placewright_named.json";
  ASSERT_TRUE(WriteFileAtomically(plain, "text").ok());
  EXPECT_EQ(ReadFileRaw(plain).Take(), "text");
  std::filesystem::remove(packed);
  std::filesystem::remove(plain);
}

// The second file cannot be written: the first is as it was, and nothing is left beside it.
TEST(FileSet, PutsAllInPlaceOrNone) {
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / "placewright_file_set";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder / "taken");
  const std::string first = folder / "first", taken = folder / "taken";
  ASSERT_TRUE(WriteFileAtomically(first, "old").ok());
  {
    FileSet files;
    ASSERT_TRUE(files.Add(first, "new").ok());
    EXPECT_EQ(ReadFile(first).Take(), "old");
    const Status status = files.Add(taken, "new");
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, ErrorCode::kFileUnwritable);
  }
  EXPECT_EQ(ReadFile(first).Take(), "old");
  const auto entries = std::filesystem::directory_iterator(folder);
  EXPECT_EQ(std::distance(begin(entries), end(entries)), 2);
  FileSet files;
  ASSERT_TRUE(files.Add(first, "new").ok());
  ASSERT_TRUE(files.Add(folder / "second", "two").ok());
  ASSERT_TRUE(files.PutInPlace().ok());
  EXPECT_EQ(ReadFile(first).Take(), "new");
  EXPECT_EQ(ReadFile(folder / "second").Take(), "two");
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace placewright
