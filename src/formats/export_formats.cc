#include "formats/export_formats.h"

#include <array>
#include <type_traits>

#include "formats/accelerate/device_map_writer.h"
#include "formats/aten/writer.h"
#include "formats/dnn_partitioning/split_writer.h"
#include "formats/engines/configurations.h"
#include "formats/graphdef/writer.h"
#include "formats/pipedream/stage_writer.h"

namespace placewright {
namespace {

// A writer of short texts, with notes or without.
template <auto writer>
Status Whole(const PlanInputs& plan, const Placement& placement, const TextSink& sink,
             std::vector<std::string>* notes) {
  const auto write = [&] {
    if constexpr (std::is_invocable_v<decltype(writer), const PlanInputs&, const Placement&>) {
      return writer(plan, placement);
    } else {
      return writer(plan, placement, notes);
    }
  };
  PW_ASSIGN(const std::string text, write());
  return sink(text);
}

constexpr std::array kExportFormats = {
    ExportFormat{"aten", "ATen training graph with the device of every op (JSON)",
                 "graphs that are not made of ATen's operators", Whole<WriteAtenPlan>, true},
    ExportFormat{"accelerate", "device_map of Hugging Face Accelerate (JSON)",
                 "plans that split a module or tied weights across devices, or use several hosts",
                 Whole<WriteDeviceMap>},
    ExportFormat{"chrome-trace", "schedule for chrome://tracing and Perfetto (JSON)", "no plan",
                 nullptr, true, &SimulatedWriters::chrome_trace},
    ExportFormat{"costgraph", "cost graph with times, placement and what is expected of it (JSON)",
                 "plans of more than ten million times", nullptr, true,
                 &SimulatedWriters::cost_graph},
    ExportFormat{"dnn-partitioning", "split of a dnn-partitioning workload (JSON)",
                 "plans of other graphs: their ops have no node ids",
                 Whole<WriteDnnPartitioningSplit>},
    ExportFormat{"pipedream", "PipeDream profile with a stage_id for every layer (text)",
                 "plans of other graphs, and pipelines that come back to a device",
                 Whole<WritePipeDreamStages>},
    ExportFormat{"graphdef", "TensorFlow GraphDef with a device for every node, in the file's form",
                 "plans of other graphs", Whole<WriteGraphDef>},
    ExportFormat{"torchtitan", "degrees of parallelism of a torchtitan job (TOML)",
                 "plans that do not hold for all layers alike", Whole<WriteTorchtitan>, true},
    ExportFormat{"deepspeed", "ZeRO stage and batch of a DeepSpeed configuration (JSON)",
                 "plans with layers by columns and rows", Whole<WriteDeepSpeed>, true},
    ExportFormat{"accelerate-fsdp", "FSDP configuration of Hugging Face Accelerate (YAML)",
                 "plans with parameters on every device", Whole<WriteAccelerateFsdp>, true},
};

}  // namespace

std::span<const ExportFormat> ExportFormats() { return kExportFormats; }

}  // namespace placewright
