// Whatever bytes come: a case that can be compiled and simulated, or an Error.
#include "formats/placeto/case_reader.h"
#include "sim/placeto/simulator.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto problem = placewright::ReadPlacetoCase({reinterpret_cast<const char*>(data), size});
  if (!problem.ok()) return 0;
  const auto program = placewright::CompilePlacetoCase(problem.value());
  if (!program.ok()) return 0;
  (void)placewright::PlacetoSimulator(program.value()).Run(problem.value().placement);
  return 0;
}
