// What the zoo's presets say of their papers.
#include <gtest/gtest.h>

#include <set>

#include "capture/zoo/zoo.h"
#include "cluster/catalogue.h"

namespace placewright {
namespace {

TEST(ZooPresets, NameMachinesThatAreThere) {
  int with_machines = 0;
  for (const ZooEntry& entry : ZooEntries()) {
    std::set<std::string> names;
    for (const ZooPreset& preset : entry.facts.presets) {
      const std::string name = entry.facts.name + "@" + preset.name;
      EXPECT_TRUE(names.insert(preset.name).second) << name;
      EXPECT_TRUE(ChooseModel(name, {}).ok()) << name;
      if (preset.cluster.empty()) continue;
      ++with_machines;
      EXPECT_TRUE(MakePreset(preset.cluster).ok()) << name;
    }
  }
  // Mars: 7, EAGLE: 3, GDP: 3 GNMT, 3 RNNLM, 3 Transformer-XL, Inception-V3, AmoebaNet, 2 WaveNet;
  // TAG: 6, and 4 guesses.
  EXPECT_EQ(with_machines, 7 + 3 + 13 + 6 + 4);
}

}  // namespace
}  // namespace placewright
