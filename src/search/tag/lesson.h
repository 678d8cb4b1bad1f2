// What TAG's network learns from: a state of a search over strategies, and how often each slice of its next unit was tried.
#ifndef PLACEWRIGHT_SEARCH_TAG_LESSON_H_
#define PLACEWRIGHT_SEARCH_TAG_LESSON_H_

#include <cstddef>
#include <vector>

#include "search/tag/features.h"
#include "search/tag/slices.h"

namespace placewright {

struct TagLesson {
  TagGraph graph;
  size_t next = 0;            // the unit that is decided
  std::vector<Slice> slices;  // that it may have
  std::vector<float>
      target;  // of each of these N / sum N, which is softmax(ln N) (Zhang et al., sec. 4.2.2)
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_TAG_LESSON_H_
