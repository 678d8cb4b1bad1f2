#include "formats/cost_store/cost_store.h"

#include <gmock/gmock.h>
#include <sqlite3.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

namespace placewright {
namespace {

class CostStoreFile : public testing::Test {
 protected:
  void SetUp() override {
    const auto* const test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ =
        std::filesystem::path(testing::TempDir()) / ("cost_store." + std::string(test->name()));
    std::filesystem::remove_all(folder_);
    path_ = folder_ / "below" / "costs.sqlite";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  Result<CostStore> Open(bool create = true) const { return CostStore::Open(path_, create); }
  void Sql(const char* sql) const {
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(path_.c_str(), &database), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(database, sql, nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_close(database);
  }

  std::filesystem::path folder_;
  std::string path_;
};

MeasuredOn On(bool loaded = false, std::string libtorch = "1.13.0") {
  return {"worker", 1, loaded, std::move(libtorch), "/lib/libblas.so"};
}

MeasuredOp StoredOp(std::string signature, int64_t time) {
  return {std::move(signature),
          "family",
          4,
          Nanos(time),
          Nanos(time - 1),
          Nanos(time + 2),
          7,
          Bytes(64),
          {Nanos(11), Nanos(22), Nanos(33)}};
}

// Programs before kernels were named wrote the file alone: their rows count beside those of any kernels.
TEST_F(CostStoreFile, KernelsThatAreNotNamedAreAnys) {
  MeasuredOn before = On(), now = On(true), others = On(true, "1.13.0");
  now.blas += " (SkylakeX)";
  others.blas += " (Prescott)";
  CostStore store = Open().Take();
  for (const MeasuredOn& on : {others, before, now}) {
    ASSERT_TRUE(store.Put({{on, {StoredOp("neg(f32[4])", 100)}}}, {}).ok());
  }
  const std::vector<MeasuredDevice> devices = store.Read("worker", 1).Take();
  std::vector<std::string> read;
  for (const MeasuredDevice& device : devices) read.push_back(device.on.blas);
  EXPECT_THAT(read, testing::UnorderedElementsAre(before.blas, now.blas));
}

TEST_F(CostStoreFile, KeepsWhatWasMeasured) {
  {
    Result<CostStore> store = Open();
    ASSERT_TRUE(store.ok()) << store.error().ToString();
    ASSERT_TRUE(store.value()
                    .Put({{On(), {StoredOp("neg(f32[4])", 100), StoredOp("exp(f32[4])", 300)}},
                          {On(true), {StoredOp("neg(f32[4])", 150)}}},
                         {{On(), On(), {{Bytes(1024), Nanos(9000), 50}}}})
                    .ok());
  }
  const CostStore store = Open(/*create=*/false).Take();
  const std::vector<MeasuredDevice> devices = store.Read("worker", 1).Take();
  ASSERT_EQ(devices.size(), 2u);
  const MeasuredDevice& alone = devices[devices[0].on.loaded ? 1 : 0];
  EXPECT_EQ(alone.on, On());
  ASSERT_EQ(alone.ops.size(), 2u);
  EXPECT_EQ(alone.ops[0].signature, "exp(f32[4])");
  EXPECT_EQ(alone.ops[1].time, Nanos(100));
  EXPECT_EQ(alone.ops[1].low, Nanos(99));
  EXPECT_EQ(alone.ops[1].high, Nanos(102));
  EXPECT_EQ(alone.ops[1].family, "family");
  EXPECT_EQ(alone.ops[1].batch, 4);
  EXPECT_EQ(alone.ops[1].runs, 7);
  EXPECT_EQ(alone.ops[1].workspace, Bytes(64));
  EXPECT_EQ(alone.ops[1].state, (MachineState{Nanos(11), Nanos(22), Nanos(33)}));
  EXPECT_TRUE(store.Read("worker", 2).Take().empty());
  EXPECT_TRUE(store.Read("other", 1).Take().empty());
  const std::vector<MeasuredTransfers> pairs = store.ReadTransfers("worker", 1).Take();
  ASSERT_EQ(pairs.size(), 1u);
  EXPECT_EQ(pairs[0].sizes.at(0).time, Nanos(9000));
}

TEST_F(CostStoreFile, NewerTimesReplaceOlderOnes) {
  CostStore store = Open().Take();
  ASSERT_TRUE(store.Put({{On(), {StoredOp("neg", 100), StoredOp("exp", 300)}}}, {}).ok());
  ASSERT_TRUE(store.Put({{On(), {StoredOp("neg", 200)}}}, {}).ok());
  const std::vector<MeasuredDevice> devices = store.Read("worker", 1).Take();
  ASSERT_EQ(devices.size(), 1u);
  ASSERT_EQ(devices[0].ops.size(), 2u);
  EXPECT_EQ(devices[0].ops[0].time, Nanos(300));
  EXPECT_EQ(devices[0].ops[1].time, Nanos(200));
}

// Times of another LibTorch say nothing of this one: those of the last profile are taken.
TEST_F(CostStoreFile, OneLibTorchAtATime) {
  CostStore store = Open().Take();
  ASSERT_TRUE(store.Put({{On(false, "1.13.0"), {StoredOp("neg", 100)}}}, {}).ok());
  Sql("UPDATE environment SET measured = measured - 60");
  ASSERT_TRUE(store.Put({{On(false, "2.6.0"), {StoredOp("neg", 50)}}}, {}).ok());
  const std::vector<MeasuredDevice> devices = store.Read("worker", 1).Take();
  ASSERT_EQ(devices.size(), 1u);
  EXPECT_EQ(devices[0].on.libtorch, "2.6.0");
}

TEST_F(CostStoreFile, SeveralWritersLoseNothing) {
  constexpr int kWriters = 4, kRows = 25;
  std::vector<std::thread> writers;
  for (int writer = 0; writer < kWriters; ++writer) {
    writers.emplace_back([this, writer] {
      Result<CostStore> store = Open();
      ASSERT_TRUE(store.ok()) << store.error().ToString();
      for (int row = 0; row < kRows; ++row) {
        const Status put = store.value().Put(
            {{On(), {StoredOp(std::to_string(writer) + "." + std::to_string(row), 100)}}}, {});
        EXPECT_TRUE(put.ok()) << put.error().ToString();
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  const std::vector<MeasuredDevice> devices = Open(false).Take().Read("worker", 1).Take();
  ASSERT_EQ(devices.size(), 1u);
  EXPECT_EQ(devices[0].ops.size(), static_cast<size_t>(kWriters * kRows));
}

// The file may not grow: an error, what was there is there, and the next write works.
TEST_F(CostStoreFile, AFullDiskLosesNothing) {
  CostStore store = Open().Take();
  ASSERT_TRUE(store.Put({{On(), {StoredOp("neg", 100)}}}, {}).ok());
  std::vector<MeasuredOp> rows;
  for (int i = 0; i < 5000; ++i) rows.push_back(StoredOp("signature " + std::to_string(i), 100));
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = std::filesystem::file_size(path_) + 4096;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const Status full = store.Put({{On(), rows}}, {});
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  signal(SIGXFSZ, handler);
  ASSERT_FALSE(full.ok());
  EXPECT_EQ(full.error().code, ErrorCode::kFileUnwritable) << full.error().ToString();
  EXPECT_EQ(store.Read("worker", 1).Take().at(0).ops.size(), 1u);
  EXPECT_TRUE(store.Put({{On(), rows}}, {}).ok());
  EXPECT_EQ(Open(false).Take().Read("worker", 1).Take().at(0).ops.size(), 5001u);
}

TEST_F(CostStoreFile, WhatIsNoStoreIsRefused) {
  EXPECT_EQ(Open(/*create=*/false).error().code, ErrorCode::kFileUnreadable);
  std::filesystem::create_directories(folder_ / "below");
  std::ofstream(path_) << "These are no costs, but a text that is longer than a header.\n"
                       << std::string(4096, 'x');
  for (const bool create : {false, true}) {
    const Error error = Open(create).error();
    EXPECT_EQ(error.code, ErrorCode::kFileCorrupt) << error.ToString();
    EXPECT_EQ(error.file, path_);
  }
  std::filesystem::remove(path_);
  Sql("CREATE TABLE songs (title TEXT)");
  EXPECT_EQ(Open().error().code, ErrorCode::kField);
  std::filesystem::remove(path_);
  ASSERT_TRUE(Open().ok());
  Sql("PRAGMA user_version = 7");
  const Error error = Open().error();
  EXPECT_EQ(error.code, ErrorCode::kField);
  EXPECT_NE(error.message.find("version 7"), std::string::npos);
}

// A store of the version before, which has no references of the machine's state.
TEST_F(CostStoreFile, AnOlderStoreIsReadAndGrows) {
  ASSERT_TRUE(Open().Take().Put({{On(), {StoredOp("neg", 100)}}}, {}).ok());
  Sql("ALTER TABLE op DROP COLUMN arithmetic; ALTER TABLE op DROP COLUMN cache; ALTER TABLE op "
      "DROP COLUMN memory; "
      "PRAGMA user_version = 1");
  const std::vector<MeasuredDevice> read = Open(/*create=*/false).Take().Read("worker", 1).Take();
  ASSERT_EQ(read.size(), 1u);
  EXPECT_EQ(read[0].ops[0].time, Nanos(100));
  EXPECT_FALSE(read[0].ops[0].state.known());
  ASSERT_TRUE(Open().Take().Put({{On(), {StoredOp("exp", 200)}}}, {}).ok());
  const std::vector<MeasuredDevice> grown = Open(/*create=*/false).Take().Read("worker", 1).Take();
  ASSERT_EQ(grown[0].ops.size(), 2u);
  EXPECT_TRUE(grown[0].ops[0].state.known());
  EXPECT_FALSE(grown[0].ops[1].state.known());
}

// What a program that was killed while it made the store has left: nothing, or a file without tables.
TEST_F(CostStoreFile, AStoreThatWasNeverFilledIsEmpty) {
  std::filesystem::create_directories(folder_ / "below");
  std::ofstream(path_).flush();
  const Result<CostStore> empty = Open(/*create=*/false);
  ASSERT_TRUE(empty.ok()) << empty.error().ToString();
  EXPECT_TRUE(empty.value().Read("worker", 1).Take().empty());
  EXPECT_TRUE(empty.value().ReadTransfers("worker", 1).Take().empty());
  EXPECT_TRUE(empty.value().ReadCollectives("gloo").Take().empty());
  EXPECT_TRUE(Open().Take().Put({{On(), {StoredOp("neg", 100)}}}, {}).ok());
  EXPECT_EQ(Open(false).Take().Read("worker", 1).Take().size(), 1u);
}

TEST_F(CostStoreFile, ImpossibleNumbersAreRefused) {
  ASSERT_TRUE(Open().Take().Put({{On(), {StoredOp("neg", 100)}}}, {}).ok());
  Sql("UPDATE op SET time = -1");
  EXPECT_EQ(Open(false).Take().Read("worker", 1).error().code, ErrorCode::kFileCorrupt);
}

TEST_F(CostStoreFile, KeepsCollectives) {
  const std::string pair = "all-reduce 2xworker:1/1", four = "all-reduce 4xworker:1/1";
  {
    CostStore store = Open().Take();
    ASSERT_TRUE(store
                    .PutCollectives(
                        {{"gloo", four, {{Bytes(4096), Nanos(90), 5}}},
                         {"gloo", pair, {{Bytes(2048), Nanos(70), 5}, {Bytes(1024), Nanos(50), 6}}},
                         {"nccl", pair, {{Bytes(1024), Nanos(7), 8}}}})
                    .ok());
    ASSERT_TRUE(store.PutCollectives({{"gloo", pair, {{Bytes(2048), Nanos(60), 9}}}}).ok());
    const Status negative = store.PutCollectives(
        {{"gloo", pair, {{Bytes(512), Nanos(1), 1}, {Bytes(256), Nanos(-1), 1}}}});
    EXPECT_EQ(negative.error().code, ErrorCode::kField);
  }
  const CostStore store = Open(/*create=*/false).Take();
  const std::vector<MeasuredCollectives> gloo = store.ReadCollectives("gloo").Take();
  ASSERT_EQ(gloo.size(), 2u);
  EXPECT_EQ(gloo[0].devices, pair);
  ASSERT_EQ(gloo[0].sizes.size(), 2u);  // ascending; the newer time; nothing of what was refused
  EXPECT_EQ(gloo[0].sizes[0].bytes, Bytes(1024));
  EXPECT_EQ(gloo[0].sizes[1].time, Nanos(60));
  EXPECT_EQ(gloo[0].sizes[1].runs, 9);
  EXPECT_EQ(gloo[1].devices, four);
  EXPECT_EQ(store.ReadCollectives("nccl").Take().size(), 1u);
  EXPECT_TRUE(store.ReadCollectives("mpi").Take().empty());
  Sql("UPDATE collective SET time = -1");
  EXPECT_EQ(Open(false).Take().ReadCollectives("gloo").error().code, ErrorCode::kFileCorrupt);
}

// A page in the middle is overwritten: reading says so, and the file stays as it is.
TEST_F(CostStoreFile, DamageIsFound) {
  {
    CostStore store = Open().Take();
    std::vector<MeasuredOp> rows;
    for (int i = 0; i < 2000; ++i) rows.push_back(StoredOp("signature " + std::to_string(i), 100));
    ASSERT_TRUE(store.Put({{On(), rows}}, {}).ok());
  }
  const auto size = static_cast<int64_t>(std::filesystem::file_size(path_));
  {
    std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(4096 * 8);
    file << std::string(static_cast<size_t>(size - 4096 * 8), '\x5a');
  }
  const Result<CostStore> store = Open(false);
  ASSERT_TRUE(store.ok()) << store.error().ToString();
  const auto read = store.value().Read("worker", 1);
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code, ErrorCode::kFileCorrupt) << read.error().ToString();
}

}  // namespace
}  // namespace placewright
