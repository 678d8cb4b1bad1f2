#include "cluster/discovery/match_gpu.h"

#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <tuple>
#include <vector>

#include "base/text.h"
#include "cluster/catalogue.h"

namespace placewright {
namespace {

enum class Form : uint8_t { kUnstated, kPcie, kSxm };

struct Model {
  std::string core;  // "a100", "gtx1080ti"
  Form form = Form::kUnstated;
};

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// "80gb", "16g"
bool IsMemory(std::string_view word) {
  size_t digits = 0;
  while (digits < word.size() && IsDigit(word[digits])) ++digits;
  return digits > 0 && (word.substr(digits) == "gb" || word.substr(digits) == "g");
}

void AddWord(const std::string& word, Model& model) {
  constexpr std::array<std::string_view, 16> kIgnored = {
      "nvidia", "tesla", "geforce", "quadro", "amd",   "instinct", "hbm2", "hbm2e",
      "hbm3",   "hbm3e", "gpu",     "radeon", "intel", "r",        "tm",   "graphics"};
  for (const std::string_view ignored : kIgnored) {
    if (word == ignored) return;
  }
  if (word == "pcie") {
    model.form = Form::kPcie;
  } else if (word.starts_with("sxm")) {
    model.form = Form::kSxm;
  } else if (!IsMemory(word)) {
    model.core += word;
  }
}

Model ModelOf(std::string_view name) {
  Model model;
  std::string word;
  for (const char c : name) {
    const char lower = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    if (IsDigit(lower) || (lower >= 'a' && lower <= 'z')) {
      word += lower;
    } else if (!word.empty()) {
      AddWord(word, model);
      word.clear();
    }
  }
  if (!word.empty()) AddWord(word, model);
  return model;
}

// 0: the same form; 1: one of them does not say; 2: another.
int FormDistance(Form asked, Form kind) {
  if (asked == kind) return 0;
  return asked == Form::kUnstated || kind == Form::kUnstated ? 1 : 2;
}

bool BeginsWithModel(std::string_view core, std::string_view model) {
  return !model.empty() && core.starts_with(model) &&
         (core.size() == model.size() || !IsDigit(core[model.size()]));
}

}  // namespace

Result<GpuMatch> MatchGpu(std::string_view name, Bytes memory) {
  const Model wanted = ModelOf(name);
  const DeviceKind* best = nullptr;
  std::tuple<size_t, int, int64_t> best_rank;
  std::vector<std::string> names;
  for (const DeviceKind& kind : Catalogue()) {
    if (kind.device_class != DeviceClass::kGpu) continue;
    names.push_back(kind.name);
    const Model model = ModelOf(kind.name);
    if (!BeginsWithModel(wanted.core, model.core)) continue;
    const std::tuple rank{wanted.core.size() - model.core.size(),
                          FormDistance(wanted.form, model.form),
                          std::abs(kind.memory.count - memory.count)};
    if (best == nullptr || rank < best_rank) {
      best = &kind;
      best_rank = rank;
    }
  }
  if (best != nullptr) return GpuMatch{*best, std::get<0>(best_rank) == 0};
  return MakeError(ErrorCode::kUnknownName,
                   fmt::format("the GPU \"{}\" is not in the catalogue{}", Printable(name, 80),
                               DidYouMean(name, names)),
                   "",
                   "Give --gpu KIND with the kind that is nearest to it (`placewright cluster "
                   "show` lists them), and correct its figures in the file.");
}

}  // namespace placewright
