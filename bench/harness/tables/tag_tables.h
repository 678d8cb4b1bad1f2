// The tables and figures of TAG (Zhang et al.), and what its search is judged by: tag4, tag5, tag6, tag7, tag8, tagfig5,
// tagfig6, tagfig7, tagfig8, tag-500ms, tag-2s, tag-10s, tag-60s, tag-moves. Primary claims stand first; the others are
// exploratory, and say so.
#ifndef PLACEWRIGHT_BENCH_HARNESS_TABLES_TAG_TABLES_H_
#define PLACEWRIGHT_BENCH_HARNESS_TABLES_TAG_TABLES_H_

#include <vector>

#include "bench/harness/tables/tables.h"

namespace placewright {

std::vector<StudyTable> TagTables();

}  // namespace placewright

#endif  // PLACEWRIGHT_BENCH_HARNESS_TABLES_TAG_TABLES_H_
