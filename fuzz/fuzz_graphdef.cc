#include "formats/graphdef/reader.h"
#include "formats/graphdef/records.h"
#include "formats/graphdef/writer.h"

// Reads the file; if it is read, sets devices and reads it again: the same graph comes back.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace placewright;
  const std::string_view file(reinterpret_cast<const char*>(data), size);
  GraphDefOptions options;
  options.assume_dimensions = true;
  const auto graph = ReadGraphDef(file, options);
  if (!graph.ok()) return 0;
  const auto form =
      graphdef::LooksLikeTextGraphDef(file) ? graphdef::Form::kText : graphdef::Form::kBinary;
  const size_t nodes = graphdef::ReadNodes(file, form).Take().size();
  const std::string placed =
      SetDevices(file, std::vector<std::string>(nodes, "/device:GPU:1")).Take();
  const auto again = ReadGraphDef(placed, options);
  if (!again.ok() || again.value().op_count() != graph.value().op_count()) __builtin_trap();
  return 0;
}
