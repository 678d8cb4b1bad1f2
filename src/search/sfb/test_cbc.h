// Of tests: programs of sufficient factor broadcasting solved by Cbc, where it is installed.
#ifndef PLACEWRIGHT_SEARCH_SFB_TEST_CBC_H_
#define PLACEWRIGHT_SEARCH_SFB_TEST_CBC_H_

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "search/sfb/sfb_program.h"

namespace placewright {

inline bool HasCbc() { return std::system("command -v cbc > /dev/null 2>&1") == 0; }

// A folder of this process alone, as long as it lives.
struct CbcFolder {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("sfb-" + std::to_string(::getpid()));
  CbcFolder() { std::filesystem::create_directories(path); }
  ~CbcFolder() { std::filesystem::remove_all(path); }
  CbcFolder(const CbcFolder&) = delete;
  CbcFolder& operator=(const CbcFolder&) = delete;
};

// What `cbc` finds for the program as an LP file.
inline int64_t ByCbc(const SfbProgram& program, const std::filesystem::path& folder) {
  std::ofstream(folder / "program.lp") << FormatLp(program);
  const std::string command =
      "cd '" + folder.string() +
      "' && cbc program.lp ratio 0 allow 0 solve solution out.txt > log 2>&1";
  EXPECT_EQ(std::system(command.c_str()), 0);
  std::ifstream in(folder / "out.txt");
  std::string line;
  std::getline(in, line);  // "Optimal - objective value -227000000.00000000"
  EXPECT_EQ(line.rfind("Optimal", 0), 0U) << line;
  std::vector<bool> alpha(program.times.size(), false);
  std::string number, name;
  double value = 0, cost = 0;
  while (in >> number >> name >> value >> cost) {
    if (name[0] == 'a' && name != "al") {
      alpha[static_cast<size_t>(std::stoi(name.substr(1)))] = value > 0.5;
    }
  }
  return ObjectiveOf(program, alpha);  // in integers: its own is a decimal number
}

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_SFB_TEST_CBC_H_
