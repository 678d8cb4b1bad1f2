#include "formats/cost_store/cost_store.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "base/text.h"

namespace placewright {
namespace {

// "PWcs": what this database is for (the field that SQLite keeps for that).
constexpr int kApplication = 0x50576373;
constexpr int kWaitMs = 30'000;

// Times are nanoseconds, sizes bytes, `measured` seconds since 1970.
constexpr const char* kTables = R"(
CREATE TABLE environment (
  id INTEGER PRIMARY KEY,
  kind TEXT NOT NULL, cores INTEGER NOT NULL, loaded INTEGER NOT NULL,
  libtorch TEXT NOT NULL, blas TEXT NOT NULL,
  measured INTEGER NOT NULL,
  UNIQUE (kind, cores, loaded, libtorch, blas));
CREATE TABLE op (
  environment INTEGER NOT NULL REFERENCES environment (id),
  signature TEXT NOT NULL, family TEXT NOT NULL, batch INTEGER NOT NULL,
  time INTEGER NOT NULL, low INTEGER NOT NULL, high INTEGER NOT NULL,
  runs INTEGER NOT NULL, workspace INTEGER NOT NULL,
  arithmetic INTEGER NOT NULL DEFAULT 0, cache INTEGER NOT NULL DEFAULT 0,
  memory INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (environment, signature)) WITHOUT ROWID;
CREATE TABLE transfer (
  source INTEGER NOT NULL REFERENCES environment (id),
  destination INTEGER NOT NULL REFERENCES environment (id),
  bytes INTEGER NOT NULL, time INTEGER NOT NULL, runs INTEGER NOT NULL,
  PRIMARY KEY (source, destination, bytes)) WITHOUT ROWID;
CREATE TABLE collective (
  backend TEXT NOT NULL, devices TEXT NOT NULL,
  bytes INTEGER NOT NULL, time INTEGER NOT NULL, runs INTEGER NOT NULL,
  PRIMARY KEY (backend, devices, bytes)) WITHOUT ROWID;
)";

// Schema 1 says nothing on the state of the machine: 0 is unknown.
constexpr const char* kFromSchema1 = R"(
ALTER TABLE op ADD COLUMN arithmetic INTEGER NOT NULL DEFAULT 0;
ALTER TABLE op ADD COLUMN cache INTEGER NOT NULL DEFAULT 0;
ALTER TABLE op ADD COLUMN memory INTEGER NOT NULL DEFAULT 0;
)";

Error StoreError(int code, sqlite3* database, ErrorCode otherwise) {
  const std::string said = database != nullptr ? sqlite3_errmsg(database) : sqlite3_errstr(code);
  switch (code & 0xff) {
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
      return MakeError(
          ErrorCode::kFileCorrupt, "the cost store is damaged: " + said, "",
          "Move the file away and profile again; --no-store of other commands leaves it out.");
    case SQLITE_FULL:
      return MakeError(ErrorCode::kFileUnwritable, "the disk is full: " + said, "",
                       "Free some space; what the store held before is still there.");
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return MakeError(
          ErrorCode::kFileUnwritable,
          fmt::format("another program has held the cost store for {} s: {}", kWaitMs / 1000, said),
          "", "Try again when it has ended, or name another store.");
    case SQLITE_READONLY:
    case SQLITE_PERM: return MakeError(ErrorCode::kFileUnwritable, said);
    default: return MakeError(otherwise, said);
  }
}

}  // namespace

struct CostStore::Database {
  Database() = default;
  ~Database() { sqlite3_close_v2(handle); }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  sqlite3* handle = nullptr;
  bool empty = false;  // without tables: nothing is to be read
  int64_t schema = kSchema;
  std::string path;

