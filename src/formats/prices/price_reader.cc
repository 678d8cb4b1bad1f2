#include "formats/prices/price_reader.h"

#include <fmt/format.h>

#include <vector>

#include "base/text.h"
#include "cluster/catalogue.h"
#include "formats/text/yaml.h"

namespace placewright {
namespace {

constexpr std::string_view kPricesSchema = "placewright.prices/1";
constexpr double kLargestPrice = 1e9;

Result<std::string> GpuNamed(const YamlNode& prices, size_t i) {
  const std::string& name = prices.keys[i].text;
  const DeviceKind* const kind = FindKind(name);
  if (kind != nullptr && kind->device_class == DeviceClass::kGpu) return kind->name;
  std::vector<std::string> known;
  for (const DeviceKind& each : Catalogue()) {
    if (each.device_class == DeviceClass::kGpu) known.push_back(each.name);
  }
  return MakeError(ErrorCode::kUnknownName,
                   fmt::format("no kind of GPU is called \"{}\"{}", Printable(name, 80),
                               DidYouMean(name, known)),
                   prices.KeyPlace(i), "`placewright cluster show` lists the kinds.");
}

}  // namespace

Result<GpuPrices> ReadGpuPrices(std::string_view text) {
  PW_ASSIGN(const YamlNode document, ParseYaml(text));
  PW_RETURN_IF_ERROR(document.CheckKeys("prices", {"schema", "currency", "per_gpu_hour"}));
  PW_RETURN_IF_ERROR(document.CheckHas({{"currency", "USD"}, {"per_gpu_hour", "{H100: 2.00}"}}));
  if (const YamlNode* const schema = document.Find("schema"); schema != nullptr) {
    PW_ASSIGN(const std::string name, schema->AsText("schema"));
    if (name != kPricesSchema) {
      return schema->Fail(
          fmt::format("the schema is {}, not \"{}\"", kPricesSchema, Printable(name)));
    }
  }
  GpuPrices prices;
  PW_ASSIGN(prices.currency, document.Find("currency")->AsText("currency"));
  const YamlNode& per_hour = *document.Find("per_gpu_hour");
  if (!per_hour.IsMap() || per_hour.items.empty()) {
    return per_hour.Fail("per_gpu_hour is a mapping of kinds of GPUs to prices");
  }
  for (size_t i = 0; i < per_hour.items.size(); ++i) {
    PW_ASSIGN(const std::string kind, GpuNamed(per_hour, i));
    PW_ASSIGN(const double price, per_hour.items[i].AsNumber(per_hour.keys[i].text));
    if (!(price > 0) || price > kLargestPrice) {
      return per_hour.items[i].Fail(fmt::format("a price is above 0 and at most {:g} {} an hour",
                                                kLargestPrice, Printable(prices.currency, 20)));
    }
    if (!prices.per_hour.emplace(kind, price).second) {
      return MakeError(ErrorCode::kDuplicateName, fmt::format("{} has two prices", kind),
                       per_hour.KeyPlace(i));
    }
  }
  return prices;
}

}  // namespace placewright
