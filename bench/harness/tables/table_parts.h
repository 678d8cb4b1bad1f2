// What tables are made with (internal to the module).
#ifndef PLACEWRIGHT_BENCH_HARNESS_TABLES_TABLE_PARTS_H_
#define PLACEWRIGHT_BENCH_HARNESS_TABLES_TABLE_PARTS_H_

#include <cstddef>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "bench/harness/tables/tables.h"

namespace placewright {

inline StudyTable TableOf(std::string name, std::string title, std::vector<StudyModel> models,
                          std::string cluster = "4xP100-tf") {
  StudyTable table;
  table.name = std::move(name);
  table.title = std::move(title);
  table.models = std::move(models);
  table.cluster = std::move(cluster);
  return table;
}

// 0, 1, ...
inline std::vector<size_t> Numbers(size_t count) {
  std::vector<size_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

}  // namespace placewright

#endif  // PLACEWRIGHT_BENCH_HARNESS_TABLES_TABLE_PARTS_H_