  Error Fail(int code, ErrorCode otherwise) const {
    Error error = StoreError(code, handle, otherwise);
    error.file = path;
    return error;
  }
  Error Impossible(const std::string& row) const {
    Error error = MakeError(ErrorCode::kFileCorrupt, "a number of the cost store is impossible",
                            Printable(row, 200), "Move the file away and profile again.");
    error.file = path;
    return error;
  }
  Status Execute(const char* sql, ErrorCode otherwise) const {
    const int code = sqlite3_exec(handle, sql, nullptr, nullptr, nullptr);
    if (code != SQLITE_OK) return Fail(code, otherwise);
    return Ok();
  }
};

namespace {

// One prepared statement.
class Statement {
 public:
  Statement(sqlite3* database, const char* sql) {
    code_ = sqlite3_prepare_v2(database, sql, -1, &statement_, nullptr);
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  // Binds in order and takes the first row, or runs to the end. SQLITE_ROW, SQLITE_DONE, or an error.
  template <class... Values>
  int Run(const Values&... values) {
    if (code_ != SQLITE_OK) return code_;
    sqlite3_reset(statement_);
    int at = 0;
    (Bind(++at, values), ...);
    return sqlite3_step(statement_);
  }
  int Next() { return sqlite3_step(statement_); }
  int64_t Int(int column) const { return sqlite3_column_int64(statement_, column); }
  std::string Text(int column) const {
    const auto* const text = sqlite3_column_text(statement_, column);
    const int bytes = sqlite3_column_bytes(statement_, column);
    return text == nullptr
               ? ""
               : std::string(reinterpret_cast<const char*>(text), static_cast<size_t>(bytes));
  }

 private:
  void Bind(int at, int64_t value) { sqlite3_bind_int64(statement_, at, value); }
  void Bind(int at, const std::string& value) {
    sqlite3_bind_text64(statement_, at, value.data(), value.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  }

  sqlite3_stmt* statement_ = nullptr;
  int code_ = SQLITE_OK;
};

Result<int64_t> Pragma(sqlite3* database, const char* sql, int* code) {
  Statement statement(database, sql);
  *code = statement.Run();
  return *code == SQLITE_ROW ? statement.Int(0) : 0;
}

int64_t Now() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace

CostStore::CostStore(std::unique_ptr<Database> database) : database_(std::move(database)) {}
CostStore::~CostStore() = default;
CostStore::CostStore(CostStore&&) noexcept = default;

Result<CostStore> CostStore::Open(const std::string& path, bool create) {
  if (create) {
    std::error_code ignored;  // where it cannot be made, opening says why
    std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
  }
  auto database = std::make_unique<Database>();
  database->path = path;
  const ErrorCode otherwise = create ? ErrorCode::kFileUnwritable : ErrorCode::kFileUnreadable;
  const int flags = create ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY;
  int code = sqlite3_open_v2(path.c_str(), &database->handle, flags, nullptr);
  if (!create) {
    // What a writer that was killed has left is rolled back, which writes.
    sqlite3* writable = nullptr;
    if (sqlite3_open_v2(path.c_str(), &writable, SQLITE_OPEN_READWRITE, nullptr) == SQLITE_OK &&
        sqlite3_db_readonly(writable, "main") == 0) {
      std::swap(database->handle, writable);
      code = SQLITE_OK;
    }
    sqlite3_close_v2(writable);
  }
  if (code != SQLITE_OK) return database->Fail(code, otherwise);
  sqlite3_busy_timeout(database->handle, kWaitMs);
  if (create) PW_RETURN_IF_ERROR(database->Execute("BEGIN IMMEDIATE", otherwise));
  PW_ASSIGN(const int64_t schema, Pragma(database->handle, "PRAGMA user_version", &code));
  if (code != SQLITE_ROW) return database->Fail(code, otherwise);
  PW_ASSIGN(const int64_t application, Pragma(database->handle, "PRAGMA application_id", &code));
  if (code != SQLITE_ROW) return database->Fail(code, otherwise);
  PW_ASSIGN(const int64_t tables,
            Pragma(database->handle, "SELECT count(*) FROM sqlite_master", &code));
  if (code != SQLITE_ROW) return database->Fail(code, otherwise);
  const std::string marks =
      fmt::format("PRAGMA user_version = {}; PRAGMA application_id = {}", kSchema, kApplication);
  if (tables == 0 && application == 0 && create) {
    PW_RETURN_IF_ERROR(database->Execute(kTables, otherwise));
    PW_RETURN_IF_ERROR(database->Execute(marks.c_str(), otherwise));
  } else if (tables == 0 && application == 0) {
    // One whose making ended before it was done holds nothing.
    database->empty = true;
  } else if (application != kApplication) {
    Error error = MakeError(ErrorCode::kField, "it is a database, but no cost store", "",
                            "Name another file with --cost-store.");
    error.file = path;
    return error;
  } else if (schema == 1) {
    database->schema = schema;
    if (create) {
      PW_RETURN_IF_ERROR(database->Execute(kFromSchema1, otherwise));
      PW_RETURN_IF_ERROR(database->Execute(marks.c_str(), otherwise));
      database->schema = kSchema;
    }
  } else if (schema != kSchema) {
    Error error = MakeError(
        ErrorCode::kField,
        fmt::format("the cost store has version {}, and this program reads {}", schema, kSchema),
        "", "Move the file away and profile again, or name another with --cost-store.");
    error.file = path;
    return error;
  }
  if (create) PW_RETURN_IF_ERROR(database->Execute("COMMIT", otherwise));
  return CostStore(std::move(database));
}

Status CostStore::Put(const std::vector<MeasuredDevice>& devices,
                      const std::vector<MeasuredTransfers>& transfers) {
  for (const MeasuredDevice& device : devices) {
    for (const MeasuredOp& op : device.ops) {
      for (const int64_t number :
           {op.batch, op.time.count, op.low.count, op.high.count, op.runs, op.workspace.count,
            op.state.arithmetic.count, op.state.cache.count, op.state.memory.count}) {
        if (number < 0 || number >= kMaxQuantity) {
          return MakeError(ErrorCode::kField, "a number of it is impossible",
                           "op " + Printable(op.signature, 120));
        }
      }
    }
  }
  for (const MeasuredTransfers& pair : transfers) {
    for (const MeasuredTransfer& size : pair.sizes) {
      for (const int64_t number : {size.bytes.count, size.time.count}) {
        if (number < 0 || number >= kMaxQuantity) {
          return MakeError(ErrorCode::kField, "a number of it is impossible", "a transfer");
        }
      }
    }
  }
  const auto put = [&]() -> Status {
    sqlite3* const handle = database_->handle;
    const auto check = [&](int code) -> Status {
      if (code == SQLITE_DONE || code == SQLITE_ROW) return Ok();
      return database_->Fail(code, ErrorCode::kFileUnwritable);
    };
    Statement add(handle,
                  "INSERT INTO environment (kind, cores, loaded, libtorch, blas, measured) VALUES "
                  "(?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET measured = excluded.measured");
    Statement find(handle,
                   "SELECT id FROM environment WHERE kind = ? AND cores = ? AND loaded = ? AND "
                   "libtorch = ? AND blas = ?");
    Statement op(handle, "INSERT OR REPLACE INTO op VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    Statement transfer(handle, "INSERT OR REPLACE INTO transfer VALUES (?, ?, ?, ?, ?)");
    const auto environment = [&](const MeasuredOn& on, int64_t& id) -> Status {
      const int64_t loaded = on.loaded ? 1 : 0;
      PW_RETURN_IF_ERROR(check(add.Run(on.kind, on.cores, loaded, on.libtorch, on.blas, Now())));
      const int found = find.Run(on.kind, on.cores, loaded, on.libtorch, on.blas);
      PW_RETURN_IF_ERROR(check(found));
      id = find.Int(0);
      return Ok();
    };
    for (const MeasuredDevice& device : devices) {
      int64_t id = 0;
      PW_RETURN_IF_ERROR(environment(device.on, id));
      for (const MeasuredOp& row : device.ops) {
        PW_RETURN_IF_ERROR(
            check(op.Run(id, row.signature, row.family, row.batch, row.time.count, row.low.count,
                         row.high.count, row.runs, row.workspace.count, row.state.arithmetic.count,
                         row.state.cache.count, row.state.memory.count)));
      }
    }
    for (const MeasuredTransfers& pair : transfers) {
      int64_t from = 0, to = 0;
      PW_RETURN_IF_ERROR(environment(pair.from, from));
      PW_RETURN_IF_ERROR(environment(pair.to, to));
      for (const MeasuredTransfer& size : pair.sizes) {
        PW_RETURN_IF_ERROR(
            check(transfer.Run(from, to, size.bytes.count, size.time.count, size.runs)));
      }
    }
    return Ok();
  };
  return Transact(put);
}

Status CostStore::Transact(const std::function<Status()>& put) {
  PW_RETURN_IF_ERROR(database_->Execute("BEGIN IMMEDIATE", ErrorCode::kFileUnwritable));
  Status status = put();
  if (status.ok()) status = database_->Execute("COMMIT", ErrorCode::kFileUnwritable);
  if (!status.ok()) sqlite3_exec(database_->handle, "ROLLBACK", nullptr, nullptr, nullptr);
  return status;
}

Status CostStore::PutCollectives(const std::vector<MeasuredCollectives>& collectives) {
  for (const MeasuredCollectives& one : collectives) {
    for (const MeasuredCollective& size : one.sizes) {
      for (const int64_t number : {size.bytes.count, size.time.count, size.runs}) {
        if (number < 0 || number >= kMaxQuantity) {
          return MakeError(ErrorCode::kField, "a number of it is impossible",
                           "collective " + Printable(one.devices, 120));
        }
      }
    }
  }
  return Transact([&]() -> Status {
    Statement add(database_->handle, "INSERT OR REPLACE INTO collective VALUES (?, ?, ?, ?, ?)");
    for (const MeasuredCollectives& one : collectives) {
      for (const MeasuredCollective& size : one.sizes) {
        const int code =
            add.Run(one.backend, one.devices, size.bytes.count, size.time.count, size.runs);
        if (code != SQLITE_DONE) return database_->Fail(code, ErrorCode::kFileUnwritable);
      }
    }
    return Ok();
  });
}

namespace {

// Whether they are the same but for kernels ("FILE (KERNELS)") that one of them, of an older program, does not name.
bool AreAlike(const std::string& blas, const std::string& other) {
  const std::string& longer = blas.size() < other.size() ? other : blas;
  const std::string& shorter = blas.size() < other.size() ? blas : other;
  return longer == shorter || longer.starts_with(shorter + " (");
}

}  // namespace

Result<std::vector<MeasuredDevice>> CostStore::Read(const std::string& kind, int64_t cores) const {
  std::vector<MeasuredDevice> devices;
  if (database_->empty) return devices;
  std::optional<MeasuredOn> own;  // of what `profile` measured, the newest
  Statement environments(
      database_->handle,
      "SELECT id, loaded, libtorch, blas FROM environment AS e WHERE kind = ? AND cores = ? AND "
      "EXISTS (SELECT 1 FROM op WHERE environment = e.id) ORDER BY measured DESC, id DESC");
  const std::string columns = fmt::format(
      "SELECT signature, family, batch, time, low, high, runs, workspace, {} FROM op WHERE "
      "environment = ? ORDER BY signature",
      database_->schema == 1 ? "0, 0, 0" : "arithmetic, cache, memory");
  Statement ops(database_->handle, columns.c_str());
  int code = environments.Run(kind, cores);
  for (; code == SQLITE_ROW; code = environments.Next()) {
    MeasuredDevice device;
    device.on = {kind, cores, environments.Int(1) != 0, environments.Text(2), environments.Text(3)};
    if (!device.on.imported()) {
      if (!own) own = device.on;
      if (device.on.libtorch != own->libtorch || !AreAlike(device.on.blas, own->blas)) continue;
    }
    int row = ops.Run(environments.Int(0));
    for (; row == SQLITE_ROW; row = ops.Next()) {
      for (const int column : {2, 3, 4, 5, 6, 7, 8, 9, 10}) {
        if (ops.Int(column) < 0 || ops.Int(column) >= kMaxQuantity) {
          return database_->Impossible(ops.Text(0));
        }
      }
      device.ops.push_back({ops.Text(0),
                            ops.Text(1),
                            ops.Int(2),
                            Nanos(ops.Int(3)),
                            Nanos(ops.Int(4)),
                            Nanos(ops.Int(5)),
                            ops.Int(6),
                            Bytes(ops.Int(7)),
                            {Nanos(ops.Int(8)), Nanos(ops.Int(9)), Nanos(ops.Int(10))}});
    }
    if (row != SQLITE_DONE) return database_->Fail(row, ErrorCode::kFileUnreadable);
    devices.push_back(std::move(device));
  }
  if (code != SQLITE_DONE) return database_->Fail(code, ErrorCode::kFileUnreadable);
  return devices;
}

Result<std::vector<MeasuredTransfers>> CostStore::ReadTransfers(const std::string& kind,
                                                                int64_t cores) const {
  std::vector<MeasuredTransfers> pairs;
  if (database_->empty) return pairs;
  Statement rows(database_->handle,
                 "SELECT f.loaded, f.libtorch, f.blas, t.kind, t.cores, t.loaded, t.libtorch, "
                 "t.blas, x.bytes, x.time, x.runs FROM transfer AS x JOIN environment AS f ON f.id "
                 "= x.source JOIN environment AS t ON t.id = x.destination WHERE f.kind = ? AND "
                 "f.cores = ? ORDER BY f.measured DESC, f.id, t.id, x.bytes");
  int code = rows.Run(kind, cores);
  for (; code == SQLITE_ROW; code = rows.Next()) {
    const MeasuredOn from{kind, cores, rows.Int(0) != 0, rows.Text(1), rows.Text(2)};
    const MeasuredOn to{rows.Text(3), rows.Int(4), rows.Int(5) != 0, rows.Text(6), rows.Text(7)};
    if (pairs.empty() || pairs.back().from != from || pairs.back().to != to) {
      pairs.push_back({from, to, {}});
    }
    if (rows.Int(8) < 0 || rows.Int(8) >= kMaxQuantity || rows.Int(9) < 0 ||
        rows.Int(9) >= kMaxQuantity) {
      return database_->Impossible("a transfer");
    }
    pairs.back().sizes.push_back({Bytes(rows.Int(8)), Nanos(rows.Int(9)), rows.Int(10)});
  }
  if (code != SQLITE_DONE) return database_->Fail(code, ErrorCode::kFileUnreadable);
  return pairs;
}

Result<std::vector<MeasuredCollectives>> CostStore::ReadCollectives(
    const std::string& backend) const {
  std::vector<MeasuredCollectives> all;
  if (database_->empty) return all;
  Statement rows(database_->handle,
                 "SELECT devices, bytes, time, runs FROM collective WHERE backend = ? ORDER BY "
                 "devices, bytes");
  int code = rows.Run(backend);
  for (; code == SQLITE_ROW; code = rows.Next()) {
    const std::string devices = rows.Text(0);
    for (const int column : {1, 2, 3}) {
      if (rows.Int(column) < 0 || rows.Int(column) >= kMaxQuantity) {
        return database_->Impossible(devices);
      }
    }
    if (all.empty() || all.back().devices != devices) all.push_back({backend, devices, {}});
    all.back().sizes.push_back({Bytes(rows.Int(1)), Nanos(rows.Int(2)), rows.Int(3)});
  }
  if (code != SQLITE_DONE) return database_->Fail(code, ErrorCode::kFileUnreadable);
  return all;
}

}  // namespace placewright
