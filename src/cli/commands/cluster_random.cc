#include <fmt/format.h>

#include <charconv>

#include "base/text.h"
#include "cli/commands/cluster_output.h"
#include "cli/commands/command.h"
#include "cli/terminal/options.h"
#include "cli/terminal/output_path.h"
#include "cluster/random_topology.h"

namespace placewright {
namespace {

constexpr int64_t kMbpsPerGbps = 1'000;

// "3" or "1-6", each of at most nine digits; times `unit`.
Result<DrawRange> ParseRange(std::string_view option, const std::string& text, int64_t unit) {
  const auto number = [](std::string_view digits) -> int64_t {
    int64_t value = 0;
    const char* end = digits.data() + digits.size();
    const auto [rest, error] = std::from_chars(digits.data(), end, value);
    const bool good = !digits.empty() && digits.size() <= 9 && digits[0] != '-' && rest == end &&
                      error == std::errc();
    return good ? value : -1;
  };
  const std::string_view all(text);
  const size_t dash = all.find('-');
  const int64_t min = number(all.substr(0, dash));
  const int64_t max = dash == std::string_view::npos ? min : number(all.substr(dash + 1));
  if (min >= 1 && max >= min) return DrawRange{min * unit, max * unit};
  return MakeError(
      ErrorCode::kUsage,
      fmt::format("{} {} is neither a number nor a range", option, Printable(text, 40)), "",
      "Give a positive integer, or a range MIN-MAX such as 1-6.");
}

class ClusterRandomCommand : public Command {
 public:
  CommandLine Register(CommandLine cluster) override {
    CommandLine app = cluster.AddCommand("random", "Draw machines as TAG does to train on");
    app.AddOption("--seed", seed_, "Random seed (default 0)")
        .Check(IntegerWithin(0, UINT64_MAX))
        .TypeName("N");
    const auto range = [&app](const char* name, std::string& value, const char* help) {
      app.AddOption(name, value, help).TypeName("N|A-B");
    };
    range("--machines", machines_, "How many machines (default 1-6)");
    range("--gpus", gpus_, "How many GPUs on each (default 1-8)");
    range("--inside", inside_, "Gb/s of a GPU's link within its machine (default 64-160)");
    range("--between", between_, "Gb/s of a machine's link to the others (default 20-50)");
    app.AddOption("--kinds", kinds_,
                  "Types of GPU to draw from (default V100-32GB,GTX-1080Ti,P100-12GB)")
        .TypeName("KIND,...");
    app.AddOption("-o,--output", output_, "The cluster file; standard output where left out or -")
        .TypeName("FILE");
    app.Footer(
        "Examples:\n"
        "  placewright cluster random --seed 7\n"
        "  placewright cluster random --seed 7 --machines 2-4 --kinds A100-40GB,T4 -o seven.yaml");
    return app;
  }

  Result<int> Run(Context& context) override {
    PW_ASSIGN(options_.machines, ParseRange("--machines", machines_, 1));
    PW_ASSIGN(options_.gpus, ParseRange("--gpus", gpus_, 1));
    PW_ASSIGN(options_.inside_mbps, ParseRange("--inside", inside_, kMbpsPerGbps));
    PW_ASSIGN(options_.between_mbps, ParseRange("--between", between_, kMbpsPerGbps));
    PW_RETURN_IF_ERROR(SplitKinds());
    if (output_ == "-") output_.clear();
    if (!output_.empty()) PW_RETURN_IF_ERROR(ProbeWritable(output_));
    PW_ASSIGN(const ClusterBuilder builder, DrawTopology(options_, seed_));
    const std::string note = fmt::format(
        "placewright cluster random --seed {} --machines {} --gpus {} --inside {} --between {} "
        "--kinds {}",
        seed_, machines_, gpus_, inside_, between_, fmt::join(options_.kinds, ","));
    PW_RETURN_IF_ERROR(PutCluster(builder, {note}, output_, context.console));
    return 0;
  }

 private:
  Status SplitKinds() {
    options_.kinds.clear();
    std::string_view rest = kinds_;
    for (bool more = true; more;) {
      const size_t comma = rest.find(',');
      more = comma != std::string_view::npos;
      options_.kinds.emplace_back(rest.substr(0, comma));
      rest.remove_prefix(more ? comma + 1 : rest.size());
      if (!options_.kinds.back().empty()) continue;
      return MakeError(ErrorCode::kUsage,
                       fmt::format("--kinds \"{}\" has an empty name", Printable(kinds_, 120)), "",
                       "Put one comma between two kinds, as in A100-40GB,T4.");
    }
    return Ok();
  }

  uint64_t seed_ = 0;
  std::string machines_ = "1-6", gpus_ = "1-8", inside_ = "64-160", between_ = "20-50", output_;
  RandomTopologyOptions options_;
  std::string kinds_ = fmt::format("{}", fmt::join(options_.kinds, ","));
};

}  // namespace

std::unique_ptr<Command> MakeClusterRandomCommand() {
  return std::make_unique<ClusterRandomCommand>();
}

}  // namespace placewright
