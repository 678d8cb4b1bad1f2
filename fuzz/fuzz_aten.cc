// Whatever bytes come: a graph or an Error, never a crash, a hang or unbounded memory. So, too, for
// the step at another batch; a graph that was read there leads back to the batch it came from.
#include "formats/aten/reader.h"
#include "formats/aten/writer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const placewright::Result<placewright::AtenGraph> read = placewright::ReadAtenFile(text);
  if (!read.ok() || read.value().graph.batch_scaling() == nullptr) return 0;
  for (const int64_t batch : {int64_t{1}, int64_t{7}, int64_t{1} << 40, int64_t{1} << 60}) {
    const auto scaled = placewright::ReadAtenFile(text, batch);
    if (!scaled.ok()) continue;
    const auto& graph = scaled.value().graph;
    const auto written = placewright::WriteAtenGraph(graph, scaled.value().module_stated, nullptr);
    if (written.ok()) (void)placewright::ReadAtenFile(written.value(), read.value().graph.batch());
  }
  return 0;
}
