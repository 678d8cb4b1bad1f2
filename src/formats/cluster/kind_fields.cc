#include "formats/cluster/kind_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "base/text.h"
#include "cluster/catalogue.h"
#include "cost/efficiency.h"
#include "formats/text/quantity.h"

namespace placewright {
namespace {

// `parse` reads text with a unit; the key with `suffix` holds an integer of the base unit.
template <class T, class Parse, class Make>
Result<std::optional<T>> ReadQuantity(const YamlNode& map, std::string_view key,
                                      std::string_view suffix, Parse parse, Make make) {
  const std::string exact = std::string(key) + std::string(suffix);
  const YamlNode* with_unit = map.Find(key);
  const YamlNode* whole = map.Find(exact);
  if (with_unit != nullptr && whole != nullptr) {
    return whole->Fail(fmt::format("\"{}\" and \"{}\" state the same thing", key, exact));
  }
  if (whole != nullptr) {
    PW_ASSIGN(const int64_t count, whole->AsInt(exact, 0, kMaxQuantity));
    return std::optional<T>(make(count));
  }
  if (with_unit == nullptr) return std::optional<T>();
  PW_ASSIGN(const std::string text, with_unit->AsText(key));
  Result<T> value = parse(text);
  if (!value.ok()) {
    value.error().message = fmt::format("{}: {}", key, value.error().message);
    return At(*with_unit, std::move(value.error()));
  }
  return std::optional<T>(value.Take());
}

template <class T, class Parse>
Result<std::optional<T>> ReadQuantity(const YamlNode& map, std::string_view key,
                                      std::string_view suffix, Parse parse) {
  return ReadQuantity<T>(map, key, suffix, parse, [](int64_t count) { return T(count); });
}

struct RateField {
  std::string_view key;
  double PeakRates::*member;
};
constexpr std::array kRates = {RateField{"f64", &PeakRates::f64}, RateField{"f32", &PeakRates::f32},
                               RateField{"f16", &PeakRates::f16},
                               RateField{"bf16", &PeakRates::bf16},
                               RateField{"i8", &PeakRates::i8}};

// peak: {f32: 9.3 TFLOP/s}, or peak_flops: {f32: 9.3e12}.
Status ReadPeak(const YamlNode& map, PeakRates& peak) {
  const YamlNode* with_unit = map.Find("peak");
  const YamlNode* plain = map.Find("peak_flops");
  if (with_unit != nullptr && plain != nullptr) {
    return plain->Fail("\"peak\" and \"peak_flops\" state the same thing");
  }
  const YamlNode* rates = with_unit != nullptr ? with_unit : plain;
  if (rates == nullptr) return Ok();
  PW_RETURN_IF_ERROR(rates->CheckKeys("a peak", {"f64", "f32", "f16", "bf16", "i8"}));
  for (const RateField& field : kRates) {
    const YamlNode* node = rates->Find(field.key);
    if (node == nullptr) continue;
    if (plain != nullptr) {
      PW_ASSIGN(const double rate, node->AsNumber(field.key));
      if (rate < 0) return node->Fail(fmt::format("{} is negative", field.key));
      peak.*field.member = rate;
      continue;
    }
    PW_ASSIGN(const std::string text, node->AsText(field.key));
    Result<double> rate = ParseRate(text);
    if (!rate.ok()) return At(*node, std::move(rate.error()));
    peak.*field.member = rate.value();
  }
  return Ok();
}

Result<DeviceClass> ReadClass(const YamlNode& node) {
  PW_ASSIGN(const std::string text, node.AsText("class"));
  for (const DeviceClass c : {DeviceClass::kCpu, DeviceClass::kGpu, DeviceClass::kOther}) {
    if (ToString(c) == text) return c;
  }
  return node.Fail(fmt::format("class is \"{}\", not cpu, gpu or other{}", Printable(text, 40),
                               DidYouMean(text, {"cpu", "gpu", "other"})));
}

Status ReadText(const YamlNode& map, std::string_view key, std::string& value) {
  const YamlNode* node = map.Find(key);
  if (node == nullptr) return Ok();
  if (!node->IsScalar()) return node->Fail(fmt::format("{} must be text", key));
  value = node->text;  // may be empty
  return Ok();
}

// Times of class other are given; those of GPUs and CPUs are modelled by what their architecture
// reaches.
Status CheckArchitecture(const YamlNode& map, const DeviceKind& kind) {
  if (kind.device_class == DeviceClass::kOther) return Ok();
  const std::vector<std::string> known = EfficiencyArchitectures(kind.device_class);
  if (std::find(known.begin(), known.end(), kind.architecture) != known.end()) return Ok();
  const YamlNode* node = map.Find("architecture");
  const std::string_view other = kind.device_class == DeviceClass::kCpu ? "other-cpu" : "other-gpu";
  return MakeError(
      ErrorCode::kUnknownName,
      fmt::format("no architecture of class {} is called \"{}\"{}", ToString(kind.device_class),
                  Printable(kind.architecture, 80), DidYouMean(kind.architecture, known)),
      (node != nullptr ? *node : map).Place(),
      fmt::format("Known are {}; {} stands for what is not listed.", fmt::join(known, ", "),
                  other));
}

// What a kind without `like` must state.
Status CheckComplete(const YamlNode& map) {
  Status complete = map.CheckHas({{"class"},
                                  {"architecture", "ampere"},
                                  {"peak", "{f32: 9.3 TFLOP/s}", "peak_flops"},
                                  {"memory_bandwidth", "549 GB/s", "memory_bandwidth_bytes_per_s"},
                                  {"launch_overhead", "5 us", "launch_overhead_ns"},
                                  {"runtime_context", "500 MiB", "runtime_context_bytes"}});
  if (!complete.ok()) {
    complete.error().remedy = "State them, or name a kind of the catalogue with \"like\".";
    // What it does state may be wrong, too.
    DeviceKind stated;
    const YamlNode* device_class = map.Find("class");
    const YamlNode* architecture = map.Find("architecture");
    if (device_class != nullptr && architecture != nullptr) {
      PW_ASSIGN(stated.device_class, ReadClass(*device_class));
      PW_RETURN_IF_ERROR(ReadText(map, "architecture", stated.architecture));
      if (const Status known = CheckArchitecture(map, stated); !known.ok()) {
        complete.error().message += "; " + known.error().message;
      }
    }
  }
  return complete;
}

// What NCCL takes of a GPU and gets of its switch: channels need multiprocessors, nvls needs channels.
Status ReadCollectives(const YamlNode& map, DeviceKind& kind) {
  constexpr int64_t kMaxMultiprocessors = 4096;
  for (const auto& [key, member] : {std::pair("multiprocessors", &DeviceKind::multiprocessors),
                                    std::pair("channels", &DeviceKind::channels)}) {
    const YamlNode* node = map.Find(key);
    if (node == nullptr) continue;
    if (kind.device_class != DeviceClass::kGpu) {
      return node->Fail(fmt::format("only GPUs state {}", key));
    }
    PW_ASSIGN(const int64_t count, node->AsInt(key, 0, kMaxMultiprocessors));
    kind.*member = static_cast<int32_t>(count);
  }
  const YamlNode* channels = map.Find("channels");
  if (kind.channels > 0 && kind.channels >= kind.multiprocessors) {
    return (channels != nullptr ? *channels : map)
        .Fail(fmt::format("{} channels need more than so many multiprocessors, and the kind has {}",
                          kind.channels, kind.multiprocessors));
  }
  if (const YamlNode* nvls = map.Find("nvls")) {
    PW_ASSIGN(kind.nvls, nvls->AsBool("nvls"));
    if (kind.nvls && kind.channels == 0) {
      return nvls->Fail("nvls is of kinds that state channels and multiprocessors");
    }
  } else if (kind.channels == 0) {
    kind.nvls = false;
  }
  return Ok();
}

// "NVIDIA GeForce RTX 4070 Laptop GPU" and "rtx4070laptop" are both "rtx4070laptop".
std::string Model(std::string_view name) {
  constexpr std::array<std::string_view, 13> kNoModel = {
      "nvidia", "geforce", "quadro", "tesla", "amd",       "instinct", "intel",
      "core",   "gpu",     "cpu",    "r",     "processor", "tm"};
  std::string model, word;
  const auto end_word = [&] {
    if (std::find(kNoModel.begin(), kNoModel.end(), word) == kNoModel.end()) model += word;
    word.clear();
  };
  for (const char c : name) {
    const char lower = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    if ((lower >= '0' && lower <= '9') || (lower >= 'a' && lower <= 'z')) {
      word += lower;
    } else {
      end_word();
    }
  }
  end_word();
  return model;
}

// Kinds of the same model as people write it, else those that its name begins, or that begin it;
// else those that are spelled alike.
std::vector<std::string> NearKinds(std::string_view name, const std::vector<std::string>& names) {
  constexpr size_t kMin = 4, kMax = 6;  // letters and digits; kinds
  const std::string wanted = Model(name);
  std::vector<std::string> equal, longer, shorter, models;
  for (const std::string& known : names) {
    const std::string model = Model(known);
    if (model == wanted) equal.push_back(known);
    if (!wanted.empty() && model.starts_with(wanted)) longer.push_back(known);
    if (model.size() >= kMin && wanted.starts_with(model)) shorter.push_back(known);
    models.push_back(model);
  }
  std::vector<std::string> near = !equal.empty() ? equal : !longer.empty() ? longer : shorter;
  if (near.empty()) {
    for (const std::string& model : NearNames(wanted, models)) {
      const auto at = std::find(models.begin(), models.end(), model) - models.begin();
      near.push_back(names[static_cast<size_t>(at)]);
    }
  }
  if (near.size() > kMax) near.resize(kMax);
  return near;
}

}  // namespace

Error At(const YamlNode& node, Error error) {
  if (error.place.empty()) error.place = node.Place();
  return error;
}

Result<CountedText> SplitCount(const YamlNode& node, const std::string& text,
                               std::string_view things, int64_t max) {
  size_t digits = 0;
  while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9') ++digits;
  size_t at = digits;
  while (at < text.size() && text[at] == ' ') ++at;
  if (digits == 0 || at == text.size() || (text[at] != 'x' && text[at] != '*')) {
    return CountedText{1, text};
  }
  YamlNode number = node;
  number.text = text.substr(0, digits);
  number.quoted = false;
  CountedText counted;
  PW_ASSIGN(counted.count, number.AsInt(fmt::format("the number of {}", things), 1, max));
  const size_t begin = text.find_first_not_of(' ', at + 1);
  if (begin == std::string::npos) {
    return node.Fail(fmt::format("what the number of {} counts is missing", things));
  }
  counted.text = text.substr(begin);
  return counted;
}

Result<std::optional<Bytes>> ReadBytes(const YamlNode& map, std::string_view key) {
  return ReadQuantity<Bytes>(map, key, "_bytes", ParseBytes);
}

Result<MemoryReserve> ParseMemoryReserve(std::string_view text) {
  MemoryReserve reserve;
  if (text.ends_with('%')) {
    PW_ASSIGN(reserve.millionths, ParsePercentage(text));
    return reserve;
  }
  Result<Bytes> bytes = ParseBytes(text);
  if (!bytes.ok()) {
    bytes.error().message += "; a share of the memory such as 5% is possible, too";
    return bytes.error();
  }
  reserve.bytes = bytes.value();
  return reserve;
}

Result<std::optional<MemoryReserve>> ReadReserve(const YamlNode& map) {
  return ReadQuantity<MemoryReserve>(
      map, "reserve", "_bytes", ParseMemoryReserve,
      [](int64_t bytes) { return MemoryReserve{.bytes = Bytes(bytes)}; });
}

Result<std::optional<Bytes>> ReadMemory(const YamlNode& map) {
  PW_ASSIGN(const auto memory, ReadBytes(map, "memory"));
  if (!memory || memory->count > 0) return memory;
  const YamlNode* exact = map.Find("memory_bytes");
  return (exact != nullptr ? exact : map.Find("memory"))
      ->Fail("memory is 0: state how much there is, or leave the key out for what is usual");
}

Result<std::optional<Nanos>> ReadNanos(const YamlNode& map, std::string_view key) {
  return ReadQuantity<Nanos>(map, key, "_ns", ParseDuration);
}

Result<std::optional<BytesPerSecond>> ReadBandwidth(const YamlNode& map, std::string_view key) {
  return ReadQuantity<BytesPerSecond>(map, key, "_bytes_per_s", ParseBandwidth);
}

Result<double> ReadEfficiency(const YamlNode& map) {
  const YamlNode* node = map.Find("efficiency");
  if (node == nullptr) return 1.0;
  PW_ASSIGN(const std::string text, node->AsText("efficiency, such as \"94%\","));
  Result<int32_t> millionths = ParsePercentage(text);
  if (!millionths.ok()) return At(*node, std::move(millionths.error()));
  if (millionths.value() < 1 || millionths.value() > 1'000'000) {
    return node->Fail("efficiency is outside (0%, 100%]");
  }
  return static_cast<double>(millionths.value()) / 1e6;
}

Status KindTable::Read(const YamlNode& kinds) {
  if (!kinds.IsMap()) {
    return kinds.Fail(fmt::format("kinds must be a mapping, not {}", kinds.TypeName()));
  }
  PW_ASSIGN(const std::vector<size_t> order, OrderByLike(kinds));
  for (const size_t i : order) {
    PW_ASSIGN(DeviceKind kind, ReadKind(kinds.keys[i].text, kinds.items[i]));
    own_.push_back(std::move(kind));
  }
  std::vector<DeviceKind> in_file_order(order.size());
  for (size_t k = 0; k < order.size(); ++k) in_file_order[order[k]] = std::move(own_[k]);
  own_ = std::move(in_file_order);
  return Ok();
}

// The kinds' indices, each behind the one of the file that it is like.
Result<std::vector<size_t>> KindTable::OrderByLike(const YamlNode& kinds) const {
  const size_t count = kinds.keys.size();
  std::map<std::string_view, size_t> index;
  for (size_t i = 0; i < count; ++i) {
    if (kinds.keys[i].text.empty()) {
      return MakeError(ErrorCode::kField, "a kind's name is empty", kinds.KeyPlace(i));
    }
    index.emplace(kinds.keys[i].text, i);
  }
  // The kind of the file that kind i is like, or i.
  const auto base = [&](size_t i) {
    const YamlNode* like = kinds.items[i].Find("like");
    const auto it = like == nullptr ? index.end() : index.find(like->text);
    return it == index.end() ? i : it->second;
  };
  std::vector<size_t> order, chain;
  std::vector<char> seen(count, 0), ordered(count, 0);
  for (size_t i = 0; i < count; ++i) {
    chain.clear();
    for (size_t k = i; !ordered[k]; k = base(k)) {
      const YamlNode* like = kinds.items[k].Find("like");
      const std::string& name = kinds.keys[k].text;
      if (base(k) == k && like != nullptr && like->text == name && FindKind(name) == nullptr) {
        return like->Fail(fmt::format("the kind \"{}\" is like itself", Printable(name, 80)));
      }
      if (seen[k]) {
        return like->Fail(fmt::format("the kind \"{}\" is like \"{}\", which is like it in turn",
                                      Printable(name, 80), Printable(like->text, 80)));
      }
      seen[k] = 1;
      chain.push_back(k);
      if (base(k) == k) break;
    }
    for (; !chain.empty(); chain.pop_back()) {
      ordered[chain.back()] = 1;
      order.push_back(chain.back());
    }
  }
  return order;
}

Result<DeviceKind> KindTable::ReadKind(std::string name, const YamlNode& map) const {
  PW_RETURN_IF_ERROR(map.CheckKeys("a kind", {"like",
                                              "class",
                                              "architecture",
                                              "peak",
                                              "peak_flops",
                                              "memory_bandwidth",
                                              "memory_bandwidth_bytes_per_s",
                                              "memory",
                                              "memory_bytes",
                                              "launch_overhead",
                                              "launch_overhead_ns",
                                              "runtime_context",
                                              "runtime_context_bytes",
                                              "reserve",
                                              "reserve_bytes",
                                              "cores",
                                              "p2p",
                                              "multiprocessors",
                                              "channels",
                                              "nvls",
                                              "source"}));
  DeviceKind kind;
  if (const YamlNode* like = map.Find("like")) {
    PW_ASSIGN(const std::string base, like->AsText("like"));
    PW_ASSIGN(kind, Find(*like, base));
    kind.source = fmt::format("as {}, except what the file states; {}", kind.name, kind.source);
  } else {
    PW_RETURN_IF_ERROR(CheckComplete(map));
    kind.source = "given";
  }
  kind.name = std::move(name);
  if (const YamlNode* node = map.Find("class")) {
    PW_ASSIGN(kind.device_class, ReadClass(*node));
  }
  PW_RETURN_IF_ERROR(ReadText(map, "architecture", kind.architecture));
  PW_RETURN_IF_ERROR(ReadText(map, "source", kind.source));
  PW_RETURN_IF_ERROR(ReadPeak(map, kind.peak));
  PW_ASSIGN(const auto bandwidth, ReadBandwidth(map, "memory_bandwidth"));
  PW_ASSIGN(const auto memory, ReadBytes(map, "memory"));
  PW_ASSIGN(const auto overhead, ReadNanos(map, "launch_overhead"));
  PW_ASSIGN(const auto context, ReadBytes(map, "runtime_context"));
  PW_ASSIGN(const auto reserve, ReadReserve(map));
  if (reserve) kind.reserve = reserve;
  if (const YamlNode* cores = map.Find("cores")) {
    if (kind.device_class != DeviceClass::kCpu) return cores->Fail("only CPUs state cores");
    PW_ASSIGN(kind.cores, cores->AsInt("cores", 1, 4096));
  }
  if (const YamlNode* p2p = map.Find("p2p")) {
    if (kind.device_class != DeviceClass::kGpu) return p2p->Fail("only GPUs state p2p");
    PW_ASSIGN(kind.p2p, p2p->AsBool("p2p"));
  }
  PW_RETURN_IF_ERROR(ReadCollectives(map, kind));
  kind.memory_bandwidth = bandwidth.value_or(kind.memory_bandwidth);
  kind.memory = memory.value_or(kind.memory);
  kind.launch_overhead = overhead.value_or(kind.launch_overhead);
  kind.runtime_context = context.value_or(kind.runtime_context);
  if (kind.device_class == DeviceClass::kOther) return kind;  // times are given, not modelled
  PW_RETURN_IF_ERROR(CheckArchitecture(map, kind));
  if (kind.peak.f32 <= 0) return map.Fail("a kind must have a peak rate for f32");
  if (kind.memory_bandwidth.count < 1) return map.Fail("a kind must have a memory bandwidth");
  return kind;
}

Result<DeviceKind> KindTable::Find(const YamlNode& node, std::string_view name) const {
  for (const DeviceKind& kind : own_) {
    if (kind.name == name) return kind;
  }
  if (const DeviceKind* kind = FindKind(name)) return *kind;
  std::vector<std::string> names;
  for (const DeviceKind& kind : own_) names.push_back(kind.name);
  for (const DeviceKind& kind : Catalogue()) names.push_back(kind.name);
  if (const std::string_view why = WhyNotInCatalogue(name); !why.empty()) {
    return MakeError(ErrorCode::kUnknownName,
                     fmt::format("\"{}\" is not in the catalogue: {}", Printable(name, 80), why),
                     node.Place(), std::string(kNotInCatalogueRemedy));
  }
  const std::vector<std::string> near = NearKinds(name, names);
  return MakeError(
      ErrorCode::kUnknownName,
      fmt::format("no device kind is called \"{}\"{}", Printable(name, 80),
                  near.empty() ? "" : fmt::format(" (did you mean {}?)", fmt::join(near, ", "))),
      node.Place(),
      "Describe it under \"kinds\", or use a kind of the catalogue: `placewright cluster show` "
      "lists them.");
}

std::string KindTable::NoteOf(std::string_view name) const {
  for (const DeviceKind& kind : own_) {
    if (kind.name == name) return "";
  }
  return std::string(NoteOfKindName(name));
}

Result<DeviceSlot> ReadSlot(const YamlNode& node, const KindTable& kinds, DeviceClass expected) {
  DeviceSlot slot;
  std::string name;
  const YamlNode* name_node = &node;
  if (node.IsMap()) {
    PW_RETURN_IF_ERROR(node.CheckKeys(
        "a device", {"kind", "count", "memory", "memory_bytes", "reserve", "reserve_bytes"}));
    PW_RETURN_IF_ERROR(node.CheckHas({{"kind", "T4"}}));
    name_node = node.Find("kind");
    PW_ASSIGN(name, name_node->AsText("kind"));
    if (const YamlNode* count = node.Find("count")) {
      PW_ASSIGN(const int64_t value, count->AsInt("count", 1, kMaxDevices));
      slot.count = static_cast<int32_t>(value);
    }
    PW_ASSIGN(const auto memory, ReadMemory(node));
    PW_ASSIGN(slot.reserve, ReadReserve(node));
    slot.memory = memory.value_or(Bytes());
  } else {
    PW_ASSIGN(
        const std::string text,
        node.AsText(expected == DeviceClass::kCpu
                        ? "cpus, such as \"2 x Xeon-E5-2650v4\" or {kind: EPYC-7763, count: 2},"
                        : "a device such as \"4 x P100-12GB\""));
    PW_ASSIGN(CountedText counted, SplitCount(node, text, "devices", kMaxDevices));
    slot.count = static_cast<int32_t>(counted.count);
    name = std::move(counted.text);
  }
  PW_ASSIGN(slot.kind, kinds.Find(*name_node, name));
  slot.note = kinds.NoteOf(name);
  if (slot.kind.device_class != expected) {
    return name_node->Fail(fmt::format("\"{}\" is a kind of {}, not of {}", slot.kind.name,
                                       ToString(slot.kind.device_class), ToString(expected)));
  }
  return slot;
}

}  // namespace placewright
