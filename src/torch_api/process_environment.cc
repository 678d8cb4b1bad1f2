#include "torch_api/process_environment.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>

#include "base/text.h"

namespace placewright {
namespace {

constexpr int64_t kDefaultPort = 29500;
constexpr int64_t kMaxRanks = 65536;

Error VariableError(const char* name, std::string message, std::string remedy = "") {
  return MakeError(ErrorCode::kUsage, std::move(message), name, std::move(remedy));
}

Result<int64_t> NumberOf(const EnvironmentLookup& lookup, const char* name, int64_t min,
                         int64_t max) {
  const std::optional<std::string> text = lookup(name);
  if (!text) {
    return VariableError(name,
                         "it is not set, and other variables say that there are several ranks",
                         "Start all ranks with torchrun, mpirun or srun, or set it by hand.");
  }
  int64_t number = 0;
  const char* const end = text->data() + text->size();
  const auto [stopped, failed] = std::from_chars(text->data(), end, number);
  if (failed != std::errc() || stopped != end || number < min || number > max) {
    return VariableError(
        name, fmt::format("\"{}\" is no integer from {} to {}", Printable(*text, 40), min, max));
  }
  return number;
}

Result<int64_t> NumberOr(const EnvironmentLookup& lookup, const char* name, int64_t min,
                         int64_t max, int64_t otherwise) {
  if (!lookup(name)) return otherwise;
  return NumberOf(lookup, name, min, max);
}

// The first node of "a[3-5,9],b": a3.
std::string FirstNode(const std::string& list) {
  const size_t bracket = list.find('['), comma = list.find(',');
  if (bracket == std::string::npos || comma < bracket) return list.substr(0, comma);
  const size_t end = list.find_first_of("-,]", bracket);
  return list.substr(0, bracket) + list.substr(bracket + 1, end - bracket - 1);
}

// How a launcher names what it says.
struct Launcher {
  const char* rank;
  const char* size;
  const char* local_rank;
};

Result<ProcessEnvironment> RanksOf(const EnvironmentLookup& lookup, const Launcher& launcher) {
  ProcessEnvironment found;
  PW_ASSIGN(const int64_t size, NumberOf(lookup, launcher.size, 1, kMaxRanks));
  PW_ASSIGN(const int64_t rank, NumberOf(lookup, launcher.rank, 0, kMaxRanks));
  if (rank >= size) {
    return VariableError(launcher.rank, fmt::format("rank {} is not below the number of ranks, {} "
                                                    "({})",
                                                    rank, size, launcher.size));
  }
  PW_ASSIGN(const int64_t local,
            NumberOr(lookup, launcher.local_rank, 0, kMaxRanks, /*otherwise=*/0));
  found.rank = static_cast<int32_t>(rank);
  found.size = static_cast<int32_t>(size);
  found.local_rank = static_cast<int32_t>(local);
  return found;
}

}  // namespace

EnvironmentLookup ThisEnvironment() {
  return [](const char* name) -> std::optional<std::string> {
    const char* const value = std::getenv(name);
    if (value == nullptr || *value == '\0') return std::nullopt;
    return std::string(value);
  };
}

Result<std::optional<ProcessEnvironment>> ReadProcessEnvironment(const EnvironmentLookup& lookup) {
  ProcessEnvironment found;
  std::optional<std::string> implied;  // address
  const bool torchrun = lookup("RANK") || lookup("WORLD_SIZE");
  if (torchrun) {
    PW_ASSIGN(found, RanksOf(lookup, {"RANK", "WORLD_SIZE", "LOCAL_RANK"}));
  } else if (lookup("OMPI_COMM_WORLD_SIZE")) {
    PW_ASSIGN(found, RanksOf(lookup, {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
                                      "OMPI_COMM_WORLD_LOCAL_RANK"}));
    if (lookup("OMPI_COMM_WORLD_LOCAL_SIZE") == lookup("OMPI_COMM_WORLD_SIZE")) {
      implied = "127.0.0.1";
    }
  } else if (lookup("SLURM_PROCID") && lookup("SLURM_STEP_ID")) {
    const bool of_step = lookup("SLURM_STEP_NUM_TASKS").has_value();
    PW_ASSIGN(found,
              RanksOf(lookup, {"SLURM_PROCID", of_step ? "SLURM_STEP_NUM_TASKS" : "SLURM_NTASKS",
                               "SLURM_LOCALID"}));
    if (const auto nodes = lookup("SLURM_STEP_NODELIST")) implied = FirstNode(*nodes);
  } else {
    return std::optional<ProcessEnvironment>();
  }
  if (found.size == 1) return std::optional<ProcessEnvironment>();
  const std::optional<std::string> stated = lookup("MASTER_ADDR");
  if (!stated && !implied) {
    return VariableError("MASTER_ADDR", "it is not set: the address of rank 0's machine",
                         "Set it for all ranks (mpirun: -x MASTER_ADDR=HOST).");
  }
  found.address = stated ? *stated : *implied;
  PW_ASSIGN(const int64_t port, torchrun ? NumberOf(lookup, "MASTER_PORT", 1, 65535)
                                         : NumberOr(lookup, "MASTER_PORT", 1, 65535, kDefaultPort));
  found.port = static_cast<uint16_t>(port);
  return std::optional(found);
}

}  // namespace placewright
